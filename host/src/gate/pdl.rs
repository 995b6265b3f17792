//! The gates of the lesson on programmatic dependent launch.

use super::Gate;
use crate::report::thousands;

/// Whether early starts changed a result: both outputs are the same to the last bit.
pub fn bit_identical(what: &str, baseline: &[f32], early: &[f32]) -> Gate {
    let differs = |(a, b): (&f32, &f32)| a.to_bits() != b.to_bits();
    let count = baseline.iter().zip(early).filter(|&pair| differs(pair)).count();
    let first = baseline.iter().zip(early).position(differs);
    match first {
        _ if baseline.len() != early.len() || baseline.is_empty() => {
            Gate::fail(format!("{what}: {} elements against {}", early.len(), baseline.len()))
        }
        None => Gate::pass(format!(
            "{what}: all {} elements as in the baseline, to the last bit",
            thousands(early.len() as u64)
        )),
        Some(index) => Gate::fail(format!(
            "{what} differs from the baseline at {index}: got {}, want {}; {count} of {} elements differ",
            early[index],
            baseline[index],
            early.len()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::tests::check;
    use super::*;

    #[test]
    fn the_same_bits_pass_and_nothing_else_does() {
        check(
            bit_identical("pdl", &[1.0, f32::NAN], &[1.0, f32::NAN]),
            Verdict::Pass,
            "pdl: all 2 elements as in the baseline, to the last bit",
        );
        check(
            bit_identical("pdl", &[1.0, 0.0, 2.0], &[1.0, -0.0, 3.0]),
            Verdict::Fail,
            "pdl differs from the baseline at 1: got -0, want 0; 2 of 3 elements differ",
        );
        check(bit_identical("pdl", &[1.0], &[]), Verdict::Fail, "pdl: 0 elements against 1");
        check(bit_identical("pdl", &[], &[]), Verdict::Fail, "pdl: 0 elements against 0");
    }
}
