//! What is checked of an exercise: data, and the same work in one stream.

use host::check::Check;
use host::measure::Statistics;
use host::overlap::Interval;
use stream_order::program::{Action, Operation};
use streamlab::{Error, Log};

use crate::{fork2, pdl, pipeline, streams};

/// What is checked of an exercise.
#[derive(Debug)]
pub struct Task {
    /// The exercise's name.
    pub name: &'static str,
    /// The compute capability that it needs, and for what.
    pub needs: Option<(&'static str, (u32, u32))>,
    /// What has to be submitted.
    pub writes: fn() -> Vec<Write>,
    /// What is predicted of a right answer.
    pub prediction: Prediction,
    /// Computes the right result.
    pub want: fn() -> Vec<f32>,
    /// Names what is missing of what a right answer has, and checks that nothing is. The text is the PTX that was loaded.
    pub has: fn(&Log, &str) -> Option<Has>,
    /// What else a right answer shows, from when its operations ran, in the order of submission.
    pub shows: fn(&[Interval]) -> Option<Check>,
    /// Times the same work in one stream.
    pub serial: fn(&mut host::lab::Lab<'_>) -> Result<Statistics, Error>,
}

/// The names of what is missing, and the check that nothing is.
pub type Has = (Vec<&'static str>, Check);

/// Memory that has to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The buffer's name.
    pub buffer: String,
    /// How often.
    pub times: usize,
    /// The call that does it.
    pub call: String,
}

/// What is predicted of a right answer, by its critical path.
#[derive(Clone, Copy, Debug)]
pub struct Prediction {
    /// What counts as one: one of them, and several.
    pub unit: [&'static str; 2],
    /// Units on the critical path of a right answer.
    pub depth: u64,
    /// Units of the same work in one stream.
    pub serial_depth: u64,
    /// How many units an operation is.
    pub units: fn(&Operation) -> u64,
}

/// Returns the task of the exercise of this name.
pub fn task(name: &str) -> Option<&'static Task> {
    [&fork2::TASK, &streams::TASK, &pdl::TASK, &pipeline::TASK].into_iter().find(|task| task.name == name)
}

/// A grind kernel is one unit, and the sum next to nothing.
pub(crate) fn grinds(operation: &Operation) -> u64 {
    u64::from(
        matches!(operation.action, Action::Launch(_))
            && operation.name == gpu::forkjoin::grind_fma::KERNEL.name,
    )
}

/// The input of three exercises: small numbers that repeat.
pub(crate) fn input(elems: usize) -> Vec<f32> {
    (0..elems).map(|i| (i % 251) as f32 * 0.01).collect()
}
