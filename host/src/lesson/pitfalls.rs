//! The pitfalls: small programs with a flaw, each beside its repaired twin.
//!
//! Claim: no call of theirs says what is wrong, but for the one that asks an event for a time which it does not have. The
//! order that was submitted says it, and the timeline shows it.
//!
//! Prediction: of each flawed program how many edges are missing in it, and of each repaired one that none is.

mod catalogue;
pub mod programs;

use std::cell::Cell;

use serde::Serialize;
use timeline::model::Timeline;

pub use catalogue::{ComesTo, PITFALLS, Pitfall};

use super::rig::{Program, Rig};
use super::watched::Watched;
use super::{Gates, Lesson, Outcome, Setting};
use crate::args;
use crate::band::intervals;
use crate::gate::overlap::Interval;
use crate::gate::pitfalls::{self as gates, Shows, shows};
use crate::report::{Report, thousands};
use crate::submit::{Context, Error, Range};

/// What the lesson found, as its JSON document has it.
#[derive(Debug, Serialize)]
pub struct Findings {
    lesson: &'static str,
    #[serde(flatten)]
    setting: Setting,
    parameters: args::Pitfalls,
    gates: Gates,
    pitfalls: Vec<Found>,
    #[serde(flatten)]
    watched: Watched,
}

/// What was found of one of them.
#[derive(Debug, Serialize)]
struct Found {
    name: &'static str,
    what: &'static str,
    /// Calls that succeeded in the flawed program; none where one failed and the program ended there.
    flawed_calls: Option<usize>,
    repaired_calls: usize,
}

/// What a program did.
struct Run {
    came_to: f32,
    calls: usize,
    kernels: Vec<Interval>,
}

impl Lesson for args::Pitfalls {
    type Findings = Findings;

    fn common(&mut self) -> &mut args::Common {
        &mut self.common
    }

    fn run(&self, context: &Context, report: Report) -> Result<Findings, Error> {
        let mut findings = Findings::new(context, self, report);
        findings.setting.say(report);
        report.say(format!("parameters: a slow kernel of {} steps", thousands(self.steps)));
        let rig = Rig::new(context, self.steps)?;
        let asked =
            PITFALLS.iter().filter(|pitfall| self.name.as_deref().is_none_or(|name| name == pitfall.name));
        for pitfall in asked {
            findings.show(pitfall, &rig, report)?;
        }
        report.picture(findings.watched.timeline());
        Ok(findings)
    }
}

impl Outcome for Findings {
    fn passed(&self) -> bool {
        self.gates.passed()
    }

    fn timeline(&self) -> Option<&Timeline> {
        Some(self.watched.timeline())
    }
}

impl Findings {
    fn new(context: &Context, options: &args::Pitfalls, report: Report) -> Self {
        Findings {
            lesson: "pitfalls",
            setting: Setting::of(context),
            parameters: options.clone(),
            gates: Gates::default(),
            pitfalls: Vec::new(),
            watched: Watched::new(context, "pitfalls", options.common.order, report),
        }
    }

    /// The flawed program, then the repaired one, then both side by side.
    fn show(&mut self, pitfall: &Pitfall, rig: &Rig<'_>, report: Report) -> Result<(), Error> {
        let Pitfall { name, what, flawed, repaired, missing, shows, comes_to } = pitfall;
        report.say(format!("\n{name}: {what}"));
        let flawed = match self.run_one(name, *flawed, *missing, shows[0], rig, report) {
            Err(Error::Driver(error)) if matches!(comes_to, ComesTo::Refused(_)) => {
                Err((error.code, error.to_string()))
            }
            outcome => Ok(outcome?),
        };
        let repaired = self.run_one(&format!("{name}, repaired"), *repaired, 0, shows[1], rig, report)?;
        self.compare(rig, comes_to, &flawed, &repaired, report);
        self.pitfalls.push(Found {
            name,
            what,
            flawed_calls: flawed.ok().map(|run| run.calls),
            repaired_calls: repaired.calls,
        });
        Ok(())
    }

    /// Runs a program with traced kernels: how many of its calls succeeded, which edges are missing in it, what ran when.
    fn run_one(
        &mut self,
        name: &str,
        program: Program,
        missing: usize,
        what: Shows,
        rig: &Rig<'_>,
        report: Report,
    ) -> Result<Run, Error> {
        rig.clear()?;
        let came_to = Cell::new(f32::NAN);
        let submit = || {
            let _range = Range::new(rig.context, name);
            came_to.set(program(rig)?);
            Ok(())
        };
        let (band, log) = self.watched.trace(rig.context, name, 0, submit, report)?;
        let (calls, kernels) = (log.entries.len(), intervals(&band));
        report.say(format!("{name}: {calls} calls, and each answered success"));
        self.watched.look(name, missing, Some(&log), &mut self.gates, report);
        let gate = shows(what, &kernels, self.watched.step_ns());
        self.watched.draw(band, std::slice::from_ref(&gate));
        self.gates.hold_overlap(gate, rig.context, report);
        Ok(Run { came_to: came_to.get(), calls, kernels })
    }

    fn compare(
        &mut self,
        rig: &Rig<'_>,
        comes_to: &ComesTo,
        flawed: &Result<Run, (u32, String)>,
        repaired: &Run,
        report: Report,
    ) {
        let gates = match (comes_to, flawed) {
            (ComesTo::Refused(code), flawed) => {
                let answer = flawed.as_ref().map(|run| run.came_to).map_err(Clone::clone);
                vec![gates::refused(answer, *code), gates::answered(repaired.came_to)]
            }
            (ComesTo::Idle, Ok(flawed)) => {
                let gate = gates::idle(&flawed.kernels, &repaired.kernels);
                self.gates.hold_overlap(gate, rig.context, report);
                return;
            }
            (ComesTo::Value(right), Ok(flawed)) => {
                vec![gates::value(flawed.came_to, repaired.came_to, right(rig))]
            }
            (ComesTo::PartOfTheTime, Ok(flawed)) => {
                vec![gates::part_of_the_time(flawed.came_to, repaired.came_to)]
            }
            (_, Err(_)) => Vec::new(),
        };
        for gate in gates {
            self.gates.hold(gate, report);
        }
    }
}
