//! The log of a submission: its operations in order, as `stream_order` takes them, and the edges that are missing in it. Pure.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use serde::{Serialize, Serializer};
use stream_order::program::{
    Action, BufferId, Caller, EventId, Launch, Mode, Operation, Program, Span, StreamId, ThreadId,
};
use stream_order::{CriticalPath, Finding};

/// What a submission did, in order, and what is not ordered in it.
#[derive(Clone, Debug)]
pub struct Log {
    /// The operations, with the streams, events and buffers that they name.
    pub program: Program,
    /// The named ranges of the submission in the order in which they began, each with its operations as indices.
    pub ranges: Vec<(String, Range<usize>)>,
    findings: OnceCell<Vec<Finding>>,
}

impl Log {
    pub(crate) fn new(program: Program, ranges: Vec<(String, Range<usize>)>) -> Self {
        Log { program, ranges, findings: OnceCell::new() }
    }

    /// Returns what is not ordered and should be, worked out once.
    pub fn findings(&self) -> &[Finding] {
        self.findings.get_or_init(|| stream_order::check(&self.program))
    }

    /// Returns the missing edges, one for each cause. The log must hold every record that its waits need.
    pub fn missing_edges(&self) -> MissingEdges {
        let place = |operation: usize| {
            let stream = self.program.operations[operation].action.stream();
            stream.map_or_else(|| "the host".to_owned(), |stream| self.stream_name(stream).to_owned())
        };
        let edge = |finding: &Finding| MissingEdge {
            from: place(finding.race.first),
            to: place(finding.race.second),
            report: finding.in_words(&self.program).to_string(),
            more: finding.more.len(),
        };
        MissingEdges(self.findings().iter().map(edge).collect())
    }

    /// Returns the name of a stream.
    pub fn stream_name(&self, id: StreamId) -> &str {
        self.program.streams.iter().find(|stream| stream.id == id).map_or("?", |stream| &stream.name)
    }

    /// Returns the name of an event.
    pub fn event_name(&self, id: EventId) -> &str {
        self.program.events.iter().find(|event| event.id == id).map_or("?", |event| &event.name)
    }

    /// Returns the name of a buffer.
    pub fn buffer_name(&self, id: BufferId) -> &str {
        self.program.buffers.iter().find(|buffer| buffer.id == id).map_or("?", |buffer| &buffer.name)
    }

    /// Returns file and line of an operation, as messages have them.
    pub fn place(&self, operation: usize) -> String {
        let Caller { file, line } = &self.program.operations[operation].caller;
        format!("{file}:{line}")
    }

    /// Returns the operations that are launches, copies and memsets, as indices.
    pub fn work(&self) -> Vec<usize> {
        let is_work = |operation: &Operation| {
            matches!(operation.action, Action::Launch(_) | Action::Copy(_) | Action::Memset(_))
        };
        (0..self.program.operations.len()).filter(|&at| is_work(&self.program.operations[at])).collect()
    }

    /// Returns for each piece of [work](Log::work) the earlier ones that it is ordered after, as positions in the work.
    pub fn predecessors(&self) -> Vec<BTreeSet<usize>> {
        let (work, all) = (self.work(), stream_order::predecessors(&self.program));
        let position = |at: &usize| work.iter().position(|one| one == at);
        work.iter().map(|&at| all[at].iter().filter_map(position).collect()).collect()
    }

