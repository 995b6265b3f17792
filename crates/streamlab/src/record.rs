//! What was submitted, in the order in which the host submitted it, as `stream_order` takes it. It makes no driver call.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::panic::Location;

use cuda_std::abi::{Access, Kernel};
use cuda_std::call::{BufferUse, Location as DeviceLocation};
use stream_order::program::{
    self, Action, BufferId, Caller, EventId, Memory, Mode, Operation, Program, Span, StreamId, StreamKind,
    Text, ThreadId,
};

use crate::log::Log;
use crate::module::EarlyAccess;
use crate::tracer::Placement;

/// The legacy default stream, which the copies and memsets without a stream are on.
pub(crate) const LEGACY: StreamId = StreamId(u64::MAX);

/// The names of a context's streams, events and buffers.
#[derive(Debug, Default)]
pub(crate) struct Names {
    streams: Vec<program::Stream>,
    events: HashMap<u64, Text>,
    buffers: HashMap<u64, (Text, Memory)>,
}

impl Names {
    pub fn stream(&mut self, id: StreamId, name: &str, kind: StreamKind) {
        self.streams.push(program::Stream { id, name: name.to_owned().into(), kind });
    }

    pub fn event(&mut self, id: EventId, name: &str) {
        self.events.insert(id.0, name.to_owned().into());
    }

    pub fn buffer(&mut self, id: BufferId, name: &str, memory: Memory) {
        self.buffers.insert(id.0, (name.to_owned().into(), memory));
    }

    /// Returns a buffer's name for a message.
    pub fn of_buffer(&self, id: u64) -> String {
        match id {
            DeviceLocation::FOREIGN => FOREIGN_NAME.to_owned(),
            id => self.buffers.get(&id).map_or_else(|| "?".to_owned(), |(name, _)| name.to_string()),
        }
    }
}

/// Memory that another library allocated: one buffer whose bytes are the device's addresses.
const FOREIGN_NAME: &str = "memory of another library";

/// What the nodes of a graph do, as the calls that were captured, and the memory that they use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Captured {
    operations: Vec<CapturedOperation>,
    /// The stream whose capture it is.
    origin: u64,
    /// The streams and events that take part.
    members: HashSet<u64>,
    pub memory: HashSet<u64>,
}

#[derive(Clone, Debug)]
struct CapturedOperation {
    operation: Operation,
    early: Vec<(&'static Kernel, Vec<BufferUse>)>,
    placement: Option<Placement>,
}

impl Captured {
    /// Begins the capture of a stream.
    pub fn of(origin: StreamId) -> Self {
        Captured { origin: origin.0, members: HashSet::from([origin.0]), ..Captured::default() }
    }

    /// Returns the capture where it takes an operation, by CUDA's rule: it takes what is put into a stream that takes part, and the
    /// wait by which a stream comes to take part.
    pub fn taking(&mut self, action: &Action) -> Option<&mut Self> {
        let takes = match action {
            Action::Record { event, stream } if self.members.contains(&stream.0) => {
                self.members.insert(event.0);
                true
            }
            Action::Wait { stream, event } if self.members.contains(&event.0) => {
                self.members.insert(stream.0);
                true
            }
            action => action.stream().is_some_and(|stream| self.members.contains(&stream.0)),
        };
        takes.then_some(self)
    }
}

/// What is noted while a submission runs.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    operations: Vec<Operation>,
    /// Each with the operations that were noted in it, as indices.
    ranges: Vec<(String, Range<usize>)>,
    /// The launches that may start early.
    early: Vec<(usize, &'static Kernel, Vec<BufferUse>)>,
    /// Host memory of copies by calls without a stream: it has no identity of its own.
    anonymous: Vec<program::Buffer>,
    /// Streams and events of graphs that were launched.
    streams: Vec<program::Stream>,
    events: Vec<program::Event>,
    /// For each graph that was launched, by its identity, the event that stands for the end of its latest launch.
    graphs: HashMap<u64, EventId>,
}

impl Captured {
    /// Notes an operation that the capture takes.
    pub fn note(&mut self, operation: Operation, scratch: Recording, placement: Option<Placement>) {
        self.memory.extend(operation.action.spans().map(|(span, _)| span.buffer.0));
        let early = scratch.early.into_iter().map(|(_, kernel, buffers)| (kernel, buffers)).collect();
        self.operations.push(CapturedOperation { operation, early, placement });
    }
}

impl Recording {
    /// How many operations were noted so far.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    pub fn note(&mut self, name: Text, thread: ThreadId, at: &'static Location<'static>, action: Action) {
        self.push(operation(name, thread, at, action));
    }

