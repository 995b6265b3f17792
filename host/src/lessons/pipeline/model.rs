//! The model of a pipeline, and the pipeline lesson's checks: the times against the model and the bound, and the traced runs. Pure.

use std::ops::Range;

use serde::Serialize;

use crate::check::{Check, cut, us};
use crate::overlap::{Interval, hull};

/// How far a time may be from the model, either way, relative to it.
pub const MODEL_TOLERANCE: f64 = 0.15;
/// The least part of the bound that a pipeline reaches, where the model lets it.
pub const MIN_OF_BOUND: f64 = 0.9;
/// The least part of the overlap that the model predicts which a traced run shows.
pub const MIN_OF_OVERLAP: f64 = 0.5;
/// The least bound at which some setting can reach that part of it, ms: of shorter work, starting its copies takes too much.
pub const MIN_BOUND_MS: f64 = 6.0;
/// The least overlap of the model that is looked for, in copies and kernels on average.
pub const MIN_PREDICTED: f64 = 1.1;
/// Stages that take less for a chunk are as long as what is between them, ms.
pub const MIN_STAGE_MS: f64 = 0.05;

/// Returns the elements of each chunk: equal ones, each a multiple of sixteen bytes, and what is left as the last.
pub fn chunk_ranges(elems: usize, chunks: u32) -> impl Iterator<Item = Range<usize>> {
    let chunk = elems.div_ceil(chunks.max(1) as usize).next_multiple_of(4).max(4);
    (0..elems).step_by(chunk).map(move |start| start..elems.min(start + chunk))
}

/// What the three stages of the whole work take, each alone, milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stages {
    /// Copies to the device.
    pub copy_in: f64,
    /// Kernels.
    pub compute: f64,
    /// Copies to the host.
    pub copy_out: f64,
}

impl Stages {
    /// Returns the time one after the other: with equal stages of `t` a chunk, `3 t C` for `C` chunks.
    pub fn serial_ms(self) -> f64 {
        self.copy_in + self.compute + self.copy_out
    }

    /// Returns the longest: no pipeline is faster.
    pub fn longest_ms(self) -> f64 {
        longest_of(&[self.copy_in, self.compute, self.copy_out])
    }

    /// Returns the stages of one of so many equal chunks.
    pub fn of_one(self, chunks: u32) -> Self {
        let part = |ms: f64| ms / f64::from(chunks);
        Stages { copy_in: part(self.copy_in), compute: part(self.compute), copy_out: part(self.copy_out) }
    }

    /// Returns the time in so many chunks over enough streams: the longest stage, or what both copies take together, and the other
    /// two stages of one chunk, while the pipeline fills and drains. With equal stages of `t` a chunk, `t C + 2 t`.
    pub fn overlapped_ms(self, chunks: u32, both_copies_ms: f64) -> f64 {
        bound_ms(self, both_copies_ms) + (self.serial_ms() - self.longest_ms()) / f64::from(chunks)
    }

    /// Returns the time in so many chunks over so many streams; in one stream nothing overlaps.
    pub fn predicted_ms(self, chunks: u32, both_copies_ms: f64, streams: u32) -> f64 {
        if streams == 1 { self.serial_ms() } else { self.overlapped_ms(chunks, both_copies_ms) }
    }
}

/// Returns the longest; a NaN when one is, which a maximum would drop.
fn longest_of(times_ms: &[f64]) -> f64 {
    let is_known = times_ms.iter().all(|ms| !ms.is_nan());
    if is_known { times_ms.iter().copied().fold(0.0, f64::max) } else { f64::NAN }
}

/// Returns what a pipeline can reach: the longest stage alone, or the two directions of the bus together where that takes longer.
/// They slow each other down, by 4% to 15% in twelve runs on H200s.
pub fn bound_ms(whole: Stages, both_copies_ms: f64) -> f64 {
    longest_of(&[whole.longest_ms(), both_copies_ms])
}

