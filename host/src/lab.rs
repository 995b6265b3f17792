//! The session of a lesson: the context, what is printed, the checks, and the document that they make.
//!
//! A lesson creates its streams and buffers, and hands its submissions to [`Lab::run`], [`Lab::trace`] and [`Lab::time`]. It makes
//! no driver call of its own, and knows no lesson.

use cuda_std::call::DeviceMemory;
use serde::Serialize;
use serde_json::{Map, Value, json};
use streamlab::{Context, DeviceBuffer, DeviceProperties, Error, Log, Stream, Trace, clock_step_ns};
use timeline::model::{Band, Timeline};

use crate::check::{Check, correct, count};
use crate::cli::{Common, Order, Repeat};
use crate::compare::compare;
use crate::document::{Document, Kernels, Submission, Times, brief, sentence};
use crate::kernels;
use crate::measure::{Statistics, event_times, synchronized_times};
use crate::overlap::{Interval, intervals};
use crate::report::Report;

/// What counts as equal, relative to the reference.
const TOLERANCE: f32 = 1e-6;

/// Why a lesson ends before its last line.
#[derive(Debug)]
pub enum Stop {
    /// A check failed that the rest depends on.
    Failed,
    /// A call failed that the lesson is not about.
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Stop::Error(error)
    }
}

/// What a lesson returns.
pub type Outcome<T = ()> = Result<T, Stop>;

/// The session of a lesson.
#[derive(Debug)]
pub struct Lab<'c> {
    context: &'c Context,
    report: Report,
    common: Common,
    document: Document,
}

impl<'c> Lab<'c> {
    /// Begins a lesson, and prints what it runs on.
    pub fn new(context: &'c Context, lesson: &str, common: &Common, report: Report) -> Self {
        let image = context.module().image();
        let device = context.device().clone();
        let timeline = Timeline {
            title: lesson.to_owned(),
            card: device.name.clone(),
            is_virtual: context.is_virtual(),
            step_ns: 0,
            bands: Vec::new(),
        };
        let (arch, ptx_version) = (image.arch, image.ptx_version);
        let document = Document {
            clock: if context.is_virtual() { "virtual" } else { "device" },
            lesson: lesson.to_owned(),
            device,
            kernels: Kernels { arch, ptx_version, core: kernels::CORE },
            parameters: Value::Null,
            checks: Vec::new(),
            values: Map::new(),
            times: Vec::new(),
            missing_edges: Vec::new(),
            clock_step_ns: None,
            runs: Vec::new(),
            timeline,
        };
        let lab = Lab { context, report, common: common.clone(), document };
        lab.say(format!("device: {}", lab.document.device));
        let (major, minor) = ptx_version;
        lab.say(format!("kernels: Rust, compiled to PTX {major}.{minor} for {arch}"));
        lab
    }

