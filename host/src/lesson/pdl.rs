//! Programmatic dependent launch.
//!
//! Claim: a secondary kernel launched with one attribute may start while its primary is still running, does what needs
//! nothing of the primary, and then waits. The results are the same to the last bit; the time is at most that of the two
//! one after the other.
//!
//! Prediction: what is gained is the gap between two launches, the tail of the primary in which the card empties, and,
//! where the card has room for both, the shorter of epilogue and prologue. Where every multiprocessor is busy to the end
//! with fused multiply-adds, only the first two are left. `--sweep` shows where the trigger and the grid put it.

use clap::ValueEnum;
use gpu::pdl as kernels;
use serde::Serialize;

use super::watched::Watched;
use super::{Gates, Setting};
use crate::args::{self, Trigger};
use crate::band::intervals;
use crate::compare::compare;
use crate::gate::overlap::Interval;
use crate::gate::pdl::bit_identical;
use crate::gate::{Gate, correctness};
use crate::lesson::stopwatch::time;
use crate::measure::Statistics;
use crate::reference::pdl::pair;
use crate::report::{Report, thousands};
use crate::submit::{Attributes, Buffer, Context, Error, Launch, Range, Stream, StreamKind};
use cuda_std::call::Call;

/// Threads of a block, eight warps.
pub const THREADS: u32 = 256;
/// What counts as equal to the reference, relative to it.
const TOLERANCE: f32 = 1e-5;
/// Cycles from one fused multiply-add to the next that needs it (CUDA C++ Programming Guide, "Multiprocessor Level":
/// about 4 for arithmetic on compute capability 7.x and later).
const FMA_CYCLES: f64 = 4.0;

/// Pairs of a traced run.
const TRACED_PAIRS: u32 = 3;
/// The grid that covers the elements that were asked for.
const GIVEN: &str = "given";

/// What the lesson found, as its JSON document has it. What would come after a failed gate is absent.
#[derive(Debug, Serialize)]
pub struct Findings {
    lesson: &'static str,
    #[serde(flatten)]
    setting: Setting,
    parameters: args::Pdl,
    gates: Gates,
    cells: Vec<Cell>,
    #[serde(flatten)]
    watched: Watched,
}

/// The two modes on one grid with the trigger in one place.
#[derive(Debug, Serialize)]
pub struct Cell {
    trigger: Trigger,
    grid: &'static str,
    blocks: u32,
    elems: usize,
    /// One run of all pairs.
    baseline: Statistics,
    /// The same with the attribute.
    pdl: Statistics,
    pdl_over_baseline: f64,
    /// Fused multiply-adds alone, one run of all pairs, when secondary and primary overlap as far as they can.
    floor_ms: f64,
    /// How long after its primary's end a secondary starts.
    baseline_gap_us: f64,
    /// The same with the attribute; below zero, before the end.
    pdl_gap_us: f64,
}

super::lesson!(args::Pdl);

/// Runs the lesson.
///
/// # Errors
///
/// [`Error::Unsupported`] on a card before compute capability 9.0, before anything is allocated; any other error of the
/// submission layer. A failed gate is not one: it is in the findings.
pub fn run(context: &Context, options: &args::Pdl, report: Report) -> Result<Findings, Error> {
    context.require("programmatic dependent launch", (9, 0))?;
    let mut findings = Findings {
        lesson: "pdl",
        setting: Setting::of(context),
        parameters: options.clone(),
        gates: Gates::default(),
        cells: Vec::new(),
        watched: Watched::new(context, "pdl", options.common.order, report),
    };
    findings.setting.say(report);
    findings.fill(context, report)?;
    Ok(findings)
}

/// One pipeline of two kernels in one stream.
struct Pipeline<'c> {
    stream: Stream<'c>,
    blocks: u32,
    trigger: Trigger,
    pairs: u32,
    x: Buffer<'c, f32>,
    y: Buffer<'c, f32>,
    mid: Buffer<'c, f32>,
    aux: Buffer<'c, f32>,
    out: Buffer<'c, f32>,
}

impl<'c> Pipeline<'c> {
    fn new(context: &'c Context, elems: usize, trigger: Trigger, pairs: u32) -> Result<Self, Error> {
        let (x, y) = inputs(elems);
        Ok(Pipeline {
            stream: Stream::new(context, "pipeline", StreamKind::Blocking)?,
            blocks: blocks_for(elems),
            trigger,
            pairs,
            x: Buffer::from_slice(context, "x", &x)?,
            y: Buffer::from_slice(context, "y", &y)?,
            mid: Buffer::new(context, "mid", elems)?,
            aux: Buffer::new(context, "aux", elems)?,
            out: Buffer::new(context, "out", elems)?,
        })
    }

