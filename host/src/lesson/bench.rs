//! Every kernel alone, and the three lessons, against the card's limits.
//!
//! The limit of arithmetic is lanes times clock, from what the card says of itself; the limit of memory is measured, by a
//! copy on the card. A kernel is held against the one that it is made to reach.

use serde::Serialize;
use timeline::model::Timeline;

use super::diamond::{A, THREADS, UPSTREAM_B};
use super::stopwatch::time;
use super::{Lesson, Outcome, Setting, forkjoin, lanes, pdl, streams};
use crate::args::{self, Repeat};
use crate::measure::Statistics;
use crate::report::Report;
use crate::submit::{Buffer, Context, Error, Launch, Stream, StreamKind};
use cuda_std::call::Call;

/// Elements of the buffers in the fork-join and the dependent launch lessons.
const ELEMS: usize = 1 << 20;
/// Blocks of a grind kernel and of the spin.
const SMALL_BLOCKS: u32 = 8;
/// Steps of a grind kernel.
const GRIND_STEPS: u32 = 512;
/// Steps of the spin.
const SPIN_STEPS: u32 = 1 << 20;

/// A timed run is so many launches back to back that it lasts about this long, so that the events around it weigh nothing.
const RUN_MS: f64 = 1.0;

/// What the bench found, as its JSON document has it.
#[derive(Debug, Serialize)]
pub struct Findings {
    lesson: &'static str,
    #[serde(flatten)]
    setting: Setting,
    parameters: args::Bench,
    limits: Limits,
    kernels: Vec<Row>,
    forkjoin: forkjoin::Findings,
    streams: streams::Findings,
    /// Absent on a card before compute capability 9.0.
    pdl: Option<pdl::Findings>,
    /// The lessons' bands.
    #[serde(skip)]
    timeline: Timeline,
}

/// What the card can do at most.
#[derive(Clone, Copy, Debug, Serialize)]
struct Limits {
    /// Fused multiply-adds a second: lanes times the peak clock.
    fma_per_s: f64,
    /// Bytes a second, read and written, of a copy on the card between buffers of four times its L2.
    bytes_per_s: f64,
}

/// One kernel alone.
#[derive(Debug, Serialize)]
struct Row {
    kernel: &'static str,
    blocks: u32,
    /// Of one launch, in a run of many back to back.
    times: Statistics,
    amount: Amount,
    per_s: f64,
    of_limit: f64,
}

/// What a launch does.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Amount {
    /// Fused multiply-adds, one lane each.
    Fma(f64),
    /// Integer steps of the spin, one lane each; they have the fused multiply-add's limit.
    Steps(f64),
    /// Bytes read and written, each counted once.
    Bytes(f64),
}

impl Lesson for args::Bench {
    type Findings = Findings;

    fn common(&mut self) -> &mut args::Common {
        &mut self.common
    }

    fn run(&self, context: &Context, report: Report) -> Result<Findings, Error> {
        run(context, self, report)
    }
}

impl Outcome for Findings {
    fn passed(&self) -> bool {
        self.forkjoin.passed() && self.streams.passed() && self.pdl.as_ref().is_none_or(Outcome::passed)
    }

    fn timeline(&self) -> Option<&Timeline> {
        Some(&self.timeline)
    }
}

/// Runs the bench. The lessons run as they do by themselves, without their text.
///
/// # Errors
///
/// Any error of the submission layer.
pub fn run(context: &Context, options: &args::Bench, report: Report) -> Result<Findings, Error> {
    let setting = Setting::of(context);
    setting.say(report);
    let bench = Bench {
        context,
        repeat: options.common.repeat,
        stream: Stream::new(context, "bench", StreamKind::Blocking)?,
    };
    let limits = bench.limits()?;
    report.say(format!(
        "limits: {:.2e} fma/s ({} lanes at {} MHz, from the card's attributes), {:.3e} bytes/s (a copy on the card)",
        limits.fma_per_s,
        context.card().fma_lanes(),
        context.card().clock_khz / 1000,
        limits.bytes_per_s
    ));
    report.say(format!(
        "{:14}  {:>6}  {:>44}  {:>17}  {:>8}",
        "kernel", "blocks", "time of a launch", "achieved", "of limit"
    ));
    let kernels = bench.kernels(limits)?;
    for row in &kernels {
        report.say(row.line());
    }
    let quiet = report.quiet();
    let repeat = options.common.repeat;
    let (forkjoin, streams) = (
        forkjoin::run(context, &args::standard(repeat), quiet)?,
        streams::run(context, &args::standard(repeat), quiet)?,
    );
    let pdl = match pdl::run(context, &args::standard(repeat), quiet) {
        Err(Error::Unsupported { .. }) => None,
        answer => Some(answer?),
    };
    let timelines = [forkjoin.timeline(), streams.timeline(), pdl.as_ref().and_then(Outcome::timeline)]
        .into_iter()
        .flatten();
    let timeline = Timeline {
        title: "bench".to_owned(),
        card: context.card().name.clone(),
        is_virtual: report.is_virtual(),
        step_ns: timelines.clone().map(|one| one.step_ns).max().unwrap_or(0),
        bands: timelines.flat_map(|one| one.bands.clone()).collect(),
    };
    let findings = Findings {
        lesson: "bench",
        setting,
        parameters: options.clone(),
        limits,
        kernels,
        forkjoin,
        streams,
        pdl,
        timeline,
    };
    findings.say_lessons(report);
    Ok(findings)
}

