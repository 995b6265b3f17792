//! Every kernel alone, and the lessons forkjoin, streams and pdl, against the device's limits.
//!
//! The limit of arithmetic is lanes times clock, from what the device reports of itself; the limit of memory is measured, by a copy
//! on the device. Each kernel is compared with the limit that it is made to reach.

use cuda_std::call::Call;
use gpu::forkjoin::{grind_fma, sum_four};
use gpu::pdl::{combine_stage, produce_stage};
use gpu::streams::{spin_lcg, sweep_add, sweep_scale};
use serde::Serialize;
use serde_json::json;
use streamlab::{DeviceBuffer, DeviceProperties, Error, LaunchConfig, Stream, StreamKind};

use super::forkjoin::{self, A, THREADS, UPSTREAM_B};
use super::streams::{self, SMALL_BLOCKS, WAVES, large_elems};
use super::{pdl, standard};
use crate::document::Document;
use crate::lab::{Lab, Outcome};
use crate::measure::Statistics;
use crate::measure::event_times;

/// What the lesson shows, in a line.
pub const ABOUT: &str =
    "Every kernel alone and the lessons forkjoin, streams and pdl, against the device's limits";

/// Elements of the buffers of `forkjoin` and `pdl`.
const ELEMS: usize = 1 << 20;
/// Steps of a grind kernel.
const GRIND_STEPS: u32 = 512;
/// Steps of the spin.
const SPIN_STEPS: u32 = 1 << 20;
/// A timed run is so many launches back to back that it lasts about this long, so that the events around it weigh nothing.
const RUN_MS: f64 = 1.0;

/// What the lesson takes.
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct Args {}

/// The bench, which runs like a lesson and is none.
pub const BENCH: super::Lesson = super::Lesson {
    name: "bench",
    about: ABOUT,
    draws: true,
    options: <Args as clap::Args>::augment_args,
    run: |lab, matches| Ok(run(lab, &<Args as clap::FromArgMatches>::from_arg_matches(matches)?)),
};

/// What the device can do at most.
#[derive(Clone, Copy, Debug, Serialize)]
struct Limits {
    /// Fused multiply-adds a second: lanes times the peak clock.
    fma_per_s: f64,
    /// Bytes a second, read and written, of a copy on the device between buffers of four times its L2.
    bytes_per_s: f64,
}

/// What a launch does.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum Amount {
    /// Fused multiply-adds, one lane each.
    Fma(f64),
    /// Integer steps of the spin, one lane each; they have the limit of fused multiply-adds.
    Steps(f64),
    /// Bytes read and written, each counted once.
    Bytes(f64),
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

/// Runs the bench. The lessons run with the options that they have by themselves, without their text.
pub fn run(lab: &mut Lab<'_>, args: &Args) -> Outcome {
    lab.parameters(args, "every lesson with its own options");
    kernels_alone(lab, ELEMS, large_elems(lab.device()))?;
    lessons(lab, &standard(), &standard(), &standard())
}

/// Runs the three lessons, and puts their documents and their runs into the bench's.
pub fn lessons(
    lab: &mut Lab<'_>,
    forkjoin: &forkjoin::Args,
    streams: &streams::Args,
    pdl: &pdl::Args,
) -> Outcome {
    let forkjoin = lab.other("forkjoin", |lab| forkjoin::run(lab, forkjoin))?;
    let streams = lab.other("streams", |lab| streams::run(lab, streams))?;
    let pdl = match lab.other("pdl", |lab| pdl::run(lab, pdl)) {
        Err(Error::Unsupported { .. }) => None,
        answer => Some(answer?),
    };
    lab.say(format!("{}{}", forkjoin.medians(), serial_over_diamond(&forkjoin)));
    lab.say(streams.medians());
    lab.say(pdl.as_ref().map_or_else(|| "pdl: needs compute capability 9.0".to_owned(), Document::medians));
    lab.value("pdl", json!(null));
    for document in [Some(forkjoin), Some(streams), pdl].into_iter().flatten() {
        lab.embed(&document);
    }
    Ok(())
}

/// Measures the limits, and times every kernel alone: those of `streams` on buffers of `large_elems`, the others of `elems`.
pub fn kernels_alone(lab: &mut Lab<'_>, elems: usize, large_elems: usize) -> Outcome {
    let stream = Stream::new(lab.context(), "bench", StreamKind::Blocking)?;
    let DeviceProperties { clock_khz, .. } = *lab.device();
    let lanes = lab.device().fma_lanes();
    let limits = Limits {
        fma_per_s: f64::from(lanes) * f64::from(clock_khz) * 1e3,
        bytes_per_s: bytes_per_s(lab, &stream, large_elems)?,
    };
    let Limits { fma_per_s, bytes_per_s } = limits;
    let text = format!(
        "limits: {fma_per_s:.2e} fma/s ({lanes} lanes at {} MHz, from the device's attributes), {bytes_per_s:.3e} bytes/s (a copy \
         on the device)",
        clock_khz / 1000
    );
    lab.observe("limits", limits, text);

    let [kernel, blocks, time, achieved, of_limit] =
        ["kernel", "blocks", "time of a launch", "achieved", "of limit"];
    lab.say(format!("{kernel:14}  {blocks:>6}  {time:>44}  {achieved:>17}  {of_limit:>8}"));
    let rows = Bench { lab, stream: &stream, limits, elems, large_elems }.kernels()?;
    lab.value("kernels", rows);
    Ok(())
}

