//! Programmatic dependent launch.
//!
//! Claim: a secondary kernel launched with one attribute may start while its primary is still running. It computes what needs
//! nothing of the primary, and then waits. The results are the baseline's to the last bit; the time is at most the baseline's.
//!
//! Prediction: what is saved is the gap between two launches, the tail of the primary in which the device empties, and, where the
//! device has room for both, the shorter of epilogue and prologue. Where every SM is busy to the end with fused multiply-adds, only
//! the first two are left. `--sweep` shows it for each place of the trigger on three grids.

use clap::ValueEnum as _;
use cuda_std::call::Call;
use gpu::pdl as kernels;
use serde::Serialize;
use serde_json::{Value, json};
use streamlab::{Attributes, Context, DeviceBuffer, Error, LaunchConfig, NvtxRange, Stream, StreamKind};
use timeline::thousands;

use crate::check::{Check, correct, count};
use crate::compare::{Comparison, compare};
use crate::lab::{Lab, Outcome};
use crate::measure::Statistics;
use crate::overlap::{Interval, intervals};
use crate::reference::pdl::pair;

/// The lesson's place in the order in which to take them.
pub const PLACE: u32 = 30;
/// What the lesson shows, in a line.
pub const ABOUT: &str =
    "Programmatic dependent launch: a kernel that starts before the one ahead of it has finished";
/// Whether it records a timeline.
pub const DRAWS: bool = true;

/// Threads of a block, eight warps.
pub const THREADS: u32 = 256;
/// Pairs of a traced run.
pub const TRACED_PAIRS: u32 = 3;
/// The grid that covers the elements that were asked for.
const GIVEN: &str = "given";
/// The head of the table.
const HEAD: &str = "trigger  grid               blocks  baseline us/pair  pdl us/pair  pdl/baseline  floor us/pair  gap us  pdl gap us";

/// Where the primary of `pdl` says that the secondary may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Trigger {
    /// Before everything else
    Early,
    /// Between the two phases, as in the course
    Mid,
    /// After everything else
    Late,
    /// Nowhere
    Never,
}

/// What the lesson takes.
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct Args {
    /// Elements of each buffer; the default is no multiple of the block
    #[arg(long, value_name = "N", default_value_t = (1 << 20) + 611, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub elems: u64,
    /// Pairs of primary and secondary in a run
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub pairs: u32,
    /// Where the primary says that the secondary may start
    #[arg(long, value_name = "PLACE", value_enum, default_value = "mid")]
    pub trigger: Trigger,
    /// Print a table of every place of the trigger on three grids
    #[arg(long)]
    pub sweep: bool,
}

/// One stream, and what the two kernels read and write.
pub struct Program<'c> {
    trigger: Trigger,
    shape: LaunchConfig,
    stream: Stream<'c>,
    x: DeviceBuffer<'c, f32>,
    y: DeviceBuffer<'c, f32>,
    mid: DeviceBuffer<'c, f32>,
    aux: DeviceBuffer<'c, f32>,
    /// The result.
    pub out: DeviceBuffer<'c, f32>,
}

impl<'c> Program<'c> {
    /// Creates the stream and the buffers.
    pub fn new(context: &'c Context, trigger: Trigger, x: &[f32], y: &[f32]) -> Result<Self, Error> {
        let buffer = |name| DeviceBuffer::new(context, name, y.len());
        Ok(Program {
            trigger,
            shape: LaunchConfig::for_elements(y.len(), THREADS),
            stream: Stream::new(context, "pipeline", StreamKind::Blocking)?,
            x: DeviceBuffer::from_slice(context, "x", x)?,
            y: DeviceBuffer::from_slice(context, "y", y)?,
            mid: buffer("mid")?,
            aux: buffer("aux")?,
            out: buffer("out")?,
        })
    }

