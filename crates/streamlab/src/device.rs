//! Which device: a GPU or a virtual one, what it says of itself, and the driver that answers for it.
//!
//! A process has one driver's table, so all open contexts are of one driver; [`Chosen`] counts them. This module chooses the
//! driver and asks it; it opens no context.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use cuda_driver::{CuResult, Symbol};
use cust::device::{Device as CustDevice, DeviceAttribute};
use serde::Serialize;
use virtual_gpu::card::{H200, T4};
use virtual_gpu::clock;

use crate::error::{Doing, Error, failure};
use crate::floor::{self, Failed};

/// Which device to open. Typed, it is `auto`, `gpu`, `gpu:N`, `virtual:h200` or `virtual:t4`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// A GPU when there is one, else the virtual H200.
    #[default]
    Auto,
    /// The GPU of this number, from 0.
    Gpu(u32),
    /// A device in software.
    Virtual(Model),
    /// The device of this number of whatever fills the driver's table already: for a program that calls
    /// [`cuda_driver::fill`] itself.
    Installed(u32),
}

/// A model of a virtual device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// NVIDIA H200.
    H200,
    /// NVIDIA Tesla T4.
    T4,
}

/// When a virtual device runs what it was given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// As soon as its turn has come, as hardware does.
    #[default]
    Earliest,
    /// As late as its order allows, which exposes a program that is right only by luck.
    Late,
}

impl FromStr for Device {
    type Err = String;

    /// Reads a device as it is typed; a number alone is a GPU's.
    fn from_str(typed: &str) -> Result<Self, String> {
        let number = |digits: &str| digits.parse().map(Device::Gpu);
        match typed {
            "auto" => return Ok(Device::Auto),
            "gpu" => return Ok(Device::Gpu(0)),
            "virtual" | "virtual:h200" => return Ok(Device::Virtual(Model::H200)),
            "virtual:t4" => return Ok(Device::Virtual(Model::T4)),
            _ => {}
        }
        number(typed.strip_prefix("gpu:").unwrap_or(typed))
            .map_err(|_| "the devices are auto, gpu, gpu:N, virtual, virtual:h200 and virtual:t4".to_owned())
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Auto => f.write_str("auto"),
            Device::Gpu(number) => write!(f, "gpu:{number}"),
            Device::Virtual(Model::H200) => f.write_str("virtual:h200"),
            Device::Virtual(Model::T4) => f.write_str("virtual:t4"),
            Device::Installed(number) => write!(f, "device {number} of the installed driver"),
        }
    }
}

impl fmt::Display for Schedule {
    /// Writes it as it is typed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Schedule::Earliest => "earliest",
            Schedule::Late => "late",
        })
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        match typed {
            "earliest" => Ok(Schedule::Earliest),
            "late" => Ok(Schedule::Late),
            _ => Err("the schedules are earliest and late".to_owned()),
        }
    }
}

/// When kernels are brought to the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loading {
    /// All of them before anything is launched.
    #[default]
    Eager,
    /// As the driver does it: each at its first launch, or all with their module.
    DriverDefault,
}

/// How a device is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Which.
    pub device: Device,
    /// When a virtual device runs what it was given.
    pub schedule: Schedule,
    /// CPU threads that a virtual device computes with; `None` for one on each processor. Results do not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// When kernels are brought to the device.
    pub loading: Loading,
}

impl Options {
    /// Reads `STREAMLAB_DEVICE` ([`Device`] as it is typed) and `STREAMLAB_SCHEDULE` (`earliest` or `late`); the defaults hold for
    /// what is not set.
    ///
    /// # Errors
    ///
    /// [`Error::Variable`] for a value that is none of these.
    pub fn from_env() -> Result<Options, Error> {
        fn read<T: Default + FromStr<Err = String>>(variable: &'static str) -> Result<T, Error> {
            let Some(value) = std::env::var_os(variable) else { return Ok(T::default()) };
            let value = value.to_string_lossy().into_owned();
            value.parse().map_err(|known| Error::Variable { variable, value, known })
        }
        let (device, schedule) = (read("STREAMLAB_DEVICE")?, read("STREAMLAB_SCHEDULE")?);
        Ok(Options { device, schedule, ..Options::default() })
    }
}

impl From<Device> for Options {
    fn from(device: Device) -> Self {
        Options { device, ..Options::default() }
    }
}

/// The driver that was chosen for a context. It fills the table until [`Chosen::release`].
#[derive(Debug)]
pub(crate) struct Chosen {
    /// The number of the device to open.
    pub ordinal: u32,
    /// The device.
    pub device: Device,
    /// Whether its times are virtual.
    pub is_virtual: bool,
    /// Whether the device overlaps what nothing orders.
    pub overlaps: bool,
    /// Why the choice fell on a virtual device, where the choice was open.
    pub fallback: Option<String>,
}

/// The driver in use: how many contexts are open on it, and what it is.
static IN_USE: Mutex<Option<(usize, Driver)>> = Mutex::new(None);

