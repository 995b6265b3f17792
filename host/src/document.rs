//! What a lesson found: the document that `--json` prints, and the timeline that is drawn.

use serde::Serialize;
use serde_json::{Map, Value, json};
use streamlab::{DeviceProperties, MissingEdges};
use timeline::model::{Band, Timeline};

use crate::check::Check;
use crate::measure::Statistics;

/// What a lesson found, as `--json` prints it. What would come after a check that stopped the lesson is absent.
#[derive(Debug, Serialize)]
pub struct Document {
    pub(crate) clock: &'static str,
    pub(crate) lesson: String,
    pub(crate) device: DeviceProperties,
    pub(crate) kernels: Kernels,
    pub(crate) parameters: Value,
    pub(crate) checks: Vec<Check>,
    /// What was found beside times and checks, by name.
    pub(crate) values: Map<String, Value>,
    pub(crate) times: Vec<Times>,
    pub(crate) missing_edges: Vec<Submission>,
    /// The step of the device's clock, once something was traced.
    pub(crate) clock_step_ns: Option<u64>,
    /// The traced runs, without what only a drawing needs.
    pub(crate) runs: Vec<Value>,
    #[serde(skip)]
    pub(crate) timeline: Timeline,
}

/// Which PTX was loaded, and what it was compiled with.
#[derive(Debug, Serialize)]
pub(crate) struct Kernels {
    pub(crate) arch: &'static str,
    pub(crate) ptx_version: (u32, u32),
    pub(crate) core: &'static str,
}

/// Times of one measurement.
#[derive(Debug, Serialize)]
pub(crate) struct Times {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) statistics: Statistics,
}

/// The edges that are missing in one submission.
#[derive(Debug, Serialize)]
pub(crate) struct Submission {
    pub(crate) submission: String,
    pub(crate) expected: usize,
    pub(crate) edges: MissingEdges,
}

impl Document {
    /// Whether no check failed.
    pub fn passed(&self) -> bool {
        !self.checks.iter().any(Check::failed)
    }

    /// Returns the checks in order.
    pub fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// Returns what ran when; it has no bands where nothing was traced.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Returns the times of a measurement.
    pub fn times(&self, name: &str) -> Option<Statistics> {
        self.times.iter().find(|times| times.name == name).map(|times| times.statistics)
    }

    /// Returns the medians in a line, `forkjoin: diamond 0.513 ms, serial 0.881 ms`.
    pub fn medians(&self) -> String {
        let median = |times: &Times| format!("{} {:.3} ms", times.name, times.statistics.median_ms);
        match self.times.as_slice() {
            [] => format!("{}: nothing was timed", self.lesson),
            times => format!("{}: {}", self.lesson, times.iter().map(median).collect::<Vec<_>>().join(", ")),
        }
    }
}

/// A check's words as a sentence of a caption.
pub(crate) fn sentence(said: &str) -> String {
    let first = said.chars().next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", said.chars().skip(1).collect::<String>())
}

/// A run without what only a drawing needs.
pub(crate) fn brief(run: &Band) -> Value {
    let slices = run.slices.iter().map(|slice| {
        let stream = run.streams.get(slice.stream).map_or("", |stream| &stream.name);
        json!({ "name": slice.name, "stream": stream, "start_ns": slice.start_ns, "end_ns": slice.end_ns })
    });
    json!({ "run": run.name, "slices": slices.collect::<Vec<_>>() })
}
