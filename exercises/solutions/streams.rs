//! A solution: two non-blocking streams, and one event where they meet.

use std::process::ExitCode;

use exercises::{Lab, Outcome, this_file};
use gpu::forkjoin::{grind_fma, sum_four};
use streamlab::*;

/// Elements of each buffer.
const ELEMS: usize = 1 << 18;
/// `grind_fma` computes `x = A * x + b` so many times on each element.
const ITERS: u32 = 512;
const A: f32 = 0.999;

fn main() -> ExitCode {
    exercises::check(this_file!(), program)
}

pub(crate) fn program(context: &Context, lab: &mut Lab) -> Outcome {
    let input: Vec<f32> = (0..ELEMS).map(|i| (i % 251) as f32 * 0.01).collect();
    let input = DeviceBuffer::from_slice(context, "input", &input)?;
    let first = DeviceBuffer::new(context, "first", ELEMS)?;
    let second = DeviceBuffer::new(context, "second", ELEMS)?;
    let zeros = DeviceBuffer::zeroed(context, "zeros", ELEMS)?;
    let out = DeviceBuffer::new(context, "out", ELEMS)?;
    let grind = LaunchConfig::new(8, 256);
    let add = LaunchConfig::for_elements(ELEMS, 256);

    let a = Stream::new(context, "a", StreamKind::NonBlocking)?;
    let b = Stream::new(context, "b", StreamKind::NonBlocking)?;
    let done = Event::ordering(context, "done")?;

    // What is submitted in here is checked, and runs several times; `out` is where the result is.
    lab.check(&out, || {
        a.launch(grind, grind_fma(&input, &first, ITERS, A, 0.25))?;
        a.record(&done)?;
        b.launch(grind, grind_fma(&input, &second, ITERS, A, 0.5))?;
        b.wait(&done)?;
        b.launch(add, sum_four(&first, &second, &zeros, &zeros, &out))
    })
}