/// What the kernels run with.
struct Bench<'c> {
    context: &'c Context,
    repeat: Repeat,
    stream: Stream<'c>,
}

impl Bench<'_> {
    fn limits(&self) -> Result<Limits, Error> {
        let card = self.context.card();
        let elems = lanes::large_elems(card);
        let from: Buffer<'_, f32> = Buffer::new(self.context, "from", elems)?;
        let to = Buffer::new(self.context, "to", elems)?;
        let times = time(self.context, &self.stream, self.repeat, || self.stream.copy(&from, &to))?;
        Ok(Limits {
            fma_per_s: f64::from(card.fma_lanes()) * f64::from(card.clock_khz) * 1e3,
            bytes_per_s: 2.0 * from.bytes() as f64 / (times.median_ms * 1e-3),
        })
    }

    fn kernels(&self, limits: Limits) -> Result<Vec<Row>, Error> {
        let card = self.context.card();
        let buffer = |name, elems| -> Result<Buffer<'_, f32>, Error> {
            let buffer = Buffer::new(self.context, name, elems)?;
            self.stream.zero(&buffer)?;
            Ok(buffer)
        };
        let [a, b, c, d, e] = ["a", "b", "c", "d", "e"].map(|name| buffer(name, ELEMS));
        let (a, b, c, d, e) = (a?, b?, c?, d?, e?);
        let large_elems = lanes::large_elems(card);
        let (large, swept) = (buffer("large", large_elems)?, buffer("swept", large_elems)?);
        let spun = Buffer::new(self.context, "spun", (SMALL_BLOCKS * THREADS) as usize)?;
        let each = ELEMS as u32 / THREADS;
        let full = lanes::WAVES * self.context.resident_blocks(gpu::streams::sweep_add::KERNEL, THREADS)?;
        let elems = ELEMS as f64;
        let chains = |count: u32, steps: u32| Amount::Fma(f64::from(count) * f64::from(steps) * elems);
        let sweep = Amount::Bytes(8.0 * large_elems as f64);
        let spin = Amount::Steps(f64::from(SMALL_BLOCKS * THREADS) * f64::from(SPIN_STEPS));

        let grind = || gpu::forkjoin::grind_fma(&a, &b, GRIND_STEPS, A, UPSTREAM_B);
        let mut rows = vec![
            self.row(SMALL_BLOCKS, chains(1, GRIND_STEPS), limits, grind)?,
            self.row(each, Amount::Bytes(20.0 * elems), limits, || {
                gpu::forkjoin::sum_four(&a, &b, &c, &d, &e)
            })?,
            self.row(SMALL_BLOCKS, spin, limits, || gpu::streams::spin_lcg(&spun, SPIN_STEPS))?,
            self.row(full, sweep, limits, || gpu::streams::sweep_add(&large, &swept))?,
            self.row(full, sweep, limits, || gpu::streams::sweep_scale(&large, &swept))?,
        ];
        if card.compute_capability >= (9, 0) {
            let steps = gpu::pdl::STEPS;
            rows.push(self.row(each, chains(2, steps), limits, || gpu::pdl::produce_stage(&a, &b, &c))?);
            rows.push(self.row(each, chains(1, steps), limits, || gpu::pdl::combine_stage(&b, &a, &d))?);
        }
        Ok(rows)
    }

    fn row<'b>(
        &self,
        blocks: u32,
        amount: Amount,
        limits: Limits,
        call: impl Fn() -> Call<'b>,
    ) -> Result<Row, Error> {
        let launch = Launch::new(blocks, THREADS);
        let timed = |repeat, batch| {
            time(self.context, &self.stream, repeat, || {
                (0..batch).try_for_each(|_| self.stream.launch(&launch, call()))
            })
        };
        let once = timed(self.repeat.probe(), 1)?;
        let batch = launches_for(once.median_ms);
        let times = timed(self.repeat, batch)?.divided_by(batch);
        let (count, limit) = match amount {
            Amount::Fma(count) | Amount::Steps(count) => (count, limits.fma_per_s),
            Amount::Bytes(count) => (count, limits.bytes_per_s),
        };
        let per_s = count / (times.median_ms * 1e-3);
        Ok(Row { kernel: call().kernel().name, blocks, times, amount, per_s, of_limit: per_s / limit })
    }
}

/// Launches that last [`RUN_MS`], when one lasts `once_ms`: at least one, at most 500.
fn launches_for(once_ms: f64) -> u32 {
    // A float that is no number or too large becomes 0 or the largest number here.
    ((RUN_MS / once_ms).ceil() as u32).clamp(1, 500)
}

impl Row {
    fn line(&self) -> String {
        let unit = match self.amount {
            Amount::Fma(_) => "fma/s",
            Amount::Steps(_) => "steps/s",
            Amount::Bytes(_) => "bytes/s",
        };
        format!(
            "{:14}  {:>6}  {:>44}  {:>17}  {:>7.1}%",
            self.kernel,
            self.blocks,
            format!("{:.4}", self.times),
            format!("{:.3e} {unit}", self.per_s),
            100.0 * self.of_limit
        )
    }
}

impl Findings {
    fn say_lessons(&self, report: Report) {
        report.say(self.forkjoin.summary());
        report.say(self.streams.summary());
        match &self.pdl {
            Some(pdl) => report.say(pdl.summary()),
            None => report.say("pdl: needs compute capability 9.0"),
        }
    }
}
