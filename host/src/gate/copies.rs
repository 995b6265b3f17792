//! The gates of the copies lesson: when a call returns, how fast a copy is, and what two copies at once take.

use super::overlap::{self, Interval};
use super::{Gate, cut};

/// The most of a copy's time after which the call of an asynchronous one returns.
pub const MAX_RETURN: f64 = 0.5;
/// The least of it after which the call of one returns that holds the host.
pub const MIN_HELD: f64 = 0.5;
/// How many times as long pageable memory takes at least.
pub const MIN_SLOWER: f64 = 1.2;
/// The most that both directions at once take, relative to one after the other.
pub const MAX_BOTH: f64 = 0.75;
/// The least that two copies of one direction take on two streams, relative to one after the other.
pub const MIN_ONE_WAY: f64 = 0.9;
/// A copy that takes less is as long as the calls around it, ms.
pub const MIN_COPY_MS: f64 = 0.1;

/// A call and its copy: medians, milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call<'n> {
    /// Which: `pinned to device, asynchronous`.
    pub name: &'n str,
    /// From the call to its return, by the host's clock.
    pub returned_ms: f64,
    /// The copy's time by the card's clock.
    pub card_ms: f64,
}

/// The call returns long before its copy is done.
pub fn returns_at_once(call: Call<'_>) -> Gate {
    returns(call, |part| part <= MAX_RETURN, "the host is free meanwhile", "it held the host")
}

/// The call holds the host for most of its copy.
pub fn holds_the_host(call: Call<'_>) -> Gate {
    returns(call, |part| part >= MIN_HELD, "it holds the host", "it did not hold the host")
}

fn returns(call: Call<'_>, holds: impl Fn(f64) -> bool, yes: &str, no: &str) -> Gate {
    let Call { name, returned_ms, card_ms } = call;
    let sentence = format!("{name}: the call returns after {returned_ms:.4} ms of {card_ms:.3} ms");
    if card_ms < MIN_COPY_MS {
        Gate::not_gated(format!("{sentence}: the copy is too short to tell; take more elements"))
    } else if holds(returned_ms / card_ms) {
        Gate::pass(format!("{sentence}: {yes}"))
    } else {
        Gate::fail(format!("{sentence}: {no}"))
    }
}

/// What a query says as soon as the call has returned: in how many of the runs the copy was complete.
pub fn complete_at_return(name: &str, complete: u32, runs: u32, want: bool) -> Gate {
    let sentence = format!("{name}: complete when the call returned in {complete} of {runs} runs");
    if complete == if want { runs } else { 0 } && runs > 0 {
        Gate::pass(sentence)
    } else {
        Gate::fail(format!("{sentence}, not in {}", if want { "all" } else { "none" }))
    }
}

/// Pageable against page-locked memory in one direction.
pub fn pageable_is_slower(direction: &str, pageable_ms: f64, pinned_ms: f64) -> Gate {
    let ratio = pageable_ms / pinned_ms;
    let sentence =
        format!("{direction}: pageable {pageable_ms:.3} ms / pinned {pinned_ms:.3} ms = {ratio:.2}x");
    if pinned_ms < MIN_COPY_MS {
        Gate::not_gated(format!("{sentence}: the copy is too short to tell; take more elements"))
    } else if ratio >= MIN_SLOWER {
        Gate::pass(format!("{sentence}: the driver carries it through memory of its own"))
    } else {
        Gate::fail(format!("{sentence}, below {MIN_SLOWER}x"))
    }
}

/// Both directions at once against one after the other, on a card with so many copy engines.
pub fn both_directions(both_ms: f64, to_device_ms: f64, to_host_ms: f64, engines: u32) -> Gate {
    let part = both_ms / (to_device_ms + to_host_ms);
    let sentence = format!("both directions / (one + the other) = {}x", cut(part));
    if engines < 2 {
        Gate::not_gated(format!(
            "{sentence}: the card has {engines} copy engine, which does one copy at a time"
        ))
    } else if to_device_ms < MIN_COPY_MS {
        Gate::not_gated(format!("{sentence}: the copies are too short to tell; take more elements"))
    } else if part <= MAX_BOTH {
        Gate::pass(format!("{sentence}: they run side by side, on {engines} copy engines"))
    } else {
        Gate::fail(format!("{sentence}, above {MAX_BOTH}x: they took turns"))
    }
}

/// Two copies of one direction on two streams, against twice one.
pub fn one_direction(two_ms: f64, one_ms: f64) -> Gate {
    let part = two_ms / (2.0 * one_ms);
    let sentence = format!("two copies to the device on two streams / two in a row = {}x", cut(part));
    if one_ms < MIN_COPY_MS {
        Gate::not_gated(format!("{sentence}: the copies are too short to tell; take more elements"))
    } else if part >= MIN_ONE_WAY {
        Gate::pass(format!("{sentence}: a second stream makes the bus no wider"))
    } else {
        Gate::fail(format!("{sentence}, below {MIN_ONE_WAY}x: one copy alone did not fill the bus"))
    }
}

/// Whether two copies ran at once, on a card with so many copy engines.
pub fn ran_at_once(first: Interval, second: Interval, engines: u32) -> Gate {
    let gate = overlap::side_by_side("copies", &[first, second]);
    let shortest_ms = first.length_ns().min(second.length_ns()) as f64 / 1e6;
    if engines < 2 {
        Gate::not_gated(format!("{}: the card has {engines} copy engine", gate.sentence))
    } else if shortest_ms < MIN_COPY_MS {
        Gate::not_gated(format!("{}: too short to tell; take more elements", gate.sentence))
    } else {
        gate
    }
}

