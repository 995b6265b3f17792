//! The stopwatch of the lessons: events around each run of a submission.

use crate::args::Repeat;
use crate::measure::Statistics;
use crate::submit::{Context, Error, Event, Range, Stream, StreamKind};

/// The card's time for each timed submission, after those that are not.
///
/// Start and stop are recorded on `clock`, which must follow the work: the stream of the submission itself, or the legacy
/// default stream, which is a barrier among blocking streams, so that the stop stands for everything that the submission
/// put on any of them. A submission with a non-blocking stream must not be timed this way. The host only waits after the
/// last run, so that it submits ahead of the card.
pub fn time(
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
    let times = pairs
        .iter()
        .map(|(start, stop)| Event::elapsed_ms(start, stop))
        .collect::<Result<Vec<f32>, Error>>()?;
    Ok(Statistics::of(&times).unwrap_or(Statistics::UNKNOWN))
}

/// The card's time for each timed submission to whatever streams, after those that are not.
///
/// The host waits for the card within each timed run, before the stop is recorded, so that the stop follows work on
/// non-blocking streams too. The price is that the host's wait, some ten microseconds, is in the time. Each submission and its
/// wait are a range of that name in a profile.
pub fn time_drained(
    context: &Context,
    name: &str,
    repeat: Repeat,
    submit: impl Fn() -> Result<(), Error>,
) -> Result<Statistics, Error> {
    let region = || {
        let _range = Range::new(context, name);
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
