//! What the kernels of the lesson on programmatic dependent launch compute.

use gpu::pdl::{EPILOGUE, PRODUCE, PROLOGUE, STEPS};

use super::grind_fma;

/// One pair of primary and secondary: `mid` and `aux` as `produce_stage` leaves them, `out` as `combine_stage` does.
#[derive(Debug, PartialEq)]
pub struct Pair {
    /// The first phase's result.
    pub mid: Vec<f32>,
    /// The second phase's.
    pub aux: Vec<f32>,
    /// `mid` and the secondary's prologue, added.
    pub out: Vec<f32>,
}

/// The pair on `x` and `y`, which are of the same length.
pub fn pair(x: &[f32], y: &[f32]) -> Pair {
    let chain = |from: &[f32], (mul, add)| {
        let mut out = vec![0.0; from.len()];
        grind_fma(from, &mut out, mul, add, STEPS);
        out
    };
    let (mid, aux, prologue) = (chain(x, PRODUCE), chain(x, EPILOGUE), chain(y, PROLOGUE));
    let out = mid.iter().zip(&prologue).map(|(mid, prologue)| mid + prologue).collect();
    Pair { mid, aux, out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_the_slow_loops() {
        let x: Vec<f32> = (0..300).map(|i| (i % 97) as f32 * 0.01).collect();
        let y: Vec<f32> = (0..300).map(|i| (i % 13) as f32 * 0.05).collect();
        let slow = |mut v: f32, mul: f32, add: f32| {
            for _ in 0..256 {
                v = v.mul_add(mul, add);
            }
            v
        };
        let Pair { mid, aux, out } = pair(&x, &y);
        for i in 0..300 {
            assert_eq!(mid[i], slow(x[i], 0.999, 0.25));
            assert_eq!(aux[i], slow(x[i], 0.997, 0.125));
            assert_eq!(out[i], mid[i] + slow(y[i], 0.998, 0.5));
        }
    }
}
