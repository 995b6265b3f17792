//! The default streams: which of two streams waits for the other, for each pair of kinds, from one host thread and from two.
//!
//! Claim: the kind of a stream decides what it is ordered with, and no call says so. The legacy default stream takes turns
//! with every stream but a non-blocking one. A host thread's own default stream is a blocking stream: it takes turns with the
//! legacy one, and with nothing else. There is one legacy default stream, and one per-thread stream for each host thread.
//!
//! Prediction: of the 32 pairs 11 take turns, and the kernels of the others run side by side. They write the same buffer, so
//! that the checker finds a missing edge in exactly those.

use serde::Serialize;

use super::watched::Watched;
use super::{Gates, Setting};
use crate::args;
use crate::band::intervals;
use crate::gate::overlap::Interval;
use crate::gate::{Gate, default_stream as gates, equality};
use crate::reference::streams as reference;
use crate::report::{Report, thousands};
use crate::submit::{Buffer, Context, Error, HostThread, Launch, Range, Stream, StreamKind};

/// Threads of the one block of a kernel: two of them never need the same place.
const THREADS: u32 = 32;

/// The kinds, in the order of the table.
const KINDS: [StreamKind; 4] =
    [StreamKind::Legacy, StreamKind::PerThread, StreamKind::Blocking, StreamKind::NonBlocking];

/// Two streams, each with a kernel: the second kernel by the same host thread as the first, or by another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair {
    first: StreamKind,
    second: StreamKind,
    threads: u32,
}

/// The pairs that are told and drawn: what the legacy default stream waits for, what it does not, what a per-thread stream is,
/// and what a second host thread changes.
const TOLD: [Pair; 5] = [
    Pair { first: StreamKind::Blocking, second: StreamKind::Legacy, threads: 1 },
    Pair { first: StreamKind::NonBlocking, second: StreamKind::Legacy, threads: 1 },
    Pair { first: StreamKind::PerThread, second: StreamKind::Legacy, threads: 1 },
    Pair { first: StreamKind::Legacy, second: StreamKind::Legacy, threads: 2 },
    Pair { first: StreamKind::PerThread, second: StreamKind::PerThread, threads: 2 },
];

/// What the lesson found, as its JSON document has it. What would come after a failed gate is absent.
#[derive(Debug, Serialize)]
pub struct Findings {
    lesson: &'static str,
    #[serde(flatten)]
    setting: Setting,
    parameters: args::DefaultStream,
    gates: Gates,
    pairs: Vec<Measured>,
    #[serde(flatten)]
    watched: Watched,
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

super::lesson!(args::DefaultStream);

/// Runs the lesson.
///
/// # Errors
///
/// Any error of the submission layer. A failed gate is not one: it is in the findings.
pub fn run(context: &Context, options: &args::DefaultStream, report: Report) -> Result<Findings, Error> {
    let mut findings = Findings {
        lesson: "default-stream",
        setting: Setting::of(context),
        parameters: options.clone(),
        gates: Gates::default(),
        pairs: Vec::new(),
        watched: Watched::new(context, "default-stream", options.common.order, report),
    };
    findings.setting.say(report);
    report.say(format!("parameters: two kernels of one block, {} steps each", thousands(options.steps)));
    let streams = Streams::new(context, options.steps)?;
    if findings.check(&streams, report)? {
        for threads in [1, 2] {
            findings.measure(context, &streams, threads, report)?;
            findings.table(context, threads, report);
        }
        report.picture(findings.watched.timeline());
    }
    Ok(findings)
}

/// How two streams are ordered: by the CUDA C++ Programming Guide, "Default Stream" and "Implicit Synchronization", and the
/// driver API's "Stream synchronization behavior".
fn take_turns(Pair { first, second, threads }: Pair) -> bool {
    use StreamKind::{Legacy, NonBlocking, PerThread};
    match (first, second) {
        // The same stream, unless it is two threads' own.
        (Legacy, Legacy) => true,
        (PerThread, PerThread) => threads == 1,
        (Legacy, other) | (other, Legacy) => other != NonBlocking,
        _ => false,
    }
}

fn name(kind: StreamKind) -> &'static str {
    match kind {
        StreamKind::Legacy => "legacy",
        StreamKind::PerThread => "per-thread",
        StreamKind::Blocking => "blocking",
        StreamKind::NonBlocking => "non-blocking",
    }
}

fn word(in_turn: bool) -> &'static str {
    if in_turn { "in turn" } else { "overlap" }
}

impl Pair {
    /// As the table, the document and the timeline call it.
    fn name(self) -> String {
        let Pair { first, second, threads } = self;
        let by = if threads == 1 { "one host thread" } else { "two host threads" };
        format!("{}, then {}, by {by}", name(first), name(second))
    }
}

