//! The course's exercise: the diamond on two branch streams.

use gpu::forkjoin::{grind_fma, sum_four};
use host::lab::Lab;
use host::lessons::forkjoin::{A, BRANCH_B, THREADS, UPSTREAM_B};
use host::measure::Statistics;
use host::reference::diamond;
use streamlab::{DeviceBuffer, Error, LaunchConfig, Stream, StreamKind};

use crate::task::{Prediction, Task, Write, grinds, input};

const ELEMS: usize = 1 << 18;
const BLOCKS: u32 = 8;
const ITERS: u32 = 512;

pub const TASK: Task = Task {
    name: "fork2",
    needs: None,
    writes,
    prediction: Prediction {
        unit: ["grind_fma kernel", "grind_fma kernels"],
        depth: 3,
        serial_depth: 5,
        units: grinds,
    },
    want: || diamond(&input(ELEMS), A, UPSTREAM_B, &BRANCH_B, ITERS),
    has: |_, _| None,
    shows: |_| None,
    serial,
};

fn writes() -> Vec<Write> {
    let write = |buffer: &str, call: String| Write { buffer: buffer.to_owned(), times: 1, call };
    let branch = |j: usize| {
        let call =
            format!("stream.launch(grind, grind_fma(&mid, &branch{j}, ITERS, A, {:?}))?", BRANCH_B[j - 1]);
        write(&format!("branch{j}"), call)
    };
    let upstream = "main.launch(grind, grind_fma(&input, &mid, ITERS, A, 1.0))?";
    let sum = "main.launch(add, sum_four(&branch1, &branch2, &branch3, &branch4, &sum))";
    let (upstream, sum) = (write("mid", upstream.to_owned()), write("sum", sum.to_owned()));
    [upstream].into_iter().chain((1..=4).map(branch)).chain([sum]).collect()
}

fn serial(lab: &mut Lab<'_>) -> Result<Statistics, Error> {
    let context = lab.context();
    let buffer = |name| DeviceBuffer::new(context, name, ELEMS);
    let input = DeviceBuffer::from_slice(context, "input", &input(ELEMS))?;
    let (mid, sum) = (buffer("mid")?, buffer("sum")?);
    let [b1, b2, b3, b4] = [buffer("branch1")?, buffer("branch2")?, buffer("branch3")?, buffer("branch4")?];
    let stream = Stream::new(context, "serial", StreamKind::NonBlocking)?;
    let grind = LaunchConfig::new(BLOCKS, THREADS);
    lab.time_synchronized("serial", || {
        stream.launch(grind, grind_fma(&input, &mid, ITERS, A, UPSTREAM_B))?;
        for (branch, b) in [&b1, &b2, &b3, &b4].into_iter().zip(BRANCH_B) {
            stream.launch(grind, grind_fma(&mid, branch, ITERS, A, b))?;
        }
        stream.launch(LaunchConfig::for_elements(ELEMS, THREADS), sum_four(&b1, &b2, &b3, &b4, &sum))
    })
}
