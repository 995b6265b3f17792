//! Repeated times of one thing: taken with events, and their median, minimum, maximum, mean.

use std::fmt;

use serde::Serialize;
use streamlab::{Context, Error, Event, NvtxRange, Stream, StreamKind};

use crate::cli::Repeat;

/// What the times of repeated runs say. Its `Display` is `1.234 ms (min 1.230, max 1.301, mean 1.240)`; a precision
/// (`{:.5}`) changes the three digits after the point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Statistics {
    /// How many runs there were.
    pub runs: usize,
    /// The middle time; of an even number of runs, the mean of the two in the middle.
    pub median_ms: f64,
    /// The shortest time.
    pub min_ms: f64,
    /// The longest time.
    pub max_ms: f64,
    /// The sum of all times over their number.
    pub mean_ms: f64,
}

impl Statistics {
    /// Of no run: every time is a NaN, and no check passes on it.
    pub const UNKNOWN: Self =
        Self { runs: 0, median_ms: f64::NAN, min_ms: f64::NAN, max_ms: f64::NAN, mean_ms: f64::NAN };

    /// The same for one of `count` equal parts of what was timed.
    pub fn divided_by(self, count: u32) -> Self {
        let part = |ms: f64| ms / f64::from(count);
        let Self { runs, median_ms, min_ms, max_ms, mean_ms } = self;
        Self {
            runs,
            median_ms: part(median_ms),
            min_ms: part(min_ms),
            max_ms: part(max_ms),
            mean_ms: part(mean_ms),
        }
    }

    /// The statistics of these times in milliseconds, `f32` as CUDA's events give them or `f64`, in any order.
    /// `None` when there are none, or when one of them is not finite: then nothing was measured.
    pub fn of<T: Copy + Into<f64>>(times_ms: &[T]) -> Option<Self> {
        let mut sorted: Vec<f64> = times_ms.iter().map(|&time| time.into()).collect();
        if sorted.is_empty() || !sorted.iter().all(|time| time.is_finite()) {
            return None;
        }
        sorted.sort_by(f64::total_cmp);
        let runs = sorted.len();
        Some(Self {
            runs,
            median_ms: f64::midpoint(sorted[(runs - 1) / 2], sorted[runs / 2]),
            min_ms: sorted[0],
            max_ms: sorted[runs - 1],
            mean_ms: sorted.iter().sum::<f64>() / runs as f64,
        })
    }
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { median_ms, min_ms, max_ms, mean_ms, .. } = self;
        let digits = f.precision().unwrap_or(3);
        write!(
            f,
            "{median_ms:.digits$} ms (min {min_ms:.digits$}, max {max_ms:.digits$}, mean {mean_ms:.digits$})"
        )
    }
}

/// Returns the device's time for each timed submission, after those that are not timed.
///
/// Start and stop are recorded on `clock`, which must follow the work: the stream of the submission itself, or the legacy default
/// stream, which is a barrier among blocking streams, so that the stop captures everything that the submission put on any of them.
/// A submission with a non-blocking stream must not be timed this way. The host only waits after the last run, so that it submits
/// ahead of the device.
///
/// # Errors
///
/// Any error of the calls.
pub fn event_times(
    context: &Context,
    clock: &Stream<'_>,
    repeat: Repeat,
    mut submit: impl FnMut() -> Result<(), Error>,
) -> Result<Statistics, Error> {
    for _ in 0..repeat.warmups() {
        submit()?;
    }
    context.synchronize()?;
    let mut pairs = Vec::new();
    for run in 0..repeat.runs() {
        let start = Event::timing(context, &format!("start {run}"))?;
        let stop = Event::timing(context, &format!("stop {run}"))?;
        clock.record(&start)?;
        submit()?;
        clock.record(&stop)?;
        pairs.push((start, stop));
    }
    context.synchronize()?;
    let times = pairs.iter().map(|(start, stop)| Event::elapsed_ms(start, stop));
    Ok(Statistics::of(&times.collect::<Result<Vec<f32>, Error>>()?).unwrap_or(Statistics::UNKNOWN))
}

