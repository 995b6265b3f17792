//! The diamond as a graph: captured once, launched again and again.
//!
//! Claim: a capture notes the diamond's launches with the order that its events make, and no other; a launch of the graph is one
//! call in place of all of them. What a record stands for it stands for in a capture too: of the broken order the graph lacks
//! the same edges, and no call says so.
//!
//! Prediction: the graph's edges put the same pairs in order as the recorded submission; of the broken order as many edges are
//! missing as there are branches. The host takes less for one launch than for the calls, the card no longer.

use serde::Serialize;
use timeline::model::{Band, Timeline};

use super::diamond::{A, Diamond, THREADS, UPSTREAM_B, branch_b};
use super::stopwatch::time;
use super::watched::Watched;
use super::{Gates, Lesson, Outcome, Setting};
use crate::args;
use crate::band::intervals;
use crate::compare::compare;
use crate::gate::forkjoin::{self, Room};
use crate::gate::graph as gates;
use crate::gate::{Gate, correctness};
use crate::measure::Statistics;
use crate::order::{missing, predecessors, work};
use crate::reference;
use crate::report::{Report, thousands};
use crate::submit::{Context, Error, Executable, HostClock, Log, Range, Shape, Stream, StreamKind};

/// What counts as equal, relative to the reference.
const TOLERANCE: f32 = 1e-6;
/// Launches of the graph whose last result is looked at.
const REPLAYS: u32 = 3;

/// What the lesson found, as its JSON document has it. What would come after a failed gate is absent.
#[derive(Debug, Serialize)]
pub struct Findings {
    lesson: &'static str,
    #[serde(flatten)]
    setting: Setting,
    parameters: args::Graph,
    gates: Gates,
    nodes: Option<usize>,
    edges: Option<usize>,
    host_direct: Option<Statistics>,
    host_graph: Option<Statistics>,
    card_direct: Option<Statistics>,
    card_graph: Option<Statistics>,
    #[serde(flatten)]
    watched: Watched,
}

impl Lesson for args::Graph {
    type Findings = Findings;

    fn common(&mut self) -> &mut args::Common {
        &mut self.common
    }

    fn run(&self, context: &Context, report: Report) -> Result<Findings, Error> {
        let mut findings = Findings {
            lesson: "graph",
            setting: Setting::of(context),
            parameters: self.clone(),
            gates: Gates::default(),
            nodes: None,
            edges: None,
            host_direct: None,
            host_graph: None,
            card_direct: None,
            card_graph: None,
            watched: Watched::new(context, "graph", self.common.order, report),
        };
        findings.setting.say(report);
        report.say(format!(
            "parameters: {} elements, {} grind blocks of {THREADS}, {} iterations, {} branches, {} runs after {} warm-ups",
            thousands(self.elems),
            self.blocks,
            self.iters,
            self.branches,
            self.common.repeat.runs(),
            self.common.repeat.warmups()
        ));
        findings.fill(context, report)?;
        Ok(findings)
    }
}

impl Outcome for Findings {
    fn passed(&self) -> bool {
        self.gates.passed()
    }

    fn timeline(&self) -> Option<&Timeline> {
        Some(self.watched.timeline())
    }
}

impl Findings {
    /// Everything up to the first gate that fails.
    fn fill(&mut self, context: &Context, report: Report) -> Result<(), Error> {
        let args::Graph { elems, blocks, iters, branches, ref common } = self.parameters;
        let options = args::ForkJoin { elems, blocks, iters, branches, common: common.clone() };
        let input: Vec<f32> = (0..elems).map(|i| (i % 251) as f32 * 0.01).collect();
        let diamond = Diamond::new(context, &options, &input)?;
        // The input went to the card on the legacy default stream, and what was put there may not be waited for in a capture.
        context.synchronize()?;
        let offsets: Vec<f32> = (0..branches).map(branch_b).collect();
        let want = report.busy("computing the reference on the CPU", || {
            reference::diamond(&input, A, UPSTREAM_B, &offsets, iters)
        });

        let Some(graph) = self.right_order(context, &diamond, &want, report)? else { return Ok(()) };
        self.broken_order(context, &diamond, report)?;
        self.trace(context, &diamond, report)?;
        self.time(context, &diamond, &graph, report)?;
        report.picture(self.watched.timeline());
        Ok(())
    }

