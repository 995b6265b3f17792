//! A million operations on 64 streams: how long the checker takes, and the most memory that the process held. Run alone it
//! measures all programs; with a name, that one. Nothing is asserted: the numbers are for a person.

#![expect(clippy::print_stdout, reason = "a benchmark's numbers")]

use std::fs;
use std::time::Instant;

use stream_order::check;
use stream_order::program::*;

const OPERATIONS: usize = 1_000_000;
const STREAMS: u64 = 64;

fn launch(stream: u64, reads: &[u64], writes: u64, line: u32) -> Operation {
    let access = |&buffer: &u64, mode| Access {
        span: Span { buffer: BufferId(buffer), bytes: 0..4096 },
        mode,
        before_wait: false,
    };
    let reads = reads.iter().map(|buffer| access(buffer, Mode::Read));
    let accesses = reads.chain([access(&writes, Mode::Write)]).collect();
    let launch = Launch { stream: StreamId(stream), accesses, programmatic: false, waits: false };
    operation("kernel", line, Action::Launch(launch))
}

fn operation(name: &'static str, line: u32, action: Action) -> Operation {
    let caller = Caller { file: "bench.rs".into(), line };
    Operation { name: name.into(), caller, thread: ThreadId(0), action }
}

fn record(stream: u64, event: u64, line: u32) -> Operation {
    operation("", line, Action::Record { event: EventId(event), stream: StreamId(stream) })
}

fn wait(stream: u64, event: u64, line: u32) -> Operation {
    operation("", line, Action::Wait { stream: StreamId(stream), event: EventId(event) })
}

/// Fork and join over all streams, again and again. Broken: the fork's record before the launch.
fn diamonds(kind: StreamKind, is_broken: bool) -> Program {
    let mut program = streams(kind);
    let operations = &mut program.operations;
    while operations.len() < OPERATIONS {
        let upstream = [launch(0, &[0], 1, 1), record(0, 0, 2)];
        operations.extend(upstream);
        if is_broken {
            let last = operations.len() - 1;
            operations.swap(last - 1, last);
        }
        for stream in 1..STREAMS {
            operations.extend([
                wait(stream, 0, 3),
                launch(stream, &[1], 1 + stream, 4),
                record(stream, stream, 5),
            ]);
        }
        operations.extend((1..STREAMS).map(|stream| wait(0, stream, 6)));
        operations.push(launch(0, &(2..=STREAMS).collect::<Vec<_>>(), 0, 7));
    }
    program
}

/// Every operation on the next stream, reading what the last wrote, with a new event for each edge; or without any.
fn relay(has_events: bool) -> Program {
    let mut program = streams(StreamKind::NonBlocking);
    for i in 0.. {
        let (stream, next) = (i % STREAMS, (i + 1) % STREAMS);
        program.operations.push(launch(stream, &[stream], next, 1));
        if has_events {
            program.operations.extend([record(stream, i, 2), wait(next, i, 3)]);
        }
        if program.operations.len() >= OPERATIONS {
            return program;
        }
    }
    program
}

/// Chains of kernels that start early on every stream, of which each second one waits, all reading one buffer.
fn dependents() -> Program {
    let mut program = streams(StreamKind::NonBlocking);
    for i in 0..OPERATIONS as u64 {
        let mut operation = launch(i % STREAMS, &[STREAMS], STREAMS + 1 + i % STREAMS, 1);
        if let Action::Launch(launch) = &mut operation.action {
            launch.programmatic = true;
            launch.waits = (i / STREAMS).is_multiple_of(2);
        }
        program.operations.push(operation);
    }
    program
}

/// No order at all, and every launch from a line of its own, so that no pair has the cause of another.
fn chaos() -> Program {
    let mut program = streams(StreamKind::NonBlocking);
    let mut state = 1_u64;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for line in 1..=OPERATIONS {
        let action = launch(random(STREAMS), &[random(64), random(64)], random(64), line as u32);
        program.operations.push(match random(4) {
            0 => record(random(STREAMS), random(64), line as u32),
            1 => wait(random(STREAMS), random(64), line as u32),
            _ => action,
        });
    }
    program
}

fn streams(kind: StreamKind) -> Program {
    let stream = |id| Stream { id: StreamId(id), name: format!("s{id}").into(), kind };
    Program { streams: (0..STREAMS).map(stream).collect(), ..Program::default() }
}

/// The most memory that the process has held, MiB (`VmHWM`).
fn peak_mib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) / 1024
}

fn main() {
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    type Make = fn() -> Program;
    let programs: [(&str, Make); 7] = [
        ("diamonds", || diamonds(StreamKind::NonBlocking, false)),
        ("blocking-diamonds", || diamonds(StreamKind::Blocking, false)),
        ("broken-diamonds", || diamonds(StreamKind::NonBlocking, true)),
        ("relay", || relay(true)),
        ("broken-relay", || relay(false)),
        ("dependents", dependents),
        ("chaos", chaos),
    ];
    println!("program              operations    input MiB   peak MiB    seconds   findings      pairs");
    for (name, program) in programs {
        if only.as_ref().is_some_and(|only| only != name) {
            continue;
        }
        let program = program();
        let input = peak_mib();
        let start = Instant::now();
        let findings = check(&program);
        let seconds = start.elapsed().as_secs_f64();
        let pairs: usize = findings.iter().map(|finding| 1 + finding.more.len()).sum();
        let (operations, findings, peak) = (program.operations.len(), findings.len(), peak_mib());
        println!("{name:20} {operations:10} {input:12} {peak:10} {seconds:10.2} {findings:10} {pairs:10}");
    }
}