/// What fills the table.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Driver {
    Library,
    Virtual(Model, Schedule, Option<NonZeroUsize>),
    Installed,
}

impl Chosen {
    /// Fills the driver's table for the device that was asked for, or finds it filled for it.
    pub fn new(asked: &Options) -> Result<Chosen, Error> {
        let Options { device, schedule, threads, .. } = *asked;
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        let on = |device, driver, fallback| (Chosen::on(device, schedule, fallback), driver);
        let model = |model| Driver::Virtual(model, schedule, threads);
        let (chosen, driver) = match (device, in_use.as_ref()) {
            (Device::Gpu(_), _) => on(device, Driver::Library, None),
            (Device::Virtual(which), _) => on(device, model(which), None),
            (Device::Installed(_), _) => on(device, Driver::Installed, None),
            (Device::Auto, Some((_, Driver::Library))) => on(Device::Gpu(0), Driver::Library, None),
            (Device::Auto, Some((_, Driver::Virtual(which, ..)))) => {
                on(Device::Virtual(*which), model(*which), None)
            }
            (Device::Auto, Some((_, Driver::Installed))) => on(Device::Installed(0), Driver::Installed, None),
            (Device::Auto, None) => {
                match floor::use_library().map_err(Error::from).and_then(|()| some_device()) {
                    Ok(()) => on(Device::Gpu(0), Driver::Library, None),
                    Err(error) => {
                        on(Device::Virtual(Model::H200), model(Model::H200), Some(error.to_string()))
                    }
                }
            }
        };
        match in_use.as_mut() {
            Some((open, of)) if *of == driver => *open += 1,
            Some((_, of)) => {
                return Err(Error::DriverInUse { asked: chosen.device.to_string(), open: of.to_string() });
            }
            None => {
                driver.fill_table()?;
                *in_use = Some((1, driver));
            }
        }
        Ok(chosen)
    }

    /// Counts the context off: the last one frees the choice.
    pub fn release(&self) {
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        match in_use.as_mut() {
            Some((open, _)) if *open > 1 => *open -= 1,
            _ => *in_use = None,
        }
    }

    fn on(device: Device, schedule: Schedule, fallback: Option<String>) -> Chosen {
        let (ordinal, is_virtual) = match device {
            Device::Gpu(ordinal) | Device::Installed(ordinal) => (ordinal, false),
            Device::Virtual(_) => (0, true),
            Device::Auto => (0, false),
        };
        let overlaps = !is_virtual || schedule == Schedule::Earliest;
        Chosen { ordinal, device, is_virtual, overlaps, fallback }
    }
}

impl Driver {
    fn fill_table(&self) -> Result<(), Error> {
        match self {
            Driver::Library => floor::use_library()?,
            Driver::Virtual(model, schedule, threads) => {
                let card = match model {
                    Model::H200 => H200,
                    Model::T4 => T4,
                };
                let mut options = virtual_gpu::driver::Options::default();
                options.threads = threads.map_or(options.threads, NonZeroUsize::get);
                options.schedule = match schedule {
                    Schedule::Earliest => clock::Schedule::Card,
                    Schedule::Late => clock::Schedule::Late,
                };
                floor::use_virtual(card, options);
            }
            Driver::Installed => {}
        }
        Ok(())
    }
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Driver::Library => f.write_str("a GPU"),
            Driver::Virtual(model, schedule, _) => {
                let late = if *schedule == Schedule::Late { ", scheduled late" } else { "" };
                write!(f, "{}{late}", Device::Virtual(*model))
            }
            Driver::Installed => f.write_str("the installed driver"),
        }
    }
}

fn some_device() -> Result<(), Error> {
    match start().and_then(|()| count()) {
        Ok(count) if count > 0 => Ok(()),
        _ => Err(Error::NoDevice),
    }
}

/// Starts the driver (`cuInit`).
pub(crate) fn start() -> Result<(), Error> {
    match floor::init() {
        Err(Failed { code: CuResult::NO_DEVICE, .. }) => Err(Error::NoDevice),
        answer => answer.doing(|| "start the driver".into()),
    }
}

/// Counts the devices (`cuDeviceGetCount`).
pub(crate) fn count() -> Result<u32, Error> {
    floor::device_count().doing(|| "count the devices".into()).map(i32::unsigned_abs)
}

/// A device's facts, as the driver reports them (`cuDeviceGetName`, `cuDeviceGetAttribute`, `cuDriverGetVersion`).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DeviceProperties {
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

