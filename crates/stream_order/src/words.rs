//! A finding in the words of a person. Cold; it decides nothing.

use std::fmt;
use std::ops::Range;

use crate::check::Clash;
use crate::explain::{Cause, Finding};
use crate::program::{
    Action, BufferId, EventId, Memory, Mode, Operation, Program, Stream, StreamId, StreamKind, ThreadId,
};

impl Finding {
    /// The finding as a text of several lines, without a line break at its end: what is not ordered, the two operations,
    /// the cause and the repair. `program` is the one that was checked.
    pub fn in_words<'a>(&'a self, program: &'a Program) -> impl fmt::Display + 'a {
        Words { finding: self, program }
    }
}

struct Words<'a> {
    finding: &'a Finding,
    program: &'a Program,
}

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { race, more, .. } = self.finding;
        let [one, two] = [race.first, race.second].map(|at| self.who(at));
        match &race.clash {
            Clash::Memory { buffer, bytes, .. } => {
                let [one_does, two_does] = [race.first, race.second].map(|at| self.does(at, *buffer, bytes));
                let Range { start, end } = bytes;
                writeln!(f, "missing edge {}: bytes {start}..{end} of {}", self.way(), self.buffer(*buffer))?;
                writeln!(f, "  (1) {}: {one} {one_does} them", self.at(race.first))?;
                writeln!(f, "  (2) {}: {two} {two_does} them", self.at(race.second))?;
            }
            Clash::Time { start, .. } => {
                let [start, stop] = [*start, race.second].map(|at| self.event_of(at));
                writeln!(f, "missing edge {}: the time from {start} to {stop}", self.way())?;
                writeln!(f, "  (1) {}: {one} was submitted between the two records", self.at(race.first))?;
                writeln!(f, "  (2) {}: {two} does not wait for it", self.at(race.second))?;
            }
        }
        if !more.is_empty() {
            let s = if more.len() == 1 { "" } else { "s" };
            writeln!(f, "  and {} more pair{s} with the same cause", more.len())?;
        }
        writeln!(f, "  cause: {}", self.cause())?;
        write!(f, "  repair: {}", self.repair())
    }
}