    /// Pairs in order: each kernel starts after the one before it has ended.
    pub fn baseline(&self, pairs: u32) -> Result<(), Error> {
        let attributes = Attributes { programmatic_stream_serialization: Some(false), priority: None };
        for _ in 0..pairs {
            self.stream.launch(self.shape, self.primary())?;
            self.stream.launch(self.shape.with(attributes), self.secondary())?;
        }
        Ok(())
    }

    /// Pairs in which the secondary may start early: one value of one attribute of its launch differs.
    pub fn pdl(&self, pairs: u32) -> Result<(), Error> {
        let attributes = Attributes { programmatic_stream_serialization: Some(true), priority: None };
        for _ in 0..pairs {
            self.stream.launch(self.shape, self.primary())?;
            self.stream.launch(self.shape.with(attributes), self.secondary())?;
        }
        Ok(())
    }

    /// Zeroes what the kernels write, so that no earlier result passes for one of this run.
    pub fn zero(&self) -> Result<(), Error> {
        self.stream.memset_zeros(&self.mid)?;
        self.stream.memset_zeros(&self.aux)?;
        self.stream.memset_zeros(&self.out)
    }

    /// Returns the call of the kernel that writes `mid`, with the trigger where it was asked for.
    fn primary(&self) -> Call<'_> {
        let Program { x, mid, aux, .. } = self;
        match self.trigger {
            Trigger::Early => kernels::produce_stage_early(x, mid, aux),
            Trigger::Mid => kernels::produce_stage(x, mid, aux),
            Trigger::Late => kernels::produce_stage_late(x, mid, aux),
            Trigger::Never => kernels::produce_stage_never(x, mid, aux),
        }
    }

    /// Returns the call of the kernel that reads `mid` after its wait.
    fn secondary(&self) -> Call<'_> {
        // SAFETY: `new` makes `mid` as long as `out`, and the three buffers are apart. What writes `mid` is the kernel before this
        // one in the stream, which the wait is for.
        unsafe { kernels::combine_stage(&self.mid, &self.y, &self.out) }
    }
}

/// Returns `x` and `y`: small numbers that repeat.
pub fn inputs(elems: usize) -> (Vec<f32>, Vec<f32>) {
    let x = (0..elems).map(|i| (i % 97) as f32 * 0.01).collect();
    (x, (0..elems).map(|i| (i % 13) as f32 * 0.05).collect())
}

/// Both orders on one grid with the trigger in one place.
struct Cell {
    document: Value,
    row: String,
    pdl_over_baseline: f64,
    pdl_gap_ms: f64,
}

/// Runs the lesson.
pub fn run(lab: &mut Lab<'_>, args: &Args) -> Outcome {
    lab.device().require("programmatic dependent launch", (9, 0))?;
    let (elems, threads) = (args.elems as usize, THREADS as usize);
    let blocks = count(elems.div_ceil(threads), "block", "blocks");
    let pairs = count(args.pairs as usize, "pair", "pairs");
    lab.parameters(args, format!("{} elements in {blocks} of {THREADS}, {pairs}", thousands(args.elems)));
    lab.predict(
        "the attribute saves time or changes none; the floor is the time of the fused multiply-adds alone",
    );
    if !args.sweep {
        let cell = measure(lab, args, (GIVEN, elems), args.trigger)?;
        lab.say(format!("{HEAD}\n{}", cell.row));
        lab.value("cells", [cell.document]);
        lab.picture();
        return Ok(());
    }
    let (sms, wave) =
        (lab.device().sms, lab.context().resident_blocks(kernels::produce_stage::KERNEL, THREADS)?);
    lab.say(HEAD);
    let mut cells = Vec::new();
    for grid in
        [("one block per SM", sms as usize * threads), ("one wave", wave as usize * threads), (GIVEN, elems)]
    {
        for trigger in Trigger::value_variants() {
            let cell = lab.quietly(|lab| measure(lab, args, grid, *trigger))?;
            lab.say(&cell.row);
            cells.push(cell);
            lab.value("cells", cells.iter().map(|cell| &cell.document).collect::<Vec<_>>());
        }
    }
    let (rows, early) = (cells.len(), cells.iter().filter(|cell| cell.pdl_gap_ms < 0.0).count());
    let ratios = cells.iter().map(|cell| cell.pdl_over_baseline);
    let [least, most] = [ratios.clone().fold(f64::INFINITY, f64::min), ratios.fold(0.0, f64::max)];
    let text = format!(
        "gap: from the primary's end to the secondary's start; with the attribute it was negative in {early} of {rows} rows\n\
         pdl/baseline was {least:.3} to {most:.3}"
    );
    lab.observe("pdl_over_baseline", [least, most], text);
    Ok(())
}

