//! Capture and graphs. The codes and the edges are those of an H200 (driver 580.159), asked call by call.

use super::*;
use cuda_driver::{CUgraphNodeType, CUstreamCaptureMode as Mode, CUstreamCaptureStatus as Status};

type Edges = Vec<(usize, usize)>;

impl Rig {
    fn begin(&mut self, stream: usize) {
        self.driver.begin_capture(stream, Mode::GLOBAL).unwrap();
    }

    /// A fill, which is a node in a captured stream.
    fn set(&mut self, stream: usize, buffer: u64) -> Answer<()> {
        self.driver.fill(buffer, &[0], 4, stream)
    }

    /// Ends a capture: how many nodes there are, and the edges by the nodes' places.
    fn end(&mut self, stream: usize) -> Answer<(usize, Edges)> {
        let graph = self.driver.end_capture(stream)?;
        Ok(self.shape(graph))
    }

    fn shape(&mut self, graph: usize) -> (usize, Edges) {
        let nodes = self.driver.graph_nodes(graph).unwrap();
        let at = |node: usize| nodes.iter().position(|&one| one == node).unwrap();
        let edges = self.driver.graph_edges(graph).unwrap();
        (nodes.len(), edges.into_iter().map(|(before, after)| (at(before), at(after))).collect())
    }

    fn status(&mut self, stream: usize) -> Status {
        self.driver.capture_status(stream).unwrap()
    }
}

/// A rig with three non-blocking streams, two events and a buffer.
fn rig() -> (Rig, [usize; 3], [usize; 2], u64) {
    let mut rig = Rig::new();
    let streams = [(); 3].map(|()| rig.stream(NON_BLOCKING));
    let events = [(); 2].map(|()| rig.event(ORDERING));
    let buffer = rig.words(1);
    (rig, streams, events, buffer)
}

#[test]
fn a_fork_and_a_join_are_the_edges_of_the_graph_and_a_record_of_nothing_is_none() {
    let (mut rig, [s, t, u], [e, d], buffer) = rig();
    let right = (3, vec![(0, 1), (0, 2), (1, 2)]);
    let broken = (3, vec![(0, 2), (1, 2)]);
    for (record_first, shape) in [(false, right.clone()), (true, broken)] {
        rig.begin(s);
        if record_first {
            rig.driver.record_event(e, s).unwrap();
        }
        rig.set(s, buffer).unwrap();
        if !record_first {
            rig.driver.record_event(e, s).unwrap();
        }
        rig.driver.wait_event(t, e, 0).unwrap();
        assert_eq!(rig.status(t), Status::ACTIVE);
        rig.set(t, buffer).unwrap();
        rig.driver.record_event(d, t).unwrap();
        rig.driver.wait_event(s, d, 0).unwrap();
        rig.set(s, buffer).unwrap();
        assert_eq!(rig.end(s), Ok(shape));
        assert_eq!(rig.status(t), Status::NONE);
    }
    // Through a stream in which nothing was put.
    rig.begin(s);
    rig.set(s, buffer).unwrap();
    rig.driver.record_event(e, s).unwrap();
    rig.driver.wait_event(t, e, 0).unwrap();
    rig.driver.record_event(d, t).unwrap();
    rig.driver.wait_event(u, d, 0).unwrap();
    rig.set(u, buffer).unwrap();
    rig.driver.record_event(d, u).unwrap();
    rig.driver.wait_event(s, d, 0).unwrap();
    rig.set(s, buffer).unwrap();
    assert_eq!(rig.end(s), Ok(right.clone()));
    // A stream that waits for an event of its own keeps both edges.
    rig.begin(s);
    rig.set(s, buffer).unwrap();
    rig.driver.record_event(e, s).unwrap();
    rig.set(s, buffer).unwrap();
    rig.driver.wait_event(s, e, 0).unwrap();
    rig.set(s, buffer).unwrap();
    assert_eq!(rig.end(s), Ok(right));
    rig.begin(s);
    assert_eq!(rig.end(s), Ok((0, vec![])));
}

