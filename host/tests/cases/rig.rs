//! What the cases share: a card, a slow kernel and a quick one, and how a case is checked.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use clap::Parser;
use host::args::{Cli, Command};
use host::kernels::IMAGES;
use host::order::missing_edges;
use host::submit::{Attributes, Buffer, Context, Error, Event, Launch, Log, Stream, StreamKind, open_driver};

/// A scenario: a program in which an order is missing, and the same program repaired.
pub struct Case {
    /// The program in which edges are missing. The two ends of each are on lines that end in `// (1)` and `// (2)`.
    pub flawed: Program,
    /// What the report says of them, a list for each edge.
    pub missing: &'static [&'static [&'static str]],
    /// Repaired, in one way or another.
    pub repaired: &'static [Program],
    /// Looks at what the flawed program came to on the card, and at what a repaired one did.
    pub seen: fn(rig: &Rig<'_>, flawed: f32, repaired: f32),
}

/// Submits, waits, and returns what came out.
pub type Program = fn(&Rig<'_>) -> Result<f32, Error>;

/// The card that a case runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// The virtual H200, as the card would run it.
    Virtual,
    /// The virtual H200, everything as late as its order allows.
    Late,
    /// A GPU.
    Gpu,
}

/// Elements of each buffer: a full block.
pub const ELEMS: usize = 1024;
/// Elements that the slow kernel writes: few, because all its steps are executed.
const SLOW_ELEMS: usize = 64;

/// The shape of every launch: one block.
pub fn shape() -> Launch {
    Launch::new(1, ELEMS as u32)
}

/// A context with a few buffers, all zero when a program begins but for `ones`.
pub struct Rig<'c> {
    pub on: On,
    pub context: &'c Context,
    pub zeros: Buffer<'c, f32>,
    pub ones: Buffer<'c, f32>,
    pub mid: Buffer<'c, f32>,
    pub other: Buffer<'c, f32>,
    pub another: Buffer<'c, f32>,
    pub rest: Buffer<'c, f32>,
    pub out: Buffer<'c, f32>,
}

impl<'c> Rig<'c> {
    fn new(context: &'c Context, on: On) -> Result<Self, Error> {
        let buffer = |name| Buffer::new(context, name, ELEMS);
        Ok(Rig {
            on,
            context,
            zeros: buffer("zeros")?,
            ones: Buffer::from_slice(context, "ones", &[1.0; ELEMS])?,
            mid: buffer("mid")?,
            other: buffer("other")?,
            another: buffer("another")?,
            rest: buffer("rest")?,
            out: buffer("out")?,
        })
    }

    /// Makes a non-blocking stream.
    pub fn stream(&self, name: &str) -> Result<Stream<'c>, Error> {
        Stream::new(self.context, name, StreamKind::NonBlocking)
    }

    /// Makes a blocking stream.
    pub fn blocking(&self, name: &str) -> Result<Stream<'c>, Error> {
        Stream::new(self.context, name, StreamKind::Blocking)
    }

    /// The legacy default stream.
    pub fn default_stream(&self) -> Result<Stream<'c>, Error> {
        Stream::new(self.context, "default", StreamKind::Legacy)
    }

    /// Makes an event for ordering.
    pub fn event(&self, name: &str) -> Result<Event<'c>, Error> {
        Event::ordering(self.context, name)
    }

    /// Makes an event for timing.
    pub fn stopwatch(&self, name: &str) -> Result<Event<'c>, Error> {
        Event::timing(self.context, name)
    }

    /// Launches a kernel that takes long, and at its end writes [`Rig::slow_value`].
    #[track_caller]
    pub fn slow(&self, stream: &Stream<'_>, to: &Buffer<'_, f32>) -> Result<(), Error> {
        let (from, to) = (self.zeros.first(SLOW_ELEMS), to.first(SLOW_ELEMS));
        let call = gpu::forkjoin::grind_fma(&from, &to, self.steps(), 1.0, 1.0);
        stream.launch(&Launch::new(1, SLOW_ELEMS as u32), call)
    }

    /// What the slow kernel writes.
    pub fn slow_value(&self) -> f32 {
        self.steps() as f32
    }

    /// Some 0.2 ms; on a GPU, where the host's calls take time that varies, some 5 ms.
    fn steps(&self) -> u32 {
        if self.on == On::Gpu { 2_400_000 } else { 100_000 }
    }

    /// Launches a kernel that writes twice what it reads, at once.
    #[track_caller]
    pub fn quick(
        &self,
        stream: &Stream<'_>,
        from: &Buffer<'_, f32>,
        to: &Buffer<'_, f32>,
    ) -> Result<(), Error> {
        stream.launch(&shape(), gpu::streams::sweep_scale(from, to))
    }

    /// Waits for everything, and returns the first element of `out`.
    pub fn outcome(&self) -> Result<f32, Error> {
        self.context.synchronize()?;
        let mut out = [0.0; ELEMS];
        self.out.copy_to(&mut out)?;
        Ok(out[0])
    }

    /// Runs a program, and returns what came out and what it submitted.
    pub fn run(&self, program: Program) -> Result<(f32, Log), Error> {
        for buffer in [&self.zeros, &self.mid, &self.other, &self.another, &self.rest, &self.out] {
            buffer.zero()?;
        }
        self.context.synchronize()?;
        let mut outcome = 0.0;
        let log = self.context.logged(|| {
            outcome = program(self)?;
            Ok(())
        })?;
        Ok((outcome, log))
    }
}

