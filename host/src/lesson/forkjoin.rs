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
use super::stopwatch::time;
use super::watched::Watched;
use super::{Gates, Setting};
use crate::args;
use crate::band::intervals;
use crate::compare::{Comparison, compare};
use crate::gate::forkjoin::Room;
use crate::gate::{Gate, correctness, forkjoin};
use crate::measure::Statistics;
use crate::reference;
use crate::report::{Report, thousands};
use crate::submit::{Context, Error, Log, Stream, StreamKind};

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
    #[serde(flatten)]
    watched: Watched,
}

/// What was seen and decides nothing.
#[derive(Debug, Serialize)]
struct Observation {
    wrong_elements: usize,
    elements: usize,
}

super::lesson!(args::ForkJoin);

/// Runs the lesson: both orders against the reference, the ordering event as a stopwatch, the clock, the broken order.
///
/// # Errors
///
/// Any error of the submission layer. A failed gate is not one: it is the last that the findings have.
pub fn run(context: &Context, options: &args::ForkJoin, report: Report) -> Result<Findings, Error> {
    let mut findings = Findings::new(context, options, report);
    findings.introduce(report);
    findings.fill(context, options, report)?;
    Ok(findings)
}

impl Findings {
    fn new(context: &Context, options: &args::ForkJoin, report: Report) -> Self {
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
            watched: Watched::new(context, "forkjoin", options.common.order, report),
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
        let args::ForkJoin { elems, blocks, iters, branches, common: args::Common { repeat, .. }, .. } =
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

        for name in ["diamond", "serial"] {
            let is_diamond = name == "diamond";
            let submit = if is_diamond { Diamond::submit_diamond } else { Diamond::submit_serial };
            let (log, result) = self.result_of(context, &diamond, submit)?;
            if !self.watched.look(name, 0, log.as_ref(), &mut self.gates, report) {
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

        self.trace(context, &diamond, report)?;
        diamond.zero_mid()?;
        let (log, result) = self.result_of(context, &diamond, Diamond::submit_broken)?;
        let result = compare(&result, &want, TOLERANCE);
        report.say(format!(
            "broken order: {} of {} elements wrong, and no call failed. An observation, not a gate: the branches race the \
             kernel that feeds them, the count changes from run to run, and at 0 the order is just as broken",
            thousands(result.mismatches as u64),
            thousands(result.elements as u64)
        ));
        self.broken_order =
            Some(Observation { wrong_elements: result.mismatches, elements: result.elements });
        self.watched.look("broken order", options.branches as usize, log.as_ref(), &mut self.gates, report);
        report.picture(self.watched.timeline());
        Ok(())
    }

    /// The result of a submission, and what it submitted where that is to be looked at.
    fn result_of<'c>(
        &self,
        context: &Context,
        diamond: &Diamond<'c>,
        submit: impl FnOnce(&Diamond<'c>) -> Result<(), Error>,
    ) -> Result<(Option<Log>, Vec<f32>), Error> {
        let log = self.watched.log(context, || submit(diamond))?;
        diamond.synchronize()?;
        Ok((log, diamond.result()?))
    }

    /// Runs the diamond and the broken order once more with traced kernels, and says what ran side by side.
    fn trace(&mut self, context: &Context, diamond: &Diamond<'_>, report: Report) -> Result<(), Error> {
        let warmups = self.parameters.common.repeat.warmups();
        let room = Room {
            branches: self.parameters.branches,
            blocks: self.parameters.blocks,
            resident: context.resident_blocks(gpu::forkjoin::grind_fma::KERNEL, THREADS)?,
        };
        let submit = || diamond.submit_diamond();
        let (band, _) = self.watched.trace(context, "diamond", warmups, submit, report)?;
        let gates = forkjoin::right_order(&intervals(&band), room, self.watched.step_ns());
        self.watched.settle(band, gates, &mut self.gates, context, report);

        diamond.zero_mid()?;
        let submit = || diamond.submit_broken();
        let (band, _) = self.watched.trace(context, "broken order", warmups, submit, report)?;
        let gates = forkjoin::broken_order(&intervals(&band), room);
        self.watched.settle(band, gates, &mut self.gates, context, report);
        Ok(())
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

/// An event that orders must refuse to be read as a stopwatch, with the one code that the driver documents for it.
fn ordering_event_gate(answer: Result<f32, Error>) -> Result<Gate, Error> {
    match answer {
        Err(Error::Driver(error)) => Ok(forkjoin::ordering_event(Err((error.code, &error.name)))),
        Err(other) => Err(other),
        Ok(ms) => Ok(forkjoin::ordering_event(Ok(ms))),
    }
}
