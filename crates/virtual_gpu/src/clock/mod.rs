//! When things happen: a discrete-event model of a card, in virtual time.
//!
//! Operations are put into streams and start when their turn has come (`order`). A kernel's blocks are placed on
//! multiprocessors (`sm`, `residency`), share their schedulers (`issue`) and the memory system (`traffic`, `l2`); copies
//! go through engines (`transfers`). What a block does is its own business (`crate::segment`); the clock says when. The same
//! input gives the same picoseconds: nothing here looks at real time, draws a random number, or depends on how many host
//! threads compute (`compute`).
//!
//! The rule that lets several compute at once: after an access, what a block does next is known to others only
//! [`issue_latency_cycles`](crate::card::MemorySystem::issue_latency_cycles) later, though it begins at once. Until then
//! nobody needs to know what it costs.
//!
//! Not modelled: the L1 cache (each load goes to the L2), bank conflicts of shared memory beyond what `exec` counts, atomics
//! that meet at one address, the limit of hardware queues, preemption, clock changes with load.

mod blocks;
mod compute;
mod grid;
mod issue;
mod l2;
mod order;
mod queue;
mod residency;
mod sm;
mod time;
mod traffic;
mod transfers;
mod work;

pub use order::{OpId, StreamId, StreamKind};
pub use residency::Footprint;
pub use time::{NS, Picos, of_bytes};
pub use work::{Launch, Part, Route, Transfer, Work};

use crate::card::Card;
use crate::memory::{Fault, Memory};
use blocks::{Block, BlockId};
use compute::Workers;
use grid::Grid;
use order::{OpKind, Order, Ready};
use queue::Queue;
use sm::Sms;
use std::collections::{BTreeMap, BTreeSet};
use traffic::Traffic;
use transfers::{Engine, Engines};

/// When operations run, of all the times that the order allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// As the card would: as soon as their turn has come.
    #[default]
    Card,
    /// As late as the order allows: one after the other, and only what the host waits for; of what is not ordered, what was
    /// submitted first comes last. A program that is right by luck is wrong then. A kernel that may start early does so when
    /// the one before it lets it, whatever records and waits stand between the two.
    Late,
}

/// Why the clock stopped before what was asked for.
#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    /// A kernel's fault. The clock has forgotten everything that was under way.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
    /// Nothing is left to happen, and the operation is not complete.
    #[error(
        "the virtual card came to a standstill: an operation can never start; report this as a bug of the model"
    )]
    Standstill,
}

/// What happens at a time.
enum Event {
    /// An operation's turn has come.
    Start(OpId),
    /// A kernel's first block can be placed.
    Admit(OpId),
    /// The front end can place a block.
    Place,
    /// A block's stretches are needed.
    Collect(BlockId),
    /// A block's next stretch begins.
    Begin(BlockId),
    /// A stretch on this multiprocessor ends, if the announcement still holds.
    StretchEnd { sm: usize, announced: u64 },
    /// An engine has moved a part.
    Moved(Engine),
    /// An operation is complete.
    Complete(OpId),
}

/// The clock of one card.
pub struct Clock {
    card: Card,
    schedule: Schedule,
    workers: Workers,
    now: Picos,
    queue: Queue<Event>,
    order: Order,
    /// What operations that have not started will do.
    work: BTreeMap<OpId, Work>,
    grids: BTreeMap<OpId, Grid>,
    /// Kernels with blocks to place, in the order in which they get to.
    admitted: Vec<OpId>,
    place_from: Picos,
    place_announced: bool,
    blocks: Vec<Option<Block>>,
    free_blocks: Vec<BlockId>,
    sms: Sms,
    traffic: Traffic,
    engines: Engines,
}

impl Clock {
    /// The clock of a card that is idle, with so many host threads to compute on.
    pub fn new(card: Card, schedule: Schedule, threads: usize) -> Self {
        Clock {
            schedule,
            workers: Workers::new(threads),
            now: 0,
            queue: Queue::new(),
            order: Order::new(card.front.cross_stream_ns * NS),
            work: BTreeMap::new(),
            grids: BTreeMap::new(),
            admitted: Vec::new(),
            place_from: 0,
            place_announced: false,
            blocks: Vec::new(),
            free_blocks: Vec::new(),
            sms: Sms::new(&card),
            traffic: Traffic::new(&card),
            engines: Engines::default(),
            card,
        }
    }

    /// Makes a stream of a context.
    pub fn add_stream(&mut self, context: u32, kind: StreamKind) -> StreamId {
        self.order.add_stream(context, kind)
    }

    /// Forgets a stream; what is in it still runs.
    pub fn remove_stream(&mut self, stream: StreamId) {
        self.order.remove_stream(stream);
    }

    /// The operation that was last put into the stream.
    pub fn last(&self, stream: StreamId) -> Option<OpId> {
        self.order.last(stream)
    }

    /// Puts an operation into a stream. It reaches the card at `arrival`, and waits for the operations in `after` beside
    /// those that its stream implies.
    pub fn submit(&mut self, stream: StreamId, arrival: Picos, after: &[OpId], work: Work) -> OpId {
        let kind = match &work {
            Work::Kernel(Launch { early: true, .. }) => OpKind::EarlyKernel,
            Work::Kernel(_) => OpKind::Kernel,
            Work::Transfer(_) => OpKind::Other,
            Work::Nothing | Work::Timestamp if self.schedule == Schedule::Late => OpKind::Mark,
            // What keeps a dependent kernel behind the one before it, and what does not, is as an H200 has it: 20 stale reads
            // of 20 behind a record without a timestamp and behind a wait for what is complete, 0 of 20 behind others.
            Work::Nothing if after.iter().all(|&op| self.order.is_complete(op)) => OpKind::Mark,
            Work::Nothing | Work::Timestamp => OpKind::Other,
        };
        let held = self.schedule == Schedule::Late;
        let arrival = arrival.max(self.now);
        let (op, ready) = self.order.submit(stream, arrival, after, kind, held);
        self.work.insert(op, work);
        self.start_all(ready);
        op
    }

