//! The gates of the fork-join lesson.

use super::overlap::{self, Interval};
use super::{Gate, MIN_SM_COUNT, cut};
use crate::measure::Statistics;

/// The least serial / diamond that says the branches run side by side.
pub const MIN_RATIO: f64 = 1.3;

/// The least critical-path bound that leaves room for [`MIN_RATIO`]: 0.69 of the bound is published for a Tesla T4 (1.72
/// of 2.5), and no card seen so far does worse.
pub const MIN_BOUND: f64 = 1.9;

/// The blocks that run on one SM without slowing each other down. A fused multiply-add takes 4 cycles, and each of
/// an SM's 4 schedulers starts one a cycle, so 16 warps keep it busy: two blocks of 256 threads.
pub const MAX_BLOCKS_PER_SM: u32 = 2;

/// The shortest kernel, in milliseconds, whose overlap a ratio can show. A host takes about as long to enqueue one
/// diamond; if the kernels are shorter, that is what the clock sees.
pub const MIN_KERNEL_MS: f64 = 0.050;

/// `CUDA_ERROR_INVALID_HANDLE`, and what the runtime API calls the same number.
const INVALID_HANDLE: u32 = 400;
const INVALID_HANDLE_RUNTIME: &str = "cudaErrorInvalidResourceHandle";

/// Whether the driver refused to read a time off an event that has none, with the one error documented for it: the
/// answer is a time in milliseconds, or the driver's error code and its name.
pub fn ordering_event(answer: Result<f32, (u32, &str)>) -> Gate {
    let asked = "a time asked of an ordering event gives";
    let wanted = format!("CUDA_ERROR_INVALID_HANDLE ({INVALID_HANDLE})");
    match answer {
        Err((INVALID_HANDLE, name)) => Gate::pass(format!(
            "{asked} {name} ({INVALID_HANDLE}; the runtime API's {INVALID_HANDLE_RUNTIME})"
        )),
        Err((code, name)) => Gate::fail(format!("{asked} {name} ({code}), not {wanted}")),
        Ok(ms) => Gate::fail(format!("{asked} {ms} ms, not {wanted}")),
    }
}

/// What the speed of a fork-join diamond is judged by. All of it from one run on one card.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForkJoin {
    /// The times of the same kernels one after the other.
    pub serial: Statistics,
    /// The times of the diamond.
    pub diamond: Statistics,
    /// The kernels between fork and join.
    pub branches: u32,
    /// The blocks of each of them.
    pub blocks: u32,
    /// The card's SMs.
    pub sm_count: u32,
}

/// The largest serial / diamond that `branches` branches allow, in kernels on the critical path: serial runs 1 + B of
/// them one after the other, the diamond runs the upstream and then all branches at once, which makes 2.
pub fn critical_path_bound(branches: u32) -> f64 {
    (1.0 + f64::from(branches)) / 2.0
}

/// Whether the branches run side by side: the ratio of the medians, serial / diamond, is at least [`MIN_RATIO`].
///
/// It is not gated where it says nothing about ordering: on a card with fewer than [`MIN_SM_COUNT`] SMs, when the
/// bound itself is below [`MIN_BOUND`], when the branches have no room next to each other
/// ([`MAX_BLOCKS_PER_SM`]), or when a kernel is shorter than [`MIN_KERNEL_MS`]. Every reason that applies is named.
pub fn overlap(run: &ForkJoin) -> Gate {
    let (serial_ms, diamond_ms) = (run.serial.median_ms, run.diamond.median_ms);
    let ratio = serial_ms / diamond_ms;
    let bound = critical_path_bound(run.branches);
    let times = format!("serial {serial_ms:.3} ms / diamond {diamond_ms:.3} ms");
    let reasons = reasons_against(run);
    if !reasons.is_empty() {
        let reasons = reasons.join("; ");
        Gate::not_gated(format!("{times} = {ratio:.2}x (bound {bound:.2}x), reported only: {reasons}"))
    } else if ratio >= MIN_RATIO {
        Gate::pass(format!("{times} = {ratio:.2}x, at least {MIN_RATIO}x (bound {bound:.2}x)"))
    } else {
        Gate::fail(format!(
            "{times} = {}x, below {MIN_RATIO}x (bound {bound:.2}x) on {} SMs: the branches do not run side by side",
            cut(ratio),
            run.sm_count
        ))
    }
}