impl DeviceProperties {
    /// Asks the driver about device `ordinal`.
    #[track_caller]
    pub(crate) fn of(ordinal: u32) -> Result<DeviceProperties, Error> {
        let at = std::panic::Location::caller();
        let lost = |call, what: String| {
            move |code| failure(Failed { call, code: CuResult::from_code(code as u32) }, what, at)
        };
        let device =
            CustDevice::get_device(ordinal).map_err(lost("cuDeviceGet", format!("open device {ordinal}")))?;
        let attribute = |attribute: DeviceAttribute| {
            device
                .get_attribute(attribute)
                .map(i32::unsigned_abs)
                .map_err(lost("cuDeviceGetAttribute", format!("read {attribute:?}")))
        };
        Ok(DeviceProperties {
            name: device.name().map_err(lost("cuDeviceGetName", "read the device's name".into()))?,
            compute_capability: (
                attribute(DeviceAttribute::ComputeCapabilityMajor)?,
                attribute(DeviceAttribute::ComputeCapabilityMinor)?,
            ),
            sms: attribute(DeviceAttribute::MultiprocessorCount)?,
            threads_per_sm: attribute(DeviceAttribute::MaxThreadsPerMultiprocessor)?,
            copy_engines: attribute(DeviceAttribute::AsyncEngineCount)?,
            l2_bytes: attribute(DeviceAttribute::L2CacheSize)?,
            clock_khz: attribute(DeviceAttribute::ClockRate)?,
            driver_cuda: driver_cuda()?,
        })
    }

    /// Returns the fused multiply-adds that the device can start in one cycle: lanes of a multiprocessor (CUDA C++ Programming
    /// Guide, "Arithmetic Instructions": 64 for compute capability 7.5 and 8.0, 128 from 8.6 on) times their number.
    pub fn fma_lanes(&self) -> u32 {
        let per_sm = if self.compute_capability <= (8, 0) { 64 } else { 128 };
        per_sm * self.sms
    }

    /// Fails on a device whose compute capability is below `needs`.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`], naming `feature`.
    pub fn require(&self, feature: &'static str, needs: (u32, u32)) -> Result<(), Error> {
        let DeviceProperties { name, compute_capability: capability, .. } = self;
        if *capability >= needs {
            Ok(())
        } else {
            Err(Error::Unsupported { feature, needs, device: name.clone(), capability: *capability })
        }
    }
}

impl fmt::Display for DeviceProperties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DeviceProperties { name, compute_capability: (major, minor), sms, driver_cuda, .. } = self;
        let (cuda_major, cuda_minor) = driver_cuda;
        write!(
            f,
            "{name} (compute capability {major}.{minor}, {sms} SMs; driver for CUDA {cuda_major}.{cuda_minor})"
        )
    }
}

/// Returns the CUDA version of the driver, major and minor.
fn driver_cuda() -> Result<(u32, u32), Error> {
    let version = floor::driver_version().doing(|| "read the driver's version".into())?.unsigned_abs();
    Ok((version / 1000, version % 1000 / 10))
}

/// The priorities that a device tells apart. A lower number goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PriorityRange {
    /// The one that goes last: what a stream has that was made without.
    pub least: i32,
    /// The one that goes first.
    pub greatest: i32,
}

impl fmt::Display for PriorityRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (goes last) to {} (goes first)", self.least, self.greatest)
    }
}

/// What NVIDIA's driver on this machine offers.
#[derive(Debug)]
pub struct InstalledDriver {
    /// CUDA version of the driver, major and minor.
    pub cuda: (u32, u32),
    /// Functions that this crate would call and the driver does not have.
    pub missing: Vec<String>,
    /// The devices, in order.
    pub devices: Vec<DeviceProperties>,
}

impl InstalledDriver {
    /// Looks for a driver and its devices. It runs nothing on them.
    ///
    /// # Errors
    ///
    /// [`Error::NoDriver`]; [`Error::DriverInUse`] while a context on a virtual device is open; any error of the calls.
    pub fn find() -> Result<InstalledDriver, Error> {
        let chosen = Chosen::new(&Device::Gpu(0).into())?;
        let found = (|| {
            start()?;
            let missing = Symbol::ALL.iter().filter(|&&symbol| !floor::is_available(symbol));
            Ok(InstalledDriver {
                cuda: driver_cuda()?,
                missing: missing.map(ToString::to_string).collect(),
                devices: (0..count()?).map(DeviceProperties::of).collect::<Result<_, Error>>()?,
            })
        })();
        chosen.release();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_named_by_kind_and_number_or_model() {
        for (typed, device) in [
            ("auto", Device::Auto),
            ("gpu", Device::Gpu(0)),
            ("gpu:3", Device::Gpu(3)),
            ("2", Device::Gpu(2)),
            ("virtual", Device::Virtual(Model::H200)),
            ("virtual:h200", Device::Virtual(Model::H200)),
            ("virtual:t4", Device::Virtual(Model::T4)),
        ] {
            assert_eq!(typed.parse(), Ok(device), "{typed}");
            assert_eq!(device.to_string().parse(), Ok(device), "{device}");
        }
        for schedule in [Schedule::Earliest, Schedule::Late] {
            assert_eq!(schedule.to_string().parse(), Ok(schedule));
        }
        for typed in ["", "gpu:", "gpu:x", "gpu:-1", "virtual:", "virtual:h100", "cpu"] {
            assert!(typed.parse::<Device>().is_err(), "{typed}");
        }
    }
}
