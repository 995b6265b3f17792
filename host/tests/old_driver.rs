//! A driver that is older than launch attributes. The one test here leaves a function out of the process' table, so it has a
//! process of its own.

mod support;

use cuda_driver::Symbol;
use host::lessons::{forkjoin, standard};
use streamlab::{Device, DeviceBuffer, Error, LaunchConfig, Stream, StreamKind};
use support::{in_lab, on_device, verdicts};

#[test]
fn everything_works_but_programmatic_launch_which_says_what_is_missing() {
    virtual_gpu::driver::install(virtual_gpu::card::H200, virtual_gpu::driver::Options::default());
    // SAFETY: the functions are the virtual driver's, and stay until the process ends.
    unsafe {
        cuda_driver::fill(|symbol| match symbol {
            Symbol::cuLaunchKernelEx => None,
            other => virtual_gpu::driver::resolve(other),
        });
    }
    let document = in_lab(Device::Installed(0), |lab| forkjoin::run(lab, &standard()));
    let found = verdicts(&document);
    assert!(found.len() > 10 && found.iter().all(|(_, verdict)| verdict == "pass"), "{found:?}");

    on_device(Device::Installed(0), |context| {
        let stream = Stream::new(context, "s", StreamKind::NonBlocking).unwrap();
        let buffer = |name| DeviceBuffer::<f32>::new(context, name, 32).unwrap();
        let [mid, y, out] = [buffer("mid"), buffer("y"), buffer("out")];
        let config = LaunchConfig::new(1, 32);
        // SAFETY: nothing else runs, so nothing writes `mid`.
        let combine = || unsafe { gpu::pdl::combine_stage(&mid, &y, &out) };
        stream.launch(config, combine()).unwrap();
        let (line, error) = (line!(), stream.launch(config.programmatic(), combine()).unwrap_err());
        assert!(error.is_bad_input());
        let Error::Missing { missing, at, .. } = error else { panic!("{error}") };
        assert_eq!((missing.symbol(), at.file(), at.line()), (Symbol::cuLaunchKernelEx, file!(), line));
        stream.synchronize().unwrap();
    });
}