/// Checks and measures both orders on one grid with the trigger in one place.
fn measure(lab: &mut Lab<'_>, args: &Args, (grid, elems): (&str, usize), trigger: Trigger) -> Outcome<Cell> {
    let pairs = args.pairs;
    let place = trigger.to_possible_value().map_or_else(String::new, |place| place.get_name().to_owned());
    let cell = format!(" {} {place}", grid.to_lowercase().replace(' ', "-"));
    let [baseline, pdl] =
        ["baseline", "pdl"].map(|order| order.to_owned() + if args.sweep { &cell } else { "" });
    let (x, y) = inputs(elems);
    let want = lab.busy("computing the reference on the CPU", || pair(&x, &y).out);
    let p = Program::new(lab.context(), trigger, &x, &y)?;

    // 1. The baseline computes the right result, an early start changes no bit of it, and no edge is missing.
    let range = NvtxRange::new(lab.context(), "verify");
    lab.run(&baseline, || p.zero().and_then(|()| p.baseline(pairs)))?.missing_edges(0)?;
    let in_order = p.out.to_vec()?;
    lab.require(correct(format!("{baseline}.result"), &baseline, &compare(&in_order, &want, TOLERANCE)))?;
    lab.run(&pdl, || p.zero().and_then(|()| p.pdl(pairs)))?.missing_edges(0)?;
    lab.require(bit_identical(&pdl, &compare(&p.out.to_vec()?, &in_order, 0.0)))?;
    drop(range);

    // 2. What the early start saves.
    let range = NvtxRange::new(lab.context(), "baseline");
    let in_order = lab.time(&baseline, &p.stream, || p.baseline(pairs))?;
    drop(range);
    let range = NvtxRange::new(lab.context(), "pdl");
    let early = lab.time(&pdl, &p.stream, || p.pdl(pairs))?;
    drop(range);

    // 3. The timeline shows when each secondary starts. One grid of a sweep is drawn.
    let traced_pairs = pairs.min(TRACED_PAIRS);
    let runs = [
        lab.trace(&format!("baseline, trigger {place}"), || p.baseline(traced_pairs))?.run,
        lab.trace(&format!("pdl, trigger {place}"), || p.pdl(traced_pairs))?.run,
    ];
    let [baseline_gap, pdl_gap] = [&runs[0], &runs[1]].map(|run| gaps(&intervals(run)));
    let checks = [starts_after(&baseline, baseline_gap, lab.step_ns()), may_start_early(&pdl, pdl_gap)];
    for (run, check) in runs.into_iter().zip(checks) {
        if grid == GIVEN {
            lab.draw(run, vec![check])
        } else {
            lab.check(check)
        };
    }
    let device = lab.device();
    let floor_ms = f64::from(pairs) * floor_ms(elems, device.fma_lanes(), device.clock_khz);
    let blocks = p.shape.grid.0;
    let (pdl_over_baseline, pdl_gap_ms) = (early.median_ms / in_order.median_ms, pdl_gap.median_ms);
    let [baseline_gap_us, pdl_gap_us] = [baseline_gap, pdl_gap].map(|gap| 1e3 * gap.median_ms);
    let [baseline_us, pdl_us, floor_us] =
        [in_order.median_ms, early.median_ms, floor_ms].map(|ms| 1e3 * ms / f64::from(pairs));
    let row = format!(
        "{place:7}  {grid:16}  {blocks:>7}  {baseline_us:16.2}  {pdl_us:11.2}  {pdl_over_baseline:12.3}  {floor_us:13.2}  \
         {baseline_gap_us:+6.1}  {pdl_gap_us:+10.1}"
    );
    let document = json!({
        "trigger": trigger, "grid": grid, "blocks": blocks, "elems": elems, "baseline": in_order, "pdl": early,
        "pdl_over_baseline": pdl_over_baseline, "floor_ms": floor_ms,
        "baseline_gap_us": baseline_gap_us, "pdl_gap_us": pdl_gap_us,
    });
    Ok(Cell { document, row, pdl_over_baseline, pdl_gap_ms })
}