    pub fn push(&mut self, operation: Operation) {
        self.operations.push(operation);
    }

    /// Takes what was noted beside an operation of `scratch`, for an operation that is noted here next.
    pub fn absorb(&mut self, scratch: Recording) {
        let at = self.operations.len();
        self.early.extend(scratch.early.into_iter().map(|(_, kernel, buffers)| (at, kernel, buffers)));
        self.anonymous.extend(scratch.anonymous);
    }

    /// Notes the launch of a graph: its captured calls once more, its first stream's in the launching stream and the others' in streams
    /// of its own, after the launch of the same graph before it. `identify` returns identities that nobody has.
    pub fn launch_graph(
        &mut self,
        (graph, captured): (u64, &Captured),
        (stream, at): (StreamId, &'static Location<'static>),
        names: &Names,
        mut identify: impl FnMut() -> u64,
        mut noted: impl FnMut(Placement, usize),
    ) {
        let thread = ThreadId::default();
        let done = EventId(identify());
        self.events.push(program::Event { id: done, name: "graph".into() });
        if let Some(event) = self.graphs.insert(graph, done) {
            self.note("".into(), thread, at, Action::Wait { stream, event });
        }
        let mut aliases: HashMap<u64, u64> = HashMap::from([(captured.origin, stream.0)]);
        for CapturedOperation { operation, early, placement } in &captured.operations {
            let Operation { mut action, .. } = operation.clone();
            let mut alias = |id: u64| *aliases.entry(id).or_insert_with(&mut identify);
            match &mut action {
                Action::Launch(launch) => launch.stream.0 = alias(launch.stream.0),
                Action::Copy(copy) => copy.stream.0 = alias(copy.stream.0),
                Action::Memset(memset) => memset.stream.0 = alias(memset.stream.0),
                Action::Record { event, stream } | Action::Wait { event, stream } => {
                    (event.0, stream.0) = (alias(event.0), alias(stream.0));
                }
                _ => {}
            }
            let place = self.operations.len();
            self.early.extend(early.iter().map(|(kernel, buffers)| (place, *kernel, buffers.clone())));
            placement.iter().for_each(|&placement| noted(placement, place));
            self.operations.push(Operation { action, ..operation.clone() });
        }
        for (id, alias) in aliases {
            if let Some(declared) =
                names.streams.iter().find(|declared| declared.id.0 == id && id != captured.origin)
            {
                let (name, kind) = (declared.name.clone(), StreamKind::NonBlocking);
                self.streams.push(program::Stream { id: StreamId(alias), name, kind });
            } else if let Some(name) = names.events.get(&id) {
                self.events.push(program::Event { id: EventId(alias), name: name.clone() });
            }
        }
        self.note("".into(), thread, at, Action::Record { event: done, stream });
    }

    /// Notes a launch that may start early, whose accesses before its wait its PTX says.
    pub fn note_early(&mut self, kernel: &'static Kernel, buffers: Vec<BufferUse>) {
        self.early.push((self.operations.len(), kernel, buffers));
    }

    /// Makes an identity for the host's side of a copy that names none.
    pub fn anonymous_host(&mut self, id: BufferId, bytes: u64) -> Span {
        self.anonymous.push(program::Buffer { id, name: "host memory".into(), memory: Memory::Pageable });
        Span { buffer: id, bytes: 0..bytes }
    }

    pub fn begin_range(&mut self, name: &str) -> usize {
        self.ranges.push((name.to_owned(), self.operations.len()..self.operations.len()));
        self.ranges.len() - 1
    }

    pub fn end_range(&mut self, range: usize) {
        if let Some((_, extent)) = self.ranges.get_mut(range) {
            extent.end = self.operations.len();
        }
    }

    /// Ends the recording. `early` says what a kernel does before its wait.
    pub fn finish(self, names: &Names, early: impl Fn(&Kernel) -> Option<EarlyAccess>) -> Log {
        let Recording { mut operations, ranges, early: launches, anonymous, streams, events, .. } = self;
        for (at, kernel, buffers) in launches {
            let Some(known) = early(kernel) else { continue };
            if let Action::Launch(launch) = &mut operations[at].action {
                launch.waits = known.waits;
                launch.accesses = accesses(&buffers, Some(&known));
            }
        }
        let mut program = Program { operations, streams, events, buffers: anonymous };
        declare(&mut program, names);
        Log::new(program, ranges)
    }
}

/// Returns an operation that this line submitted.
pub(crate) fn operation(
    name: Text,
    thread: ThreadId,
    at: &'static Location<'static>,
    action: Action,
) -> Operation {
    let caller = Caller { file: file(at), line: at.line() };
    Operation { name, caller, thread, action }
}

