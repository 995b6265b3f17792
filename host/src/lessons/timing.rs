//! A vector addition, timed.
//!
//! Claim: events recorded on the work's own stream, before and after it, give the device's time for it. Four other ways do not:
//! the host's clock without a wait, a stop on a stream that does not follow the work, a time that is read before the work is
//! done, and events that are made for ordering.
//!
//! Prediction: the addition moves twelve bytes an element about as fast as a copy on the device moves its eight. The host's clock
//! shows the call, the stop elsewhere shows next to nothing and is the one missing edge, and the driver refuses the other two: not
//! ready (600), invalid handle (400).

use std::cell::Cell;

use gpu::streams::spin_lcg;
use gpu::timing::vec_add;
use serde::Serialize;
use streamlab::{
    Context, DeviceBuffer, Error, Event, HostClock, LaunchConfig, NvtxRange, Stream, StreamKind,
};
use timeline::thousands;

use super::streams::{THREADS, WAVES, large_elems};
use crate::check::{Check, cut, equal};
use crate::lab::{Lab, Outcome};
use crate::reference::timing as reference;

/// The lesson's place in the order in which to take them.
pub const PLACE: u32 = 80;
/// What the lesson shows, in a line.
pub const ABOUT: &str = "A vector addition timed with events, and four ways to time it wrong";
/// Whether it records a timeline.
pub const DRAWS: bool = true;

/// Elements that are compared with the reference: no block size divides it.
const CHECK_ELEMS: usize = 1_048_576 + 611;
/// Elements of the course's vectors, the least that is timed where nothing else was asked for.
const COURSE_ELEMS: usize = 1 << 26;
/// Steps of a spin that is still running when the host asks for its time.
const LONG_STEPS: u32 = 1 << 20;

/// What the lesson takes.
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct Args {
    /// Elements of each of the three vectors [default: four times the L2 cache, at least 67,108,864]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    pub elems: Option<u64>,
}

/// The vectors, the stream that they are added on, and the events.
struct Program<'c> {
    context: &'c Context,
    grid: LaunchConfig,
    stream: Stream<'c>,
    legacy: Stream<'c>,
    start: Event<'c>,
    stop: Event<'c>,
    never: Event<'c>,
    /// Events without a timestamp.
    ordering: [Event<'c>; 2],
    a: DeviceBuffer<'c, f32>,
    b: DeviceBuffer<'c, f32>,
    out: DeviceBuffer<'c, f32>,
    spun: DeviceBuffer<'c, u32>,
}

impl<'c> Program<'c> {
    fn new(context: &'c Context, blocks: u32, [a, b]: [&[f32]; 2]) -> Result<Self, Error> {
        Ok(Program {
            context,
            grid: LaunchConfig::new(blocks, THREADS),
            stream: Stream::new(context, "S", StreamKind::NonBlocking)?,
            legacy: Stream::new(context, "legacy default stream", StreamKind::Legacy)?,
            start: Event::timing(context, "start")?,
            stop: Event::timing(context, "stop")?,
            never: Event::timing(context, "never recorded")?,
            ordering: [
                Event::ordering(context, "ordering start")?,
                Event::ordering(context, "ordering stop")?,
            ],
            a: DeviceBuffer::from_slice(context, "a", a)?,
            b: DeviceBuffer::from_slice(context, "b", b)?,
            out: DeviceBuffer::new(context, "out", a.len())?,
            spun: DeviceBuffer::new(context, "spun", THREADS as usize)?,
        })
    }

    /// Adds the vectors.
    fn add(&self) -> Result<(), Error> {
        self.stream.launch(self.grid, vec_add(&self.a, &self.b, &self.out))
    }

    /// Returns the time between events on the stream of the work.
    fn events(&self) -> Result<f32, Error> {
        let _range = NvtxRange::new(self.context, "events");
        self.stream.record(&self.start)?;
        self.stream.launch(self.grid, vec_add(&self.a, &self.b, &self.out))?;
        self.stream.record(&self.stop)?;
        self.stop.synchronize()?;
        Event::elapsed_ms(&self.start, &self.stop)
    }

    /// Wrong: returns the time between events on the legacy default stream, which no non-blocking stream is ordered with.
    fn stop_elsewhere(&self) -> Result<f32, Error> {
        let _range = NvtxRange::new(self.context, "stop-elsewhere");
        self.legacy.record(&self.start)?;
        self.stream.launch(self.grid, vec_add(&self.a, &self.b, &self.out))?;
        self.legacy.record(&self.stop)?; // does not follow the launch
        self.stop.synchronize()?;
        let shown_ms = Event::elapsed_ms(&self.start, &self.stop)?;
        self.stream.synchronize()?; // so that the next stopwatch begins with an idle device
        Ok(shown_ms)
    }

    /// Returns what the host's clock shows when the launch has returned, which is wrong, and when the host has waited.
    fn host_clock(&self) -> Result<[f64; 2], Error> {
        let clock = HostClock::start();
        self.stream.launch(self.grid, vec_add(&self.a, &self.b, &self.out))?;
        let returned_ms = clock.elapsed_ms();
        self.stream.synchronize()?;
        Ok([returned_ms, clock.elapsed_ms()])
    }

