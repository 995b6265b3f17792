//! What the cases share: a device, a slow kernel and a quick one, and how a case is checked.

use std::fs;
use std::ops::Deref;
use std::path::Path;

use gpu::forkjoin::grind_fma;
use gpu::streams::sweep_scale;
use host::lessons::pitfalls::programs::{self, BLOCK, ELEMS};
use streamlab::{Context, Device, DeviceBuffer, Error, Log, Model, Options, Schedule, Stream};

use crate::support::on_device;

/// A scenario: a program in which an order is missing, and the program repaired.
pub struct Case {
    /// The program in which edges are missing. The two operations of each are on lines that end in `// (1)` and `// (2)`.
    pub flawed: Program,
    /// Words of the report, a list for each edge.
    pub missing: &'static [&'static [&'static str]],
    /// Repaired, in one way or another.
    pub repaired: &'static [Program],
    /// Compares what the flawed program came to on the device, and what a repaired one did.
    pub seen: fn(rig: &Rig<'_>, flawed: f32, repaired: f32),
}

/// Submits, waits, and returns what came out.
pub type Program = fn(&Rig<'_>) -> Result<f32, Error>;

/// The device that a case runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// The virtual H200, as the device would run it.
    Virtual,
    /// The virtual H200, everything as late as its order allows.
    Late,
    /// A GPU.
    Gpu,
}

impl On {
    pub fn options(self) -> Options {
        let device = if self == On::Gpu { Device::Gpu(0) } else { Device::Virtual(Model::H200) };
        let schedule = if self == On::Late { Schedule::Late } else { Schedule::Earliest };
        Options { device, schedule, ..Options::default() }
    }
}

/// The buffers of the pitfalls' programs on a device, and larger ones.
pub struct Rig<'c> {
    pub on: On,
    small: programs::Rig<'c>,
    /// Buffers of a full block's elements.
    pub large: programs::Rig<'c>,
}

impl<'c> Deref for Rig<'c> {
    type Target = programs::Rig<'c>;

    fn deref(&self) -> &programs::Rig<'c> {
        &self.small
    }
}

impl<'c> Rig<'c> {
    /// The slow kernel takes some 0.2 ms; on a GPU, where the host's calls take time that varies, some 5 ms.
    fn new(context: &'c Context, on: On) -> Result<Self, Error> {
        let steps = if on == On::Gpu { 2_400_000 } else { 100_000 };
        let new = |elems| programs::Rig::new(context, elems, steps);
        Ok(Rig { on, small: new(ELEMS)?, large: new(1024)? })
    }

    /// Runs a program, and returns what came out and what it submitted.
    pub fn run(&self, program: Program) -> Result<(f32, Log), Error> {
        self.small.clear()?;
        self.large.clear()?;
        let mut outcome = 0.0;
        let log = streamlab::check(self.context, || {
            outcome = program(self)?;
            Ok(())
        })?;
        Ok((outcome, log))
    }

    /// Launches the kernel that takes long, and at its end writes [`programs::Rig::slow_value`].
    #[track_caller]
    pub fn slow(&self, stream: &Stream<'_>, to: &DeviceBuffer<'_, f32>) -> Result<(), Error> {
        stream.launch(BLOCK, grind_fma(&self.zeros, &to.slice(..ELEMS), self.steps, 1.0, 1.0))
    }

    /// Launches the kernel that writes twice what it reads, at once.
    #[track_caller]
    pub fn quick(
        &self,
        stream: &Stream<'_>,
        from: &DeviceBuffer<'_, f32>,
        to: &DeviceBuffer<'_, f32>,
    ) -> Result<(), Error> {
        stream.launch(BLOCK, sweep_scale(from, to))
    }

    /// Waits for everything, and returns the first element of `out`.
    pub fn outcome(&self) -> Result<f32, Error> {
        self.context.synchronize()?;
        self.result()
    }
}

/// The flawed program read zeros in place of what the slow kernel writes.
pub fn stale(rig: &Rig<'_>, flawed: f32, repaired: f32) {
    assert_eq!((flawed, repaired), (0.0, 2.0 * rig.slow_value()));
}

/// Runs a test with a device.
pub fn with_device(on: On, test: impl FnOnce(&Rig<'_>) -> Result<(), Error>) {
    on_device(on.options(), |context| match Rig::new(context, on).and_then(|rig| test(&rig)) {
        // A GPU before 9.0 has no dependent launch, and nothing of it to be tested.
        Err(Error::Unsupported { .. }) if on == On::Gpu => {}
        outcome => outcome.unwrap(),
    });
}

/// Checks a case on a device: what the reports say, and what the device computes.
pub fn check(case: &Case) -> impl Fn(On) {
    |on| {
        with_device(on, |rig| {
            // These first: a kernel's very first launch may wait for what runs, and hide what is not ordered.
            let mut repaired = Vec::new();
            for program in case.repaired {
                let (outcome, log) = rig.run(*program)?;
                assert!(log.missing_edges().is_empty(), "{}", log.missing_edges());
                repaired.push(outcome);
            }
            let (flawed, log) = rig.run(case.flawed)?;
            let edges = log.missing_edges();
            assert_eq!(edges.len(), case.missing.len(), "{edges}");
            for (edge, words) in edges.iter().zip(case.missing) {
                let report = &edge.report;
                words
                    .iter()
                    .for_each(|words| assert!(report.contains(words), "`{words}` is not in: {report}"));
                names_the_lines(report);
            }
            repaired.into_iter().for_each(|repaired| (case.seen)(rig, flawed, repaired));
            Ok(())
        });
    }
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
