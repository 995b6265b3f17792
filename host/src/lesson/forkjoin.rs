//! The fork-join diamond.
//!
//! Claim: one recorded event and a wait for it on each branch make the branches run side by side after the kernel that
//! feeds them, and a second wait for each makes the join follow them all. The order is in the events, not in the order
//! of the host's lines: with one line moved, every call still succeeds and the order is gone.
//!
//! Prediction: in units of one grind kernel the serial order is 1 + B deep and the diamond 2, so the ratio is at most
//! (1 + B) / 2.

use serde::Serialize;

use super::diamond::{A, Diamond, THREADS, UPSTREAM_B, branch_b};
use super::timing::time;
use super::{Gates, Outcome, Setting};
use crate::args;
use crate::compare::{Comparison, compare};
use crate::gate::{Gate, correctness, forkjoin};
use crate::measure::Statistics;
use crate::order::{MissingEdge, missing_edges};
use crate::reference;
use crate::report::{Report, thousands};
use crate::submit::{Context, Error, Stream, StreamKind};

/// What counts as equal, relative to the reference.
const TOLERANCE: f32 = 1e-6;

/// What the lesson found, as its JSON document has it. What would come after a failed gate is absent.
#[derive(Debug, Serialize)]
pub struct Findings {
    lesson: &'static str,
    #[serde(flatten)]
    setting: Setting,
    parameters: args::ForkJoin,
    threads_per_block: u32,
    critical_path_bound: f64,
    gates: Gates,
    diamond_result: Option<Comparison>,
    serial_result: Option<Comparison>,
    diamond_times: Option<Statistics>,
    serial_times: Option<Statistics>,
    serial_over_diamond: Option<f64>,
    broken_order: Option<Observation>,
    missing_edges: Vec<OrderFindings>,
}

/// The edges that are missing in one order of submission.
#[derive(Debug, Serialize)]
struct OrderFindings {
    order: &'static str,
    expected: usize,
    edges: Vec<MissingEdge>,
}

/// What was seen and decides nothing.
#[derive(Debug, Serialize)]
struct Observation {
    wrong_elements: usize,
    elements: usize,
}

impl Outcome for Findings {
    fn passed(&self) -> bool {
        self.gates.passed()
    }
}

/// Runs the lesson: both orders against the reference, the ordering event as a stopwatch, the clock, the broken order.
///
/// # Errors
///
/// Any error of the submission layer. A failed gate is not one: it is the last that the findings have.
pub fn run(context: &Context, options: &args::ForkJoin, report: Report) -> Result<Findings, Error> {
    let mut findings = Findings::new(context, options);
    findings.introduce(report);
    findings.fill(context, options, report)?;
    Ok(findings)
}

impl Findings {
    fn new(context: &Context, options: &args::ForkJoin) -> Self {
        Findings {
            lesson: "forkjoin",
            setting: Setting::of(context),
            parameters: options.clone(),
            threads_per_block: THREADS,
            critical_path_bound: forkjoin::critical_path_bound(options.branches),
            gates: Gates::default(),
            diamond_result: None,
            serial_result: None,
            diamond_times: None,
            serial_times: None,
            serial_over_diamond: None,
            broken_order: None,
            missing_edges: Vec::new(),
        }
    }

    /// The lesson in one line.
    pub fn summary(&self) -> String {
        match (self.diamond_times, self.serial_times) {
            (Some(diamond), Some(serial)) => format!(
                "forkjoin: diamond {:.3} ms, serial {:.3} ms, {:.2}x of at most {:.2}x",
                diamond.median_ms,
                serial.median_ms,
                serial.median_ms / diamond.median_ms,
                self.critical_path_bound
            ),
            _ => "forkjoin: a gate failed before the clock".to_owned(),
        }
    }

    fn introduce(&self, report: Report) {
        self.setting.say(report);
        let args::ForkJoin { elems, blocks, iters, branches, common: args::Common { repeat, .. } } =
            &self.parameters;
        report.say(format!(
            "parameters: {} elements, {blocks} grind blocks of {THREADS}, {iters} iterations, {branches} branches, \
             {} runs after {} warm-ups",
            thousands(*elems),
            repeat.runs(),
            repeat.warmups()
        ));
        report.say(format!(
            "prediction: {} grind kernels deep in one stream, 2 as a diamond: at most {:.2}x",
            branches + 1,
            self.critical_path_bound
        ));
    }