impl Words<'_> {
    fn cause(&self) -> String {
        let Finding { race, .. } = self.finding;
        let [from, to] = [race.first, race.second].map(|at| self.place(at));
        match self.finding.cause {
            Cause::RecordedTooEarly { .. }
            | Cause::WaitedBeforeRecorded { .. }
            | Cause::NeverRecorded { .. }
            | Cause::Rerecorded { .. } => self.failed_wait(&from),
            Cause::StopElsewhere { .. } => {
                format!("{to}, where the stop is recorded, does not follow {from}")
            }
            Cause::HostDidNotWait => format!(
                "{to} did not wait for (1): the call that submits it returns before it is done{}",
                if self.is_pageable_copy(race.first) {
                    "; CUDA may wait in a copy of pageable memory, but does not promise it"
                } else {
                    ""
                }
            ),
            Cause::HostThreads => format!("{from} did not let {to} go on"),
            Cause::NonBlocking => {
                let (free, default) = if self.is_non_blocking(race.first) { (from, to) } else { (to, from) };
                let returns = if self.is_called_synchronous(race.first) {
                    ", and the call of (1) returns before the device is done"
                } else {
                    ""
                };
                format!(
                    "{free} is non-blocking: it and the default stream {default} do not wait for each other{returns}"
                )
            }
            Cause::DependentNeverWaits => {
                "(2) was launched with programmatic stream serialization, and its kernel \
                                           has no griddepcontrol.wait: nothing makes it wait for (1)"
                    .to_owned()
            }
            Cause::DependentTooEarly => {
                "(2) was launched with programmatic stream serialization, and touches the \
                                         bytes before its griddepcontrol.wait"
                    .to_owned()
            }
            Cause::ChainBroken { middle } => format!(
                "(2) waits for the end of the kernel before it, but {} ({}) in between was launched with programmatic \
                 stream serialization and never waits, so its end does not stand for (1); an H200 ran such a chain \
                 in order 20 times of 20, but CUDA does not promise it",
                self.who(middle),
                self.at(middle)
            ),
            Cause::NoEvent => format!("no event leads from {from} to {to}"),
        }
    }

    /// Why a wait for an event does not cover (1), which is on `from`.
    fn failed_wait(&self, from: &str) -> String {
        match self.finding.cause {
            Cause::RecordedTooEarly { record, wait } => format!(
                "{} was recorded on {from} ({}) before (1) was submitted, so the wait of {} ({}) does not cover (1)",
                self.event_of(record),
                self.at(record),
                self.place(wait),
                self.at(wait)
            ),
            Cause::WaitedBeforeRecorded { wait, record } => format!(
                "{} waited for {} ({}) before it was recorded ({}), and a later record does not change a wait",
                self.place(wait),
                self.event_of(wait),
                self.at(wait),
                self.at(record)
            ),
            Cause::NeverRecorded { wait } => format!(
                "{} waited for {} ({}), which is never recorded, so the wait was over at once",
                self.place(wait),
                self.event_of(wait),
                self.at(wait)
            ),
            Cause::Rerecorded { needed, latest, wait } => format!(
                "{} was recorded after (1) ({}), but again on {} ({}) before {} waited for it ({}), and a wait takes \
                 the latest record alone",
                self.event_of(needed),
                self.at(needed),
                self.place(latest),
                self.at(latest),
                self.place(wait),
                self.at(wait)
            ),
            _ => String::new(),
        }
    }

    fn repair(&self) -> String {
        let Finding { race, after, .. } = self.finding;
        let [from, to] = [race.first, race.second].map(|at| self.place(at));
        let after = if *after == race.first {
            "(1)".to_owned()
        } else {
            format!("(1) and {} ({}),", self.who(*after), self.at(*after))
        };
        match self.finding.cause {
            Cause::RecordedTooEarly { record, .. } => {
                format!("record {} after {after} and before the wait", self.event_of(record))
            }
            Cause::WaitedBeforeRecorded { wait, .. } => {
                format!(
                    "first record {} after {after} and then let {} wait",
                    self.event_of(wait),
                    self.place(wait)
                )
            }
            Cause::NeverRecorded { wait } => {
                format!("record {} on {from} after {after} and before the wait", self.event_of(wait))
            }
            Cause::Rerecorded { needed, .. } => {
                format!(
                    "use an event for each of the two, or wait for {} before the second record",
                    self.event_of(needed)
                )
            }
            Cause::StopElsewhere { .. } => {
                let stop = self.event_of(race.second);
                format!(
                    "record {stop} where it follows (1): on {from}, or on {to} once it has waited for {from}"
                )
            }
            Cause::HostDidNotWait => {
                format!("before (2), synchronize {from}, or an event recorded there after {after}")
            }
            Cause::HostThreads => format!("let {from} hand over to {to} after {after} and before (2)"),
            Cause::NonBlocking => format!(
                "record an event on {from} after {after} and let {to} wait for it before (2), or make the stream a \
                 blocking one"
            ),
            Cause::DependentNeverWaits => {
                "wait in the kernel before it touches them, or launch it without the attribute".to_owned()
            }
            Cause::DependentTooEarly => "touch them after the wait".to_owned(),
            Cause::ChainBroken { middle } => {
                format!("let {} wait too, or launch it without the attribute", self.who(middle))
            }
            Cause::NoEvent => {
                format!("record an event on {from} after {after} and let {to} wait for it before (2)")
            }
        }
    }

    fn operation(&self, at: usize) -> &Operation {
        &self.program.operations[at]
    }

    /// An operation's line.
    fn at(&self, at: usize) -> String {
        let caller = &self.operation(at).caller;
        match caller.line {
            0 => format!("operation {at}"),
            line => format!("{}:{line}", caller.file),
        }
    }

    /// An operation: what it is, its name, its stream.
    fn who(&self, at: usize) -> String {
        let Operation { name, action, .. } = self.operation(at);
        let kind = match action {
            Action::Launch(_) => "kernel",
            Action::Copy(_) => "copy",
            Action::Memset(_) => "memset",
            Action::Record { .. } => {
                return format!("the record of {} on {}", self.event_of(at), self.place(at));
            }
            _ => return self.place(at),
        };
        match name.as_ref() {
            "" => format!("the {kind} on {}", self.place(at)),
            name => format!("{kind} `{name}` on {}", self.place(at)),
        }
    }

    /// What an operation does to the bytes.
    fn does(&self, at: usize, buffer: BufferId, bytes: &Range<u64>) -> &'static str {
        let action = &self.operation(at).action;
        let touches = |wanted: Mode| {
            action.spans().any(|(span, mode)| {
                let shared = span.bytes.start.max(bytes.start)..span.bytes.end.min(bytes.end);
                mode == wanted && span.buffer == buffer && !shared.is_empty()
            })
        };
        match (touches(Mode::Read), touches(Mode::Write)) {
            (true, true) => "reads and writes",
            (true, false) => "reads",
            (false, _) => "writes",
        }
    }

    /// Where an operation runs.
    fn place(&self, at: usize) -> String {
        let Operation { action, thread, .. } = self.operation(at);
        let Some(id) = action.stream() else { return self.thread(*thread) };
        match self.declared(id) {
            None => format!("stream {}", id.0),
            Some(Stream { name, kind: StreamKind::PerThread, .. }) => {
                format!("`{name}` of {}", self.thread(*thread))
            }
            Some(Stream { name, .. }) => format!("`{name}`"),
        }
    }

    /// From where to where an edge is missing.
    fn way(&self) -> String {
        let [from, to] = [self.finding.race.first, self.finding.race.second].map(|at| self.place(at));
        if from == to { format!("within {from}") } else { format!("from {from} to {to}") }
    }

    fn declared(&self, id: StreamId) -> Option<&Stream> {
        self.program.streams.iter().find(|stream| stream.id == id)
    }

    fn is_non_blocking(&self, at: usize) -> bool {
        let stream = self.operation(at).action.stream().and_then(|id| self.declared(id));
        stream.is_some_and(|stream| stream.kind == StreamKind::NonBlocking)
    }

    fn event(&self, id: EventId) -> String {
        let known = self.program.events.iter().find(|event| event.id == id);
        known.map_or_else(|| format!("event {}", id.0), |event| format!("`{}`", event.name))
    }

    fn buffer(&self, id: BufferId) -> String {
        let known = self.program.buffers.iter().find(|buffer| buffer.id == id);
        known.map_or_else(|| format!("buffer {}", id.0), |buffer| format!("`{}`", buffer.name))
    }

    /// A host thread; with its number where there is more than one.
    fn thread(&self, id: ThreadId) -> String {
        let is_alone = self.program.operations.iter().all(|operation| operation.thread == id);
        if is_alone { "the host".to_owned() } else { format!("host thread {}", id.0) }
    }

    /// The event of a record or a wait.
    fn event_of(&self, at: usize) -> String {
        match self.operation(at).action {
            Action::Record { event, .. }
            | Action::Wait { event, .. }
            | Action::SynchronizeEvent { event } => self.event(event),
            _ => "no event".to_owned(),
        }
    }

    fn is_pageable_copy(&self, at: usize) -> bool {
        let memory =
            |id| self.program.buffers.iter().find(|buffer| buffer.id == id).map(|buffer| buffer.memory);
        match &self.operation(at).action {
            Action::Copy(copy) => {
                [copy.from.buffer, copy.to.buffer].into_iter().any(|id| memory(id) == Some(Memory::Pageable))
            }
            _ => false,
        }
    }

    fn is_called_synchronous(&self, at: usize) -> bool {
        match &self.operation(at).action {
            Action::Copy(copy) => !copy.is_async,
            Action::Memset(memset) => !memset.is_async,
            _ => false,
        }
    }
}
