//! A pipeline of chunks over streams.
//!
//! Claim: work that is copied to the device, computed, and copied back takes as long as its three stages together on one
//! stream. Cut into chunks that several streams take in turn, it takes little more than its longest stage, because copies
//! of both directions and kernels run side by side.
//!
//! Prediction, with what each stage takes alone: serial, the sum of the three; overlapped in C chunks, the longest, and one
//! chunk of the other two, while the pipeline fills and drains. With equal stages of t a chunk that is 3tC and tC + 2t. The
//! bound is the longest stage alone in one piece.

use serde::Serialize;
use timeline::model::Band;

use super::chunks::{Chunks, Stage, THREADS, cut};
use super::stopwatch::time_drained;
use super::watched::Watched;
use super::{Gates, Setting};
use crate::args;
use crate::band::intervals;
use crate::gate::pipeline::{self as gates, Stages};
use crate::gate::{Gate, equality};
use crate::measure::Statistics;
use crate::reference::pipeline as reference;
use crate::report::{Report, thousands};
use crate::submit::{Context, Error};

/// What a sweep takes.
const SWEEP_CHUNKS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
const SWEEP_STREAMS: [u32; 5] = [1, 2, 3, 4, 8];
/// Chunks of the order that is broken.
const BROKEN_CHUNKS: u32 = 4;
/// Its hand-overs from stream to stream: each is one missing edge, whatever the number of chunks.
const HAND_OVERS: usize = 2;

/// What the lesson found, as its JSON document has it. What would come after a failed gate is absent.
#[derive(Debug, Serialize)]
pub struct Findings {
    lesson: &'static str,
    #[serde(flatten)]
    setting: Setting,
    parameters: args::Pipeline,
    gates: Gates,
    regions: Vec<Region>,
    /// Each stage alone in one piece, and in chunks.
    whole: Option<Stages>,
    in_chunks: Option<Stages>,
    sweep: Vec<Point>,
    broken_order: Option<Observation>,
    #[serde(flatten)]
    watched: Watched,
}

/// One timed region.
#[derive(Debug, Serialize)]
struct Region {
    name: String,
    times: Statistics,
}

/// A point of the sweep.
#[derive(Clone, Copy, Debug, Serialize)]
struct Point {
    chunks: u32,
    streams: u32,
    times: Statistics,
    of_bound: f64,
}

/// What was seen and decides nothing.
#[derive(Debug, Serialize)]
struct Observation {
    wrong_elements: usize,
    elements: usize,
}

super::lesson!(args::Pipeline);

/// Runs the lesson: each order against the reference, the stages alone, the pipeline's time, the sweep, the broken order.
///
/// # Errors
///
/// Any error of the submission layer. A failed gate is not one: it is in the findings.
pub fn run(context: &Context, options: &args::Pipeline, report: Report) -> Result<Findings, Error> {
    let mut findings = Findings {
        lesson: "pipeline",
        setting: Setting::of(context),
        parameters: options.clone(),
        gates: Gates::default(),
        regions: Vec::new(),
        whole: None,
        in_chunks: None,
        sweep: Vec::new(),
        broken_order: None,
        watched: Watched::new(context, "pipeline", options.common.order, report),
    };
    findings.introduce(report);
    let inputs =
        [8192, 1021].map(|period| (0..options.elems).map(|i| (1 + i % period) as f32).collect::<Vec<_>>());
    let mut want = vec![0.0; options.elems as usize];
    report.busy("computing the reference on the CPU", || {
        reference::add_chain(&inputs[0], &inputs[1], &mut want, options.steps);
    });
    let most = SWEEP_STREAMS.into_iter().max().filter(|_| options.sweep).unwrap_or(0);
    let streams = options.streams.max(most).max(Stage::ALL.len() as u32);
    let work = Chunks::new(context, options, streams, [&inputs[0], &inputs[1]])?;
    if findings.check(context, &work, &want, report)? {
        let in_chunks = findings.time(context, &work, report)?;
        findings.trace(context, &work, in_chunks, report)?;
        findings.broken(context, &work, &want, report)?;
        report.picture(findings.watched.timeline());
    }
    Ok(findings)
}

