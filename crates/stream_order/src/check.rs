//! One pass over the operations that finds unordered pairs, as indices. Why they are unordered is for `explain`.
//!
//! A pair that was found is taken as ordered from then on, as if the program had been repaired there: what only follows
//! from a missing edge is not found again. So the program with the found edges put in has no unordered pair.

use std::cmp::Reverse;
use std::ops::Range;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use crate::clock::Clock;
use crate::edges::Order;
use crate::index::{Index, Lane};
use crate::program::{
    Access, Action, BufferId, Copy, EventId, Launch, Memory, Memset, Mode, Operation, Program, Span,
};
use crate::ranges::{Mark, Ranges};

/// Two operations that are not ordered and should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Race {
    /// The one that was submitted first, as its index in the program.
    pub first: usize,
    /// The other one.
    pub second: usize,
    /// What makes it matter that they are not.
    pub clash: Clash,
}

/// What two unordered operations clash about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Clash {
    /// They touch the same bytes, and one of them writes.
    Memory {
        /// The buffer.
        buffer: BufferId,
        /// The first run of bytes that they share.
        bytes: Range<u64>,
        /// Whether the second is a kernel that touches them before its wait.
        before_wait: bool,
    },
    /// The second is the record of a stop event, and the first is work that its time should hold.
    Time {
        /// The record of the start event.
        start: usize,
        /// The query.
        elapsed: usize,
    },
}

/// Every unordered pair of conflicting operations, but those that follow from others: a program in which the found pairs
/// are ordered has none. In the order of the second operation.
pub fn races(program: &Program) -> Vec<Race> {
    let index = Index::of(program);
    let mut scout = Pass::new(&index, Found::Suspects(HashSet::default()));
    scout.run(program);
    let Found::Suspects(suspects) = scout.found else { return Vec::new() };
    if suspects.is_empty() {
        return Vec::new();
    }
    // To take a pair as ordered, one must know what the first of it was after. Only now it is known for which operations
    // that is worth keeping: a program without a finding needs no memory for it.
    let mut pass =
        Pass::new(&index, Found::Races { suspects, clocks: HashMap::default(), races: Vec::new() });
    pass.run(program);
    match pass.found {
        Found::Races { races, .. } => races,
        _ => Vec::new(),
    }
}

/// One pass over the operations.
pub(crate) struct Pass<'i> {
    index: &'i Index,
    order: Order,
    buffers: Vec<Ranges>,
    /// For each lane the operations that it counts.
    counted: Vec<Vec<usize>>,
    /// The marks that the current operation conflicts with and does not see.
    unseen: Vec<Unseen>,
    pub found: Found,
}

/// What a pass looks for.
pub(crate) enum Found {
    /// The first operations of unordered pairs.
    Suspects(HashSet<usize>),
    /// The pairs.
    Races {
        suspects: HashSet<usize>,
        /// What each suspect's lane stood for when it was in it, by operation and lane.
        clocks: HashMap<(usize, usize), Clock>,
        races: Vec<Race>,
    },
    /// For each operation those that it is after.
    Predecessors(Vec<Vec<usize>>),
}

struct Unseen {
    mark: Mark,
    buffer: BufferId,
    bytes: Range<u64>,
    before_wait: bool,
}

impl<'i> Pass<'i> {
    pub fn new(index: &'i Index, found: Found) -> Self {
        Pass {
            index,
            order: Order::new(index),
            buffers: index.memories.iter().map(|_| Ranges::default()).collect(),
            counted: vec![Vec::new(); index.lanes.len()],
            unseen: Vec::new(),
            found,
        }
    }

    pub fn run(&mut self, program: &Program) {
        for (at, operation) in program.operations.iter().enumerate() {
            self.step(at, operation);
        }
    }

