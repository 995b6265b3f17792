//! Exercise: copies and kernels that overlap.
//!
//! Four chunks are copied to the device, computed, and copied back. Below, everything is on one stream, and nothing overlaps. The device
//! has buffers for two chunks only: chunks 0 and 2 share theirs, and so do chunks 1 and 3. Use two streams. Then check:
//!
//! ```console
//! $ cargo run -p host -- exercise check pipeline
//! ```

use std::process::ExitCode;

use exercises::{Lab, Outcome, this_file};
use gpu::forkjoin::grind_fma;
use streamlab::*;

/// Chunks.
const CHUNKS: usize = 4;
/// Elements of each chunk but the last, which is a little shorter.
const ELEMS: usize = 1 << 19;
const LAST_ELEMS: usize = ELEMS - 10;
/// `grind_fma` computes `x = A * x + B` so many times on each element.
const ITERS: u32 = 256;
const A: f32 = 0.999;
const B: f32 = 0.25;

fn main() -> ExitCode {
    exercises::check(this_file!(), program)
}

fn program(context: &Context, lab: &mut Lab) -> Outcome {
    let (mut input, mut result) = (Vec::new(), Vec::new());
    for chunk in 0..CHUNKS {
        let elems = if chunk + 1 == CHUNKS { LAST_ELEMS } else { ELEMS };
        let data: Vec<f32> = (0..elems).map(|i| ((chunk + i) % 251) as f32 * 0.01).collect();
        input.push(PinnedBuffer::from_slice(context, &format!("input{chunk}"), &data)?);
        result.push(PinnedBuffer::new(context, &format!("result{chunk}"), elems)?);
    }
    let arrived =
        [DeviceBuffer::new(context, "arrived0", ELEMS)?, DeviceBuffer::new(context, "arrived1", ELEMS)?];
    let computed =
        [DeviceBuffer::new(context, "computed0", ELEMS)?, DeviceBuffer::new(context, "computed1", ELEMS)?];
    let grind = LaunchConfig::new(64, 256);

    let even = Stream::new(context, "even", StreamKind::NonBlocking)?;
    // TODO 1: create a second stream, `odd`.

    // What is submitted in here is checked, and runs several times; `result` is where the results are.
    lab.check(&result, || {
        for chunk in 0..CHUNKS {
            // TODO 2: which chunks go to which stream?
            let stream = &even;
            let n = input[chunk].len();
            let (arrived, computed) = (&arrived[chunk % 2], &computed[chunk % 2]);
            stream.copy_to_device(&input[chunk], arrived)?;
            stream.launch(grind, grind_fma(&arrived.slice(..n), &computed.slice(..n), ITERS, A, B))?;
            stream.copy_to_host(computed, &result[chunk])?;
        }
        Ok(())
    })
}
