//! Streams that overlap, and streams that only look like it.
//!
//! Claim: two streams overlap when the device has room for the blocks of both and no rule orders the streams. A small kernel and
//! sweeps over memory do, in two non-blocking streams. This pair does not where one of the streams is the legacy default stream and
//! the other a blocking one. Two kinds of sweeps that each fill the device take turns, because neither leaves room.
//!
//! Prediction: with a spin that lasts longer than the sweeps, two streams take as long as the spin alone; the trap takes as long
//! as one stream; two full grids take as long as both alone.

use std::ops::RangeInclusive;

use gpu::streams::{spin_lcg, sweep_add, sweep_scale};
use serde::Serialize;
use serde_json::json;
use streamlab::{Context, DeviceBuffer, DeviceProperties, Error, LaunchConfig, Stream, StreamKind};
use timeline::thousands;

use super::forkjoin::MIN_SMS;
use crate::check::{Check, equal, us};
use crate::lab::{Lab, Outcome};
use crate::measure::synchronized_times;
use crate::overlap::{Interval, after, all_overlap, block_intervals, hidden, hull, intervals};
use crate::reference::streams as reference;

/// The lesson's place in the order in which to take them.
pub const PLACE: u32 = 20;
/// What the lesson shows, in a line.
pub const ABOUT: &str = "Streams that overlap, and streams that only look like it";
/// Whether it records a timeline.
pub const DRAWS: bool = true;

/// Threads of a block, eight warps.
pub const THREADS: u32 = 256;
/// Blocks of the spin: few, so that it leaves room.
pub const SMALL_BLOCKS: u32 = 8;
/// Waves of resident blocks in a full grid: with a second one queued the device stays full to the end.
pub const WAVES: u32 = 2;
/// Sweeps in a row, so that there is something to hide.
const SWEEPS: u32 = 4;
/// Elements, and steps of the spin, for the comparison with the reference: no block size divides the elements.
const CHECKED: (usize, u32) = (1_048_576 + 611, 4096);
/// Steps of the spin whose time tells what a step takes.
const PROBE_STEPS: u32 = 1 << 18;

/// What the lesson takes.
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct Args {
    /// Elements of each large buffer [default: four times the L2 cache, at least 16,777,216]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    pub elems: Option<u64>,
    /// Steps of the spin [default: so many that it lasts twice as long as the sweeps that it hides]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub spin_steps: Option<u32>,
}

/// Returns the elements of a buffer that no cache of the device holds, four times its L2, so that a sweep is about memory.
pub fn large_elems(device: &DeviceProperties) -> usize {
    (4 * device.l2_bytes as usize / size_of::<f32>()).next_multiple_of(1 << 20).max(1 << 24)
}

/// Four streams, of which `a` and `b` are non-blocking and `c` is blocking, and what the three kernels read and write.
pub struct Program<'c> {
    small: LaunchConfig,
    full: LaunchConfig,
    legacy: Stream<'c>,
    a: Stream<'c>,
    b: Stream<'c>,
    c: Stream<'c>,
    input: DeviceBuffer<'c, f32>,
    added: DeviceBuffer<'c, f32>,
    scaled: DeviceBuffer<'c, f32>,
    spun: DeviceBuffer<'c, u32>,
}

impl<'c> Program<'c> {
    /// Creates the streams and buffers.
    pub fn new(context: &'c Context, full_blocks: u32, input: &[f32]) -> Result<Self, Error> {
        let stream = |name, kind| Stream::new(context, name, kind);
        Ok(Program {
            small: LaunchConfig::new(SMALL_BLOCKS, THREADS),
            full: LaunchConfig::new(full_blocks, THREADS),
            legacy: stream("legacy default stream", StreamKind::Legacy)?,
            a: stream("A", StreamKind::NonBlocking)?,
            b: stream("B", StreamKind::NonBlocking)?,
            c: stream("C", StreamKind::Blocking)?,
            input: DeviceBuffer::from_slice(context, "input", input)?,
            added: DeviceBuffer::new(context, "added", input.len())?,
            scaled: DeviceBuffer::new(context, "scaled", input.len())?,
            spun: DeviceBuffer::new(context, "spun", (SMALL_BLOCKS * THREADS) as usize)?,
        })
    }

    /// Each kernel once, on the first `elems` elements, for the comparison with the reference.
    pub fn each_once(&self, elems: usize) -> Result<(), Error> {
        let input = self.input.slice(..elems);
        self.legacy.launch(self.full, sweep_add(&input, &self.added.slice(..elems)))?;
        self.legacy.launch(self.full, sweep_scale(&input, &self.scaled.slice(..elems)))?;
        self.legacy.launch(self.small, spin_lcg(&self.spun, CHECKED.1))
    }

