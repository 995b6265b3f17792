//! The diamond as a graph: captured once, launched again and again.
//!
//! Claim: a capture notes the diamond's launches with the order that its events make, and no other; a launch of the graph is one
//! call in place of all of them. What a record captures in a submission, it captures in a graph: where the order is broken, the
//! graph lacks the edges that the submission lacks, and no call says so.
//!
//! Prediction: the graph's edges order the pairs that the recorded submission orders; 4 edges are missing in the broken order, and
//! in its graph too. One launch takes the host less time than the calls, and takes the device no longer.

use std::collections::BTreeSet;

use gpu::forkjoin::grind_fma;
use serde::Serialize;
use streamlab::{Context, Error, GraphExec, GraphTopology, HostClock, Log, NvtxRange, Stream, StreamKind};
use timeline::thousands;

use super::forkjoin::{A, BRANCH_B, Program, Room, THREADS, UPSTREAM_B, broken_order, input, right_order};
use crate::check::{Check, count};
use crate::cli::Repeat;
use crate::lab::{Lab, Outcome};
use crate::measure::Statistics;
use crate::overlap::intervals;
use crate::reference;

/// The lesson's place in the order in which to take them.
pub const PLACE: u32 = 120;
/// What the lesson shows, in a line.
pub const ABOUT: &str = "The diamond captured once as a graph, and launched again and again";
/// Whether it records a timeline.
pub const DRAWS: bool = true;

/// Launches of the graph before its result is compared.
const REPLAYS: u32 = 3;

/// What the lesson takes.
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct Args {
    /// Elements of each buffer
    #[arg(long, value_name = "N", default_value_t = 1 << 18, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub elems: u64,
    /// Blocks of each grind kernel: few, so that the branches fit side by side
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub blocks: u32,
    /// Fused multiply-adds on each element in each grind kernel
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    pub iters: u32,
}

/// A captured submission, which a single call launches.
struct Captured<'c> {
    topology: GraphTopology,
    graph: GraphExec<'c>,
}

impl<'p> Program<'p> {
    /// Captures an order; nothing of it runs.
    fn captured(&self, order: impl FnOnce() -> Result<(), Error>) -> Result<Captured<'p>, Error> {
        let _range = NvtxRange::new(self.context, "capture");
        let graph = self.s[0].capture(order)?;
        Ok(Captured { topology: graph.topology()?, graph: graph.instantiate()? })
    }

    /// Launches what was captured: one call in place of all of the order's.
    fn launch(&self, captured: &Captured<'_>) -> Result<(), Error> {
        self.s[0].launch_graph(&captured.graph)
    }
}

/// Returns what a submission takes the host. The host never waits for room in a stream, and each run begins on an idle device.
fn host_times(
    context: &Context,
    name: &str,
    repeat: Repeat,
    submit: impl Fn() -> Result<(), Error>,
) -> Result<Statistics, Error> {
    let mut times = Vec::new();
    for run in 0..repeat.warmups() + repeat.runs() {
        let _range = NvtxRange::new(context, name);
        let clock = HostClock::start();
        submit()?;
        times.extend((run >= repeat.warmups()).then(|| clock.elapsed_ms()));
        context.synchronize()?;
    }
    Ok(Statistics::of(&times).unwrap_or(Statistics::UNKNOWN))
}

/// Runs the lesson.
pub fn run(lab: &mut Lab<'_>, args: &Args) -> Outcome {
    let Args { elems, blocks, iters } = *args;
    let size =
        format!("{} elements, {blocks} grind blocks of {THREADS}, {iters} iterations", thousands(elems));
    lab.parameters(args, format!("{size}, {REPLAYS} launches of the graph before its result is compared"));
    lab.predict("the graph orders what the events order; one launch takes the host less time than the calls");
    let input = input(elems);
    let want = lab.busy("computing the reference on the CPU", || {
        reference::diamond(&input, A, UPSTREAM_B, &BRANCH_B, iters)
    });
    let p = Program::new(lab.context(), blocks, iters, &input)?;

    // 1. A capture: nothing runs, and the graph has the order that the events make.
    let diamond = p.captured(|| p.diamond())?;
    let log = streamlab::check(lab.context(), || p.launch(&diamond))?;
    lab.missing_edges("diamond", 0, &log)?;
    lab.require(same_order("diamond", &diamond.topology, &log.predecessors()))?;
    lab.value("nodes", diamond.topology.nodes.len());
    lab.value("edges", diamond.topology.edges.len());

    // 2. Its graph computes the right result, launched again and again.
    p.zero_mid()?;
    lab.run("graph", || (0..REPLAYS).try_for_each(|_| p.launch(&diamond)))?
        .missing_edges(0)?
        .equals(&p.out, &want)?;

    // 3. One line moved: the capture succeeds, and the graph lacks the edges that the submission lacks.
    let broken = p.captured(|| p.broken())?;
    let log = streamlab::check(lab.context(), || p.launch(&broken))?;
    lab.missing_edges("broken order", 4, &log)?;
    lab.check(same_order("broken order", &broken.topology, &log.predecessors()));
    lab.check(missing_in_graph(&missing_pairs(&log), &predecessors(&broken.topology)));

    // 4. The timelines of both graphs.
    let room = Room { blocks, resident: lab.context().resident_blocks(grind_fma::KERNEL, THREADS)? };
    let traced = lab.trace_after(0, "diamond, as a graph", || p.launch(&p.captured(|| p.diamond())?))?;
    let checks = right_order(&intervals(&traced.run), room, lab.step_ns());
    lab.draw(traced.run, checks);
    p.zero_mid()?;
    let traced = lab.trace_after(0, "broken order, as a graph", || p.launch(&p.captured(|| p.broken())?))?;
    let checks = broken_order(&intervals(&traced.run), room);
    lab.draw(traced.run, checks);

    // 5. What a run takes the host and the device, call by call and as a graph.
    let (repeat, log) = (lab.repeat(), streamlab::check(lab.context(), || p.diamond())?);
    let calls = log.program.operations.len();
    let direct = host_times(lab.context(), "direct", repeat, || p.diamond())?;
    let launched = host_times(lab.context(), "graph", repeat, || p.launch(&diamond))?;
    lab.keep_times("host, direct", direct);
    lab.keep_times("host, graph", launched);
    lab.check(host_time(direct, launched, calls));
    let legacy = Stream::new(lab.context(), "legacy default stream", StreamKind::Legacy)?;
    let direct = lab.time("device, direct", &legacy, || p.diamond())?;
    let launched = lab.time("device, graph", &legacy, || p.launch(&diamond))?;
    lab.check(device_time(direct, launched));
    lab.picture();
    Ok(())
}

