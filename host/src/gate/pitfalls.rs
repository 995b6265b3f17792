//! The gates of the pitfalls: what a flawed program and its repaired twin came to, and when their kernels ran.

use super::Gate;
use super::overlap::{self, Interval};

/// The most of a kernel's time that a stopwatch which does not follow it may hold.
pub const MAX_MISSED: f32 = 0.3;
/// How much of it a stopwatch holds that follows it.
pub const HELD: std::ops::RangeInclusive<f32> = 0.9..=2.0;

/// What is to be seen of when the kernels and copies of a program ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// The last kernel started before the one ahead of it had ended.
    Early,
    /// It started after that.
    Behind,
    /// The last kernel waited for the first.
    InTurn,
    /// The last kernel and the first ran side by side.
    Abreast,
    /// The kernel began when the copy ahead of it, on another stream, was more than half over.
    Held,
    /// It began before that.
    Beside,
    /// Nothing: what is wrong is no kernel's time.
    Nothing(&'static str),
}

/// Whether the timeline shows it; `ran` is when the kernels ran, in the order of submission.
pub fn shows(what: Shows, ran: &[Interval], step_ns: u64) -> Gate {
    let (reader, writer) = ("the reader", "the writer");
    match (what, ran) {
        (Shows::Nothing(why), _) => Gate::not_gated(format!("timeline: {why}")),
        (Shows::Early, [.., first, last]) => overlap::before(reader, *last, writer, *first),
        (Shows::Behind, [.., first, last]) => overlap::after(reader, *last, writer, *first, step_ns),
        (Shows::InTurn, [first, .., last]) => {
            overlap::after("the slow kernel of B", *last, "that of A", *first, step_ns)
        }
        (Shows::Held | Shows::Beside, [copy, kernel]) => beside_a_copy(*copy, *kernel, what == Shows::Held),
        (Shows::Abreast, [first, .., last]) => overlap::side_by_side("slow kernels", &[*first, *last]),
        _ => Gate::fail(format!(
            "timeline: {} kernels and copies ran, and that is not what shows anything",
            ran.len()
        )),
    }
}

/// Whether the repaired program came to what is right. What the flawed one came to is told and decides nothing: a race can
/// come out right.
pub fn value(flawed: f32, repaired: f32, right: f32) -> Gate {
    let sentence = format!(
        "repaired it computes {repaired}, where {right} is right; with the flaw it computed {flawed} this time"
    );
    if repaired == right { Gate::pass(sentence) } else { Gate::fail(sentence) }
}

/// Whether the stopwatch held next to nothing of the kernel, and repaired all of it.
pub fn part_of_the_time(flawed: f32, repaired: f32) -> Gate {
    let percent = |part: f32| format!("{:.0}%", 100.0 * part);
    let sentence = format!(
        "the stopwatch held {} of the kernel's time, and repaired {}",
        percent(flawed),
        percent(repaired)
    );
    if flawed <= MAX_MISSED && HELD.contains(&repaired) { Gate::pass(sentence) } else { Gate::fail(sentence) }
}

/// How much of a copy's time had gone when a kernel on another stream began, and whether that was more than half.
fn beside_a_copy(copy: Interval, kernel: Interval, is_held: bool) -> Gate {
    let gone = kernel.start_ns.saturating_sub(copy.start_ns);
    let part = gone as f64 / copy.length_ns().max(1) as f64;
    let sentence =
        format!("timeline: the kernel began when {:.0}% of the copy's time had gone", 100.0 * part);
    if (part >= 0.5) == is_held { Gate::pass(sentence) } else { Gate::fail(sentence) }
}

/// Whether the card stood idle for longer between the two kernels when the host stood between them.
pub fn idle(flawed: &[Interval], repaired: &[Interval]) -> Gate {
    let gap = |ran: &[Interval]| match ran {
        [.., first, last] => Some(last.start_ns.saturating_sub(first.end_ns)),
        _ => None,
    };
    let (Some(flawed), Some(repaired)) = (gap(flawed), gap(repaired)) else {
        return Gate::fail("timeline: there are not two kernels to stand between".to_owned());
    };
    let us = |ns: u64| format!("{:.1} us", ns as f64 / 1e3);
    let sentence = format!(
        "timeline: the card stood idle for {} between the kernels while the host waited and launched, and for {} when \
         the stream waited",
        us(flawed),
        us(repaired)
    );
    if flawed > repaired { Gate::pass(sentence) } else { Gate::fail(sentence) }
}

