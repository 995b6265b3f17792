//! Graphs: the lesson on virtual devices, its checks, and what a capture takes and refuses.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::cell::RefCell;
use std::process::Command;

use gpu::streams::sweep_scale;
use host::check::Verdict::{Fail, Pass};
use host::lessons::graph::{MAX_SLOWER, device_time, host_time, missing_in_graph, predecessors, same_order};
use host::measure::Statistics;
use streamlab::{
    Context, Device, DeviceBuffer, Error, Event, GraphNode, GraphTopology, LaunchConfig, Model, Options,
    Schedule, Stream, StreamKind, Trace,
};
use support::{failed, lesson, on_device, verdicts};

const CHECKS: [&str; 13] = [
    "diamond.missing-edges",
    "diamond.same-order",
    "graph.missing-edges",
    "graph.result",
    "broken order.missing-edges",
    "broken order.same-order",
    "broken order.missing-in-graph",
    "timeline.branches-overlap",
    "timeline.branches-after-upstream",
    "timeline.join-after-branches",
    "timeline.branches-before-upstream-ends",
    "host.time",
    "device.time",
];

#[test]
fn every_check_passes_on_each_virtual_device() {
    for device in ["h200", "t4"] {
        let document = lesson(&format!("graph --device virtual:{device} --order deny")).unwrap();
        let want: Vec<_> = CHECKS.iter().map(|id| ((*id).to_owned(), "pass".to_owned())).collect();
        assert_eq!(verdicts(&document), want, "{device}");
        assert_eq!((&document["values"]["nodes"], &document["values"]["edges"]), (&6.into(), &9.into()));
        assert_eq!(document["missing_edges"][2]["edges"].as_array().unwrap().len(), 4, "{device}");
    }
}

#[test]
fn late_no_check_fails() {
    let document = lesson("graph --device virtual:h200 --schedule late --order deny").unwrap();
    assert_eq!(failed(&document), [""; 0]);
    assert_eq!(verdicts(&document).len(), CHECKS.len());
}

#[test]
fn a_virtual_device_gives_one_document_whatever_the_threads() {
    let run = |threads: u32| {
        let typed = format!("graph --json --device virtual --elems 3001 --threads {threads}");
        let output = Command::new(env!("CARGO_BIN_EXE_host")).args(typed.split(' ')).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let once = run(1);
    assert!(once.contains("\"host, graph\""), "{once}");
    assert_eq!(run(2), once);
}

fn topology(nodes: usize, edges: &[(usize, usize)]) -> GraphTopology {
    GraphTopology { nodes: vec![GraphNode::Kernel; nodes], edges: edges.to_vec() }
}

/// A kernel, two branches, and a join.
const DIAMOND: &[(usize, usize)] = &[(0, 1), (0, 2), (1, 3), (2, 3)];
const BROKEN: &[(usize, usize)] = &[(0, 3), (1, 3), (2, 3)];

#[test]
fn the_predecessors_of_a_node_are_all_nodes_that_lead_to_it() {
    let sets = |edges| predecessors(&topology(4, edges)).into_iter().map(Vec::from_iter).collect::<Vec<_>>();
    assert_eq!(sets(DIAMOND), [vec![], vec![0], vec![0], vec![0, 1, 2]]);
    assert_eq!(sets(BROKEN), [vec![], vec![], vec![], vec![0, 1, 2]]);
    assert!(predecessors(&topology(0, &[])).is_empty());
}

#[test]
fn a_graph_with_an_edge_too_few_or_too_many_has_another_order() {
    let verdict = |graph: &[(usize, usize)], recorded: &[(usize, usize)]| {
        same_order("diamond", &topology(4, graph), &predecessors(&topology(4, recorded))).verdict
    };
    assert_eq!(verdict(DIAMOND, DIAMOND), Pass);
    // An edge that others imply changes nothing.
    assert_eq!(verdict(&[DIAMOND, &[(0, 3)]].concat(), DIAMOND), Pass);
    assert_eq!([verdict(BROKEN, DIAMOND), verdict(DIAMOND, BROKEN)], [Fail, Fail]);
    assert!(same_order("", &topology(3, &[]), &predecessors(&topology(4, &[]))).failed());
}

#[test]
fn missing_edges_are_missing_in_the_graph_or_the_capture_repaired_them() {
    let verdict = |missing: &[(usize, usize)], edges| {
        missing_in_graph(missing, &predecessors(&topology(4, edges))).verdict
    };
    assert_eq!(verdict(&[(0, 1), (0, 2)], BROKEN), Pass);
    assert_eq!([verdict(&[(0, 1), (0, 2)], DIAMOND), verdict(&[], BROKEN)], [Fail, Fail]);
}

#[test]
fn a_graph_takes_the_host_less_and_the_device_no_more() {
    let ms = |median_ms| Statistics { median_ms, ..Statistics::UNKNOWN };
    let host = |direct, graph| host_time(ms(direct), ms(graph), 19).verdict;
    assert_eq!([host(0.03, 0.029), host(0.01, 0.01), host(0.01, f64::NAN)], [Pass, Fail, Fail]);
    let device = |graph| device_time(ms(1.0), ms(graph)).verdict;
    assert_eq!([device(MAX_SLOWER), device(1.11), device(f64::NAN)], [Pass, Fail, Fail]);
}

const ELEMS: usize = 1024;

/// A stream with a buffer, and one that comes to wait for it.
struct Pair<'c> {
    context: &'c Context,
    one: Stream<'c>,
    two: Stream<'c>,
    forked: Event<'c>,
    joined: Event<'c>,
    from: DeviceBuffer<'c, f32>,
    to: DeviceBuffer<'c, f32>,
}

