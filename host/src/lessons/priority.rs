//! Priorities: a small kernel after a grid that fills the device.
//!
//! Claim: a priority decides which of the blocks that wait for room is placed next, and nothing else. A small kernel after a
//! full grid waits for all of its blocks; from a stream of a higher priority it takes the first place that becomes free. It
//! interrupts no block that runs, and a priority orders it with nothing.
//!
//! Prediction: with W waves of blocks the small kernel starts after W of them without a priority, and after one with it.

use gpu::streams::spin_lcg;
use serde::Serialize;
use streamlab::{Context, DeviceBuffer, Error, LaunchConfig, NvtxRange, PriorityRange, Stream, StreamKind};
use timeline::model::Band;
use timeline::thousands;

use crate::check::{Check, equal, us};
use crate::lab::{Lab, Outcome};
use crate::overlap::{Interval, after, block_intervals, hull, intervals};
use crate::reference::streams as reference;

/// The lesson's place in the order in which to take them.
pub const PLACE: u32 = 70;
/// What the lesson shows, in a line.
pub const ABOUT: &str = "A small kernel after a grid that fills the device, with and without a priority";
/// Whether it records a timeline.
pub const DRAWS: bool = true;

/// Threads of a block.
const THREADS: u32 = 256;
/// Blocks of the small kernel.
const SMALL_BLOCKS: u32 = 8;
/// Steps of the full grid where it is compared with the reference.
const CHECK_STEPS: u32 = 64;
/// How far outside the range a priority is asked for.
const FAR: i32 = 1000;

/// What the lesson takes.
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct Args {
    /// Waves of blocks in the full grid: it has so many times the blocks that the device holds at once
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(3..=64))]
    pub waves: u32,
    /// Steps of each block: so many that the small kernel is launched while the first wave runs
    #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub steps: u32,
}

/// Three streams, and what the two kernels write.
pub struct Program<'c> {
    context: &'c Context,
    full_grid: LaunchConfig,
    small_grid: LaunchConfig,
    steps: u32,
    /// For the grid that fills the device: a stream of the least priority.
    full: Stream<'c>,
    /// For the small kernel: a stream of the least priority too, and one of the greatest.
    same: Stream<'c>,
    higher: Stream<'c>,
    full_out: DeviceBuffer<'c, u32>,
    small_out: DeviceBuffer<'c, u32>,
}

impl<'c> Program<'c> {
    /// Creates the streams and buffers; the streams are non-blocking ones.
    pub fn new(
        context: &'c Context,
        full_blocks: u32,
        steps: u32,
        range: PriorityRange,
    ) -> Result<Self, Error> {
        let stream = |name, priority| Stream::with_priority(context, name, StreamKind::NonBlocking, priority);
        let buffer = |name, blocks| DeviceBuffer::new(context, name, blocks as usize * THREADS as usize);
        Ok(Program {
            context,
            full_grid: LaunchConfig::new(full_blocks, THREADS),
            small_grid: LaunchConfig::new(SMALL_BLOCKS, THREADS),
            steps,
            full: stream("full", range.least)?,
            same: stream("small, same priority", range.least)?,
            higher: stream("small, higher priority", range.greatest)?,
            full_out: buffer("full-out", full_blocks)?,
            small_out: buffer("small-out", SMALL_BLOCKS)?,
        })
    }

    /// Both kernels by themselves, the full grid with few steps.
    fn one_at_a_time(&self) -> Result<(), Error> {
        self.full.launch(self.full_grid, spin_lcg(&self.full_out, CHECK_STEPS))?;
        self.full.synchronize()?;
        self.higher.launch(self.small_grid, spin_lcg(&self.small_out, self.steps))?;
        self.higher.synchronize()
    }

    /// The full grid, and after it the small kernel in another stream of the least priority.
    pub fn same_priority(&self) -> Result<(), Error> {
        let _range = NvtxRange::new(self.context, "same-priority");
        self.full.launch(self.full_grid, spin_lcg(&self.full_out, self.steps))?;
        self.same.launch(self.small_grid, spin_lcg(&self.small_out, self.steps))
    }

