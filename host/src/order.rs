//! What a lesson submitted, asked for the edges that are missing in it. It translates the log for `stream_order`, which
//! knows the rules; it touches no device. What a kernel that starts early does before its wait, the log knows too.

use std::collections::{BTreeSet, HashSet};

use cuda_std::abi::Access;
use cuda_std::call::BufferUse;
use serde::Serialize;
use stream_order::Clash;
use stream_order::program::{self, Action, Caller, Launch, Memory, Mode, Program, Span, ThreadId};

pub use stream_order::CriticalPath;

use crate::submit::{Dependence, Entry, Log, Operation, StreamKind};

/// An edge that is missing, for a document.
#[derive(Clone, Debug, Serialize)]
pub struct MissingEdge {
    /// The stream whose work it should leave; `the host` where it is the host's.
    pub from: String,
    /// The stream whose work should wait.
    pub to: String,
    /// The report in words, over several lines: both operations, the cause and the repair.
    pub report: String,
    /// Further pairs of operations that the same edge would order.
    pub more: usize,
}

/// The missing edges of what was submitted, once for each cause. The log must hold every record that its waits need.
pub fn missing_edges(log: &Log) -> Vec<MissingEdge> {
    let program = translate(log);
    stream_order::check(&program)
        .iter()
        .map(|finding| MissingEdge {
            from: place(log, finding.race.first),
            to: place(log, finding.race.second),
            report: finding.in_words(&program).to_string(),
            more: finding.more.len(),
        })
        .collect()
}

/// The reports of missing edges, for a person: of those that differ in the waiting stream alone, the first in full and the
/// rest in a line.
pub fn in_words(edges: &[MissingEdge]) -> String {
    let apart_from_the_stream = |edge: &MissingEdge| edge.report.replace(&format!("`{}`", edge.to), "`*`");
    let mut groups: Vec<(String, Vec<&MissingEdge>)> = Vec::new();
    for edge in edges {
        let key = apart_from_the_stream(edge);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(edge),
            None => groups.push((key, vec![edge])),
        }
    }
    let words = groups.iter().map(|(_, group)| {
        let report = group[0].report.trim_end();
        let names: Vec<_> = group[1..].iter().map(|edge| format!("`{}`", edge.to)).collect();
        match names.as_slice() {
            [] => report.to_owned(),
            [name] => format!("{report}\n... and the same from `{}` to {name}", group[0].from),
            [names @ .., last] => {
                format!(
                    "{report}\n... and the same from `{}` to {} and {last}",
                    group[0].from,
                    names.join(", ")
                )
            }
        }
    });
    words.collect::<Vec<_>>().join("\n")
}

/// Where an operation runs.
fn place(log: &Log, operation: usize) -> String {
    let stream = log.entries[operation].operation.stream();
    stream.map_or("the host", |stream| log.name(stream.0)).to_owned()
}

/// An edge, to be drawn. Operations are indices in the log's entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The record and the wait that made it; none where it is missing. A wait for an event that was never recorded has no
    /// record.
    pub wait: Option<(Option<usize>, usize)>,
    /// What it covers: the last operation before it. None where the stream was empty.
    pub from: Option<usize>,
    /// What waits: the first operation behind it.
    pub to: Option<usize>,
    /// In words; of a missing edge the whole report.
    pub words: String,
    /// The buffer whose bytes a missing edge is about.
    pub buffer: Option<u64>,
}

/// The edges that events made, in the order of the waits.
pub fn edges(log: &Log) -> Vec<Edge> {
    let program = translate(log);
    let line = |at: usize| log.entries[at].place();
    let words = |arrow: &stream_order::Arrow| match (arrow.record, arrow.from) {
        (None, _) => {
            format!("the wait at {} is over at once: the event was never recorded", line(arrow.wait))
        }
        (Some(record), None) => format!(
            "recorded at {} when the stream was empty, so the wait at {} is over at once",
            line(record),
            line(arrow.wait)
        ),
        (Some(record), Some(_)) => {
            format!("recorded at {}, waited for at {}", line(record), line(arrow.wait))
        }
    };
    let edge = |arrow: stream_order::Arrow| Edge {
        wait: Some((arrow.record, arrow.wait)),
        from: arrow.from,
        to: arrow.to,
        words: words(&arrow),
        buffer: None,
    };
    stream_order::arrows(&program).into_iter().map(edge).collect()
}

/// The work of a log, as indices in its entries: launches, copies and fills.
pub fn work(log: &Log) -> Vec<usize> {
    let is_work = |operation: &Operation| {
        operation.stream().is_some()
            && !matches!(
                operation,
                Operation::Record { .. }
                    | Operation::Wait { .. }
                    | Operation::DestroyStream { .. }
                    | Operation::SynchronizeStream { .. }
            )
    };
    (0..log.entries.len()).filter(|&at| is_work(&log.entries[at].operation)).collect()
}

