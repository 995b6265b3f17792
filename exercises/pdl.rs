//! Exercise: a kernel that starts before the one ahead of it has ended (programmatic dependent launch, compute capability 9.0).
//!
//! Three kernels, each of which needs what the one before it wrote. The last one, the secondary, begins with a prologue that needs
//! nothing of the second, its primary: let it start early. Then check:
//!
//! ```console
//! $ cargo run -p host -- exercise check pdl
//! ```
//!
//! The kernels are in gpu/src/pdl.rs. `launch.programmatic()` is the launch configuration `launch` with the attribute that lets a
//! kernel start early.

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

fn program(context: &Context, lab: &mut Lab) -> Outcome {
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
        // TODO: early launch needs a trigger in the primary, a wait in the secondary, and an attribute on one of the launches.
        // Which of the three are missing?
        stream.launch(launch, produce_stage_never(&x, &mid, &aux))?;
        // SAFETY: `mid` has as many elements as `out`.
        stream.launch(launch, unsafe { combine_stage(&mid, &raw, &out) })
    })
}
