//! A solution: one wait before the two branches of a stream, and one record after them.

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
    let mid = DeviceBuffer::new(context, "mid", ELEMS)?;
    let branch1 = DeviceBuffer::new(context, "branch1", ELEMS)?;
    let branch2 = DeviceBuffer::new(context, "branch2", ELEMS)?;
    let branch3 = DeviceBuffer::new(context, "branch3", ELEMS)?;
    let branch4 = DeviceBuffer::new(context, "branch4", ELEMS)?;
    let sum = DeviceBuffer::new(context, "sum", ELEMS)?;
    let grind = LaunchConfig::new(8, 256);
    let add = LaunchConfig::for_elements(ELEMS, 256);

    let main = Stream::new(context, "main", StreamKind::NonBlocking)?;
    let left = Stream::new(context, "left", StreamKind::NonBlocking)?;
    let right = Stream::new(context, "right", StreamKind::NonBlocking)?;
    let fork = Event::ordering(context, "fork")?;
    let left_done = Event::ordering(context, "left_done")?;
    let right_done = Event::ordering(context, "right_done")?;

    // What is submitted in here is checked, and runs several times; `sum` is where the result is.
    lab.check(&sum, || {
        main.launch(grind, grind_fma(&input, &mid, ITERS, A, 1.0))?;
        main.record(&fork)?;

        // A stream keeps its two branches in order: neither needs an event for that.
        left.wait(&fork)?;
        left.launch(grind, grind_fma(&mid, &branch1, ITERS, A, 0.125))?;
        left.launch(grind, grind_fma(&mid, &branch2, ITERS, A, 0.25))?;
        left.record(&left_done)?;

        right.wait(&fork)?;
        right.launch(grind, grind_fma(&mid, &branch3, ITERS, A, 0.5))?;
        right.launch(grind, grind_fma(&mid, &branch4, ITERS, A, 1.0))?;
        right.record(&right_done)?;

        main.wait(&left_done)?;
        main.wait(&right_done)?;
        main.launch(add, sum_four(&branch1, &branch2, &branch3, &branch4, &sum))
    })
}