impl Findings {
    fn introduce(&self, report: Report) {
        self.setting.say(report);
        let args::Pipeline { elems, chunks, streams, steps, .. } = self.parameters;
        let last = cut(elems as usize, chunks).last().map_or(0, |chunk| chunk.len());
        report.say(format!(
            "parameters: {} elements in {} chunks, the last of {}, over {streams} streams, {steps} steps on each sum, blocks of \
             {THREADS}, {} copy engines",
            thousands(elems),
            self.count(),
            thousands(last as u64),
            self.setting.card.copy_engines
        ));
        report.say("prediction: serial, the sum of the stages; overlapped, the longest and one chunk of the other two");
    }

    /// Every order that is right, against the reference.
    fn check(
        &mut self,
        context: &Context,
        work: &Chunks<'_>,
        want: &[f32],
        report: Report,
    ) -> Result<bool, Error> {
        let args::Pipeline { chunks, streams, .. } = self.parameters;
        type Submit<'w> = &'w dyn Fn() -> Result<(), Error>;
        let orders: [(&str, Submit<'_>); 3] = [
            ("serial", &|| work.submit(chunks, 1)),
            ("pipeline", &|| work.submit(chunks, streams)),
            ("a stream for each stage", &|| work.submit_by_stage(chunks)),
        ];
        for (name, submit) in orders {
            work.forget()?;
            let log = self.watched.log(context, submit)?;
            let got = work.result()?;
            if !self.watched.look(name, 0, log.as_ref(), &mut self.gates, report)
                || !self.gates.hold(equality(name, &got, want), report)
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The stages alone, both orders, and the sweep; returns what the stages take in chunks.
    fn time(&mut self, context: &Context, work: &Chunks<'_>, report: Report) -> Result<Stages, Error> {
        let args::Pipeline { chunks, streams, sweep, .. } = self.parameters;
        let whole = self.stages(context, work, 1, "whole", report)?;
        let in_chunks = self.stages(context, work, chunks, "in chunks", report)?;
        (self.whole, self.in_chunks) = (Some(whole), Some(in_chunks));
        let both = [Stage::CopyIn, Stage::CopyOut];
        let copies = self.region("both copies at once", context, report, || work.submit_alone(&both, 1))?;
        let serial = self.region("serial", context, report, || work.submit(chunks, 1))?;
        let pipeline = self.region("pipeline", context, report, || work.submit(chunks, streams))?;

        let bound = gates::bound_ms(whole, copies);
        report.say(format!(
            "bound: {bound:.3} ms, the longer of the longest stage alone, {:.3} ms, and both copies at once, {copies:.3} ms",
            whole.longest_ms()
        ));
        let model =
            if streams == 1 { in_chunks.serial_ms() } else { in_chunks.overlapped_ms(self.count(), copies) };
        let chunk = in_chunks.of_one(self.count());
        let gate = gates::model("serial", serial, in_chunks.serial_ms(), chunk, 1);
        self.gates.hold_overlap(gate, context, report);
        let gate = gates::model("pipeline", pipeline, model, chunk, streams);
        self.gates.hold_overlap(gate, context, report);
        let mut best = gates::of_bound("the pipeline", pipeline, bound, model);
        if sweep {
            best = self.sweep(context, work, bound, report)?.unwrap_or(best);
        }
        self.gates.hold_overlap(best, context, report);
        Ok(in_chunks)
    }

    fn stages(
        &mut self,
        context: &Context,
        work: &Chunks<'_>,
        chunks: u32,
        how: &str,
        report: Report,
    ) -> Result<Stages, Error> {
        let mut alone = |name: &str, stage| {
            let name = format!("{name}, {how}");
            self.region(&name, context, report, || work.submit_alone(&[stage], chunks))
        };
        Ok(Stages {
            copy_in: alone("copy in", Stage::CopyIn)?,
            compute: alone("compute", Stage::Compute)?,
            copy_out: alone("copy out", Stage::CopyOut)?,
        })
    }

    /// Times a region, prints it, and returns the median.
    fn region(
        &mut self,
        name: &str,
        context: &Context,
        report: Report,
        submit: impl Fn() -> Result<(), Error>,
    ) -> Result<f64, Error> {
        let times = time_drained(context, name, self.parameters.common.repeat, submit)?;
        report.time(&format!("{name:20}"), times);
        self.regions.push(Region { name: name.to_owned(), times });
        Ok(times.median_ms)
    }

    /// A table of settings, each with its part of the bound; returns the best one's gate.
    fn sweep(
        &mut self,
        context: &Context,
        work: &Chunks<'_>,
        bound_ms: f64,
        report: Report,
    ) -> Result<Option<Gate>, Error> {
        let head = SWEEP_STREAMS.map(|streams| format!("{streams:>10} str."));
        report.say(format!("{:>6}  {}", "chunks", head.join(" ")));
        for chunks in SWEEP_CHUNKS {
            let mut line = format!("{chunks:>6} ");
            for streams in SWEEP_STREAMS {
                let repeat = self.parameters.common.repeat.probe();
                let times = time_drained(context, "sweep", repeat, || work.submit(chunks, streams))?;
                let of_bound = bound_ms / times.median_ms;
                line += &format!(" {:>7.3} {of_bound:>5.1}%", times.median_ms, of_bound = 100.0 * of_bound);
                self.sweep.push(Point { chunks, streams, times, of_bound });
            }
            report.say(line);
        }
        let best = self.sweep.iter().max_by(|one, other| one.of_bound.total_cmp(&other.of_bound));
        Ok(best.map(|&Point { chunks, streams, times, .. }| {
            let who = format!("the best setting, {chunks} chunks over {streams} streams,");
            gates::best_of_bound(&who, times.median_ms, bound_ms)
        }))
    }

    /// Both orders once more, with the clock read around each copy and in each kernel.
    fn trace(
        &mut self,
        context: &Context,
        work: &Chunks<'_>,
        stages: Stages,
        report: Report,
    ) -> Result<(), Error> {
        let args::Pipeline { chunks, streams, .. } = self.parameters;
        let (band, log) =
            self.watched.trace(context, "serial", self.warmups(), || work.submit(chunks, 1), report)?;
        let gate = gates::one_at_a_time(&intervals(&band), self.watched.step_ns());
        self.draw(context, band, gate, report);
        self.watched.look("serial, traced", 0, Some(&log), &mut self.gates, report);
        if streams == 1 {
            return Ok(());
        }
        let submit = || work.submit(chunks, streams);
        let (band, log) = self.watched.trace(context, "pipeline", self.warmups(), submit, report)?;
        let predicted = stages.serial_ms() / stages.overlapped_ms(self.count(), 0.0);
        let gate = gates::side_by_side(&intervals(&band), predicted, stages.of_one(self.count()));
        self.draw(context, band, gate, report);
        self.watched.look("pipeline, traced", 0, Some(&log), &mut self.gates, report);
        Ok(())
    }

    /// Chunks that there are: fewer than were asked for when there are few elements.
    fn count(&self) -> u32 {
        cut(self.parameters.elems as usize, self.parameters.chunks).count() as u32
    }

    fn warmups(&self) -> u32 {
        self.parameters.common.repeat.warmups()
    }

    fn draw(&mut self, context: &Context, band: Band, gate: Gate, report: Report) {
        self.watched.draw(band, std::slice::from_ref(&gate));
        self.gates.hold_overlap(gate, context, report);
    }

    /// Broken: a stream for each stage, and no event.
    fn broken(
        &mut self,
        context: &Context,
        work: &Chunks<'_>,
        want: &[f32],
        report: Report,
    ) -> Result<(), Error> {
        let name = "a stream for each stage without events";
        work.forget()?;
        let log = self.watched.log(context, || work.submit_broken(BROKEN_CHUNKS))?;
        let got = work.result()?;
        let wrong = got.iter().zip(want).filter(|(got, want)| got != want).count();
        report.say(format!(
            "{name}: {} of {} elements wrong, and no call failed. An observation, not a gate: each stage races the one that \
             feeds it, and at 0 the order is just as broken",
            thousands(wrong as u64),
            thousands(got.len() as u64)
        ));
        self.broken_order = Some(Observation { wrong_elements: wrong, elements: got.len() });
        self.watched.look(name, HAND_OVERS, log.as_ref(), &mut self.gates, report);
        Ok(())
    }
}