    fn step(&mut self, at: usize, operation: &Operation) {
        let index = self.index;
        let thread = index.thread(operation.thread);
        let stream = |id| index.stream(id, operation.thread);
        match &operation.action {
            Action::Launch(launch) => self.launch(at, thread, stream(launch.stream), launch),
            Action::Copy(copy) => self.copy(at, thread, stream(copy.stream), copy),
            Action::Memset(memset) => self.memset(at, thread, stream(memset.stream), memset),
            Action::Record { event, stream: id } => {
                let event = index.event(*event);
                self.order.a_record_captures_what_is_in_the_stream_now(event, stream(*id), thread, at);
            }
            Action::Wait { stream: id, event } => {
                self.order.a_wait_takes_the_latest_record(stream(*id), index.event(*event));
            }
            Action::SynchronizeStream { stream: id } => {
                self.order.a_thread_waits_for_a_stream(thread, stream(*id));
            }
            Action::SynchronizeEvent { event } => {
                self.order.a_thread_waits_for_the_latest_record(thread, index.event(*event));
            }
            Action::SynchronizeDevice => self.order.a_thread_waits_for_everything(thread),
            Action::Host { span, mode } => self.touch(at, thread, &[access(span, *mode)]),
            Action::HandOver { to } => self.order.a_thread_lets_another_go_on(thread, index.thread(*to)),
            Action::Elapsed { start, stop, of_all_work } => self.elapsed(at, *start, *stop, *of_all_work),
            Action::DestroyStream { .. } => {}
            Action::DestroyEvent { event } => {
                self.order.a_destroyed_event_leaves_its_waits_alone(index.event(*event));
            }
        }
    }

    fn launch(&mut self, at: usize, thread: usize, stream: usize, launch: &Launch) {
        self.order.enter_kernel(stream, thread, launch.programmatic, launch.waits);
        self.touch(at, stream, &launch.accesses);
        self.order.leave(stream);
    }

    /// "API synchronization behavior" in the CUDA driver's documentation says for which copies the host waits. That it
    /// "might" wait for an asynchronous copy from or to pageable memory is no order.
    fn copy(&mut self, at: usize, thread: usize, stream: usize, copy: &Copy) {
        let memory = |span: &Span| self.index.memories[self.index.buffer(span.buffer)];
        let (from, to) = (memory(&copy.from), memory(&copy.to));
        let [read, write] = [access(&copy.from, Mode::Read), access(&copy.to, Mode::Write)];
        if !copy.is_async && from == Memory::Pageable && to == Memory::Device {
            // The thread waits for the stream and copies to a staging buffer; the rest goes on without it.
            self.order.enter(stream, thread);
            self.order.a_thread_waits_for_a_stream(thread, stream);
            self.touch(at, thread, &[read]);
            self.order.enter(stream, thread);
            self.touch(at, stream, &[write]);
            self.order.leave(stream);
            return;
        }
        self.order.enter(stream, thread);
        self.touch(at, stream, &[read, write]);
        self.order.leave(stream);
        let the_host_waits = match (from, to) {
            (Memory::Device, Memory::Device) => false,
            (Memory::Device, _) | (_, Memory::Device) => !copy.is_async,
            _ => true,
        };
        if the_host_waits {
            self.order.a_thread_waits_for_a_stream(thread, stream);
        }
    }

    /// The same page: the host waits for a memset of pinned memory that is not an `Async` call, and for no other.
    fn memset(&mut self, at: usize, thread: usize, stream: usize, memset: &Memset) {
        self.order.enter(stream, thread);
        self.touch(at, stream, &[access(&memset.to, Mode::Write)]);
        self.order.leave(stream);
        let on_the_host = self.index.memories[self.index.buffer(memset.to.buffer)] != Memory::Device;
        if on_the_host && !memset.is_async {
            self.order.a_thread_waits_for_a_stream(thread, stream);
        }
    }

    /// The current operation of the lane touches memory.
    fn touch(&mut self, at: usize, lane: usize, accesses: &[Access]) {
        self.unseen.clear();
        for access in accesses {
            self.look(at, lane, access);
        }
        if !self.unseen.is_empty() {
            self.settle(at, lane);
        }
        let sight = self.order.sight(lane, false);
        if let Found::Predecessors(all) = &mut self.found {
            for (other, counted) in self.counted.iter().enumerate() {
                let seen =
                    (1..).zip(counted).filter(|&(epoch, &before)| before != at && sight.sees(other, epoch));
                all[at].extend(seen.map(|(_, &before)| before));
            }
        }
        let epoch = self.order.epoch(lane);
        for Access { span, mode, .. } in accesses {
            let mark = Mark { operation: at, lane, epoch, mode: *mode };
            let buffer = &mut self.buffers[self.index.buffer(span.buffer)];
            buffer.note(&span.bytes, mark, |old| sight.sees(old.lane, old.epoch));
        }
        self.order.count(lane);
        self.counted[lane].push(at);
        if let Found::Races { suspects, clocks, .. } = &mut self.found
            && suspects.contains(&at)
        {
            clocks.insert((at, lane), self.order.clock(lane).clone());
        }
    }

