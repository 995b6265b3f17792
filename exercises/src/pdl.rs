//! A kernel that starts before the one ahead of it has ended.

use gpu::pdl::{PRODUCE, PROLOGUE, STEPS, combine_stage, produce_stage_early};
use host::lab::Lab;
use host::measure::Statistics;
use host::reference;
use stream_order::program::{Action, Launch, Mode, Operation};
use streamlab::{DeviceBuffer, Error, LaunchConfig, Log, Stream, StreamKind};

use crate::checks;
use crate::task::{Prediction, Task, Write, input};

const THREADS: u32 = 1024;
const BLOCKS: u32 = 8;
const ELEMS: usize = (BLOCKS * THREADS) as usize;
/// Long enough for the host to submit the other two kernels meanwhile, and short enough for a drawing to show them.
const PREPARE_STEPS: u32 = 10_000;
/// `x = x * a + b` from 0 stays below `b / (1 - a)`.
const PREPARE: (f32, f32) = (0.999, 0.001);

pub const TASK: Task = Task {
    name: "pdl",
    needs: Some(("programmatic dependent launch", (9, 0))),
    writes,
    prediction: Prediction {
        unit: ["kernel", "kernels"],
        depth: 3,
        serial_depth: 3,
        units: |operation| u64::from(matches!(operation.action, Action::Launch(_))),
    },
    want,
    has: |log, ptx| {
        let missing = missing(log, ptx);
        let words: Vec<_> = missing.iter().map(|(what, place)| format!("the {what} ({place})")).collect();
        Some((missing.into_iter().map(|(what, _)| what).collect(), checks::early_launch(&words)))
    },
    shows: |ran| match ran {
        [_, produce, combine] => Some(checks::starts_early(*combine, *produce)),
        _ => None,
    },
    serial,
};

fn writes() -> Vec<Write> {
    let calls = [
        ("x", "stream.launch(launch, grind_fma(&raw, &x, PREPARE_STEPS, 0.999, 0.001))?"),
        ("mid", "stream.launch(launch, produce_stage_early(&x, &mid, &aux))?"),
        ("out", "stream.launch(launch, unsafe { combine_stage(&mid, &raw, &out) })"),
    ];
    calls.map(|(buffer, call)| Write { buffer: buffer.to_owned(), times: 1, call: call.to_owned() }).into()
}

/// Returns which of the three things that early launch needs are missing, and where: the primary is the kernel that writes `mid`, the
/// secondary the one that writes `out`.
fn missing(log: &Log, ptx: &str) -> Vec<(&'static str, String)> {
    let Ok(module) = ptx::Module::parse(ptx) else { return Vec::new() };
    let (Some((_, primary, _)), Some((at, secondary, launch))) = (writer(log, "mid"), writer(log, "out"))
    else {
        return Vec::new();
    };
    let triggers = module.functions.iter().any(|function| {
        function.name == primary.name
            && function.body.code.iter().any(|instruction| matches!(instruction.action, ptx::Action::Trigger))
    });
    let waits = module.dependence(&secondary.name).is_some_and(|dependence| dependence.waits);
    let mut missing = Vec::new();
    if !triggers {
        missing.push(("trigger", format!("`{}` has none", primary.name)));
    }
    if !waits {
        missing.push(("wait", format!("`{}` has none", secondary.name)));
    }
    if !launch.programmatic {
        missing.push(("attribute", format!("on the launch at {}", log.place(at))));
    }
    missing
}

/// Returns the launch that writes a buffer.
fn writer<'l>(log: &'l Log, buffer: &str) -> Option<(usize, &'l Operation, &'l Launch)> {
    log.program.operations.iter().enumerate().find_map(|(at, operation)| {
        let Action::Launch(launch) = &operation.action else { return None };
        let mut spans = operation.action.spans();
        let writes = spans.any(|(span, mode)| mode == Mode::Write && log.buffer_name(span.buffer) == buffer);
        writes.then_some((at, operation, launch))
    })
}

fn want() -> Vec<f32> {
    let chain = |from: &[f32], (a, b), steps| {
        let mut to = vec![0.0; ELEMS];
        reference::grind_fma(from, &mut to, a, b, steps);
        to
    };
    let raw = input(ELEMS);
    let mid = chain(&chain(&raw, PREPARE, PREPARE_STEPS), PRODUCE, STEPS);
    mid.iter().zip(&chain(&raw, PROLOGUE, STEPS)).map(|(mid, prologue)| mid + prologue).collect()
}

fn serial(lab: &mut Lab<'_>) -> Result<Statistics, Error> {
    let context = lab.context();
    let buffer = |name| DeviceBuffer::new(context, name, ELEMS);
    let raw = DeviceBuffer::from_slice(context, "raw", &input(ELEMS))?;
    let (x, mid, aux, out) = (buffer("x")?, buffer("mid")?, buffer("aux")?, buffer("out")?);
    let stream = Stream::new(context, "serial", StreamKind::NonBlocking)?;
    let launch = LaunchConfig::new(BLOCKS, THREADS);
    lab.time_synchronized("serial", || {
        let (a, b) = PREPARE;
        stream.launch(launch, gpu::forkjoin::grind_fma(&raw, &x, PREPARE_STEPS, a, b))?;
        stream.launch(launch, produce_stage_early(&x, &mid, &aux))?;
        // SAFETY: `mid` has as many elements as `out`.
        stream.launch(launch, unsafe { combine_stage(&mid, &raw, &out) })
    })
}