#[test]
fn what_is_captured_runs_when_the_graph_is_launched_and_again_each_time() {
    for mut rig in [Rig::new(), Rig::late()] {
        let (s, t, e, d) =
            (rig.stream(NON_BLOCKING), rig.stream(NON_BLOCKING), rig.event(ORDERING), rig.event(ORDERING));
        let (a, b) = (rig.words(1), rig.words(1));
        rig.begin(s);
        rig.slow(s);
        rig.put(s, a, 7);
        rig.driver.record_event(e, s).unwrap();
        rig.driver.wait_event(t, e, 0).unwrap();
        rig.driver.copy_within(b, a, 4, t).unwrap();
        rig.driver.record_event(d, t).unwrap();
        rig.driver.wait_event(s, d, 0).unwrap();
        let graph = rig.driver.end_capture(s).unwrap();
        let kinds: Vec<_> = rig.driver.graph_nodes(graph).unwrap();
        let kinds: Vec<_> = kinds.into_iter().map(|node| rig.driver.node_kind(node).unwrap()).collect();
        let (kernel, copy) = (CUgraphNodeType::KERNEL, CUgraphNodeType::MEMCPY);
        assert_eq!(kinds, [kernel, kernel, copy]);
        rig.driver.synchronize().unwrap();
        assert_eq!((rig.word(a), rig.word(b)), (0, 0));

        let executable = rig.driver.instantiate(graph, 0).unwrap();
        rig.driver.destroy_graph(graph).unwrap();
        for _ in 0..2 {
            rig.driver.launch_graph(executable, t).unwrap();
            // It is in its stream as one operation: what follows it there is after all of it.
            rig.driver.fill(a, &[0], 4, t).unwrap();
            rig.driver.synchronize().unwrap();
            assert_eq!((rig.word(a), rig.word(b)), (0, 7));
            rig.driver.fill(b, &[0], 4, t).unwrap();
            rig.driver.synchronize().unwrap();
        }
        rig.driver.launch_graph(executable, s).unwrap();
        rig.driver.destroy_executable(executable).unwrap();
        rig.driver.synchronize().unwrap();
        assert_eq!(rig.word(b), 7);
        assert_eq!(rig.driver.launch_graph(executable, s), Err(CuResult::INVALID_VALUE));
        assert_eq!(rig.driver.graph_nodes(graph), Err(CuResult::INVALID_VALUE));
    }
}

#[test]
fn a_graph_is_behind_its_stream_and_its_own_launch_before_and_its_branches_run_side_by_side() {
    let mut rig = Rig::new();
    let [s, t] = [(); 2].map(|()| rig.stream(NON_BLOCKING));
    let (e, d) = (rig.event(ORDERING), rig.event(ORDERING));
    rig.begin(s);
    rig.driver.record_event(e, s).unwrap();
    rig.driver.wait_event(t, e, 0).unwrap();
    rig.slow(s);
    rig.slow(t);
    rig.driver.record_event(d, t).unwrap();
    rig.driver.wait_event(s, d, 0).unwrap();
    let graph = rig.driver.end_capture(s).unwrap();
    assert_eq!(rig.shape(graph), (2, vec![]));
    let executable = rig.driver.instantiate(graph, 0).unwrap();
    let mut ms = |submit: &mut dyn FnMut(&mut Rig)| {
        let before = rig.driver.now;
        submit(&mut rig);
        rig.driver.synchronize().unwrap();
        (rig.driver.now - before) as f64 / (1e6 * NS as f64)
    };
    let one = ms(&mut |rig| rig.slow(s));
    let graph = ms(&mut |rig| rig.driver.launch_graph(executable, s).unwrap());
    assert!(graph < 1.1 * one, "{graph} {one}");
    let twice = ms(&mut |rig| {
        rig.driver.launch_graph(executable, s).unwrap();
        rig.driver.launch_graph(executable, t).unwrap();
    });
    assert!((1.9..2.2).contains(&(twice / one)), "{twice} {one}");
    let behind = ms(&mut |rig| {
        rig.slow(s);
        rig.driver.launch_graph(executable, s).unwrap();
        rig.slow(s);
    });
    assert!((2.9..3.2).contains(&(behind / one)), "{behind} {one}");
}

