//! Whether kernels ran side by side, from when they ran: the gates that look at a timeline.

use super::Gate;

/// The least part of the shortest of several kernels during which all of them run, for them to run side by side.
pub const MIN_SHARED: f64 = 0.5;
/// The least part of a kernel's time that lies inside another's, for it to hide there.
pub const MIN_HIDDEN: f64 = 0.9;

/// When a kernel ran, by the card's clock: ns from the band's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Its first warp's start.
    pub start_ns: u64,
    /// Its last warp's end.
    pub end_ns: u64,
}

impl Interval {
    /// How long it ran.
    pub fn length_ns(self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    /// How long both ran.
    pub fn shared_ns(self, other: Interval) -> u64 {
        self.end_ns.min(other.end_ns).saturating_sub(self.start_ns.max(other.start_ns))
    }
}

/// From when to when the first of them started and the last of them ended. `None` of none.
pub fn hull(kernels: &[Interval]) -> Option<Interval> {
    let start_ns = kernels.iter().map(|kernel| kernel.start_ns).min()?;
    let end_ns = kernels.iter().map(|kernel| kernel.end_ns).max()?;
    Some(Interval { start_ns, end_ns })
}

/// Whether all of several kernels ran at once. Fewer than two show nothing.
pub fn side_by_side(who: &str, kernels: &[Interval]) -> Gate {
    let (Some(first_start), Some(last_start), Some(first_end), Some(shortest)) = (
        kernels.iter().map(|kernel| kernel.start_ns).min(),
        kernels.iter().map(|kernel| kernel.start_ns).max(),
        kernels.iter().map(|kernel| kernel.end_ns).min(),
        kernels.iter().map(|kernel| kernel.length_ns()).min(),
    ) else {
        return Gate::not_gated(format!("timeline: there are no {who}"));
    };
    let count = kernels.len();
    if count < 2 {
        return Gate::not_gated(format!("timeline: one of the {who} alone overlaps nothing"));
    }
    let at_once = first_end.saturating_sub(last_start);
    let spread = us(last_start - first_start);
    let sentence = format!(
        "timeline: the {count} {who} started within {spread} us of one another and ran at once for {} us, the shortest \
         of them for {} us",
        us(at_once),
        us(shortest)
    );
    if at_once as f64 >= MIN_SHARED * shortest as f64 && at_once > 0 {
        Gate::pass(sentence)
    } else {
        Gate::fail(format!("{sentence}: they did not run side by side"))
    }
}

/// Whether `later` started after `earlier` had ended. `step_ns` is the clock's: closer than that are equal.
pub fn after(later: &str, later_ran: Interval, earlier: &str, earlier_ran: Interval, step_ns: u64) -> Gate {
    if later_ran.start_ns.saturating_add(step_ns) >= earlier_ran.end_ns {
        let gap = us(later_ran.start_ns.saturating_sub(earlier_ran.end_ns));
        Gate::pass(format!("timeline: {later} started {gap} us after the end of {earlier}"))
    } else {
        let gap = us(earlier_ran.end_ns - later_ran.start_ns);
        Gate::fail(format!("timeline: {later} started {gap} us before the end of {earlier}"))
    }
}

/// Whether `later` started before `earlier` had ended, as it must where nothing orders the two.
pub fn before(later: &str, later_ran: Interval, earlier: &str, earlier_ran: Interval) -> Gate {
    if later_ran.start_ns < earlier_ran.end_ns {
        let gap = us(earlier_ran.end_ns - later_ran.start_ns);
        Gate::pass(format!("timeline: {later} started {gap} us before the end of {earlier}"))
    } else {
        let gap = us(later_ran.start_ns - earlier_ran.end_ns);
        Gate::fail(format!(
            "timeline: {later} started {gap} us after the end of {earlier}, though nothing made it wait"
        ))
    }
}

/// Whether kernels ran while another did.
pub fn hidden(who: &str, kernels: &[Interval], behind: &str, other: Interval) -> Gate {
    let all: u64 = kernels.iter().map(|kernel| kernel.length_ns()).sum();
    let shared: u64 = kernels.iter().map(|kernel| kernel.shared_ns(other)).sum();
    let sentence = format!("timeline: of the {} us of {who}, {} us lie beside {behind}", us(all), us(shared));
    if all > 0 && shared as f64 >= MIN_HIDDEN * all as f64 {
        Gate::pass(sentence)
    } else {
        Gate::fail(format!("{sentence}: they did not hide there"))
    }
}

fn us(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::tests::check;
    use super::*;

    fn ran(start_us: u64, end_us: u64) -> Interval {
        Interval { start_ns: 1000 * start_us, end_ns: 1000 * end_us }
    }

    #[test]
    fn kernels_run_side_by_side_when_all_run_for_half_of_the_shortest() {
        let sentence = |within, at_once, shortest| {
            format!(
                "timeline: the 2 branches started within {within} us of one another and ran at once for {at_once} us, the \
                 shortest of them for {shortest} us"
            )
        };
        check(
            side_by_side("branches", &[ran(0, 10), ran(5, 15)]),
            Verdict::Pass,
            &sentence("5.0", "5.0", "10.0"),
        );
        let failed = |text| format!("{text}: they did not run side by side");
        check(
            side_by_side("branches", &[ran(0, 10), ran(6, 16)]),
            Verdict::Fail,
            &failed(sentence("6.0", "4.0", "10.0")),
        );
        check(
            side_by_side("branches", &[ran(20, 30), ran(0, 10)]),
            Verdict::Fail,
            &failed(sentence("20.0", "0.0", "10.0")),
        );
        check(
            side_by_side("branches", &[ran(1, 1), ran(1, 1)]),
            Verdict::Fail,
            &failed(sentence("0.0", "0.0", "0.0")),
        );
    }

    #[test]
    fn three_of_which_only_two_overlap_do_not_run_side_by_side() {
        let gate = side_by_side("branches", &[ran(0, 10), ran(0, 10), ran(10, 20)]);
        assert_eq!(gate.verdict, Verdict::Fail, "{gate}");
    }

    #[test]
    fn one_or_none_show_nothing() {
        assert_eq!(side_by_side("branches", &[]).verdict, Verdict::NotGated);
        assert_eq!(side_by_side("branches", &[ran(0, 9)]).verdict, Verdict::NotGated);
    }

    #[test]
    fn after_and_before_are_each_others_opposite_beyond_a_step_of_the_clock() {
        for (start_us, is_after, is_before) in [
            (9, Verdict::Fail, Verdict::Pass),
            (10, Verdict::Pass, Verdict::Fail),
            (11, Verdict::Pass, Verdict::Fail),
        ] {
            let (later, earlier) = (ran(start_us, 20), ran(0, 10));
            assert_eq!(after("b", later, "a", earlier, 32).verdict, is_after, "{start_us}");
            assert_eq!(before("b", later, "a", earlier).verdict, is_before, "{start_us}");
        }
        let close = Interval { start_ns: 9_968, end_ns: 20_000 };
        assert_eq!(after("b", close, "a", ran(0, 10), 32).verdict, Verdict::Pass);
        assert_eq!(after("b", close, "a", ran(0, 10), 31).verdict, Verdict::Fail);
        check(
            after("b", ran(12, 20), "a", ran(0, 10), 32),
            Verdict::Pass,
            "timeline: b started 2.0 us after the end of a",
        );
    }

    #[test]
    fn kernels_hide_where_nine_tenths_of_them_lie() {
        let spin = ran(0, 100);
        let gate = |kernels: &[Interval]| hidden("the sweeps", kernels, "the spin", spin);
        check(
            gate(&[ran(10, 50), ran(50, 90)]),
            Verdict::Pass,
            "timeline: of the 80.0 us of the sweeps, 80.0 us lie beside the spin",
        );
        assert_eq!(gate(&[ran(10, 110)]).verdict, Verdict::Pass);
        assert_eq!(gate(&[ran(11, 111)]).verdict, Verdict::Fail);
        assert_eq!(gate(&[ran(100, 200)]).verdict, Verdict::Fail);
        assert_eq!(gate(&[]).verdict, Verdict::Fail);
    }
}