/// Returns why the times and the timeline of such stages of a chunk decide nothing; empty where they do. `late` is the virtual
/// device's schedule.
pub fn reasons_against(chunk: Stages, late: bool) -> Vec<String> {
    let longest_us = 1e3 * chunk.longest_ms();
    let short =
        || format!("a stage of {longest_us:.1} us a chunk is as short as its start (make larger chunks)");
    let short = (chunk.longest_ms() < MIN_STAGE_MS).then(short);
    late_schedule(late).or(short).into_iter().collect()
}

/// Returns why no time decides anything with the late schedule.
pub fn late_schedule(late: bool) -> Option<String> {
    late.then(|| "the late schedule overlaps nothing, and records the start last".to_owned())
}

/// Checks a measured time in so many streams against the model's.
pub fn model(who: &str, measured_ms: f64, model_ms: f64, streams: u32) -> Check {
    let ratio = measured_ms / model_ms;
    let times = format!("{who} {measured_ms:.3} ms / model {model_ms:.3} ms");
    let sentence = format!("{times} = {ratio:.2}x, 1 within {MODEL_TOLERANCE} expected");
    let holds = (1.0 - MODEL_TOLERANCE..=1.0 + MODEL_TOLERANCE).contains(&ratio);
    let two =
        (streams == 2).then(|| "two streams hold two of the three stages that the model overlaps".to_owned());
    Check::that(holds, format!("{who}.model"), sentence).unless(two.as_slice())
}

/// Checks a pipeline's time against the [bound](bound_ms). One setting alone decides nothing.
pub fn of_bound(measured_ms: f64, bound_ms: f64, model_ms: f64) -> Check {
    let check = reaches("the pipeline", measured_ms, bound_ms);
    let allowed =
        || format!("by the model, this setting allows {}x (try `--sweep`)", cut(bound_ms / model_ms));
    let reason = check.failed().then(allowed);
    check.unless(reason.as_slice())
}

/// Checks the best of many settings against the bound, `who`.
pub fn best_of_bound(who: &str, measured_ms: f64, bound_ms: f64) -> Check {
    let check = reaches(who, measured_ms, bound_ms);
    let short = || {
        format!("the start of the copies takes too much of less than {MIN_BOUND_MS} ms (take more elements)")
    };
    let reason = (check.failed() && bound_ms < MIN_BOUND_MS).then(short);
    check.unless(reason.as_slice())
}

fn reaches(who: &str, measured_ms: f64, bound_ms: f64) -> Check {
    let part = bound_ms / measured_ms;
    let times = format!("bound {bound_ms:.3} ms / {who} {measured_ms:.3} ms");
    let sentence = format!("{times} = {}x, at least {MIN_OF_BOUND}x expected", cut(part));
    Check::that(part >= MIN_OF_BOUND, "pipeline.bound", sentence)
}

/// Checks how much of a traced run overlapped: what its copies and kernels took together, over what the run took.
pub fn overlapped(ran: &[Interval], predicted: f64) -> Check {
    let id = "timeline.pipeline-overlaps";
    let Some(whole) = hull(ran) else { return Check::not_judged(id, "nothing ran") };
    let all_ns: u64 = ran.iter().map(|one| one.length_ns()).sum();
    let average = all_ns as f64 / whole.length_ns().max(1) as f64;
    let least = 1.0 + MIN_OF_OVERLAP * (predicted - 1.0);
    let sentence = format!(
        "on average {average:.2} copies and kernels overlapped, the model has {predicted:.2}, at least {least:.2} expected"
    );
    let little =
        (predicted < MIN_PREDICTED).then(|| "the model has too little (make more chunks)".to_owned());
    Check::that(average >= least, id, sentence).unless(little.as_slice())
}

/// Checks that nothing of a traced run overlapped.
pub fn one_at_a_time(ran: &[Interval], step_ns: u64) -> Check {
    let id = "timeline.serial-serialized";
    let mut in_order = ran.to_vec();
    in_order.sort_by_key(|ran| ran.start_ns);
    let shared_ns: u64 = in_order.windows(2).map(|pair| pair[0].shared_ns(pair[1])).sum();
    let sentence =
        format!("{} copies and kernels overlapped for {} us, 0 expected", ran.len(), us(shared_ns));
    match ran {
        [] => Check::not_judged(id, "nothing ran"),
        ran => Check::that(shared_ns <= step_ns * ran.len() as u64, id, sentence),
    }
}