    /// Compares what each kernel computed with the reference.
    pub fn right_results(&self, input: &[f32]) -> Result<[Check; 3], Error> {
        let (mut got, mut want) = (vec![0.0; input.len()], vec![0.0; input.len()]);
        self.added.copy_to(&mut got)?;
        reference::sweep_add(input, &mut want);
        let added = equal("sweep_add.result", "sweep_add", &got, &want);
        self.scaled.copy_to(&mut got)?;
        reference::sweep_scale(input, &mut want);
        let scaled = equal("sweep_scale.result", "sweep_scale", &got, &want);
        let mut want = vec![0; self.spun.len()];
        reference::spin_lcg(&mut want, CHECKED.1);
        Ok([added, scaled, equal("spin_lcg.result", "spin_lcg", &self.spun.to_vec()?, &want)])
    }

    /// The spin alone.
    pub fn spin(&self, steps: u32) -> Result<(), Error> {
        self.legacy.launch(self.small, spin_lcg(&self.spun, steps))
    }

    /// The adding sweeps alone.
    pub fn add(&self) -> Result<(), Error> {
        (0..SWEEPS).try_for_each(|_| self.legacy.launch(self.full, sweep_add(&self.input, &self.added)))
    }

    /// The scaling sweeps alone.
    pub fn scale(&self) -> Result<(), Error> {
        (0..SWEEPS).try_for_each(|_| self.legacy.launch(self.full, sweep_scale(&self.input, &self.scaled)))
    }

    /// Part 1: everything in one stream.
    pub fn one_stream(&self, steps: u32) -> Result<(), Error> {
        self.legacy.launch(self.small, spin_lcg(&self.spun, steps))?;
        (0..SWEEPS).try_for_each(|_| self.legacy.launch(self.full, sweep_add(&self.input, &self.added)))
    }

    /// Part 2: two streams that nothing orders.
    pub fn two_streams(&self, steps: u32) -> Result<(), Error> {
        self.a.launch(self.small, spin_lcg(&self.spun, steps))?;
        (0..SWEEPS).try_for_each(|_| self.b.launch(self.full, sweep_add(&self.input, &self.added)))
    }

    /// Part 3: two streams again, but the legacy default stream waits for every blocking one.
    pub fn legacy_trap(&self, steps: u32) -> Result<(), Error> {
        self.c.launch(self.small, spin_lcg(&self.spun, steps))?;
        (0..SWEEPS).try_for_each(|_| self.legacy.launch(self.full, sweep_add(&self.input, &self.added)))
    }

    /// Part 4: two streams that nothing orders, and grids that each fill the device.
    pub fn two_full_grids(&self) -> Result<(), Error> {
        (0..SWEEPS).try_for_each(|_| self.a.launch(self.full, sweep_add(&self.input, &self.added)))?;
        (0..SWEEPS).try_for_each(|_| self.b.launch(self.full, sweep_scale(&self.input, &self.scaled)))
    }
}

