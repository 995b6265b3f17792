//! How the host waits, from narrow to wide, and how it asks without waiting.
//!
//! Claim: a wait returns when what it names is done, and says nothing about the rest: an event is narrower than its stream, a
//! stream narrower than the device. A query never waits. The narrowest wait that covers what the host reads is the right one; one
//! that is narrower still is a race, and no call reports it.
//!
//! Prediction: two kernels in a short stream, an event between them, and a kernel four times as long in another stream. When a
//! wait for the event returns, both streams are busy; when one for the short stream returns, the long one is.

use std::fmt;

use gpu::streams::spin_lcg;
use serde::Serialize;
use streamlab::{
    Context, DeviceBuffer, Error, Event, LaunchConfig, NvtxRange, PinnedBuffer, Stream, StreamKind,
};
use timeline::thousands;

use crate::check::{Check, equal};
use crate::lab::{Lab, Outcome};
use crate::overlap::{Interval, after, hidden, intervals_of};
use crate::reference::streams as reference;

/// The lesson's place in the order in which to take them.
pub const PLACE: u32 = 90;
/// What the lesson shows, in a line.
pub const ABOUT: &str = "What each synchronize call waits for, and polling with queries";
/// Whether it records a timeline.
pub const DRAWS: bool = true;

/// Threads of the one block of a kernel.
const THREADS: u32 = 32;
/// The length of the long kernel, in short ones.
const LONG: u32 = 4;

/// What the lesson takes.
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct Args {
    /// Steps of each of the two kernels in the short stream; the one in the long stream takes four times as many
    #[arg(long, value_name = "N", default_value_t = 400_000, value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX / 4)))]
    pub steps: u32,
}

/// Two streams, an event, and what the three kernels write: on the device, and where the host finds it.
pub struct Program<'c> {
    context: &'c Context,
    block: LaunchConfig,
    steps: u32,
    short: Stream<'c>,
    long: Stream<'c>,
    first_done: Event<'c>,
    first: DeviceBuffer<'c, u32>,
    second: DeviceBuffer<'c, u32>,
    third: DeviceBuffer<'c, u32>,
    first_host: PinnedBuffer<'c, u32>,
    second_host: PinnedBuffer<'c, u32>,
    third_host: PinnedBuffer<'c, u32>,
}

/// What the host found after a wait: what was complete, and what it read before it asked.
type Found = (Complete, Vec<u32>);

impl<'c> Program<'c> {
    /// Creates the streams, the event and the buffers; the streams are non-blocking ones.
    pub fn new(context: &'c Context, steps: u32) -> Result<Self, Error> {
        let device = |name| DeviceBuffer::new(context, name, THREADS as usize);
        let pinned = |name| PinnedBuffer::new(context, name, THREADS as usize);
        Ok(Program {
            context,
            block: LaunchConfig::new(1, THREADS),
            steps,
            short: Stream::new(context, "short", StreamKind::NonBlocking)?,
            long: Stream::new(context, "long", StreamKind::NonBlocking)?,
            first_done: Event::ordering(context, "first-done")?,
            first: device("first")?,
            second: device("second")?,
            third: device("third")?,
            first_host: pinned("first, on the host")?,
            second_host: pinned("second, on the host")?,
            third_host: pinned("third, on the host")?,
        })
    }

    /// Two kernels in the short stream, an event between them, and a long kernel in the long one. Nobody waits.
    pub fn submission(&self) -> Result<(), Error> {
        self.short.launch(self.block, spin_lcg(&self.first, self.steps))?;
        self.short.copy_to_host(&self.first, &self.first_host)?;
        self.short.record(&self.first_done)?; // captures the first kernel and its copy
        self.short.launch(self.block, spin_lcg(&self.second, self.steps))?;
        self.short.copy_to_host(&self.second, &self.second_host)?;
        self.long.launch(self.block, spin_lcg(&self.third, LONG * self.steps))?;
        self.long.copy_to_host(&self.third, &self.third_host)
    }

