//! The kernel of the pipeline lesson: a vector addition that can be made to compute as long as its copies take.

use cuda_std::arith::fma;
use cuda_std::kernel;

use crate::timing::{add, combine};

/// Factor and summand of a step of the chain.
pub const CHAIN: (f32, f32) = (0.999, 0.5);

/// `out[i] = a[i] + b[i]`, and then `steps` times `x = 0.999 x + 0.5` on it, one rounding each; by a grid of any size.
#[kernel(equal_lengths)]
pub fn add_chain(a: &[f32], b: &[f32], out: &mut [f32], steps: u32) {
    let (mul, summand) = CHAIN;
    combine(a, b, out, |a, b| {
        // Four chains side by side, so that a thread need not wait for each step's result.
        let mut x = add(a, b);
        for _ in 0..steps {
            x = x.map(|x| fma(mul, x, summand));
        }
        x
    });
}
