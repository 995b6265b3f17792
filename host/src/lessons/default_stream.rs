//! The default streams: which of two streams waits for the other, for each pair of kinds, from one host thread and from two.
//!
//! Claim: the kind of a stream decides what it is ordered with, and no call reports it. The legacy default stream takes turns
//! with every stream but a non-blocking one. The default stream of a host thread is a blocking stream: it takes turns with the
//! legacy one, and with no other stream. There is one legacy default stream, and one per-thread stream for each host thread.
//!
//! Prediction: of the 32 pairs 11 take turns, and the kernels of the other 21 overlap. All kernels write one buffer, so that the
//! checker finds a missing edge in exactly those 21.

use gpu::streams::spin_lcg;
use serde::Serialize;
use streamlab::{Context, DeviceBuffer, Error, HostThread, LaunchConfig, NvtxRange, Stream, StreamKind};

use crate::check::{Check, count, equal};
use crate::lab::{Lab, Outcome};
use crate::overlap::{Interval, after, all_overlap, intervals};
use crate::reference::streams as reference;

/// The lesson's place in the order in which to take them.
pub const PLACE: u32 = 60;
/// What the lesson shows, in a line.
pub const ABOUT: &str =
    "Which streams wait for the default streams, for each pair of kinds, from one host thread and from two";
/// Whether it records a timeline.
pub const DRAWS: bool = true;

/// Threads of the one block of a kernel: two such kernels never compete for room.
const THREADS: u32 = 32;

/// The kinds, in the order of the table.
const KINDS: [StreamKind; 4] =
    [StreamKind::Legacy, StreamKind::PerThread, StreamKind::Blocking, StreamKind::NonBlocking];

/// The pairs that are printed and drawn: what the legacy default stream waits for, what it does not, what a per-thread stream is,
/// and what a second host thread changes.
const SHOWN: [Pair; 5] = [
    Pair { first: StreamKind::Blocking, second: StreamKind::Legacy, by: By::OneThread },
    Pair { first: StreamKind::NonBlocking, second: StreamKind::Legacy, by: By::OneThread },
    Pair { first: StreamKind::PerThread, second: StreamKind::Legacy, by: By::OneThread },
    Pair { first: StreamKind::Legacy, second: StreamKind::Legacy, by: By::TwoThreads },
    Pair { first: StreamKind::PerThread, second: StreamKind::PerThread, by: By::TwoThreads },
];

/// What the lesson takes.
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct Args {
    /// Steps of each kernel: so many that the next one is launched while it runs
    #[arg(long, value_name = "N", default_value_t = 400_000, value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub steps: u32,
}

/// Whose launches the two kernels of a pair are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// One host thread launches both.
    OneThread,
    /// A second host thread launches the second kernel.
    TwoThreads,
}

/// Two streams with a kernel each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The kind of the first kernel's stream.
    pub first: StreamKind,
    /// The kind of the second kernel's stream.
    pub second: StreamKind,
    /// Whose launches they are.
    pub by: By,
}

