//! The input: what was submitted, in the order in which the driver saw the calls. Plain data; it knows no rule.
//!
//! Every identity is a number that is never used again: a stream made after another was destroyed can get its handle, and
//! memory its address. What an operation names need not be declared. An undeclared stream is a blocking one, an undeclared
//! buffer is device memory: the kinds with the most order, so that a gap in the input is no report.

use std::borrow::Cow;
use std::ops::Range;

/// A name: borrowed where the program has it anyway, so that a long log costs no copy.
pub type Text = Cow<'static, str>;

/// A stream's identity. All identities of kind [`StreamKind::Legacy`] are one stream; one of kind
/// [`StreamKind::PerThread`] is the stream of the thread that makes the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(pub u64);

/// An event's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId(pub u64);

/// The identity of an allocation, on the device or on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u64);

/// A host thread's identity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(pub u64);

/// What a stream is ordered with beside itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StreamKind {
    /// The legacy default stream, in both directions.
    Blocking,
    /// No other stream.
    NonBlocking,
    /// The legacy default stream: a barrier among the blocking streams.
    Legacy,
    /// The default stream of one host thread. It is a blocking one.
    PerThread,
}

/// Where a buffer is. It decides for which copies the host waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// On the device.
    Device,
    /// On the host, page-locked: the device reaches it directly.
    Pinned,
    /// On the host, as the operating system gives it: a copy may go through a staging buffer of the driver.
    Pageable,
}

/// A stream, declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Its identity.
    pub id: StreamId,
    /// What a report calls it.
    pub name: Text,
    /// What it is ordered with.
    pub kind: StreamKind,
}

/// An event, declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its identity.
    pub id: EventId,
    /// What a report calls it.
    pub name: Text,
}

/// A buffer, declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Its identity.
    pub id: BufferId,
    /// What a report calls it.
    pub name: Text,
    /// Where it is.
    pub memory: Memory,
}

/// Bytes of one buffer. An empty or reversed range is no bytes, and conflicts with nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The buffer.
    pub buffer: BufferId,
    /// Bytes from the buffer's start.
    pub bytes: Range<u64>,
}

/// Read or written. Two accesses conflict when they share a byte and one of them writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Read.
    Read,
    /// Written, or both read and written.
    Write,
}

/// What a kernel does with one buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The bytes that it can reach.
    pub span: Span,
    /// Read or written.
    pub mode: Mode,
    /// Whether the kernel does it before its `griddepcontrol.wait`. It matters only for a launch that is
    /// [programmatic](Launch::programmatic), of a kernel that [waits](Launch::waits).
    pub before_wait: bool,
}

/// A kernel launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Where.
    pub stream: StreamId,
    /// What the kernel reads and writes.
    pub accesses: Vec<Access>,
    /// Whether the launch carries the attribute of programmatic stream serialization, and so may start before the kernel
    /// ahead of it is complete.
    pub programmatic: bool,
    /// Whether the kernel's PTX has a `griddepcontrol.wait`.
    pub waits: bool,
}

/// A copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// Where: for the calls without a stream, the default one.
    pub stream: StreamId,
    /// What is read.
    pub from: Span,
    /// What is written.
    pub to: Span,
    /// Whether it was an `Async` call. Whether the host waits depends on the memory too.
    pub is_async: bool,
}

/// A memset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memset {
    /// Where: for the calls without a stream, the default one.
    pub stream: StreamId,
    /// What is written.
    pub to: Span,
    /// Whether it was an `Async` call. Whether the host waits depends on the memory too.
    pub is_async: bool,
}

