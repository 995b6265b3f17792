//! How a learner's file is checked: everything submitted once, no edge missing, the result right, as deep as predicted, and only
//! then the clock. The first thing that is not so ends the check.

use std::collections::HashMap;

use cuda_std::abi::Access;
use serde::Serialize;
use timeline::model::Timeline;

use crate::args;
use crate::args::Order;
use crate::band::intervals;
use crate::gate::Gate;
use crate::gate::exercise::{self as gates, Depth};
use crate::gate::overlap::Interval;
use crate::lesson::stopwatch::time_drained;
use crate::lesson::watched::Watched;
use crate::lesson::{Gates, Outcome, Setting};
use crate::measure::Statistics;
use crate::order::{CriticalPath, critical_path};
use crate::report::Report;
use crate::submit::{Context, Error, Log, Operation, Range};

/// What an exercise gives its learner, as far as the check knows it.
pub trait Lab<'c>: Sized {
    /// Makes it on a card.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    fn new(context: &'c Context) -> Result<Self, Error>;

    /// Zeroes what the exercise computes, and waits for that.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    fn reset(&self) -> Result<(), Error>;

    /// The same work in one stream, which every answer is measured against.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    fn serial(&self) -> Result<(), Error>;

    /// What has to be submitted.
    fn parts(&self) -> Vec<Part>;

    /// What is predicted of a right answer.
    fn prediction(&self) -> Prediction;

    /// Whether the result is right. Everything that was submitted is complete.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    fn result(&self) -> Result<Gate, Error>;

    /// What else a right answer shows; `ran` is when the kernels ran, in the order of submission.
    fn shows(&self, ran: &[Interval]) -> Option<Gate> {
        _ = ran;
        None
    }
}

/// Memory that has to be written.
pub struct Part {
    /// The memory, by its name.
    pub memory: String,
    /// How often.
    pub times: usize,
    /// The line that does it.
    pub how: String,
}

/// What is predicted of a right answer, by its critical path.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Prediction {
    /// What counts as one.
    pub unit: &'static str,
    /// Units on the critical path of a right answer.
    pub depth: u64,
    /// Units of the same work in one stream.
    pub serial_depth: u64,
    /// How many units an operation is.
    #[serde(skip)]
    pub units: fn(&Operation) -> u64,
}

/// What the check found, as its JSON document has it. What would come after a failed gate is absent.
#[derive(Debug, Serialize)]
pub struct Findings {
    lesson: &'static str,
    #[serde(flatten)]
    setting: Setting,
    parameters: args::Check,
    gates: Gates,
    prediction: Prediction,
    depth: Option<u64>,
    serial_times: Option<Statistics>,
    your_times: Option<Statistics>,
    #[serde(flatten)]
    watched: Watched,
}

impl Outcome for Findings {
    fn passed(&self) -> bool {
        self.gates.passed()
    }

    fn timeline(&self) -> Option<&Timeline> {
        Some(self.watched.timeline())
    }
}

/// Checks a submission of the exercise that the options name.
///
/// # Errors
///
/// Any error of the submission layer. A failed gate is not one: it is the last that the findings have.
pub fn check<'c, L: Lab<'c>>(
    context: &'c Context,
    options: &args::Check,
    report: Report,
    submit: impl Fn(&L) -> Result<(), Error>,
) -> Result<Findings, Error> {
    let lab = L::new(context)?;
    let mut findings = Findings {
        lesson: "exercise",
        setting: Setting::of(context),
        parameters: options.clone(),
        gates: Gates::default(),
        prediction: lab.prediction(),
        depth: None,
        serial_times: None,
        your_times: None,
        // A missing edge is what an exercise is about.
        watched: Watched::new(context, super::of(options.name).name, Order::Deny, report),
    };
    findings.setting.say(report);
    if !findings.fill(context, report, &lab, &|| submit(&lab))? {
        let name = super::of(options.name).name;
        report.say(format!(
            "edit exercises/{name}.rs and check again: `cargo run -p host -- exercise check {name}`; for help: \
             `cargo run -p host -- exercise hint {name}`"
        ));
    }
    Ok(findings)
}