    /// The diamond's graph, if its order and its result are right.
    fn right_order<'c>(
        &mut self,
        context: &Context,
        diamond: &Diamond<'c>,
        want: &[f32],
        report: Report,
    ) -> Result<Option<Executable<'c>>, Error> {
        let captured = capture(context, diamond, "diamond", Diamond::submit_diamond)?;
        let Some((log, shape, graph)) = captured else { return Ok(None) };
        if !self.watched.look("diamond", 0, Some(&log), &mut self.gates, report)
            || !self.hold_order("diamond", &shape, &log, report)
        {
            return Ok(None);
        }
        (self.nodes, self.edges) = (Some(shape.nodes.len()), Some(shape.edges.len()));
        diamond.zero_mid()?;
        (0..REPLAYS).try_for_each(|_| diamond.launch(&graph))?;
        diamond.synchronize()?;
        let result = compare(&diamond.result()?, want, TOLERANCE);
        let is_right = self.gates.hold(correctness(&format!("graph ({REPLAYS} launches)"), &result), report);
        Ok(is_right.then_some(graph))
    }

    fn broken_order(
        &mut self,
        context: &Context,
        diamond: &Diamond<'_>,
        report: Report,
    ) -> Result<(), Error> {
        let captured = capture(context, diamond, "broken-order", Diamond::submit_broken)?;
        let Some((log, shape, _)) = captured else { return Ok(()) };
        let missing = self.parameters.branches as usize;
        self.watched.look("broken order", missing, Some(&log), &mut self.gates, report);
        self.hold_order("broken order", &shape, &log, report);
        let graph = gates::behind(shape.nodes.len(), &shape.edges);
        self.gates.hold(gates::missing_too(&missing_pairs(&log), &graph), report);
        Ok(())
    }

    fn hold_order(&mut self, name: &str, shape: &Shape, log: &Log, report: Report) -> bool {
        let graph = gates::behind(shape.nodes.len(), &shape.edges);
        self.gates.hold(gates::same_order(name, shape.edges.len(), &graph, &predecessors(log)), report)
    }

    /// Runs graphs of both orders with traced kernels, and says what ran side by side.
    fn trace(&mut self, context: &Context, diamond: &Diamond<'_>, report: Report) -> Result<(), Error> {
        let room = Room {
            branches: self.parameters.branches,
            blocks: self.parameters.blocks,
            resident: context.resident_blocks(gpu::forkjoin::grind_fma::KERNEL, THREADS)?,
        };
        let submit = || diamond.launch(&diamond.capture(|diamond| diamond.submit_diamond())?.instantiate()?);
        let (band, _) = self.watched.trace(context, "diamond, as a graph", 0, submit, report)?;
        let gates = forkjoin::right_order(&intervals(&band), room, self.watched.step_ns());
        self.draw(context, band, gates, report);

        diamond.zero_mid()?;
        let submit = || diamond.launch(&diamond.capture(|diamond| diamond.submit_broken())?.instantiate()?);
        let (band, _) = self.watched.trace(context, "broken order, as a graph", 0, submit, report)?;
        let gates = forkjoin::broken_order(&intervals(&band), room);
        self.draw(context, band, gates, report);
        Ok(())
    }

    fn draw(&mut self, context: &Context, band: Band, gates: Vec<Gate>, report: Report) {
        self.watched.draw(band, &gates);
        for gate in gates {
            self.gates.hold_overlap(gate, context, report);
        }
    }

    /// What the host and the card take for a run, call by call and as a graph.
    fn time(
        &mut self,
        context: &Context,
        diamond: &Diamond<'_>,
        graph: &Executable<'_>,
        report: Report,
    ) -> Result<(), Error> {
        let repeat = self.parameters.common.repeat;
        let calls = context.logged(|| diamond.submit_diamond())?.entries.len();
        let host = |name: &str, submit: &dyn Fn() -> Result<(), Error>| {
            let mut times = Vec::new();
            for run in 0..repeat.warmups() + repeat.runs() {
                let _range = Range::new(context, name);
                let clock = HostClock::start();
                submit()?;
                times.extend((run >= repeat.warmups()).then(|| clock.elapsed_ms()));
                // The host never waits for room in a stream, and the next run begins on an idle card.
                context.synchronize()?;
            }
            Ok::<_, Error>(Statistics::of(&times).unwrap_or(Statistics::UNKNOWN))
        };
        let (direct, launched) =
            (host("direct", &|| diamond.submit_diamond())?, host("graph", &|| diamond.launch(graph))?);
        (self.host_direct, self.host_graph) = (Some(direct), Some(launched));
        self.gates.hold(gates::host_time(direct, launched, calls), report);

        let clock = Stream::new(context, "legacy default stream", StreamKind::Legacy)?;
        let direct = time(context, &clock, repeat, || diamond.submit_diamond())?;
        let launched = time(context, &clock, repeat, || diamond.launch(graph))?;
        report.time("direct:", direct);
        report.time("graph:", launched);
        (self.card_direct, self.card_graph) = (Some(direct), Some(launched));
        self.gates.hold(gates::card_time(direct, launched), report);
        Ok(())
    }
}

/// Captures one of the diamond's orders: what was noted, the graph's shape, and the graph to be launched.
fn capture<'c>(
    context: &Context,
    diamond: &Diamond<'c>,
    name: &str,
    submit: fn(&Diamond<'c>) -> Result<(), Error>,
) -> Result<Option<(Log, Shape, Executable<'c>)>, Error> {
    let _range = Range::new(context, &format!("capture {name}"));
    let mut graph = None;
    let log = context.logged(|| {
        graph = Some(diamond.capture(submit)?);
        Ok(())
    })?;
    graph.map(|graph| Ok((log, graph.shape()?, graph.instantiate()?))).transpose()
}

/// The missing edges of a log, as places among its work.
fn missing_pairs(log: &Log) -> Vec<(usize, usize)> {
    let work = work(log);
    let place = |at: Option<usize>| work.iter().position(|&one| Some(one) == at);
    missing(log).iter().filter_map(|edge| Some((place(edge.from)?, place(edge.to)?))).collect()
}