#[test]
fn where_a_capture_cannot_begin_and_cannot_end() {
    let (mut rig, [s, t, _], [e, d], buffer) = rig();
    for legacy in [0, LEGACY] {
        let answer = rig.driver.begin_capture(legacy, Mode::GLOBAL);
        assert_eq!(answer, Err(CuResult::STREAM_CAPTURE_UNSUPPORTED));
    }
    assert_eq!(rig.end(s), Err(CuResult::ILLEGAL_STATE));
    rig.begin(s);
    assert_eq!(rig.driver.begin_capture(s, Mode::GLOBAL), Err(CuResult::ILLEGAL_STATE));
    assert_eq!(rig.end(s), Ok((0, vec![])));

    let fork = |rig: &mut Rig| {
        rig.begin(s);
        rig.set(s, buffer).unwrap();
        rig.driver.record_event(e, s).unwrap();
        rig.driver.wait_event(t, e, 0).unwrap();
    };
    fork(&mut rig);
    rig.set(t, buffer).unwrap();
    assert_eq!(rig.end(t), Err(CuResult::STREAM_CAPTURE_UNMATCHED));
    assert_eq!((rig.status(s), rig.status(t)), (Status::INVALIDATED, Status::INVALIDATED));
    assert_eq!(rig.end(s), Err(CuResult::STREAM_CAPTURE_INVALIDATED));
    assert_eq!((rig.status(s), rig.status(t)), (Status::NONE, Status::NONE));

    fork(&mut rig);
    rig.set(t, buffer).unwrap();
    assert_eq!(rig.end(s), Err(CuResult::STREAM_CAPTURE_UNJOINED));
    assert_eq!(rig.set(t, buffer), Ok(()));
    fork(&mut rig);
    assert_eq!(rig.end(s), Ok((1, vec![])), "a stream without work needs no join");
    // A join of less than all that is in the other stream.
    fork(&mut rig);
    rig.set(t, buffer).unwrap();
    rig.driver.record_event(d, t).unwrap();
    rig.set(t, buffer).unwrap();
    rig.driver.wait_event(s, d, 0).unwrap();
    assert_eq!(rig.end(s), Err(CuResult::STREAM_CAPTURE_UNJOINED));
}

#[test]
fn what_may_not_be_done_in_a_capture_has_its_code_and_spoils_it() {
    type Call = fn(&mut Rig, [usize; 3], [usize; 2], [u64; 2]) -> Answer<()>;
    let calls: [(Call, CuResult); 13] = [
        (|rig, [_, t, _], _, _| rig.driver.synchronize_stream(t), CuResult::STREAM_CAPTURE_UNSUPPORTED),
        (|rig, [_, t, _], _, _| rig.driver.query_stream(t), CuResult::STREAM_CAPTURE_UNSUPPORTED),
        (|rig, _, _, _| rig.driver.synchronize_stream(LEGACY), CuResult::STREAM_CAPTURE_UNSUPPORTED),
        (
            |rig, [s, ..], _, [_, graph]| rig.driver.launch_graph(graph as usize, s),
            CuResult::STREAM_CAPTURE_UNSUPPORTED,
        ),
        (|rig, [s, ..], _, _| rig.driver.synchronize_stream(s), CuResult::STREAM_CAPTURE_UNSUPPORTED),
        (|rig, [s, ..], _, _| rig.driver.query_stream(s), CuResult::STREAM_CAPTURE_UNSUPPORTED),
        (|rig, _, _, _| rig.driver.synchronize(), CuResult::STREAM_CAPTURE_UNSUPPORTED),
        (|rig, _, _, _| rig.driver.allocate(64).map(|_| ()), CuResult::STREAM_CAPTURE_UNSUPPORTED),
        (|rig, _, _, [buffer, _]| rig.driver.free(buffer), CuResult::STREAM_CAPTURE_UNSUPPORTED),
        (|rig, _, [_, d], _| rig.driver.query_event(d), CuResult::STREAM_CAPTURE_UNSUPPORTED),
        (|rig, _, [e, _], _| rig.driver.query_event(e), CuResult::CAPTURED_EVENT),
        (|rig, _, [e, _], _| rig.driver.synchronize_event(e), CuResult::CAPTURED_EVENT),
        (|rig, [s, ..], [_, d], _| rig.driver.wait_event(s, d, 0), CuResult::STREAM_CAPTURE_ISOLATION),
    ];
    for (n, (call, code)) in calls.into_iter().enumerate() {
        let (mut rig, streams, events, buffer) = rig();
        let ([s, t, _], [e, d]) = (streams, events);
        rig.driver.record_event(d, t).unwrap();
        rig.begin(s);
        let graph = rig.driver.end_capture(s).unwrap();
        let executable = rig.driver.instantiate(graph, 0).unwrap() as u64;
        rig.begin(s);
        rig.set(s, buffer).unwrap();
        rig.driver.record_event(e, s).unwrap();
        assert_eq!(call(&mut rig, streams, events, [buffer, executable]), Err(code), "call {n}");
        assert_eq!(rig.status(s), Status::INVALIDATED, "call {n}");
        assert_eq!(rig.set(s, buffer), Err(CuResult::STREAM_CAPTURE_INVALIDATED), "call {n}");
        assert_eq!(rig.driver.synchronize_stream(s), Err(CuResult::STREAM_CAPTURE_UNSUPPORTED), "call {n}");
        assert_eq!(rig.driver.wait_event(t, e, 0), Err(CuResult::INVALID_VALUE), "call {n}");
        assert_eq!(rig.end(s), Err(CuResult::STREAM_CAPTURE_INVALIDATED), "call {n}");
        assert_eq!(rig.driver.synchronize(), Ok(()), "call {n}");
    }
}

