//! Who is ordered after whom: one function for each rule. It knows nothing of buffers.
//!
//! Each rule as the CUDA documentation states it, and the pair of programs in `tests/flagged` and `tests/clean` that it
//! decides:
//!
//! - A stream is a queue: work starts when all before it in its stream is complete, and after everything that its thread
//!   did or waited for before the call. (`no-event`, `host-write`)
//! - A wait takes the latest record at the time of the wait call; a later record does not change it.
//!   (`recorded-too-early`, `waited-too-early`, `one-event-for-two-streams`)
//! - An event that was never recorded is complete: a wait for it orders nothing. (`never-recorded`)
//! - An event may be destroyed while a wait is pending, and a stream while its work is. (`destroyed-event`,
//!   `handle-reused`)
//! - The legacy default stream waits for the blocking streams at every call that puts something into it, and they for it;
//!   non-blocking streams do not take part. (`memset-then-kernel`, `legacy-barrier`)
//! - A per-thread default stream is a blocking stream. (`per-thread-default`)
//! - A host wait orders what its thread does afterwards, and no other thread. For a blocking stream it is a wait for what
//!   is in that stream alone; for the legacy one it is a wait for the blocking ones too. (`host-read`, `host-threads`,
//!   `host-waits-for-another-stream`)
//! - A kernel launched with the attribute starts when the kernel before it in its stream lets it: after what that one
//!   started after. From its own wait on it is after the kernel before it, and after all that that one's end stands for.
//!   Records and waits between the two are no reason to wait for its end. (`dependent-without-wait`,
//!   `dependent-reads-early`, `dependent-chain`, `dependent-behind-a-record`)
//! - Everything else in the stream is after all of it, kernels that never waited included. (`normal-after-pair`)
//!
//! Where the documentation's words leave room, an H200 (driver 580.159) decided, 20 launches each: the kernel with the
//! attribute still starts early behind a record of an event without timing, and behind a wait for an event that is
//! complete (20 stale reads of 20), though not behind a record with timing, a wait for pending work, or a memset (0 of
//! 20). What lies behind the last three is not documented either, and only the memset, which is work, is order here. A
//! record in the legacy stream is a barrier; a record in a blocking stream stands for the legacy stream's work too, but
//! does not make that stream's own end wait for it.

use crate::clock::Clock;
use crate::index::{Index, LEGACY, Lane};

/// What is complete before a part of an operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sight<'a> {
    clock: &'a Clock,
    lane: usize,
    /// Of its own lane, what is complete beyond a gap: everything from this epoch on.
    from: u32,
}

impl Sight<'_> {
    /// Whether that operation of that lane is complete.
    pub fn sees(&self, lane: usize, epoch: u32) -> bool {
        epoch <= self.clock.get(lane) || lane == self.lane && epoch >= self.from
    }
}

/// What each stream, thread and event stands for, after the operations so far.
#[derive(Debug)]
pub(crate) struct Order {
    states: Vec<State>,
    events: Vec<Captured>,
    /// What all blocking streams together have in them.
    blocking: Clock,
    /// What all streams together have in them.
    everything: Clock,
}

/// The latest record of an event.
#[derive(Clone, Debug, Default)]
pub(crate) struct Captured {
    /// What it stands for; nothing before the first record.
    pub clock: Clock,
    /// The record.
    pub operation: Option<usize>,
}

/// A lane.
///
/// Invariant: the clock knows all of the lane's own operations, and of a stream it knows what [`Dependent`] knows.
#[derive(Debug)]
struct State {
    lane: Lane,
    /// A stream: what is complete once everything in it is. A thread: what it did and waited for.
    clock: Clock,
    /// Whether the last work in the stream is a kernel.
    is_behind_kernel: bool,
    /// The last kernel, if it or a kernel behind it may not be after the whole stream.
    dependent: Option<Dependent>,
}

/// The last kernel of a stream, as a kernel with the attribute behind it sees it.
#[derive(Debug)]
struct Dependent {
    /// What was complete when it started, and what the stream waited for since.
    start: Clock,
    /// What was complete when it ended, but for its own stream from `from` on.
    main: Clock,
    /// Where what its end stands for begins again: at the last kernel that never waited.
    from: u32,
    /// Whether it waits, and so has a part before its wait.
    waits: bool,
}

