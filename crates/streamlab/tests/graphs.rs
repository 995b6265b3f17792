//! A graph's launch is in the log as what its nodes do: after what the stream has before, before what it has later, and after the same
//! graph's launch before. A capture by itself is not.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use gpu::streams::{sweep_add, sweep_scale};
use streamlab::{Context, DeviceBuffer, Error, Event, GraphExec, LaunchConfig, Stream, StreamKind, Trace};
use support::{H200, on_device};

const ONE_BLOCK: LaunchConfig = LaunchConfig::new(1, 64);

struct Program<'c> {
    s: [Stream<'c>; 3],
    fork: Event<'c>,
    join: Event<'c>,
    data: [DeviceBuffer<'c, f32>; 4],
}

impl<'c> Program<'c> {
    fn new(context: &'c Context) -> Self {
        let stream = |name| Stream::new(context, name, StreamKind::NonBlocking).unwrap();
        let event = |name| Event::ordering(context, name).unwrap();
        let buffer = |name| DeviceBuffer::from_slice(context, name, &[1.0; 64]).unwrap();
        Program {
            s: ["s0", "s1", "s2"].map(stream),
            fork: event("fork"),
            join: event("join"),
            data: ["from", "mid", "to", "out"].map(buffer),
        }
    }

    /// `mid = 2 * from` on s0, then `to = mid + 1` on s1, joined: with the record before the launch it should capture, or after it.
    fn submit(&self, right: bool) -> Result<(), Error> {
        let ([s0, s1, _], [from, mid, to, _]) = (&self.s, &self.data);
        if !right {
            s0.record(&self.fork)?;
        }
        s0.launch(ONE_BLOCK, sweep_scale(from, mid))?;
        if right {
            s0.record(&self.fork)?;
        }
        s1.wait(&self.fork)?;
        s1.launch(ONE_BLOCK, sweep_add(mid, to))?;
        s1.record(&self.join)?;
        s0.wait(&self.join)
    }

    fn graph(&self, right: bool) -> GraphExec<'c> {
        self.s[0].capture(|| self.submit(right)).unwrap().instantiate().unwrap()
    }
}

fn missing(context: &Context, submission: impl FnOnce() -> Result<(), Error>) -> Vec<String> {
    let log = streamlab::check(context, submission).unwrap();
    context.synchronize().unwrap();
    log.missing_edges().iter().map(|edge| format!("{} to {}", edge.from, edge.to)).collect()
}

#[test]
fn a_capture_notes_nothing_and_a_launch_what_the_calls_would() {
    on_device(H200, |context| {
        let p = Program::new(context);
        for right in [true, false] {
            let by_hand = streamlab::check(context, || p.submit(right)).unwrap();
            let mut graph = None;
            let captured = streamlab::check(context, || {
                graph = Some(p.graph(right));
                Ok(())
            });
            assert_eq!(captured.unwrap().program.operations.len(), 0);
            let graph = graph.unwrap();
            let launched = streamlab::check(context, || p.s[0].launch_graph(&graph)).unwrap();
            let (hand, graph) = (by_hand.to_string(), launched.to_string());
            assert_eq!(graph, format!("{hand}record graph on s0\n"));
            let edges = launched.missing_edges();
            assert_eq!(edges.len(), usize::from(!right));
            assert_eq!(launched.predecessors(), by_hand.predecessors());
            assert!(edges.iter().all(|edge| edge.report.contains("tests/graphs.rs:")));
            context.synchronize().unwrap();
        }
    });
}

#[test]
fn a_graph_is_ordered_with_the_stream_that_it_is_launched_on_and_with_no_other() {
    on_device(H200, |context| {
        let p = Program::new(context);
        let graph = p.graph(true);
        let ([s0, s1, s2], [from, _, to, out]) = (&p.s, &p.data);
        let reader = |stream: &Stream<'_>| stream.launch(ONE_BLOCK, sweep_add(to, out));
        let writer = |stream: &Stream<'_>| stream.memset_zeros(from);
        let none = [""; 0];
        // On any stream, the one of the capture or not: what is before it and after it there is in order.
        for stream in [s0, s2] {
            let in_order = missing(context, || {
                writer(stream)?;
                stream.launch_graph(&graph)?;
                reader(stream)
            });
            assert_eq!(in_order, none);
        }
        // The streams of the capture are no part of the launch.
        assert_eq!(missing(context, || s2.launch_graph(&graph).and_then(|()| reader(s1))), ["s1 to s1"]);
        assert_eq!(missing(context, || writer(s1).and_then(|()| s2.launch_graph(&graph))), ["s1 to s2"]);
    });
}

#[test]
fn launches_of_one_graph_follow_each_other_on_whatever_streams_and_those_of_two_do_not() {
    on_device(H200, |context| {
        let p = Program::new(context);
        let (one, other) = (p.graph(true), p.graph(true));
        let [s0, _, s2] = &p.s;
        assert_eq!(missing(context, || s0.launch_graph(&one).and_then(|()| s2.launch_graph(&one))), [""; 0]);
        assert!(
            !missing(context, || s0.launch_graph(&one).and_then(|()| s2.launch_graph(&other))).is_empty()
        );
        // What an earlier log has is nothing that a later one waits for.
        assert_eq!(missing(context, || s2.launch_graph(&one)), [""; 0]);
    });
}

#[test]
fn a_traced_graph_has_the_times_of_its_nodes_at_each_launch() {
    on_device(H200, |context| {
        let p = Program::new(context);
        let trace = Trace::of(context, 0, || p.s[0].launch_graph(&p.graph(true))).unwrap();
        let run = trace.band("graph", context.device().sms, true);
        let slices: Vec<_> = run.slices.iter().map(|slice| slice.name.as_str()).collect();
        assert_eq!(slices, ["sweep_scale", "sweep_add"]);
        assert!(run.slices[0].end_ns <= run.slices[1].start_ns);
        // What is captured and never launched has none.
        let trace = Trace::of(context, 0, || p.s[0].capture(|| p.submit(true)).map(drop)).unwrap();
        assert!(trace.launches.is_empty());
    });
}

#[test]
fn work_on_a_stream_that_takes_no_part_in_a_capture_is_noted_as_ever() {
    on_device(H200, |context| {
        let p = Program::new(context);
        let log = streamlab::check(context, || {
            p.s[0].capture(|| p.submit(true).and_then(|()| p.s[2].memset_zeros(&p.data[3]))).map(drop)
        });
        assert_eq!(log.unwrap().to_string(), "memset out on s2\n");
        context.synchronize().unwrap();
    });
}
