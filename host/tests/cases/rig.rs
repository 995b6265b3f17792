//! What the cases share: a card, a slow kernel and a quick one, and how a case is checked.

use std::fs;
use std::ops::Deref;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use clap::Parser;
use host::args::{Cli, Command};
use host::kernels::IMAGES;
use host::lesson::rig;
use host::order::missing_edges;
use host::submit::{Attributes, Context, Error, Launch, Log, open_driver};

pub use host::lesson::rig::shape;

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

/// A bench on a card.
pub struct Rig<'c> {
    pub on: On,
    bench: rig::Rig<'c>,
}

impl<'c> Deref for Rig<'c> {
    type Target = rig::Rig<'c>;

    fn deref(&self) -> &rig::Rig<'c> {
        &self.bench
    }
}

impl<'c> Rig<'c> {
    /// The slow kernel takes some 0.2 ms; on a GPU, where the host's calls take time that varies, some 5 ms.
    fn new(context: &'c Context, on: On) -> Result<Self, Error> {
        let steps = if on == On::Gpu { 2_400_000 } else { 100_000 };
        Ok(Rig { on, bench: rig::Rig::new(context, steps)? })
    }

    /// Runs a program, and returns what came out and what it submitted.
    pub fn run(&self, program: Program) -> Result<(f32, Log), Error> {
        self.clear()?;
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

/// Runs a test with a card.
pub fn with_card(on: On, test: impl FnOnce(&Rig<'_>) -> Result<(), Error>) {
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