#[test]
fn two_captures_are_not_merged_and_both_are_spoilt() {
    let (mut rig, [s, _, u], [e, _], buffer) = rig();
    rig.begin(s);
    rig.begin(u);
    rig.set(s, buffer).unwrap();
    rig.driver.record_event(e, s).unwrap();
    assert_eq!(rig.driver.wait_event(u, e, 0), Err(CuResult::STREAM_CAPTURE_MERGE));
    for stream in [s, u] {
        assert_eq!(rig.end(stream), Err(CuResult::STREAM_CAPTURE_INVALIDATED));
    }
}

#[test]
fn the_legacy_stream_may_not_wait_for_a_captured_blocking_one_and_others_do_not_care() {
    for (flags, answer) in [(BLOCKING, Err(CuResult::STREAM_CAPTURE_IMPLICIT)), (NON_BLOCKING, Ok(()))] {
        let (mut rig, _, [e, _], buffer) = rig();
        let (stream, other) = (rig.stream(flags), rig.stream(BLOCKING));
        rig.begin(stream);
        rig.set(stream, buffer).unwrap();
        assert_eq!(rig.set(other, buffer), Ok(()));
        assert_eq!(rig.driver.capture_status(LEGACY).map(|_| ()), answer);
        assert_eq!(rig.status(stream), Status::ACTIVE);
        assert_eq!(rig.set(LEGACY, buffer), answer);
        assert_eq!(rig.driver.record_event(e, LEGACY), answer);
        let status = if answer.is_ok() { Status::ACTIVE } else { Status::INVALIDATED };
        assert_eq!(rig.status(stream), status);
    }
}

#[test]
fn an_event_of_a_capture_that_has_ended_stands_for_nothing_that_can_be_asked_for() {
    let (mut rig, [s, t, _], [never, _], buffer) = rig();
    let [start, stop] = [(); 2].map(|()| rig.event(TIMING));
    rig.begin(s);
    assert_eq!(rig.driver.wait_event(s, never, 0), Ok(()), "it was never recorded");
    rig.set(s, buffer).unwrap();
    rig.driver.record_event(start, s).unwrap();
    rig.driver.record_event(stop, s).unwrap();
    assert_eq!(rig.driver.elapsed_ms(start, stop), Err(CuResult::CAPTURED_EVENT));
    assert_eq!(rig.end(s), Ok((1, vec![])), "that does not spoil it");
    assert_eq!(rig.driver.query_event(start), Err(CuResult::INVALID_VALUE));
    assert_eq!(rig.driver.synchronize_event(start), Err(CuResult::INVALID_VALUE));
    assert_eq!(rig.driver.elapsed_ms(start, stop), Err(CuResult::INVALID_VALUE));
    assert_eq!(rig.driver.wait_event(t, start, 0), Err(CuResult::INVALID_VALUE));
    rig.begin(s);
    assert_eq!(rig.driver.wait_event(s, start, 0), Err(CuResult::INVALID_VALUE));
    assert_eq!(rig.end(s), Err(CuResult::STREAM_CAPTURE_INVALIDATED));
    // Recorded again, it is an event like any other.
    rig.driver.record_event(start, t).unwrap();
    rig.driver.synchronize().unwrap();
    assert_eq!(rig.driver.query_event(start), Ok(()));
    rig.begin(s);
    rig.driver.record_event(stop, s).unwrap();
    assert_eq!(rig.driver.destroy_event(stop), Ok(()));
    assert_eq!(rig.end(s), Ok((0, vec![])));
}

