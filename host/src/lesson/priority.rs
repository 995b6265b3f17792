//! Priorities: a small kernel behind a grid that fills the card.
//!
//! Claim: a priority decides which of the blocks that wait for room is placed next, and nothing else. A small kernel behind a
//! full grid waits for all of its blocks; from a stream of a higher priority it takes the first place that becomes free. It
//! takes none from a block that runs, and it is ordered with nothing.
//!
//! Prediction: with W waves of blocks the small kernel starts after W of them without a priority, and after one with it.

use serde::Serialize;
use timeline::model::Band;

use super::watched::Watched;
use super::{Gates, Setting};
use crate::args;
use crate::band::{block_intervals, intervals};
use crate::gate::overlap::Interval;
use crate::gate::{Gate, equality, priority as gates};
use crate::reference::streams as reference;
use crate::report::{Report, thousands};
use crate::submit::{Buffer, Context, Error, Launch, PriorityRange, Range, Stream, StreamKind};

/// Threads of a block.
const THREADS: u32 = 256;
/// Blocks of the small kernel.
const SMALL_BLOCKS: u32 = 8;
/// Steps of the full grid where it is compared with the reference.
const CHECK_STEPS: u32 = 64;
/// How far outside the range a priority is asked for.
const FAR: i32 = 1000;

/// What the lesson found, as its JSON document has it. What would come after a failed gate is absent.
#[derive(Debug, Serialize)]
pub struct Findings {
    lesson: &'static str,
    #[serde(flatten)]
    setting: Setting,
    parameters: args::Priority,
    priorities: PriorityRange,
    full_blocks: u32,
    resident_blocks: u32,
    gates: Gates,
    orders: Vec<Order>,
    #[serde(flatten)]
    watched: Watched,
}

/// When the small kernel ran in one of the two orders, from the start of the full grid.
#[derive(Debug, Serialize)]
struct Order {
    name: &'static str,
    small_start_us: f64,
    small_end_us: f64,
    full_end_us: f64,
}

super::lesson!(args::Priority);

/// Runs the lesson.
///
/// # Errors
///
/// Any error of the submission layer. A failed gate is not one: it is in the findings.
pub fn run(context: &Context, options: &args::Priority, report: Report) -> Result<Findings, Error> {
    let resident_blocks = context.resident_blocks(gpu::streams::spin_lcg::KERNEL, THREADS)?;
    let mut findings = Findings {
        lesson: "priority",
        setting: Setting::of(context),
        parameters: options.clone(),
        priorities: context.priorities()?,
        full_blocks: options.waves * resident_blocks,
        resident_blocks,
        gates: Gates::default(),
        orders: Vec::new(),
        watched: Watched::new(context, "priority", options.common.order, report),
    };
    findings.introduce(report);
    findings.clamping(context, report)?;
    let rig = Rig::new(context, findings.full_blocks, options.steps, findings.priorities)?;
    if findings.check(&rig, report)? {
        let same = findings.order(context, &rig, "same-priority", &rig.same, report)?;
        let gate = gates::behind(&same.blocks, same.small);
        findings.draw(context, same, vec![gate], report);

        let higher = findings.order(context, &rig, "higher-priority", &rig.higher, report)?;
        let gates = findings.with_priority(&higher);
        findings.draw(context, higher, gates, report);
        report.picture(findings.watched.timeline());
    }
    Ok(findings)
}

/// The buffers and streams of the lesson.
struct Rig<'c> {
    /// The grid that fills the card, in a stream of the least priority.
    full: Stream<'c>,
    /// For the small kernel: a stream of the same priority, and one of the greatest.
    same: Stream<'c>,
    higher: Stream<'c>,
    full_out: Buffer<'c, u32>,
    small_out: Buffer<'c, u32>,
    full_blocks: u32,
    steps: u32,
}

impl<'c> Rig<'c> {
    fn new(
        context: &'c Context,
        full_blocks: u32,
        steps: u32,
        priorities: PriorityRange,
    ) -> Result<Self, Error> {
        let stream = |name, priority| Stream::with_priority(context, name, StreamKind::NonBlocking, priority);
        let buffer = |name, blocks| Buffer::new(context, name, blocks as usize * THREADS as usize);
        Ok(Rig {
            full: stream("full", priorities.least)?,
            same: stream("small, same priority", priorities.least)?,
            higher: stream("small, higher priority", priorities.greatest)?,
            full_out: buffer("full-out", full_blocks)?,
            small_out: buffer("small-out", SMALL_BLOCKS)?,
            full_blocks,
            steps,
        })
    }

