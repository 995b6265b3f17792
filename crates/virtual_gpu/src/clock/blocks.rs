//! A block's life: placed, computing, accessing, ended.

use super::compute::{Computed, Job, Workers};
use super::grid::Grid;
use super::time::{NS, Picos, of_cycles, to_cycles};
use super::{Clock, Event, OpId, Stopped};
use crate::memory::Memory;
use crate::segment::{Next, Now};

/// A block's place in the list of those that are resident. Used again when it has left.
pub type BlockId = usize;

/// A resident block.
pub struct Block {
    op: OpId,
    sm: usize,
    warps: u32,
    job: Job,
    /// The block itself, with the stretches that it has computed; not there while it computes.
    computed: Option<Computed>,
    /// From when its next stretch runs.
    since: Picos,
    /// What ends the stretch that runs.
    next: Next,
    /// When everything that it has loaded is there.
    loaded: Picos,
    triggered: bool,
}

impl Clock {
    /// Takes a kernel into the line of those with blocks to place: by priority, then by the time of coming.
    pub(super) fn admit(&mut self, op: OpId) {
        let priority = |op: &OpId| self.grids.get(op).map(|grid| grid.launch.priority);
        let behind = self.admitted.partition_point(|other| priority(other) <= priority(&op));
        self.admitted.insert(behind, op);
        self.announce_place();
    }

    fn announce_place(&mut self) {
        if !self.place_announced && !self.admitted.is_empty() {
            self.place_announced = true;
            self.queue.push(self.place_from.max(self.now), Event::Place);
        }
    }

    /// Places one block of the first kernel in line. While there is no room for it, nothing is placed: those behind it wait
    /// too, as they do on a real card.
    pub(super) fn place(&mut self, workers: &Workers) {
        self.place_announced = false;
        let Some(&op) = self.admitted.first() else { return };
        let Some(grid) = self.grids.get_mut(&op) else { return };
        let Some(sm) = self.sms.place(&grid.room) else { return };
        let program = (grid.launch.make)(grid.placed, sm as u32);
        grid.placed += 1;
        let warps = grid.launch.footprint.warps();
        if !grid.has_blocks_left() {
            self.admitted.remove(0);
        }
        let front = &self.card.front;
        self.place_from = self.now + front.block_interval_ps;
        let begin = self.now + front.block_start_ns * NS;
        let job = Job::default();
        workers.start(Computed::new(program), &job);
        let block = Block {
            op,
            sm,
            warps,
            job,
            computed: None,
            since: begin,
            next: Next::Yield,
            loaded: 0,
            triggered: false,
        };
        let id = self.free_blocks.pop().unwrap_or(self.blocks.len());
        match id == self.blocks.len() {
            true => self.blocks.push(Some(block)),
            false => self.blocks[id] = Some(block),
        }
        self.queue.push(begin, Event::Collect(id));
        self.announce_place();
    }

    /// Takes the stretches that a block has computed.
    pub(super) fn collect(
        &mut self,
        id: BlockId,
        memory: &mut Memory,
        workers: &Workers,
    ) -> Result<(), Stopped> {
        let Some(block) = self.blocks[id].as_mut() else { return Ok(()) };
        block.computed = Some(block.job.take());
        self.begin(id, memory, workers)
    }

    /// Begins a block's next stretch, as of the time from which it runs.
    pub(super) fn begin(
        &mut self,
        id: BlockId,
        memory: &mut Memory,
        workers: &Workers,
    ) -> Result<(), Stopped> {
        let Some(block) = self.blocks[id].as_mut() else { return Ok(()) };
        let segment = block.computed.as_mut().and_then(|computed| computed.segments.pop_front());
        let Some(segment) = segment else { return Ok(()) };
        // A warp stays on one scheduler, so that few warps do not use all of them.
        let schedulers = u64::from(self.card.sm.schedulers.min(block.warps).max(1));
        let cycles = segment.dependent_cycles.max(segment.issue_cycles / schedulers);
        let gone = self.now - block.since;
        let left = of_cycles(cycles, self.card.sm.clock_mhz).saturating_sub(gone);
        block.next = segment.next;
        if left == 0 {
            return self.end_stretch(id, memory, workers);
        }
        let (sm, warps) = (block.sm, block.warps);
        self.sms.get(sm).issue.start(self.now, id, warps, left, segment.issue_cycles, cycles);
        self.announce_end(sm);
        Ok(())
    }

    fn announce_end(&mut self, sm: usize) {
        if let Some((at, announced)) = self.sms.announce(sm) {
            self.queue.push(at, Event::StretchEnd { sm, announced });
        }
    }