/// What counts as equal to the reference, relative to it: both compute chains of 256 fused multiply-adds, one rounding each.
pub const TOLERANCE: f32 = 1e-5;
/// Cycles from one fused multiply-add to the next that needs it (CUDA C++ Programming Guide, "Multiprocessor Level": about 4 for
/// arithmetic on compute capability 7.x and later).
pub const FMA_CYCLES: f64 = 4.0;

/// Returns the time of one pair's fused multiply-adds alone: either the device's lanes are the limit, or one thread's chain is,
/// which with full overlap is two phases long.
pub fn floor_ms(elems: usize, lanes: u32, clock_khz: u32) -> f64 {
    let by_lanes = 3.0 * elems as f64 / f64::from(lanes);
    let by_chain = 2.0 * FMA_CYCLES;
    f64::from(kernels::STEPS) * by_lanes.max(by_chain) / f64::from(clock_khz)
}

/// Checks that an early start changed no bit of the result. A comparison of nothing fails.
pub fn bit_identical(name: &str, with_baseline: &Comparison) -> Check {
    let Comparison { elements, bit_identical, first, .. } = *with_baseline;
    let holds = elements > 0 && bit_identical == elements;
    let [same, all] = [bit_identical, elements].map(|count| thousands(count as u64));
    let first = first.filter(|_| !holds).map_or_else(String::new, |first| format!("; {first}"));
    let sentence = format!("{name}: {same} of {all} elements are bit-identical to the baseline's{first}");
    Check::that(holds, format!("{name}.result"), sentence)
}

/// Returns the time from each primary's end to its secondary's start, negative where the secondary started before. `ran` is when
/// both ran, pair by pair.
pub fn gaps(ran: &[Interval]) -> Statistics {
    let gap_ms = |pair: &[Interval]| (pair[1].start_ns as f64 - pair[0].end_ns as f64) / 1e6;
    Statistics::of(&ran.chunks_exact(2).map(gap_ms).collect::<Vec<_>>()).unwrap_or(Statistics::UNKNOWN)
}

/// Checks that no secondary of the baseline starts before its primary's end. `step_ns` is the clock's: closer than that are equal.
pub fn starts_after(name: &str, gap: Statistics, step_ns: u64) -> Check {
    let holds = (1e6 * gap.min_ms).round() + step_ns as f64 >= 0.0;
    Check::that(holds, format!("{name}.secondary-start"), start_in_words(gap))
}

/// Reports when the secondaries start that may start early.
pub fn may_start_early(name: &str, gap: Statistics) -> Check {
    let check = Check::pass(format!("{name}.secondary-start"), start_in_words(gap));
    check.unless(&["CUDA allows an early start and does not promise it".to_owned()])
}

fn start_in_words(gap: Statistics) -> String {
    let (us, pairs) = (1e3 * gap.median_ms, count(gap.runs, "pair", "pairs"));
    let word = if us < 0.0 { "before" } else { "after" };
    format!("the secondary started {:.1} us {word} its primary ended (median of {pairs})", us.abs())
}
