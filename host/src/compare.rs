//! Two buffers, element by element: which differ, which is the first that does, and how many agree to the last bit.
//! Pure: slices in, numbers out.
//!
//! One thread, because that is enough: two buffers of 2^20 elements take 1 to 2 ms, and the reference that one of them
//! comes from takes more than ten times that on two cores.

use std::fmt;

use serde::Serialize;

/// What comparing two buffers found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Elements compared.
    pub elements: usize,
    /// Elements out of tolerance.
    pub mismatches: usize,
    /// The one of them with the lowest index.
    pub first: Option<Mismatch>,
    /// Elements with the same bits on both sides. A NaN counts here when its bits agree, and is a mismatch still.
    pub bit_identical: usize,
}

/// An element out of tolerance. Its `Display` is `wrong at 17: got 1.5, want 1.25`, each value with as many digits
/// (9 at most) as tell it from every other `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mismatch {
    /// Where it is, counted from 0.
    pub index: usize,
    /// What was computed.
    pub got: f32,
    /// What the reference says.
    pub want: f32,
}

/// Compares `got` with the reference `want`.
///
/// An element is within tolerance when both sides are equal, or when `want` is finite and they differ by at most
/// `relative_tolerance` times |want|, or times 1 where `want` is 0. So an infinity matches itself only, and a NaN on
/// either side matches nothing.
///
/// # Panics
///
/// When `got` and `want` differ in length.
pub fn compare(got: &[f32], want: &[f32], relative_tolerance: f32) -> Comparison {
    assert_eq!(got.len(), want.len(), "compare: both buffers hold equally many elements");
    let mut comparison = Comparison { elements: want.len(), mismatches: 0, first: None, bit_identical: 0 };
    for (index, (&got, &want)) in got.iter().zip(want).enumerate() {
        comparison.bit_identical += usize::from(got.to_bits() == want.to_bits());
        if !is_within(got, want, relative_tolerance) {
            comparison.mismatches += 1;
            comparison.first.get_or_insert(Mismatch { index, got, want });
        }
    }
    comparison
}

