//! The gates of the pipeline lesson: the times against the model and the bound, and the traced runs.

use serde::Serialize;

use super::overlap::{self, Interval};
use super::{Gate, cut};

/// How far a time may be from the model, either way, relative to it.
pub const MODEL_TOLERANCE: f64 = 0.15;
/// The least part of the bound that a pipeline reaches, where the model lets it.
pub const MIN_OF_BOUND: f64 = 0.9;
/// The least part of the overlap that the model predicts which a traced run shows.
pub const MIN_OF_OVERLAP: f64 = 0.5;
/// The least bound at which some setting can reach that part of it, ms: of shorter work, starting its copies takes too much.
pub const MIN_BOUND_MS: f64 = 6.0;
/// The least overlap of the model that is looked for, in copies and kernels at once.
pub const MIN_PREDICTED: f64 = 1.1;
/// Stages that take less for a chunk are as long as what is between them, ms.
pub const MIN_STAGE_MS: f64 = 0.05;

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
    /// One after the other: with equal stages of `t` a chunk, `3 t C` for `C` chunks.
    pub fn serial_ms(self) -> f64 {
        self.copy_in + self.compute + self.copy_out
    }

    /// The longest: no pipeline is faster.
    pub fn longest_ms(self) -> f64 {
        longest_of([self.copy_in, self.compute, self.copy_out])
    }

    /// The same for one of so many equal chunks.
    pub fn of_one(self, chunks: u32) -> Self {
        let part = |ms: f64| ms / f64::from(chunks);
        Stages { copy_in: part(self.copy_in), compute: part(self.compute), copy_out: part(self.copy_out) }
    }

    /// In so many chunks over enough streams: the longest stage, or what both copies take at once, and the other two stages of
    /// one chunk, while the pipeline fills and drains. With equal stages of `t` a chunk, `t C + 2 t`.
    pub fn overlapped_ms(self, chunks: u32, both_copies_ms: f64) -> f64 {
        let rest = (self.serial_ms() - self.longest_ms()) / f64::from(chunks);
        bound_ms(self, both_copies_ms) + rest
    }
}

/// The longest; a NaN when one is, which a maximum would drop.
fn longest_of<const COUNT: usize>(times_ms: [f64; COUNT]) -> f64 {
    let is_known = times_ms.iter().all(|ms| !ms.is_nan());
    if is_known { times_ms.into_iter().fold(0.0, f64::max) } else { f64::NAN }
}

/// What a pipeline can reach: the longest stage alone, or the two directions of the bus at once where that takes longer. They slow
/// each other down, by 4% to 15% in twelve runs on H200s.
pub fn bound_ms(whole: Stages, both_copies_ms: f64) -> f64 {
    longest_of([whole.longest_ms(), both_copies_ms])
}

/// A measured time on so many streams against the model's.
pub fn model(who: &str, measured_ms: f64, model_ms: f64, chunk: Stages, streams: u32) -> Gate {
    let ratio = measured_ms / model_ms;
    let sentence = format!("{who} {measured_ms:.3} ms / model {model_ms:.3} ms = {ratio:.2}x");
    if streams == 2 {
        return Gate::not_gated(format!(
            "{sentence}: two streams hold two of the three stages that the model has at once"
        ));
    }
    if chunk.longest_ms() < MIN_STAGE_MS {
        Gate::not_gated(format!(
            "{sentence}: the longest stage takes {:.1} us a chunk, which is what starting it takes; make larger chunks",
            chunk.longest_ms() * 1e3
        ))
    } else if (1.0 - MODEL_TOLERANCE..=1.0 + MODEL_TOLERANCE).contains(&ratio) {
        Gate::pass(sentence)
    } else {
        Gate::fail(format!("{sentence}, not 1 within {MODEL_TOLERANCE}"))
    }
}

