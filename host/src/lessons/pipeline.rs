//! A pipeline of chunks over streams.
//!
//! Claim: work that is copied to the device, computed, and copied back takes as long as its three stages together in one stream.
//! Cut into chunks that several streams take in turn, it takes little more than its longest stage, because copies of both
//! directions and kernels overlap.
//!
//! Prediction, with what each stage takes alone: serial, the sum of the three; overlapped in C chunks, the longest, and one chunk
//! of the other two, while the pipeline fills and drains. With equal stages of t a chunk that is 3tC and tC + 2t. The bound is the
//! longest stage in one piece.

use gpu::pipeline::add_chain;
use serde::Serialize;
use serde_json::json;
use streamlab::{
    Context, DeviceBuffer, DeviceSlice, Error, Event, HostSlice, LaunchConfig, NvtxRange, PinnedBuffer,
    Stream, StreamKind,
};
use timeline::thousands;

use self::model::{Stages, bound_ms, chunk_ranges, one_at_a_time, overlapped};
use crate::check::{Check, equal};
use crate::lab::{Lab, Outcome};
use crate::measure::synchronized_times;
use crate::overlap::Interval;
use crate::reference::pipeline as reference;

pub mod model;

/// The lesson's place in the order in which to take them.
pub const PLACE: u32 = 110;
/// What the lesson shows, in a line.
pub const ABOUT: &str = "Chunks over streams: copies to the device, kernels and copies to the host overlap";
/// Whether it records a timeline.
pub const DRAWS: bool = true;

/// Threads of a block.
const THREADS: u32 = 256;
/// Waves of resident blocks in a kernel at most: it fills the device, and blocks end all the while, so that the readings of the
/// clock around other streams' copies find room.
const WAVES: u32 = 4;
/// What a sweep takes.
const SWEEP_CHUNKS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
const SWEEP_STREAMS: [u32; 5] = [1, 2, 3, 4, 8];
/// Chunks of the order that is broken.
pub const BROKEN_CHUNKS: u32 = 4;
/// Its hand-overs from stream to stream: each is one missing edge, whatever the number of chunks.
const HAND_OVERS: usize = 2;

/// What the lesson takes.
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct Args {
    /// Elements of each of the two inputs and of the output; no number of chunks has to divide it
    #[arg(long, value_name = "N", default_value_t = (3 << 23) + 35, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub elems: u64,
    /// Chunks that the work is cut into
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub chunks: u32,
    /// Streams that take the chunks in turn
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=32))]
    pub streams: u32,
    /// Fused multiply-adds on each sum: 0 is a vector addition, some thousands make computing as long as copying
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub steps: u32,
    /// Print a table of chunks and streams
    #[arg(long)]
    pub sweep: bool,
}

