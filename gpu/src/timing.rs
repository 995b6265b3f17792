//! The kernel of the timing lesson: a vector addition, which is all memory and no arithmetic.

use cuda_std::wide::{self, Four};
use cuda_std::{kernel, thread};

/// `out[i] = a[i] + b[i]`, by a grid of any size; sixteen bytes a thread at a time, except where a slice does not begin at a
/// multiple of sixteen bytes.
#[kernel(equal_lengths)]
pub fn vec_add(a: &[f32], b: &[f32], out: &mut [f32]) {
    let (Some((fours_a, rest_a)), Some((fours_b, rest_b)), true) =
        (wide::fours(a), wide::fours(b), wide::fours(out).is_some())
    else {
        return one_at_a_time(a, b, out);
    };
    if let Some((fours, rest)) = wide::fours_mut(out) {
        for i in thread::grid_stride(fours.len()) {
            let (a, b) = (fours_a[i].0, fours_b[i].0);
            fours[i] = Four([a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]);
        }
        one_at_a_time(rest_a, rest_b, rest);
    }
}

#[inline(always)]
fn one_at_a_time(a: &[f32], b: &[f32], out: &mut [f32]) {
    for i in thread::grid_stride(out.len()) {
        out[i] = a[i] + b[i];
    }
}