impl<'c> Pair<'c> {
    fn new(context: &'c Context) -> Self {
        let stream = |name| Stream::new(context, name, StreamKind::NonBlocking).unwrap();
        Pair {
            context,
            one: stream("one"),
            two: stream("two"),
            forked: Event::ordering(context, "forked").unwrap(),
            joined: Event::ordering(context, "joined").unwrap(),
            from: DeviceBuffer::from_slice(context, "from", &[1.0; ELEMS]).unwrap(),
            to: DeviceBuffer::new(context, "to", ELEMS).unwrap(),
        }
    }

    fn scale(&self, stream: &Stream<'_>) -> Result<(), Error> {
        stream.launch(LaunchConfig::new(1, ELEMS as u32), sweep_scale(&self.from, &self.to))
    }

    /// A memset on one stream, a kernel on the other, and where the two are joined a copy after them.
    fn submit(&self, join: bool) -> Result<(), Error> {
        self.one.memset_zeros(&self.to)?;
        self.one.record(&self.forked)?;
        self.two.wait(&self.forked)?;
        self.scale(&self.two)?;
        if join {
            self.two.record(&self.joined)?;
            self.one.wait(&self.joined)?;
        }
        self.one.copy(&self.to, &self.from)
    }

    fn first(&self) -> f32 {
        self.context.synchronize().unwrap();
        self.from.to_vec().unwrap()[0]
    }
}

const H200: Device = Device::Virtual(Model::H200);
const LATE: Options =
    Options { device: H200, schedule: Schedule::Late, threads: None, loading: streamlab::Loading::Eager };

fn a_captured_submission_runs_only_when_it_is_launched(options: impl Into<Options>) {
    on_device(options, |context| {
        let pair = Pair::new(context);
        let graph = pair.one.capture(|| pair.submit(true)).unwrap();
        assert_eq!(pair.first(), 1.0);
        let nodes = vec![GraphNode::Memset, GraphNode::Kernel, GraphNode::Memcpy];
        let edges = vec![(0, 1), (0, 2), (1, 2)];
        assert_eq!(graph.topology().unwrap(), GraphTopology { nodes, edges });
        let launchable = graph.instantiate().unwrap();
        drop(graph);
        for want in [2.0, 4.0, 8.0] {
            pair.one.launch_graph(&launchable).unwrap();
            assert_eq!(pair.first(), want);
        }
    });
}

fn what_spoils_a_capture_is_the_error_and_the_next_capture_is_well(device: Device) {
    on_device(device, |context| {
        let pair = Pair::new(context);
        let code = |capture: &dyn Fn() -> Result<(), Error>| pair.one.capture(capture).unwrap_err().code();
        assert_eq!(code(&|| pair.submit(false)), Some(904));
        assert_eq!(code(&|| pair.one.synchronize()), Some(900));
        pair.two.record(&pair.forked).unwrap();
        assert_eq!(code(&|| pair.one.wait(&pair.forked)), Some(905));
        let too_large = LaunchConfig::new(1, 1025);
        assert_eq!(code(&|| pair.one.launch(too_large, sweep_scale(&pair.from, &pair.to))), Some(1));
        assert!(pair.one.capture(|| pair.submit(true)).is_ok());
    });
}

#[test]
fn a_captured_submission_runs_only_when_it_is_launched_on_a_virtual_device() {
    a_captured_submission_runs_only_when_it_is_launched(H200);
    a_captured_submission_runs_only_when_it_is_launched(LATE);
}

#[test]
fn what_spoils_a_capture_is_the_error_on_a_virtual_device() {
    what_spoils_a_capture_is_the_error_and_the_next_capture_is_well(H200);
}

#[test]
fn a_graph_keeps_the_memory_that_it_uses() {
    on_device(H200, |context| {
        let pair = Pair::new(context);
        let graph = {
            let short_lived = DeviceBuffer::<f32>::new(context, "short-lived", ELEMS).unwrap();
            pair.one.capture(|| pair.one.memset_zeros(&short_lived)).unwrap().instantiate().unwrap()
        };
        // Were its memory free, this buffer would get it.
        let next = DeviceBuffer::from_slice(context, "next", &[1.0_f32; ELEMS]).unwrap();
        pair.one.launch_graph(&graph).unwrap();
        context.synchronize().unwrap();
        assert_eq!(next.to_vec().unwrap(), [1.0; ELEMS]);
        // The records of an instrumented kernel are such memory too.
        let made = RefCell::new(None);
        let traced = Trace::of(context, 0, || {
            let graph = pair.one.capture(|| pair.scale(&pair.one))?.instantiate()?;
            pair.one.launch_graph(&graph)?;
            made.replace(Some(graph));
            Ok(())
        });
        assert_eq!(traced.unwrap().launches.len(), 1);
        let next = DeviceBuffer::from_slice(context, "next", &[7_u64; 3 << 18]).unwrap();
        pair.one.launch_graph(made.borrow().as_ref().unwrap()).unwrap();
        context.synchronize().unwrap();
        assert_eq!(next.to_vec().unwrap(), [7; 3 << 18]);
    });
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_graphs_and_every_check_of_the_lesson() {
    a_captured_submission_runs_only_when_it_is_launched(Device::Gpu(0));
    what_spoils_a_capture_is_the_error_and_the_next_capture_is_well(Device::Gpu(0));
    assert_eq!(failed(&lesson("graph --order deny --device gpu").unwrap()), [""; 0]);
}
