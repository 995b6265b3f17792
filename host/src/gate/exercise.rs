//! The gates of an exercise's check.

use super::overlap::Interval;
use super::{Gate, MIN_SM_COUNT, cut};

/// The least serial / yours that says the streams overlap: the fork-join lesson's.
pub const MIN_RATIO: f64 = super::forkjoin::MIN_RATIO;

/// Whether everything was submitted; `undone` says what was not.
pub fn complete(undone: &[String]) -> Gate {
    match undone {
        [] => Gate::pass("everything is submitted, and once".to_owned()),
        undone => Gate::fail(undone.join("; ")),
    }
}

/// Whether the host waits nowhere; `waits` are the lines on which it does.
pub fn without_the_host(waits: &[String]) -> Gate {
    match waits {
        [] => Gate::pass("the host waits nowhere".to_owned()),
        [first, ..] => Gate::fail(format!(
            "the host waits at {first}: let a stream wait for an event instead, so that the host goes on submitting"
        )),
    }
}

/// A critical path, and what was predicted of it.
#[derive(Clone, Copy, Debug)]
pub struct Depth<'a> {
    /// What counts as one.
    pub unit: &'a str,
    /// Units that were predicted.
    pub predicted: u64,
    /// Units that there are.
    pub found: u64,
    /// The operations of the path, in words.
    pub chain: &'a str,
}

/// Whether the critical path is as long as predicted.
pub fn depth(depth: &Depth<'_>) -> Gate {
    let Depth { unit, predicted, found, chain } = depth;
    let sentence = format!("the critical path is {found} {unit} deep ({chain})");
    match found.cmp(predicted) {
        std::cmp::Ordering::Equal => Gate::pass(format!("{sentence}, as predicted")),
        std::cmp::Ordering::Greater => Gate::fail(format!(
            "{sentence}, where {predicted} are enough: one of them waits for another that it does not need"
        )),
        std::cmp::Ordering::Less => Gate::fail(format!(
            "{sentence}, where {predicted} are predicted: with other streams than the lab's?"
        )),
    }
}

/// Whether a kernel that may start early did.
pub fn starts_early(later: Interval, earlier: Interval) -> Gate {
    let us = |ns: u64| format!("{:.1} us", ns as f64 / 1e3);
    if later.start_ns < earlier.end_ns {
        let early = us(earlier.end_ns - later.start_ns);
        Gate::pass(format!("timeline: the last kernel started {early} before the end of the one ahead of it"))
    } else {
        let late = us(later.start_ns - earlier.end_ns);
        Gate::fail(format!(
            "timeline: the last kernel started {late} after the end of the one ahead of it: it takes a trigger there, a wait \
             here, and the attribute on this launch"
        ))
    }
}

/// Whether what nothing orders overlaps: serial / yours is at least [`MIN_RATIO`], where the two depths are those of the serial
/// order and of a right answer. Depths that leave no room for the ratio decide nothing.
pub fn ratio(ratio: f64, [serial, yours]: [u64; 2], sm_count: u32) -> Gate {
    let bound = serial as f64 / yours as f64;
    let sentence = format!(
        "serial / yours = {}x, by critical path at most {serial} / {yours} = {bound:.2}x",
        cut(ratio)
    );
    if bound < MIN_RATIO {
        Gate::not_gated(format!("{sentence}: reported only"))
    } else if sm_count < MIN_SM_COUNT {
        Gate::not_gated(format!("{sentence}, reported only: {sm_count} SMs are fewer than {MIN_SM_COUNT}"))
    } else if ratio >= MIN_RATIO {
        Gate::pass(format!("{sentence}; at least {MIN_RATIO}x"))
    } else {
        Gate::fail(format!("{sentence}, below {MIN_RATIO}x: the streams do not overlap"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict::{self, Fail, NotGated, Pass};
    use super::*;

    #[test]
    fn what_is_not_submitted_and_where_the_host_waits_is_said_on_one_line() {
        assert_eq!(complete(&[]).verdict, Pass);
        let gate = complete(&["a".to_owned(), "b".to_owned()]);
        assert_eq!((gate.verdict, gate.sentence.as_str()), (Fail, "a; b"));
        assert_eq!(without_the_host(&[]).verdict, Pass);
        let gate = without_the_host(&["f.rs:1".to_owned(), "f.rs:2".to_owned()]);
        assert!(gate.verdict == Fail && gate.sentence.contains("at f.rs:1: "), "{gate}");
    }

    #[test]
    fn a_path_is_as_deep_as_predicted_or_the_answer_is_another() {
        let verdict = |found| depth(&Depth { unit: "kernels", predicted: 3, found, chain: "" }).verdict;
        assert_eq!([2, 3, 4].map(verdict), [Fail, Pass, Fail]);
    }

    #[test]
    fn a_kernel_starts_early_before_the_other_has_ended() {
        let ran = |start_ns, end_ns| Interval { start_ns, end_ns };
        assert_eq!(starts_early(ran(99, 200), ran(0, 100)).verdict, Pass);
        assert_eq!(starts_early(ran(100, 200), ran(0, 100)).verdict, Fail);
    }

    #[test]
    fn a_ratio_is_gated_where_it_says_something() {
        let verdict = |at: f64, depths, sms| -> Verdict { ratio(at, depths, sms).verdict };
        assert_eq!(verdict(1.3, [5, 3], 24), Pass);
        assert_eq!(verdict(1.299, [5, 3], 24), Fail);
        assert_eq!(verdict(f64::NAN, [5, 3], 24), Fail);
        assert_eq!(verdict(1.0, [5, 3], 23), NotGated);
        assert_eq!(verdict(0.9, [3, 3], 132), NotGated);
    }
}