    /// All pairs. The secondary is launched the same way in both modes; one value of one attribute is what differs.
    fn submit(&self, pairs: u32, may_start_early: bool) -> Result<(), Error> {
        let primary = Launch::new(self.blocks, THREADS);
        let secondary = primary
            .with(Attributes { programmatic_stream_serialization: Some(may_start_early), priority: None });
        for _ in 0..pairs {
            self.stream.launch(&primary, self.produce())?;
            self.stream.launch(&secondary, kernels::combine_stage(&self.mid, &self.y, &self.out))?;
        }
        Ok(())
    }

    fn produce(&self) -> Call<'_> {
        let Pipeline { x, mid, aux, .. } = self;
        match self.trigger {
            Trigger::Early => kernels::produce_stage_early(x, mid, aux),
            Trigger::Mid => kernels::produce_stage(x, mid, aux),
            Trigger::Late => kernels::produce_stage_late(x, mid, aux),
            Trigger::Never => kernels::produce_stage_never(x, mid, aux),
        }
    }

    /// The output of one run, over memory that held no result before.
    fn result(&self, may_start_early: bool) -> Result<Vec<f32>, Error> {
        for buffer in [&self.mid, &self.aux, &self.out] {
            self.stream.zero(buffer)?;
        }
        self.submit(self.pairs, may_start_early)?;
        self.stream.synchronize()?;
        let mut out = vec![0.0; self.out.len()];
        self.out.copy_to(&mut out)?;
        Ok(out)
    }
}

impl Findings {
    /// The lesson in one line.
    pub fn summary(&self) -> String {
        let cells = self.cells.iter().map(|Cell { baseline, pdl, pdl_over_baseline, .. }| {
            format!(
                "baseline {:.3} ms, pdl {:.3} ms, pdl/baseline {pdl_over_baseline:.3}",
                baseline.median_ms, pdl.median_ms
            )
        });
        format!("pdl: {}", cells.collect::<Vec<_>>().join("; "))
    }

    fn fill(&mut self, context: &Context, report: Report) -> Result<(), Error> {
        let args::Pdl { elems, pairs, trigger, sweep, .. } = self.parameters;
        let repeat = self.parameters.common.repeat;
        let elems = elems as usize;
        report.say(format!(
            "parameters: {} elements in {} blocks of {THREADS}, {pairs} pairs, {} runs after {} warm-ups",
            thousands(elems as u64),
            thousands(blocks_for(elems)),
            repeat.runs(),
            repeat.warmups()
        ));
        if !sweep {
            report.say(format!("trigger: {}", name_of(trigger)));
            if let Some(cell) = self.cell(context, GIVEN, elems, trigger, report)? {
                cell.say(pairs, report);
                self.cells.push(cell);
            }
            report.picture(self.watched.timeline());
            return Ok(());
        }
        let wave = context.resident_blocks(kernels::produce_stage::KERNEL, THREADS)?;
        let grids = [
            ("one block per SM", context.card().sms as usize * THREADS as usize),
            ("one wave", wave as usize * THREADS as usize),
            (GIVEN, elems),
        ];
        report.say(
            "trigger  grid               blocks  baseline us/pair  pdl us/pair  pdl/baseline  floor us/pair  gap us  pdl gap us",
        );
        for (grid, elems) in grids {
            for trigger in Trigger::value_variants() {
                let quiet = report.quiet();
                let Some(cell) = self.cell(context, grid, elems, *trigger, quiet)? else { return Ok(()) };
                report.say(cell.row(pairs));
                self.cells.push(cell);
            }
        }
        report.say(
            "floor: the fused multiply-adds alone, with the secondary's prologue beside the primary's epilogue. Far above \
             it, launching is the limit and an early start hides some of that; near it, the card is busy to the end and \
             there is little to hide. Gap: from a primary's end to its secondary's start, below zero where the two overlap",
        );
        Ok(())
    }

    /// Checks and times one cell; nothing when a gate fails, which is then said even where the report is quiet.
    fn cell(
        &mut self,
        context: &Context,
        grid: &'static str,
        elems: usize,
        trigger: Trigger,
        report: Report,
    ) -> Result<Option<Cell>, Error> {
        let (pairs, repeat) = (self.parameters.pairs, self.parameters.common.repeat);
        let pipeline = Pipeline::new(context, elems, trigger, pairs)?;
        {
            let _range = Range::new(context, "verify");
            let (x, y) = inputs(elems);
            let baseline = self.checked(context, &pipeline, false, report)?;
            let comparison = compare(&baseline, &pair(&x, &y).out, TOLERANCE);
            if !self.gates.hold(correctness("baseline", &comparison), report) {
                return Ok(None);
            }
            let early = self.checked(context, &pipeline, true, report)?;
            if !self.gates.hold(bit_identical("pdl", &baseline, &early), report) {
                return Ok(None);
            }
        }
        let timed = |name, early| {
            let _range = Range::new(context, name);
            time(context, &pipeline.stream, repeat, || pipeline.submit(pairs, early))
        };
        let (baseline, pdl) = (timed("baseline", false)?, timed("pdl", true)?);
        let drawn = grid == GIVEN;
        Ok(Some(Cell {
            trigger,
            grid,
            blocks: pipeline.blocks,
            elems,
            baseline,
            pdl,
            pdl_over_baseline: pdl.median_ms / baseline.median_ms,
            floor_ms: f64::from(pairs)
                * floor_ms(elems, context.card().fma_lanes(), context.card().clock_khz),
            baseline_gap_us: self.gap_us(context, &pipeline, false, drawn, report)?,
            pdl_gap_us: self.gap_us(context, &pipeline, true, drawn, report)?,
        }))
    }

