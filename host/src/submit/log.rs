//! What was submitted, in the order in which the host submitted it, with the caller of each operation.
//!
//! Identities are numbers that are never used again, because a stream created after another was destroyed can get its
//! address. The log knows no rule about order: it is the material that such a rule is applied to.

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::panic::Location;

use cuda_std::abi::{Access, Kernel};
use cuda_std::call::BufferUse;

use super::{Dependence, Launch, StreamKind};

/// A stream's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamId(pub u64);

/// An event's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventId(pub u64);

/// A host thread's identity; 0 is the one that opened the context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ThreadId(pub u64);

/// One operation that the host submitted.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// A kernel launch.
    Launch {
        /// Where.
        stream: StreamId,
        /// The kernel.
        kernel: &'static Kernel,
        /// Its shape, and what may let it start before the work ahead of it.
        launch: Launch,
        /// What it reads and writes.
        buffers: Vec<BufferUse>,
    },
    /// `cuEventRecord`.
    Record {
        /// The event.
        event: EventId,
        /// The stream whose work it captures.
        stream: StreamId,
    },
    /// `cuStreamWaitEvent`.
    Wait {
        /// The stream whose later work waits.
        stream: StreamId,
        /// The event.
        event: EventId,
    },
    /// A copy between buffers on a stream.
    Copy {
        /// Where.
        stream: StreamId,
        /// The buffer that is read.
        from: u64,
        /// The buffer that is written.
        to: u64,
        /// How many, from the start of both.
        bytes: u64,
    },
    /// A memset on a stream.
    Fill {
        /// Where.
        stream: StreamId,
        /// The buffer.
        buffer: u64,
        /// How many, from its start.
        bytes: u64,
    },
    /// A copy from host memory, on the legacy default stream.
    CopyToDevice {
        /// The buffer.
        buffer: u64,
        /// How many, from its start.
        bytes: u64,
    },
    /// A copy to host memory, on the legacy default stream; the host waits for it.
    CopyToHost {
        /// The buffer.
        buffer: u64,
        /// How many, from its start.
        bytes: u64,
    },
    /// The host waits for a stream.
    SynchronizeStream {
        /// The stream.
        stream: StreamId,
    },
    /// The host waits for an event.
    SynchronizeEvent {
        /// The event.
        event: EventId,
    },
    /// The host waits for everything in the context.
    SynchronizeContext,
    /// A memset by the call without a stream: on the legacy default stream; the host does not wait for it.
    FillByDefault {
        /// The buffer.
        buffer: u64,
        /// How many, from its start.
        bytes: u64,
    },
    /// A copy from host memory on a stream.
    AsyncCopyToDevice {
        /// Where.
        stream: StreamId,
        /// The host memory that is read.
        from: u64,
        /// Whether that is page-locked.
        pinned: bool,
        /// The buffer that is written.
        to: u64,
        /// Which, of both.
        bytes: Range<u64>,
    },
    /// A copy to host memory on a stream.
    AsyncCopyToHost {
        /// Where.
        stream: StreamId,
        /// The buffer that is read.
        from: u64,
        /// The host memory that is written.
        to: u64,
        /// Whether that is page-locked.
        pinned: bool,
        /// Which, of both.
        bytes: Range<u64>,
    },
    /// The host itself reads or writes memory that such copies are from or to.
    Host {
        /// The memory.
        buffer: u64,
        /// Whether it is page-locked.
        pinned: bool,
        /// Which of the two.
        access: Access,
        /// How many, from its start.
        bytes: u64,
    },
    /// The host was told the time between the latest records of two events.
    Elapsed {
        /// The earlier event.
        start: EventId,
        /// The later one.
        stop: EventId,
    },
    /// The host thread lets another one go on: what it did is before what that one does.
    HandOver {
        /// The other thread.
        to: ThreadId,
    },
    /// `cuStreamDestroy`. What is in the stream still runs.
    DestroyStream {
        /// The stream.
        stream: StreamId,
    },
    /// `cuEventDestroy`. A wait for it stays.
    DestroyEvent {
        /// The event.
        event: EventId,
    },
}

impl Operation {
    /// The stream that it was put into; none for what the host does, and for the calls that take no stream.
    pub fn stream(&self) -> Option<StreamId> {
        match self {
            Operation::Launch { stream, .. }
            | Operation::Record { stream, .. }
            | Operation::Wait { stream, .. }
            | Operation::Copy { stream, .. }
            | Operation::Fill { stream, .. }
            | Operation::AsyncCopyToDevice { stream, .. }
            | Operation::AsyncCopyToHost { stream, .. } => Some(*stream),
            _ => None,
        }
    }

    /// The buffers and the host memory that it touches.
    pub(super) fn memory(&self) -> Vec<u64> {
        match self {
            Operation::Launch { buffers, .. } => buffers.iter().map(|used| used.buffer).collect(),
            Operation::Copy { from, to, .. }
            | Operation::AsyncCopyToDevice { from, to, .. }
            | Operation::AsyncCopyToHost { from, to, .. } => vec![*from, *to],
            Operation::Fill { buffer, .. }
            | Operation::CopyToDevice { buffer, .. }
            | Operation::CopyToHost { buffer, .. }
            | Operation::FillByDefault { buffer, .. }
            | Operation::Host { buffer, .. } => vec![*buffer],
            _ => Vec::new(),
        }
    }
}