/// The launch with the attribute of programmatic dependent launch.
pub fn dependent() -> Launch {
    shape().with(Attributes { programmatic_stream_serialization: Some(true), priority: None })
}

/// The flawed program read zeros in place of what the slow kernel writes.
pub fn stale(rig: &Rig<'_>, flawed: f32, repaired: f32) {
    assert_eq!((flawed, repaired), (0.0, 2.0 * rig.slow_value()));
}

/// There is one driver in a process.
static DRIVER: Mutex<()> = Mutex::new(());

/// Runs a test with the driver of a card.
pub fn with_driver(on: On, test: impl FnOnce()) {
    let _alone = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
    let card = match on {
        On::Virtual => "virtual:h200",
        On::Late => "virtual:h200 --schedule late",
        On::Gpu => "gpu",
    };
    let words = format!("host forkjoin --device {card}");
    let Command::Forkjoin(options) = Cli::try_parse_from(words.split_whitespace()).unwrap().command else {
        panic!("not forkjoin")
    };
    open_driver(&options.common).unwrap();
    test();
}

/// Runs a test with a card.
pub fn with_card(on: On, test: impl FnOnce(&Rig<'_>) -> Result<(), Error>) {
    with_driver(on, || on_open_card(on, test));
}

fn on_open_card(on: On, test: impl FnOnce(&Rig<'_>) -> Result<(), Error>) {
    let context = Context::open(0, IMAGES).unwrap();
    match Rig::new(&context, on).and_then(|rig| test(&rig)) {
        // A GPU before 9.0 has no dependent launch, and nothing of it to be tested.
        Err(Error::Unsupported { .. }) if on == On::Gpu => {}
        outcome => outcome.unwrap(),
    }
    assert!(context.finish().is_empty());
}

/// Checks a case on a card: what the reports say, and what the card does.
pub fn check(case: &Case, on: On) {
    with_card(on, |rig| {
        // These first: a kernel's very first launch may wait for what runs, and hide what is not ordered.
        let mut repaired = Vec::new();
        for program in case.repaired {
            let (outcome, log) = rig.run(*program)?;
            assert_eq!(reports(&log), [""; 0], "a repaired program");
            repaired.push(outcome);
        }
        let (flawed, log) = rig.run(case.flawed)?;
        let reports = reports(&log);
        assert_eq!(reports.len(), case.missing.len(), "missing edges: {}", reports.join("\n"));
        for (report, says) in reports.iter().zip(case.missing) {
            says.iter().for_each(|says| assert!(report.contains(says), "`{says}` is not in: {report}"));
            names_the_lines(report);
        }
        repaired.into_iter().for_each(|repaired| (case.seen)(rig, flawed, repaired));
        Ok(())
    });
}

fn reports(log: &Log) -> Vec<String> {
    missing_edges(log).into_iter().map(|edge| edge.report).collect()
}

/// The two operations of a report are on the lines that are marked as such in the source.
#[track_caller]
fn names_the_lines(report: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for mark in ["(1)", "(2)"] {
        let place = report.lines().find_map(|line| line.trim_start().strip_prefix(mark)).unwrap();
        let (file, rest) = place.trim_start().split_once(':').unwrap();
        let line: usize = rest.split_once(':').unwrap().0.parse().unwrap();
        let source = fs::read_to_string(root.join(file)).unwrap();
        let source = source.lines().nth(line - 1).unwrap();
        assert!(source.contains(&format!("// {mark}")), "{file}:{line} is not marked {mark}: {source}");
    }
}
