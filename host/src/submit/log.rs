//! What was submitted, in the order in which the host submitted it, with the caller of each operation.
//!
//! Identities are numbers that are never used again, because a stream created after another was destroyed can get its
//! address. The log knows no rule about order: it is the material that such a rule is applied to.

use std::collections::HashMap;
use std::fmt;
use std::panic::Location;

use cuda_std::abi::{Access, Kernel};
use cuda_std::call::BufferUse;

use super::{Attributes, Dependence, StreamKind};

/// A stream's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StreamId(pub u64);

/// An event's identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventId(pub u64);

/// One operation that the host submitted.
#[derive(Clone, Debug, PartialEq)]
pub enum Operation {
    /// A kernel launch.
    Launch {
        /// Where.
        stream: StreamId,
        /// The kernel.
        kernel: &'static Kernel,
        /// What may let it start before the work ahead of it.
        attributes: Attributes,
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
}

/// An operation and who submitted it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What was submitted.
    pub operation: Operation,
    /// The line of the program that did.
    pub at: &'static Location<'static>,
}

/// The operations in order, and the names of what they speak of.
#[derive(Clone, Debug)]
pub struct Log {
    /// The operations.
    pub entries: Vec<Entry>,
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
        entries: Vec<Entry>,
        streams: Vec<(StreamId, StreamKind)>,
        names: HashMap<u64, String>,
        dependences: HashMap<&'static str, Dependence>,
    ) -> Self {
        Log { entries, streams, names, dependences }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, operation: &Operation) -> fmt::Result {
        match operation {
            Operation::Launch { stream, kernel, attributes, buffers } => {
                write!(f, "launch {} on {}", kernel.name, self.name(stream.0))?;
                if attributes.may_start_early() {
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
            Operation::Copy { stream, from, to, .. } => {
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
        }
    }
}

/// One operation a line.
impl fmt::Display for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for entry in &self.entries {
            self.write(f, &entry.operation)?;
            writeln!(f)?;
        }
        Ok(())
    }
}