    /// The host waits for the event, and reads the one result that this covers.
    fn event_wait(&self) -> Result<Found, Error> {
        let _range = NvtxRange::new(self.context, "a wait for the event");
        self.submission()?;
        self.first_done.synchronize()?;
        let read = self.first_host.read();
        let (event, short, long) = (self.first_done.query()?, self.short.query()?, self.long.query()?);
        Ok((Complete { event, short, long }, read))
    }

    /// The host waits for the short stream, and reads both results that this covers.
    fn short_stream_wait(&self) -> Result<Found, Error> {
        let _range = NvtxRange::new(self.context, "a wait for the short stream");
        self.submission()?;
        self.short.synchronize()?;
        let read = [self.first_host.read(), self.second_host.read()].concat();
        let (event, short, long) = (self.first_done.query()?, self.short.query()?, self.long.query()?);
        Ok((Complete { event, short, long }, read))
    }

    /// The host waits for the device, and reads all three results.
    fn device_wait(&self) -> Result<Found, Error> {
        let _range = NvtxRange::new(self.context, "a wait for the device");
        self.submission()?;
        self.context.synchronize()?;
        let read = [self.first_host.read(), self.second_host.read(), self.third_host.read()].concat();
        let (event, short, long) = (self.first_done.query()?, self.short.query()?, self.long.query()?);
        Ok((Complete { event, short, long }, read))
    }

    /// The host queries the event until it is complete. Returns how often it was not: each time the host could do something else.
    fn queries(&self) -> Result<(u64, Vec<u32>), Error> {
        let _range = NvtxRange::new(self.context, "queries");
        self.submission()?;
        let mut refused = 0;
        while !self.first_done.query()? {
            refused += 1;
        }
        Ok((refused, self.first_host.read()))
    }

    /// The host waits for the event, and reads what the event does not cover. The submission stands here once more, so that the report
    /// names a line of it.
    fn too_narrow(&self) -> Result<Vec<u32>, Error> {
        let _range = NvtxRange::new(self.context, "too-narrow");
        self.short.launch(self.block, spin_lcg(&self.first, self.steps))?;
        self.short.copy_to_host(&self.first, &self.first_host)?;
        self.short.record(&self.first_done)?;
        self.short.launch(self.block, spin_lcg(&self.second, self.steps))?;
        self.short.copy_to_host(&self.second, &self.second_host)?;
        self.long.launch(self.block, spin_lcg(&self.third, LONG * self.steps))?;
        self.long.copy_to_host(&self.third, &self.third_host)?; // still to come when the event is complete
        self.first_done.synchronize()?;
        Ok(self.third_host.read())
    }

    /// Waits for everything, and forgets the results.
    fn clear(&self) -> Result<(), Error> {
        self.context.synchronize()?;
        for host in [&self.first_host, &self.second_host, &self.third_host] {
            host.write(&[0; THREADS as usize]);
        }
        Ok(())
    }
}

/// Runs the lesson.
pub fn run(lab: &mut Lab<'_>, args: &Args) -> Outcome {
    let steps = thousands(u64::from(args.steps));
    lab.parameters(
        args,
        format!("two kernels of {steps} steps in the short stream, one {LONG} times as long in the long one"),
    );
    lab.predict("each wait returns while what it does not name still runs; one read needs a wider wait");
    let (mut short, mut long) = (vec![0; THREADS as usize], vec![0; THREADS as usize]);
    reference::spin_lcg(&mut short, args.steps);
    reference::spin_lcg(&mut long, LONG * args.steps);
    let p = Program::new(lab.context(), args.steps)?;

    // 1. Each kernel computes the right result.
    p.submission()?;
    lab.context().synchronize()?;
    lab.require(equal("first.result", "first", &p.first_host.read(), &short))?;
    lab.require(equal("second.result", "second", &p.second_host.read(), &short))?;
    lab.require(equal("third.result", "third", &p.third_host.read(), &long))?;

    // 2. Three waits, from narrow to wide. After each the host reads what the wait covers, and asks what is complete.
    let [both, three] = [[&*short, &short, &[]].concat(), [&*short, &short, &long].concat()];
    let event = Complete { event: true, short: false, long: false };
    wait(lab, &p, "event", Program::event_wait, event, &short)?;
    wait(lab, &p, "short stream", Program::short_stream_wait, Complete { short: true, ..event }, &both)?;
    wait(lab, &p, "device", Program::device_wait, Complete { short: true, long: true, ..event }, &three)?;

    // 3. A query returns at once, whatever it returns.
    p.clear()?;
    let (mut refused, mut read) = (0, Vec::new());
    lab.record("queries", || p.queries().map(|found| (refused, read) = found))?.missing_edges(0)?;
    lab.value("refused_queries", refused);
    lab.check(asked(refused));
    lab.check(equal("queries.covered", "what the last query covers", &read, &short));

    // 4. A wait that is too narrow for what the host reads: every call succeeds.
    p.clear()?;
    lab.record("too-narrow", || p.too_narrow().map(|found| read = found))?.missing_edges(1)?;
    lab.context().synchronize()?;
    let early = read.iter().zip(&long).filter(|(read, want)| read != want).count();
    let read = format!("the host read {early} of {THREADS} elements of the long stream's result too early");
    let text = format!("too-narrow: {read}, and every call succeeded. Not checked: this is a data race");
    lab.observe("read_too_early", early, text);

    // 5. The timeline shows what the waits named.
    let traced = lab.trace("short-and-long-stream", || p.submission())?;
    let ran = intervals_of(&traced.run, |name| name == spin_lcg::KERNEL.name);
    let checks = narrow_first(&ran, lab.step_ns());
    lab.draw(traced.run, checks);
    lab.picture();
    Ok(())
}

