//! What a card says of itself.

use std::fmt;

use cust::device::{Device, DeviceAttribute};
use serde::Serialize;

use super::Error;
use super::error::check_cust;

/// A card's facts, as the driver reports them (`cuDeviceGetName`, `cuDeviceGetAttribute`, `cuDriverGetVersion`).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Card {
    /// Product name.
    pub name: String,
    /// Compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors.
    pub sms: u32,
    /// Threads that a multiprocessor holds at once.
    pub threads_per_sm: u32,
    /// Engines that copy while kernels run.
    pub copy_engines: u32,
    /// Size of the L2 cache, bytes.
    pub l2_bytes: u32,
    /// Peak clock of the multiprocessors, kHz.
    pub clock_khz: u32,
    /// Driver's CUDA version, major and minor.
    pub driver_cuda: (u32, u32),
}

impl Card {
    /// Asks the driver.
    ///
    /// # Errors
    ///
    /// Any error of the three calls.
    pub(super) fn of(device: Device) -> Result<Card, Error> {
        let attribute = |attribute: DeviceAttribute| {
            check_cust("cuDeviceGetAttribute", device.get_attribute(attribute), || {
                format!("read {attribute:?}")
            })
            .map(i32::unsigned_abs)
        };
        let name = check_cust("cuDeviceGetName", device.name(), || "read the card's name".into())?;
        let version = check_cust("cuDriverGetVersion", cust::CudaApiVersion::get(), || {
            "read the driver's version".into()
        })?;
        Ok(Card {
            name,
            compute_capability: (
                attribute(DeviceAttribute::ComputeCapabilityMajor)?,
                attribute(DeviceAttribute::ComputeCapabilityMinor)?,
            ),
            sms: attribute(DeviceAttribute::MultiprocessorCount)?,
            threads_per_sm: attribute(DeviceAttribute::MaxThreadsPerMultiprocessor)?,
            copy_engines: attribute(DeviceAttribute::AsyncEngineCount)?,
            l2_bytes: attribute(DeviceAttribute::L2CacheSize)?,
            clock_khz: attribute(DeviceAttribute::ClockRate)?,
            driver_cuda: (version.major().unsigned_abs(), version.minor().unsigned_abs()),
        })
    }
}

impl Card {
    /// Fused multiply-adds that the card can start in one cycle: lanes of a multiprocessor (CUDA C++ Programming Guide,
    /// "Arithmetic Instructions": 64 for compute capability 7.5 and 8.0, 128 from 8.6 on) times their number.
    pub fn fma_lanes(&self) -> u32 {
        let per_sm = if self.compute_capability <= (8, 0) { 64 } else { 128 };
        per_sm * self.sms
    }
}

impl fmt::Display for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Card { name, compute_capability: (major, minor), sms, driver_cuda, .. } = self;
        let (cuda_major, cuda_minor) = driver_cuda;
        write!(
            f,
            "{name} (compute capability {major}.{minor}, {sms} SMs; driver for CUDA {cuda_major}.{cuda_minor})"
        )
    }
}
