//! Numbers -> a verdict and a sentence that gives the numbers. Pure: it measures nothing and prints nothing. What every
//! lesson needs stands here; a lesson's own gates have a file each.

pub mod copies;
pub mod default_stream;
pub mod errors;
pub mod exercise;
pub mod forkjoin;
pub mod graph;
pub mod overlap;
pub mod pdl;
pub mod pipeline;
pub mod pitfalls;
pub mod priority;
pub mod startup;
pub mod streams;
pub mod sync;
pub mod timing;

use std::fmt;

use serde::Serialize;

use crate::compare::Comparison;
use crate::report::thousands;

/// The SMs of the smallest card whose ratio is gated.
pub const MIN_SM_COUNT: u32 = 24;

/// What a gate decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The claim holds.
    Pass,
    /// The claim does not hold.
    Fail,
    /// These numbers cannot decide the claim: they are reported, and the sentence says why.
    NotGated,
}

/// A verdict and why. Its `Display` is `PASS: <sentence>`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Gate {
    /// What was decided.
    pub verdict: Verdict,
    /// Why, on one line, with the numbers.
    pub sentence: String,
}

impl Gate {
    /// The claim holds.
    pub fn pass(sentence: String) -> Self {
        let verdict = Verdict::Pass;
        Self { verdict, sentence }
    }

    /// The claim does not hold.
    pub fn fail(sentence: String) -> Self {
        let verdict = Verdict::Fail;
        Self { verdict, sentence }
    }

    /// The claim cannot be decided here.
    pub fn not_gated(sentence: String) -> Self {
        let verdict = Verdict::NotGated;
        Self { verdict, sentence }
    }
}

/// Whether a program (`diamond`, `serial`) computed what the reference says. A comparison of nothing fails: it has
/// shown nothing.
pub fn correctness(program: &str, comparison: &Comparison) -> Gate {
    let elements = comparison.elements;
    match comparison.first {
        Some(first) => Gate::fail(format!(
            "{program} {first}; {} of {} elements are wrong",
            thousands(comparison.mismatches as u64),
            thousands(elements as u64)
        )),
        None if elements == 0 => Gate::fail(format!("{program}: there were no elements to compare")),
        None => {
            let identical = thousands(comparison.bit_identical as u64);
            let elements = thousands(elements as u64);
            Gate::pass(format!(
                "{program}: 0 of {elements} elements are wrong, {identical} are bit-identical"
            ))
        }
    }
}

/// Whether a program computed exactly what the reference says. A comparison of nothing fails: it has shown nothing.
pub fn equality<T: PartialEq + fmt::Display>(program: &str, got: &[T], want: &[T]) -> Gate {
    if got.is_empty() || got.len() != want.len() {
        return Gate::fail(format!("{program}: {} elements against {}", got.len(), want.len()));
    }
    match got.iter().zip(want).position(|(got, want)| got != want) {
        None => {
            Gate::pass(format!("{program}: all {} elements equal the reference", thousands(got.len() as u64)))
        }
        Some(index) => {
            Gate::fail(format!("{program} wrong at {index}: got {}, want {}", got[index], want[index]))
        }
    }
}

/// Three digits after the point, cut off and not rounded, so that what is below a limit does not read like the limit.
fn cut(value: f64) -> String {
    format!("{:.3}", (value * 1e3).floor() / 1e3)
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::NotGated => "not gated",
        })
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.verdict, self.sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::compare;

    #[track_caller]
    pub fn check(gate: Gate, verdict: Verdict, sentence: &str) {
        assert_eq!((gate.verdict, gate.sentence.as_str()), (verdict, sentence));
    }

    #[test]
    fn a_program_is_correct_when_nothing_is_out_of_tolerance() {
        let gate = |got: &[f32], want: &[f32]| correctness("diamond", &compare(got, want, 1e-6));
        let right = "diamond: 0 of 2 elements are wrong, 1 are bit-identical";
        check(gate(&[1.0, -0.0], &[1.0, 0.0]), Verdict::Pass, right);
        let wrong = "diamond wrong at 1: got 1.5, want 1.25; 2 of 3 elements are wrong";
        check(gate(&[1.0, 1.5, 2.0], &[1.0, 1.25, 3.0]), Verdict::Fail, wrong);
        check(gate(&[], &[]), Verdict::Fail, "diamond: there were no elements to compare");
    }

    #[test]
    fn equality_is_exact_and_names_the_first_difference() {
        check(equality("spin", &[1, 2], &[1, 2]), Verdict::Pass, "spin: all 2 elements equal the reference");
        check(equality("spin", &[1, 2, 4], &[1, 3, 5]), Verdict::Fail, "spin wrong at 1: got 2, want 3");
        check(
            equality("sweep", &[f32::NAN], &[f32::NAN]),
            Verdict::Fail,
            "sweep wrong at 0: got NaN, want NaN",
        );
        check(equality::<u32>("spin", &[], &[]), Verdict::Fail, "spin: 0 elements against 0");
        check(equality("spin", &[1], &[1, 2]), Verdict::Fail, "spin: 1 elements against 2");
    }

    #[test]
    fn a_gate_is_shown_with_its_verdict() {
        let shown = |verdict| Gate { verdict, sentence: "why".to_owned() }.to_string();
        assert_eq!(shown(Verdict::Pass), "PASS: why");
        assert_eq!(shown(Verdict::Fail), "FAIL: why");
        assert_eq!(shown(Verdict::NotGated), "not gated: why");
        let document = serde_json::to_string(&[Verdict::Pass, Verdict::Fail, Verdict::NotGated]).unwrap();
        assert_eq!(document, r#"["pass","fail","not_gated"]"#);
    }
}