/// Runs a submission with a wait, and checks what was complete when the wait returned, and what the host read.
fn wait<'c>(
    lab: &mut Lab<'c>,
    p: &Program<'c>,
    waits_for: &str,
    submit: impl Fn(&Program<'c>) -> Result<Found, Error>,
    complete: Complete,
    covered: &[u32],
) -> Outcome {
    p.clear()?;
    let (name, wait) =
        (format!("{}-wait", waits_for.replace(' ', "-")), format!("a wait for the {waits_for}"));
    let mut found = (complete, Vec::new());
    lab.record(&name, || submit(p).map(|all| found = all))?.missing_edges(0)?;
    lab.value(&format!("{name}.complete"), found.0);
    lab.check(returned(&format!("{name}.complete"), &wait, found.0, complete));
    lab.check(equal(format!("{name}.covered"), &format!("what {wait} covers"), &found.1, covered));
    Ok(())
}

/// What is complete, by queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Complete {
    /// The event in the middle of the short stream.
    pub event: bool,
    /// The short stream.
    pub short: bool,
    /// The long stream.
    pub long: bool,
}

impl fmt::Display for Complete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |complete| if complete { "complete" } else { "not ready" };
        let Complete { event, short, long } = *self;
        write!(f, "event {}, short stream {}, long stream {}", word(event), word(short), word(long))
    }
}

/// Checks that a wait returned when what it names was complete, and not only when more was.
pub fn returned(id: &str, wait: &str, got: Complete, want: Complete) -> Check {
    let expected = if got == want { String::new() } else { format!(" (expected {want})") };
    Check::that(got == want, id, format!("after {wait}: {got}{expected}"))
}

/// Checks that a query returns without waiting: it must have returned "not ready" at least once before "complete".
pub fn asked(refusals: u64) -> Check {
    let id = "queries.not-ready-first";
    if refusals == 0 {
        return Check::fail(id, "the first query returned \"complete\": it waited, or came too late");
    }
    Check::pass(id, format!("{refusals} of the queries returned \"not ready\" before one was \"complete\""))
}

/// Checks that the kernels ended in the order of the waits, from narrow to wide: the one that the event covers, the last of the
/// short stream, the one of the long stream. `ran` is when they ran, in the order of submission; `step_ns` is the clock's.
pub fn narrow_first(ran: &[Interval], step_ns: u64) -> Vec<Check> {
    let &[first, second, long] = ran else {
        return vec![Check::fail("timeline.kernels", format!("{} of 3 kernels ran", ran.len()))];
    };
    let (event, last) = (("the one that the event covers", first), ("the second short kernel", second));
    vec![
        after("timeline.second-after-first", last, event, step_ns),
        hidden("timeline.short-hidden", ("the short kernels", &[first, second]), ("the long one", long)),
    ]
}
