//! Says which CUDA driver and which devices this machine has: `cargo run -p cuda_driver --example driver_version`.
//!
//! The version is asked through this crate, the devices through `cust`; neither is linked to `libcuda`.

#![allow(clippy::print_stdout, reason = "it is what the program is for")]

use cuda_driver::{CudaVersion, Library, cuDriverGetVersion, fill, take_missing};
use cust::CudaFlags;
use cust::device::Device;
use std::error::Error;
use std::process::ExitCode;

fn main() -> ExitCode {
    match report() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::from(2)
        }
    }
}

fn report() -> Result<(), Box<dyn Error>> {
    let library = Library::open()?;
    // SAFETY: the library is NVIDIA's, its functions are what their names say, and it is never closed.
    unsafe { fill(|symbol| library.resolve(symbol)) };

    let mut version = 0;
    // SAFETY: `version` is a place for the result.
    let code = unsafe { cuDriverGetVersion(&mut version) };
    if !code.is_success() {
        return Err(take_missing().map_or_else(|| format!("cuDriverGetVersion: {code:?}").into(), Into::into));
    }
    println!("the driver knows CUDA {}", CudaVersion::from_driver_number(version.unsigned_abs()));

    cust::init(CudaFlags::empty())?;
    for device in Device::devices()? {
        println!("{}", device?.name()?);
    }
    Ok(())
}