/// Returns the device's time for each timed submission to whatever streams, after those that are not timed.
///
/// The host waits for the device within each timed run, before the stop is recorded, so that the stop follows work on non-blocking
/// streams too. The price is that the host's wait, some ten microseconds, is in the time. Each submission and its wait are a range
/// of that name in a profile.
///
/// # Errors
///
/// Any error of the calls.
pub fn synchronized_times(
    context: &Context,
    name: &str,
    repeat: Repeat,
    submit: impl Fn() -> Result<(), Error>,
) -> Result<Statistics, Error> {
    let region = || {
        let _range = NvtxRange::new(context, name);
        submit()?;
        context.synchronize()
    };
    let clock = Stream::new(context, "legacy default stream", StreamKind::Legacy)?;
    let (start, stop) = (Event::timing(context, "start")?, Event::timing(context, "stop")?);
    for _ in 0..repeat.warmups() {
        region()?;
    }
    let mut times = Vec::new();
    for _ in 0..repeat.runs() {
        clock.record(&start)?;
        region()?;
        clock.record(&stop)?;
        stop.synchronize()?;
        times.push(Event::elapsed_ms(&start, &stop)?);
    }
    Ok(Statistics::of(&times).unwrap_or(Statistics::UNKNOWN))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(times_ms: &[f64], median_ms: f64, min_ms: f64, max_ms: f64, mean_ms: f64) {
        let want = Statistics { runs: times_ms.len(), median_ms, min_ms, max_ms, mean_ms };
        assert_eq!(Statistics::of(times_ms), Some(want));
    }

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_two_in_the_middle() {
        check(&[2.5], 2.5, 2.5, 2.5, 2.5);
        check(&[3.0, 1.0], 2.0, 1.0, 3.0, 2.0);
        check(&[9.0, 1.0, 2.0], 2.0, 1.0, 9.0, 4.0);
        check(&[8.0, 1.0, 4.0, 3.0], 3.5, 1.0, 8.0, 4.0);
        check(&[1.0, 1.0, 1.0, 1.0, 6.0], 1.0, 1.0, 6.0, 2.0);
    }

    #[test]
    fn nothing_measured_gives_nothing() {
        assert_eq!(Statistics::of::<f64>(&[]), None);
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Statistics::of(&[1.0, bad, 2.0]), None, "{bad}");
        }
    }

    #[test]
    fn times_may_be_single_precision() {
        assert_eq!(Statistics::of(&[0.5_f32, 0.25]), Statistics::of(&[0.5_f64, 0.25]));
    }

    #[test]
    fn a_part_of_what_was_timed_takes_its_part_of_every_time() {
        let whole = Statistics::of(&[10.0, 20.0, 60.0]).unwrap();
        assert_eq!(whole.divided_by(10), Statistics::of(&[1.0, 2.0, 6.0]).unwrap());
    }

    #[test]
    fn it_shows_what_is_documented() {
        let statistics =
            Statistics { runs: 10, median_ms: 1.2344, min_ms: 1.23, max_ms: 1.3009, mean_ms: 1.24 };
        assert_eq!(statistics.to_string(), "1.234 ms (min 1.230, max 1.301, mean 1.240)");
        assert_eq!(format!("{statistics:.1}"), "1.2 ms (min 1.2, max 1.3, mean 1.2)");
    }

    proptest! {
        #[test]
        fn half_of_the_times_lie_on_each_side_of_the_median(
            times_ms in prop::collection::vec(0.0..1e6_f64, 1..40),
        ) {
            let statistics = Statistics::of(&times_ms).unwrap();
            let count = |keep: &dyn Fn(f64) -> bool| times_ms.iter().filter(|&&time| keep(time)).count();
            let Statistics { median_ms, min_ms, max_ms, mean_ms, .. } = statistics;
            prop_assert!(count(&|time| time < median_ms) * 2 <= times_ms.len());
            prop_assert!(count(&|time| time > median_ms) * 2 <= times_ms.len());
            prop_assert!(min_ms <= median_ms && median_ms <= max_ms);
            prop_assert_eq!(count(&|time| time < min_ms || time > max_ms), 0);
            prop_assert!(times_ms.contains(&min_ms) && times_ms.contains(&max_ms));
            let slack = 1e-9 * max_ms;
            prop_assert!(min_ms - slack <= mean_ms && mean_ms <= max_ms + slack);
        }
    }
}