    /// Asks for the time of a long spin, in ways that the driver has to refuse and in some that it accepts.
    fn ask(&self) -> Result<Answers, Error> {
        let [untimed, untimed_stop] = &self.ordering;
        self.stream.record(&self.start)?;
        self.stream.record(untimed)?;
        self.stream.launch(LaunchConfig::new(1, THREADS), spin_lcg(&self.spun, LONG_STEPS))?;
        self.stream.record(&self.stop)?;
        self.stream.record(untimed_stop)?;
        let early = Event::elapsed_ms(&self.start, &self.stop); // the spin is still running
        self.stop.synchronize()?;
        Ok(Answers {
            early,
            ordering: Event::elapsed_ms(untimed, untimed_stop),
            unrecorded: Event::elapsed_ms(&self.start, &self.never),
            forwards_ms: Event::elapsed_ms(&self.start, &self.stop)?,
            backwards_ms: Event::elapsed_ms(&self.stop, &self.start)?,
            itself_ms: Event::elapsed_ms(&self.start, &self.start)?,
        })
    }
}

/// What the driver returned for the times of a spin.
struct Answers {
    early: Result<f32, Error>,
    ordering: Result<f32, Error>,
    unrecorded: Result<f32, Error>,
    forwards_ms: f32,
    backwards_ms: f32,
    itself_ms: f32,
}

/// Runs the lesson.
pub fn run(lab: &mut Lab<'_>, args: &Args) -> Outcome {
    let blocks = WAVES * lab.context().resident_blocks(vec_add::KERNEL, THREADS)?;
    let elems =
        args.elems.map_or_else(|| large_elems(lab.device()).max(COURSE_ELEMS), |elems| elems as usize);
    let grid = format!("{} blocks of {THREADS}", thousands(u64::from(blocks)));
    lab.parameters(args, format!("{} elements, {grid}", thousands(elems as u64)));
    lab.predict(
        "the addition moves 12 bytes an element about as fast as a copy on the device moves 8; the host's clock shows the call, a \
         stop on another stream next to nothing, and the driver refuses the other times (600 and 400)",
    );
    lab.value("elems", elems);
    lab.value("blocks", blocks);
    // The sums of these are exact.
    let [a, b] = [8192, 1021].map(|period| (0..elems).map(|i| (i % period) as f32).collect::<Vec<_>>());
    let p = Program::new(lab.context(), blocks, [&a, &b])?;

    // 1. The addition is right, and so is the stopwatch: no edge is missing.
    lab.record("events on the stream of the work", || p.events().map(drop))?.missing_edges(0)?;
    let mut got = vec![0.0; CHECK_ELEMS.min(elems)];
    let mut want = got.clone();
    p.out.copy_to(&mut got)?;
    reference::vec_add(&a, &b, &mut want);
    lab.require(equal("vec_add.result", "vec_add", &got, &want))?;

    // 2. The addition is as fast as the memory: it moves its bytes about as fast as a copy does.
    let work_ms = lab.time("vec_add", &p.stream, || p.add())?.median_ms;
    let copy_ms = lab.time("a copy on the device", &p.stream, || p.stream.copy(&p.a, &p.out))?.median_ms;
    let per_s = |bytes: f64, ms: f64| bytes * elems as f64 / (ms * 1e-3);
    let (add_per_s, copy_per_s) = (per_s(ADD_BYTES, work_ms), per_s(COPY_BYTES, copy_ms));
    lab.value("bytes_per_s", add_per_s);
    lab.value("copy_bytes_per_s", copy_per_s);
    let of_l2 = ADD_BYTES * elems as f64 / f64::from(lab.device().l2_bytes.max(1));
    lab.check(bandwidth(add_per_s, copy_per_s, of_l2));

    // 3. Wrong: the host's clock without a wait. With one it is right, and holds more than the work.
    let [returned_ms, waited_ms] = p.host_clock()?;
    lab.value("host_clock_without_a_wait_ms", returned_ms);
    let by_host = "the host's clock without a wait";
    lab.check(missed("host-clock.misses-the-work", by_host, returned_ms, work_ms));
    lab.check(waited(waited_ms, work_ms));

    // 4. Wrong: both events on another stream. Nothing makes the stop follow the work.
    let elsewhere = "a stop event on another stream";
    let shown_ms = f64::from(p.stop_elsewhere()?);
    lab.check_overlap(missed("stop-elsewhere.misses-the-work", elsewhere, shown_ms, work_ms));
    lab.value("stop_on_another_stream_ms", shown_ms);
    let shown = Cell::new(f32::NAN);
    let submit = || p.stop_elsewhere().map(|ms| shown.set(ms));
    lab.show("stop elsewhere", 1, submit, |ran, _| {
        let ran_ms = ran.first().map_or(f64::NAN, |ran| ran.length_ns() as f64 / 1e6);
        vec![missed("timeline.stop-elsewhere", elsewhere, f64::from(shown.get()), ran_ms)]
    })?;

    // 5. Wrong, and the driver says so: too early, without a timestamp, never recorded.
    let answers = p.ask()?;
    lab.check(refused("too-early.refused", "a time read before the work is done", answers.early, NOT_READY)?);
    let asked = "a time between events made for ordering";
    lab.check(refused("ordering-events.refused", asked, answers.ordering, INVALID_HANDLE)?);
    let asked = "a time to an event that was never recorded";
    lab.check(refused("never-recorded.refused", asked, answers.unrecorded, INVALID_HANDLE)?);
    lab.check(directions(answers.forwards_ms, answers.backwards_ms, answers.itself_ms));
    lab.picture();
    Ok(())
}