/// A pipeline's time against the [bound](bound_ms). One setting alone decides nothing.
pub fn of_bound(who: &str, measured_ms: f64, bound_ms: f64, model_ms: f64) -> Gate {
    let part = bound_ms / measured_ms;
    let allowed = bound_ms / model_ms;
    let sentence =
        format!("{who} reaches {}x of the bound, {bound_ms:.3} ms of {measured_ms:.3} ms", cut(part));
    if part >= MIN_OF_BOUND {
        Gate::pass(sentence)
    } else {
        Gate::not_gated(format!(
            "{sentence}: by the model, this setting allows {}x; `--sweep` looks for the best",
            cut(allowed)
        ))
    }
}

/// The same for the best of many settings, which has to reach nine tenths.
pub fn best_of_bound(who: &str, measured_ms: f64, bound_ms: f64) -> Gate {
    let part = bound_ms / measured_ms;
    let sentence =
        format!("{who} reaches {}x of the bound, {bound_ms:.3} ms of {measured_ms:.3} ms", cut(part));
    if part >= MIN_OF_BOUND {
        Gate::pass(sentence)
    } else if bound_ms < MIN_BOUND_MS {
        Gate::not_gated(format!(
            "{sentence}: of less than {MIN_BOUND_MS} ms, starting the copies takes too much; ask for more elements"
        ))
    } else {
        Gate::fail(format!("{sentence}, below {MIN_OF_BOUND}x"))
    }
}

/// How much of a traced run lay side by side: what its copies and kernels took together, over what the run took.
pub fn side_by_side(ran: &[Interval], predicted: f64, chunk: Stages) -> Gate {
    let Some(at_once) = at_once(ran) else { return Gate::not_gated("timeline: nothing ran".to_owned()) };
    let sentence = format!(
        "timeline: on average {at_once:.2} copies and kernels ran at once; in the model {predicted:.2} do"
    );
    if predicted < MIN_PREDICTED || chunk.longest_ms() < MIN_STAGE_MS {
        Gate::not_gated(format!("{sentence}, too little to tell; make more and larger chunks"))
    } else if at_once >= 1.0 + MIN_OF_OVERLAP * (predicted - 1.0) {
        Gate::pass(sentence)
    } else {
        Gate::fail(format!("{sentence}: they took turns"))
    }
}

/// Whether nothing of a traced run lay side by side.
pub fn one_at_a_time(ran: &[Interval], step_ns: u64) -> Gate {
    let mut in_order = ran.to_vec();
    in_order.sort_by_key(|ran| ran.start_ns);
    let shared: u64 = in_order.windows(2).map(|pair| pair[0].shared_ns(pair[1])).sum();
    let sentence = format!("timeline: {} copies and kernels, one after the other", ran.len());
    if ran.is_empty() {
        Gate::not_gated("timeline: nothing ran".to_owned())
    } else if shared <= step_ns * ran.len() as u64 {
        Gate::pass(sentence)
    } else {
        Gate::fail(format!("{sentence}, but for {:.1} us", shared as f64 / 1e3))
    }
}