fn serial_over_diamond(forkjoin: &Document) -> String {
    let (Some(serial), Some(diamond)) = (forkjoin.times("serial"), forkjoin.times("diamond")) else {
        return String::new();
    };
    format!(", {:.2}x of at most {:.2}x", serial.median_ms / diamond.median_ms, forkjoin::BOUND)
}

/// Returns what a copy on the device moves in a second.
fn bytes_per_s(lab: &Lab<'_>, stream: &Stream<'_>, elems: usize) -> Result<f64, Error> {
    let from: DeviceBuffer<'_, f32> = DeviceBuffer::new(lab.context(), "from", elems)?;
    let to = DeviceBuffer::new(lab.context(), "to", elems)?;
    let times = event_times(lab.context(), stream, lab.repeat(), || stream.copy(&from, &to))?;
    Ok(2.0 * from.bytes() as f64 / (times.median_ms * 1e-3))
}

/// What the kernels run with.
struct Bench<'b, 'c> {
    lab: &'b Lab<'c>,
    stream: &'b Stream<'c>,
    limits: Limits,
    elems: usize,
    large_elems: usize,
}

impl Bench<'_, '_> {
    /// Times every kernel alone, and prints each row as soon as it is there.
    fn kernels(&self) -> Result<Vec<Row>, Error> {
        let Bench { lab, elems, large_elems, .. } = *self;
        let (context, device) = (lab.context(), lab.device());
        let buffer = |name| DeviceBuffer::<f32>::zeroed(context, name, elems);
        let (a, b, c, d, e) = (buffer("a")?, buffer("b")?, buffer("c")?, buffer("d")?, buffer("e")?);
        let large = DeviceBuffer::<f32>::zeroed(context, "large", large_elems)?;
        let swept = DeviceBuffer::<f32>::zeroed(context, "swept", large_elems)?;
        let spun = DeviceBuffer::<u32>::new(context, "spun", (SMALL_BLOCKS * THREADS) as usize)?;

        let each = (elems / THREADS as usize) as u32;
        let full = WAVES * context.resident_blocks(sweep_add::KERNEL, THREADS)?;
        let chains = |count: u32, steps: u32| Amount::Fma(f64::from(count) * f64::from(steps) * elems as f64);
        let spin = Amount::Steps(f64::from(SMALL_BLOCKS * THREADS) * f64::from(SPIN_STEPS));
        let sweep = Amount::Bytes(8.0 * large_elems as f64);
        let grind = || grind_fma(&a, &b, GRIND_STEPS, A, UPSTREAM_B);
        let mut rows = vec![
            self.row(SMALL_BLOCKS, chains(1, GRIND_STEPS), grind)?,
            self.row(each, Amount::Bytes(20.0 * elems as f64), || sum_four(&a, &b, &c, &d, &e))?,
            self.row(SMALL_BLOCKS, spin, || spin_lcg(&spun, SPIN_STEPS))?,
            self.row(full, sweep, || sweep_add(&large, &swept))?,
            self.row(full, sweep, || sweep_scale(&large, &swept))?,
        ];
        if device.compute_capability >= (9, 0) {
            let steps = gpu::pdl::STEPS;
            rows.push(self.row(each, chains(2, steps), || produce_stage(&a, &b, &c))?);
            // SAFETY: `b` has as many elements as `d`, and the kernels before it in the stream are complete before it starts.
            rows.push(self.row(each, chains(1, steps), || unsafe { combine_stage(&b, &a, &d) })?);
        }
        Ok(rows)
    }

    /// Times one kernel, in a run of so many launches back to back that it lasts about [`RUN_MS`], and prints the row.
    fn row<'b>(&self, blocks: u32, amount: Amount, call: impl Fn() -> Call<'b>) -> Result<Row, Error> {
        let Bench { lab, stream, limits, .. } = *self;
        let config = LaunchConfig::new(blocks, THREADS);
        let timed = |repeat, launches: u32| {
            event_times(lab.context(), stream, repeat, || {
                (0..launches).try_for_each(|_| stream.launch(config, call()))
            })
        };
        let once = timed(lab.repeat().probe(), 1)?;
        let launches = launches_for(once.median_ms);
        let times = timed(lab.repeat(), launches)?.divided_by(launches);
        let (count, limit) = match amount {
            Amount::Fma(count) | Amount::Steps(count) => (count, limits.fma_per_s),
            Amount::Bytes(count) => (count, limits.bytes_per_s),
        };
        let per_s = count / (times.median_ms * 1e-3);
        let row = Row { kernel: call().kernel().name, blocks, times, amount, per_s, of_limit: per_s / limit };
        lab.say(row.line());
        Ok(row)
    }
}

/// Returns the launches that last [`RUN_MS`], when one lasts `once_ms`: at least one, at most 500.
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
        let (times, per_s) = (format!("{:.4}", self.times), format!("{:.3e} {unit}", self.per_s));
        let (kernel, blocks, percent) = (self.kernel, self.blocks, 100.0 * self.of_limit);
        format!("{kernel:14}  {blocks:>6}  {times:>44}  {per_s:>17}  {percent:>7.1}%")
    }
}
