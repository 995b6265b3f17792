//! A solution: the primary with a trigger, and the attribute on the launch of the secondary.

use std::process::ExitCode;

use exercises::{Lab, Outcome, this_file};
use gpu::forkjoin::grind_fma;
use gpu::pdl::*;
use streamlab::*;

/// Blocks of each kernel: few, so that there is room for two kernels.
const BLOCKS: u32 = 8;
const THREADS: u32 = 1024;
/// Elements of each buffer.
const ELEMS: usize = (BLOCKS * THREADS) as usize;
/// The first kernel runs long enough for the host to submit the other two meanwhile.
const PREPARE_STEPS: u32 = 10_000;

fn main() -> ExitCode {
    exercises::check(this_file!(), program)
}

pub(crate) fn program(context: &Context, lab: &mut Lab) -> Outcome {
    let raw: Vec<f32> = (0..ELEMS).map(|i| (i % 251) as f32 * 0.01).collect();
    let raw = DeviceBuffer::from_slice(context, "raw", &raw)?;
    let x = DeviceBuffer::new(context, "x", ELEMS)?;
    let mid = DeviceBuffer::new(context, "mid", ELEMS)?;
    let aux = DeviceBuffer::new(context, "aux", ELEMS)?;
    let out = DeviceBuffer::new(context, "out", ELEMS)?;
    let stream = Stream::new(context, "stream", StreamKind::NonBlocking)?;
    let launch = LaunchConfig::new(BLOCKS, THREADS);

    // What is submitted in here is checked, and runs several times; `out` is where the result is.
    lab.check(&out, || {
        stream.launch(launch, grind_fma(&raw, &x, PREPARE_STEPS, 0.999, 0.001))?;
        stream.launch(launch, produce_stage_early(&x, &mid, &aux))?;
        // SAFETY: `mid` has as many elements as `out`.
        stream.launch(launch.programmatic(), unsafe { combine_stage(&mid, &raw, &out) })
    })
}
