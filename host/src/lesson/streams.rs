//! Streams that overlap, and streams that only look like it.
//!
//! Claim: two streams overlap when the card has room for both kernels and no rule orders the streams. A small kernel and
//! sweeps over memory do, in two non-blocking streams. The same pair does not, when one of the streams is the legacy
//! default stream and the other a blocking one. Two kernels that each fill the card do not either.
//!
//! Prediction: with a spin that lasts longer than the sweeps, two streams take as long as the spin alone; the trap takes
//! as long as one stream; two full grids take as long as both alone.

use serde::Serialize;
use timeline::model::Band;

use super::lanes::{Lanes, Plan, SMALL_BLOCKS, THREADS, WAVES};
use super::stopwatch::time_drained;
use super::watched::Watched;
use super::{Gates, Setting};
use crate::args;
use crate::band::{block_intervals, intervals};
use crate::gate::equality;
use crate::gate::streams::{self as gates, Times, streams};
use crate::measure::Statistics;
use crate::reference::streams as reference;
use crate::report::{Report, thousands};
use crate::submit::{Context, Error, Launch};

/// Elements for the comparison with the reference: no block size divides it.
const CHECK_ELEMS: usize = 1_048_576 + 611;
/// Steps of the spin for the same.
const CHECK_STEPS: u32 = 4096;
/// The spin is made to last so many times the sweeps that it hides.
const SPIN_OVER_SWEEPS: f64 = 2.0;
/// Steps of the spin whose time tells what a step takes.
const PROBE_STEPS: u32 = 1 << 18;

/// What the lesson found, as its JSON document has it. What would come after a failed gate is absent.
#[derive(Debug, Serialize)]
pub struct Findings {
    lesson: &'static str,
    #[serde(flatten)]
    setting: Setting,
    parameters: args::Streams,
    plan: Plan,
    gates: Gates,
    spin_steps: Option<u32>,
    regions: Vec<Region>,
    #[serde(flatten)]
    watched: Watched,
}

/// One timed region.
#[derive(Debug, Serialize)]
struct Region {
    name: &'static str,
    times: Statistics,
}

super::lesson!(args::Streams);

/// Runs the lesson.
///
/// # Errors
///
/// Any error of the submission layer. A failed gate is not one: it is in the findings.
pub fn run(context: &Context, options: &args::Streams, report: Report) -> Result<Findings, Error> {
    let resident_blocks = context.resident_blocks(gpu::streams::sweep_add::KERNEL, THREADS)?;
    let mut findings = Findings {
        lesson: "streams",
        setting: Setting::of(context),
        parameters: options.clone(),
        plan: Plan::new(context.card(), resident_blocks, options.elems),
        gates: Gates::default(),
        spin_steps: None,
        regions: Vec::new(),
        watched: Watched::new(context, "streams", options.common.order, report),
    };
    findings.introduce(report);
    let input: Vec<f32> = (0..findings.plan.elems).map(|i| (i % 8192) as f32).collect();
    let lanes = Lanes::new(context, findings.plan, &input)?;
    if findings.check(&lanes, &input, report)? {
        let steps = findings.time(context, &lanes, report)?;
        findings.trace(context, &lanes, steps, report)?;
        report.picture(findings.watched.timeline());
    }
    Ok(findings)
}

impl Findings {
    /// The lesson in one line.
    pub fn summary(&self) -> String {
        let regions =
            self.regions.iter().map(|Region { name, times }| format!("{name} {:.3} ms", times.median_ms));
        format!("streams: {}", regions.collect::<Vec<_>>().join(", "))
    }
}

impl Findings {
    fn introduce(&self, report: Report) {
        self.setting.say(report);
        let card = &self.setting.card;
        let Plan { elems, full_blocks, small_blocks, resident_blocks } = self.plan;
        report.say(format!(
            "room: {} SMs, {} resident threads each, {} copy engines",
            card.sms, card.threads_per_sm, card.copy_engines
        ));
        report.say(format!(
            "full grid: {} blocks of {THREADS}, {WAVES} waves of the {} that are resident at once; small grid: {small_blocks}",
            thousands(full_blocks),
            thousands(resident_blocks)
        ));
        report.say(format!(
            "parameters: {} elements ({:.1} x the L2 of {} MiB), {} runs after {} warm-ups",
            thousands(elems as u64),
            (elems * size_of::<f32>()) as f64 / f64::from(card.l2_bytes.max(1)),
            card.l2_bytes >> 20,
            self.parameters.common.repeat.runs(),
            self.parameters.common.repeat.warmups()
        ));
    }

    /// The three kernels against the reference, each for itself.
    fn check(&mut self, lanes: &Lanes<'_>, input: &[f32], report: Report) -> Result<bool, Error> {
        let elems = CHECK_ELEMS.min(lanes.plan.elems);
        let (mut got, mut want) = (vec![0.0; elems], vec![0.0; elems]);
        let launch = Launch::new(lanes.plan.full_blocks, THREADS);
        let (from, legacy) = (lanes.input.first(elems), &lanes.legacy);

        legacy.launch(&launch, gpu::streams::sweep_add(&from, &lanes.added.first(elems)))?;
        lanes.added.copy_to(&mut got)?;
        reference::sweep_add(&input[..elems], &mut want);
        let added = self.gates.hold(equality("sweep_add", &got, &want), report);

        legacy.launch(&launch, gpu::streams::sweep_scale(&from, &lanes.scaled.first(elems)))?;
        lanes.scaled.copy_to(&mut got)?;
        reference::sweep_scale(&input[..elems], &mut want);
        let scaled = self.gates.hold(equality("sweep_scale", &got, &want), report);

        let (mut got, mut want) = (vec![0; lanes.spun.len()], vec![0; lanes.spun.len()]);
        lanes.spin(legacy, CHECK_STEPS)?;
        lanes.spun.copy_to(&mut got)?;
        reference::spin_lcg(&mut want, CHECK_STEPS);
        let spun = self.gates.hold(equality("spin_lcg", &got, &want), report);
        Ok(added && scaled && spun)
    }