/// Declares what the operations name, and every stream.
fn declare(program: &mut Program, names: &Names) {
    let name = "legacy default stream".into();
    program.streams.push(program::Stream { id: LEGACY, name, kind: StreamKind::Legacy });
    program.streams.extend(names.streams.iter().cloned());
    let (mut events, mut buffers) = (BTreeSet::new(), HashSet::new());
    for Operation { action, .. } in &program.operations {
        match action {
            Action::Record { event, .. }
            | Action::Wait { event, .. }
            | Action::SynchronizeEvent { event }
            | Action::DestroyEvent { event } => _ = events.insert(event.0),
            Action::Elapsed { start, stop, .. } => events.extend([start.0, stop.0]),
            _ => buffers.extend(action.spans().map(|(span, _)| span.buffer.0)),
        }
    }
    let event =
        |id: u64| names.events.get(&id).map(|name| program::Event { id: EventId(id), name: name.clone() });
    program.events.extend(events.into_iter().filter_map(event));
    if buffers.contains(&DeviceLocation::FOREIGN) {
        let (id, name) = (BufferId(DeviceLocation::FOREIGN), FOREIGN_NAME.into());
        program.buffers.push(program::Buffer { id, name, memory: Memory::Device });
    }
    let mut named: Vec<_> =
        buffers.into_iter().filter_map(|id| Some((id, names.buffers.get(&id)?))).collect();
    named.sort_unstable_by_key(|(id, _)| *id);
    program.buffers.extend(named.into_iter().map(|(id, (name, memory))| program::Buffer {
        id: BufferId(id),
        name: name.clone(),
        memory: *memory,
    }));
}

/// Returns the caller's file, from the root. The compiler leaves `a/../b` in the path of a module that says where its file is.
fn file(at: &'static Location<'static>) -> Text {
    if !at.file().contains("..") {
        return at.file().into();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in at.file().split('/') {
        match part {
            ".." if parts.last().is_some_and(|last| *last != "..") => _ = parts.pop(),
            _ => parts.push(part),
        }
    }
    parts.join("/").into()
}

/// Returns what a launch does with its buffers, before its wait or not.
pub(crate) fn accesses(buffers: &[BufferUse], early: Option<&EarlyAccess>) -> Vec<program::Access> {
    let of = |used: &BufferUse| {
        let span = span_of(used);
        let before = early.and_then(|kernel| kernel.before_wait(used.parameter));
        modes(used.access, before)
            .iter()
            .map(|&(mode, before_wait)| program::Access { span: span.clone(), mode, before_wait })
            .collect::<Vec<_>>()
    };
    buffers.iter().flat_map(of).collect()
}

fn span_of(used: &BufferUse) -> Span {
    let bytes = match used.buffer {
        DeviceLocation::FOREIGN => {
            let length = used.bytes.end - used.bytes.start;
            used.address..used.address.saturating_add(length)
        }
        _ => used.bytes.clone(),
    };
    Span { buffer: BufferId(used.buffer), bytes }
}

/// Returns the bytes of a run of device memory.
pub(crate) fn span_at(location: &DeviceLocation, bytes: u64) -> Span {
    let start = match location.buffer {
        DeviceLocation::FOREIGN => location.address,
        _ => location.offset_bytes,
    };
    Span { buffer: BufferId(location.buffer), bytes: start..start.saturating_add(bytes) }
}

/// Returns how a buffer is accessed, before the wait or not: twice where the kernel reads it early and writes it only later.
fn modes(access: Access, early: Option<Access>) -> &'static [(Mode, bool)] {
    match (access, early) {
        (Access::Read, None) => &[(Mode::Read, false)],
        (Access::Read, Some(_)) => &[(Mode::Read, true)],
        (Access::Write, None) => &[(Mode::Write, false)],
        (Access::Write, Some(Access::Read)) => &[(Mode::Read, true), (Mode::Write, false)],
        (Access::Write, Some(Access::Write)) => &[(Mode::Write, true)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_read_before_the_wait_is_written_after_it() {
        let early = |access, early: Option<Access>| modes(access, early).to_vec();
        for mode in [(Access::Read, Mode::Read), (Access::Write, Mode::Write)] {
            assert_eq!(early(mode.0, None), [(mode.1, false)]);
            assert_eq!(early(mode.0, Some(Access::Write)), [(mode.1, true)]);
        }
        assert_eq!(early(Access::Read, Some(Access::Read)), [(Mode::Read, true)]);
        assert_eq!(early(Access::Write, Some(Access::Read)), [(Mode::Read, true), (Mode::Write, false)]);
    }
}