/// Whether a call that must fail did so with the code that is documented for it.
pub fn refused(answer: Result<f32, (u32, String)>, code: u32) -> Gate {
    match answer {
        Err((answered, error)) if answered == code => {
            Gate::pass(format!("the call fails, as it must: {error}"))
        }
        Err((answered, error)) => Gate::fail(format!("the call fails with {answered}, not {code}: {error}")),
        Ok(ms) => Gate::fail(format!("the call answers {ms} ms, and not the error {code}")),
    }
}

/// Whether the time that was asked for is there.
pub fn answered(ms: f32) -> Gate {
    let sentence = format!("repaired the call answers {ms:.3} ms");
    if ms > 0.0 { Gate::pass(sentence) } else { Gate::fail(sentence) }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict::{Fail, NotGated, Pass};
    use super::*;

    fn ran(start_ns: u64, end_ns: u64) -> Interval {
        Interval { start_ns, end_ns }
    }

    #[test]
    fn the_last_kernel_is_held_against_the_one_ahead_of_it_or_the_first() {
        let (long, inside, behind) = (ran(0, 1000), ran(100, 900), ran(1010, 2000));
        for (what, kernels, verdict) in [
            (Shows::Early, &[long, inside][..], Pass),
            (Shows::Early, &[inside, long, behind], Fail),
            (Shows::Behind, &[inside, long, behind], Pass),
            (Shows::Behind, &[behind, long, inside], Fail),
            (Shows::InTurn, &[long, inside, behind], Pass),
            (Shows::InTurn, &[long, behind, inside], Fail),
            (Shows::Abreast, &[long, behind, inside], Pass),
            (Shows::Abreast, &[long, inside, behind], Fail),
            (Shows::Held, &[long, ran(500, 600)], Pass),
            (Shows::Held, &[long, ran(499, 600)], Fail),
            (Shows::Beside, &[long, ran(499, 600)], Pass),
            (Shows::Beside, &[long, ran(500, 600)], Fail),
            (Shows::Beside, &[behind, long], Pass),
            (Shows::Early, &[long], Fail),
            (Shows::Abreast, &[], Fail),
            (Shows::Nothing("why"), &[], NotGated),
        ] {
            assert_eq!(shows(what, kernels, 32).verdict, verdict, "{what:?} {kernels:?}");
        }
    }

    #[test]
    fn the_repaired_value_decides_and_the_flawed_one_is_told() {
        assert_eq!(value(0.0, 4.0, 4.0).verdict, Pass);
        assert_eq!(value(4.0, 4.0, 4.0).verdict, Pass);
        assert_eq!(value(4.0, 0.0, 4.0).verdict, Fail);
        assert_eq!(value(4.0, f32::NAN, 4.0).verdict, Fail);
    }

    #[test]
    fn a_stopwatch_holds_nothing_or_all() {
        for (flawed, repaired, verdict) in [
            (0.3, 0.9, Pass),
            (0.31, 1.0, Fail),
            (0.0, 0.89, Fail),
            (0.0, 2.0, Pass),
            (0.0, 2.01, Fail),
            (f32::NAN, 1.0, Fail),
        ] {
            assert_eq!(part_of_the_time(flawed, repaired).verdict, verdict, "{flawed} {repaired}");
        }
    }

    #[test]
    fn the_host_in_between_costs_more_than_a_wait_of_the_stream() {
        let gap = |ns: u64| [ran(0, 100), ran(100 + ns, 300)];
        assert_eq!(idle(&gap(9), &gap(2)).verdict, Pass);
        assert_eq!(idle(&gap(2), &gap(2)).verdict, Fail);
        assert_eq!(idle(&gap(9)[..1], &gap(2)).verdict, Fail);
    }

    #[test]
    fn a_refusal_has_its_one_code() {
        assert_eq!(refused(Err((400, String::new())), 400).verdict, Pass);
        assert_eq!(refused(Err((600, String::new())), 400).verdict, Fail);
        assert_eq!(refused(Ok(1.0), 400).verdict, Fail);
        assert_eq!(answered(0.1).verdict, Pass);
        assert_eq!(answered(0.0).verdict, Fail);
    }
}