/// The streams, and two inputs and an output in host memory and on the device.
pub struct Program<'c> {
    context: &'c Context,
    steps: u32,
    most_blocks: u32,
    s: Vec<Stream<'c>>,
    host: [PinnedBuffer<'c, f32>; 3],
    device: [DeviceBuffer<'c, f32>; 3],
}

/// Consecutive elements of each buffer, on the host and on the device, and the grid for them.
type Chunk<'p> = (LaunchConfig, [HostSlice<'p, f32>; 3], [DeviceSlice<'p, f32>; 3]);

impl<'c> Program<'c> {
    /// Allocates, and writes the inputs to host memory. An order by stage needs three streams.
    pub fn new(context: &'c Context, streams: u32, steps: u32, [a, b]: [&[f32]; 2]) -> Result<Self, Error> {
        let stream = |number| Stream::new(context, &format!("s{number}"), StreamKind::NonBlocking);
        let device = |name| DeviceBuffer::zeroed(context, name, a.len());
        Ok(Program {
            context,
            steps,
            most_blocks: WAVES * context.resident_blocks(add_chain::KERNEL, THREADS)?,
            s: (0..streams).map(stream).collect::<Result<_, _>>()?,
            host: [
                PinnedBuffer::from_slice(context, "host a", a)?,
                PinnedBuffer::from_slice(context, "host b", b)?,
                PinnedBuffer::new(context, "host out", a.len())?,
            ],
            device: [device("a")?, device("b")?, device("out")?],
        })
    }

    /// Returns the chunks. A thread takes four elements at a time.
    fn chunks(&self, chunks: u32) -> impl Iterator<Item = Chunk<'_>> {
        chunk_ranges(self.device[0].len(), chunks).map(|range| {
            let blocks = range.len().div_ceil(4 * THREADS as usize) as u32;
            let grid = LaunchConfig::new(self.most_blocks.min(blocks), THREADS);
            let host = self.host.each_ref().map(|buffer| buffer.slice(range.clone()));
            (grid, host, self.device.each_ref().map(|buffer| buffer.slice(range.clone())))
        })
    }

    /// Every chunk's stages one after the other, in one stream. Nothing overlaps.
    pub fn serial(&self, chunks: u32) -> Result<(), Error> {
        let _range = NvtxRange::new(self.context, "serial");
        for (grid, [host_a, host_b, host_out], [a, b, out]) in self.chunks(chunks) {
            self.s[0].copy_to_device(&host_a, &a)?;
            self.s[0].copy_to_device(&host_b, &b)?;
            self.s[0].launch(grid, add_chain(&a, &b, &out, self.steps))?;
            self.s[0].copy_to_host(&out, &host_out)?;
        }
        Ok(())
    }

    /// Every chunk's stages one after the other, the chunks in `streams` streams in turn.
    pub fn pipeline(&self, chunks: u32, streams: u32) -> Result<(), Error> {
        let _range = NvtxRange::new(self.context, "pipeline");
        let in_turn = self.s[..streams as usize].iter().cycle();
        for ((grid, [host_a, host_b, host_out], [a, b, out]), s) in self.chunks(chunks).zip(in_turn) {
            s.copy_to_device(&host_a, &a)?;
            s.copy_to_device(&host_b, &b)?;
            s.launch(grid, add_chain(&a, &b, &out, self.steps))?;
            s.copy_to_host(&out, &host_out)?;
        }
        Ok(())
    }

    /// A stream for each stage. A chunk's stages are then in three streams, so each hand-over needs an event.
    pub fn by_stage(&self, chunks: u32) -> Result<(), Error> {
        let _range = NvtxRange::new(self.context, "by-stage");
        let arrived = Event::ordering(self.context, "arrived")?;
        let computed = Event::ordering(self.context, "computed")?;
        for (grid, [host_a, host_b, host_out], [a, b, out]) in self.chunks(chunks) {
            self.s[0].copy_to_device(&host_a, &a)?;
            self.s[0].copy_to_device(&host_b, &b)?;
            self.s[0].record(&arrived)?;
            self.s[1].wait(&arrived)?;
            self.s[1].launch(grid, add_chain(&a, &b, &out, self.steps))?;
            self.s[1].record(&computed)?;
            self.s[2].wait(&computed)?;
            self.s[2].copy_to_host(&out, &host_out)?;
        }
        Ok(())
    }

    /// Broken: a stream for each stage without the events. The order of the host's lines is no order on the device.
    pub fn broken(&self, chunks: u32) -> Result<(), Error> {
        let _range = NvtxRange::new(self.context, "broken-order");
        for (grid, [host_a, host_b, host_out], [a, b, out]) in self.chunks(chunks) {
            self.s[0].copy_to_device(&host_a, &a)?;
            self.s[0].copy_to_device(&host_b, &b)?;
            self.s[1].launch(grid, add_chain(&a, &b, &out, self.steps))?;
            self.s[2].copy_to_host(&out, &host_out)?;
        }
        Ok(())
    }

    /// Some stages alone, each in a stream of its own, and in no order with one another.
    fn alone(&self, chunks: u32, [copy_in, compute, copy_out]: [bool; 3]) -> Result<(), Error> {
        for (grid, [host_a, host_b, host_out], [a, b, out]) in self.chunks(chunks) {
            if copy_in {
                self.s[0].copy_to_device(&host_a, &a)?;
                self.s[0].copy_to_device(&host_b, &b)?;
            }
            if compute {
                self.s[1].launch(grid, add_chain(&a, &b, &out, self.steps))?;
            }
            if copy_out {
                self.s[2].copy_to_host(&out, &host_out)?;
            }
        }
        Ok(())
    }

    /// Forgets every result, and what is on the device.
    fn forget(&self) -> Result<(), Error> {
        for buffer in &self.device {
            self.s[0].memset_zeros(buffer)?;
        }
        self.s[0].synchronize()?;
        self.host[2].write(&vec![0.0; self.host[2].len()]);
        Ok(())
    }

    /// Returns what is in host memory.
    pub fn result(&self) -> Vec<f32> {
        self.host[2].read()
    }
}

/// Returns the inputs: small numbers that repeat, and their sums are exact.
pub fn inputs(elems: u64) -> [Vec<f32>; 2] {
    [8192, 1021].map(|period| (0..elems).map(|i| (1 + i % period) as f32).collect())
}

