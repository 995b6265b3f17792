//! Copies and kernels of several chunks on two streams.

use gpu::forkjoin::grind_fma;
use host::lab::Lab;
use host::lessons::forkjoin::{A, THREADS};
use host::measure::Statistics;
use host::reference;
use stream_order::program::{Action, Operation};
use streamlab::{DeviceBuffer, Error, LaunchConfig, PinnedBuffer, Stream, StreamKind};

use crate::task::{Prediction, Task, Write};

const CHUNKS: usize = 4;
/// Streams, and chunks that are on the device at a time.
const SLOTS: usize = 2;
/// Elements of a chunk but the last: 2 MiB.
const ELEMS: usize = 1 << 19;
/// The last chunk is shorter: 10 elements are no multiple of anything.
const LAST_ELEMS: usize = ELEMS - 10;
const BLOCKS: u32 = 64;
const ITERS: u32 = 256;
const B: f32 = 0.25;

pub const TASK: Task = Task {
    name: "pipeline",
    needs: None,
    writes,
    prediction: Prediction {
        unit: ["copy or kernel", "copies and kernels"],
        depth: 3 * (CHUNKS / SLOTS) as u64,
        serial_depth: 3 * CHUNKS as u64,
        units,
    },
    want: || (0..CHUNKS).map(|chunk| computed(&data(chunk))).collect::<Vec<_>>().concat(),
    has: |_, _| None,
    shows: |_| None,
    serial,
};

fn units(operation: &Operation) -> u64 {
    u64::from(matches!(operation.action, Action::Launch(_) | Action::Copy(_)))
}

fn writes() -> Vec<Write> {
    let write = |buffer: String, times, call: &str| Write { buffer, times, call: call.to_owned() };
    let mut writes = Vec::new();
    for slot in 0..SLOTS {
        let call = "stream.copy_to_device(&input[chunk], arrived)?";
        writes.push(write(format!("arrived{slot}"), CHUNKS / SLOTS, call));
        let call = "stream.launch(grind, grind_fma(&arrived.slice(..n), &computed.slice(..n), ITERS, A, B))?";
        writes.push(write(format!("computed{slot}"), CHUNKS / SLOTS, call));
    }
    let call = "stream.copy_to_host(computed, &result[chunk])?";
    writes.extend((0..CHUNKS).map(|chunk| write(format!("result{chunk}"), 1, call)));
    writes
}

fn elems(chunk: usize) -> usize {
    if chunk + 1 == CHUNKS { LAST_ELEMS } else { ELEMS }
}

fn data(chunk: usize) -> Vec<f32> {
    (0..elems(chunk)).map(|i| ((chunk + i) % 251) as f32 * 0.01).collect()
}

fn computed(data: &[f32]) -> Vec<f32> {
    let mut computed = vec![0.0; data.len()];
    reference::grind_fma(data, &mut computed, A, B, ITERS);
    computed
}

fn serial(lab: &mut Lab<'_>) -> Result<Statistics, Error> {
    let context = lab.context();
    let (mut input, mut result) = (Vec::new(), Vec::new());
    for chunk in 0..CHUNKS {
        // How long it takes does not depend on the data.
        input.push(PinnedBuffer::from_slice(context, "input", &vec![0.0; elems(chunk)])?);
        result.push(PinnedBuffer::<f32>::new(context, "result", elems(chunk))?);
    }
    let arrived = DeviceBuffer::new(context, "arrived", ELEMS)?;
    let computed = DeviceBuffer::new(context, "computed", ELEMS)?;
    let stream = Stream::new(context, "serial", StreamKind::NonBlocking)?;
    let grind = LaunchConfig::new(BLOCKS, THREADS);
    lab.time_synchronized("serial", || {
        for (input, result) in input.iter().zip(&result) {
            let n = input.len();
            stream.copy_to_device(input, &arrived)?;
            stream.launch(grind, grind_fma(&arrived.slice(..n), &computed.slice(..n), ITERS, A, B))?;
            stream.copy_to_host(&computed, result)?;
        }
        Ok(())
    })
}