    fn launch_full(&self, steps: u32) -> Result<(), Error> {
        let launch = Launch::new(self.full_blocks, THREADS);
        self.full.launch(&launch, gpu::streams::spin_lcg(&self.full_out, steps))
    }

    fn launch_small(&self, stream: &Stream<'_>) -> Result<(), Error> {
        stream
            .launch(&Launch::new(SMALL_BLOCKS, THREADS), gpu::streams::spin_lcg(&self.small_out, self.steps))
    }

    /// The full grid, and the small kernel behind it on another stream.
    fn submit(&self, small: &Stream<'_>) -> Result<(), Error> {
        self.launch_full(self.steps)?;
        self.launch_small(small)
    }
}

/// An order as it ran.
struct Ran {
    band: Band,
    /// The blocks of the full grid.
    blocks: Vec<Interval>,
    small: Interval,
}

impl Findings {
    fn introduce(&self, report: Report) {
        self.setting.say(report);
        report.say(format!("priorities: {}", self.priorities));
        report.say(format!(
            "full grid: {} blocks of {THREADS}, {} waves of the {} that are resident at once; small kernel: {SMALL_BLOCKS}; \
             {} steps in each",
            thousands(self.full_blocks),
            self.parameters.waves,
            thousands(self.resident_blocks),
            thousands(self.parameters.steps)
        ));
        report.say(format!(
            "prediction: the small kernel starts after {} waves, and from a stream of a higher priority after 1",
            self.parameters.waves
        ));
    }

    /// What streams become that ask for priorities in the range and outside it.
    fn clamping(&mut self, context: &Context, report: Report) -> Result<(), Error> {
        let PriorityRange { least, greatest } = self.priorities;
        for asked in [greatest - FAR, greatest, least, least + FAR] {
            let stream = Stream::with_priority(context, "asks", StreamKind::NonBlocking, asked)?;
            self.gates.hold(gates::clamped(asked, stream.priority()?, least, greatest), report);
        }
        Ok(())
    }

    /// Both kernels against the reference.
    fn check(&mut self, rig: &Rig<'_>, report: Report) -> Result<bool, Error> {
        let mut right = true;
        rig.launch_full(CHECK_STEPS)?;
        rig.full.synchronize()?;
        rig.launch_small(&rig.higher)?;
        rig.higher.synchronize()?;
        for (name, out, steps) in
            [("full grid", &rig.full_out, CHECK_STEPS), ("small kernel", &rig.small_out, rig.steps)]
        {
            let (mut got, mut want) = (vec![0; out.len()], vec![0; out.len()]);
            out.copy_to(&mut got)?;
            reference::spin_lcg(&mut want, steps);
            right &= self.gates.hold(equality(name, &got, &want), report);
        }
        Ok(right)
    }

    /// Runs an order with traced kernels, and looks at its edges.
    fn order(
        &mut self,
        context: &Context,
        rig: &Rig<'_>,
        name: &'static str,
        small: &Stream<'_>,
        report: Report,
    ) -> Result<Ran, Error> {
        let warmups = self.parameters.common.repeat.warmups();
        let submit = || {
            let _range = Range::new(context, name);
            rig.submit(small)
        };
        let (band, log) = self.watched.trace(context, name, warmups, submit, report)?;
        self.watched.look(name, 0, Some(&log), &mut self.gates, report);
        let mut blocks = block_intervals(&band);
        blocks.truncate(rig.full_blocks as usize);
        let &[full, small] = intervals(&band).as_slice() else {
            return Ok(Ran { band, blocks: Vec::new(), small: Interval { start_ns: 0, end_ns: 0 } });
        };
        let us = |ns| ns as f64 / 1e3;
        self.orders.push(Order {
            name,
            small_start_us: us(small.start_ns),
            small_end_us: us(small.end_ns),
            full_end_us: us(full.end_ns),
        });
        Ok(Ran { band, blocks, small })
    }

    /// The gates of the order with a priority.
    fn with_priority(&self, ran: &Ran) -> Vec<Gate> {
        let ahead = gates::ahead(&ran.blocks, ran.small);
        let PriorityRange { least, greatest } = self.priorities;
        if least == greatest {
            let sentence = format!("{}, reported only: the card has no priorities", ahead.sentence);
            return vec![Gate::not_gated(sentence)];
        }
        vec![ahead, gates::not_interrupted(&ran.blocks, ran.small, self.watched.step_ns())]
    }

    fn draw(&mut self, context: &Context, ran: Ran, gates: Vec<Gate>, report: Report) {
        self.watched.draw(ran.band, &gates);
        for gate in gates {
            self.gates.hold_overlap(gate, context, report);
        }
    }
}