    /// Returns the context.
    pub fn context(&self) -> &'c Context {
        self.context
    }

    /// Returns the device.
    pub fn device(&self) -> &'c DeviceProperties {
        self.context.device()
    }

    /// Returns the options that every lesson takes.
    pub fn common(&self) -> &Common {
        &self.common
    }

    /// Returns how often something is timed.
    pub fn repeat(&self) -> Repeat {
        self.common.repeat
    }

    /// Returns the step of the device's clock, ns; 0 before anything was traced.
    pub fn step_ns(&self) -> u64 {
        self.document.timeline.step_ns
    }

    /// Prints a line.
    pub fn say(&self, line: impl std::fmt::Display) {
        self.report.say(line);
    }

    /// Prints the lesson's parameters, and puts them into the document. `text` says them in words.
    pub fn parameters(&mut self, parameters: &impl Serialize, text: impl std::fmt::Display) {
        self.document.parameters = json!(parameters);
        if let Value::Object(all) = &mut self.document.parameters {
            all.insert("runs".to_owned(), json!(self.common.repeat.runs()));
            all.insert("warmups".to_owned(), json!(self.common.repeat.warmups()));
        }
        let runs = count(self.common.repeat.runs() as usize, "run", "runs");
        let warmups = count(self.common.repeat.warmups() as usize, "warm-up", "warm-ups");
        self.say(format!("parameters: {text}, {runs} after {warmups}"));
    }

    /// Prints what the lesson expects before anything is timed.
    pub fn predict(&self, text: impl std::fmt::Display) {
        self.say(format!("prediction: {text}"));
    }

    /// Puts a value into the document.
    pub fn value(&mut self, name: &str, value: impl Serialize) {
        self.document.values.insert(name.to_owned(), json!(value));
    }

    /// Prints what was seen and decides nothing, and puts it into the document.
    pub fn observe(&mut self, name: &str, value: impl Serialize, text: impl std::fmt::Display) {
        self.say(text);
        self.value(name, value);
    }

    /// Runs `work` on the host, with a sign of life on a terminal.
    pub fn busy<T>(&self, message: &'static str, work: impl FnOnce() -> T) -> T {
        self.report.busy(message, work)
    }

    /// Runs a part of the lesson without its lines for people. A check that fails in it is printed all the same.
    pub fn quietly<T>(&mut self, part: impl FnOnce(&mut Self) -> T) -> T {
        let report = self.report;
        self.report = report.quiet();
        let outcome = part(self);
        self.report = report;
        outcome
    }

    /// Prints a check and keeps it; returns whether it did not fail. A failure is printed in any case.
    pub fn check(&mut self, check: Check) -> bool {
        let report = if check.failed() { self.report.loud() } else { self.report };
        report.say(&check);
        let goes_on = !check.failed();
        self.document.checks.push(check);
        goes_on
    }

    /// Prints and keeps a check, and ends the lesson where it fails.
    ///
    /// # Errors
    ///
    /// [`Stop::Failed`].
    pub fn require(&mut self, check: Check) -> Outcome {
        if self.check(check) { Ok(()) } else { Err(Stop::Failed) }
    }

    /// Prints and keeps a check about overlap. Where the device was told not to overlap anything, a failure says nothing.
    pub fn check_overlap(&mut self, check: Check) -> bool {
        let late = "the late schedule overlaps nothing".to_owned();
        let reasons = if check.failed() && !self.context.overlaps() { vec![late] } else { Vec::new() };
        self.check(check.unless(&reasons))
    }

    /// Prints and keeps a check about overlap, and ends the lesson where it fails.
    ///
    /// # Errors
    ///
    /// [`Stop::Failed`].
    pub fn require_overlap(&mut self, check: Check) -> Outcome {
        if self.check_overlap(check) { Ok(()) } else { Err(Stop::Failed) }
    }

    /// Runs a submission, and waits for it. What follows it in the chain checks its order and its results.
    ///
    /// # Errors
    ///
    /// The submission's own, and whatever went wrong on the device.
    pub fn run(
        &mut self,
        name: &str,
        submit: impl FnOnce() -> Result<(), Error>,
    ) -> Outcome<Submitted<'_, 'c>> {
        let context = self.context;
        let submitted = self.record(name, submit)?;
        context.synchronize()?;
        Ok(submitted)
    }

    /// Runs a submission that waits by itself, reads included.
    ///
    /// # Errors
    ///
    /// The submission's own.
    pub fn record(
        &mut self,
        name: &str,
        submit: impl FnOnce() -> Result<(), Error>,
    ) -> Outcome<Submitted<'_, 'c>> {
        let log = match self.common.order {
            Order::Off => submit().map(|()| None),
            Order::Report | Order::Deny => streamlab::check(self.context, submit).map(Some),
        }?;
        Ok(Submitted { lab: self, name: name.to_owned(), log })
    }

    /// Checks how many edges are missing in a submission; `expected` 0 for one whose order is right.
    ///
    /// # Errors
    ///
    /// [`Stop::Failed`] where there are more or fewer, and `--order deny` was asked for.
    pub fn missing_edges(&mut self, name: &str, expected: usize, log: &Log) -> Outcome {
        if self.common.order == Order::Off {
            return Ok(());
        }
        let edges = log.missing_edges();
        let id = format!("{name}.missing-edges");
        let found = match edges.len() {
            0 => "no missing edges".to_owned(),
            found => count(found, "missing edge", "missing edges"),
        };
        let sentence = match edges.len() == expected {
            true if expected == 0 => format!("{name}: {found}"),
            true => format!("{name}: {found}, as expected"),
            false => format!("{name}: {found} (expected {expected})"),
        };
        let check = match (edges.len() == expected, self.common.order) {
            (true, _) => Check::pass(id, sentence),
            (false, Order::Deny) => Check::fail(id, sentence),
            (false, _) => Check::not_judged(id, sentence),
        };
        let goes_on = self.check(check);
        if !edges.is_empty() {
            self.say(&edges);
        }
        self.document.missing_edges.push(Submission { submission: name.to_owned(), expected, edges });
        if goes_on { Ok(()) } else { Err(Stop::Failed) }
    }

    /// Runs a submission with instrumented kernels, after one such run where there are warm-ups, and returns when everything ran.
    ///
    /// # Errors
    ///
    /// The submission's own, and whatever went wrong on the device.
    pub fn trace(&mut self, name: &str, submit: impl Fn() -> Result<(), Error>) -> Result<Traced, Error> {
        self.trace_after(self.common.repeat.warmups().min(1), name, submit)
    }

    /// Runs a submission with instrumented kernels after so many such runs.
    ///
    /// # Errors
    ///
    /// Those of [`Lab::trace`].
    pub fn trace_after(
        &mut self,
        warmups: u32,
        name: &str,
        submit: impl Fn() -> Result<(), Error>,
    ) -> Result<Traced, Error> {
        if self.document.clock_step_ns.is_none() {
            let step_ns = clock_step_ns(self.context)?;
            self.say(format!("timeline: from the device's clock, which steps by {step_ns} ns"));
            self.document.clock_step_ns = Some(step_ns);
            self.document.timeline.step_ns = step_ns;
        }
        let trace = Trace::of(self.context, warmups, submit)?;
        let run = trace.band(name, self.device().sms, self.common.order != Order::Off);
        Ok(Traced { run, log: trace.log })
    }

    /// Adds a traced run to the timeline, with what its checks say after its caption, and keeps the checks. They are about overlap.
    /// Returns whether none failed.
    pub fn draw(&mut self, run: Band, checks: Vec<Check>) -> bool {
        let name = run.name.clone();
        let said = checks.iter().map(|check| check.sentence.as_str());
        let said = [run.caption.as_str()].into_iter().chain(said).filter(|said| !said.is_empty());
        let sentences: Vec<_> = said.map(sentence).collect();
        self.document.runs.push(brief(&run));
        self.document.timeline.bands.push(Band { caption: sentences.join(" "), ..run });
        let mut goes_on = true;
        for check in checks {
            let sentence = format!("timeline of {name}: {}", check.sentence);
            goes_on &= self.check_overlap(Check { sentence, ..check });
        }
        goes_on
    }

    /// Traces a submission, draws it with what `judge` makes of when its work ran and of the clock's step, and checks how many edges
    /// are missing in it.
    ///
    /// # Errors
    ///
    /// Those of [`Lab::trace`] and [`Lab::missing_edges`].
    pub fn show(
        &mut self,
        name: &str,
        expected: usize,
        submit: impl Fn() -> Result<(), Error>,
        judge: impl FnOnce(&[Interval], u64) -> Vec<Check>,
    ) -> Outcome {
        let Traced { run, log } = self.trace(name, submit)?;
        let checks = judge(&intervals(&run), self.step_ns());
        self.draw(run, checks);
        self.missing_edges(name, expected, &log)
    }

    /// Draws the timeline for the terminal.
    pub fn picture(&self) {
        self.report.picture(&self.document.timeline);
    }

    /// Prints something that was timed.
    pub fn say_time(&self, name: &str, times: impl std::fmt::Display) {
        self.report.time(name, times);
    }

    /// Times a submission with events on `clock`, prints the times and keeps them; see [`event_times`].
    ///
    /// # Errors
    ///
    /// Any error of the calls.
    pub fn time(
        &mut self,
        name: &str,
        clock: &Stream<'_>,
        submit: impl FnMut() -> Result<(), Error>,
    ) -> Result<Statistics, Error> {
        let times = event_times(self.context, clock, self.common.repeat, submit)?;
        self.keep_times(name, times);
        Ok(times)
    }

    /// Times a submission on whatever streams, prints the times and keeps them; see [`synchronized_times`].
    ///
    /// # Errors
    ///
    /// Any error of the calls.
    pub fn time_synchronized(
        &mut self,
        name: &str,
        submit: impl Fn() -> Result<(), Error>,
    ) -> Result<Statistics, Error> {
        let times = synchronized_times(self.context, name, self.common.repeat, submit)?;
        self.keep_times(name, times);
        Ok(times)
    }

    /// Prints times and puts them into the document.
    pub fn keep_times(&mut self, name: &str, statistics: Statistics) {
        self.report.time(&format!("{:22}", format!("{name}:")), statistics);
        self.document.times.push(Times { name: name.to_owned(), statistics });
    }

    /// Ends the lesson.
    pub fn finish(self) -> Document {
        self.document
    }

    /// Runs another lesson on the same context without its text, and returns its document.
    ///
    /// # Errors
    ///
    /// A call that failed.
    pub fn other(&self, lesson: &str, run: impl FnOnce(&mut Lab<'c>) -> Outcome) -> Result<Document, Error> {
        let mut lab = Lab::new(self.context, lesson, &self.common, self.report.quiet());
        match run(&mut lab) {
            Ok(()) | Err(Stop::Failed) => Ok(lab.finish()),
            Err(Stop::Error(error)) => Err(error),
        }
    }

    /// Puts another lesson's document into this one, as a value of its lesson's name; its runs join the timeline. Checks that it
    /// passed.
    pub fn embed(&mut self, other: &Document) -> bool {
        let lesson = &other.lesson;
        self.value(lesson, other);
        self.document.clock_step_ns = self.document.clock_step_ns.max(other.clock_step_ns);
        self.document.timeline.step_ns = self.document.timeline.step_ns.max(other.timeline.step_ns);
        self.document.timeline.bands.extend(other.timeline.bands.iter().cloned());
        let failed = other.checks.iter().filter(|check| check.failed()).count();
        let checks = count(other.checks.len(), "check", "checks");
        let sentence = format!("{lesson}: {failed} of {checks} failed");
        self.check(Check::that(failed == 0, format!("{lesson}.passed"), sentence))
    }
}