/// Whether the second of two copies of one direction was drawn for as long as the first. Copies are drawn from the end of the
/// one before them in their direction, so two that shared the bus would end together and the second be drawn short.
pub fn took_turns(first: Interval, second: Interval) -> Gate {
    let us = |ran: Interval| ran.length_ns() as f64 / 1e3;
    let sentence = format!(
        "timeline: the second copy ended {:.1} us after the first, which took {:.1} us",
        us(second),
        us(first)
    );
    if second.length_ns() >= first.length_ns().div_ceil(2) && first.length_ns() > 0 {
        Gate::pass(format!("{sentence}: they took turns"))
    } else {
        Gate::not_gated(format!("{sentence}: they shared the bus"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict::{Fail, NotGated, Pass};
    use super::super::tests::check;
    use super::*;

    fn call(returned_ms: f64, card_ms: f64) -> Call<'static> {
        Call { name: "pinned", returned_ms, card_ms }
    }

    #[test]
    fn a_call_returns_at_once_up_to_half_of_its_copy_and_holds_the_host_from_there_on() {
        check(
            returns_at_once(call(0.005, 1.0)),
            Pass,
            "pinned: the call returns after 0.0050 ms of 1.000 ms: the host is free meanwhile",
        );
        for (returned_ms, at_once, holds) in [(0.49, Pass, Fail), (0.5, Pass, Pass), (0.51, Fail, Pass)] {
            let call = call(returned_ms, 1.0);
            assert_eq!((returns_at_once(call).verdict, holds_the_host(call).verdict), (at_once, holds));
        }
        for gate in [returns_at_once(call(0.01, 0.09)), holds_the_host(call(0.01, 0.09))] {
            assert_eq!(gate.verdict, NotGated);
        }
        for unknown in [call(f64::NAN, 1.0), call(1.0, f64::NAN)] {
            assert_eq!((returns_at_once(unknown).verdict, holds_the_host(unknown).verdict), (Fail, Fail));
        }
    }

    #[test]
    fn a_query_has_to_say_the_same_in_every_run() {
        let gate = |complete, want| complete_at_return("a copy", complete, 3, want).verdict;
        assert_eq!([gate(3, true), gate(2, true), gate(0, true)], [Pass, Fail, Fail]);
        assert_eq!([gate(0, false), gate(1, false), gate(3, false)], [Pass, Fail, Fail]);
        assert_eq!(complete_at_return("a copy", 0, 0, true).verdict, Fail);
        assert_eq!(complete_at_return("a copy", 0, 0, false).verdict, Fail);
    }

    #[test]
    fn ratios_pass_at_their_limits_and_fail_past_them() {
        assert_eq!(pageable_is_slower("to the device", 1.2, 1.0).verdict, Pass);
        assert_eq!(pageable_is_slower("to the device", 1.19, 1.0).verdict, Fail);
        assert_eq!(pageable_is_slower("to the device", f64::NAN, 1.0).verdict, Fail);
        assert_eq!(pageable_is_slower("to the device", 9.0, 0.09).verdict, NotGated);
        assert_eq!(both_directions(1.5, 1.0, 1.0, 2).verdict, Pass);
        assert_eq!(both_directions(1.51, 1.0, 1.0, 2).verdict, Fail);
        assert_eq!(both_directions(2.0, 1.0, 1.0, 1).verdict, NotGated);
        assert_eq!(both_directions(0.05, 0.05, 0.05, 2).verdict, NotGated);
        assert_eq!(both_directions(f64::NAN, 1.0, 1.0, 2).verdict, Fail);
        assert_eq!(one_direction(1.8, 1.0).verdict, Pass);
        assert_eq!(one_direction(1.79, 1.0).verdict, Fail);
        assert_eq!(one_direction(0.1, 0.05).verdict, NotGated);
        assert_eq!(one_direction(f64::NAN, 1.0).verdict, Fail);
    }

    #[test]
    fn copies_took_turns_when_the_second_is_drawn_for_half_of_the_first_or_longer() {
        let ran = |start_ns, end_ns| Interval { start_ns, end_ns };
        assert_eq!(took_turns(ran(0, 100), ran(100, 150)).verdict, Pass);
        assert_eq!(took_turns(ran(0, 100), ran(100, 149)).verdict, NotGated);
        assert_eq!(took_turns(ran(0, 0), ran(0, 0)).verdict, NotGated);
    }

    #[test]
    fn copies_ran_at_once_for_half_of_the_shorter_where_there_are_two_engines() {
        let ran = |start_ns, end_ns| Interval { start_ns, end_ns };
        assert_eq!(ran_at_once(ran(0, 200_000), ran(100_000, 300_000), 2).verdict, Pass);
        assert_eq!(ran_at_once(ran(0, 200_000), ran(100_001, 300_001), 2).verdict, Fail);
        assert_eq!(ran_at_once(ran(0, 200_000), ran(200_000, 300_000), 1).verdict, NotGated);
        assert_eq!(ran_at_once(ran(0, 99_999), ran(99_999, 300_000), 2).verdict, NotGated);
    }
}