/// Runs the lesson.
pub fn run(lab: &mut Lab<'_>, args: &Args) -> Outcome {
    let Args { elems, chunks, streams, steps, sweep } = *args;
    let last = chunk_ranges(elems as usize, chunks).last().map_or(0, |chunk| chunk.len() as u64);
    let pieces = chunk_ranges(elems as usize, chunks).count() as u32; // fewer when there are few elements
    let what = format!("{} elements, chunks: {pieces} (last: {})", thousands(elems), thousands(last));
    let how = format!("streams: {streams}, steps on each sum: {steps}, blocks of {THREADS}");
    lab.parameters(args, format!("{what}, {how}, copy engines: {}", lab.device().copy_engines));
    lab.predict("serial, the sum of the stages; overlapped, the longest and one chunk of the other two");
    let [a, b] = inputs(elems);
    let mut want = vec![0.0; a.len()];
    lab.busy("computing the reference on the CPU", || reference::add_chain(&a, &b, &mut want, steps));
    let p = Program::new(lab.context(), streams.max(if sweep { 8 } else { 3 }), steps, [&a, &b])?;

    // 1. Every order that is right computes the right result, and misses no edge.
    lab.run("serial", || p.serial(chunks))?.missing_edges(0)?;
    lab.require(equal("serial.result", "serial", &p.result(), &want))?;
    p.forget()?;
    lab.run("pipeline", || p.pipeline(chunks, streams))?.missing_edges(0)?;
    lab.require(equal("pipeline.result", "pipeline", &p.result(), &want))?;
    p.forget()?;
    let name = "a stream for each stage";
    lab.run(name, || p.by_stage(chunks))?.missing_edges(0)?;
    lab.require(equal(format!("{name}.result"), name, &p.result(), &want))?;

    // 2. What the stages take alone, in one piece and in chunks, and both orders.
    let mut stages = |chunks: u32, how: &str| -> Result<Stages, Error> {
        let mut alone = |stage: &str, which| {
            let times = lab.time_synchronized(&format!("{stage}, {how}"), || p.alone(chunks, which))?;
            Ok::<_, Error>(times.median_ms)
        };
        let (copy_in, compute) =
            (alone("copy in", [true, false, false])?, alone("compute", [false, true, false])?);
        Ok(Stages { copy_in, compute, copy_out: alone("copy out", [false, false, true])? })
    };
    let (whole, in_chunks) = (stages(1, "whole")?, stages(chunks, "in chunks")?);
    let copies = lab.time_synchronized("both copies at once", || p.alone(1, [true, false, true]))?.median_ms;
    let serial = lab.time_synchronized("serial", || p.serial(chunks))?.median_ms;
    let pipeline = lab.time_synchronized("pipeline", || p.pipeline(chunks, streams))?.median_ms;

    // 3. The model says what both orders take, and the bound what a pipeline can reach.
    let bound = bound_ms(whole, copies);
    let text =
        format!("bound: {bound:.3} ms, the longest stage or, where longer, both copies, {copies:.3} ms");
    lab.observe("stages", json!({ "whole": whole, "in_chunks": in_chunks, "bound_ms": bound }), text);
    let (chunk, late) = (in_chunks.of_one(pieces), !p.context.overlaps());
    let reasons = model::reasons_against(chunk, late);
    let predicted = in_chunks.predicted_ms(pieces, copies, streams);
    lab.check_overlap(model::model("serial", serial, in_chunks.serial_ms(), 1).unless(&reasons));
    lab.check_overlap(model::model("pipeline", pipeline, predicted, streams).unless(&reasons));
    let reached =
        if sweep { self::sweep(lab, &p, bound)? } else { model::of_bound(pipeline, bound, predicted) };
    lab.check_overlap(reached.unless(model::late_schedule(late).as_slice()));

    // 4. The timeline shows what overlapped.
    lab.show("serial, traced", 0, || p.serial(chunks), |ran, step_ns| vec![one_at_a_time(ran, step_ns)])?;
    if streams > 1 {
        let most = in_chunks.serial_ms() / in_chunks.overlapped_ms(pieces, 0.0);
        let judge = |ran: &[Interval], _| vec![overlapped(ran, most).unless(&reasons)];
        lab.show("pipeline, traced", 0, || p.pipeline(chunks, streams), judge)?;
    }

    // 5. Broken: without the events each stage races the one that feeds it.
    p.forget()?;
    let name = "a stream for each stage without events";
    lab.run(name, || p.broken(BROKEN_CHUNKS))?.missing_edges(HAND_OVERS)?;
    let wrong = p.result().iter().zip(&want).filter(|(got, want)| got != want).count();
    let seen = format!("{} of {} elements are wrong", thousands(wrong as u64), thousands(elems));
    let text = format!("{name}: {seen}, and every call succeeded. Not checked: this is a data race");
    lab.observe("broken_order", json!({ "wrong_elements": wrong, "elements": elems }), text);
    lab.picture();
    Ok(())
}

/// Prints a table of settings, each with its part of the bound; returns the best one's check.
fn sweep(lab: &mut Lab<'_>, p: &Program<'_>, bound_ms: f64) -> Result<Check, Error> {
    let head = SWEEP_STREAMS.map(|streams| format!("{streams:>10} str."));
    lab.say(format!("chunks  {}", head.join(" ")));
    let (mut points, mut best) = (Vec::new(), (f64::INFINITY, 0, 0));
    for chunks in SWEEP_CHUNKS {
        let mut line = format!("{chunks:>6} ");
        for streams in SWEEP_STREAMS {
            let submit = || p.pipeline(chunks, streams);
            let times = synchronized_times(lab.context(), "sweep", lab.repeat().probe(), submit)?;
            let (ms, part) = (times.median_ms, bound_ms / times.median_ms);
            line += &format!(" {ms:>7.3} {:>5.1}%", 100.0 * part);
            points.push(json!({ "chunks": chunks, "streams": streams, "times": times, "of_bound": part }));
            if ms < best.0 {
                best = (ms, chunks, streams);
            }
        }
        lab.say(line);
    }
    lab.value("sweep", points);
    let (ms, chunks, streams) = best;
    Ok(model::best_of_bound(&format!("{chunks} chunks over {streams} streams"), ms, bound_ms))
}