    /// Everything up to the first gate that fails.
    fn fill(&mut self, context: &Context, options: &args::ForkJoin, report: Report) -> Result<(), Error> {
        let input: Vec<f32> = (0..options.elems).map(|i| (i % 251) as f32 * 0.01).collect();
        let diamond = Diamond::new(context, options, &input)?;
        let offsets: Vec<f32> = (0..options.branches).map(branch_b).collect();
        let want = report.busy("computing the reference on the CPU", || {
            reference::diamond(&input, A, UPSTREAM_B, &offsets, options.iters)
        });

        let order = options.common.order;
        for name in ["diamond", "serial"] {
            let is_diamond = name == "diamond";
            let submit = if is_diamond { Diamond::submit_diamond } else { Diamond::submit_serial };
            let (result, edges) = result_of(context, &diamond, submit, order)?;
            if !self.look_at_order(name, edges, 0, order, report) {
                return Ok(());
            }
            let result = compare(&result, &want, TOLERANCE);
            let kept = if is_diamond { &mut self.diamond_result } else { &mut self.serial_result };
            *kept = Some(result);
            if !self.gates.hold(correctness(name, &result), report) {
                return Ok(());
            }
        }
        if !self.gates.hold(ordering_event_gate(diamond.time_by_ordering_events())?, report) {
            return Ok(());
        }
        if !self.time(context, options, &diamond, report)? {
            return Ok(());
        }

        diamond.zero_mid()?;
        let (result, edges) = result_of(context, &diamond, Diamond::submit_broken, order)?;
        let result = compare(&result, &want, TOLERANCE);
        report.say(format!(
            "broken order: {} of {} elements wrong, and no call failed. An observation, not a gate: the branches race the \
             kernel that feeds them, the count changes from run to run, and at 0 the order is just as broken",
            thousands(result.mismatches as u64),
            thousands(result.elements as u64)
        ));
        self.look_at_order("broken order", edges, options.branches as usize, order, report);
        self.broken_order =
            Some(Observation { wrong_elements: result.mismatches, elements: result.elements });
        Ok(())
    }

    /// Says which edges are missing in an order, and returns whether the lesson goes on.
    fn look_at_order(
        &mut self,
        name: &'static str,
        edges: Vec<MissingEdge>,
        expected: usize,
        order: args::Order,
        report: Report,
    ) -> bool {
        if order == args::Order::Off {
            return true;
        }
        let count = edges.len();
        let reports = edges.iter().map(|edge| edge.report.trim_end()).collect::<Vec<_>>();
        let text = reports.join("\n");
        self.missing_edges.push(OrderFindings { order: name, expected, edges });
        let gate = match (count == expected, order) {
            (true, _) => Gate::pass(format!("{name}: {count} missing edges, as predicted")),
            (false, args::Order::Deny) => {
                Gate::fail(format!("{name}: {count} missing edges, predicted were {expected}"))
            }
            (false, _) => {
                Gate::not_gated(format!("{name}: {count} missing edges, predicted were {expected}"))
            }
        };
        let goes_on = self.gates.hold(gate, report);
        if !text.is_empty() {
            report.say(text);
        }
        goes_on
    }

    fn time(
        &mut self,
        context: &Context,
        options: &args::ForkJoin,
        diamond: &Diamond<'_>,
        report: Report,
    ) -> Result<bool, Error> {
        let clock = Stream::new(context, "legacy default stream", StreamKind::Legacy)?;
        let diamond_times = time(context, &clock, options.common.repeat, || diamond.submit_diamond())?;
        let serial_times = time(context, &clock, options.common.repeat, || diamond.submit_serial())?;
        report.time("diamond:", diamond_times);
        report.time("serial:", serial_times);
        self.diamond_times = Some(diamond_times);
        self.serial_times = Some(serial_times);
        self.serial_over_diamond = Some(serial_times.median_ms / diamond_times.median_ms);
        let gate = forkjoin::overlap(&forkjoin::ForkJoin {
            serial: serial_times,
            diamond: diamond_times,
            branches: options.branches,
            blocks: options.blocks,
            sm_count: self.setting.card.sms,
        });
        Ok(self.gates.hold_overlap(gate, context, report))
    }
}

/// The result of a submission, and the edges that are missing in it.
fn result_of<'c>(
    context: &Context,
    diamond: &Diamond<'c>,
    submit: impl FnOnce(&Diamond<'c>) -> Result<(), Error>,
    order: args::Order,
) -> Result<(Vec<f32>, Vec<MissingEdge>), Error> {
    let edges = match order {
        args::Order::Off => {
            submit(diamond)?;
            Vec::new()
        }
        _ => missing_edges(&context.logged(|| submit(diamond))?),
    };
    diamond.synchronize()?;
    Ok((diamond.result()?, edges))
}

/// An event that orders must refuse to be read as a stopwatch, with the one code that the driver documents for it.
fn ordering_event_gate(answer: Result<f32, Error>) -> Result<Gate, Error> {
    match answer {
        Err(Error::Driver(error)) => Ok(forkjoin::ordering_event(Err((error.code, &error.name)))),
        Err(other) => Err(other),
        Ok(ms) => Ok(forkjoin::ordering_event(Ok(ms))),
    }
}
