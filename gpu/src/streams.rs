//! The kernels of the streams lesson: one that keeps a few multiprocessors busy without touching memory, and two that
//! sweep through memory with the whole card.

use cuda_std::arith::opaque;
use cuda_std::wide::{self, Four};
use cuda_std::{kernel, thread};

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

/// `out[i] = input[i] + 1`, by a grid of any size.
#[kernel(equal_lengths)]
pub fn sweep_add(input: &[f32], out: &mut [f32]) {
    sweep(input, out, |x| x + 1.0);
}

/// `out[i] = input[i] * 2`, by a grid of any size.
#[kernel(equal_lengths)]
pub fn sweep_scale(input: &[f32], out: &mut [f32]) {
    sweep(input, out, |x| x * 2.0);
}

/// `out[i] = f(input[i])` by the threads of a grid of any size; sixteen bytes a thread at a time, except where a slice does
/// not begin at a multiple of sixteen bytes.
///
/// With four bytes a thread, too few are on the way to keep the memory of a large card busy (H200: 72% of what a copy
/// moves, against 94%).
#[inline(always)]
fn sweep(input: &[f32], out: &mut [f32], f: impl Fn(f32) -> f32) {
    let (Some((from, rest)), true) = (wide::fours(input), wide::fours(out).is_some()) else {
        return one_at_a_time(input, out, f);
    };
    if let Some((to, rest_out)) = wide::fours_mut(out) {
        for i in thread::grid_stride(to.len()) {
            to[i] = Four(from[i].0.map(&f));
        }
        one_at_a_time(rest, rest_out, f);
    }
}

#[inline(always)]
fn one_at_a_time(input: &[f32], out: &mut [f32], f: impl Fn(f32) -> f32) {
    for i in thread::grid_stride(out.len()) {
        out[i] = f(input[i]);
    }
}
