//! How a submission is checked: run once, every write there, no wait of the host, no missing edge, the right result, a critical path as
//! long as predicted, and only then the clock. The first check that fails ends it.

use host::check::{Check, correct};
use host::cli::Common;
use host::compare::compare;
use host::lab::{Outcome, Stop, Traced};
use host::overlap::intervals;
use host::report::Report;
use host::session::{self, Ended};
use serde_json::json;
use streamlab::{Context, DeviceBuffer, Error, Log, PinnedBuffer};

use crate::caught::{Panic, caught};
use crate::checks::{self, Depth};
use crate::task::{Prediction, Task};
use crate::words;

/// What counts as equal, relative to the reference.
const TOLERANCE: f32 = 1e-6;

/// What checks the submission of a program.
#[derive(Debug)]
pub struct Lab<'l, 'c> {
    lab: &'l mut host::lab::Lab<'c>,
    task: &'static Task,
    has_checked: bool,
}

/// Where a submission leaves its result.
pub trait Output {
    /// Returns what is in it, once everything is done.
    ///
    /// # Errors
    ///
    /// Any error of the copy.
    fn read(&self) -> Result<Vec<f32>, Error>;
}

impl Output for DeviceBuffer<'_, f32> {
    fn read(&self) -> Result<Vec<f32>, Error> {
        self.to_vec()
    }
}

impl Output for Vec<PinnedBuffer<'_, f32>> {
    fn read(&self) -> Result<Vec<f32>, Error> {
        Ok(self.iter().map(PinnedBuffer::read).collect::<Vec<_>>().concat())
    }
}

impl Lab<'_, '_> {
    /// Runs `submit` once, checks what it submitted and the result that it leaves in `output`, and runs it again to time it.
    ///
    /// # Errors
    ///
    /// [`Stop::Failed`] at the first check that fails; any error of the submission.
    pub fn check(&mut self, output: &impl Output, submit: impl Fn() -> Result<(), Error>) -> Outcome {
        self.has_checked = true;
        let (lab, task) = (&mut *self.lab, self.task);
        // A warm-up would write what the run itself forgets to write.
        let Traced { run, log } = lab.trace_after(0, task.name, &submit)?;
        lab.require(checks::writes(task.name, &words::undone(&(task.writes)(), &log)))?;
        lab.require(checks::host_waits(task.name, &words::host_waits(&log)))?;
        if let Err(stop) = lab.missing_edges(task.name, 0, &log) {
            lab.draw(run, Vec::new());
            lab.picture();
            return Err(stop);
        }
        let want = lab.busy("computing the reference on the CPU", task.want);
        let result = compare(&output.read()?, &want, TOLERANCE);
        lab.require(correct(format!("{}.result", task.name), "the result", &result))?;

        let Prediction { unit: [_, unit], depth: expected, serial_depth, .. } = task.prediction;
        let found = depth(lab, task, &log);
        let caption = format!("critical path in {unit}: {found}, expected {expected}");
        let mut has_all = found == expected;
        if has_all && let Some((missing, check)) = (task.has)(&log, lab.context().module().image().text) {
            lab.value("missing", missing);
            has_all = lab.check(check);
        }
        let shows = if has_all { (task.shows)(&intervals(&run)) } else { None };
        let run = timeline::model::Band { caption, ..run };
        let is_shown = lab.draw(run, shows.into_iter().collect());
        lab.picture();
        if !has_all || !is_shown {
            return Err(Stop::Failed);
        }

        let serial = (task.serial)(lab)?;
        let yours = lab.time_synchronized("yours", &submit)?;
        let ratio = serial.median_ms / yours.median_ms;
        lab.value("serial_over_yours", ratio);
        let sms = lab.device().sms;
        lab.require_overlap(checks::ratio(task.name, ratio, [serial_depth, expected], sms))
    }
}

/// Checks the length of the critical path, and returns it. Where it is longer than predicted, the line to blame is in the check.
fn depth(lab: &mut host::lab::Lab<'_>, task: &Task, log: &Log) -> u64 {
    let Prediction { unit, depth: predicted, units, .. } = task.prediction;
    let units = |at: usize| units(&log.program.operations[at]);
    let path = stream_order::critical_path(&log.program, units);
    let is_longer = path.length > predicted;
    let edge = if is_longer { stream_order::needless(&log.program, units) } else { None };
    let needless = edge.map(|edge| words::needless(log, &edge));
    let chain = words::chain(log, &path);
    let found = path.length;
    lab.value("depth", found);
    if let Some(edge) = edge {
        let [made_at, awaited, waiting] = [edge.made_by, edge.awaited, edge.waiting].map(|at| log.place(at));
        lab.value("needless_edge", json!({ "made_at": made_at, "awaited": awaited, "waiting": waiting }));
    }
    let depth = Depth { unit, predicted, found, chain: &chain, needless: needless.as_deref() };
    lab.check(checks::depth(task.name, &depth));
    found
}

/// Runs a program as the answer to a task on the device that was asked for. `path` is its file. A call of it that fails, and a panic,
/// are checks that fail.
///
/// # Errors
///
/// There is no such device, or it lacks what the task needs.
pub fn judge(
    task: &'static Task,
    common: &Common,
    report: Report,
    path: &str,
    program: impl FnOnce(&Context, &mut Lab<'_, '_>) -> Outcome,
) -> Result<Ended, Error> {
    session::on_device(&format!("exercise {}", task.name), common, report, |lab| {
        if let Some((feature, capability)) = task.needs {
            lab.device().require(feature, capability)?;
        }
        lab.parameters(&json!({ "name": task.name }), path);
        let prediction = task.prediction;
        let [_, unit] = prediction.unit;
        let depths =
            json!({ "unit": unit, "depth": prediction.depth, "serial_depth": prediction.serial_depth });
        lab.value("prediction", depths);
        let mut mine = Lab { lab, task, has_checked: false };
        let context = mine.lab.context();
        let outcome = caught(|| program(context, &mut mine));
        let Lab { lab, has_checked, .. } = mine;
        match outcome {
            Ok(Ok(())) if has_checked => Ok(()),
            Ok(Ok(())) => lab.require(Check::fail(
                "program.submission",
                "the program never hands its submission to `lab.check`",
            )),
            Ok(Err(Stop::Failed)) => Err(Stop::Failed),
            Ok(Err(Stop::Error(error))) => lab.require(Check::fail("program.call", error.to_string())),
            Err(Panic { place, message }) => {
                lab.require(Check::fail("program.panic", format!("{place}: the program panicked: {message}")))
            }
        }
    })
}