    /// Whether the operation is complete, as of the time that the clock has come to.
    pub fn is_complete(&self, op: OpId) -> bool {
        self.order.is_complete(op)
    }

    /// When the operation was complete.
    pub fn complete_at(&self, op: OpId) -> Option<Picos> {
        self.order.complete_at(op)
    }

    /// The time that the clock has come to.
    pub fn now(&self) -> Picos {
        self.now
    }

    /// Lets everything happen that happens by `until`.
    ///
    /// # Errors
    ///
    /// A kernel's fault.
    pub fn advance(&mut self, memory: &mut Memory, until: Picos) -> Result<(), Stopped> {
        self.run(memory, |clock| clock.queue.next_at().is_none_or(|at| at > until))
    }

    /// Lets everything happen until the operation is complete, and returns when it was; `from` is when the host began to
    /// wait.
    ///
    /// # Errors
    ///
    /// A kernel's fault, or a standstill.
    pub fn finish(&mut self, memory: &mut Memory, from: Picos, op: OpId) -> Result<Picos, Stopped> {
        if self.schedule == Schedule::Late {
            let all = self.order.needed_for(op);
            let is_needed: BTreeSet<OpId> = all.iter().copied().collect();
            for op in all {
                // Whoever may start early is there when it is let.
                let mut next = Some(op);
                while let Some(op) = next.filter(|op| is_needed.contains(op)) {
                    let ready = self.order.release(op, from.max(self.now));
                    self.start_all(ready);
                    next = self.order.secondary(op);
                }
                self.run(memory, |clock| clock.order.is_complete(op))?;
            }
        }
        self.run(memory, |clock| clock.order.is_complete(op))?;
        self.order.complete_at(op).ok_or(Stopped::Standstill)
    }

    /// Lets everything happen until all operations are complete, and returns when the last of them was.
    ///
    /// # Errors
    ///
    /// A kernel's fault, or a standstill.
    pub fn finish_all(&mut self, memory: &mut Memory, from: Picos) -> Result<Picos, Stopped> {
        let mut last = from;
        // From behind: with the late schedule, what was submitted first comes last.
        while let Some(op) = self.order.last_pending() {
            last = last.max(self.finish(memory, from, op)?);
        }
        Ok(last)
    }

    /// Gives up everything that is under way.
    pub fn abandon(&mut self) {
        self.queue.clear();
        self.order.abandon(self.now);
        self.work.clear();
        self.grids.clear();
        self.admitted.clear();
        self.place_announced = false;
        self.blocks.clear();
        self.free_blocks.clear();
        self.sms.clear();
        self.engines = Engines::default();
    }

    fn run(&mut self, memory: &mut Memory, over: impl Fn(&Clock) -> bool + Send) -> Result<(), Stopped> {
        if over(self) {
            return Ok(());
        }
        // The pool belongs to the clock, which is to run on it.
        let workers = std::mem::replace(&mut self.workers, Workers::Caller);
        let stopped = workers.run(|| self.events(memory, over, &workers));
        self.workers = workers;
        if stopped.is_err() {
            self.abandon();
        }
        stopped
    }

    fn events(
        &mut self,
        memory: &mut Memory,
        over: impl Fn(&Clock) -> bool,
        workers: &Workers,
    ) -> Result<(), Stopped> {
        while !over(self) {
            let (at, event) = self.queue.pop().ok_or(Stopped::Standstill)?;
            self.now = at;
            match event {
                Event::Start(op) => self.start(op),
                Event::Admit(op) => self.admit(op),
                Event::Place => self.place(workers),
                Event::Collect(block) => self.collect(block, memory, workers)?,
                Event::Begin(block) => self.begin(block, memory, workers)?,
                Event::StretchEnd { sm, announced } => self.stretch_end(sm, announced, memory, workers)?,
                Event::Moved(engine) => self.moved(engine, memory),
                Event::Complete(op) => self.complete(op, workers),
            }
        }
        Ok(())
    }

    fn start_all(&mut self, ready: impl IntoIterator<Item = Ready>) {
        for (op, at) in ready {
            self.queue.push(at.max(self.now), Event::Start(op));
        }
    }

    fn start(&mut self, op: OpId) {
        let (timestamp, kernel_start) =
            (self.card.front.timestamp_ns * NS, self.card.front.kernel_start_ns * NS);
        match self.work.remove(&op) {
            None | Some(Work::Nothing) => self.queue.push(self.now, Event::Complete(op)),
            Some(Work::Timestamp) => self.queue.push(self.now + timestamp, Event::Complete(op)),
            Some(Work::Kernel(launch)) => {
                self.queue.push(self.now + kernel_start, Event::Admit(op));
                self.grids.insert(op, Grid::new(launch, &self.card.sm));
            }
            Some(Work::Transfer(transfer)) => self.start_transfer(op, transfer),
        }
    }

    fn complete(&mut self, op: OpId, workers: &Workers) {
        if self.order.primary(op).is_some() {
            // Complete once the kernel that let it start early is; see `release_secondary`.
            if let Some(grid) = self.grids.get_mut(&op) {
                grid.ended = true;
            }
            return;
        }
        self.grids.remove(&op);
        let secondary = self.order.secondary(op);
        let ready = self.order.complete(op, self.now);
        self.start_all(ready);
        if let Some(secondary) = secondary {
            self.release_secondary(secondary, workers);
        }
    }
}

#[cfg(test)]
mod tests;