/// One thing that the program did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A kernel launch.
    Launch(Launch),
    /// A copy.
    Copy(Copy),
    /// A memset.
    Memset(Memset),
    /// `cuEventRecord`: from now on the event stands for all work that is in the stream now.
    Record {
        /// The event.
        event: EventId,
        /// The stream whose work it captures.
        stream: StreamId,
    },
    /// `cuStreamWaitEvent`: later work of the stream waits for what the event stands for now.
    Wait {
        /// The stream.
        stream: StreamId,
        /// The event.
        event: EventId,
    },
    /// `cuStreamSynchronize`: the thread waits.
    SynchronizeStream {
        /// The stream.
        stream: StreamId,
    },
    /// `cuEventSynchronize`, or a query that answered "complete": the thread waits.
    SynchronizeEvent {
        /// The event.
        event: EventId,
    },
    /// `cuCtxSynchronize`: the thread waits.
    SynchronizeDevice,
    /// The thread reads or writes host memory that the device reaches too.
    Host {
        /// The bytes.
        span: Span,
        /// Read or written.
        mode: Mode,
    },
    /// The thread lets another one go on (a channel, a lock, a start or a join): what it did or waited for is before what
    /// the other does from now on. Nothing else orders two host threads.
    HandOver {
        /// The other thread.
        to: ThreadId,
    },
    /// `cuEventElapsedTime`: the time between the latest records of two events.
    Elapsed {
        /// The earlier event.
        start: EventId,
        /// The later one.
        stop: EventId,
        /// Whether the time is meant to hold all device work that was submitted between the two records. When it is not
        /// known, `false`: then only a time that holds none of it is reported.
        of_all_work: bool,
    },
    /// `cuStreamDestroy`. The work in the stream goes on, and its order stays.
    DestroyStream {
        /// The stream.
        stream: StreamId,
    },
    /// `cuEventDestroy`. A wait that was submitted keeps what it waits for.
    DestroyEvent {
        /// The event.
        event: EventId,
    },
}

/// Where in the source an operation was submitted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The file.
    pub file: Text,
    /// The line, from 1.
    pub line: u32,
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What a report calls it: a kernel's name. Where it is empty, the report says what kind of operation it is.
    pub name: Text,
    /// Who submitted it.
    pub caller: Caller,
    /// The host thread that did.
    pub thread: ThreadId,
    /// What it does.
    pub action: Action,
}

/// A program, as the driver saw it. Every result of this crate names an operation by its index in `operations`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The streams. Where an identity is declared twice, the first declaration counts; so for events and buffers.
    pub streams: Vec<Stream>,
    /// The events.
    pub events: Vec<Event>,
    /// The buffers.
    pub buffers: Vec<Buffer>,
    /// The operations of all threads, in the order in which the driver saw them.
    pub operations: Vec<Operation>,
}

impl Action {
    /// The stream that it was put into; none for what the host does.
    pub fn stream(&self) -> Option<StreamId> {
        match self {
            Action::Launch(launch) => Some(launch.stream),
            Action::Copy(copy) => Some(copy.stream),
            Action::Memset(memset) => Some(memset.stream),
            Action::Record { stream, .. } | Action::Wait { stream, .. } => Some(*stream),
            Action::SynchronizeStream { .. }
            | Action::SynchronizeEvent { .. }
            | Action::SynchronizeDevice
            | Action::Host { .. }
            | Action::HandOver { .. }
            | Action::Elapsed { .. }
            | Action::DestroyStream { .. }
            | Action::DestroyEvent { .. } => None,
        }
    }

    /// The bytes that it touches.
    pub fn spans(&self) -> impl Iterator<Item = (&Span, Mode)> {
        let (accesses, one, two): (&[Access], _, _) = match self {
            Action::Launch(launch) => (&launch.accesses, None, None),
            Action::Copy(copy) => (&[], Some((&copy.from, Mode::Read)), Some((&copy.to, Mode::Write))),
            Action::Memset(memset) => (&[], None, Some((&memset.to, Mode::Write))),
            Action::Host { span, mode } => (&[], Some((span, *mode)), None),
            _ => (&[], None, None),
        };
        accesses.iter().map(|access| (&access.span, access.mode)).chain(one).chain(two)
    }
}