/// A submission that was run: what comes next checks it.
#[derive(Debug)]
pub struct Submitted<'l, 'c> {
    lab: &'l mut Lab<'c>,
    name: String,
    log: Option<Log>,
}

impl Submitted<'_, '_> {
    /// Checks how many edges are missing; 0 where the order is right.
    ///
    /// # Errors
    ///
    /// Those of [`Lab::missing_edges`].
    pub fn missing_edges(self, expected: usize) -> Outcome<Self> {
        let Submitted { lab, name, log } = self;
        if let Some(log) = &log {
            lab.missing_edges(&name, expected, log)?;
        }
        Ok(Submitted { lab, name, log })
    }

    /// Checks that a buffer holds what the reference says, within 1e-6 of each element.
    ///
    /// # Errors
    ///
    /// [`Stop::Failed`] where it does not; whatever went wrong on the device.
    pub fn equals(self, got: &DeviceBuffer<'_, f32>, want: &[f32]) -> Outcome<Self> {
        let mut data = vec![0.0; got.location().elements.min(want.len())];
        got.copy_to(&mut data)?;
        let comparison = compare(&data, want, TOLERANCE);
        self.lab.value(&format!("{}.result", self.name), comparison);
        self.lab.require(correct(format!("{}.result", self.name), &self.name, &comparison))?;
        Ok(self)
    }

    /// Prints how many elements of a buffer differ from the reference. A race decides it, so it decides nothing.
    ///
    /// # Errors
    ///
    /// Whatever went wrong on the device.
    pub fn observe_mismatches(self, got: &DeviceBuffer<'_, f32>, want: &[f32]) -> Outcome<Self> {
        let comparison = compare(&got.to_vec()?, want, TOLERANCE);
        let (wrong, elements) = (comparison.mismatches, comparison.elements);
        let text = format!(
            "{}: {} of {} elements are wrong, and every call succeeded. Not checked: this is a data race, so the count varies \
             between runs, and 0 wrong elements would not make the order right",
            self.name,
            timeline::thousands(wrong as u64),
            timeline::thousands(elements as u64)
        );
        let seen = json!({ "wrong_elements": wrong, "elements": elements });
        self.lab.observe(&format!("{}.mismatches", self.name), seen, text);
        Ok(self)
    }

    /// Returns what was submitted; `None` with `--order off`.
    pub fn log(self) -> Option<Log> {
        self.log
    }
}

/// A traced run.
#[derive(Debug)]
pub struct Traced {
    /// What ran when.
    pub run: Band,
    /// What was submitted.
    pub log: Log,
}
