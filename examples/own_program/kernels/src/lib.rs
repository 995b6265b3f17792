//! The kernels. `build.rs` compiles this crate to PTX; compiled for the host it yields a typed call for each of them.

#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]

use cuda_std::{kernel, thread};

/// `squares = input * input`.
#[kernel]
pub fn square(input: &[f32], squares: &mut [f32]) {
    let i = thread::index_1d();
    if i < squares.len() {
        squares[i] = input[i] * input[i];
    }
}

/// `sums = input + squares`.
#[kernel]
pub fn add(input: &[f32], squares: &[f32], sums: &mut [f32]) {
    let i = thread::index_1d();
    if i < sums.len() {
        sums[i] = input[i] + squares[i];
    }
}
