//! The kernels of the fork-join diamond: a chain long enough to see on a timeline, and the sum that joins.

use cuda_std::arith::fma;
use cuda_std::{kernel, thread};

/// Steps of the chain written out between two loop branches: by eights, the branches cost 5% (H200).
const UNROLLED: u32 = 64;

/// `iters` dependent fused multiply-adds `x = a * x + b` on every element of `input`, one rounding each, into `out`.
///
/// The grid may be of any size: each thread takes every grid's width of elements.
//
// `iters` stands before `a` and `b` for a reason. As an aligned pair the two are loaded into two registers at once, and a
// step then reads three registers, two of them from one bank; with two warps on a scheduler the bank's port is the limit,
// and a step takes 5.3 cycles instead of 4.1 (H200). Apart, `a` becomes a uniform operand.
#[kernel(equal_lengths)]
pub fn grind_fma(input: &[f32], out: &mut [f32], iters: u32, a: f32, b: f32) {
    let mut indices = thread::grid_stride(input.len());
    let Some(mut index) = indices.next() else { return };
    let mut value = input[index];
    loop {
        // The next element is on its way while the chain of this one runs: the load costs nothing that way.
        let ahead = indices.next();
        let next = ahead.map(|index| input[index]);
        out[index] = chain(value, a, b, iters);
        let (Some(next_index), Some(next_value)) = (ahead, next) else { return };
        (index, value) = (next_index, next_value);
    }
}

/// `x = a * x + b`, `iters` times.
#[inline(always)]
fn chain(mut x: f32, a: f32, b: f32, iters: u32) -> f32 {
    let mut left = iters;
    while left >= UNROLLED {
        for _ in 0..UNROLLED {
            x = fma(a, x, b);
        }
        left -= UNROLLED;
    }
    for _ in 0..left {
        x = fma(a, x, b);
    }
    x
}

/// `out[i] = b0[i] + b1[i] + b2[i] + b3[i]`, added in that order, one element for each thread of a grid that covers
/// `out`.
#[kernel(equal_lengths)]
pub fn sum_four(b0: &[f32], b1: &[f32], b2: &[f32], b3: &[f32], out: &mut [f32]) {
    let i = thread::index_1d();
    if i < out.len() {
        out[i] = b0[i] + b1[i] + b2[i] + b3[i];
    }
}