    /// The seven regions, and the spin with twice the steps.
    fn time(&mut self, context: &Context, lanes: &Lanes<'_>, report: Report) -> Result<u32, Error> {
        let steps = match self.parameters.spin_steps {
            Some(steps) => steps,
            None => self.choose_steps(lanes)?,
        };
        self.spin_steps = Some(steps);
        report.say(format!("spin: {} steps in each of {SMALL_BLOCKS} x {THREADS} threads", thousands(steps)));

        let spin = self.region("spin-solo", report, lanes, || lanes.spin(&lanes.legacy, steps))?;
        let spin_doubled = self
            .untold("spin-doubled", lanes, || lanes.spin(&lanes.legacy, steps.saturating_mul(2)))?
            .median_ms;
        let times = Times {
            spin,
            spin_doubled,
            sweep: self.region("sweep-solo", report, lanes, || lanes.add(&lanes.legacy))?,
            scale: self.region("scale-solo", report, lanes, || lanes.scale(&lanes.legacy))?,
            one_stream: self.region("part1-legacy", report, lanes, || lanes.one_stream(steps))?,
            two_streams: self.region("part2-two-streams", report, lanes, || lanes.two_streams(steps))?,
            legacy_trap: self.region("part3-legacy-trap", report, lanes, || lanes.legacy_trap(steps))?,
            two_full_grids: self.region("part4-two-full-grids", report, lanes, || lanes.two_full_grids())?,
        };
        for gate in streams(&times, context.card().sms) {
            self.gates.hold_overlap(gate, context, report);
        }
        Ok(steps)
    }

    /// Runs the parts once more with traced kernels: which edges are missing in them, and what ran side by side.
    fn trace(
        &mut self,
        context: &Context,
        lanes: &Lanes<'_>,
        steps: u32,
        report: Report,
    ) -> Result<(), Error> {
        let warmups = self.parameters.common.repeat.warmups();

        let submit = || lanes.two_streams(steps);
        let band = self.traced("part2-two-streams", context, warmups, submit, report)?;
        let gate = gates::hidden_sweeps(&intervals(&band));
        self.watched.settle(band, vec![gate], &mut self.gates, context, report);

        let submit = || lanes.legacy_trap(steps);
        let band = self.traced("part3-legacy-trap", context, warmups, submit, report)?;
        let gate = gates::one_after_the_other(&intervals(&band), self.watched.step_ns());
        self.watched.settle(band, vec![gate], &mut self.gates, context, report);

        let submit = || lanes.two_full_grids();
        let band = self.traced("part4-two-full-grids", context, warmups, submit, report)?;
        let gate = gates::no_room(&intervals(&band), &block_intervals(&band), self.plan.resident_blocks);
        self.watched.settle(band, vec![gate], &mut self.gates, context, report);
        Ok(())
    }

    fn traced(
        &mut self,
        name: &str,
        context: &Context,
        warmups: u32,
        submit: impl Fn() -> Result<(), Error>,
        report: Report,
    ) -> Result<Band, Error> {
        let (band, log) = self.watched.trace(context, name, warmups, submit, report)?;
        self.watched.look(name, 0, Some(&log), &mut self.gates, report);
        Ok(band)
    }

    /// Times a region, prints it, and returns the median.
    fn region(
        &mut self,
        name: &'static str,
        report: Report,
        lanes: &Lanes<'_>,
        submit: impl Fn() -> Result<(), Error>,
    ) -> Result<f64, Error> {
        let times = self.untold(name, lanes, submit)?;
        report.time(&format!("{name:22}"), times);
        self.regions.push(Region { name, times });
        Ok(times.median_ms)
    }

    fn untold(
        &self,
        name: &'static str,
        lanes: &Lanes<'_>,
        submit: impl Fn() -> Result<(), Error>,
    ) -> Result<Statistics, Error> {
        time_drained(lanes.context(), name, self.parameters.common.repeat, submit)
    }

    /// Steps that make the spin last [`SPIN_OVER_SWEEPS`] times the sweeps.
    fn choose_steps(&self, lanes: &Lanes<'_>) -> Result<u32, Error> {
        let probe = self.parameters.common.repeat.probe();
        let sweeps = time_drained(lanes.context(), "probe", probe, || lanes.add(&lanes.legacy))?;
        let spin = time_drained(lanes.context(), "probe", probe, || lanes.spin(&lanes.legacy, PROBE_STEPS))?;
        Ok(steps_for(sweeps.median_ms * SPIN_OVER_SWEEPS, spin.median_ms))
    }
}

/// Steps that last `target_ms`, when [`PROBE_STEPS`] last `probe_ms`; twice as many still fit the kernel's parameter.
fn steps_for(target_ms: f64, probe_ms: f64) -> u32 {
    let steps = f64::from(PROBE_STEPS) * target_ms / probe_ms;
    // A float that is no number or too large becomes 0 or the largest number here.
    (steps as u32).clamp(1, u32::MAX / 2)
}
