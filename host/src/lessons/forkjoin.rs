//! The fork-join diamond.
//!
//! Claim: one recorded event and a wait for it on each branch make the branches overlap after the kernel that feeds them, and a
//! second event for each makes the join follow them all. The order is in the events, not in the order of the host's lines: with
//! one line moved, every call still succeeds and the order is gone.
//!
//! Prediction: in units of one grind kernel the serial order is five deep and the diamond two, so the ratio is at most 2.5.

use gpu::forkjoin::{grind_fma, sum_four};
use serde::Serialize;
use streamlab::{Context, DeviceBuffer, Error, Event, LaunchConfig, NvtxRange, Stream, StreamKind};
use timeline::thousands;

use crate::check::{Check, cut};
use crate::lab::{Lab, Outcome};
use crate::measure::Statistics;
use crate::overlap::{Interval, after, all_overlap, before, hull, intervals};
use crate::reference;

/// The lesson's place in the order in which to take them.
pub const PLACE: u32 = 10;
/// What the lesson shows, in a line.
pub const ABOUT: &str = "A fork-join diamond over five streams, against the same launches in one stream";
/// Whether it records a timeline.
pub const DRAWS: bool = true;

/// Threads of a block, eight warps.
pub const THREADS: u32 = 256;
/// `x = A * x + b` stays near `b / (1 - A)`.
pub const A: f32 = 0.999;
/// The upstream kernel's `b`.
pub const UPSTREAM_B: f32 = 1.0;
/// The branches' `b`: each twice the one before, so that no branch can pass for another.
pub const BRANCH_B: [f32; 4] = [0.125, 0.25, 0.5, 1.0];

/// What the lesson takes.
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct Args {
    /// Elements of each buffer
    #[arg(long, value_name = "N", default_value_t = 1 << 20, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub elems: u64,
    /// Blocks of each grind kernel: few, so that the branches fit side by side
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub blocks: u32,
    /// Fused multiply-adds on each element in each grind kernel
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    pub iters: u32,
}