    /// The full grid, and after it the small kernel in a stream of the greatest priority.
    pub fn higher_priority(&self) -> Result<(), Error> {
        let _range = NvtxRange::new(self.context, "higher-priority");
        self.full.launch(self.full_grid, spin_lcg(&self.full_out, self.steps))?;
        self.higher.launch(self.small_grid, spin_lcg(&self.small_out, self.steps))
    }
}

/// When the small kernel ran in one of the two orders, from the start of the full grid.
#[derive(Debug, Serialize)]
struct Order {
    name: &'static str,
    small_start_us: f64,
    small_end_us: f64,
    full_end_us: f64,
}

/// Runs the lesson.
pub fn run(lab: &mut Lab<'_>, args: &Args) -> Outcome {
    let Args { waves, steps } = *args;
    let range = lab.context().priorities()?;
    let resident = lab.context().resident_blocks(spin_lcg::KERNEL, THREADS)?;
    let full_blocks = waves * resident;
    let [all, at_once, each] = [full_blocks, resident, steps].map(|number| thousands(u64::from(number)));
    lab.parameters(
        args,
        format!(
            "a full grid of {all} blocks of {THREADS}, {waves} waves of the {at_once} that are resident at once, a small kernel \
             of {SMALL_BLOCKS}, {each} steps in each"
        ),
    );
    lab.observe("priorities", range, format!("priorities: {range}"));
    lab.value("full_blocks", full_blocks);
    lab.value("resident_blocks", resident);
    lab.predict(format!(
        "the small kernel starts after {waves} waves, and from a stream of a higher priority after 1"
    ));

    // 1. A priority outside the range is moved into it, and no call reports it.
    for (id, asked) in [
        ("priority.beyond-greatest", range.greatest - FAR),
        ("priority.greatest", range.greatest),
        ("priority.least", range.least),
        ("priority.beyond-least", range.least + FAR),
    ] {
        let stream = Stream::with_priority(lab.context(), "asks", StreamKind::NonBlocking, asked)?;
        lab.check(clamped(id, asked, stream.priority()?, range));
    }

    // 2. Both kernels compute the right result.
    let p = Program::new(lab.context(), full_blocks, steps, range)?;
    p.one_at_a_time()?;
    for (id, what, out, steps) in [
        ("full-grid.result", "full grid", &p.full_out, CHECK_STEPS),
        ("small-kernel.result", "small kernel", &p.small_out, steps),
    ] {
        let mut want = vec![0; out.len()];
        reference::spin_lcg(&mut want, steps);
        lab.require(equal(id, what, &out.to_vec()?, &want))?;
    }

    // 3. With one priority for both the small kernel waits for all blocks of the full grid.
    let traced = lab.trace("same-priority", || p.same_priority())?;
    lab.missing_edges("same-priority", 0, &traced.log)?;
    let ran = Ran::of(&traced.run, full_blocks);
    let mut orders = vec![ran.order("same-priority")];
    lab.value("orders", &orders);
    lab.draw(traced.run, vec![waited("timeline.same-priority", &ran)]);

    // 4. With a higher priority it takes the first place that becomes free.
    let traced = lab.trace("higher-priority", || p.higher_priority())?;
    lab.missing_edges("higher-priority", 0, &traced.log)?;
    let ran = Ran::of(&traced.run, full_blocks);
    orders.push(ran.order("higher-priority"));
    lab.value("orders", &orders);
    let checks = with_priority(&ran, range, lab.step_ns());
    lab.draw(traced.run, checks);
    lab.picture();
    Ok(())
}

/// When the kernels of an order ran.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The blocks of the full grid.
    pub blocks: Vec<Interval>,
    /// The small kernel.
    pub small: Interval,
}

impl Ran {
    /// Returns when they ran in a traced run of two kernels; no blocks of any other run.
    fn of(run: &Band, full_blocks: u32) -> Self {
        let &[_, small] = intervals(run).as_slice() else {
            return Ran { blocks: Vec::new(), small: Interval { start_ns: 0, end_ns: 0 } };
        };
        let mut blocks = block_intervals(run);
        blocks.truncate(full_blocks as usize);
        Ran { blocks, small }
    }

