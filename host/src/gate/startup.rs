//! The gates of `startup`: what is done for the first time against what is done again.

use super::Gate;
use crate::report::thousands;

/// Few microseconds of host time, taken in different processes, may differ by this factor for no reason.
const NOISE: u64 = 2;

/// A kernel's first launch brings it to the card; the later ones find it there.
pub fn first_launch(kernel: &str, first_ns: u64, later_ns: u64) -> Gate {
    let sentence = format!(
        "{kernel}: the first launch takes {} ns, a later one {} ns",
        thousands(first_ns),
        thousands(later_ns)
    );
    if later_ns <= first_ns { Gate::pass(sentence) } else { Gate::fail(sentence) }
}

/// A module whose PTX the driver has compiled before is only read.
pub fn cached_load(cold_ns: u64, cached_ns: u64) -> Gate {
    let sentence = format!(
        "the module: compiled and loaded in {} ns, from the cache in {} ns",
        thousands(cold_ns),
        thousands(cached_ns)
    );
    if cold_ns == cached_ns {
        return Gate::not_gated(format!("{sentence}: this driver compiles nothing, and has nothing to keep"));
    }
    if cached_ns < cold_ns { Gate::pass(sentence) } else { Gate::fail(sentence) }
}

/// With every kernel on the card already, first launches cost no more than with none of them there. `is_eager` is what the
/// driver says of itself after it was told to be.
pub fn eager_loading(is_eager: bool, lazy_first_ns: u64, eager_first_ns: u64) -> Gate {
    let sentence = format!(
        "all first launches together: {} ns with lazy loading, {} ns with eager loading",
        thousands(lazy_first_ns),
        thousands(eager_first_ns)
    );
    if !is_eager {
        return Gate::not_gated(format!("{sentence}: this driver does not load eagerly, also when told to"));
    }
    if eager_first_ns <= lazy_first_ns {
        Gate::pass(sentence)
    } else if eager_first_ns <= NOISE * lazy_first_ns {
        Gate::not_gated(format!(
            "{sentence}: no more apart than a host's times are from one process to the next"
        ))
    } else {
        Gate::fail(sentence)
    }
}

/// The launch of a kernel that is on the card waits for nothing that runs. That the first launch of one may is no promise,
/// and so no gate.
pub fn beside_a_running_kernel(first_waited: bool, later_waited: bool) -> Gate {
    let words = |waited| if waited { "waits for it" } else { "does not wait for it" };
    let sentence = format!(
        "beside a kernel that runs, a kernel's first launch {}, and a later launch {}",
        words(first_waited),
        words(later_waited)
    );
    if later_waited { Gate::fail(sentence) } else { Gate::pass(sentence) }
}

/// What was launched computed what the reference says, in every process.
pub fn right(processes: usize, kernels: usize, wrong_elements: usize) -> Gate {
    let sentence =
        format!("{kernels} kernels in each of {processes} processes: {wrong_elements} elements are wrong");
    if processes > 0 && kernels > 0 && wrong_elements == 0 {
        Gate::pass(sentence)
    } else {
        Gate::fail(sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Verdict;

    #[test]
    fn the_second_time_costs_no_more_than_the_first() {
        for (first, later, verdict) in [(5, 4, Verdict::Pass), (5, 5, Verdict::Pass), (5, 6, Verdict::Fail)] {
            assert_eq!(first_launch("k", first, later).verdict, verdict);
        }
    }

    #[test]
    fn eager_loading_is_gated_where_it_takes_place_and_beyond_what_is_noise() {
        for (lazy, eager, verdict) in [
            (5, 4, Verdict::Pass),
            (5, 5, Verdict::Pass),
            (5, 6, Verdict::NotGated),
            (5, 10, Verdict::NotGated),
            (5, 11, Verdict::Fail),
        ] {
            assert_eq!(eager_loading(true, lazy, eager).verdict, verdict, "{lazy} {eager}");
            assert_eq!(eager_loading(false, lazy, eager).verdict, Verdict::NotGated);
        }
    }

    #[test]
    fn a_cache_that_helps_shows_and_a_driver_without_a_compiler_is_none() {
        assert_eq!(cached_load(100, 99).verdict, Verdict::Pass);
        assert_eq!(cached_load(100, 100).verdict, Verdict::NotGated);
        assert_eq!(cached_load(100, 101).verdict, Verdict::Fail);
    }

    #[test]
    fn only_a_kernel_that_is_not_there_yet_may_wait() {
        for first_waited in [false, true] {
            assert_eq!(beside_a_running_kernel(first_waited, false).verdict, Verdict::Pass);
            assert_eq!(beside_a_running_kernel(first_waited, true).verdict, Verdict::Fail);
        }
    }

    #[test]
    fn nothing_that_was_compared_is_no_proof() {
        assert_eq!(right(3, 4, 0).verdict, Verdict::Pass);
        for (processes, kernels, wrong) in [(3, 4, 1), (0, 4, 0), (3, 0, 0)] {
            assert_eq!(right(processes, kernels, wrong).verdict, Verdict::Fail);
        }
    }
}