/// Returns the missing edges of a log, as pairs of positions in its work.
fn missing_pairs(log: &Log) -> Vec<(usize, usize)> {
    let work = log.work();
    let position = |at: usize| work.iter().position(|&one| one == at);
    let missing = log.findings().iter();
    missing.filter_map(|finding| Some((position(finding.after)?, position(finding.before)?))).collect()
}

/// The most that the device may take longer for a graph than for the calls. Both run the same kernels; a tenth is room for what
/// varies between runs.
pub const MAX_SLOWER: f64 = 1.1;

/// Returns for each node of a graph all nodes before it. The driver's order follows the edges.
pub fn predecessors(graph: &GraphTopology) -> Vec<BTreeSet<usize>> {
    let mut all: Vec<BTreeSet<usize>> = Vec::new();
    for node in 0..graph.nodes.len() {
        let direct = graph.edges.iter().filter(|&&(before, after)| after == node && before < node);
        let before = direct.flat_map(|&(before, _)| all[before].iter().copied().chain([before])).collect();
        all.push(before);
    }
    all
}

/// Checks that a graph orders every two nodes as the recorded submission orders the operations that they were made of.
pub fn same_order(name: &str, graph: &GraphTopology, recorded: &[BTreeSet<usize>]) -> Check {
    let id = format!("{name}.same-order");
    let ordered = predecessors(graph);
    let nodes = ordered.len();
    if nodes != recorded.len() {
        let sentence =
            format!("{name}: the graph has {nodes} nodes, and the submission {} operations", recorded.len());
        return Check::fail(id, sentence);
    }
    let differ = (0..nodes).find_map(|node| {
        ordered[node].symmetric_difference(&recorded[node]).next().map(|&before| (before, node))
    });
    match differ {
        None => {
            let pairs: usize = ordered.iter().map(BTreeSet::len).sum();
            let (edges, all) = (graph.edges.len(), nodes * nodes.saturating_sub(1) / 2);
            let sentence = format!(
                "{name}: the {edges} edges of the graph order {pairs} of its {all} pairs of nodes, as the events do"
            );
            Check::pass(id, sentence)
        }
        Some((before, node)) => {
            let [graph, submission] = match ordered[node].contains(&before) {
                true => ["orders", "does not"],
                false => ["does not order", "does"],
            };
            let sentence = format!(
                "{name}: the graph {graph} nodes {before} and {node}, and the submission {submission}"
            );
            Check::fail(id, sentence)
        }
    }
}

/// Checks that the edges which the broken order lacks are not in its graph either; `missing` are pairs of nodes.
pub fn missing_in_graph(missing: &[(usize, usize)], graph: &[BTreeSet<usize>]) -> Check {
    let id = "broken order.missing-in-graph";
    let present = missing.iter().filter(|(before, after)| graph[*after].contains(before)).count();
    let edges = count(missing.len(), "missing edge", "missing edges");
    let sentence = format!("broken order: its graph has {present} of the {edges} (expected 0 of at least 1)");
    Check::that(!missing.is_empty() && present == 0, id, sentence)
}

/// Checks that one launch of a graph takes the host less time than the calls that it replaces.
pub fn host_time(direct: Statistics, graph: Statistics, calls: usize) -> Check {
    let [direct_us, graph_us] = [direct, graph].map(|times| 1e3 * times.median_ms);
    let ratio = direct_us / graph_us;
    let calls = count(calls, "call", "calls");
    let sentence = format!(
        "host: {calls} take {direct_us:.1} us, one launch of the graph takes {graph_us:.1} us: {ratio:.1}x (expected more \
         than 1x)"
    );
    Check::that(ratio > 1.0, "host.time", sentence)
}

/// Checks that the device takes no longer for a graph than for the calls.
pub fn device_time(direct: Statistics, graph: Statistics) -> Check {
    let (direct_ms, graph_ms) = (direct.median_ms, graph.median_ms);
    let ratio = graph_ms / direct_ms;
    let sentence = format!(
        "device: graph {graph_ms:.3} ms / direct {direct_ms:.3} ms = {ratio:.2}x, at most {MAX_SLOWER}x expected"
    );
    Check::that(ratio <= MAX_SLOWER, "device.time", sentence)
}
