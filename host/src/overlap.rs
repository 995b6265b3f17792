//! Whether kernels overlapped, from when they ran: the checks that look at a timeline. Pure.

use timeline::model::Band;

use crate::check::{Check, us};

/// The least part of the shortest of several kernels during which all of them run, for them to overlap.
pub const MIN_SHARED: f64 = 0.5;
/// The least part of a kernel's time that lies inside another's, for it to be hidden there.
pub const MIN_HIDDEN: f64 = 0.9;

/// When something ran, by the device's clock: ns from the start of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Its first warp's start.
    pub start_ns: u64,
    /// Its last warp's end.
    pub end_ns: u64,
}

impl Interval {
    /// Returns how long it ran.
    pub fn length_ns(self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// Returns how long both ran.
    pub fn shared_ns(self, other: Interval) -> u64 {
        self.end_ns.min(other.end_ns).saturating_sub(self.start_ns.max(other.start_ns))
    }
}

/// Returns when each kernel, copy and memset ran, in the order of submission.
pub fn intervals(run: &Band) -> Vec<Interval> {
    intervals_of(run, |_| true)
}

/// Returns when each of them ran of which `which` says so, by its name.
pub fn intervals_of(run: &Band, which: impl Fn(&str) -> bool) -> Vec<Interval> {
    let of = run.slices.iter().filter(|slice| which(&slice.name));
    of.map(|slice| Interval { start_ns: slice.start_ns, end_ns: slice.end_ns }).collect()
}

/// Returns when each block ran, in the order of submission.
pub fn block_intervals(run: &Band) -> Vec<Interval> {
    let blocks = run.slices.iter().flat_map(|slice| &slice.blocks);
    blocks.map(|block| Interval { start_ns: block.start_ns, end_ns: block.end_ns }).collect()
}

/// Returns from when to when the first of them started and the last of them ended; `None` of none.
pub fn hull(kernels: &[Interval]) -> Option<Interval> {
    let start_ns = kernels.iter().map(|kernel| kernel.start_ns).min()?;
    let end_ns = kernels.iter().map(|kernel| kernel.end_ns).max()?;
    Some(Interval { start_ns, end_ns })
}

/// Checks that several kernels all overlapped. Fewer than two show nothing.
pub fn all_overlap(id: &str, who: &str, kernels: &[Interval]) -> Check {
    let (Some(first_start), Some(last_start), Some(first_end), Some(shortest)) = (
        kernels.iter().map(|kernel| kernel.start_ns).min(),
        kernels.iter().map(|kernel| kernel.start_ns).max(),
        kernels.iter().map(|kernel| kernel.end_ns).min(),
        kernels.iter().map(|kernel| kernel.length_ns()).min(),
    ) else {
        return Check::not_judged(id, format!("there are no {who}"));
    };
    let count = kernels.len();
    if count < 2 {
        return Check::not_judged(id, format!("one of the {who} alone overlaps nothing"));
    }
    let shared = first_end.saturating_sub(last_start);
    let sentence = format!(
        "the {count} {who} started within {} us of each other and overlapped for {} us (the shortest ran {} us)",
        us(last_start - first_start),
        us(shared),
        us(shortest)
    );
    Check::that(shared as f64 >= MIN_SHARED * shortest as f64 && shared > 0, id, sentence)
}

/// Checks that `later` started after `earlier` had ended. `step_ns` is the clock's: closer than that are equal.
pub fn after(
    id: &str,
    (later, later_ran): (&str, Interval),
    (earlier, earlier_ran): (&str, Interval),
    step_ns: u64,
) -> Check {
    if later_ran.start_ns.saturating_add(step_ns) >= earlier_ran.end_ns {
        let gap = us(later_ran.start_ns.saturating_sub(earlier_ran.end_ns));
        Check::pass(id, format!("{later} started {gap} us after {earlier} ended"))
    } else {
        let gap = us(earlier_ran.end_ns - later_ran.start_ns);
        Check::fail(id, format!("{later} started {gap} us before {earlier} ended"))
    }
}

/// Checks that `later` started before `earlier` had ended, as it must where nothing orders the two.
pub fn before(
    id: &str,
    (later, later_ran): (&str, Interval),
    (earlier, earlier_ran): (&str, Interval),
) -> Check {
    if later_ran.start_ns < earlier_ran.end_ns {
        let gap = us(earlier_ran.end_ns - later_ran.start_ns);
        Check::pass(id, format!("{later} started {gap} us before {earlier} ended"))
    } else {
        let gap = us(later_ran.start_ns - earlier_ran.end_ns);
        let sentence = format!("{later} started {gap} us after {earlier} ended, though nothing made it wait");
        Check::fail(id, sentence)
    }
}

/// Checks that kernels ran while another did.
pub fn hidden(id: &str, (who, kernels): (&str, &[Interval]), (other, other_ran): (&str, Interval)) -> Check {
    let all: u64 = kernels.iter().map(|kernel| kernel.length_ns()).sum();
    let shared: u64 = kernels.iter().map(|kernel| kernel.shared_ns(other_ran)).sum();
    let sentence = format!("{} of the {} us of {who} overlapped {other}", us(shared), us(all));
    Check::that(all > 0 && shared as f64 >= MIN_HIDDEN * all as f64, id, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Verdict::{self, Fail, NotJudged, Pass};

    fn ran(start_us: u64, end_us: u64) -> Interval {
        Interval { start_ns: 1000 * start_us, end_ns: 1000 * end_us }
    }

    #[track_caller]
    fn verdict(check: Check, verdict: Verdict) {
        assert_eq!(check.verdict, verdict, "{check}");
    }

    #[test]
    fn kernels_overlap_when_all_run_for_half_of_the_shortest() {
        verdict(all_overlap("o", "branches", &[ran(0, 10), ran(5, 15)]), Pass);
        verdict(all_overlap("o", "branches", &[ran(0, 10), ran(6, 16)]), Fail);
        verdict(all_overlap("o", "branches", &[ran(0, 10), ran(10, 20)]), Fail);
        verdict(all_overlap("o", "branches", &[ran(0, 0), ran(0, 0)]), Fail);
        verdict(all_overlap("o", "branches", &[ran(0, 10)]), NotJudged);
        verdict(all_overlap("o", "branches", &[]), NotJudged);
    }

    #[test]
    fn the_clocks_step_decides_what_is_equal() {
        let (later, earlier) = (("later", ran(10, 20)), ("earlier", ran(0, 11)));
        verdict(after("a", later, earlier, 1000), Pass);
        verdict(after("a", later, earlier, 999), Fail);
        verdict(before("b", later, earlier), Pass);
        verdict(before("b", ("later", ran(11, 20)), earlier), Fail);
    }

    #[test]
    fn kernels_hide_when_nine_tenths_of_them_lie_inside_the_other() {
        let other = ("spin", ran(0, 90));
        verdict(hidden("h", ("sweeps", &[ran(0, 50), ran(50, 100)]), other), Pass);
        verdict(hidden("h", ("sweeps", &[ran(0, 50), ran(50, 101)]), other), Fail);
        verdict(hidden("h", ("sweeps", &[]), other), Fail);
    }
}