/// Five streams, five events, and what the six kernels read and write.
pub struct Program<'c> {
    /// What they were created in.
    pub context: &'c Context,
    grind: LaunchConfig,
    sum: LaunchConfig,
    iters: u32,
    /// `s[0]` runs the upstream kernel and the join, the others a branch each.
    pub s: [Stream<'c>; 5],
    fork: Event<'c>,
    done: [Event<'c>; 4],
    input: DeviceBuffer<'c, f32>,
    mid: DeviceBuffer<'c, f32>,
    branch: [DeviceBuffer<'c, f32>; 4],
    /// The result.
    pub out: DeviceBuffer<'c, f32>,
}

impl<'c> Program<'c> {
    /// Creates the streams, events and buffers; the streams are blocking ones.
    pub fn new(context: &'c Context, blocks: u32, iters: u32, input: &[f32]) -> Result<Self, Error> {
        let stream = |name| Stream::new(context, name, StreamKind::Blocking);
        let event = |name| Event::ordering(context, name);
        let buffer = |name| DeviceBuffer::new(context, name, input.len());
        Ok(Program {
            context,
            grind: LaunchConfig::new(blocks, THREADS),
            sum: LaunchConfig::for_elements(input.len(), THREADS),
            iters,
            s: [stream("s0")?, stream("s1")?, stream("s2")?, stream("s3")?, stream("s4")?],
            fork: event("fork")?,
            done: [event("done1")?, event("done2")?, event("done3")?, event("done4")?],
            input: DeviceBuffer::from_slice(context, "input", input)?,
            mid: buffer("mid")?,
            branch: [buffer("branch1")?, buffer("branch2")?, buffer("branch3")?, buffer("branch4")?],
            out: buffer("sum")?,
        })
    }

    /// The diamond. Each call returns as soon as its work is queued.
    pub fn diamond(&self) -> Result<(), Error> {
        let Program { s, fork, done, input, mid, branch, out, .. } = self;
        let range = NvtxRange::new(self.context, "upstream");
        s[0].launch(self.grind, grind_fma(input, mid, self.iters, A, UPSTREAM_B))?;
        s[0].record(fork)?; // captures the launch above
        drop(range);
        let range = NvtxRange::new(self.context, "fork");
        for j in 0..4 {
            s[1 + j].wait(fork)?;
            s[1 + j].launch(self.grind, grind_fma(mid, &branch[j], self.iters, A, BRANCH_B[j]))?;
            s[1 + j].record(&done[j])?;
        }
        drop(range);
        let _range = NvtxRange::new(self.context, "join");
        for one in done {
            s[0].wait(one)?;
        }
        let [b1, b2, b3, b4] = branch;
        s[0].launch(self.sum, sum_four(b1, b2, b3, b4, out))
    }

    /// The launches of the diamond in one stream, without an event.
    pub fn serial(&self) -> Result<(), Error> {
        let Program { s, input, mid, branch, out, .. } = self;
        let _range = NvtxRange::new(self.context, "serial");
        s[0].launch(self.grind, grind_fma(input, mid, self.iters, A, UPSTREAM_B))?;
        for j in 0..4 {
            s[0].launch(self.grind, grind_fma(mid, &branch[j], self.iters, A, BRANCH_B[j]))?;
        }
        let [b1, b2, b3, b4] = branch;
        s[0].launch(self.sum, sum_four(b1, b2, b3, b4, out))
    }

    /// The diamond with one line moved: the record stands before the launch that it should capture.
    pub fn broken(&self) -> Result<(), Error> {
        let Program { s, fork, done, input, mid, branch, out, .. } = self;
        let _range = NvtxRange::new(self.context, "broken-order");
        s[0].record(fork)?; // captures an empty stream
        s[0].launch(self.grind, grind_fma(input, mid, self.iters, A, UPSTREAM_B))?;
        for j in 0..4 {
            s[1 + j].wait(fork)?;
            s[1 + j].launch(self.grind, grind_fma(mid, &branch[j], self.iters, A, BRANCH_B[j]))?;
            s[1 + j].record(&done[j])?;
        }
        for one in done {
            s[0].wait(one)?;
        }
        let [b1, b2, b3, b4] = branch;
        s[0].launch(self.sum, sum_four(b1, b2, b3, b4, out))
    }

    /// Zeroes what the branches read, so that a branch that runs too early shows.
    pub fn zero_mid(&self) -> Result<(), Error> {
        self.s[0].memset_zeros(&self.mid)?;
        self.s[0].synchronize()
    }
}

/// The input: small numbers that repeat.
pub fn input(elems: u64) -> Vec<f32> {
    (0..elems).map(|i| (i % 251) as f32 * 0.01).collect()
}

/// Runs the lesson.
pub fn run(lab: &mut Lab<'_>, args: &Args) -> Outcome {
    let Args { elems, blocks, iters } = *args;
    lab.parameters(
        args,
        format!("{} elements, {blocks} grind blocks of {THREADS}, {iters} iterations", thousands(elems)),
    );
    lab.predict(format!("5 grind kernels deep in one stream, 2 as a diamond: at most {BOUND:.2}x"));
    lab.value("critical_path_bound", BOUND);
    let input = input(elems);
    let want = lab.busy("computing the reference on the CPU", || {
        reference::diamond(&input, A, UPSTREAM_B, &BRANCH_B, iters)
    });
    let p = Program::new(lab.context(), blocks, iters, &input)?;

    // 1. Both orders compute the right result, and no edge is missing.
    lab.run("diamond", || p.diamond())?.missing_edges(0)?.equals(&p.out, &want)?;
    lab.run("serial", || p.serial())?.missing_edges(0)?.equals(&p.out, &want)?;

    // 2. An event that was made for ordering has no timestamp.
    let refused = Event::elapsed_ms(&p.fork, &p.done[0]);
    lab.require(no_timestamp(refused)?)?;

    // 3. The diamond takes less time, and the timeline shows why.
    let legacy = Stream::new(lab.context(), "legacy default stream", StreamKind::Legacy)?;
    let diamond = lab.time("diamond", &legacy, || p.diamond())?;
    let serial = lab.time("serial", &legacy, || p.serial())?;
    lab.value("serial_over_diamond", serial.median_ms / diamond.median_ms);
    let sms = lab.device().sms;
    lab.require_overlap(ratio(serial, diamond).unless(&reasons_against_ratio(serial, blocks, sms)))?;
    let room = Room { blocks, resident: lab.context().resident_blocks(grind_fma::KERNEL, THREADS)? };
    let traced = lab.trace("diamond", || p.diamond())?;
    let checks = right_order(&intervals(&traced.run), room, lab.step_ns());
    lab.draw(traced.run, checks);

    // 4. One line moved: every call succeeds, and the branches race the kernel that feeds them.
    p.zero_mid()?;
    let traced = lab.trace("broken order", || p.broken())?;
    let checks = broken_order(&intervals(&traced.run), room);
    lab.draw(traced.run, checks);
    p.zero_mid()?;
    lab.run("broken order", || p.broken())?.observe_mismatches(&p.out, &want)?.missing_edges(4)?;
    lab.picture();
    Ok(())
}

/// The largest serial / diamond that the critical paths allow: five grind kernels against two.
pub const BOUND: f64 = 2.5;
/// The least serial / diamond that says that the branches overlap; 1.72 is published for a Tesla T4.
pub const MIN_RATIO: f64 = 1.3;
/// The SMs of the smallest device whose ratio is judged.
pub const MIN_SMS: u32 = 24;
/// The blocks that run on one SM without slowing each other down. A fused multiply-add takes 4 cycles, and each of an SM's 4
/// schedulers starts one a cycle, so 16 warps keep it busy: two blocks of 256 threads.
pub const MAX_BLOCKS_PER_SM: u32 = 2;
/// The shortest kernel, in milliseconds, whose overlap a ratio can show. A host takes about as long to enqueue one diamond.
pub const MIN_KERNEL_MS: f64 = 0.050;
/// `CUDA_ERROR_INVALID_HANDLE`; the runtime API's cudaErrorInvalidResourceHandle.
const INVALID_HANDLE: u32 = 400;

/// Checks that the driver refused to read a time off an event without a timestamp, with the one code documented for it.
pub fn no_timestamp(answer: Result<f32, Error>) -> Result<Check, Error> {
    let id = "ordering-event.refused";
    let asked = "the time between two events made for ordering: cuEventElapsedTime returned";
    match answer {
        Ok(ms) => Ok(Check::fail(id, format!("{asked} {ms} ms (expected code {INVALID_HANDLE})"))),
        Err(error) => match error.code() {
            Some(INVALID_HANDLE) => {
                Ok(Check::pass(id, format!("{asked} {} (400)", error.code_name().unwrap_or_default())))
            }
            Some(code) => Ok(Check::fail(id, format!("{asked} {code} (expected code {INVALID_HANDLE})"))),
            None => Err(error),
        },
    }
}

/// Checks that the branches overlap, from the ratio of the medians.
pub fn ratio(serial: Statistics, diamond: Statistics) -> Check {
    let (serial_ms, diamond_ms) = (serial.median_ms, diamond.median_ms);
    let ratio = serial_ms / diamond_ms;
    let sentence = format!(
        "serial {serial_ms:.3} ms / diamond {diamond_ms:.3} ms = {}x, at least {MIN_RATIO}x expected (bound {BOUND:.2}x)",
        cut(ratio)
    );
    Check::that(ratio >= MIN_RATIO, "overlap.ratio", sentence)
}

/// Returns why the ratio says nothing about order; empty where it does.
pub fn reasons_against_ratio(serial: Statistics, blocks: u32, sms: u32) -> Vec<String> {
    let kernel_ms = serial.median_ms / 5.0;
    let most = MAX_BLOCKS_PER_SM * sms;
    let mut reasons = Vec::new();
    if sms < MIN_SMS {
        reasons.push(format!("the device has {sms} SMs, fewer than {MIN_SMS}"));
    }
    if 4 * u64::from(blocks) > u64::from(most) {
        reasons.push(format!(
            "4 branches of {blocks} blocks slow each other down beyond {most} blocks on {sms} SMs"
        ));
    }
    // A time that is no number is no reason: the check then fails.
    if kernel_ms < MIN_KERNEL_MS {
        reasons.push(format!("a kernel of {kernel_ms:.3} ms is as short as the host's calls"));
    }
    reasons
}

/// How many blocks the branches have, and how many the whole device holds at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Blocks of each branch.
    pub blocks: u32,
    /// Their blocks that are resident at once.
    pub resident: u32,
}

/// Checks the timeline of a diamond. `ran` is when its kernels ran, in the order of submission.
pub fn right_order(ran: &[Interval], room: Room, step_ns: u64) -> Vec<Check> {
    let [upstream, branches @ .., join] = ran else { return Vec::new() };
    let hull = hull(branches).unwrap_or(*upstream);
    let (upstream, first, join) =
        (("the upstream kernel", *upstream), ("the first branch", hull), ("the join", *join));
    vec![
        all_overlap("timeline.branches-overlap", "branches", branches)
            .unless(&reasons_against(branches, room)),
        after("timeline.branches-after-upstream", first, upstream, step_ns),
        after("timeline.join-after-branches", join, ("the last branch", hull), step_ns),
    ]
}

/// Checks the timeline of the broken order: the branches do not wait for the kernel that feeds them.
pub fn broken_order(ran: &[Interval], room: Room) -> Vec<Check> {
    let [upstream, branches @ .., _] = ran else { return Vec::new() };
    let first = ("the first branch", hull(branches).unwrap_or(*upstream));
    let early = before("timeline.branches-before-upstream-ends", first, ("the upstream kernel", *upstream));
    vec![early.unless(&reasons_against(&[*upstream], room))]
}

/// Returns why it says nothing about order whether such kernels overlap; empty where it does.
fn reasons_against(kernels: &[Interval], room: Room) -> Vec<String> {
    let mut reasons = Vec::new();
    if 4 * u64::from(room.blocks) > u64::from(room.resident) {
        reasons.push(format!(
            "4 branches of {} blocks, and the device holds {} at once",
            room.blocks, room.resident
        ));
    }
    let shortest_ns = kernels.iter().map(|kernel| kernel.length_ns()).min().unwrap_or(0);
    if (shortest_ns as f64) < 1e6 * MIN_KERNEL_MS {
        reasons
            .push(format!("a kernel of {:.3} ms is as short as the host's calls", shortest_ns as f64 / 1e6));
    }
    reasons
}