    pub(super) fn stretch_end(
        &mut self,
        sm: usize,
        announced: u64,
        memory: &mut Memory,
        workers: &Workers,
    ) -> Result<(), Stopped> {
        if self.sms.get(sm).announced != announced {
            return Ok(());
        }
        while let Some(id) = self.sms.get(sm).issue.end_one(self.now) {
            self.end_stretch(id, memory, workers)?;
        }
        self.announce_end(sm);
        Ok(())
    }

    /// Does what a stretch ended with.
    fn end_stretch(&mut self, id: BlockId, memory: &mut Memory, workers: &Workers) -> Result<(), Stopped> {
        let now = self.now;
        let Some(block) = self.blocks[id].as_mut() else { return Ok(()) };
        let from = match std::mem::replace(&mut block.next, Next::Yield) {
            Next::Access => {
                self.access(id, memory)?;
                now
            }
            Next::Await => block.loaded.max(now),
            Next::Yield => now,
            Next::Trigger => {
                self.trigger(id);
                now
            }
            Next::Wait => {
                let op = block.op;
                if let (Some(_), Some(grid)) = (self.order.primary(op), self.grids.get_mut(&op)) {
                    grid.waiting.push(id);
                    return Ok(());
                }
                now
            }
            Next::Finished => {
                self.finish_block(id);
                return Ok(());
            }
            Next::Fault(fault) => return Err(fault.into()),
        };
        match self.go_on(id, from, workers) {
            true => self.begin(id, memory, workers),
            false => Ok(()),
        }
    }

    fn access(&mut self, id: BlockId, memory: &mut Memory) -> Result<(), Stopped> {
        let step = self.card.front.global_timer_ns;
        let now =
            Now { ns: self.now / NS / step * step, cycles: to_cycles(self.now, self.card.sm.clock_mhz) };
        let Some(block) = self.blocks[id].as_mut() else { return Ok(()) };
        let Some(computed) = block.computed.as_mut() else { return Ok(()) };
        let done = self.traffic.access(self.now, computed.program.access(memory, now)?);
        block.loaded = block.loaded.max(done.loaded);
        if let Some(grid) = self.grids.get_mut(&block.op) {
            grid.stored = grid.stored.max(done.stored);
        }
        Ok(())
    }

    /// Lets a block go on from a time on; true when it can at once. What comes next may have to be computed first, and is
    /// then known to others only after the latency of an access.
    fn go_on(&mut self, id: BlockId, since: Picos, workers: &Workers) -> bool {
        let Some(block) = self.blocks[id].as_mut() else { return false };
        block.since = since;
        if block.computed.as_ref().is_some_and(|computed| !computed.segments.is_empty()) {
            if since <= self.now {
                return true;
            }
            self.queue.push(since, Event::Begin(id));
        } else if let Some(computed) = block.computed.take() {
            workers.start(computed, &block.job);
            let known = of_cycles(self.card.memory.issue_latency_cycles, self.card.sm.clock_mhz);
            self.queue.push(since.max(self.now + known), Event::Collect(id));
        }
        false
    }

    fn trigger(&mut self, id: BlockId) {
        let Some(block) = self.blocks[id].as_mut().filter(|block| !block.triggered) else { return };
        block.triggered = true;
        let op = block.op;
        let Some(grid) = self.grids.get_mut(&op) else { return };
        grid.triggered += 1;
        if grid.triggered == grid.launch.blocks {
            let ready = self.order.let_secondary_start(op, self.now);
            self.start_all(ready);
        }
    }

    fn finish_block(&mut self, id: BlockId) {
        self.trigger(id);
        let Some(block) = self.blocks[id].take() else { return };
        self.free_blocks.push(id);
        let Some(grid) = self.grids.get_mut(&block.op) else { return };
        self.sms.leave(block.sm, &grid.room);
        grid.finished += 1;
        if grid.finished == grid.launch.blocks {
            let end = self.now.max(grid.stored) + self.card.front.kernel_end_ns * NS;
            self.queue.push(end, Event::Complete(block.op));
        }
        self.announce_place();
    }

    /// The kernel that let this one start early is complete: its waits are over, and if it has ended it is complete too.
    pub(super) fn release_secondary(&mut self, op: OpId, workers: &Workers) {
        let Some(Grid { waiting, ended, .. }) = self.grids.get_mut(&op) else { return };
        let ended = *ended;
        for id in std::mem::take(waiting) {
            if self.go_on(id, self.now, workers) {
                self.queue.push(self.now, Event::Begin(id));
            }
        }
        if ended {
            self.queue.push(self.now, Event::Complete(op));
        }
    }
}
