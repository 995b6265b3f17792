//! The diamond and its two siblings: three orders of the same launches.

use crate::args;
use crate::submit::{Buffer, Context, Error, Event, Executable, Graph, Launch, Range, Stream, StreamKind};

/// Threads of a block, eight warps.
pub const THREADS: u32 = 256;
/// `x = A * x + b` stays near `b / (1 - A)`.
pub const A: f32 = 0.999;
/// The upstream kernel's `b`.
pub const UPSTREAM_B: f32 = 1.0;
/// The first branch's `b`; each further branch doubles it, so that no branch can pass for another.
const FIRST_BRANCH_B: f32 = 0.125;

/// The `b` of branch `j`, from 0.
pub fn branch_b(branch: u32) -> f32 {
    FIRST_BRANCH_B * 2.0_f32.powi(branch.cast_signed())
}

/// Everything that the three orders of submission share.
pub struct Diamond<'c> {
    context: &'c Context,
    blocks: u32,
    iters: u32,
    elems: usize,
    main: Stream<'c>,
    branches: Vec<Branch<'c>>,
    fork: Event<'c>,
    fork_too_early: Event<'c>,
    input: Buffer<'c, f32>,
    mid: Buffer<'c, f32>,
    /// What the join adds where it has fewer than four buffers left to add.
    zeros: Buffer<'c, f32>,
    /// The join's sums, each over the one before; the last is the result.
    sums: Vec<Buffer<'c, f32>>,
}

struct Branch<'c> {
    stream: Stream<'c>,
    done: Event<'c>,
    out: Buffer<'c, f32>,
    b: f32,
}

