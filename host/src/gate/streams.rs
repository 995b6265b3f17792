//! The gates of the streams lesson: four ratios of times from one run, and the proof that the spin really spins.

use super::overlap::{self, Interval};
use super::{Gate, MIN_SM_COUNT};

/// The most that two streams may take, as a multiple of the spin that they hide the sweeps behind.
pub const MAX_HIDDEN: f64 = 1.10;
/// How far the trap may be from the sequential version, either way, relative to it.
pub const TRAP_TOLERANCE: f64 = 0.05;
/// The least that overlap must save.
pub const MIN_SAVING: f64 = 1.2;
/// The least that two full grids take, as a fraction of both alone.
pub const MIN_FULL: f64 = 0.90;
/// The least part of the blocks that a card holds which are resident on average, when grids leave no room for another of
/// their size.
pub const MIN_HELD: f64 = 0.5;
/// How far twice the steps may be from twice the time, relative to it.
pub const LINEAR_TOLERANCE: f64 = 0.10;

/// Medians of the lesson's regions, milliseconds, from one run on one card.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// The spin alone.
    pub spin: f64,
    /// The spin alone with twice the steps.
    pub spin_doubled: f64,
    /// The adding sweeps alone.
    pub sweep: f64,
    /// The scaling sweeps alone.
    pub scale: f64,
    /// Spin and sweeps in one stream.
    pub one_stream: f64,
    /// Spin and sweeps in two non-blocking streams.
    pub two_streams: f64,
    /// The spin in a blocking stream, the sweeps in the legacy default stream.
    pub legacy_trap: f64,
    /// Both kinds of sweeps, each in a non-blocking stream.
    pub two_full_grids: f64,
}

/// The five gates, in the order in which the lesson prints them.
pub fn streams(times: &Times, sm_count: u32) -> [Gate; 5] {
    let Times { spin, spin_doubled, sweep, scale, one_stream, two_streams, legacy_trap, two_full_grids } =
        *times;
    let on_large_card = |gate: Gate| match sm_count {
        0..MIN_SM_COUNT => Gate::not_gated(format!(
            "{}, reported only: the card has {sm_count} SMs, the gate needs {MIN_SM_COUNT}",
            gate.sentence
        )),
        _ => gate,
    };
    let doubled = spin_doubled / spin;
    let linear = within(
        doubled,
        2.0 * (1.0 - LINEAR_TOLERANCE)..=2.0 * (1.0 + LINEAR_TOLERANCE),
        format!("twice the steps take {doubled:.3}x the time: every step of the spin is executed"),
        format!("twice the steps take {doubled:.3}x the time, not 2x within 10%: somebody folded the spin"),
    );
    let saving = one_stream / two_streams;
    let hidden = two_streams / spin;
    let trap = legacy_trap / one_stream;
    let full = two_full_grids / (sweep + scale);
    [
        linear,
        on_large_card(within(
            saving,
            MIN_SAVING..=f64::INFINITY,
            format!("part1/part2 = {saving:.2}x: two streams save what the sweeps took"),
            format!("part1/part2 = {saving:.3}x, below {MIN_SAVING}x: two streams saved too little"),
        )),
        on_large_card(within(
            hidden,
            0.0..=MAX_HIDDEN,
            format!("part2/spin = {hidden:.2}x: the sweeps hide behind the spin"),
            format!(
                "part2/spin = {hidden:.3}x, above {MAX_HIDDEN}x: the sweeps did not hide behind the spin"
            ),
        )),
        on_large_card(within(
            trap,
            1.0 - TRAP_TOLERANCE..=1.0 + TRAP_TOLERANCE,
            format!(
                "part3/part1 = {trap:.2}x: a blocking stream beside the legacy default stream buys nothing"
            ),
            format!(
                "part3/part1 = {trap:.3}x, not 1 within {TRAP_TOLERANCE}: the legacy stream was no barrier"
            ),
        )),
        on_large_card(within(
            full,
            MIN_FULL..=f64::INFINITY,
            format!("part4/(sweep + scale) = {full:.2}x: full grids take turns, in however many streams"),
            format!("part4/(sweep + scale) = {full:.3}x, below {MIN_FULL}x: the grids did not fill the card"),
        )),
    ]
}

/// Whether the sweeps waited for the spin. `ran` is when they ran, in the order of submission: the spin, then the sweeps.
pub fn one_after_the_other(ran: &[Interval], step_ns: u64) -> Gate {
    let Some((spin, sweeps)) = ran.split_first() else { return overlap::side_by_side("kernels", ran) };
    let sweeps = overlap::hull(sweeps).unwrap_or(*spin);
    overlap::after("the first sweep", sweeps, "the spin", *spin, step_ns)
}

/// Whether the sweeps ran while the spin did; `ran` as for [`one_after_the_other`].
pub fn hidden_sweeps(ran: &[Interval]) -> Gate {
    let Some((spin, sweeps)) = ran.split_first() else { return overlap::side_by_side("kernels", ran) };
    overlap::hidden("the sweeps", sweeps, "the spin", *spin)
}

