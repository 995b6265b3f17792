//! What the kernel of the pipeline lesson computes.

use rayon::prelude::*;

/// `out[i] = a[i] + b[i]`, and then `steps` times `x = 0.999 x + 0.5` on it: the kernel `add_chain`.
pub fn add_chain(a: &[f32], b: &[f32], out: &mut [f32], steps: u32) {
    let (mul, add) = gpu::pipeline::CHAIN;
    out.par_iter_mut().zip(a).zip(b).for_each(|((out, a), b)| {
        *out = (0..steps).fold(a + b, |x, _| x.mul_add(mul, add));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_begins_with_the_sum_and_rounds_once_a_step() {
        let mut out = [0.0; 2];
        add_chain(&[1.0, 2.0], &[3.0, 0.5], &mut out, 0);
        assert_eq!(out, [4.0, 2.5]);
        add_chain(&[1.0, 2.0], &[3.0, 0.5], &mut out, 2);
        let step = |x: f32| x.mul_add(0.999, 0.5);
        assert_eq!(out, [step(step(4.0)), step(step(2.5))]);
    }
}