    /// The output of one run, whose order is looked at.
    fn checked(
        &mut self,
        context: &Context,
        pipeline: &Pipeline<'_>,
        early: bool,
        report: Report,
    ) -> Result<Vec<f32>, Error> {
        let mut out = Vec::new();
        let log = self.watched.log(context, || pipeline.result(early).map(|result| out = result))?;
        self.watched.look(mode(early), 0, log.as_ref(), &mut self.gates, report);
        Ok(out)
    }

    /// How long after the end of its primary a secondary starts, microseconds: below zero, before it. The median of a few
    /// pairs, by the card's own clock.
    fn gap_us(
        &mut self,
        context: &Context,
        pipeline: &Pipeline<'_>,
        early: bool,
        drawn: bool,
        report: Report,
    ) -> Result<f64, Error> {
        let (pairs, warmups) = (pipeline.pairs.min(TRACED_PAIRS), self.parameters.common.repeat.warmups());
        let name = format!("{}, trigger {}", mode(early), name_of(pipeline.trigger));
        let submit = || pipeline.submit(pairs, early);
        let (band, _) = self.watched.trace(context, &name, warmups, submit, report)?;
        let gaps = gaps_us(&intervals(&band));
        let gap = Statistics::of(&gaps).unwrap_or(Statistics::UNKNOWN).median_ms;
        if drawn {
            self.watched.draw(band, &[Gate::not_gated(format!("a secondary starts {}", relative(gap)))]);
        }
        Ok(gap)
    }
}

impl Cell {
    fn say(&self, pairs: u32, report: Report) {
        let Cell { baseline, pdl, pdl_over_baseline, .. } = self;
        for (name, times) in [("baseline", baseline), ("pdl", pdl)] {
            let per_pair = format!("{times}, {:.2} us a pair", 1e3 * times.median_ms / f64::from(pairs));
            report.time(&format!("{name}:"), per_pair);
        }
        report.say(format!("pdl/baseline: {pdl_over_baseline:.3}"));
        for (name, gap) in [("baseline", self.baseline_gap_us), ("pdl", self.pdl_gap_us)] {
            report.say(format!("{name}: a secondary starts {}", relative(gap)));
        }
    }

    fn row(&self, pairs: u32) -> String {
        let us = |ms: f64| 1e3 * ms / f64::from(pairs);
        format!(
            "{:7}  {:16}  {:>7}  {:16.2}  {:11.2}  {:12.3}  {:13.2}  {:+6.1}  {:+10.1}",
            name_of(self.trigger),
            self.grid,
            self.blocks,
            us(self.baseline.median_ms),
            us(self.pdl.median_ms),
            self.pdl_over_baseline,
            us(self.floor_ms),
            self.baseline_gap_us,
            self.pdl_gap_us
        )
    }
}

/// The time of one pair's fused multiply-adds alone, milliseconds: either the card's lanes are the limit, or one thread's
/// chain is, which with full overlap is two phases long.
fn floor_ms(elems: usize, lanes: u32, clock_khz: u32) -> f64 {
    let steps = f64::from(kernels::STEPS);
    let by_lanes = 3.0 * steps * elems as f64 / f64::from(lanes);
    let by_chain = 2.0 * steps * FMA_CYCLES;
    by_lanes.max(by_chain) / f64::from(clock_khz)
}

/// From the end of each primary to the start of its secondary, microseconds.
fn gaps_us(ran: &[Interval]) -> Vec<f64> {
    let gap = |pair: &[Interval]| (pair[1].start_ns as f64 - pair[0].end_ns as f64) / 1e3;
    ran.chunks_exact(2).map(gap).collect()
}

/// Such a gap in words.
fn relative(gap_us: f64) -> String {
    let word = if gap_us < 0.0 { "before" } else { "after" };
    format!("{:.1} us {word} its primary's end", gap_us.abs())
}

fn mode(early: bool) -> &'static str {
    if early { "pdl" } else { "baseline" }
}

fn blocks_for(elems: usize) -> u32 {
    u32::try_from(elems.div_ceil(THREADS as usize)).unwrap_or(u32::MAX)
}

fn inputs(elems: usize) -> (Vec<f32>, Vec<f32>) {
    (
        (0..elems).map(|i| (i % 97) as f32 * 0.01).collect(),
        (0..elems).map(|i| (i % 13) as f32 * 0.05).collect(),
    )
}

fn name_of(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Early => "early",
        Trigger::Mid => "mid",
        Trigger::Late => "late",
        Trigger::Never => "never",
    }
}
