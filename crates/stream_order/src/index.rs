//! From identities to places in vectors. A lane is what is in order by itself: a stream or a host thread.

use std::hash::Hash;

use rustc_hash::FxHashMap as HashMap;

use crate::program::{Action, BufferId, EventId, Memory, Operation, Program, StreamId, StreamKind, ThreadId};

/// The lane of the legacy default stream, whether or not the program uses it.
pub(crate) const LEGACY: usize = 0;

/// What a lane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// A stream.
    Stream(StreamKind),
    /// A host thread.
    Thread,
}

impl Lane {
    /// Whether it is a stream that has edges with the legacy one.
    pub fn is_blocking(self) -> bool {
        matches!(self, Lane::Stream(StreamKind::Blocking | StreamKind::PerThread))
    }
}

/// Every identity that the operations name, declared or not.
#[derive(Debug)]
pub(crate) struct Index {
    pub lanes: Vec<Lane>,
    /// The memory of each buffer.
    pub memories: Vec<Memory>,
    kinds: HashMap<StreamId, StreamKind>,
    declared: HashMap<BufferId, Memory>,
    streams: HashMap<StreamId, usize>,
    per_thread: HashMap<ThreadId, usize>,
    threads: HashMap<ThreadId, usize>,
    events: HashMap<EventId, usize>,
    buffers: HashMap<BufferId, usize>,
}

impl Index {
    pub fn of(program: &Program) -> Index {
        let mut index = Index {
            lanes: vec![Lane::Stream(StreamKind::Legacy)],
            memories: Vec::new(),
            kinds: first_of(program.streams.iter().map(|stream| (stream.id, stream.kind))),
            declared: first_of(program.buffers.iter().map(|buffer| (buffer.id, buffer.memory))),
            streams: HashMap::default(),
            per_thread: HashMap::default(),
            threads: HashMap::default(),
            events: HashMap::default(),
            buffers: HashMap::default(),
        };
        for operation in &program.operations {
            index.enter(operation);
        }
        index
    }

    /// The lane of the stream that `id` means in a call of `thread`.
    pub fn stream(&self, id: StreamId, thread: ThreadId) -> usize {
        let lane = match self.kind(id) {
            StreamKind::Legacy => None,
            StreamKind::PerThread => self.per_thread.get(&thread),
            StreamKind::Blocking | StreamKind::NonBlocking => self.streams.get(&id),
        };
        lane.copied().unwrap_or(LEGACY)
    }

    /// The thread's lane.
    pub fn thread(&self, id: ThreadId) -> usize {
        self.threads.get(&id).copied().unwrap_or(LEGACY)
    }

    /// The event's place among the events.
    pub fn event(&self, id: EventId) -> usize {
        self.events.get(&id).copied().unwrap_or(0)
    }

    /// The buffer's place among the buffers.
    pub fn buffer(&self, id: BufferId) -> usize {
        self.buffers.get(&id).copied().unwrap_or(0)
    }

    /// How many events there are.
    pub fn n_events(&self) -> usize {
        self.events.len()
    }

    fn kind(&self, id: StreamId) -> StreamKind {
        self.kinds.get(&id).copied().unwrap_or(StreamKind::Blocking)
    }

    fn enter(&mut self, operation: &Operation) {
        self.enter_thread(operation.thread);
        match &operation.action {
            Action::Launch(launch) => {
                self.enter_stream(launch.stream, operation.thread);
                for access in &launch.accesses {
                    self.enter_buffer(access.span.buffer);
                }
            }
            Action::Copy(copy) => {
                self.enter_stream(copy.stream, operation.thread);
                self.enter_buffer(copy.from.buffer);
                self.enter_buffer(copy.to.buffer);
            }
            Action::Memset(memset) => {
                self.enter_stream(memset.stream, operation.thread);
                self.enter_buffer(memset.to.buffer);
            }
            Action::Record { event, stream } | Action::Wait { stream, event } => {
                self.enter_stream(*stream, operation.thread);
                enter(&mut self.events, *event);
            }
            Action::SynchronizeStream { stream } | Action::DestroyStream { stream } => {
                self.enter_stream(*stream, operation.thread);
            }
            Action::SynchronizeEvent { event } | Action::DestroyEvent { event } => {
                enter(&mut self.events, *event);
            }
            Action::Elapsed { start, stop, .. } => {
                enter(&mut self.events, *start);
                enter(&mut self.events, *stop);
            }
            Action::Host { span, .. } => self.enter_buffer(span.buffer),
            Action::HandOver { to } => self.enter_thread(*to),
            Action::SynchronizeDevice => {}
        }
    }

    fn enter_stream(&mut self, id: StreamId, thread: ThreadId) {
        let kind = self.kind(id);
        let lanes = &mut self.lanes;
        let mut new_lane = || {
            lanes.push(Lane::Stream(kind));
            lanes.len() - 1
        };
        match kind {
            StreamKind::Legacy => {}
            StreamKind::PerThread => _ = self.per_thread.entry(thread).or_insert_with(new_lane),
            StreamKind::Blocking | StreamKind::NonBlocking => {
                self.streams.entry(id).or_insert_with(&mut new_lane);
            }
        }
    }

    fn enter_thread(&mut self, id: ThreadId) {
        let lanes = &mut self.lanes;
        self.threads.entry(id).or_insert_with(|| {
            lanes.push(Lane::Thread);
            lanes.len() - 1
        });
    }

    fn enter_buffer(&mut self, id: BufferId) {
        if enter(&mut self.buffers, id) {
            self.memories.push(self.declared.get(&id).copied().unwrap_or(Memory::Device));
        }
    }
}

/// Gives `id` the next place if it has none; whether it had none.
fn enter<T: Eq + Hash>(places: &mut HashMap<T, usize>, id: T) -> bool {
    let next = places.len();
    *places.entry(id).or_insert(next) == next
}

fn first_of<K: Eq + Hash, V>(declarations: impl Iterator<Item = (K, V)>) -> HashMap<K, V> {
    let mut first = HashMap::default();
    for (key, value) in declarations {
        first.entry(key).or_insert(value);
    }
    first
}
