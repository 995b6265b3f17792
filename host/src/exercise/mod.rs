//! The exercises: each is a file in `exercises/` that a learner edits, built into this program, and checked by it. A file
//! submits work with the streams, events and buffers of a lab; what the lab has is all that an exercise needs.

mod check;
pub mod fork2;
pub mod pdl;
pub mod pipeline;
pub mod streams;

pub use check::{Findings, Lab, Part, Prediction, check};

use clap::ValueEnum;

use crate::args::{self, Action, Name};
use crate::lesson::Lesson;
use crate::report::Report;
use crate::submit::{Context, Error};

/// An exercise.
pub struct Exercise {
    /// What it is asked for by.
    pub name: &'static str,
    /// What is to be done, in a sentence.
    pub task: &'static str,
    /// Each says a little more than the one before.
    pub hints: &'static [&'static str],
    /// The text of a file that passes.
    pub solution: &'static str,
    /// Checks the learner's file.
    pub check: fn(&Context, &args::Check, Report) -> Result<Findings, Error>,
}

impl Exercise {
    /// The file that the learner edits.
    pub fn file(&self) -> String {
        format!("exercises/{}.rs", self.name)
    }
}

/// The exercise of that name.
pub fn of(name: Name) -> &'static Exercise {
    match name {
        Name::Fork2 => &fork2::EXERCISE,
        Name::Streams => &streams::EXERCISE,
        Name::Pdl => &pdl::EXERCISE,
        Name::Pipeline => &pipeline::EXERCISE,
    }
}

impl Lesson for args::Check {
    type Findings = Findings;

    fn common(&mut self) -> &mut args::Common {
        &mut self.common
    }

    fn run(&self, context: &Context, report: Report) -> Result<Findings, Error> {
        let exercise = of(self.name);
        report.say(format!("exercise {}, {}: {}", exercise.name, exercise.file(), exercise.task));
        (exercise.check)(context, self, report)
    }
}

/// What an exercise says without a card.
///
/// # Errors
///
/// The refusal of a hint that there is not.
pub fn tell(action: &Action) -> Result<String, String> {
    match action {
        Action::List | Action::Check(_) => {
            let line = |name: &Name| {
                let exercise = of(*name);
                format!("{:9} {}: {}", exercise.name, exercise.file(), exercise.task)
            };
            Ok(Name::value_variants().iter().map(line).collect::<Vec<_>>().join("\n"))
        }
        Action::Solution { name } => Ok(of(*name).solution.to_owned()),
        Action::Hint { name, number } => {
            let exercise = of(*name);
            let count = exercise.hints.len();
            let hint = number.checked_sub(1).and_then(|number| exercise.hints.get(number));
            let hint = hint.ok_or_else(|| format!("{} has {count} hints, numbered from 1", exercise.name))?;
            Ok(format!("hint {number} of {count}: {hint}"))
        }
    }
}