impl<'c> Diamond<'c> {
    /// Allocates and copies the input; the streams are blocking ones.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn new(context: &'c Context, options: &args::ForkJoin, input: &[f32]) -> Result<Self, Error> {
        let elems = input.len();
        let branches = (0..options.branches)
            .map(|j| {
                Ok(Branch {
                    stream: Stream::new(context, &format!("s{}", j + 1), StreamKind::Blocking)?,
                    done: Event::ordering(context, &format!("done{}", j + 1))?,
                    out: Buffer::new(context, &format!("branch{}", j + 1), elems)?,
                    b: branch_b(j),
                })
            })
            .collect::<Result<Vec<_>, Error>>()?;
        let sums = (0..sums(options.branches))
            .map(|k| Buffer::new(context, &format!("sum{k}"), elems))
            .collect::<Result<Vec<_>, Error>>()?;
        let diamond = Diamond {
            context,
            blocks: options.blocks,
            iters: options.iters,
            elems,
            main: Stream::new(context, "s0", StreamKind::Blocking)?,
            branches,
            fork: Event::ordering(context, "fork")?,
            fork_too_early: Event::ordering(context, "fork-too-early")?,
            input: Buffer::from_slice(context, "input", input)?,
            mid: Buffer::new(context, "mid", elems)?,
            zeros: Buffer::new(context, "zeros", elems)?,
            sums,
        };
        diamond.main.zero(&diamond.zeros)?;
        Ok(diamond)
    }

    /// The diamond. Each call returns as soon as its work is queued.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn submit_diamond(&self) -> Result<(), Error> {
        {
            let _range = Range::new(self.context, "upstream");
            self.upstream()?;
            self.main.record(&self.fork)?;
        }
        {
            let _range = Range::new(self.context, "fork");
            self.fork_after(&self.fork)?;
        }
        let _range = Range::new(self.context, "join");
        self.join()
    }

    /// The same launches in one stream, without an event.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn submit_serial(&self) -> Result<(), Error> {
        let _range = Range::new(self.context, "serial");
        self.upstream()?;
        for branch in &self.branches {
            self.grind(&self.main, &self.mid, &branch.out, branch.b)?;
        }
        self.sum()
    }

    /// The diamond with one line moved: the record stands before the launch that it should cover, so the event stands
    /// for an empty stream, and every branch races the kernel that feeds it.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer; the missing order is not one.
    pub fn submit_broken(&self) -> Result<(), Error> {
        let _range = Range::new(self.context, "broken-order");
        self.main.record(&self.fork_too_early)?;
        self.upstream()?;
        self.fork_after(&self.fork_too_early)?;
        self.join()
    }

    /// Captures one of the three.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn capture(&self, submit: impl FnOnce(&Self) -> Result<(), Error>) -> Result<Graph<'c>, Error> {
        self.main.capture(|| submit(self))
    }

    /// Launches what was captured.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn launch(&self, graph: &Executable<'_>) -> Result<(), Error> {
        self.main.launch_graph(graph)
    }

    fn upstream(&self) -> Result<(), Error> {
        self.grind(&self.main, &self.input, &self.mid, UPSTREAM_B)
    }

    fn fork_after(&self, event: &Event<'_>) -> Result<(), Error> {
        for branch in &self.branches {
            branch.stream.wait(event)?;
            self.grind(&branch.stream, &self.mid, &branch.out, branch.b)?;
            branch.stream.record(&branch.done)?;
        }
        Ok(())
    }

    fn join(&self) -> Result<(), Error> {
        for branch in &self.branches {
            self.main.wait(&branch.done)?;
        }
        self.sum()
    }

    #[track_caller]
    fn grind(
        &self,
        stream: &Stream<'_>,
        from: &Buffer<'_, f32>,
        to: &Buffer<'_, f32>,
        b: f32,
    ) -> Result<(), Error> {
        stream
            .launch(&Launch::new(self.blocks, THREADS), gpu::forkjoin::grind_fma(from, to, self.iters, A, b))
    }

    /// `sum_four` over the branches in order: the first four, then the sum so far with three more at a time.
    fn sum(&self) -> Result<(), Error> {
        let blocks = u32::try_from(self.elems.div_ceil(THREADS as usize)).unwrap_or(u32::MAX);
        let mut left = self.branches.iter().map(|branch| &branch.out);
        let mut sum_so_far = None;
        for sum in &self.sums {
            let mut next = || left.next().unwrap_or(&self.zeros);
            let first = sum_so_far.unwrap_or_else(&mut next);
            let call = gpu::forkjoin::sum_four(first, next(), next(), next(), sum);
            self.main.launch(&Launch::new(blocks, THREADS), call)?;
            sum_so_far = Some(sum);
        }
        Ok(())
    }

    /// Waits on the host for each of the streams.
    ///
    /// # Errors
    ///
    /// Whatever went wrong on the card.
    pub fn synchronize(&self) -> Result<(), Error> {
        self.branches
            .iter()
            .map(|branch| &branch.stream)
            .chain([&self.main])
            .try_for_each(Stream::synchronize)
    }

    /// Zeroes what the branches read, so that one which runs too early shows.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn zero_mid(&self) -> Result<(), Error> {
        self.main.zero(&self.mid)?;
        self.main.synchronize()
    }

    /// Asks the ordering events for a time, which they do not have.
    ///
    /// # Errors
    ///
    /// Always, if the driver keeps its word.
    pub fn time_by_ordering_events(&self) -> Result<f32, Error> {
        let done = self.branches.first().map_or(&self.fork_too_early, |branch| &branch.done);
        Event::elapsed_ms(&self.fork, done)
    }

    /// The joined sum.
    ///
    /// # Errors
    ///
    /// Whatever went wrong on the card.
    pub fn result(&self) -> Result<Vec<f32>, Error> {
        let mut result = vec![0.0; self.elems];
        self.sums.last().map_or(Ok(()), |sum| sum.copy_to(&mut result))?;
        Ok(result)
    }
}

/// Launches of `sum_four` that add up `branches` buffers.
fn sums(branches: u32) -> u32 {
    branches.saturating_sub(1).div_ceil(3).max(1)
}
