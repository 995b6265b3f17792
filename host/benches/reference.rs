//! How long the CPU reference takes, beside the least that the machine's FMA units allow: `cargo bench --bench
//! reference`. No benchmark crate: what matters is a few long, steady times next to a floor of our own, and
//! [`Statistics`] is what the lessons show their times with. Under `cargo test` everything runs once.

#![allow(clippy::print_stdout, reason = "the numbers are what it is for")]

use std::hint::black_box;
use std::time::Instant;

use host::compare::compare;
use host::measure::Statistics;
use host::reference::{diamond, grind_fma, sum_four};

const ELEMENTS: usize = 1 << 20;
const ITERS: u32 = 512;
const A: f32 = 0.999;
const UPSTREAM_B: f32 = 1.0;
const BRANCH_B: [f32; 4] = [0.125, 0.25, 0.5, 1.0];

fn main() {
    let runs = if std::env::args().any(|arg| arg == "--bench") { 31 } else { 1 };
    let input: Vec<f32> = (0..ELEMENTS).map(|i| (i % 251) as f32 * 0.01).collect();
    let mut out = vec![0.0; ELEMENTS];

    let machine = Machine::measure();
    println!("{machine}");

    println!("diamond, 5 x {ELEMENTS} elements x {ITERS} steps");
    let steps = ELEMENTS as f64 * f64::from(ITERS) * 5.0;
    println!("  floor    {:.3} ms for {:.2}e9 fused multiply-adds", machine.floor_ms(steps), steps / 1e9);
    let times = time(runs, || drop(black_box(diamond(&input, A, UPSTREAM_B, &BRANCH_B, ITERS))));
    println!("  measured {times}, {:.2}x the floor", times.median_ms / machine.floor_ms(steps));

    let grind = time(runs, || grind_fma(&input, &mut out, A, UPSTREAM_B, ITERS));
    println!("grind_fma  {grind}");
    let sum = time(runs, || sum_four(&input, &input, &input, &input, &mut out));
    println!("sum_four   {sum}");
    let other = time(runs, || compare(&out, &input, 1e-6));
    println!("compare    {other}, {ELEMENTS} elements");
}

/// The times of `runs` calls, after one that is not counted.
fn time<T>(runs: usize, mut work: impl FnMut() -> T) -> Statistics {
    black_box(work());
    let one = |_| {
        let start = Instant::now();
        black_box(work());
        start.elapsed().as_secs_f64() * 1e3
    };
    Statistics::of(&(0..runs).map(one).collect::<Vec<f64>>())
        .expect("at least one run, and a clock that is finite")
}

/// What bounds a chain of fused multiply-adds on this machine.
struct Machine {
    cores: usize,
    /// Elements that one fused multiply-add instruction holds; `None` without such an instruction.
    lanes: Option<usize>,
    clock_ghz: f64,
}

impl Machine {
    /// Instructions that a core starts in a cycle.
    const PER_CYCLE: f64 = 2.0;

    fn measure() -> Self {
        Self { cores: rayon::current_num_threads(), lanes: lanes(), clock_ghz: clock_ghz() }
    }

    fn floor_ms(&self, steps: f64) -> f64 {
        let lanes = self.lanes.unwrap_or(1) as f64;
        steps / (self.cores as f64 * lanes * Self::PER_CYCLE * self.clock_ghz * 1e6)
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { cores, clock_ghz, .. } = self;
        let per_cycle = Self::PER_CYCLE;
        match self.lanes {
            Some(lanes) => {
                write!(f, "{cores} cores x {lanes} lanes x {per_cycle} a cycle x {clock_ghz:.2} GHz")?
            }
            None => write!(
                f,
                "{cores} cores at {clock_ghz:.2} GHz, no FMA units: the floor is for one-lane units"
            )?,
        }
        if self.lanes == Some(16) {
            write!(
                f,
                "; a core that starts one 512-bit instruction a cycle, as a Zen 4 does, has twice the floor"
            )?;
        }
        Ok(())
    }
}

#[cfg(target_arch = "x86_64")]
fn lanes() -> Option<usize> {
    if is_x86_feature_detected!("avx512f") {
        Some(16)
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        Some(8)
    } else {
        None
    }
}

#[cfg(target_arch = "aarch64")]
fn lanes() -> Option<usize> {
    Some(4)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn lanes() -> Option<usize> {
    None
}

/// The clock under load, from a chain of 6 dependent shifts and exclusive ors, each of one cycle.
fn clock_ghz() -> f64 {
    const STEPS: u32 = 20_000_000;
    let mut state = black_box(1_u64);
    let times = time(5, || {
        for _ in 0..STEPS {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
        black_box(state);
    });
    f64::from(STEPS) * 6.0 / (times.min_ms * 1e6)
}
