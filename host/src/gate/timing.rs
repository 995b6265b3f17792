//! The gates of the timing lesson: what a right stopwatch says, and what each wrong one does.

use super::{Gate, cut};

/// The least part of a copy's bandwidth that the vector addition reaches.
pub const MIN_OF_COPY: f64 = 0.8;
/// The most of the work's time that a stopwatch shows which does not follow the work.
pub const MAX_MISSED: f64 = 0.5;
/// The least of it that the host's clock shows when the host has waited.
pub const MIN_WAITED: f64 = 0.9;
/// Work that ends sooner is over before the host has made its next call, ms: no stopwatch can be shown to miss it.
pub const MIN_WORK_MS: f64 = 0.05;

/// Vectors that are together less than so many times the L2 cache are partly read from there.
pub const MIN_OF_L2: f64 = 4.0;

/// Bytes a second of the addition against those of a copy on the card; the vectors are together `of_l2` times the L2 cache.
pub fn bandwidth(per_s: f64, copy_per_s: f64, of_l2: f64) -> Gate {
    let part = per_s / copy_per_s;
    let sentence =
        format!("{per_s:.3e} bytes/s are {}x what a copy on the card moves ({copy_per_s:.3e})", cut(part));
    if of_l2 < MIN_OF_L2 {
        Gate::not_gated(format!(
            "{sentence}, and say little: the vectors are {of_l2:.1} times the L2 cache, not {MIN_OF_L2}"
        ))
    } else if part >= MIN_OF_COPY {
        Gate::pass(format!("{sentence}: the memory is the limit"))
    } else {
        Gate::fail(format!("{sentence}, below {MIN_OF_COPY}x: something else than the memory is the limit"))
    }
}

/// A stopwatch that stops before the work does: `who` says which.
pub fn missed(who: &str, shown_ms: f64, work_ms: f64) -> Gate {
    let sentence = format!("{who} shows {shown_ms:.4} ms of {work_ms:.3} ms");
    if work_ms.is_nan() || work_ms < MIN_WORK_MS {
        Gate::not_gated(format!("{sentence}: the work is over too soon to be missed; take more elements"))
    } else if shown_ms <= MAX_MISSED * work_ms {
        Gate::pass(format!("{sentence}: it does not follow the work"))
    } else {
        Gate::fail(format!("{sentence}: it should not have followed the work"))
    }
}

/// The host's clock around work that the host waited for.
pub fn waited(shown_ms: f64, work_ms: f64) -> Gate {
    let sentence = format!(
        "the host's clock with a wait shows {shown_ms:.3} ms of {work_ms:.3} ms: the work, its submission and the wait"
    );
    if shown_ms >= MIN_WAITED * work_ms { Gate::pass(sentence) } else { Gate::fail(sentence) }
}

/// A time that the driver must refuse with one code. `answer` is a time, or the code and its name.
pub fn refused(asked: &str, answer: Result<f32, (u32, &str)>, want: u32) -> Gate {
    match answer {
        Err((code, name)) if code == want => Gate::pass(format!("{asked} gives {name} ({code})")),
        Err((code, name)) => Gate::fail(format!("{asked} gives {name} ({code}), not {want}")),
        Ok(ms) => Gate::fail(format!("{asked} gives {ms} ms, not the error {want}")),
    }
}

/// The same pair of events forwards, backwards, and one of them with itself.
pub fn directions(forwards: f32, backwards: f32, itself: f32) -> Gate {
    let sentence = format!(
        "after the wait the same two events give {forwards:.3} ms, swapped {backwards:.3} ms, one with itself {itself:.3} ms"
    );
    if forwards > 0.0 && backwards == -forwards && itself == 0.0 {
        Gate::pass(sentence)
    } else {
        Gate::fail(sentence)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::tests::check;
    use super::*;

    #[test]
    fn an_addition_is_as_fast_as_memory_from_four_fifths_of_a_copy_on() {
        check(
            bandwidth(3.2e12, 4e12, 4.0),
            Verdict::Pass,
            "3.200e12 bytes/s are 0.800x what a copy on the card moves (4.000e12): the memory is the limit",
        );
        assert_eq!(bandwidth(3.19e12, 4e12, 4.0).verdict, Verdict::Fail);
        assert_eq!(bandwidth(3.19e12, 4e12, 3.9).verdict, Verdict::NotGated);
        assert_eq!(bandwidth(f64::NAN, 4e12, 4.0).verdict, Verdict::Fail);
    }

    #[test]
    fn a_stopwatch_misses_the_work_when_it_shows_at_most_half_of_it() {
        assert_eq!(missed("it", 0.5, 1.0).verdict, Verdict::Pass);
        assert_eq!(missed("it", 0.51, 1.0).verdict, Verdict::Fail);
        assert_eq!(missed("it", f64::NAN, 1.0).verdict, Verdict::Fail);
        assert_eq!(missed("it", 0.001, 0.05).verdict, Verdict::Pass);
        assert_eq!(missed("it", 0.001, 0.049).verdict, Verdict::NotGated);
        assert_eq!(missed("it", 0.001, f64::NAN).verdict, Verdict::NotGated);
    }

    #[test]
    fn who_waits_sees_nine_tenths_of_the_work_or_more() {
        assert_eq!(waited(0.9, 1.0).verdict, Verdict::Pass);
        assert_eq!(waited(7.0, 1.0).verdict, Verdict::Pass);
        assert_eq!(waited(0.89, 1.0).verdict, Verdict::Fail);
        assert_eq!(waited(1.0, f64::NAN).verdict, Verdict::Fail);
    }

    #[test]
    fn a_refusal_has_the_one_code() {
        check(
            refused("a time", Err((600, "CUDA_ERROR_NOT_READY")), 600),
            Verdict::Pass,
            "a time gives CUDA_ERROR_NOT_READY (600)",
        );
        assert_eq!(refused("a time", Err((400, "CUDA_ERROR_INVALID_HANDLE")), 600).verdict, Verdict::Fail);
        assert_eq!(refused("a time", Ok(1.0), 600).verdict, Verdict::Fail);
    }

    #[test]
    fn swapped_events_give_the_negative_time_and_one_event_none() {
        assert_eq!(directions(2.0, -2.0, 0.0).verdict, Verdict::Pass);
        for (forwards, backwards, itself) in
            [(0.0, 0.0, 0.0), (2.0, 2.0, 0.0), (2.0, -2.0, 0.1), (-2.0, 2.0, 0.0)]
        {
            assert_eq!(directions(forwards, backwards, itself).verdict, Verdict::Fail);
        }
    }
}