    /// Collects what an access conflicts with and is not after.
    fn look(&mut self, at: usize, lane: usize, access: &Access) {
        let Access { span, mode, before_wait } = access;
        let before_wait = *before_wait && self.order.has_a_part_before_its_wait(lane);
        let sight = self.order.sight(lane, before_wait);
        let unseen = &mut self.unseen;
        self.buffers[self.index.buffer(span.buffer)].conflicts(&span.bytes, *mode, |&mark, bytes| {
            if mark.operation == at || sight.sees(mark.lane, mark.epoch) {
                return;
            }
            unseen.push(Unseen { mark, buffer: span.buffer, bytes, before_wait });
        });
    }

    /// Makes races of what was collected: the latest first, because the earlier may follow from it.
    fn settle(&mut self, at: usize, lane: usize) {
        let mut unseen = std::mem::take(&mut self.unseen);
        unseen.sort_by_key(|Unseen { mark, before_wait, .. }| {
            let is_host = self.index.lanes[mark.lane] == Lane::Thread;
            (Reverse(mark.operation), is_host, mark.lane, !before_wait)
        });
        unseen.dedup_by(|next, kept| {
            let is_same = next.mark.operation == kept.mark.operation && next.mark.lane == kept.mark.lane;
            let goes_on = next.buffer == kept.buffer && next.bytes.start == kept.bytes.end;
            if is_same && goes_on && next.before_wait == kept.before_wait {
                kept.bytes.end = next.bytes.end;
            }
            is_same
        });
        for Unseen { mark, buffer, bytes, before_wait } in unseen.drain(..) {
            match &mut self.found {
                Found::Predecessors(_) => {}
                Found::Suspects(suspects) => _ = suspects.insert(mark.operation),
                Found::Races { clocks, races, .. } => {
                    if self.order.sight(lane, before_wait).sees(mark.lane, mark.epoch) {
                        continue;
                    }
                    let clash = Clash::Memory { buffer, bytes, before_wait };
                    races.push(Race { first: mark.operation, second: at, clash });
                    if let Some(clock) = clocks.get(&(mark.operation, mark.lane)) {
                        self.order.assume(lane, clock, before_wait);
                    }
                }
            }
        }
        self.unseen = unseen;
    }

    /// Work between the two records that is not complete at the stop is not in the time.
    fn elapsed(&mut self, at: usize, start: EventId, stop: EventId, of_all_work: bool) {
        let stop = self.order.captured(self.index.event(stop));
        let start = self.order.captured(self.index.event(start)).operation;
        let (Some(from), Some(to)) = (start, stop.operation) else { return };
        let mut holds_some = false;
        let mut missed = Vec::new();
        for (lane, counted) in self.counted.iter().enumerate() {
            if self.index.lanes[lane] == Lane::Thread {
                continue;
            }
            let between = counted.partition_point(|&at| at < from)..counted.partition_point(|&at| at < to);
            let complete = (stop.clock.get(lane) as usize).min(between.end);
            holds_some |= complete > between.start;
            if complete < between.end && !between.is_empty() {
                missed.push(counted[between.end - 1]);
            }
        }
        if holds_some && !of_all_work {
            return;
        }
        missed.sort_unstable();
        match &mut self.found {
            Found::Predecessors(_) => {}
            Found::Suspects(suspects) => suspects.extend(missed),
            Found::Races { races, .. } => {
                let clash = Clash::Time { start: from, elapsed: at };
                races.extend(missed.into_iter().map(|first| Race {
                    first,
                    second: to,
                    clash: clash.clone(),
                }));
            }
        }
    }
}

fn access(span: &Span, mode: Mode) -> Access {
    Access { span: span.clone(), mode, before_wait: false }
}