#[test]
fn a_relaxed_capture_forbids_little_and_one_of_a_thread_forbids_that_thread() {
    for (mode, here, there) in [
        (Mode::GLOBAL, Err(CuResult::STREAM_CAPTURE_UNSUPPORTED), Err(CuResult::STREAM_CAPTURE_UNSUPPORTED)),
        (Mode::THREAD_LOCAL, Err(CuResult::STREAM_CAPTURE_UNSUPPORTED), Ok(())),
        (Mode::RELAXED, Ok(()), Ok(())),
    ] {
        for (elsewhere, answer) in [(false, here), (true, there)] {
            let (mut rig, [s, ..], _, _) = rig();
            let context = rig.driver.current_context();
            rig.driver.begin_capture(s, mode).unwrap();
            let mut allocate = || {
                rig.driver.set_current_context(context).unwrap();
                rig.driver.allocate(64).map(|_| ())
            };
            let answered = match elsewhere {
                false => allocate(),
                true => std::thread::scope(|scope| scope.spawn(allocate).join().unwrap()),
            };
            assert_eq!(answered, answer, "{mode:?} {elsewhere}");
        }
    }
}

#[test]
fn a_capture_that_another_thread_ends_is_over_and_only_a_relaxed_one_has_a_graph() {
    for (mode, answer) in [
        (Mode::GLOBAL, Err(CuResult::STREAM_CAPTURE_WRONG_THREAD)),
        (Mode::THREAD_LOCAL, Err(CuResult::STREAM_CAPTURE_WRONG_THREAD)),
        (Mode::RELAXED, Ok(())),
    ] {
        let (mut rig, [s, ..], _, _) = rig();
        let context = rig.driver.current_context();
        rig.driver.begin_capture(s, mode).unwrap();
        let end = || {
            rig.driver.set_current_context(context).unwrap();
            rig.driver.end_capture(s).map(|_| ())
        };
        assert_eq!(std::thread::scope(|scope| scope.spawn(end).join().unwrap()), answer, "{mode:?}");
        assert_eq!(rig.end(s), Err(CuResult::ILLEGAL_STATE));
    }
}

#[test]
fn what_a_stream_or_a_context_takes_with_it() {
    let (mut rig, [s, t, _], [e, _], buffer) = rig();
    rig.begin(s);
    rig.set(s, buffer).unwrap();
    rig.driver.record_event(e, s).unwrap();
    rig.driver.wait_event(t, e, 0).unwrap();
    rig.driver.destroy_stream(s).unwrap();
    assert_eq!(rig.status(t), Status::NONE);
    assert_eq!(rig.driver.allocate(64).map(|_| ()), Ok(()));

    let member = rig.stream(NON_BLOCKING);
    rig.begin(t);
    rig.driver.record_event(e, t).unwrap();
    rig.driver.wait_event(member, e, 0).unwrap();
    rig.set(member, buffer).unwrap();
    rig.driver.destroy_stream(member).unwrap();
    assert_eq!(rig.end(t), Err(CuResult::STREAM_CAPTURE_UNJOINED), "its work leads nowhere");

    rig.begin(t);
    rig.set(t, buffer).unwrap();
    let graph = rig.driver.end_capture(t).unwrap();
    let executable = rig.driver.instantiate(graph, 0).unwrap();
    rig.driver.launch_graph(executable, t).unwrap();
    rig.driver.reset_primary().unwrap();
    assert_eq!(rig.driver.graph_nodes(graph), Err(CuResult::INVALID_VALUE));
    assert_eq!(rig.driver.destroy_executable(executable), Err(CuResult::INVALID_VALUE));
}