/// Streams, two of a kind where there can be two, a second host thread, and the buffer that every kernel writes.
pub struct Program<'c> {
    context: &'c Context,
    block: LaunchConfig,
    steps: u32,
    legacy: Stream<'c>,
    /// The default stream of whichever thread launches; a name for each of the two threads.
    per_thread: [Stream<'c>; 2],
    blocking: [Stream<'c>; 2],
    non_blocking: [Stream<'c>; 2],
    other: HostThread<'c>,
    out: DeviceBuffer<'c, u32>,
}

impl<'c> Program<'c> {
    /// Creates the streams and the buffer, and starts the second host thread.
    pub fn new(context: &'c Context, steps: u32) -> Result<Self, Error> {
        let stream = |name, kind| Stream::new(context, name, kind);
        let two = |names: [&'static str; 2], kind| {
            Ok::<_, Error>([stream(names[0], kind)?, stream(names[1], kind)?])
        };
        Ok(Program {
            context,
            block: LaunchConfig::new(1, THREADS),
            steps,
            legacy: stream("legacy", StreamKind::Legacy)?,
            per_thread: two(["per-thread", "per-thread of the other"], StreamKind::PerThread)?,
            blocking: two(["blocking 1", "blocking 2"], StreamKind::Blocking)?,
            non_blocking: two(["non-blocking 1", "non-blocking 2"], StreamKind::NonBlocking)?,
            other: HostThread::new(context)?,
            out: DeviceBuffer::new(context, "out", THREADS as usize)?,
        })
    }

    /// One host thread launches a kernel on each of two streams. Nothing orders them but the kinds of the streams.
    fn by_one_thread(&self, first: &Stream<'_>, second: &Stream<'_>) -> Result<(), Error> {
        first.launch(self.block, spin_lcg(&self.out, self.steps))?;
        second.launch(self.block, spin_lcg(&self.out, self.steps))
    }

    /// Two host threads launch a kernel each, the second thread after the first one's call has returned.
    fn by_two_threads(&self, first: &Stream<'_>, second: &Stream<'_>) -> Result<(), Error> {
        first.launch(self.block, spin_lcg(&self.out, self.steps))?;
        second.launch_from(&self.other, self.block, spin_lcg(&self.out, self.steps))
    }

    /// Submits a pair.
    pub fn submit(&self, pair: Pair) -> Result<(), Error> {
        let _range = NvtxRange::new(self.context, &pair.name());
        match pair.by {
            By::OneThread => self.by_one_thread(self.first(pair), self.second(pair)),
            By::TwoThreads => self.by_two_threads(self.first(pair), self.second(pair)),
        }
    }

    fn first(&self, pair: Pair) -> &Stream<'c> {
        match pair.first {
            StreamKind::Legacy => &self.legacy,
            StreamKind::PerThread => &self.per_thread[0],
            StreamKind::Blocking => &self.blocking[0],
            StreamKind::NonBlocking => &self.non_blocking[0],
        }
    }

    fn second(&self, pair: Pair) -> &Stream<'c> {
        match pair.second {
            StreamKind::Legacy => &self.legacy,
            StreamKind::PerThread if pair.by == By::OneThread => &self.per_thread[0],
            StreamKind::PerThread => &self.per_thread[1],
            StreamKind::Blocking => &self.blocking[1],
            StreamKind::NonBlocking => &self.non_blocking[1],
        }
    }
}

/// A pair, and how its kernels ran.
#[derive(Debug, Serialize)]
struct Measured {
    host_threads: u32,
    first: &'static str,
    second: &'static str,
    predicted: &'static str,
    measured: &'static str,
    shared_us: f64,
}

/// Runs the lesson.
pub fn run(lab: &mut Lab<'_>, args: &Args) -> Outcome {
    lab.parameters(
        args,
        format!("two kernels of one block, {} each", count(args.steps as usize, "step", "steps")),
    );
    lab.predict(
        "11 of the 32 pairs take turns, and the kernels of 21 overlap: one missing edge in each of those",
    );
    let p = Program::new(lab.context(), args.steps)?;

    // 1. The kernel computes the right result.
    let mut want = vec![0; THREADS as usize];
    reference::spin_lcg(&mut want, args.steps);
    p.by_two_threads(&p.legacy, &p.legacy)?;
    lab.require(equal("spin.result", "spin_lcg", &p.out.to_vec()?, &want))?;

    // 2. Every pair from one host thread, then from two.
    let mut pairs = Vec::new();
    for by in [By::OneThread, By::TwoThreads] {
        for (first, second) in KINDS.iter().flat_map(|&first| KINDS.map(|second| (first, second))) {
            pairs.push(measure(lab, &p, Pair { first, second, by })?);
            lab.value("pairs", &pairs);
        }
        table(lab, by, &pairs[pairs.len() - KINDS.len() * KINDS.len()..]);
    }
    lab.picture();
    Ok(())
}