impl Order {
    pub fn new(index: &Index) -> Order {
        let state = |&lane| State { lane, clock: Clock::default(), is_behind_kernel: false, dependent: None };
        Order {
            states: index.lanes.iter().map(state).collect(),
            events: vec![Captured::default(); index.n_events()],
            blocking: Clock::default(),
            everything: Clock::default(),
        }
    }

    /// What the current operation of the lane is after; of a kernel, before or after its wait.
    pub fn sight(&self, lane: usize, before_wait: bool) -> Sight<'_> {
        let state = &self.states[lane];
        match &state.dependent {
            None => Sight { clock: &state.clock, lane, from: u32::MAX },
            Some(kernel) if before_wait => Sight { clock: &kernel.start, lane, from: u32::MAX },
            Some(kernel) => Sight { clock: &kernel.main, lane, from: kernel.from },
        }
    }

    /// Whether the current operation of the lane is a kernel of which a part, before its wait, is after less than the rest.
    pub fn has_a_part_before_its_wait(&self, lane: usize) -> bool {
        self.states[lane].dependent.as_ref().is_some_and(|kernel| kernel.waits)
    }

    /// The lane's number for its current operation.
    pub fn epoch(&self, lane: usize) -> u32 {
        self.states[lane].clock.get(lane).saturating_add(1)
    }

    /// What is complete once everything in the stream is, or what the thread did and waited for.
    pub fn clock(&self, lane: usize) -> &Clock {
        let state = &self.states[lane];
        debug_assert!(
            state
                .dependent
                .as_ref()
                .is_none_or(|kernel| state.clock.covers(&kernel.main) && state.clock.covers(&kernel.start)),
            "a stream's end is after each of its kernels"
        );
        &state.clock
    }

    /// The event's latest record.
    pub fn captured(&self, event: usize) -> &Captured {
        &self.events[event]
    }

    /// Puts work that is no kernel behind everything in the stream.
    pub fn enter(&mut self, stream: usize, thread: usize) {
        self.states[stream].is_behind_kernel = false;
        self.states[stream].dependent = None;
        self.a_call_is_after_what_its_thread_did(stream, thread);
        self.legacy_and_blocking_streams_wait_for_each_other(stream);
    }

    /// Puts a kernel behind what is in the stream.
    pub fn enter_kernel(&mut self, stream: usize, thread: usize, programmatic: bool, waits: bool) {
        if programmatic && self.states[stream].is_behind_kernel {
            self.a_dependent_kernel_starts_when_the_one_before_it_lets_it(stream, waits);
        } else {
            self.states[stream].dependent = None;
        }
        self.a_call_is_after_what_its_thread_did(stream, thread);
        self.legacy_and_blocking_streams_wait_for_each_other(stream);
        self.states[stream].is_behind_kernel = true;
    }

    /// Counts the lane's current operation, which touched memory.
    pub fn count(&mut self, lane: usize) {
        let epoch = self.epoch(lane);
        self.states[lane].clock.set(lane, epoch);
    }

    /// Ends the current operation of the stream.
    pub fn leave(&mut self, stream: usize) {
        let State { lane, clock, .. } = &self.states[stream];
        self.everything.join(clock);
        if lane.is_blocking() {
            self.blocking.join(clock);
        }
    }

    /// `cuEventRecord`.
    pub fn a_record_captures_what_is_in_the_stream_now(
        &mut self,
        event: usize,
        stream: usize,
        thread: usize,
        operation: usize,
    ) {
        if stream == LEGACY {
            self.legacy_and_blocking_streams_wait_for_each_other(stream);
        }
        let captured = &mut self.events[event];
        captured.clock.clone_from(&self.states[stream].clock);
        captured.clock.join(&self.states[thread].clock);
        if self.states[stream].lane.is_blocking() {
            captured.clock.join(&self.states[LEGACY].clock);
        }
        captured.operation = Some(operation);
    }

    /// `cuStreamWaitEvent`. Of an event that was never recorded the clock is empty.
    pub fn a_wait_takes_the_latest_record(&mut self, stream: usize, event: usize) {
        if stream == LEGACY {
            self.legacy_and_blocking_streams_wait_for_each_other(stream);
        }
        let state = &mut self.states[stream];
        if state.is_behind_kernel {
            // A kernel behind the wait waits for the event, and may still start before the kernel before it is complete.
            let kernel = state.dependent.get_or_insert_with(|| Dependent::behind(&state.clock, stream));
            kernel.join(&self.events[event].clock);
        }
        state.clock.join(&self.events[event].clock);
        self.leave(stream);
    }

    /// `cuEventSynchronize`: likewise.
    pub fn a_thread_waits_for_the_latest_record(&mut self, thread: usize, event: usize) {
        self.states[thread].clock.join(&self.events[event].clock);
    }

    /// `cuEventDestroy`: waits took their copy when they were submitted.
    pub fn a_destroyed_event_leaves_its_waits_alone(&mut self, event: usize) {
        self.events[event] = Captured::default();
    }

    /// `cuStreamSynchronize`.
    pub fn a_thread_waits_for_a_stream(&mut self, thread: usize, stream: usize) {
        self.learn(thread, stream);
        if stream == LEGACY {
            self.states[thread].clock.join(&self.blocking);
        }
    }

    /// `cuCtxSynchronize`.
    pub fn a_thread_waits_for_everything(&mut self, thread: usize) {
        self.states[thread].clock.join(&self.everything);
    }

    /// A channel, a lock, a start or a join.
    pub fn a_thread_lets_another_go_on(&mut self, from: usize, to: usize) {
        self.learn(to, from);
    }

    /// Takes an edge for granted: the lane's current operation is after what `clock` stands for; of a kernel the part from
    /// its wait on, or all of it.
    pub fn assume(&mut self, lane: usize, clock: &Clock, before_wait: bool) {
        let state = &mut self.states[lane];
        state.clock.join(clock);
        if let Some(kernel) = &mut state.dependent {
            kernel.main.join(clock);
            if before_wait {
                kernel.start.join(clock);
            }
        }
    }

    fn a_call_is_after_what_its_thread_did(&mut self, stream: usize, thread: usize) {
        self.learn(stream, thread);
    }

    fn legacy_and_blocking_streams_wait_for_each_other(&mut self, stream: usize) {
        if stream == LEGACY {
            self.states[stream].join(&self.blocking);
        } else if self.states[stream].lane.is_blocking() {
            self.learn(stream, LEGACY);
        }
    }

    fn a_dependent_kernel_starts_when_the_one_before_it_lets_it(&mut self, stream: usize, waits: bool) {
        let epoch = self.epoch(stream);
        let state = &mut self.states[stream];
        let kernel = state.dependent.get_or_insert_with(|| Dependent::behind(&state.clock, stream));
        kernel.waits = waits;
        if waits {
            kernel.main.join(&kernel.start);
        } else {
            kernel.main.clone_from(&kernel.start);
            kernel.from = epoch;
        }
    }

    /// Lane `to` learns what `from` knows.
    fn learn(&mut self, to: usize, from: usize) {
        if let Ok([to, from]) = self.states.get_disjoint_mut([to, from]) {
            to.join(&from.clock);
        }
    }
}

impl State {
    /// The lane, and a kernel that is being put into it, are after `clock`.
    fn join(&mut self, clock: &Clock) {
        self.clock.join(clock);
        if let Some(kernel) = &mut self.dependent {
            kernel.join(clock);
        }
    }
}

impl Dependent {
    /// A kernel that was launched normally, as the last operation that the clock knows of its stream: it started after all
    /// the rest, and its end stands for that and itself.
    fn behind(clock: &Clock, stream: usize) -> Dependent {
        let from = clock.get(stream);
        let mut start = clock.clone();
        start.set(stream, from.saturating_sub(1));
        Dependent { main: start.clone(), start, from, waits: false }
    }

    fn join(&mut self, clock: &Clock) {
        self.start.join(clock);
        self.main.join(clock);
    }
}
