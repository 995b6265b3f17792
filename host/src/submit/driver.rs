//! Which functions fill the driver's table: the machine's, or a virtual card's. The one place that knows both.

use std::sync::atomic::{AtomicBool, Ordering};

use cust::CudaFlags;
use cust::device::Device as CustDevice;
use virtual_gpu::card::{Card as VirtualCard, H200, T4};
use virtual_gpu::clock;
use virtual_gpu::driver::{self, Options};

use super::Error;
use crate::args::{Common, Device, Model, Schedule};

/// Whether the table is filled with a virtual card's functions.
static IS_VIRTUAL: AtomicBool = AtomicBool::new(false);

/// What was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The number of the device to open.
    pub ordinal: u32,
    /// Whether its times are virtual ones.
    pub is_virtual: bool,
    /// Whether the card runs side by side what nothing orders. A virtual card told to run everything late does not.
    pub overlaps: bool,
    /// Why the choice fell on a virtual card, where nobody had asked for one.
    pub reason: Option<String>,
}

/// Fills the driver's table for the card that was asked for.
///
/// # Errors
///
/// [`Error::NoDriver`] when a GPU was asked for and the machine has no driver.
pub fn open_driver(asked: &Common) -> Result<Opened, Error> {
    match asked.device {
        Device::Gpu(ordinal) => {
            open_library()?;
            Ok(gpu(ordinal))
        }
        Device::Virtual(model) => Ok(open_virtual(model, asked, None)),
        Device::Auto => match open_library().and_then(|()| some_device()) {
            Ok(()) => Ok(gpu(0)),
            Err(error) => Ok(open_virtual(Model::H200, asked, Some(error.to_string()))),
        },
    }
}

fn gpu(ordinal: u32) -> Opened {
    Opened { ordinal, is_virtual: false, overlaps: true, reason: None }
}

fn open_library() -> Result<(), Error> {
    let library = cuda_driver::Library::open()?;
    // SAFETY: the functions are those of the machine's driver, whose library stays open until the process ends.
    unsafe { cuda_driver::fill(|symbol| library.resolve(symbol)) };
    IS_VIRTUAL.store(false, Ordering::Relaxed);
    Ok(())
}

fn some_device() -> Result<(), Error> {
    match cust::init(CudaFlags::empty()).and_then(|()| CustDevice::num_devices()) {
        Ok(count) if count > 0 => Ok(()),
        _ => Err(Error::NoDevice),
    }
}

fn open_virtual(model: Model, asked: &Common, reason: Option<String>) -> Opened {
    let card: VirtualCard = match model {
        Model::H200 => H200,
        Model::T4 => T4,
    };
    let mut options = Options::default();
    options.threads = asked.threads.map_or(options.threads, usize::from);
    options.schedule = match asked.schedule {
        Schedule::Card => clock::Schedule::Card,
        Schedule::Late => clock::Schedule::Late,
    };
    driver::install(card, options);
    // SAFETY: the virtual card's functions have the signatures and the behaviour of the driver's, and live for ever.
    unsafe { cuda_driver::fill(driver::resolve) };
    IS_VIRTUAL.store(true, Ordering::Relaxed);
    Opened { ordinal: 0, is_virtual: true, overlaps: asked.schedule == Schedule::Card, reason }
}

/// The time of a virtual card's host, ns. None on a GPU.
pub(super) fn virtual_host_ns() -> Option<u64> {
    IS_VIRTUAL.load(Ordering::Relaxed).then(driver::host_ns).flatten()
}

/// What a virtual card knows beyond a code: the function that it does not have, or the access that ended a kernel. Empty
/// on a GPU.
pub(super) fn virtual_detail(code: u32) -> String {
    const NOT_SUPPORTED: u32 = 801;
    /// A kernel's own errors, after which the context is lost.
    const FAULTS: std::ops::RangeInclusive<u32> = 700..=719;
    match code {
        NOT_SUPPORTED => driver::take_unsupported()
            .map(|symbol| format!("the virtual card does not have {symbol}"))
            .unwrap_or_default(),
        code if FAULTS.contains(&code) => {
            driver::last_fault().map(|fault| fault.to_string()).unwrap_or_default()
        }
        _ => String::new(),
    }
}