/// Bytes that the addition moves for an element: two are read, one is written.
const ADD_BYTES: f64 = 12.0;
/// Bytes that a copy moves for one.
const COPY_BYTES: f64 = 8.0;
/// The least part of a copy's bandwidth that the addition reaches: both are limited by the memory, and by nothing else.
pub const MIN_OF_COPY: f64 = 0.8;
/// The most of the work's time that a stopwatch shows which does not follow the work.
pub const MAX_MISSED: f64 = 0.5;
/// The least of it that the host's clock shows when the host has waited.
pub const MIN_WAITED: f64 = 0.9;
/// Work that ends sooner is over before the host has made its next call, ms: no stopwatch can be shown to miss it.
pub const MIN_WORK_MS: f64 = 0.05;
/// Vectors that are together less than so many times the L2 cache are partly read from there.
pub const MIN_OF_L2: f64 = 4.0;
/// The driver's codes: the work is not done; the event has no time.
pub const NOT_READY: u32 = 600;
/// `CUDA_ERROR_INVALID_HANDLE`.
pub const INVALID_HANDLE: u32 = 400;

/// Checks the bytes a second of the addition against a copy's. The vectors are together `of_l2` times the L2 cache.
pub fn bandwidth(per_s: f64, copy_per_s: f64, of_l2: f64) -> Check {
    let part = per_s / copy_per_s;
    let sentence = format!(
        "the addition moves {per_s:.3e} bytes/s, {}x of a copy's {copy_per_s:.3e}, at least {MIN_OF_COPY}x expected",
        cut(part)
    );
    let cached = format!("the vectors are {of_l2:.1} times the L2 cache, less than {MIN_OF_L2} times");
    let reasons = if of_l2 < MIN_OF_L2 { vec![cached] } else { Vec::new() };
    Check::that(part >= MIN_OF_COPY, "vec_add.bandwidth", sentence).unless(&reasons)
}

/// Checks that a stopwatch stops before the work does: `who` says which.
pub fn missed(id: &str, who: &str, shown_ms: f64, work_ms: f64) -> Check {
    let sentence =
        format!("{who} shows {shown_ms:.4} ms of {work_ms:.3} ms, at most {MAX_MISSED} of it expected");
    let short = "the work is over too soon to be missed (take more elements)".to_owned();
    let reasons = if work_ms >= MIN_WORK_MS { Vec::new() } else { vec![short] };
    Check::that(shown_ms <= MAX_MISSED * work_ms, id, sentence).unless(&reasons)
}

/// Checks that the host's clock holds the work that the host waited for.
pub fn waited(shown_ms: f64, work_ms: f64) -> Check {
    let sentence = format!(
        "the host's clock with a wait shows {shown_ms:.3} ms of {work_ms:.3} ms (work, submission and wait), at least \
         {MIN_WAITED} of it expected"
    );
    Check::that(shown_ms >= MIN_WAITED * work_ms, "host-clock.holds-the-work-after-a-wait", sentence)
}

/// Checks that the driver refused a time with one code. An error that is not the driver's goes on.
pub fn refused(id: &str, asked: &str, answer: Result<f32, Error>, want: u32) -> Result<Check, Error> {
    match answer {
        Ok(ms) => Ok(Check::fail(id, format!("{asked}: the driver returned {ms} ms (expected code {want})"))),
        Err(Error::Driver(error)) => {
            // The detail says what the code cannot: which of its causes it was.
            let cause = if error.detail.is_empty() { String::new() } else { format!(": {}", error.detail) };
            let sentence = format!("{asked}: the driver returned {} ({}){cause}", error.name, error.code);
            let expected =
                if error.code == want { String::new() } else { format!(" (expected code {want})") };
            Ok(Check::that(error.code == want, id, sentence + &expected))
        }
        Err(other) => Err(other),
    }
}

/// Checks the times between two events forwards, backwards, and from one of them to itself.
pub fn directions(forwards_ms: f32, backwards_ms: f32, itself_ms: f32) -> Check {
    let sentence = format!(
        "after the wait the two events give {forwards_ms:.3} ms, swapped {backwards_ms:.3} ms, one with itself {itself_ms:.3} ms"
    );
    let holds = forwards_ms > 0.0 && backwards_ms == -forwards_ms && itself_ms == 0.0;
    Check::that(holds, "elapsed.directions", sentence)
}