/// An operation and who submitted it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What was submitted.
    pub operation: Operation,
    /// The host thread that did.
    pub thread: ThreadId,
    /// The line of the program that did.
    pub at: &'static Location<'static>,
}

impl Entry {
    /// The program's file, from the root. The compiler leaves `a/../b` in the path of a module that says where its file is.
    pub fn file(&self) -> String {
        let mut parts: Vec<&str> = Vec::new();
        for part in self.at.file().split('/') {
            match part {
                ".." if parts.last().is_some_and(|last| *last != "..") => _ = parts.pop(),
                _ => parts.push(part),
            }
        }
        parts.join("/")
    }

    /// File and line, as messages have them.
    pub fn place(&self) -> String {
        format!("{}:{}", self.file(), self.at.line())
    }
}

/// What is noted while a submission runs.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    pub entries: Vec<Entry>,
    /// Each with the entries that were noted in it, as indices.
    pub ranges: Vec<(String, Range<usize>)>,
}

/// The operations in order, and the names of what they speak of.
#[derive(Clone, Debug)]
pub struct Log {
    /// The operations.
    pub entries: Vec<Entry>,
    /// The named ranges of the submission, in the order in which they began.
    pub ranges: Vec<(String, Range<usize>)>,
    /// The streams of the context, with their kinds.
    pub streams: Vec<(StreamId, StreamKind)>,
    names: HashMap<u64, String>,
    dependences: HashMap<&'static str, Dependence>,
}

impl Log {
    /// The name that the program gave to a stream, an event or a buffer.
    pub fn name(&self, identity: u64) -> &str {
        self.names.get(&identity).map_or("?", String::as_str)
    }

    /// How a kernel that was launched to start early depends on the work ahead of it; none for other kernels.
    pub fn dependence(&self, kernel: &Kernel) -> Option<&Dependence> {
        self.dependences.get(kernel.name)
    }

    pub(super) fn new(
        recorded: Recorded,
        streams: Vec<(StreamId, StreamKind)>,
        names: HashMap<u64, String>,
        dependences: HashMap<&'static str, Dependence>,
    ) -> Self {
        let Recorded { entries, ranges } = recorded;
        Log { entries, ranges, streams, names, dependences }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, operation: &Operation) -> fmt::Result {
        match operation {
            Operation::Launch { stream, kernel, launch, buffers } => {
                write!(f, "launch {} on {}", kernel.name, self.name(stream.0))?;
                if launch.attributes.may_start_early() {
                    write!(f, ", may start early")?;
                }
                for (access, word) in [(Access::Read, "reads"), (Access::Write, "writes")] {
                    let names: Vec<_> =
                        buffers.iter().filter(|u| u.access == access).map(|u| self.name(u.buffer)).collect();
                    if !names.is_empty() {
                        write!(f, ", {word} {}", names.join(" "))?;
                    }
                }
                Ok(())
            }
            Operation::Record { event, stream } => {
                write!(f, "record {} on {}", self.name(event.0), self.name(stream.0))
            }
            Operation::Wait { stream, event } => {
                write!(f, "{} waits for {}", self.name(stream.0), self.name(event.0))
            }
            Operation::Copy { stream, from, to, .. }
            | Operation::AsyncCopyToDevice { stream, from, to, .. }
            | Operation::AsyncCopyToHost { stream, from, to, .. } => {
                write!(f, "copy {} to {} on {}", self.name(*from), self.name(*to), self.name(stream.0))
            }
            Operation::Fill { stream, buffer, .. } => {
                write!(f, "fill {} on {}", self.name(*buffer), self.name(stream.0))
            }
            Operation::CopyToDevice { buffer, .. } => write!(f, "copy to {}", self.name(*buffer)),
            Operation::CopyToHost { buffer, .. } => write!(f, "copy from {}", self.name(*buffer)),
            Operation::SynchronizeStream { stream } => write!(f, "host waits for {}", self.name(stream.0)),
            Operation::SynchronizeEvent { event } => write!(f, "host waits for {}", self.name(event.0)),
            Operation::SynchronizeContext => write!(f, "host waits for everything"),
            Operation::FillByDefault { buffer, .. } => write!(f, "fill {}", self.name(*buffer)),
            Operation::Host { buffer, access, .. } => {
                let does = if *access == Access::Read { "reads" } else { "writes" };
                write!(f, "host {does} {}", self.name(*buffer))
            }
            Operation::Elapsed { start, stop } => {
                write!(f, "time from {} to {}", self.name(start.0), self.name(stop.0))
            }
            Operation::HandOver { to } => write!(f, "hand over to host thread {}", to.0),
            Operation::DestroyStream { stream } => write!(f, "destroy {}", self.name(stream.0)),
            Operation::DestroyEvent { event } => write!(f, "destroy {}", self.name(event.0)),
        }
    }
}

/// One operation a line.
impl fmt::Display for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for entry in &self.entries {
            self.write(f, &entry.operation)?;
            if entry.thread != ThreadId::default() {
                write!(f, ", by host thread {}", entry.thread.0)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