/// Traces a pair, and checks how its kernels ran and how many edges are missing. Of a pair that is not shown only a failure is
/// printed.
fn measure(lab: &mut Lab<'_>, p: &Program<'_>, pair: Pair) -> Outcome<Measured> {
    let (key, in_turn) = (pair.key(), take_turns(pair));
    let traced = lab.trace(&pair.name(), || p.submit(pair))?;
    let ran = intervals(&traced.run);
    let shared_ns = if let [first, second] = ran[..] { first.shared_ns(second) } else { 0 };
    let measured = Measured {
        host_threads: if pair.by == By::OneThread { 1 } else { 2 },
        first: word(pair.first),
        second: word(pair.second),
        predicted: if in_turn { "in turn" } else { "overlap" },
        measured: if shared_ns <= lab.step_ns() { "in turn" } else { "overlap" },
        shared_us: shared_ns as f64 / 1e3,
    };
    let check = as_the_rules_say(&format!("{key}.timeline"), &ran, in_turn, lab.step_ns());
    if SHOWN.contains(&pair) {
        lab.draw(traced.run, vec![check]);
    } else {
        let sentence = format!("timeline of {}: {}", pair.name(), check.sentence);
        lab.quietly(|lab| lab.check_overlap(Check { sentence, ..check }));
    }
    lab.quietly(|lab| lab.missing_edges(&key, usize::from(!in_turn), &traced.log))?;
    Ok(measured)
}

/// Prints what was measured, as a table.
fn table(lab: &Lab<'_>, by: By, measured: &[Measured]) {
    let thread = if by == By::OneThread { "the first host thread" } else { "a second host thread" };
    lab.say(format!("{thread} launches the second kernel:"));
    let heads: String = KINDS.iter().map(|&kind| format!("{:>13}", word(kind))).collect();
    lab.say(format!("{:<13}{heads}", "first \\ second"));
    for row in measured.chunks(KINDS.len()) {
        let cells: String = row.iter().map(|pair| format!("{:>13}", pair.measured)).collect();
        lab.say(format!("{:<14}{cells}", row[0].first));
    }
    let right = measured.iter().filter(|pair| pair.measured == pair.predicted).count();
    if lab.context().overlaps() {
        lab.say(format!("{right} of {} pairs ran as the rules say", measured.len()));
    } else {
        lab.say("the late schedule overlaps nothing");
    }
}

impl Pair {
    /// Returns what the timeline and a profile call it.
    pub fn name(self) -> String {
        let by = if self.by == By::OneThread { "one host thread" } else { "two host threads" };
        format!("{}, then {}, by {by}", word(self.first), word(self.second))
    }

    /// Returns what its checks are called by.
    pub fn key(self) -> String {
        let by = if self.by == By::OneThread { "one-thread" } else { "two-threads" };
        format!("{by}.{}-then-{}", word(self.first), word(self.second))
    }
}

fn word(kind: StreamKind) -> &'static str {
    match kind {
        StreamKind::Legacy => "legacy",
        StreamKind::PerThread => "per-thread",
        StreamKind::Blocking => "blocking",
        StreamKind::NonBlocking => "non-blocking",
    }
}

/// Returns whether the second kernel of a pair has to wait for the first: by the CUDA C++ Programming Guide, "Default Stream" and
/// "Implicit Synchronization", and the driver API's "Stream synchronization behavior".
pub fn take_turns(Pair { first, second, by }: Pair) -> bool {
    use StreamKind::{Legacy, NonBlocking, PerThread};
    match (first, second) {
        (Legacy, Legacy) => true,
        // One stream, unless each thread has its own.
        (PerThread, PerThread) => by == By::OneThread,
        (Legacy, other) | (other, Legacy) => other != NonBlocking,
        _ => false,
    }
}

/// A kernel shorter than this may end before another host thread has launched the next.
pub const MIN_KERNEL_NS: u64 = 100_000;

/// Checks that two kernels ran one after the other where they must, and overlapped where they may. `ran` is when they ran, in the
/// order of submission; `step_ns` is the clock's.
pub fn as_the_rules_say(id: &str, ran: &[Interval], in_turn: bool, step_ns: u64) -> Check {
    let &[first, second] = ran else {
        return Check::fail(id, format!("{} ran, expected 2", count(ran.len(), "kernel", "kernels")));
    };
    if in_turn {
        return after(id, ("the second kernel", second), ("the first", first), step_ns);
    }
    let mut reasons = Vec::new();
    if first.length_ns().min(second.length_ns()) < MIN_KERNEL_NS {
        let least_us = MIN_KERNEL_NS / 1000;
        reasons.push(format!("a kernel of less than {least_us} us may end before the next is launched"));
    }
    all_overlap(id, "kernels", ran).unless(&reasons)
}
