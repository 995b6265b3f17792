//! What a GPU kernel written in Rust may use.
//!
//! The crate has two halves. Compiled for `nvptx64-nvidia-cuda` it is the device's standard library: thread indices,
//! a fused multiply-add, the two calls of programmatic dependent launch, the clock, and a panic handler that traps.
//! Compiled for the host it carries what a launch needs to know of a kernel: its name, its parameters, and which
//! buffers it reads and writes (module [`abi`]), packed by a function of the kernel's own name (module [`call`]).
//!
//! ```ignore
//! use cuda_std::{kernel, thread};
//!
//! #[kernel]
//! pub fn add_one(input: &[f32], out: &mut [f32]) {
//!     for i in thread::grid_stride(out.len()) {
//!         out[i] = input[i] + 1.0;
//!     }
//! }
//! ```
//!
//! On the host the same line yields `add_one(&input, &out) -> Call`, where both arguments are device buffers: a launch
//! with a wrong type, a wrong count or a host buffer does not compile.
//!
//! A device function called on the host panics and names itself. The crate allocates nothing, and on the device it
//! needs `core` alone.

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx, stdarch_nvptx, asm_experimental_arch, core_intrinsics))]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

// `#[kernel]` names this crate from outside, and `trace` has kernels of its own.
extern crate self as cuda_std;

pub mod abi;
pub mod arith;
#[cfg(not(target_arch = "nvptx64"))]
pub mod call;
#[cfg(target_arch = "nvptx64")]
mod panic;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod pdl;
pub mod sense;
pub mod thread;
pub mod trace;
pub mod wide;

pub use cuda_std_macros::kernel;

/// Answers for a device function that was called on the host.
#[cfg(not(target_arch = "nvptx64"))]
#[cold]
#[track_caller]
fn device_only(name: &str) -> ! {
    panic!("cuda_std::{name} runs on the GPU only: call it from a #[kernel], not from host code")
}
