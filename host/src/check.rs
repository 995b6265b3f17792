//! A check: what a lesson claims, held against what was measured. Its identifier and its verdict are for programs, its sentence
//! is for people. Pure: it measures nothing and prints nothing.

use std::fmt;

use serde::Serialize;
use timeline::thousands;

use crate::compare::Comparison;

/// What a check decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The claim holds.
    Pass,
    /// The claim does not hold.
    Fail,
    /// These numbers cannot decide the claim: they are reported, and the sentence says why.
    NotJudged,
}

/// A check and its verdict. Its `Display` is `PASS: <sentence>`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Names the check: `diamond.result`. It stays when the sentence is reworded.
    pub id: String,
    /// What was decided.
    pub verdict: Verdict,
    /// Why, on one line, with the numbers.
    pub sentence: String,
}

impl Check {
    /// The claim holds.
    pub fn pass(id: impl Into<String>, sentence: impl Into<String>) -> Self {
        Check { id: id.into(), verdict: Verdict::Pass, sentence: sentence.into() }
    }

    /// The claim does not hold.
    pub fn fail(id: impl Into<String>, sentence: impl Into<String>) -> Self {
        Check { id: id.into(), verdict: Verdict::Fail, sentence: sentence.into() }
    }

    /// The claim cannot be decided here.
    pub fn not_judged(id: impl Into<String>, sentence: impl Into<String>) -> Self {
        Check { id: id.into(), verdict: Verdict::NotJudged, sentence: sentence.into() }
    }

    /// The claim holds, or it does not: one sentence for both.
    pub fn that(holds: bool, id: impl Into<String>, sentence: impl Into<String>) -> Self {
        if holds { Check::pass(id, sentence) } else { Check::fail(id, sentence) }
    }

    /// The check as it is where `reasons` say that the numbers decide nothing; as it was where there are none.
    pub fn unless(self, reasons: &[String]) -> Self {
        if reasons.is_empty() {
            return self;
        }
        let sentence = format!("{}; reported only: {}", self.sentence, reasons.join("; "));
        Check { verdict: Verdict::NotJudged, sentence, ..self }
    }

    /// Whether the claim was found not to hold.
    pub fn failed(&self) -> bool {
        self.verdict == Verdict::Fail
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Pass => "PASS",
            Self::Fail => "FAIL",
            Self::NotJudged => "not judged",
        })
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.verdict, self.sentence)
    }
}

/// Checks that `what` is what the reference says. A comparison of nothing fails: it has shown nothing.
pub fn correct(id: impl Into<String>, what: &str, comparison: &Comparison) -> Check {
    let elements = thousands(comparison.elements as u64);
    match comparison.first {
        Some(first) => {
            let wrong = thousands(comparison.mismatches as u64);
            Check::fail(id, format!("{what} {first}; {wrong} of {elements} elements are wrong"))
        }
        None if comparison.elements == 0 => {
            Check::fail(id, format!("{what}: there were no elements to compare"))
        }
        None => {
            let identical = thousands(comparison.bit_identical as u64);
            let sentence =
                format!("{what}: 0 of {elements} elements are wrong, {identical} are bit-identical");
            Check::pass(id, sentence)
        }
    }
}

/// Checks that `what` equals the reference exactly. A comparison of nothing fails.
pub fn equal<T: PartialEq + fmt::Display>(id: impl Into<String>, what: &str, got: &[T], want: &[T]) -> Check {
    if got.is_empty() || got.len() != want.len() {
        return Check::fail(id, format!("{what}: {} elements, expected {}", got.len(), want.len()));
    }
    match got.iter().zip(want).position(|(got, want)| got != want) {
        None => {
            let count = thousands(got.len() as u64);
            Check::pass(id, format!("{what}: all {count} elements equal the reference"))
        }
        Some(at) => Check::fail(id, format!("{what} wrong at {at}: got {}, want {}", got[at], want[at])),
    }
}

/// `count` things of this kind: `1 missing edge`, `4 missing edges`.
pub fn count(count: usize, one: &str, many: &str) -> String {
    format!("{} {}", thousands(count as u64), if count == 1 { one } else { many })
}

/// Three digits after the point, cut off and not rounded, so that what is below a limit does not read like the limit.
pub fn cut(value: f64) -> String {
    format!("{:.3}", (value * 1e3).floor() / 1e3)
}

/// Nanoseconds as microseconds.
pub fn us(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::compare;

    #[test]
    fn a_comparison_of_nothing_has_shown_nothing() {
        assert!(correct("r", "diamond", &compare(&[], &[], 0.0)).failed());
        assert!(equal::<u32>("r", "spin", &[], &[]).failed());
        assert!(equal("r", "spin", &[1_u32], &[1, 2]).failed());
    }

    #[test]
    fn the_first_wrong_element_is_named() {
        let check = correct("r", "diamond", &compare(&[1.0, 3.0, 5.0], &[1.0, 2.0, 3.0], 0.0));
        assert!(check.failed() && check.sentence.contains("wrong at 1") && check.sentence.contains("2 of 3"));
        let check = equal("r", "spin", &[1_u32, 3], &[1, 2]);
        assert!(check.failed() && check.sentence.contains("wrong at 1: got 3, want 2"));
        assert_eq!(equal("r", "spin", &[1_u32], &[1]).verdict, Verdict::Pass);
        assert_eq!(correct("r", "diamond", &compare(&[1.0], &[1.0], 0.0)).verdict, Verdict::Pass);
    }

    #[test]
    fn a_reason_against_judging_is_named_and_nothing_fails() {
        let check = Check::fail("overlap", "0.9x").unless(&["the kernels are short".to_owned()]);
        assert_eq!(check.verdict, Verdict::NotJudged);
        assert!(check.sentence.contains("0.9x") && check.sentence.contains("short"));
        assert!(Check::fail("overlap", "0.9x").unless(&[]).failed());
    }

    #[test]
    fn one_is_singular_and_a_limit_is_not_rounded_to() {
        assert_eq!([count(1, "edge", "edges"), count(0, "edge", "edges")], ["1 edge", "0 edges"]);
        assert_eq!([cut(1.299_99), cut(2.0)], ["1.299", "2.000"]);
    }
}