/// Whether full grids left no room for one another. `ran` is when they ran: those of one stream, then as many of the other;
/// `blocks` is when their blocks did, of which the card holds `resident` at once.
pub fn no_room(ran: &[Interval], blocks: &[Interval], resident: u32) -> Gate {
    let (one, other) = ran.split_at(ran.len() / 2);
    let Some(all) = overlap::hull(ran) else { return overlap::side_by_side("full grids", ran) };
    let shared: u64 = one.iter().flat_map(|a| other.iter().map(|b| a.shared_ns(*b))).sum();
    let held: u64 = blocks.iter().map(|block| block.length_ns()).sum();
    let held = held as f64 / all.length_ns() as f64;
    let sentence = format!(
        "timeline: grids of both streams were under way at once for {:.1} us of {:.1} us, and on average {held:.0} of the \
         {resident} blocks that the card holds were resident",
        shared as f64 / 1e3,
        all.length_ns() as f64 / 1e3
    );
    if held >= MIN_HELD * f64::from(resident) {
        Gate::pass(format!("{sentence}: there was no room for both"))
    } else {
        Gate::fail(format!("{sentence}: there was room for both"))
    }
}

/// Passes when `value` is in the range; a time that is not a number never is.
fn within(value: f64, range: std::ops::RangeInclusive<f64>, holds: String, fails: String) -> Gate {
    if range.contains(&value) { Gate::pass(holds) } else { Gate::fail(fails) }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::tests::check;
    use super::*;

    /// As an H200 would have it, in milliseconds.
    const GOOD: Times = Times {
        spin: 2.0,
        spin_doubled: 4.0,
        sweep: 1.0,
        scale: 1.0,
        one_stream: 3.0,
        two_streams: 2.02,
        legacy_trap: 3.01,
        two_full_grids: 2.0,
    };

    fn verdicts(times: Times, sm_count: u32) -> [Verdict; 5] {
        streams(&times, sm_count).map(|gate| gate.verdict)
    }

    /// Where `times` fails, and nothing else does.
    #[track_caller]
    fn check_fails(times: Times, gate: usize) {
        let mut want = [Verdict::Pass; 5];
        want[gate] = Verdict::Fail;
        assert_eq!(verdicts(times, 132), want, "{:?}", streams(&times, 132));
    }

    #[test]
    fn sweeps_wait_or_hide_or_leave_no_room_by_when_they_ran() {
        let ran = |start_ns, end_ns| Interval { start_ns, end_ns };
        let (spin, beside, behind) = (ran(0, 1000), ran(100, 900), ran(1010, 1400));
        assert_eq!(hidden_sweeps(&[spin, beside, beside]).verdict, Verdict::Pass);
        assert_eq!(hidden_sweeps(&[spin, beside, behind]).verdict, Verdict::Fail);
        assert_eq!(one_after_the_other(&[spin, behind, behind], 32).verdict, Verdict::Pass);
        assert_eq!(one_after_the_other(&[spin, behind, beside], 32).verdict, Verdict::Fail);

        // Each grid's two blocks run for half of the time, on a card that holds two or five.
        let (grids, blocks) =
            ([ran(0, 600), ran(500, 1000)], [ran(0, 500), ran(0, 500), ran(500, 1000), ran(500, 1000)]);
        check(
            no_room(&grids, &blocks, 2),
            Verdict::Pass,
            "timeline: grids of both streams were under way at once for 0.1 us of 1.0 us, and on average 2 of the 2 blocks \
             that the card holds were resident: there was no room for both",
        );
        assert_eq!(no_room(&grids, &blocks, 4).verdict, Verdict::Pass);
        assert_eq!(no_room(&grids, &blocks, 5).verdict, Verdict::Fail);
        for gate in [hidden_sweeps(&[]), one_after_the_other(&[], 32), no_room(&[], &[], 2)] {
            assert_eq!(gate.verdict, Verdict::NotGated, "{gate}");
        }
    }

    #[test]
    fn good_times_pass_everywhere() {
        assert_eq!(verdicts(GOOD, 132), [Verdict::Pass; 5]);
        assert_eq!(verdicts(GOOD, 24), [Verdict::Pass; 5]);
    }

    #[test]
    fn each_gate_passes_at_its_limit_and_fails_past_it() {
        check_fails(Times { spin_doubled: 4.41, ..GOOD }, 0);
        check_fails(Times { spin_doubled: 3.59, ..GOOD }, 0);
        check_fails(Times { spin_doubled: 2.0, ..GOOD }, 0);
        check_fails(Times { one_stream: 2.4, legacy_trap: 2.4, ..GOOD }, 1);
        check_fails(Times { two_streams: 2.21, ..GOOD }, 2);
        check_fails(Times { legacy_trap: 3.16, ..GOOD }, 3);
        check_fails(Times { legacy_trap: 2.84, ..GOOD }, 3);
        check_fails(Times { two_full_grids: 1.79, ..GOOD }, 4);
        let limits = Times {
            spin: 1.0,
            spin_doubled: 2.2,
            two_streams: 1.1,
            one_stream: 1.32 + 1e-12,
            legacy_trap: 1.32 * 1.05,
            two_full_grids: 1.8,
            ..GOOD
        };
        assert_eq!(verdicts(limits, 132), [Verdict::Pass; 5], "{:?}", streams(&limits, 132));
    }

    #[test]
    fn a_small_card_reports_all_but_the_proof_that_the_spin_spins() {
        let bad = Times { two_streams: 3.0, ..GOOD };
        for times in [GOOD, bad] {
            let [spin, rest @ ..] = verdicts(times, 23);
            assert_eq!((spin, rest), (Verdict::Pass, [Verdict::NotGated; 4]));
        }
        assert_eq!(verdicts(Times { spin_doubled: 2.1, ..GOOD }, 23)[0], Verdict::Fail);
    }

    #[test]
    fn unknown_times_never_pass() {
        let unknown = Times { spin: f64::NAN, one_stream: f64::NAN, sweep: f64::NAN, ..GOOD };
        assert_eq!(verdicts(unknown, 132), [Verdict::Fail; 5]);
    }
}
