//! A vector addition, timed.
//!
//! Claim: events recorded on the work's own stream, before and behind it, give the card's time for it. Four other ways do
//! not: the host's clock without a wait, a stop on a stream that does not follow the work, a time that is asked for before
//! the work is done, and events that are made for ordering.
//!
//! Prediction: the addition moves twelve bytes an element about as fast as a copy on the card moves its eight. The host's
//! clock shows the call, the stop elsewhere shows next to nothing and is the one missing edge, and the driver refuses the
//! other two: not ready (600), invalid handle (400).

use serde::Serialize;

use super::lanes::{THREADS, WAVES, large_elems};
use super::stopwatch::time;
use super::watched::Watched;
use super::{Gates, Setting};
use crate::args;
use crate::gate::{Gate, equality, timing as gates};
use crate::measure::Statistics;
use crate::reference::timing as reference;
use crate::report::{Report, thousands};
use crate::submit::{Buffer, Context, Error, Event, HostClock, Launch, Range, Stream, StreamKind};

/// Elements for the comparison with the reference: no block size divides it.
const CHECK_ELEMS: usize = 1_048_576 + 611;
/// Elements of the course's vectors, the least that is timed where nothing else was asked for.
const COURSE_ELEMS: usize = 1 << 26;
/// Bytes that the addition moves for an element: two are read, one is written.
const ADD_BYTES: f64 = 12.0;
/// Bytes that a copy moves for one.
const COPY_BYTES: f64 = 8.0;
/// Steps of a spin that is still under way when the host asks for its time.
const LONG_STEPS: u32 = 1 << 20;
/// The driver's codes: the work is not done; the event has no time.
const NOT_READY: u32 = 600;
const INVALID_HANDLE: u32 = 400;

/// What the lesson found, as its JSON document has it. What would come after a failed gate is absent.
#[derive(Debug, Serialize)]
pub struct Findings {
    lesson: &'static str,
    #[serde(flatten)]
    setting: Setting,
    parameters: args::Timing,
    elems: usize,
    blocks: u32,
    gates: Gates,
    right: Option<Right>,
    wrong: Vec<Wrong>,
    #[serde(flatten)]
    watched: Watched,
}

/// What a right stopwatch says.
#[derive(Clone, Copy, Debug, Serialize)]
struct Right {
    times: Statistics,
    bytes_per_s: f64,
    /// Of a copy on the card between two of the buffers.
    copy_times: Statistics,
    copy_bytes_per_s: f64,
}

/// What a wrong one shows.
#[derive(Clone, Copy, Debug, Serialize)]
struct Wrong {
    stopwatch: &'static str,
    shown_ms: f64,
}

super::lesson!(args::Timing);

/// Runs the lesson: the addition against the reference, the right stopwatch, and the wrong ones.
///
/// # Errors
///
/// Any error of the submission layer. A failed gate is not one: it is in the findings.
pub fn run(context: &Context, options: &args::Timing, report: Report) -> Result<Findings, Error> {
    let mut findings = Findings {
        lesson: "timing",
        setting: Setting::of(context),
        parameters: options.clone(),
        elems: options
            .elems
            .map_or_else(|| large_elems(context.card()).max(COURSE_ELEMS), |elems| elems as usize),
        blocks: WAVES * context.resident_blocks(gpu::timing::vec_add::KERNEL, THREADS)?,
        gates: Gates::default(),
        right: None,
        wrong: Vec::new(),
        watched: Watched::new(context, "timing", options.common.order, report),
    };
    findings.introduce(report);
    let addition = Addition::new(context, findings.elems, findings.blocks)?;
    if findings.check(&addition, report)? {
        let work_ms = findings.time(context, &addition, report)?;
        findings.host_clock(&addition, work_ms, report)?;
        findings.stop_elsewhere(context, &addition, work_ms, report)?;
        findings.refusals(context, &addition, report)?;
        report.picture(findings.watched.timeline());
    }
    Ok(findings)
}

