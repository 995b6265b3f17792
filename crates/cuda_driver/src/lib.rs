//! The `cu*` functions of CUDA's driver, resolved when the program runs instead of when it is linked.
//!
//! `cust` links to `libcuda`, and so does whoever declares a driver function; a program linked that way neither
//! links nor starts on a machine without NVIDIA's driver. This crate defines each of those symbols itself, as a
//! jump through a table. Until the table is filled, and for a function that the driver does not have,
//! the jump ends in a function that answers [`CuResult::STUB_LIBRARY`] and notes which one was wanted.
//!
//! [`fill`] is handed the functions and does not know whose they are: those of the driver's [`Library`], or any
//! others that keep the same contract.
//!
//! ```
//! use cuda_driver::{Library, MissingSymbol, Symbol};
//!
//! match Library::open() {
//!     // SAFETY: the library is NVIDIA's, its functions are what their names say, and it is never closed.
//!     Ok(library) => unsafe { cuda_driver::fill(|symbol| library.resolve(symbol)) },
//!     Err(no_driver) => println!("{no_driver}"),
//! }
//!
//! // Safe with any driver and with none: it only reads a number.
//! let mut version = 0;
//! let code = unsafe { cuda_driver::cuDriverGetVersion(&mut version) };
//! if !code.is_success() {
//!     let why = MissingSymbol::NotFilled(Symbol::cuDriverGetVersion);
//!     assert_eq!(cuda_driver::take_missing(), Some(why));
//! }
//! ```
//!
//! The crate prints nothing, ends no process, and reads neither environment nor files, save what the loader reads.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
compile_error!("cuda_driver: the jumps are written for 64-bit Linux; this target is another system");
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!(
    "cuda_driver: the jumps are written for x86_64 and aarch64; add a jump_*.rs for this processor"
);

mod calls;
mod handles;
#[cfg(target_arch = "aarch64")]
mod jump_aarch64;
#[cfg(target_arch = "x86_64")]
mod jump_x86_64;
mod launch;
mod library;
mod missing;
mod numbers;
mod result;
mod symbols;
mod table;

pub use calls::*;
pub use handles::{
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec, CUgraphNode, CUmodule,
    CUstream,
};
pub use launch::{CUlaunchAttribute, CUlaunchAttributeId, CUlaunchConfig};
pub use library::{Library, LibraryError, SONAME};
pub use missing::{MissingSymbol, take_missing};
pub use numbers::{
    CUcontextFlags, CUdeviceAttribute, CUeventFlags, CUfunctionAttribute, CUgraphNodeType, CUjitOption,
    CUmoduleLoadingMode, CUstreamCaptureMode, CUstreamCaptureStatus, CUstreamFlags,
};
pub use result::CuResult;
pub use symbols::{CudaVersion, Symbol};
pub use table::{fill, is_available};
