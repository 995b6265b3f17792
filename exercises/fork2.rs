//! Exercise: the diamond on two branch streams.
//!
//! One kernel writes `mid`, four branches read it, and a last kernel adds up what the branches made. Run the branches on two streams of
//! your own, two on each. Every branch has to follow the first kernel, and the sum every branch. Then check:
//!
//! ```console
//! $ cargo run -p host -- exercise check fork2
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
    let mid = DeviceBuffer::new(context, "mid", ELEMS)?;
    let branch1 = DeviceBuffer::new(context, "branch1", ELEMS)?;
    let branch2 = DeviceBuffer::new(context, "branch2", ELEMS)?;
    let branch3 = DeviceBuffer::new(context, "branch3", ELEMS)?;
    let branch4 = DeviceBuffer::new(context, "branch4", ELEMS)?;
    let sum = DeviceBuffer::new(context, "sum", ELEMS)?;
    let grind = LaunchConfig::new(8, 256);
    let add = LaunchConfig::for_elements(ELEMS, 256);

    let main = Stream::new(context, "main", StreamKind::NonBlocking)?;
    // TODO 1: create two more streams, `left` and `right`, and the events that order the three streams. An event is made by
    //     let fork = Event::ordering(context, "fork")?;

    // What is submitted in here is checked, and runs several times; `sum` is where the result is.
    lab.check(&sum, || {
        main.launch(grind, grind_fma(&input, &mid, ITERS, A, 1.0))?;

        // TODO 2: launch the branches, two on `left` and two on `right`, with `record(&event)?` and `wait(&event)?` where one
        // stream needs what another has done:
        //     left.launch(grind, grind_fma(&mid, &branch1, ITERS, A, 0.125))?;
        //     left.launch(grind, grind_fma(&mid, &branch2, ITERS, A, 0.25))?;
        //     right.launch(grind, grind_fma(&mid, &branch3, ITERS, A, 0.5))?;
        //     right.launch(grind, grind_fma(&mid, &branch4, ITERS, A, 1.0))?;

        main.launch(add, sum_four(&branch1, &branch2, &branch3, &branch4, &sum))
    })
}
