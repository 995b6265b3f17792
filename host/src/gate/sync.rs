//! The gates of the sync lesson: what is complete when a wait returns, by the answers of queries.

use std::fmt;

use serde::Serialize;

use super::Gate;
use super::overlap::{self, Interval};

/// What queries said is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Complete {
    /// The event in the middle of the short stream.
    pub event: bool,
    /// The short stream.
    pub short: bool,
    /// The long stream.
    pub long: bool,
}

impl fmt::Display for Complete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |complete| if complete { "complete" } else { "not ready" };
        let Complete { event, short, long } = *self;
        write!(f, "event {}, short stream {}, long stream {}", word(event), word(short), word(long))
    }
}

/// Whether a wait returned when what it names was complete, and not only when more was.
pub fn returned(wait: &str, got: Complete, want: Complete) -> Gate {
    if got == want {
        Gate::pass(format!("after {wait}: {got}"))
    } else {
        Gate::fail(format!("after {wait}: {got}; predicted was: {want}"))
    }
}

/// Whether a query answers without waiting: it must have said no at least once before it said yes.
pub fn asked(refusals: u64) -> Gate {
    match refusals {
        0 => {
            Gate::fail("the first query said that the event was complete: it waited, or came too late".into())
        }
        1 => Gate::pass("the host asked once in vain before the event was complete: no query waits".into()),
        _ => Gate::pass(format!(
            "the host asked {refusals} times in vain before the event was complete: no query waits"
        )),
    }
}

/// Whether the kernels ended in the order of the waits, from narrow to wide: the one that the event covers, the last of the
/// short stream, the one of the long stream. `ran` is when they ran; `step_ns` is the clock's.
pub fn narrow_first(ran: &[Interval], step_ns: u64) -> Vec<Gate> {
    let &[first, second, long] = ran else {
        return vec![Gate::fail(format!("timeline: {} kernels ran, not 3", ran.len()))];
    };
    vec![
        overlap::after("the second short kernel", second, "the one that the event covers", first, step_ns),
        overlap::hidden("the short kernels", &[first, second], "the long one", long),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::tests::check;
    use super::*;

    const NARROW: Complete = Complete { event: true, short: false, long: false };

    #[test]
    fn a_wait_that_returns_late_or_early_fails() {
        check(
            returned("a wait for the event", NARROW, NARROW),
            Verdict::Pass,
            "after a wait for the event: event complete, short stream not ready, long stream not ready",
        );
        let others = [
            Complete { event: false, ..NARROW },
            Complete { short: true, ..NARROW },
            Complete { long: true, ..NARROW },
        ];
        for other in others {
            assert_eq!(returned("a wait", other, NARROW).verdict, Verdict::Fail, "{other}");
        }
    }

    #[test]
    fn a_query_that_never_said_no_may_have_waited() {
        for (refusals, verdict) in [(0, Verdict::Fail), (1, Verdict::Pass), (9, Verdict::Pass)] {
            assert_eq!(asked(refusals).verdict, verdict, "{refusals}");
        }
    }

    #[test]
    fn the_kernels_end_from_narrow_to_wide() {
        let ran = |start_ns, end_ns| Interval { start_ns, end_ns };
        let verdicts =
            |ran: &[Interval]| narrow_first(ran, 32).iter().map(|gate| gate.verdict).collect::<Vec<_>>();
        let (first, second, long) = (ran(0, 1000), ran(1100, 2100), ran(20, 4000));
        assert_eq!(verdicts(&[first, second, long]), [Verdict::Pass; 2]);
        assert_eq!(verdicts(&[first, ran(900, 1900), long]), [Verdict::Fail, Verdict::Pass]);
        assert_eq!(verdicts(&[first, second, ran(2100, 6100)]), [Verdict::Pass, Verdict::Fail]);
        assert_eq!(verdicts(&[first]), [Verdict::Fail]);
    }
}
