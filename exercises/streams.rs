//! Exercise: two kernels that overlap, and a third that needs both.
//!
//! The program below is right and slow: `legacy` is the legacy default stream, and `blocking` waits for it. Let the first two kernels
//! overlap, and run the third after both. Then check:
//!
//! ```console
//! $ cargo run -p host -- exercise check streams
//! ```

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

fn program(context: &Context, lab: &mut Lab) -> Outcome {
    let input: Vec<f32> = (0..ELEMS).map(|i| (i % 251) as f32 * 0.01).collect();
    let input = DeviceBuffer::from_slice(context, "input", &input)?;
    let first = DeviceBuffer::new(context, "first", ELEMS)?;
    let second = DeviceBuffer::new(context, "second", ELEMS)?;
    let zeros = DeviceBuffer::zeroed(context, "zeros", ELEMS)?;
    let out = DeviceBuffer::new(context, "out", ELEMS)?;
    let grind = LaunchConfig::new(8, 256);
    let add = LaunchConfig::for_elements(ELEMS, 256);

    // TODO 1: replace these streams by two of another kind, `a` and `b`, and create an event with
    //     let done = Event::ordering(context, "done")?;
    let legacy = Stream::new(context, "legacy", StreamKind::Legacy)?;
    let blocking = Stream::new(context, "blocking", StreamKind::Blocking)?;

    // What is submitted in here is checked, and runs several times; `out` is where the result is.
    lab.check(&out, || {
        // TODO 2: use your streams, and add `record(&done)?` and `wait(&done)?` where one needs what the other has done.
        blocking.launch(grind, grind_fma(&input, &first, ITERS, A, 0.25))?;
        legacy.launch(grind, grind_fma(&input, &second, ITERS, A, 0.5))?;
        legacy.launch(add, sum_four(&first, &second, &zeros, &zeros, &out))
    })
}