/// The streams of the lesson, two of a kind where there can be two, and the second host thread.
struct Streams<'c> {
    legacy: Stream<'c>,
    /// The default stream of whichever thread launches; a name for each of the two threads.
    own: [Stream<'c>; 2],
    blocking: [Stream<'c>; 2],
    non_blocking: [Stream<'c>; 2],
    other: HostThread<'c>,
    out: Buffer<'c, u32>,
    steps: u32,
}

impl<'c> Streams<'c> {
    fn new(context: &'c Context, steps: u32) -> Result<Self, Error> {
        let stream = |name, kind| Stream::new(context, name, kind);
        let two = |names: [&'static str; 2], kind| -> Result<_, Error> {
            Ok([stream(names[0], kind)?, stream(names[1], kind)?])
        };
        Ok(Streams {
            legacy: stream("legacy", StreamKind::Legacy)?,
            own: two(["per-thread", "per-thread of the other"], StreamKind::PerThread)?,
            blocking: two(["blocking 1", "blocking 2"], StreamKind::Blocking)?,
            non_blocking: two(["non-blocking 1", "non-blocking 2"], StreamKind::NonBlocking)?,
            other: HostThread::new(context)?,
            out: Buffer::new(context, "out", THREADS as usize)?,
            steps,
        })
    }

    /// The stream of that kind for a pair's first kernel, or its second one.
    fn of(&self, kind: StreamKind, place: usize, threads: u32) -> &Stream<'c> {
        match kind {
            StreamKind::Legacy => &self.legacy,
            StreamKind::PerThread if threads == 1 => &self.own[0],
            StreamKind::PerThread => &self.own[place],
            StreamKind::Blocking => &self.blocking[place],
            StreamKind::NonBlocking => &self.non_blocking[place],
        }
    }

    fn submit(&self, Pair { first, second, threads }: Pair) -> Result<(), Error> {
        let (first, second) = (self.of(first, 0, threads), self.of(second, 1, threads));
        let launch = Launch::new(1, THREADS);
        let spin = || gpu::streams::spin_lcg(&self.out, self.steps);
        first.launch(&launch, spin())?;
        match threads {
            1 => second.launch(&launch, spin()),
            _ => self.other.launch(second, &launch, spin()),
        }
    }
}

impl Findings {
    fn check(&mut self, streams: &Streams<'_>, report: Report) -> Result<bool, Error> {
        let (mut got, mut want) = (vec![0; streams.out.len()], vec![0; streams.out.len()]);
        streams.submit(Pair { first: StreamKind::Legacy, second: StreamKind::Legacy, threads: 2 })?;
        streams.out.copy_to(&mut got)?;
        reference::spin_lcg(&mut want, streams.steps);
        Ok(self.gates.hold(equality("spin_lcg", &got, &want), report))
    }

    /// Runs every pair, by so many host threads.
    fn measure(
        &mut self,
        context: &Context,
        streams: &Streams<'_>,
        threads: u32,
        report: Report,
    ) -> Result<(), Error> {
        let warmups = self.parameters.common.repeat.warmups();
        for (first, second) in KINDS.iter().flat_map(|&first| KINDS.map(|second| (first, second))) {
            let pair = Pair { first, second, threads };
            let (name, in_turn) = (pair.name(), take_turns(pair));
            let submit = || {
                let _range = Range::new(context, &name);
                streams.submit(pair)
            };
            let (band, log) = self.watched.trace(context, &name, warmups, submit, report)?;
            let ran = intervals(&band);
            self.pairs.push(Measured::new(pair, &ran, self.watched.step_ns()));
            let gate = gates::pair(&ran, in_turn, self.watched.step_ns());
            let told = TOLD.contains(&pair);
            if told {
                self.watched.draw(band, std::slice::from_ref(&gate));
            }
            let sentence = gate.sentence.replace("timeline: ", &format!("timeline: {name}: "));
            let aloud = if told { report } else { report.quiet() };
            self.gates.hold_overlap(Gate { sentence, ..gate }, context, aloud);
            self.watched.look(&name, usize::from(!in_turn), Some(&log), &mut self.gates, report.quiet());
        }
        Ok(())
    }

    /// What was measured, as a table.
    fn table(&self, context: &Context, threads: u32, report: Report) {
        let by = if threads == 1 { "the same host thread" } else { "another host thread" };
        report.say(format!("the second kernel launched by {by}:"));
        let heads: String = KINDS.iter().map(|&kind| format!("{:>13}", name(kind))).collect();
        report.say(format!("{:<13}{heads}", "first \\ second"));
        let measured: Vec<_> = self.pairs.iter().filter(|pair| pair.host_threads == threads).collect();
        for row in measured.chunks(KINDS.len()) {
            let cells: String = row.iter().map(|pair| format!("{:>13}", pair.measured)).collect();
            report.say(format!("{:<14}{cells}", row[0].first));
        }
        let right = measured.iter().filter(|pair| pair.measured == pair.predicted).count();
        if context.overlaps() {
            report.say(format!("{right} of {} pairs as the rules say", measured.len()));
        } else {
            report.say("everything runs late, so nothing overlaps");
        }
    }
}

impl Measured {
    fn new(pair: Pair, ran: &[Interval], step_ns: u64) -> Self {
        let shared_ns = match ran {
            [first, second] => first.shared_ns(*second),
            _ => 0,
        };
        Measured {
            host_threads: pair.threads,
            first: name(pair.first),
            second: name(pair.second),
            predicted: word(take_turns(pair)),
            measured: word(shared_ns <= step_ns),
            shared_us: shared_ns as f64 / 1e3,
        }
    }
}