impl Findings {
    /// Everything up to the first gate that fails; whether none did.
    fn fill<'c>(
        &mut self,
        context: &Context,
        report: Report,
        lab: &impl Lab<'c>,
        submit: &impl Fn() -> Result<(), Error>,
    ) -> Result<bool, Error> {
        let name = super::of(self.parameters.name).name;
        // A warm-up would write what the run itself forgets to write.
        lab.reset()?;
        let submission = || {
            let _range = Range::new(context, name);
            submit()
        };
        let (band, log) = self.watched.trace(context, name, 0, submission, report)?;
        if !self.gates.hold(gates::complete(&undone(&lab.parts(), &log)), report)
            || !self.gates.hold(gates::without_the_host(&host_waits(&log)), report)
            || !self.watched.look(name, 0, Some(&log), &mut self.gates, report)
            || !self.gates.hold(lab.result()?, report)
        {
            return Ok(false);
        }
        let Prediction { unit, depth: predicted, serial_depth, units } = self.prediction;
        let path = critical_path(&log, units);
        self.depth = Some(path.length);
        let depth = Depth { unit, predicted, found: path.length, chain: &chain(&log, &path) };
        let depth = gates::depth(&depth);
        if !self.gates.hold(depth.clone(), report) {
            return Ok(false);
        }
        let shows = lab.shows(&intervals(&band));
        let said: Vec<Gate> = [depth].into_iter().chain(shows.clone()).collect();
        self.watched.draw(band, &said);
        report.picture(self.watched.timeline());
        let shown = shows.is_none_or(|gate| self.gates.hold_overlap(gate, context, report));
        let ratio = self.time(context, report, lab, submit)?;
        let gate = gates::ratio(ratio, [serial_depth, predicted], context.card().sms);
        Ok(self.gates.hold_overlap(gate, context, report) && shown)
    }

    /// How much faster than the serial order the submission is.
    fn time<'c>(
        &mut self,
        context: &Context,
        report: Report,
        lab: &impl Lab<'c>,
        submit: &impl Fn() -> Result<(), Error>,
    ) -> Result<f64, Error> {
        let repeat = self.parameters.common.repeat;
        let serial = time_drained(context, "serial", repeat, || lab.serial())?;
        let yours = time_drained(context, "yours", repeat, submit)?;
        report.time("serial:", serial);
        report.time("yours:", yours);
        (self.serial_times, self.your_times) = (Some(serial), Some(yours));
        Ok(serial.median_ms / yours.median_ms)
    }
}

/// Parts that were not submitted, or too often: a phrase for each.
fn undone(parts: &[Part], log: &Log) -> Vec<String> {
    let mut written: HashMap<&str, usize> = HashMap::new();
    for entry in &log.entries {
        let memory: Vec<u64> = match &entry.operation {
            Operation::Launch { buffers, .. } => {
                buffers.iter().filter(|one| one.access == Access::Write).map(|one| one.buffer).collect()
            }
            Operation::Copy { to, .. }
            | Operation::AsyncCopyToDevice { to, .. }
            | Operation::AsyncCopyToHost { to, .. } => vec![*to],
            _ => Vec::new(),
        };
        memory.iter().for_each(|memory| *written.entry(log.name(*memory)).or_default() += 1);
    }
    let undone = parts.iter().filter_map(|Part { memory, times, how }| {
        let found = written.get(memory.as_str()).copied().unwrap_or(0);
        let phrase = match found {
            0 => format!("`{memory}` is never written"),
            _ => format!("`{memory}` is written {found} times, where {times} is right"),
        };
        (found != *times).then(|| format!("{phrase}: `{how}`"))
    });
    undone.collect()
}

/// The lines on which the host waits.
fn host_waits(log: &Log) -> Vec<String> {
    let waits = log.entries.iter().filter(|entry| {
        matches!(
            entry.operation,
            Operation::SynchronizeStream { .. }
                | Operation::SynchronizeEvent { .. }
                | Operation::SynchronizeContext
        )
    });
    waits.map(|entry| entry.place()).collect()
}

/// A path of more operations than this is told by its streams.
const MOST_TOLD: usize = 5;

/// The operations of a path, each with its stream.
fn chain(log: &Log, path: &CriticalPath) -> String {
    let on = |at: usize| {
        let stream = log.entries[at].operation.stream();
        stream.map_or("?", |stream| log.name(stream.0))
    };
    if path.operations.len() > MOST_TOLD {
        let runs = path.operations.chunk_by(|one, next| on(*one) == on(*next));
        return runs.map(|run| format!("{} on `{}`", run.len(), on(run[0]))).collect::<Vec<_>>().join(", ");
    }
    let told = |&at: &usize| {
        let memory = match &log.entries[at].operation {
            Operation::Launch { buffers, .. } => {
                buffers.iter().find(|one| one.access == Access::Write).map(|one| one.buffer)
            }
            Operation::AsyncCopyToDevice { to, .. } | Operation::AsyncCopyToHost { to, .. } => Some(*to),
            _ => None,
        };
        format!("`{}` on `{}`", memory.map_or("?", |memory| log.name(memory)), on(at))
    };
    path.operations.iter().map(told).collect::<Vec<_>>().join(", ")
}
