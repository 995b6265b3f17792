//! The course's exercise: the diamond on two branch streams.

use super::{Exercise, Part, Prediction, check};
use crate::compare::compare;
use crate::gate::{Gate, correctness};
use crate::lesson::diamond::{A, THREADS, UPSTREAM_B, branch_b};
use crate::reference;
use crate::submit::{Buffer, Context, Error, Event, Launch, Operation, Stream, StreamKind};

#[path = "../../../exercises/solutions/fork2.rs"]
pub mod solution;
#[path = "../../../exercises/fork2.rs"]
pub mod yours;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "fork2",
    task: "put the four branches of the diamond on two streams, two on each, and let the join follow all four",
    hints: &[
        "Nothing about correctness depends on the number of streams. Count what stands between the last element of the \
         upstream kernel and the first of the join, in grind kernels: with four branch streams, and with two.",
        "Two kernels in one stream are in order by themselves. So each branch stream needs one wait before its first \
         kernel and one record behind its second: two `done` events are enough, and the join waits for both.",
        "The order of the lines is: upstream, record `fork`; for each branch stream: wait `fork`, branch, branch, record \
         its done event; wait for both on `main`, join.",
    ],
    solution: include_str!("../../../exercises/solutions/fork2.rs"),
    check: |context, options, report| check::<Lab<'_>>(context, options, report, yours::submit),
};

const BRANCHES: u32 = 4;
const ELEMS: usize = 1 << 18;
const BLOCKS: u32 = 8;
const ITERS: u32 = 512;

/// What you have: three streams, three events, and the six launches of the diamond.
pub struct Lab<'c> {
    /// The stream of the upstream kernel and of the join.
    pub main: Stream<'c>,
    /// A branch stream.
    pub left: Stream<'c>,
    /// The other branch stream.
    pub right: Stream<'c>,
    /// For the work that the branches need.
    pub fork: Event<'c>,
    /// For the work of `left`.
    pub left_done: Event<'c>,
    /// For the work of `right`.
    pub right_done: Event<'c>,
    input: Buffer<'c, f32>,
    mid: Buffer<'c, f32>,
    branches: Vec<Buffer<'c, f32>>,
    sum: Buffer<'c, f32>,
    want: Vec<f32>,
}

impl<'c> Lab<'c> {
    /// Launches the kernel that feeds the branches: one grind kernel.
    ///
    /// # Errors
    ///
    /// Any error of the launch.
    #[track_caller]
    pub fn upstream(&self, stream: &Stream<'_>) -> Result<(), Error> {
        self.grind(stream, &self.input, &self.mid, UPSTREAM_B)
    }

    /// Launches a branch, 0 to 3: one grind kernel.
    ///
    /// # Errors
    ///
    /// Any error of the launch.
    ///
    /// # Panics
    ///
    /// When there is no such branch.
    #[track_caller]
    pub fn branch(&self, branch: usize, stream: &Stream<'_>) -> Result<(), Error> {
        self.grind(stream, &self.mid, &self.branches[branch], branch_b(branch as u32))
    }

    /// Launches the sum of the four branches.
    ///
    /// # Errors
    ///
    /// Any error of the launch.
    #[track_caller]
    pub fn join(&self, stream: &Stream<'_>) -> Result<(), Error> {
        let [b0, b1, b2, b3] = [0, 1, 2, 3].map(|branch| &self.branches[branch]);
        let launch = Launch::new(ELEMS.div_ceil(THREADS as usize) as u32, THREADS);
        stream.launch(&launch, gpu::forkjoin::sum_four(b0, b1, b2, b3, &self.sum))
    }

    #[track_caller]
    fn grind(
        &self,
        stream: &Stream<'_>,
        from: &Buffer<'_, f32>,
        to: &Buffer<'_, f32>,
        b: f32,
    ) -> Result<(), Error> {
        stream.launch(&Launch::new(BLOCKS, THREADS), gpu::forkjoin::grind_fma(from, to, ITERS, A, b))
    }
}

impl<'c> super::Lab<'c> for Lab<'c> {
    fn new(context: &'c Context) -> Result<Self, Error> {
        let input: Vec<f32> = (0..ELEMS).map(|i| (i % 251) as f32 * 0.01).collect();
        let offsets: Vec<f32> = (0..BRANCHES).map(branch_b).collect();
        let stream = |name| Stream::new(context, name, StreamKind::NonBlocking);
        let branch = |j| Buffer::new(context, &format!("branch{j}"), ELEMS);
        Ok(Lab {
            main: stream("main")?,
            left: stream("left")?,
            right: stream("right")?,
            fork: Event::ordering(context, "fork")?,
            left_done: Event::ordering(context, "left_done")?,
            right_done: Event::ordering(context, "right_done")?,
            mid: Buffer::new(context, "mid", ELEMS)?,
            branches: (0..BRANCHES).map(branch).collect::<Result<_, _>>()?,
            sum: Buffer::new(context, "sum", ELEMS)?,
            want: reference::diamond(&input, A, UPSTREAM_B, &offsets, ITERS),
            input: Buffer::from_slice(context, "input", &input)?,
        })
    }

    fn reset(&self) -> Result<(), Error> {
        self.main.zero(&self.mid)?;
        self.branches.iter().try_for_each(|branch| self.main.zero(branch))?;
        self.main.zero(&self.sum)?;
        self.main.synchronize()
    }

    fn serial(&self) -> Result<(), Error> {
        self.upstream(&self.main)?;
        (0..BRANCHES as usize).try_for_each(|branch| self.branch(branch, &self.main))?;
        self.join(&self.main)
    }

    fn parts(&self) -> Vec<Part> {
        let part = |memory: &Buffer<'_, f32>, how: &str| Part {
            memory: memory.name().to_owned(),
            times: 1,
            how: how.to_owned(),
        };
        let branches = self.branches.iter().enumerate();
        let branches = branches.map(|(j, branch)| part(branch, &format!("lab.branch({j}, stream)?")));
        [part(&self.mid, "lab.upstream(stream)?")]
            .into_iter()
            .chain(branches)
            .chain([part(&self.sum, "lab.join(stream)?")])
            .collect()
    }

    fn prediction(&self) -> Prediction {
        Prediction { unit: "grind kernels", depth: 3, serial_depth: 5, units: grinds }
    }

    fn result(&self) -> Result<Gate, Error> {
        let mut got = vec![0.0; ELEMS];
        self.sum.copy_to(&mut got)?;
        Ok(correctness("the sum", &compare(&got, &self.want, 1e-6)))
    }
}

/// A grind kernel is one unit, and the sum next to nothing.
pub(super) fn grinds(operation: &Operation) -> u64 {
    matches!(operation, Operation::Launch { kernel, .. } if kernel.name == gpu::forkjoin::grind_fma::KERNEL.name)
        .into()
}
