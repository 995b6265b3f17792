//! Errors seen at the call, errors seen later, and one after which nothing works any more.
//!
//! Claim: a launch that the card does not take is refused at the call, and so is an allocation that is too large or a
//! question that has no answer; the context lives on. A kernel's own error is told by no launch: it comes out of the first
//! call that waits, and then out of every call, whatever it is about, until the context is ended.
//!
//! Prediction: of each refusal the code and the limit, and a good launch right behind it that works; of a write out of
//! bounds 0 from the launch, 700 from the wait, 700 from everything after, and nothing at all in another process.

use serde::Serialize;

use super::fault::{Answer, ELEMS, Fault, write_at, writes_right};
use super::watched::Watched;
use super::{Gates, Lesson, Outcome, Setting};
use crate::args::{self, Child, Scene};
use crate::child::{self, ChildError};
use crate::gate::Gate;
use crate::gate::errors as gates;
use crate::report::Report;
use crate::submit::{Buffer, Checks, Context, Error, Event, LastError, Launch, Range, Stream, StreamKind};

/// `CUDA_ERROR_INVALID_VALUE`, `CUDA_ERROR_OUT_OF_MEMORY` and `CUDA_ERROR_INVALID_HANDLE`.
const INVALID_VALUE: u32 = 1;
const OUT_OF_MEMORY: u32 = 2;
const INVALID_HANDLE: u32 = 400;
/// More than any card has.
const TOO_MANY_BYTES: usize = 1 << 50;

/// What the lesson found, as its JSON document has it. What would come after a failed gate is absent.
#[derive(Debug, Serialize)]
pub struct Findings {
    lesson: &'static str,
    #[serde(flatten)]
    setting: Setting,
    parameters: args::Errors,
    checks: Checks,
    gates: Gates,
    /// What each refused call answered.
    refused: Vec<Answer>,
    /// A write out of bounds, in a process of its own.
    fault: Option<Fault>,
    /// The same with a check after each launch.
    checked_fault: Option<Fault>,
    #[serde(flatten)]
    watched: Watched,
}

impl Lesson for args::Errors {
    const DRAWS: bool = false;

    type Findings = Findings;

    fn common(&mut self) -> &mut args::Common {
        &mut self.common
    }

    fn run(&self, context: &Context, report: Report) -> Result<Findings, Error> {
        context.set_checks(Checks::of_this_build());
        let findings = run(context, self, report);
        context.set_checks(Checks::default());
        findings
    }
}

impl Outcome for Findings {
    fn passed(&self) -> bool {
        self.gates.passed()
    }
}

/// Runs the lesson.
///
/// # Errors
///
/// Any error of the submission layer that the lesson is not about. A failed gate is not one: it is in the findings.
pub fn run(context: &Context, options: &args::Errors, report: Report) -> Result<Findings, Error> {
    let mut findings = Findings {
        lesson: "errors",
        setting: Setting::of(context),
        parameters: options.clone(),
        checks: context.checks(),
        gates: Gates::default(),
        refused: Vec::new(),
        fault: None,
        checked_fault: None,
        watched: Watched::new(context, "errors", options.common.order, report),
    };
    findings.setting.say(report);
    report.say(match findings.checks {
        Checks::AfterEachLaunch => "checks: a wait after each launch, as in every debug build of this lesson",
        Checks::WhereTheProgramWaits => "checks: where the program waits, as in every release build",
    });
    if findings.sound(context, report)? {
        findings.refused_launches(context, report)?;
        findings.other_refusals(context, report)?;
        findings.last_error(context, report)?;
        findings.faults(context, report)?;
    }
    Ok(findings)
}

