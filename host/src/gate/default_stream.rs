//! The gate of the default-stream lesson: whether two kernels ran as the rules of their streams say.

use super::Gate;
use super::overlap::{self, Interval};

/// A kernel shorter than this may be over before another host thread has launched the next.
pub const MIN_KERNEL_NS: u64 = 100_000;

/// Whether two kernels ran one after the other where they must, and side by side where they may. `ran` is when they ran, in the
/// order of submission; `step_ns` is the clock's.
pub fn pair(ran: &[Interval], in_turn: bool, step_ns: u64) -> Gate {
    let &[first, second] = ran else {
        return Gate::fail(format!("timeline: {} kernels ran, not 2", ran.len()));
    };
    let shortest_ns = first.length_ns().min(second.length_ns());
    if in_turn {
        return overlap::after("the second kernel", second, "the first", first, step_ns);
    }
    let gate = overlap::side_by_side("kernels", ran);
    match shortest_ns {
        0..MIN_KERNEL_NS => Gate::not_gated(format!(
            "{}, reported only: a kernel of less than {} us may be over before the next is launched",
            gate.sentence,
            MIN_KERNEL_NS / 1000
        )),
        _ => gate,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    #[track_caller]
    fn check(second_start_us: u64, length_us: u64, in_turn: bool, verdict: Verdict) {
        let ran = |start_us| Interval { start_ns: 1000 * start_us, end_ns: 1000 * (start_us + length_us) };
        let gate = pair(&[ran(0), ran(second_start_us)], in_turn, 32);
        assert_eq!(gate.verdict, verdict, "{gate}");
    }

    #[test]
    fn kernels_that_must_take_turns_may_not_overlap_at_all() {
        check(100, 100, true, Verdict::Pass);
        check(99, 100, true, Verdict::Fail);
        check(49, 50, true, Verdict::Fail);
    }

    #[test]
    fn kernels_that_nothing_orders_run_side_by_side() {
        check(50, 100, false, Verdict::Pass);
        check(51, 100, false, Verdict::Fail);
        check(100, 100, false, Verdict::Fail);
    }

    #[test]
    fn kernels_that_may_be_over_too_soon_decide_nothing_about_overlap() {
        check(99, 99, false, Verdict::NotGated);
    }

    #[test]
    fn anything_but_two_kernels_fails() {
        let ran = Interval { start_ns: 0, end_ns: 200_000 };
        for count in [0, 1, 3] {
            for in_turn in [false, true] {
                assert_eq!(pair(&vec![ran; count], in_turn, 32).verdict, Verdict::Fail);
            }
        }
    }
}
