//! The kernel of the timing lesson: a vector addition, which is all memory and no arithmetic.

use cuda_std::wide::{self, Four};
use cuda_std::{kernel, thread};

/// `out[i] = a[i] + b[i]`, by a grid of any size.
#[kernel(equal_lengths)]
pub fn vec_add(a: &[f32], b: &[f32], out: &mut [f32]) {
    combine(a, b, out, add);
}

/// The sums of four pairs.
#[inline(always)]
pub(crate) fn add(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]
}

/// `out[i] = f(a[i], b[i])` by the threads of a grid of any size; four elements of each a thread at a time, which are sixteen
/// bytes, except where a slice does not begin at a multiple of sixteen bytes.
#[inline(always)]
pub(crate) fn combine(a: &[f32], b: &[f32], out: &mut [f32], f: impl Fn([f32; 4], [f32; 4]) -> [f32; 4]) {
    let (Some((fours_a, rest_a)), Some((fours_b, rest_b)), true) =
        (wide::fours(a), wide::fours(b), wide::fours(out).is_some())
    else {
        return one_at_a_time(a, b, out, f);
    };
    if let Some((fours, rest)) = wide::fours_mut(out) {
        for i in thread::grid_stride(fours.len()) {
            fours[i] = Four(f(fours_a[i].0, fours_b[i].0));
        }
        one_at_a_time(rest_a, rest_b, rest, f);
    }
}

#[inline(always)]
fn one_at_a_time(a: &[f32], b: &[f32], out: &mut [f32], f: impl Fn([f32; 4], [f32; 4]) -> [f32; 4]) {
    for i in thread::grid_stride(out.len()) {
        out[i] = f([a[i], 0.0, 0.0, 0.0], [b[i], 0.0, 0.0, 0.0])[0];
    }
}