impl Findings {
    fn introduce(&self, report: Report) {
        self.setting.say(report);
        report.say(format!(
            "parameters: {} elements, {} blocks of {THREADS}, {} runs after {} warm-ups",
            thousands(self.elems as u64),
            thousands(self.blocks),
            self.parameters.common.repeat.runs(),
            self.parameters.common.repeat.warmups()
        ));
    }

    fn check(&mut self, addition: &Addition<'_>, report: Report) -> Result<bool, Error> {
        addition.submit()?;
        addition.stream.synchronize()?;
        let mut got = vec![0.0; CHECK_ELEMS.min(self.elems)];
        addition.out.copy_to(&mut got)?;
        let mut want = vec![0.0; got.len()];
        let [a, b] = inputs(got.len());
        reference::vec_add(&a, &b, &mut want);
        Ok(self.gates.hold(equality("vec_add", &got, &want), report))
    }

    /// The right stopwatch; returns the median.
    fn time(&mut self, context: &Context, addition: &Addition<'_>, report: Report) -> Result<f64, Error> {
        let Addition { stream, a, out, .. } = addition;
        let log = self.watched.log(context, || {
            let _range = Range::new(context, "events");
            addition.timed_on(stream).map(drop)
        })?;
        self.watched.look("events on the stream of the work", 0, log.as_ref(), &mut self.gates, report);

        let repeat = self.parameters.common.repeat;
        let times = time(context, stream, repeat, || addition.submit())?;
        let copy_times = time(context, stream, repeat, || stream.copy(a, out))?;
        let per_s = |bytes: f64, times: Statistics| bytes * self.elems as f64 / (times.median_ms * 1e-3);
        let right = Right {
            times,
            bytes_per_s: per_s(ADD_BYTES, times),
            copy_times,
            copy_bytes_per_s: per_s(COPY_BYTES, copy_times),
        };
        report.time("vec_add:", times);
        report.time("a copy on the card:", copy_times);
        self.right = Some(right);
        let of_l2 = ADD_BYTES * self.elems as f64 / f64::from(self.setting.card.l2_bytes.max(1));
        self.gates.hold(gates::bandwidth(right.bytes_per_s, right.copy_bytes_per_s, of_l2), report);
        Ok(times.median_ms)
    }

    /// Wrong: the host's clock, without a wait; with one it is right, and holds more than the work.
    fn host_clock(&mut self, addition: &Addition<'_>, work_ms: f64, report: Report) -> Result<(), Error> {
        let clock = HostClock::start();
        addition.submit()?;
        let at_return_ms = clock.elapsed_ms();
        addition.stream.synchronize()?;
        let waited_ms = clock.elapsed_ms();
        let stopwatch = "the host's clock without a wait";
        self.wrong.push(Wrong { stopwatch, shown_ms: at_return_ms });
        self.gates.hold(gates::missed(stopwatch, at_return_ms, work_ms), report);
        self.gates.hold(gates::waited(waited_ms, work_ms), report);
        Ok(())
    }

    /// Wrong: the events on the legacy default stream, which no non-blocking stream is ordered with.
    fn stop_elsewhere(
        &mut self,
        context: &Context,
        addition: &Addition<'_>,
        work_ms: f64,
        report: Report,
    ) -> Result<(), Error> {
        let stopwatch = "a stop event on another stream";
        let warmups = self.parameters.common.repeat.warmups();
        let legacy = Stream::new(context, "legacy default stream", StreamKind::Legacy)?;
        let shown_ms = {
            let _range = Range::new(context, "stop-elsewhere");
            f64::from(addition.timed_on(&legacy)?)
        };
        self.wrong.push(Wrong { stopwatch, shown_ms });
        let gate = gates::missed(stopwatch, shown_ms, work_ms);

        let submit = || addition.timed_on(&legacy).map(drop);
        let (band, log) = self.watched.trace(context, "stop elsewhere", warmups, submit, report)?;
        self.watched.draw(band, std::slice::from_ref(&gate));
        self.gates.hold_overlap(gate, context, report);
        self.watched.look(stopwatch, 1, Some(&log), &mut self.gates, report);
        Ok(())
    }