/// The branches, and how many of their blocks the card has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// The kernels between fork and join.
    pub branches: u32,
    /// The blocks of each of them.
    pub blocks: u32,
    /// Their blocks that are resident on the whole card at once.
    pub resident: u32,
}

/// What the timeline of a diamond shows. `ran` is when its kernels ran, in the order of submission: the upstream kernel,
/// the branches, the join. `step_ns` is the clock's.
pub fn right_order(ran: &[Interval], room: Room, step_ns: u64) -> Vec<Gate> {
    let Some((upstream, branches, join)) = parts(ran, room) else { return Vec::new() };
    let abreast = overlap::side_by_side("branches", branches);
    let (first, join) =
        (overlap::hull(branches).unwrap_or(upstream), overlap::hull(join).unwrap_or(upstream));
    vec![
        unless(reasons_not_to_look(branches, room), abreast),
        overlap::after("the first branch", first, "the kernel that feeds it", upstream, step_ns),
        overlap::after("the join", join, "the last branch", first, step_ns),
    ]
}

/// What the timeline of the broken order shows; `ran` as for [`right_order`].
pub fn broken_order(ran: &[Interval], room: Room) -> Vec<Gate> {
    let Some((upstream, branches, _)) = parts(ran, room) else { return Vec::new() };
    let first = overlap::hull(branches).unwrap_or(upstream);
    let early = overlap::before("the first branch", first, "the kernel that feeds it", upstream);
    vec![unless(reasons_not_to_look(&[upstream], room), early)]
}

/// The upstream kernel, the branches, and the kernels of the join.
fn parts(ran: &[Interval], room: Room) -> Option<(Interval, &[Interval], &[Interval])> {
    let (upstream, rest) = ran.split_first()?;
    let (branches, join) = rest.split_at_checked(room.branches as usize)?;
    Some((*upstream, branches, join))
}

/// Why it says nothing about order whether such kernels overlap; empty when it does.
fn reasons_not_to_look(kernels: &[Interval], room: Room) -> Vec<String> {
    let Room { branches, blocks, resident } = room;
    let mut reasons = Vec::new();
    if u64::from(blocks) * u64::from(branches) > u64::from(resident) {
        reasons.push(format!(
            "{branches} x {blocks} blocks do not fit on the card at once, which holds {resident}"
        ));
    }
    let shortest_ns = kernels.iter().map(|ran| ran.end_ns.saturating_sub(ran.start_ns)).min().unwrap_or(0);
    if shortest_ns as f64 * 1e-6 < MIN_KERNEL_MS {
        reasons.push(format!(
            "a kernel of less than {:.0} us may be over before the next is launched",
            MIN_KERNEL_MS * 1e3
        ));
    }
    reasons
}

/// The gate, unless there are reasons why it decides nothing.
fn unless(reasons: Vec<String>, gate: Gate) -> Gate {
    match reasons.as_slice() {
        [] => gate,
        _ => Gate::not_gated(format!("{}, reported only: {}", gate.sentence, reasons.join("; "))),
    }
}