/// The products and differences are in double precision, where no pair of floats overflows.
fn is_within(got: f32, want: f32, relative_tolerance: f32) -> bool {
    let scale = if want == 0.0 { 1.0 } else { f64::from(want).abs() };
    let difference = (f64::from(got) - f64::from(want)).abs();
    got == want || (want.is_finite() && difference <= f64::from(relative_tolerance) * scale)
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `{:?}` writes the shortest decimal that reads back as the same float, with an exponent where `{}` would
        // write forty digits.
        write!(f, "wrong at {}: got {:?}, want {:?}", self.index, self.got, self.want)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TOLERANCE: f32 = 1e-6;
    const INF: f32 = f32::INFINITY;
    const NAN: f32 = f32::NAN;

    #[track_caller]
    fn check(got: f32, want: f32, within: bool) {
        assert_eq!(is_within(got, want, TOLERANCE), within, "got {got:?}, want {want:?}");
    }

    #[test]
    fn the_tolerance_is_relative_to_what_is_wanted() {
        for want in [1.0_f32, -1.0, 1e30, -1e30, 1e-30, f32::MIN_POSITIVE, 1712.3457] {
            check(want, want, true);
            check(want.next_up(), want, true);
            check(want * (1.0 + 0.9e-6), want, true);
            check(want * (1.0 - 0.9e-6), want, true);
            check(want * (1.0 + 1.2e-6), want, false);
            check(want * (1.0 - 1.2e-6), want, false);
            check(-want, want, false);
            check(0.0, want, false);
        }
    }

    #[test]
    fn where_zero_is_wanted_the_tolerance_is_absolute() {
        for zero in [0.0, -0.0] {
            check(0.0, zero, true);
            check(-0.0, zero, true);
            check(f32::from_bits(1), zero, true);
            check(0.9e-6, zero, true);
            check(-0.9e-6, zero, true);
            check(1.1e-6, zero, false);
            check(-1.1e-6, zero, false);
        }
    }

    #[test]
    fn a_difference_of_exactly_the_tolerance_is_within() {
        assert!(is_within(1.25, 1.0, 0.25));
        assert!(is_within(2.5, -2.0, 2.25));
        assert!(!is_within(1.25_f32.next_up(), 1.0, 0.25));
        assert!(is_within(0.25, 0.0, 0.25));
        assert!(!is_within(0.25_f32.next_up(), 0.0, 0.25));
    }

    #[test]
    fn without_tolerance_only_equal_values_are_within() {
        assert!(is_within(1.5, 1.5, 0.0));
        assert!(is_within(-0.0, 0.0, 0.0));
        assert!(!is_within(1.5_f32.next_up(), 1.5, 0.0));
    }

    #[test]
    fn neighbouring_denormals_differ() {
        check(f32::from_bits(2), f32::from_bits(1), false);
        check(f32::from_bits(1), f32::from_bits(1), true);
    }

    #[test]
    fn a_nan_matches_nothing() {
        for other in [NAN, 0.0, 1.0, INF, -INF] {
            check(NAN, other, false);
            check(other, NAN, false);
        }
    }

    #[test]
    fn an_infinity_matches_itself_only() {
        for infinity in [INF, -INF] {
            check(infinity, infinity, true);
            for other in [-infinity, 0.0, 1.0, f32::MAX, f32::MIN] {
                check(other, infinity, false);
                check(infinity, other, false);
            }
        }
    }

    #[test]
    fn nothing_overflows_at_the_ends_of_the_range() {
        assert!(is_within(f32::MAX, f32::MIN, 2.0));
        assert!(!is_within(f32::MAX, f32::MIN, 1.9));
        assert!(!is_within(INF, f32::MAX, 3.0));
    }

    #[test]
    fn the_first_mismatch_is_named_and_all_are_counted() {
        let want = [1.0, 2.0, -0.0, 4.0, NAN];
        let got = [1.0, 2.5, 0.0, 5.0, NAN];
        let comparison = compare(&got, &want, TOLERANCE);
        assert_eq!(comparison.elements, 5);
        assert_eq!(comparison.mismatches, 3);
        assert_eq!(comparison.first, Some(Mismatch { index: 1, got: 2.5, want: 2.0 }));
        assert_eq!(comparison.bit_identical, 2);
    }

    #[test]
    fn a_mismatch_at_either_end_is_found() {
        for index in [0, 6] {
            let mut got = [1.0; 7];
            got[index] = 3.0;
            assert_eq!(
                compare(&got, &[1.0; 7], TOLERANCE).first,
                Some(Mismatch { index, got: 3.0, want: 1.0 })
            );
        }
    }

    #[test]
    fn nothing_compared_is_nothing_found() {
        let nothing = Comparison { elements: 0, mismatches: 0, first: None, bit_identical: 0 };
        assert_eq!(compare(&[], &[], TOLERANCE), nothing);
    }

    #[test]
    #[should_panic(expected = "equally many elements")]
    fn buffers_of_different_lengths_are_refused() {
        compare(&[1.0], &[], TOLERANCE);
    }

    #[test]
    fn a_mismatch_shows_every_digit_that_matters() {
        let shown = |got, want| Mismatch { index: 17, got, want }.to_string();
        assert_eq!(shown(1.5, 1.25), "wrong at 17: got 1.5, want 1.25");
        assert_eq!(shown(1.0_f32.next_up(), 1.0), "wrong at 17: got 1.0000001, want 1.0");
        assert_eq!(shown(NAN, -INF), "wrong at 17: got NaN, want -inf");
        assert_eq!(shown(1e-45, f32::MAX), "wrong at 17: got 1e-45, want 3.4028235e38");
    }

    proptest! {
        #[test]
        fn different_floats_never_look_alike(bits in any::<u32>()) {
            let want = f32::from_bits(bits);
            prop_assume!(!want.is_nan());
            let shown = format!("{want:?}");
            prop_assert_eq!(shown.parse::<f32>().unwrap().to_bits(), bits);
        }

        #[test]
        fn counting_one_by_one_gives_the_same(pairs in prop::collection::vec((0..4_u8, 0..4_u8), 0..50)) {
            let values = [0.0, -0.0, 1.0, NAN];
            let got: Vec<f32> = pairs.iter().map(|pair| values[usize::from(pair.0)]).collect();
            let want: Vec<f32> = pairs.iter().map(|pair| values[usize::from(pair.1)]).collect();
            // Of these values only equal ones are within tolerance.
            let wrong = |&(got, want): &(&f32, &f32)| got != want;
            let comparison = compare(&got, &want, TOLERANCE);
            prop_assert_eq!(comparison.mismatches, got.iter().zip(&want).filter(wrong).count());
            let first = got.iter().zip(&want).position(|pair| wrong(&pair));
            prop_assert_eq!(comparison.first.map(|first| first.index), first);
            prop_assert_eq!(comparison.bit_identical, pairs.iter().filter(|pair| pair.0 == pair.1).count());
        }
    }
}