/// Runs the lesson.
pub fn run(lab: &mut Lab<'_>, args: &Args) -> Outcome {
    let (context, device) = (lab.context(), lab.device());
    let DeviceProperties { sms, threads_per_sm, copy_engines, l2_bytes, .. } = *device;
    let elems = args.elems.map_or_else(|| large_elems(device), |elems| elems as usize);
    let resident = context.resident_blocks(sweep_add::KERNEL, THREADS)?;
    let blocks = WAVES * resident;
    lab.say(format!("room: {sms} SMs, {threads_per_sm} resident threads each, {copy_engines} copy engines"));
    let (full, held) = (thousands(blocks), thousands(resident));
    lab.say(format!(
        "full grid: {full} blocks of {THREADS}, {WAVES} waves of the {held} that are resident at once"
    ));
    let over_l2 = (elems * size_of::<f32>()) as f64 / f64::from(l2_bytes.max(1));
    let (all, l2_mib) = (thousands(elems as u64), l2_bytes >> 20);
    lab.parameters(args, format!("{all} elements ({over_l2:.1} x the L2 of {l2_mib} MiB)"));
    lab.value(
        "plan",
        json!({ "elems": elems, "full_blocks": blocks, "small_blocks": SMALL_BLOCKS, "resident_blocks": resident }),
    );
    lab.predict("two streams take as long as the spin, the trap as long as one stream, two full grids as long as both");
    let input: Vec<f32> = (0..elems).map(|i| (i % 8192) as f32).collect();
    let p = Program::new(context, blocks, &input)?;

    // 1. The three kernels compute the right result.
    lab.run("each kernel once", || p.each_once(CHECKED.0.min(elems)))?;
    for result in p.right_results(&input[..CHECKED.0.min(elems)])? {
        lab.require(result)?;
    }

    // 2. The times of the kernels alone, and of the four parts.
    let steps = args.spin_steps.map_or_else(|| steps_to_hide_sweeps(lab, &p), Ok)?;
    let text = format!("spin: {} steps in each of {SMALL_BLOCKS} x {THREADS} threads", thousands(steps));
    lab.observe("spin_steps", steps, text);
    let spin = lab.time_synchronized("spin-solo", || p.spin(steps))?.median_ms;
    let doubled = lab.time_synchronized("spin-doubled", || p.spin(steps.saturating_mul(2)))?.median_ms;
    let sweep = lab.time_synchronized("sweep-solo", || p.add())?.median_ms;
    let scale = lab.time_synchronized("scale-solo", || p.scale())?.median_ms;
    let part1 = lab.time_synchronized("part1-legacy", || p.one_stream(steps))?.median_ms;
    let part2 = lab.time_synchronized("part2-two-streams", || p.two_streams(steps))?.median_ms;
    let part3 = lab.time_synchronized("part3-legacy-trap", || p.legacy_trap(steps))?.median_ms;
    let part4 = lab.time_synchronized("part4-two-full-grids", || p.two_full_grids())?.median_ms;
    let reasons = reasons_against_ratios(sms, sweep);
    lab.check_overlap(ratio("spin.every-step", ("twice the steps", doubled), ("the spin", spin), EVERY_STEP));
    let saves = ratio("part2.saves", ("one stream", part1), ("two streams", part2), SAVES);
    let hides = ratio("part2.hides", ("two streams", part2), ("the spin", spin), HIDES);
    let waits = ratio("part3.waits", ("the trap", part3), ("one stream", part1), WAITS);
    let alone = ("both kinds of sweeps alone", sweep + scale);
    let takes_turns = ratio("part4.takes-turns", ("two full grids", part4), alone, TAKES_TURNS);
    for check in [saves, hides, waits, takes_turns] {
        lab.check_overlap(check.unless(&reasons));
    }

    // 3. The timeline of each part with two streams shows what overlapped, and why the rest saved nothing.
    let traced = lab.trace("part2-two-streams", || p.two_streams(steps))?;
    lab.missing_edges("part2-two-streams", 0, &traced.log)?;
    let check = hidden_sweeps(&intervals(&traced.run));
    lab.draw(traced.run, vec![check]);

    let traced = lab.trace("part3-legacy-trap", || p.legacy_trap(steps))?;
    lab.missing_edges("part3-legacy-trap", 0, &traced.log)?;
    let check = sweeps_after_spin(&intervals(&traced.run), lab.step_ns());
    lab.draw(traced.run, vec![check]);

    let traced = lab.trace("part4-two-full-grids", || p.two_full_grids())?;
    lab.missing_edges("part4-two-full-grids", 0, &traced.log)?;
    let places = context.traced_resident_blocks(sweep_add::KERNEL, THREADS)?;
    lab.observe("places", places, format!("places: {places} for blocks of the instrumented sweep"));
    let check = no_room(&intervals(&traced.run), &block_intervals(&traced.run), places);
    lab.draw(traced.run, vec![check.unless(too_short(sweep).as_slice())]);
    lab.picture();
    Ok(())
}

/// Returns the steps that make the spin last twice as long as the sweeps; twice as many still fit the kernel's parameter.
fn steps_to_hide_sweeps(lab: &Lab<'_>, p: &Program<'_>) -> Result<u32, Error> {
    let probe = lab.repeat().probe();
    let sweeps = synchronized_times(lab.context(), "probe", probe, || p.add())?;
    let spin = synchronized_times(lab.context(), "probe", probe, || p.spin(PROBE_STEPS))?;
    let steps = 2.0 * f64::from(PROBE_STEPS) * sweeps.median_ms / spin.median_ms;
    // A float that is no number or too large becomes 0 or the largest number here.
    Ok((steps as u32).clamp(1, u32::MAX / 2))
}