/// Why this run's ratio cannot be gated; empty when it can.
fn reasons_against(run: &ForkJoin) -> Vec<String> {
    let (branches, blocks, sm_count) = (run.branches, run.blocks, run.sm_count);
    let mut reasons = Vec::new();
    if sm_count < MIN_SM_COUNT {
        reasons.push(format!("the card has {sm_count} SMs, the gate needs {MIN_SM_COUNT}"));
    }
    let bound = critical_path_bound(branches);
    if bound < MIN_BOUND {
        reasons.push(format!(
            "the bound for {branches} + 1 kernels is {bound:.2}x, and {MIN_RATIO}x needs one of {MIN_BOUND}x"
        ));
    }
    let side_by_side = u64::from(blocks) * u64::from(branches);
    if side_by_side > u64::from(MAX_BLOCKS_PER_SM) * u64::from(sm_count) {
        reasons.push(format!(
            "{blocks} blocks in each branch are {side_by_side} in all, more than {MAX_BLOCKS_PER_SM} for each of \
             {sm_count} SMs"
        ));
    }
    let kernel_ms = run.serial.median_ms / (f64::from(branches) + 1.0);
    if kernel_ms < MIN_KERNEL_MS {
        reasons.push(format!(
            "one kernel takes {} us, less than {:.0} us, so that launching and not overlap makes the time",
            cut(kernel_ms * 1e3),
            MIN_KERNEL_MS * 1e3
        ));
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::tests::check;
    use super::*;

    /// The default shape on a card of 132 SMs, with made-up times.
    fn run(serial_ms: f64, diamond_ms: f64) -> ForkJoin {
        ForkJoin {
            serial: times(serial_ms),
            diamond: times(diamond_ms),
            branches: 4,
            blocks: 8,
            sm_count: 132,
        }
    }

    fn times(median_ms: f64) -> Statistics {
        Statistics::of(&[median_ms]).unwrap()
    }

    /// Not gated, and for this reason alone.
    #[track_caller]
    fn check_reason(run: ForkJoin, reason: &str) {
        let gate = overlap(&run);
        assert_eq!(gate.verdict, Verdict::NotGated, "{gate}");
        assert_eq!(gate.sentence.split_once("reported only: ").unwrap().1, reason);
    }

    #[track_caller]
    fn check_verdict(run: ForkJoin, verdict: Verdict) {
        let gate = overlap(&run);
        assert_eq!(gate.verdict, verdict, "{gate}");
    }

    #[test]
    fn branches_side_by_side_pass() {
        check(
            overlap(&run(4.066, 1.663)),
            Verdict::Pass,
            "serial 4.066 ms / diamond 1.663 ms = 2.44x, at least 1.3x (bound 2.50x)",
        );
    }

    #[test]
    fn branches_one_after_the_other_fail() {
        check(
            overlap(&run(4.066, 4.066)),
            Verdict::Fail,
            "serial 4.066 ms / diamond 4.066 ms = 1.000x, below 1.3x (bound 2.50x) on 132 SMs: \
             the branches do not run side by side",
        );
    }

    #[test]
    fn a_ratio_of_exactly_the_limit_passes_and_the_next_below_fails() {
        check_verdict(run(1.3, 1.0), Verdict::Pass);
        check_verdict(run(13.0, 10.0), Verdict::Pass);
        check_verdict(run(1.3_f64.next_down(), 1.0), Verdict::Fail);
    }

    #[test]
    fn a_failed_ratio_does_not_read_like_the_limit() {
        let sentence = overlap(&run(1.2999, 1.0)).sentence;
        assert!(sentence.contains(" = 1.299x, below 1.3x "), "{sentence}");
    }

    #[test]
    fn unknown_times_never_pass() {
        let (mut no_diamond, mut no_serial) = (run(4.0, 1.0), run(4.0, 1.0));
        no_diamond.diamond = Statistics::UNKNOWN;
        no_serial.serial = Statistics::UNKNOWN;
        check_verdict(no_diamond, Verdict::Fail);
        check_verdict(no_serial, Verdict::Fail);
    }

    /// A diamond of two branches by the clock, ns, and room for it.
    fn diamond(first_branch: u64) -> ([Interval; 4], Room) {
        let ran = |start_ns, end_ns| Interval { start_ns, end_ns };
        let (start, end) = (first_branch, first_branch + 500_000);
        let branches = [ran(start, end), ran(start + 9, end + 9)];
        let ran = [ran(0, 500_000), branches[0], branches[1], ran(end + 2000, end + 6000)];
        (ran, Room { branches: 2, blocks: 8, resident: 16 })
    }

    fn verdicts(gates: &[Gate]) -> Vec<Verdict> {
        gates.iter().map(|gate| gate.verdict).collect()
    }

    #[test]
    fn a_timeline_shows_whether_branches_ran_side_by_side_and_after_what_feeds_them() {
        use Verdict::{Fail, NotGated, Pass};
        let (right, room) = diamond(501_000);
        assert_eq!(verdicts(&right_order(&right, room, 32)), [Pass; 3]);
        assert_eq!(verdicts(&broken_order(&right, room)), [Fail]);
        let (early, _) = diamond(5_000);
        assert_eq!(verdicts(&right_order(&early, room, 32)), [Pass, Fail, Pass]);
        assert_eq!(verdicts(&broken_order(&early, room)), [Pass]);
        let [upstream, one, _, join] = right;
        let queued = Interval { start_ns: one.end_ns, end_ns: one.end_ns + 500_000 };
        assert_eq!(verdicts(&right_order(&[upstream, one, queued, join], room, 32)), [Fail, Pass, Fail]);

        let full = Room { resident: 15, ..room };
        assert_eq!(verdicts(&right_order(&right, full, 32)), [NotGated, Pass, Pass]);
        assert_eq!(verdicts(&broken_order(&right, full)), [NotGated]);
        let short = right
            .map(|Interval { start_ns, end_ns }| Interval { start_ns: start_ns / 11, end_ns: end_ns / 11 });
        assert_eq!(verdicts(&right_order(&short, room, 32)), [NotGated, Pass, Pass]);
        assert_eq!(verdicts(&broken_order(&short, room)), [NotGated]);
        assert_eq!(right_order(&[], room, 32), []);
    }

    #[test]
    fn too_few_sms_are_not_gated_and_24_are() {
        for (serial_ms, gated) in [(4.0, Verdict::Pass), (2.0, Verdict::Fail)] {
            let run = run(serial_ms, 2.0);
            check_reason(ForkJoin { sm_count: 23, ..run }, "the card has 23 SMs, the gate needs 24");
            check_verdict(ForkJoin { sm_count: 24, ..run }, gated);
        }
    }

    #[test]
    fn a_bound_below_the_limit_is_not_gated() {
        let run = run(4.0, 4.0);
        check_reason(
            ForkJoin { branches: 0, ..run },
            "the bound for 0 + 1 kernels is 0.50x, and 1.3x needs one of 1.9x",
        );
        check_reason(
            ForkJoin { branches: 1, ..run },
            "the bound for 1 + 1 kernels is 1.00x, and 1.3x needs one of 1.9x",
        );
        check_reason(
            ForkJoin { branches: 2, ..run },
            "the bound for 2 + 1 kernels is 1.50x, and 1.3x needs one of 1.9x",
        );
        check_verdict(ForkJoin { branches: 3, ..run }, Verdict::Fail);
    }

    #[test]
    fn branches_without_room_are_not_gated_and_two_blocks_for_each_sm_are() {
        let run = run(4.0, 4.0);
        check_verdict(ForkJoin { blocks: 66, ..run }, Verdict::Fail);
        check_reason(
            ForkJoin { blocks: 67, ..run },
            "67 blocks in each branch are 268 in all, more than 2 for each of 132 SMs",
        );
        check_verdict(
            ForkJoin { blocks: u32::MAX, branches: u32::MAX, ..self::run(1e12, 1.0) },
            Verdict::NotGated,
        );
    }

    #[test]
    fn short_kernels_are_not_gated_and_50_us_are() {
        check_verdict(run(0.25, 0.25), Verdict::Fail);
        check_reason(
            run(0.2499999, 0.1),
            "one kernel takes 49.999 us, less than 50 us, so that launching and not overlap makes the time",
        );
    }

    #[test]
    fn every_reason_is_named() {
        check(
            overlap(&ForkJoin { branches: 1, blocks: 100, sm_count: 16, ..run(0.02, 0.02) }),
            Verdict::NotGated,
            "serial 0.020 ms / diamond 0.020 ms = 1.00x (bound 1.00x), reported only: \
             the card has 16 SMs, the gate needs 24; \
             the bound for 1 + 1 kernels is 1.00x, and 1.3x needs one of 1.9x; \
             100 blocks in each branch are 100 in all, more than 2 for each of 16 SMs; \
             one kernel takes 10.000 us, less than 50 us, so that launching and not overlap makes the time",
        );
    }

    #[test]
    fn the_bound_is_half_of_one_more_than_the_branches() {
        for (branches, bound) in [(0, 0.5), (1, 1.0), (2, 1.5), (4, 2.5), (u32::MAX, 2_147_483_648.0)] {
            assert_eq!(critical_path_bound(branches), bound, "{branches} branches");
        }
    }

    #[test]
    fn an_ordering_event_has_no_time() {
        let asked = "a time asked of an ordering event gives";
        let refused = ordering_event(Err((400, "CUDA_ERROR_INVALID_HANDLE")));
        let sentence = "CUDA_ERROR_INVALID_HANDLE (400; the runtime API's cudaErrorInvalidResourceHandle)";
        check(refused, Verdict::Pass, &format!("{asked} {sentence}"));
        let other = ordering_event(Err((600, "CUDA_ERROR_NOT_READY")));
        let sentence = "CUDA_ERROR_NOT_READY (600), not CUDA_ERROR_INVALID_HANDLE (400)";
        check(other, Verdict::Fail, &format!("{asked} {sentence}"));
        let sentence = "0.5 ms, not CUDA_ERROR_INVALID_HANDLE (400)";
        check(ordering_event(Ok(0.5)), Verdict::Fail, &format!("{asked} {sentence}"));
    }
}
