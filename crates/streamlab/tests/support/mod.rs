//! The lab's kernels, compiled once, and a context on a virtual device for one test at a time.
#![allow(dead_code, reason = "each test binary uses its part of it")]
#![expect(clippy::expect_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use cuda_builder::CudaBuilder;
use cuda_std::abi::Image;
use streamlab::{Context, Device, Model, Options};

/// The kernels of the crate `gpu`, as `cuda_builder` embeds them in a program.
pub static IMAGES: LazyLock<&'static [Image]> = LazyLock::new(|| {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../gpu");
    let build = CudaBuilder::new(dir).archs(["sm_90"]).build().unwrap_or_else(|error| panic!("{error}"));
    let images = build.modules().iter().map(|module| {
        let text = std::fs::read_to_string(&module.path).expect("the PTX is there");
        let kernels: Vec<&'static str> = module.kernels.iter().map(|name| &*name.clone().leak()).collect();
        let (capability, ptx_version) = (module.arch.capability(), module.ptx_version);
        Image { arch: "sm_90", capability, ptx_version, kernels: kernels.leak(), text: text.leak() }
    });
    images.collect::<Vec<_>>().leak()
});

pub const H200: Device = Device::Virtual(Model::H200);

static DEVICE: Mutex<()> = Mutex::new(());

/// Waits until no other test of this process has a device.
pub fn alone() -> MutexGuard<'static, ()> {
    DEVICE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a test with a context on a virtual device. Every release has to succeed.
pub fn on_device<T>(options: impl Into<Options>, test: impl FnOnce(&Context) -> T) -> T {
    let _alone = alone();
    let context = Context::open(options, *IMAGES).expect("the virtual device opens");
    let outcome = test(&context);
    let released = context.finish();
    assert!(released.is_empty(), "{released:?}");
    outcome
}
