//! The kernels of the streams lesson: one that keeps a few multiprocessors busy without touching memory, and two that
//! sweep through memory with the whole card.

use cuda_std::arith::opaque;
use cuda_std::{kernel, thread};

/// Elements that a thread of a sweep loads before it stores the first of them. One load of four bytes for each resident
/// thread is 8 KiB on the way for a multiprocessor; to keep the memory of an H200 busy takes about three times that.
const IN_FLIGHT: usize = 4;

/// `steps` dependent steps `x = 1664525 x + 1013904223` (modulo 2^32) from the thread's index, the last into `out`. One
/// thread for each element of `out`.
///
/// Every step is executed: each is opaque to the compiler, which would else fold many of them into one.
#[kernel]
pub fn spin_lcg(out: &mut [u32], steps: u32) {
    let i = thread::index_1d();
    if i < out.len() {
        let mut x = i as u32;
        for _ in 0..steps {
            x = opaque(x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        }
        out[i] = x;
    }
}

/// `out[i] = input[i] + 1`, by a grid of any size. The buffers are of the same length.
#[kernel]
pub fn sweep_add(input: &[f32], out: &mut [f32]) {
    sweep(input, out, |x| x + 1.0);
}

/// `out[i] = input[i] * 2`, by a grid of any size. The buffers are of the same length.
#[kernel]
pub fn sweep_scale(input: &[f32], out: &mut [f32]) {
    sweep(input, out, |x| x * 2.0);
}

/// `out[i] = f(input[i])` for every grid's width of elements, [`IN_FLIGHT`] widths at a time.
#[inline(always)]
fn sweep(input: &[f32], out: &mut [f32], f: impl Fn(f32) -> f32) {
    let input = &input[..out.len()];
    let stride = thread::count_1d();
    let mut i = thread::index_1d();
    while i + (IN_FLIGHT - 1) * stride < input.len() {
        let values: [f32; IN_FLIGHT] = core::array::from_fn(|k| input[i + k * stride]);
        for (k, value) in values.into_iter().enumerate() {
            out[i + k * stride] = f(value);
        }
        i += IN_FLIGHT * stride;
    }
    while i < input.len() {
        out[i] = f(input[i]);
        i += stride;
    }
}