    /// Returns the longest chain of ordered operations, where an operation counts so many `units`.
    pub fn critical_path(&self, units: impl Fn(&Operation) -> u64) -> CriticalPath {
        stream_order::critical_path(&self.program, |at| units(&self.program.operations[at]))
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, operation: &Operation) -> fmt::Result {
        let names = |spans: Vec<&Span>| {
            let names: Vec<_> = spans.into_iter().map(|span| self.buffer_name(span.buffer)).collect();
            names.join(" ")
        };
        match &operation.action {
            Action::Launch(Launch { stream, accesses, programmatic, .. }) => {
                write!(f, "launch {} on {}", operation.name, self.stream_name(*stream))?;
                if *programmatic {
                    write!(f, ", may start early")?;
                }
                for (mode, word) in [(Mode::Read, "reads"), (Mode::Write, "writes")] {
                    let spans: Vec<_> =
                        accesses.iter().filter(|one| one.mode == mode).map(|one| &one.span).collect();
                    if !spans.is_empty() {
                        write!(f, ", {word} {}", names(spans))?;
                    }
                }
                Ok(())
            }
            Action::Record { event, stream } => {
                write!(f, "record {} on {}", self.event_name(*event), self.stream_name(*stream))
            }
            Action::Wait { stream, event } => {
                write!(f, "{} waits for {}", self.stream_name(*stream), self.event_name(*event))
            }
            Action::Copy(copy) => {
                let (from, to) = (self.buffer_name(copy.from.buffer), self.buffer_name(copy.to.buffer));
                write!(f, "copy {from} to {to} on {}", self.stream_name(copy.stream))
            }
            Action::Memset(memset) => {
                let to = self.buffer_name(memset.to.buffer);
                write!(f, "memset {to} on {}", self.stream_name(memset.stream))
            }
            Action::SynchronizeStream { stream } => write!(f, "host waits for {}", self.stream_name(*stream)),
            Action::SynchronizeEvent { event } => write!(f, "host waits for {}", self.event_name(*event)),
            Action::SynchronizeDevice if operation.name.is_empty() => write!(f, "host waits for the device"),
            Action::SynchronizeDevice => write!(f, "host waits for the device, {}", operation.name),
            Action::Host { span, mode } => {
                let does = if *mode == Mode::Read { "reads" } else { "writes" };
                write!(f, "host {does} {}", self.buffer_name(span.buffer))
            }
            Action::Elapsed { start, stop, .. } => {
                write!(f, "time from {} to {}", self.event_name(*start), self.event_name(*stop))
            }
            Action::HandOver { to } => write!(f, "hand over to host thread {}", to.0),
            Action::DestroyStream { stream } => write!(f, "destroy {}", self.stream_name(*stream)),
            Action::DestroyEvent { event } => write!(f, "destroy {}", self.event_name(*event)),
        }
    }
}

/// Writes one operation a line.
impl fmt::Display for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for operation in &self.program.operations {
            self.write(f, operation)?;
            if operation.thread != ThreadId::default() {
                write!(f, ", by host thread {}", operation.thread.0)?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// An ordering edge that is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MissingEdge {
    /// The stream whose work it should leave; `the host` where it is the host's.
    pub from: String,
    /// The stream whose work should wait.
    pub to: String,
    /// The report, over several lines: both operations, the cause and the repair.
    pub report: String,
    /// Further pairs of operations that the same edge would order.
    pub more: usize,
}

/// The missing edges of a submission. Printed, they are the reports; of those that differ only in the waiting stream, the first
/// in full and the rest in a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingEdges(Vec<MissingEdge>);

impl std::ops::Deref for MissingEdges {
    type Target = [MissingEdge];

    fn deref(&self) -> &[MissingEdge] {
        &self.0
    }
}

impl Serialize for MissingEdges {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&self.0)
    }
}

impl fmt::Display for MissingEdges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("no missing edges");
        }
        let apart_from_the_stream =
            |edge: &MissingEdge| edge.report.replace(&format!("`{}`", edge.to), "`*`");
        let mut groups: Vec<(String, Vec<&MissingEdge>)> = Vec::new();
        for edge in self.iter() {
            let key = apart_from_the_stream(edge);
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, group)) => group.push(edge),
                None => groups.push((key, vec![edge])),
            }
        }
        for (at, (_, group)) in groups.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            write!(f, "{}", group[0].report.trim_end())?;
            let names: Vec<_> = group[1..].iter().map(|edge| format!("`{}`", edge.to)).collect();
            let list = match names.as_slice() {
                [] => continue,
                [name] => name.clone(),
                [names @ .., last] => format!("{} and {last}", names.join(", ")),
            };
            write!(f, "\n... and the same from `{}` to {list}", group[0].from)?;
        }
        Ok(())
    }
}
