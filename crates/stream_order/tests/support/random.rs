//! Random programs, small enough that everything in them meets.

use std::ops::Range;

use proptest::prelude::*;
use stream_order::program::*;

/// Streams of every kind, of some kinds two; the last is not declared.
pub const STREAMS: u64 = 8;
/// Buffers: two on the device, one pinned, one pageable; the last is not declared.
pub const BUFFERS: u64 = 5;

/// Ranges, and how far identities go.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// Identities are below this, or below the number of declared ones.
    pub identities: u64,
    /// Whether ranges may be reversed and immense.
    pub wild_ranges: bool,
}

pub fn programs(reach: Reach, operations: Range<usize>) -> impl Strategy<Value = Program> {
    // With few streams kernels come one right behind the other; with many, streams meet.
    let few_or_many = prop_oneof![Just(2), Just(4), Just(STREAMS)];
    let actions = few_or_many.prop_flat_map(move |streams| {
        proptest::collection::vec(operation(reach, streams), operations.clone())
    });
    actions.prop_map(|operations| {
        let operations = operations.into_iter().enumerate();
        let line = |at: usize| u32::try_from(at).unwrap_or(0);
        let operations = operations.map(|(at, (thread, action))| Operation {
            name: format!("op{at}").into(),
            caller: Caller { file: "random".into(), line: line(at) },
            thread,
            action,
        });
        Program { operations: operations.collect(), ..declarations() }
    })
}

fn declarations() -> Program {
    use StreamKind::{Blocking, Legacy, NonBlocking, PerThread};
    let kinds = [NonBlocking, Blocking, Legacy, Blocking, NonBlocking, PerThread, Legacy];
    let memories = [Memory::Device, Memory::Device, Memory::Pinned, Memory::Pageable];
    Program {
        streams: (0..)
            .zip(kinds)
            .map(|(id, kind)| Stream { id: StreamId(id), name: format!("s{id}").into(), kind })
            .collect(),
        buffers: (0..)
            .zip(memories)
            .map(|(id, memory)| Buffer { id: BufferId(id), name: format!("b{id}").into(), memory })
            .collect(),
        ..Program::default()
    }
}

fn operation(reach: Reach, streams: u64) -> impl Strategy<Value = (ThreadId, Action)> {
    let identity = move |usual: u64| {
        let usual = 0..usual;
        if reach.identities == 0 { usual.boxed() } else { prop_oneof![usual, 0..reach.identities].boxed() }
    };
    let stream = identity(streams).prop_map(StreamId).boxed();
    let event = identity(3).prop_map(EventId).boxed();
    let thread = prop_oneof![3 => Just(0), 1 => identity(2)].prop_map(ThreadId).boxed();
    let byte =
        if reach.wild_ranges { prop_oneof![0..6_u64, any::<u64>()].boxed() } else { (0..6_u64).boxed() };
    let span = (identity(BUFFERS), byte.clone(), byte).prop_map(move |(buffer, a, b)| Span {
        buffer: BufferId(buffer),
        bytes: if reach.wild_ranges { a..b } else { a.min(b)..a.max(b) },
    });
    let span = span.boxed();
    let mode = prop_oneof![Just(Mode::Read), Just(Mode::Write)].boxed();
    let access = (span.clone(), mode.clone(), any::<bool>()).prop_map(|(span, mode, before_wait)| Access {
        span,
        mode,
        before_wait,
    });
    let launch = (stream.clone(), proptest::collection::vec(access, 0..3), any::<bool>(), any::<bool>());
    let launch = launch.prop_map(|(stream, accesses, programmatic, waits)| {
        Action::Launch(Launch { stream, accesses, programmatic, waits })
    });
    let copy = (stream.clone(), span.clone(), span.clone(), any::<bool>())
        .prop_map(|(stream, from, to, is_async)| Action::Copy(Copy { stream, from, to, is_async }));
    let memset = (stream.clone(), span.clone(), any::<bool>())
        .prop_map(|(stream, to, is_async)| Action::Memset(Memset { stream, to, is_async }));
    let pair = (stream.clone(), event.clone());
    let action = prop_oneof![
        8 => launch,
        2 => copy,
        1 => memset,
        4 => pair.clone().prop_map(|(stream, event)| Action::Record { event, stream }),
        4 => pair.prop_map(|(stream, event)| Action::Wait { stream, event }),
        1 => stream.clone().prop_map(|stream| Action::SynchronizeStream { stream }),
        1 => event.clone().prop_map(|event| Action::SynchronizeEvent { event }),
        1 => Just(Action::SynchronizeDevice),
        2 => (span, mode).prop_map(|(span, mode)| Action::Host { span, mode }),
        1 => thread.clone().prop_map(|to| Action::HandOver { to }),
        1 => (event.clone(), event.clone(), any::<bool>())
            .prop_map(|(start, stop, of_all_work)| Action::Elapsed { start, stop, of_all_work }),
        1 => stream.prop_map(|stream| Action::DestroyStream { stream }),
        1 => event.prop_map(|event| Action::DestroyEvent { event }),
    ];
    (thread, action)
}
