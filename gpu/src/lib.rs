//! The laboratory's kernels, one file for each family of lessons. Nothing here knows the host.
//!
//! The stock compiler writes this crate as PTX; compiled for the host it yields each kernel's descriptor and the typed
//! function that a launch takes.

#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]

#[cfg(not(target_arch = "nvptx64"))]
mod all;
pub mod errors;
pub mod flag;
pub mod forkjoin;
#[cfg(any(not(target_arch = "nvptx64"), target_feature = "sm_90"))]
pub mod pdl;
pub mod pipeline;
pub mod streams;
pub mod timing;

#[cfg(not(target_arch = "nvptx64"))]
pub use all::KERNELS;