fn at_once(ran: &[Interval]) -> Option<f64> {
    let all = overlap::hull(ran)?;
    let busy: u64 = ran.iter().map(|ran| ran.length_ns()).sum();
    Some(busy as f64 / all.length_ns().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::super::Verdict::{Fail, NotGated, Pass};
    use super::super::tests::check;
    use super::*;

    const EQUAL: Stages = Stages { copy_in: 4.0, compute: 4.0, copy_out: 4.0 };
    const UNEQUAL: Stages = Stages { copy_in: 8.0, compute: 1.0, copy_out: 4.0 };

    #[test]
    fn equal_stages_have_the_well_known_model() {
        // Four chunks of t = 1: 12 t, and 4 t + 2 t.
        assert_eq!((EQUAL.serial_ms(), EQUAL.overlapped_ms(4, 0.0)), (12.0, 6.0));
        assert_eq!(
            (UNEQUAL.serial_ms(), UNEQUAL.longest_ms(), UNEQUAL.overlapped_ms(5, 0.0)),
            (13.0, 8.0, 9.0)
        );
        assert_eq!(UNEQUAL.overlapped_ms(1, 0.0), UNEQUAL.serial_ms());
        let unknown = Stages { compute: f64::NAN, ..EQUAL };
        assert!(unknown.longest_ms().is_nan() && unknown.overlapped_ms(4, 0.0).is_nan());
    }

    #[test]
    fn the_model_holds_within_fifteen_hundredths() {
        check(model("serial", 11.5, 10.0, EQUAL, 4), Pass, "serial 11.500 ms / model 10.000 ms = 1.15x");
        for (measured, verdict) in [(8.5, Pass), (8.49, Fail), (11.51, Fail), (f64::NAN, Fail)] {
            assert_eq!(model("serial", measured, 10.0, EQUAL, 1).verdict, verdict, "{measured}");
        }
        assert_eq!(model("serial", 30.0, 10.0, EQUAL, 2).verdict, NotGated);
        let short = Stages { copy_in: 0.049, compute: 0.01, copy_out: 0.01 };
        assert_eq!(model("serial", 30.0, 10.0, short, 4).verdict, NotGated);
    }

    #[test]
    fn the_bound_is_the_longest_stage_or_both_copies_at_once() {
        assert_eq!([bound_ms(UNEQUAL, 7.0), bound_ms(UNEQUAL, 8.5)], [8.0, 8.5]);
        let unknown = Stages { copy_out: f64::NAN, ..UNEQUAL };
        assert!(bound_ms(UNEQUAL, f64::NAN).is_nan() && bound_ms(unknown, 9.0).is_nan());
    }

    #[test]
    fn the_best_of_a_sweep_reaches_nine_tenths_of_the_bound_and_one_setting_only_says_what_it_reaches() {
        check(of_bound("it", 10.0, 9.0, 9.5), Pass, "it reaches 0.900x of the bound, 9.000 ms of 10.000 ms");
        for measured_ms in [10.01, 20.0, f64::NAN] {
            assert_eq!(of_bound("it", measured_ms, 9.0, 9.5).verdict, NotGated);
            assert_eq!(best_of_bound("it", measured_ms, 9.0).verdict, Fail);
        }
        assert_eq!(best_of_bound("it", 10.0, 9.0).verdict, Pass);
        assert_eq!(best_of_bound("it", 8.0, MIN_BOUND_MS).verdict, Fail);
        assert_eq!(best_of_bound("it", 8.0, 5.99).verdict, NotGated);
        assert_eq!(best_of_bound("it", 6.0, 5.99).verdict, Pass);
    }

    fn ran(start_ns: u64, end_ns: u64) -> Interval {
        Interval { start_ns, end_ns }
    }

    #[test]
    fn traced_runs_overlap_by_half_of_what_the_model_says_or_not_at_all() {
        let two_at_once = [ran(0, 100), ran(0, 100)];
        assert_eq!(side_by_side(&two_at_once, 3.0, EQUAL).verdict, Pass);
        assert_eq!(side_by_side(&two_at_once, 3.01, EQUAL).verdict, Fail);
        assert_eq!(side_by_side(&[ran(0, 100), ran(100, 200)], 1.5, EQUAL).verdict, Fail);
        assert_eq!(side_by_side(&[], 1.5, EQUAL).verdict, NotGated);
        assert_eq!(side_by_side(&two_at_once, 1.09, EQUAL).verdict, NotGated);
        assert_eq!(side_by_side(&two_at_once, 3.01, EQUAL.of_one(1000)).verdict, NotGated);
        assert_eq!(one_at_a_time(&[ran(100, 200), ran(0, 100)], 0).verdict, Pass);
        assert_eq!(one_at_a_time(&[ran(0, 164), ran(100, 200)], 32).verdict, Pass);
        assert_eq!(one_at_a_time(&[ran(0, 165), ran(100, 200)], 32).verdict, Fail);
        assert_eq!(one_at_a_time(&[], 32).verdict, NotGated);
    }
}
