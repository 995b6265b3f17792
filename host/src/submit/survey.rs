//! What there is on this machine to run on: the driver, its cards, and what the driver lacks. It runs nothing.

use cuda_driver::Symbol;
use cust::CudaFlags;
use cust::device::Device;

use super::driver::open_library;
use super::error::check_cust;
use super::{Card, Context, Error};
use crate::kernels::IMAGES;

/// What was found of NVIDIA's.
#[derive(Debug)]
pub struct Survey {
    /// CUDA version of the driver, major and minor.
    pub driver_cuda: (u32, u32),
    /// Functions that the lab would call and the driver does not have.
    pub missing: Vec<String>,
    /// Each card, with the architecture of the PTX that it takes, or why it takes none.
    pub cards: Vec<(Card, Result<&'static str, Error>)>,
}

/// Looks for a driver, and at the cards that it has.
///
/// # Errors
///
/// [`Error::NoDriver`]; any error of the calls that ask.
pub fn survey() -> Result<Survey, Error> {
    open_library()?;
    check_cust("cuInit", cust::init(CudaFlags::empty()), || "start the driver".into())?;
    let version =
        check_cust("cuDriverGetVersion", cust::CudaApiVersion::get(), || "read the driver's version".into())?;
    let count = check_cust("cuDeviceGetCount", Device::num_devices(), || "count the devices".into())?;
    let missing = Symbol::ALL.iter().filter(|&&symbol| !cuda_driver::is_available(symbol));
    let cards = (0..count).map(|ordinal| {
        let device =
            check_cust("cuDeviceGet", Device::get_device(ordinal), || format!("open device {ordinal}"))?;
        let arch = Context::open(ordinal, IMAGES).map(|context| {
            let arch = context.module().image().arch;
            drop(context.finish());
            arch
        });
        Ok((Card::of(device)?, arch))
    });
    Ok(Survey {
        driver_cuda: (version.major().unsigned_abs(), version.minor().unsigned_abs()),
        missing: missing.map(ToString::to_string).collect(),
        cards: cards.collect::<Result<_, Error>>()?,
    })
}
