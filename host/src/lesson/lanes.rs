//! The streams lesson's buffers and streams, and its four parts: the same launches, submitted four ways.

use serde::Serialize;

use crate::submit::{Buffer, Card, Context, Error, Launch, Stream, StreamKind};

/// Threads of a block, eight warps.
pub const THREADS: u32 = 256;
/// Blocks of the spin: few, so that it leaves room.
pub const SMALL_BLOCKS: u32 = 8;
/// Waves of resident blocks in a full grid: with a second one queued the card stays full to the end.
pub const WAVES: u32 = 2;
/// Sweeps in a row, so that there is something to hide.
const SWEEPS: u32 = 4;
/// Buffers are at least so many times the L2 cache, so that a sweep is about memory.
const L2_MULTIPLE: usize = 4;
/// Elements of a buffer that no cache of the card holds.
pub fn large_elems(card: &Card) -> usize {
    (L2_MULTIPLE * card.l2_bytes as usize / size_of::<f32>()).next_multiple_of(1 << 20).max(1 << 24)
}

/// What will run on this card.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// Elements of each large buffer.
    pub elems: usize,
    /// Blocks of a grid that fills the card.
    pub full_blocks: u32,
    /// Blocks of the spin.
    pub small_blocks: u32,
    /// Blocks that are resident on the card at once.
    pub resident_blocks: u32,
}

impl Plan {
    /// Sizes from the card, except those that were asked for.
    pub fn new(card: &Card, resident_blocks: u32, elems: Option<u64>) -> Self {
        Plan {
            elems: elems.map_or_else(|| large_elems(card), |elems| elems as usize),
            full_blocks: WAVES * resident_blocks,
            small_blocks: SMALL_BLOCKS,
            resident_blocks,
        }
    }
}

/// The buffers and streams of the lesson.
pub struct Lanes<'c> {
    context: &'c Context,
    pub(super) plan: Plan,
    pub(super) legacy: Stream<'c>,
    non_blocking: [Stream<'c>; 2],
    blocking: Stream<'c>,
    pub(super) input: Buffer<'c, f32>,
    pub(super) added: Buffer<'c, f32>,
    pub(super) scaled: Buffer<'c, f32>,
    pub(super) spun: Buffer<'c, u32>,
}

impl<'c> Lanes<'c> {
    /// Allocates and copies the input.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn new(context: &'c Context, plan: Plan, input: &[f32]) -> Result<Self, Error> {
        let stream = |name, kind| Stream::new(context, name, kind);
        let lanes = Lanes {
            context,
            plan,
            legacy: stream("legacy default stream", StreamKind::Legacy)?,
            non_blocking: [stream("A", StreamKind::NonBlocking)?, stream("B", StreamKind::NonBlocking)?],
            blocking: stream("C", StreamKind::Blocking)?,
            added: Buffer::new(context, "added", plan.elems)?,
            scaled: Buffer::new(context, "scaled", plan.elems)?,
            spun: Buffer::new(context, "spun", (plan.small_blocks * THREADS) as usize)?,
            input: Buffer::from_slice(context, "input", input)?,
        };
        // The input went to the card on the legacy default stream, which the non-blocking ones do not wait for.
        context.synchronize()?;
        Ok(lanes)
    }

    /// The context that everything here is of.
    pub(super) fn context(&self) -> &'c Context {
        self.context
    }

    pub(super) fn spin(&self, stream: &Stream<'_>, steps: u32) -> Result<(), Error> {
        stream
            .launch(&Launch::new(self.plan.small_blocks, THREADS), gpu::streams::spin_lcg(&self.spun, steps))
    }

    pub(super) fn add(&self, stream: &Stream<'_>) -> Result<(), Error> {
        let launch = Launch::new(self.plan.full_blocks, THREADS);
        (0..SWEEPS)
            .try_for_each(|_| stream.launch(&launch, gpu::streams::sweep_add(&self.input, &self.added)))
    }

    pub(super) fn scale(&self, stream: &Stream<'_>) -> Result<(), Error> {
        let launch = Launch::new(self.plan.full_blocks, THREADS);
        (0..SWEEPS)
            .try_for_each(|_| stream.launch(&launch, gpu::streams::sweep_scale(&self.input, &self.scaled)))
    }

    /// Part 1: everything in one stream.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn one_stream(&self, steps: u32) -> Result<(), Error> {
        self.spin(&self.legacy, steps)?;
        self.add(&self.legacy)
    }

    /// Part 2: two streams that nothing orders.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn two_streams(&self, steps: u32) -> Result<(), Error> {
        self.spin(&self.non_blocking[0], steps)?;
        self.add(&self.non_blocking[1])
    }

    /// Part 3: two streams again, but the legacy default stream waits for every blocking one.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn legacy_trap(&self, steps: u32) -> Result<(), Error> {
        self.spin(&self.blocking, steps)?;
        self.add(&self.legacy)
    }

    /// Part 4: two streams that nothing orders, and no room for both.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn two_full_grids(&self) -> Result<(), Error> {
        self.add(&self.non_blocking[0])?;
        self.scale(&self.non_blocking[1])
    }
}
