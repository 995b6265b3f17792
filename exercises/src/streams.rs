//! Two kernels that overlap, and a third that needs both: the legacy default stream in the way.

use gpu::forkjoin::{grind_fma, sum_four};
use host::lab::Lab;
use host::lessons::forkjoin::{A, THREADS};
use host::measure::Statistics;
use host::reference;
use streamlab::{DeviceBuffer, Error, LaunchConfig, Stream, StreamKind};

use crate::task::{Prediction, Task, Write, grinds, input};

const ELEMS: usize = 1 << 18;
const BLOCKS: u32 = 8;
const ITERS: u32 = 512;
/// What the two kernels add in each step.
const ADDED: [f32; 2] = [0.25, 0.5];

pub const TASK: Task = Task {
    name: "streams",
    needs: None,
    writes,
    prediction: Prediction {
        unit: ["grind_fma kernel", "grind_fma kernels"],
        depth: 1,
        serial_depth: 2,
        units: grinds,
    },
    want,
    has: |_, _| None,
    shows: |_| None,
    serial,
};

fn writes() -> Vec<Write> {
    let calls = [
        ("first", "a.launch(grind, grind_fma(&input, &first, ITERS, A, 0.25))?"),
        ("second", "b.launch(grind, grind_fma(&input, &second, ITERS, A, 0.5))?"),
        ("out", "b.launch(add, sum_four(&first, &second, &zeros, &zeros, &out))"),
    ];
    calls.map(|(buffer, call)| Write { buffer: buffer.to_owned(), times: 1, call: call.to_owned() }).into()
}

fn want() -> Vec<f32> {
    let [first, second] = ADDED.map(|b| {
        let mut made = vec![0.0; ELEMS];
        reference::grind_fma(&input(ELEMS), &mut made, A, b, ITERS);
        made
    });
    first.iter().zip(&second).map(|(first, second)| first + second).collect()
}

fn serial(lab: &mut Lab<'_>) -> Result<Statistics, Error> {
    let context = lab.context();
    let buffer = |name| DeviceBuffer::new(context, name, ELEMS);
    let input = DeviceBuffer::from_slice(context, "input", &input(ELEMS))?;
    let (first, second, out) = (buffer("first")?, buffer("second")?, buffer("out")?);
    let zeros = DeviceBuffer::zeroed(context, "zeros", ELEMS)?;
    let stream = Stream::new(context, "serial", StreamKind::NonBlocking)?;
    let grind = LaunchConfig::new(BLOCKS, THREADS);
    lab.time_synchronized("serial", || {
        stream.launch(grind, grind_fma(&input, &first, ITERS, A, ADDED[0]))?;
        stream.launch(grind, grind_fma(&input, &second, ITERS, A, ADDED[1]))?;
        let add = LaunchConfig::for_elements(ELEMS, THREADS);
        stream.launch(add, sum_four(&first, &second, &zeros, &zeros, &out))
    })
}