/// For each piece of work the earlier ones that it is after, all by their places among the work.
pub fn predecessors(log: &Log) -> Vec<BTreeSet<usize>> {
    let (work, all) = (work(log), stream_order::predecessors(&translate(log)));
    let place = |at: &usize| work.iter().position(|one| one == at);
    work.iter().map(|&at| all[at].iter().filter_map(place).collect()).collect()
}

/// The longest chain of ordered operations, where an operation counts so many `units`.
pub fn critical_path(log: &Log, units: impl Fn(&Operation) -> u64) -> CriticalPath {
    stream_order::critical_path(&translate(log), |at| units(&log.entries[at].operation))
}

/// The edges that are missing, one for each cause.
pub fn missing(log: &Log) -> Vec<Edge> {
    let program = translate(log);
    let edge = |finding: &stream_order::Finding| Edge {
        wait: None,
        from: Some(finding.after),
        to: Some(finding.before),
        words: finding.in_words(&program).to_string(),
        buffer: match &finding.race.clash {
            Clash::Memory { buffer, .. } => Some(buffer.0),
            Clash::Time { .. } => None,
        },
    };
    stream_order::check(&program).iter().map(edge).collect()
}

fn translate(log: &Log) -> Program {
    let mut program = Program::default();
    let legacy = "legacy default stream".into();
    program.streams.push(program::Stream { id: LEGACY, name: legacy, kind: program::StreamKind::Legacy });
    for (id, kind) in &log.streams {
        let kind = match kind {
            StreamKind::Blocking => program::StreamKind::Blocking,
            StreamKind::NonBlocking => program::StreamKind::NonBlocking,
            StreamKind::Legacy => program::StreamKind::Legacy,
            StreamKind::PerThread => program::StreamKind::PerThread,
        };
        let name = log.name(id.0).to_owned().into();
        program.streams.push(program::Stream { id: program::StreamId(id.0), name, kind });
    }
    let mut names = Names { log, program, declared: HashSet::new() };
    let operations =
        log.entries.iter().zip(0..).map(|(entry, place)| names.operation(entry, place)).collect();
    Program { operations, ..names.program }
}

/// How a buffer is accessed, before the wait or not: twice where the kernel reads it early and writes it only later.
fn modes(access: Access, early: Option<Access>) -> &'static [(Mode, bool)] {
    match (access, early) {
        (Access::Read, None) => &[(Mode::Read, false)],
        (Access::Read, Some(_)) => &[(Mode::Read, true)],
        (Access::Write, None) => &[(Mode::Write, false)],
        (Access::Write, Some(Access::Read)) => &[(Mode::Read, true), (Mode::Write, false)],
        (Access::Write, Some(Access::Write)) => &[(Mode::Write, true)],
    }
}

/// The program that is being written, whose events and buffers are declared as they come up.
struct Names<'a> {
    log: &'a Log,
    program: Program,
    /// What was declared already; the log gives each of its numbers to one thing.
    declared: HashSet<u64>,
}

