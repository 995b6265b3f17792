//! The lessons, one file each: claim, prediction, submission, gates. A lesson never calls a driver function, and does
//! not know what kind of card it runs on.

/// A lesson whose file has `run`, and `Findings` with the gates and with what was watched: that is most of them.
macro_rules! lesson {
    ($options:ty) => {
        impl $crate::lesson::Lesson for $options {
            type Findings = Findings;

            fn common(&mut self) -> &mut $crate::args::Common {
                &mut self.common
            }

            fn run(
                &self,
                context: &$crate::submit::Context,
                report: $crate::report::Report,
            ) -> Result<Findings, $crate::submit::Error> {
                run(context, self, report)
            }
        }

        impl $crate::lesson::Outcome for Findings {
            fn passed(&self) -> bool {
                self.gates.passed()
            }

            fn timeline(&self) -> Option<&timeline::model::Timeline> {
                Some(self.watched.timeline())
            }
        }
    };
}
use lesson;

pub mod bench;
pub mod child;
pub mod chunks;
pub mod copies;
pub mod default_stream;
pub mod diamond;
pub mod errors;
pub mod fault;
pub mod first_use;
pub mod forkjoin;
pub mod graph;
pub mod lanes;
pub mod pdl;
pub mod pipeline;
pub mod pitfalls;
pub mod priority;
pub mod rig;
pub mod startup;
pub(crate) mod stopwatch;
pub mod streams;
pub mod sync;
pub mod timing;
pub(crate) mod watched;

use serde::Serialize;
use timeline::model::Timeline;

use crate::args::Common;
use crate::gate::{Gate, Verdict};
use crate::kernels;
use crate::report::Report;
use crate::submit::{Card, Context, Error};

/// A lesson, as its options.
pub trait Lesson {
    /// Whether it looks at what ran when: one that does not has no timeline to write.
    const DRAWS: bool = true;

    /// What it finds.
    type Findings: Outcome;

    /// What every lesson takes.
    fn common(&mut self) -> &mut Common;

    /// Runs it.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer. A failed gate is not one: it is in the findings.
    fn run(&self, context: &Context, report: Report) -> Result<Self::Findings, Error>;
}

/// What a lesson found.
pub trait Outcome: Serialize {
    /// Whether every gate holds.
    fn passed(&self) -> bool;

    /// What ran when, where the lesson looked.
    fn timeline(&self) -> Option<&Timeline> {
        None
    }
}

/// The card and the kernels that a lesson ran with, as its document has them.
#[derive(Clone, Debug, Serialize)]
pub struct Setting {
    card: Card,
    kernels: Kernels,
}

/// Which PTX was loaded, and what it was compiled with.
#[derive(Clone, Debug, Serialize)]
struct Kernels {
    arch: &'static str,
    ptx_version: (u32, u32),
    core: &'static str,
}

impl Setting {
    /// Of this context.
    pub fn of(context: &Context) -> Self {
        let image = context.module().image();
        let kernels = Kernels { arch: image.arch, ptx_version: image.ptx_version, core: kernels::CORE };
        Setting { card: context.card().clone(), kernels }
    }

    pub(crate) fn say(&self, report: Report) {
        report.say(format!("card: {}", self.card));
        let Kernels { arch, ptx_version: (major, minor), .. } = self.kernels;
        report.say(format!("kernels: Rust, compiled to PTX {major}.{minor} for {arch}"));
    }
}

/// What the gates of a lesson decided, in order.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Gates(Vec<Gate>);

impl Gates {
    /// Says what a gate decided, keeps it, and returns whether the lesson goes on. A failure is said in any case.
    pub(crate) fn hold(&mut self, gate: Gate, report: Report) -> bool {
        if gate.verdict == Verdict::Fail {
            report.loud().say(&gate)
        } else {
            report.say(&gate)
        }
        let goes_on = gate.verdict != Verdict::Fail;
        self.0.push(gate);
        goes_on
    }

    /// The same for a gate about overlap: where the card was told not to overlap anything, a failure says nothing.
    pub(crate) fn hold_overlap(&mut self, gate: Gate, context: &Context, report: Report) -> bool {
        let gate = match gate.verdict {
            Verdict::Fail if !context.overlaps() => {
                Gate::not_gated(format!("{}, as it must be where everything runs late", gate.sentence))
            }
            _ => gate,
        };
        self.hold(gate, report)
    }

    /// Whether none has failed.
    pub(crate) fn passed(&self) -> bool {
        self.0.iter().all(|gate| gate.verdict != Verdict::Fail)
    }
}