    /// Wrong, and the driver says so: too early, without a timestamp, never recorded.
    fn refusals(&mut self, context: &Context, addition: &Addition<'_>, report: Report) -> Result<(), Error> {
        let stream = &addition.stream;
        let event = |name| Event::timing(context, name);
        let (start, stop, never) = (event("start")?, event("stop")?, event("never recorded")?);
        let (untimed, untimed_stop) =
            (Event::ordering(context, "ordering start")?, Event::ordering(context, "ordering stop")?);
        let spun = Buffer::new(context, "spun", THREADS as usize)?;
        stream.record(&start)?;
        stream.record(&untimed)?;
        stream.launch(&Launch::new(1, THREADS), gpu::streams::spin_lcg(&spun, LONG_STEPS))?;
        stream.record(&stop)?;
        stream.record(&untimed_stop)?;
        let early = Event::elapsed_ms(&start, &stop);
        stop.synchronize()?;
        let forwards = Event::elapsed_ms(&start, &stop)?;
        let (backwards, itself) = (Event::elapsed_ms(&stop, &start)?, Event::elapsed_ms(&start, &start)?);
        for (asked, answer, want) in [
            ("a time asked for before the work is done", early, NOT_READY),
            ("a time from ordering events", Event::elapsed_ms(&untimed, &untimed_stop), INVALID_HANDLE),
            ("a time to an event that was never recorded", Event::elapsed_ms(&start, &never), INVALID_HANDLE),
        ] {
            let gate = refusal(asked, answer, want)?;
            self.gates.hold(gate, report);
        }
        self.gates.hold(gates::directions(forwards, backwards, itself), report);
        Ok(())
    }
}

/// The gate of a time that the driver has to refuse. An error that is not the driver's goes on.
fn refusal(asked: &str, answer: Result<f32, Error>, want: u32) -> Result<Gate, Error> {
    match answer {
        Err(Error::Driver(error)) => {
            let gate = gates::refused(asked, Err((error.code, &error.name)), want);
            // What the code cannot say: which of its causes it was.
            let sentence = [gate.sentence, error.detail].into_iter().filter(|part| !part.is_empty());
            Ok(Gate { sentence: sentence.collect::<Vec<_>>().join(": "), ..gate })
        }
        Err(other) => Err(other),
        Ok(ms) => Ok(gates::refused(asked, Ok(ms), want)),
    }
}

/// The vectors, and the stream that they are added on.
struct Addition<'c> {
    context: &'c Context,
    stream: Stream<'c>,
    a: Buffer<'c, f32>,
    b: Buffer<'c, f32>,
    out: Buffer<'c, f32>,
    launch: Launch,
}

/// The vectors' elements; their sums are exact.
fn inputs(elems: usize) -> [Vec<f32>; 2] {
    [8192, 1021].map(|period| (0..elems).map(|i| (i % period) as f32).collect())
}

impl<'c> Addition<'c> {
    fn new(context: &'c Context, elems: usize, blocks: u32) -> Result<Self, Error> {
        let [a, b] = inputs(elems);
        let addition = Addition {
            context,
            stream: Stream::new(context, "S", StreamKind::NonBlocking)?,
            a: Buffer::from_slice(context, "a", &a)?,
            b: Buffer::from_slice(context, "b", &b)?,
            out: Buffer::new(context, "out", elems)?,
            launch: Launch::new(blocks, THREADS),
        };
        // The copies were on the legacy default stream, which a non-blocking one does not wait for.
        context.synchronize()?;
        Ok(addition)
    }

    fn submit(&self) -> Result<(), Error> {
        self.stream.launch(&self.launch, gpu::timing::vec_add(&self.a, &self.b, &self.out))
    }

    /// The time that events on `clock` show for the addition.
    fn timed_on(&self, clock: &Stream<'_>) -> Result<f32, Error> {
        let (start, stop) = (Event::timing(self.context, "start")?, Event::timing(self.context, "stop")?);
        clock.record(&start)?;
        self.submit()?;
        clock.record(&stop)?;
        stop.synchronize()?;
        let shown_ms = Event::elapsed_ms(&start, &stop)?;
        // Whatever the stopwatch shows, the next one begins with an idle card.
        self.stream.synchronize()?;
        Ok(shown_ms)
    }
}