    fn full_end_ns(&self) -> u64 {
        hull(&self.blocks).map_or(0, |full| full.end_ns)
    }

    fn order(&self, name: &'static str) -> Order {
        let [small_start_us, small_end_us, full_end_us] =
            [self.small.start_ns, self.small.end_ns, self.full_end_ns()].map(|ns| ns as f64 / 1e3);
        Order { name, small_start_us, small_end_us, full_end_us }
    }

    /// Returns how many blocks of the grid did not start before the small kernel: it has passed them. A clock with long steps shows
    /// many starts as one.
    fn passed(&self) -> usize {
        self.blocks.iter().filter(|block| block.start_ns >= self.small.start_ns).count()
    }

    fn sentence(&self) -> String {
        format!(
            "the small kernel ran from {} to {} us, the full grid to {} us; {} of its {} blocks started before the small kernel",
            us(self.small.start_ns),
            us(self.small.end_ns),
            us(self.full_end_ns()),
            thousands((self.blocks.len() - self.passed()) as u64),
            thousands(self.blocks.len() as u64)
        )
    }
}

/// The least part of the grid's blocks that still wait when a kernel of a higher priority starts. Where it takes the first free
/// place, three quarters of four waves still wait, and two thirds of three, the least number of waves.
pub const MIN_PASSED: f64 = 0.5;
/// The most of them that do when a kernel of the same priority starts. It is not 0: the last few blocks may read the clock in the
/// step in which the small kernel starts.
pub const MAX_PASSED: f64 = 0.05;

/// Checks that a kernel of the same priority as the grid waited for the grid's blocks.
pub fn waited(id: &str, ran: &Ran) -> Check {
    let sentence = ran.sentence();
    if !ran.blocks.is_empty() && ran.passed() as f64 <= MAX_PASSED * ran.blocks.len() as f64 {
        Check::pass(id, format!("{sentence}: it waited for them"))
    } else {
        Check::fail(id, format!("{sentence}: it did not wait for the rest"))
    }
}

/// Checks the timeline of the order with a priority.
pub fn with_priority(ran: &Ran, range: PriorityRange, step_ns: u64) -> Vec<Check> {
    let passed = passed_the_rest("timeline.higher-priority", ran);
    if range.least == range.greatest {
        return vec![passed.unless(&["the device has one priority".to_owned()])];
    }
    vec![passed, not_interrupted("timeline.no-interruption", ran, step_ns)]
}

/// Checks that a kernel of a higher priority started before the blocks that waited.
pub fn passed_the_rest(id: &str, ran: &Ran) -> Check {
    let sentence = ran.sentence();
    if !ran.blocks.is_empty() && ran.passed() as f64 >= MIN_PASSED * ran.blocks.len() as f64 {
        Check::pass(id, format!("{sentence}: it passed the rest"))
    } else {
        Check::fail(id, format!("{sentence}: the priority did not help it"))
    }
}

/// Checks that the small kernel waited until a block of the grid had ended: a block that runs is not interrupted.
pub fn not_interrupted(id: &str, ran: &Ran, step_ns: u64) -> Check {
    let Some(first) = ran.blocks.iter().min_by_key(|block| block.end_ns) else {
        return Check::fail(id, "the full grid has no blocks");
    };
    after(id, ("the small kernel", ran.small), ("the first block of the full grid", *first), step_ns)
}

/// Checks that a stream got the priority that it asked for, moved into the range.
pub fn clamped(id: &str, asked: i32, got: i32, PriorityRange { least, greatest }: PriorityRange) -> Check {
    let want = asked.max(greatest).min(least);
    let sentence = format!("a stream that asks for priority {asked} gets {got}");
    if got == want {
        Check::pass(id, sentence)
    } else {
        Check::fail(id, format!("{sentence}, expected {want}"))
    }
}
