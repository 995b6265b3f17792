//! Programs as text, so that a test is data: one operation a line, whose number is the operation's line.
//!
//! ```text
//! streams: legacy legacy, s1 nonblocking, s2 blocking, own perthread
//! memory: staging pinned, plain pageable         anything else is device memory
//! host: write staging                            the host's thread 0; `host1:` is thread 1
//! s1: copy staging > x as load                   an Async call; `copysync` is the other one
//! s1: launch produce r x[0..64] w y              `early r x` before the wait; add `attribute` and `waits`
//! s1 by host1: record done                       submitted by another thread
//! host: wait device | wait stream s1 | wait event done | handover 1 | elapsed start stop | elapsedall start stop
//! host: destroy event done | destroy stream s1
//! ```

#![expect(clippy::unwrap_used, reason = "a program that cannot be read is a mistake in a test")]
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::Range;

use stream_order::program::{
    Access, Action, Buffer, BufferId, Caller, Copy, Event, EventId, Launch, Memory, Memset, Mode, Operation,
    Program, Span, Stream, StreamId, StreamKind, ThreadId,
};

/// The bytes of a buffer whose range is not said.
const WHOLE: Range<u64> = 0..4000;

/// Reads a program; `file` is what its operations' callers are in.
pub fn program(file: &str, text: &str) -> Program {
    let mut reader = Reader { file: file.to_owned(), ..Reader::default() };
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let (head, rest) = line.split_once(':').unwrap_or_else(|| panic!("{file}:{}: no colon", i + 1));
        reader.line(head, rest, u32::try_from(i + 1).unwrap());
    }
    reader.program
}

/// What `check` says of a program: its findings, with an empty line between two.
pub fn report(program: &Program) -> String {
    let mut report = String::new();
    for finding in stream_order::check(program) {
        if !report.is_empty() {
            report.push('\n');
        }
        writeln!(report, "{}", finding.in_words(program)).unwrap();
    }
    report
}

#[derive(Default)]
struct Reader {
    file: String,
    program: Program,
    streams: HashMap<String, StreamId>,
    events: HashMap<String, EventId>,
    buffers: HashMap<String, BufferId>,
    memories: HashMap<String, Memory>,
}

impl Reader {
    fn line(&mut self, head: &str, rest: &str, line: u32) {
        let declared = || rest.split(',').map(|item| item.trim().split_once(' ').unwrap());
        match head {
            "streams" => declared().for_each(|(name, kind)| self.declare_stream(name, kind)),
            "memory" => declared().for_each(|(name, kind)| {
                let memory = if kind == "pinned" { Memory::Pinned } else { Memory::Pageable };
                self.memories.insert(name.to_owned(), memory);
            }),
            _ => {
                let (place, thread) = head.split_once(" by ").unwrap_or((head, head));
                let thread = thread.strip_prefix("host").map_or(0, |n| n.parse().unwrap_or(0));
                let words: Vec<&str> = rest.split_whitespace().collect();
                let (words, name) = match words.iter().position(|&word| word == "as") {
                    Some(at) => (&words[..at], words[at + 1]),
                    None if words[0] == "launch" => (&words[..], words[1]),
                    None => (&words[..], ""),
                };
                let action =
                    if place.starts_with("host") { self.host(words) } else { self.device(place, words) };
                self.program.operations.push(Operation {
                    name: name.to_owned().into(),
                    caller: Caller { file: self.file.clone().into(), line },
                    thread: ThreadId(thread),
                    action,
                });
            }
        }
    }

    fn declare_stream(&mut self, name: &str, kind: &str) {
        let id = StreamId(self.streams.len() as u64);
        let kind = match kind {
            "blocking" => StreamKind::Blocking,
            "nonblocking" => StreamKind::NonBlocking,
            "legacy" => StreamKind::Legacy,
            "perthread" => StreamKind::PerThread,
            other => panic!("no such kind: {other}"),
        };
        self.streams.insert(name.to_owned(), id);
        self.program.streams.push(Stream { id, name: name.to_owned().into(), kind });
    }

    fn host(&mut self, words: &[&str]) -> Action {
        match *words {
            ["wait", "device"] => Action::SynchronizeDevice,
            ["wait", "stream", stream] => Action::SynchronizeStream { stream: self.stream(stream) },
            ["wait", "event", event] => Action::SynchronizeEvent { event: self.event(event) },
            ["destroy", "stream", stream] => Action::DestroyStream { stream: self.stream(stream) },
            ["destroy", "event", event] => Action::DestroyEvent { event: self.event(event) },
            ["read", span] => Action::Host { span: self.span(span), mode: Mode::Read },
            ["write", span] => Action::Host { span: self.span(span), mode: Mode::Write },
            ["handover", to] => Action::HandOver { to: ThreadId(to.parse().unwrap()) },
            [word @ ("elapsed" | "elapsedall"), start, stop] => Action::Elapsed {
                start: self.event(start),
                stop: self.event(stop),
                of_all_work: word == "elapsedall",
            },
            _ => panic!("not understood: {words:?}"),
        }
    }

    fn device(&mut self, stream: &str, words: &[&str]) -> Action {
        let stream = self.stream(stream);
        match *words {
            ["record", event] => Action::Record { event: self.event(event), stream },
            ["wait", event] => Action::Wait { event: self.event(event), stream },
            [word @ ("copy" | "copysync"), from, ">", to] => Action::Copy(Copy {
                stream,
                from: self.span(from),
                to: self.span(to),
                is_async: word == "copy",
            }),
            [word @ ("memset" | "memsetsync"), to] => {
                Action::Memset(Memset { stream, to: self.span(to), is_async: word == "memset" })
            }
            ["launch", _, ref rest @ ..] => {
                let mut launch = Launch { stream, accesses: Vec::new(), programmatic: false, waits: false };
                let mut before_wait = false;
                let mut rest = rest.iter();
                while let Some(&word) = rest.next() {
                    match word {
                        "attribute" => launch.programmatic = true,
                        "waits" => launch.waits = true,
                        "early" => before_wait = true,
                        "r" | "w" => {
                            let mode = if word == "r" { Mode::Read } else { Mode::Write };
                            let span = self.span(rest.next().unwrap());
                            launch.accesses.push(Access { span, mode, before_wait });
                            before_wait = false;
                        }
                        _ => panic!("not understood: {word}"),
                    }
                }
                Action::Launch(launch)
            }
            _ => panic!("not understood: {words:?}"),
        }
    }

    fn stream(&self, name: &str) -> StreamId {
        *self.streams.get(name).unwrap_or_else(|| panic!("no stream {name}"))
    }

    fn event(&mut self, name: &str) -> EventId {
        let next = EventId(self.events.len() as u64);
        *self.events.entry(name.to_owned()).or_insert_with(|| {
            self.program.events.push(Event { id: next, name: name.to_owned().into() });
            next
        })
    }

    fn span(&mut self, text: &str) -> Span {
        let (name, bytes) = match text.split_once('[') {
            Some((name, range)) => {
                let (start, end) = range.trim_end_matches(']').split_once("..").unwrap();
                (name, start.parse().unwrap()..end.parse().unwrap())
            }
            None => (text, WHOLE),
        };
        let next = BufferId(self.buffers.len() as u64);
        let buffer = *self.buffers.entry(name.to_owned()).or_insert_with(|| {
            let memory = self.memories.get(name).copied().unwrap_or(Memory::Device);
            self.program.buffers.push(Buffer { id: next, name: name.to_owned().into(), memory });
            next
        });
        Span { buffer, bytes }
    }
}
