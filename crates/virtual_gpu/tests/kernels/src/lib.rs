//! Kernels as a learner writes them. Each is compared, bit by bit, with native Rust.
#![no_std]
#![feature(abi_ptx, stdarch_nvptx, asm_experimental_arch)]

pub mod arithmetic;
pub mod block;
pub mod control;
pub mod memory;
pub mod numbers;