/// Launches that no card takes, and what is wrong with each.
fn bad_launches() -> [(&'static str, Launch); 7] {
    let good = Launch::new(1, 32);
    [
        ("1025 threads", Launch::new(1, 1025)),
        ("33 x 32 threads", Launch { block: (33, 32, 1), ..good }),
        ("65 threads along z", Launch { block: (1, 1, 65), ..good }),
        ("65536 blocks along y", Launch { grid: (1, 65_536, 1), ..good }),
        ("no block", Launch::new(0, 32)),
        ("50 KiB of dynamic shared memory, not asked for before", Launch { shared_bytes: 50 << 10, ..good }),
        ("300 KiB of dynamic shared memory", Launch { shared_bytes: 300 << 10, ..good }),
    ]
}

impl Findings {
    /// A good launch does what it should, and is in order.
    fn sound(&mut self, context: &Context, report: Report) -> Result<bool, Error> {
        let _range = Range::new(context, "sound");
        let mut works = false;
        let log = self.watched.log(context, || {
            works = writes_right(context, 1)?;
            Ok(())
        })?;
        let sentence = format!("write_at: writes one of {ELEMS} elements, the one that it was told");
        let gate = if works { Gate::pass(sentence) } else { Gate::fail(sentence) };
        let goes_on = self.gates.hold(gate, report);
        Ok(self.watched.look("sound", 0, log.as_ref(), &mut self.gates, report) && goes_on)
    }

    /// Keeps what a call answered that should have been refused, and looks whether the context still works.
    fn refused<T>(
        &mut self,
        context: &Context,
        what: &str,
        wanted: u32,
        outcome: Result<T, Error>,
        report: Report,
    ) -> Result<(), Error> {
        let works = writes_right(context, 2)?;
        let (code, words) = match &outcome {
            Ok(_) => (None, String::new()),
            Err(error) => (Some(error.code().unwrap_or(u32::MAX)), in_short(error)),
        };
        self.gates.hold(gates::survived(what, code, wanted, &words, works), report);
        self.refused.push(Answer::of(what, outcome));
        Ok(())
    }

    fn refused_launches(&mut self, context: &Context, report: Report) -> Result<(), Error> {
        let _range = Range::new(context, "refused-launches");
        let stream = Stream::new(context, "s", StreamKind::NonBlocking)?;
        let out = Buffer::<u32>::new(context, "out", ELEMS)?;
        for (what, launch) in bad_launches() {
            let outcome = stream.launch(&launch, gpu::errors::write_at(&out, 0, 1));
            self.refused(context, what, INVALID_VALUE, outcome, report)?;
        }
        Ok(())
    }

    fn other_refusals(&mut self, context: &Context, report: Report) -> Result<(), Error> {
        let _range = Range::new(context, "other-refusals");
        let outcome = Buffer::<u8>::new(context, "huge", TOO_MANY_BYTES);
        let outcome = outcome.map(|_| ());
        self.refused(context, "an allocation of a pebibyte", OUT_OF_MEMORY, outcome, report)?;

        let (start, stop) = (Event::timing(context, "start")?, Event::ordering(context, "stop")?);
        let outcome = Event::elapsed_ms(&start, &stop);
        self.refused(context, "the time between two events that have none", INVALID_HANDLE, outcome, report)
    }

    /// What the runtime API's `cudaPeekAtLastError` and `cudaGetLastError` would say.
    fn last_error(&mut self, context: &Context, report: Report) -> Result<(), Error> {
        let stream = Stream::new(context, "s", StreamKind::NonBlocking)?;
        let out = Buffer::<u32>::new(context, "out", ELEMS)?;
        let code = |last: Option<LastError>| last.map(|last| last.code);
        _ = LastError::take();
        let refused = stream.launch(&Launch::new(1, 1025), gpu::errors::write_at(&out, 0, 1));
        let wanted = refused.err().and_then(|error| error.code()).unwrap_or_default();
        write_at(&stream, &out, 0, 1)?;
        stream.synchronize()?;
        let peeked = [code(LastError::peek()), code(LastError::peek())];
        let taken = [code(LastError::take()), code(LastError::take())];
        self.gates.hold(gates::last_error(wanted, peeked, taken), report);
        Ok(())
    }

    /// The error that ends a context, in processes that it may end.
    fn faults(&mut self, context: &Context, report: Report) -> Result<(), Error> {
        let _range = Range::new(context, "faults");
        let run = |scene| {
            let words = Child::words(scene, &self.parameters.common);
            report.busy("a kernel fails, in a process of its own", || child::run::<Fault>(&words, &[]))
        };
        let (plain, checked) = (run(Scene::Fault), run(Scene::CheckedFault));
        if let Some(fault) = self.heard(plain, report) {
            let Fault { launch, wait, unrelated, taken, new_context, .. } = &fault;
            let words = wait.error.as_deref().unwrap_or_default();
            let kernel = gpu::errors::write_at::KERNEL.name;
            self.gates.hold(gates::told_by_the_wait(launch.code, wait.code, words, kernel), report);
            report.say(words);
            let unrelated: Vec<_> = unrelated.iter().map(|call| (call.step.as_str(), call.code)).collect();
            self.gates.hold(gates::sticks(wait.code, &unrelated, *taken), report);
            report.say(format!("ending that context: {} releases failed", fault.failed_releases));
            self.gates.hold(gates::recovered(new_context.code), report);
            if let Some(checked) = self.heard(checked, report) {
                self.gates.hold(gates::told_by_the_launch(checked.launch.code, wait.code), report);
                self.checked_fault = Some(checked);
            }
            self.fault = Some(fault);
        }
        self.gates.hold(gates::unharmed(writes_right(context, 3)?), report);
        Ok(())
    }

    /// What a child has to say; one that says nothing is a failed gate.
    fn heard(&mut self, told: Result<Fault, ChildError>, report: Report) -> Option<Fault> {
        told.map_err(|error| self.gates.hold(Gate::fail(error.to_string()), report)).ok()
    }
}

/// Which limit it was, where that is known; else the whole message.
fn in_short(error: &Error) -> String {
    match error {
        Error::Driver(driver) if !driver.detail.is_empty() => driver.detail.clone(),
        other => other.to_string(),
    }
}