impl Names<'_> {
    fn operation(&mut self, entry: &Entry, place: u64) -> program::Operation {
        let mut name = "";
        let action = match &entry.operation {
            Operation::Launch { stream, kernel, launch, buffers } => {
                name = kernel.name;
                let dependence = self.log.dependence(kernel);
                Action::Launch(Launch {
                    stream: program::StreamId(stream.0),
                    accesses: buffers.iter().flat_map(|one| self.accesses(one, dependence)).collect(),
                    programmatic: launch.attributes.may_start_early(),
                    waits: dependence.is_none_or(|kernel| kernel.waits),
                })
            }
            Operation::Record { event, stream } => {
                Action::Record { event: self.event(event.0), stream: program::StreamId(stream.0) }
            }
            Operation::Wait { stream, event } => {
                Action::Wait { stream: program::StreamId(stream.0), event: self.event(event.0) }
            }
            Operation::Copy { stream, from, to, bytes } => Action::Copy(program::Copy {
                stream: program::StreamId(stream.0),
                from: self.span(*from, 0..*bytes),
                to: self.span(*to, 0..*bytes),
                is_async: true,
            }),
            Operation::Fill { stream, buffer, bytes } => Action::Memset(program::Memset {
                stream: program::StreamId(stream.0),
                to: self.span(*buffer, 0..*bytes),
                is_async: true,
            }),
            Operation::CopyToDevice { buffer, bytes } => {
                let (device, host) = (self.span(*buffer, 0..*bytes), self.host_memory(place, *bytes));
                Action::Copy(program::Copy { stream: LEGACY, from: host, to: device, is_async: false })
            }
            Operation::CopyToHost { buffer, bytes } => {
                let (device, host) = (self.span(*buffer, 0..*bytes), self.host_memory(place, *bytes));
                Action::Copy(program::Copy { stream: LEGACY, from: device, to: host, is_async: false })
            }
            Operation::SynchronizeStream { stream } => {
                Action::SynchronizeStream { stream: program::StreamId(stream.0) }
            }
            Operation::SynchronizeEvent { event } => Action::SynchronizeEvent { event: self.event(event.0) },
            Operation::SynchronizeContext => Action::SynchronizeDevice,
            Operation::FillByDefault { buffer, bytes } => Action::Memset(program::Memset {
                stream: LEGACY,
                to: self.span(*buffer, 0..*bytes),
                is_async: false,
            }),
            Operation::AsyncCopyToDevice { stream, from, pinned, to, bytes } => Action::Copy(program::Copy {
                stream: program::StreamId(stream.0),
                from: self.on_host(*from, *pinned, bytes.clone()),
                to: self.span(*to, bytes.clone()),
                is_async: true,
            }),
            Operation::AsyncCopyToHost { stream, from, to, pinned, bytes } => Action::Copy(program::Copy {
                stream: program::StreamId(stream.0),
                from: self.span(*from, bytes.clone()),
                to: self.on_host(*to, *pinned, bytes.clone()),
                is_async: true,
            }),
            Operation::Host { buffer, pinned, access, bytes } => Action::Host {
                span: self.on_host(*buffer, *pinned, 0..*bytes),
                mode: if *access == Access::Read { Mode::Read } else { Mode::Write },
            },
            Operation::Elapsed { start, stop } => Action::Elapsed {
                start: self.event(start.0),
                stop: self.event(stop.0),
                // Whether the time is meant to hold the work of other streams too, nobody said.
                of_all_work: false,
            },
            Operation::HandOver { to } => Action::HandOver { to: ThreadId(to.0) },
            Operation::DestroyStream { stream } => {
                Action::DestroyStream { stream: program::StreamId(stream.0) }
            }
            Operation::DestroyEvent { event } => Action::DestroyEvent { event: self.event(event.0) },
        };
        let caller = Caller { file: entry.file().into(), line: entry.at.line() };
        program::Operation { name: name.into(), caller, thread: ThreadId(entry.thread.0), action }
    }

    /// What a launch does with a buffer.
    fn accesses(&mut self, used: &BufferUse, dependence: Option<&Dependence>) -> Vec<program::Access> {
        let span = self.span(used.buffer, used.bytes.clone());
        let early = dependence.and_then(|kernel| kernel.before_wait(used.parameter));
        modes(used.access, early)
            .iter()
            .map(|&(mode, before_wait)| program::Access { span: span.clone(), mode, before_wait })
            .collect()
    }

    fn event(&mut self, id: u64) -> program::EventId {
        if self.declared.insert(id) {
            let name = self.log.name(id).to_owned().into();
            self.program.events.push(program::Event { id: program::EventId(id), name });
        }
        program::EventId(id)
    }

    fn span(&mut self, buffer: u64, bytes: std::ops::Range<u64>) -> Span {
        self.memory(buffer, Memory::Device, bytes)
    }

    fn on_host(&mut self, buffer: u64, pinned: bool, bytes: std::ops::Range<u64>) -> Span {
        self.memory(buffer, if pinned { Memory::Pinned } else { Memory::Pageable }, bytes)
    }

    fn memory(&mut self, buffer: u64, memory: Memory, bytes: std::ops::Range<u64>) -> Span {
        let id = program::BufferId(buffer);
        if self.declared.insert(buffer) {
            let name = self.log.name(buffer).to_owned().into();
            self.program.buffers.push(program::Buffer { id, name, memory });
        }
        Span { buffer: id, bytes }
    }

    /// The host's side of a copy: memory of its own for each, because the log does not know which it was.
    fn host_memory(&mut self, place: u64, bytes: u64) -> Span {
        let id = program::BufferId(FIRST_HOST_BUFFER + place);
        self.program.buffers.push(program::Buffer {
            id,
            name: "host memory".into(),
            memory: Memory::Pageable,
        });
        Span { buffer: id, bytes: 0..bytes }
    }
}

/// The legacy default stream, which the copies are on; no stream of the log has the number.
const LEGACY: program::StreamId = program::StreamId(u64::MAX);
/// Where the numbers of host memory begin, far above those that the log gives.
const FIRST_HOST_BUFFER: u64 = 1 << 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_read_before_the_wait_is_written_behind_it() {
        let early = |access, early: Option<Access>| modes(access, early).to_vec();
        for mode in [(Access::Read, Mode::Read), (Access::Write, Mode::Write)] {
            assert_eq!(early(mode.0, None), [(mode.1, false)]);
            assert_eq!(early(mode.0, Some(Access::Write)), [(mode.1, true)]);
        }
        assert_eq!(early(Access::Read, Some(Access::Read)), [(Mode::Read, true)]);
        assert_eq!(early(Access::Write, Some(Access::Read)), [(Mode::Read, true), (Mode::Write, false)]);
    }
}