/// Twice the spin's steps take twice its time, within 10%: nothing folded the steps.
pub const EVERY_STEP: RangeInclusive<f64> = 1.8..=2.2;
/// Two streams save at least a sixth of one stream's time; the prediction is a third.
pub const SAVES: RangeInclusive<f64> = 1.2..=f64::INFINITY;
/// Two streams take as long as the spin, which hides the sweeps, within 10%.
pub const HIDES: RangeInclusive<f64> = 0.0..=1.1;
/// The trap takes as long as one stream, within 5% either way: the legacy default stream is a barrier.
pub const WAITS: RangeInclusive<f64> = 0.95..=1.05;
/// Two full grids save at most a tenth of what both take alone.
pub const TAKES_TURNS: RangeInclusive<f64> = 0.9..=f64::INFINITY;
/// The least share of the places for blocks that is taken on average when grids leave no room for another. The rest is the start
/// and the end of the run, and the time between two blocks: an H200 took 1,051 of 1,056 places (99.5%), the virtual H200 takes 778
/// of 792 (98.2%), the virtual T4 159.6 of 160 (99.8%). The places are those of the instrumented kernels, which are what ran: on
/// the virtual H200 they have so many registers that an SM holds 6 blocks, not 8.
pub const MIN_TAKEN: f64 = 0.95;
/// The shortest sweep, in milliseconds, that is judged: in a shorter one, its start and its end (2 us on an H200) weigh too much.
pub const MIN_SWEEP_MS: f64 = 0.050;

/// Checks that `over` took so many times as long as `under`. Times are in milliseconds.
pub fn ratio(id: &str, over: (&str, f64), under: (&str, f64), range: RangeInclusive<f64>) -> Check {
    let (ratio, least, most) = (over.1 / under.1, *range.start(), *range.end());
    let expected =
        if most.is_finite() { format!("{least}x to {most}x") } else { format!("at least {least}x") };
    let sentence = format!("{} took {ratio:.4}x the time of {}, {expected} expected", over.0, under.0);
    Check::that(range.contains(&ratio), id, sentence)
}

/// Returns why ratios say nothing about overlap; empty where they do. `sweeps_ms` is what the adding sweeps take alone.
pub fn reasons_against_ratios(sms: u32, sweeps_ms: f64) -> Vec<String> {
    let few = (sms < MIN_SMS).then(|| format!("the device has {sms} SMs, fewer than {MIN_SMS}"));
    few.into_iter().chain(too_short(sweeps_ms)).collect()
}

/// Returns why sweeps are too short to say anything. A time that is no number is no reason: the check then fails.
pub fn too_short(sweeps_ms: f64) -> Option<String> {
    let sweep_ms = sweeps_ms / f64::from(SWEEPS);
    (sweep_ms < MIN_SWEEP_MS).then(|| format!("a sweep of {sweep_ms:.3} ms is as short as the host's calls"))
}

/// Checks that the sweeps ran while the spin did. `ran` is when they ran, in the order of submission: the spin, then the sweeps.
pub fn hidden_sweeps(ran: &[Interval]) -> Check {
    let id = "timeline.sweeps-hidden";
    let Some((spin, sweeps)) = ran.split_first() else { return all_overlap(id, "kernels", ran) };
    hidden(id, ("the sweeps", sweeps), ("the spin", *spin))
}

/// Checks that the sweeps waited for the spin; `ran` as for [`hidden_sweeps`].
pub fn sweeps_after_spin(ran: &[Interval], step_ns: u64) -> Check {
    let id = "timeline.sweeps-after-spin";
    let Some((spin, sweeps)) = ran.split_first() else { return all_overlap(id, "kernels", ran) };
    after(id, ("the first sweep", hull(sweeps).unwrap_or(*spin)), ("the spin", *spin), step_ns)
}

/// Checks that full grids left no room for one another. `ran` is when they ran: those of one stream, then as many of the other;
/// `blocks` is when their blocks did, of which the device holds `places` at once.
pub fn no_room(ran: &[Interval], blocks: &[Interval], places: u32) -> Check {
    let id = "timeline.no-room";
    let Some(all) = hull(ran) else { return all_overlap(id, "full grids", ran) };
    let (one, other) = ran.split_at(ran.len() / 2);
    let shared_ns: u64 = one.iter().flat_map(|a| other.iter().map(|b| a.shared_ns(*b))).sum();
    let block_ns: u64 = blocks.iter().map(|block| block.length_ns()).sum();
    let taken = block_ns as f64 / all.length_ns() as f64;
    let share = taken / f64::from(places);
    let (shared, length, percent) = (us(shared_ns), us(all.length_ns()), (1e3 * share).floor() / 10.0);
    let sentence = format!(
        "grids of both streams overlapped for {shared} of {length} us, and on average {taken:.0} of the {places} places for \
         blocks were taken: {percent}%, at least {:.0}% expected where there is no room for both",
        100.0 * MIN_TAKEN
    );
    Check::that(share >= MIN_TAKEN, id, sentence)
}
