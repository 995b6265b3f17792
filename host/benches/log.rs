//! What it costs to keep a log while a lesson runs, for each operation of a diamond: `cargo bench -p host --bench log`,
//! with `-- --device gpu` for a device that is asked for. What is timed is the host's part alone: submitting. First over calls
//! that do nothing, where nothing hides the log, then on the device. Under `cargo test` everything runs once.

#![allow(clippy::print_stdout, reason = "the numbers are what it is for")]

use std::ffi::c_void;
use std::fmt;
use std::hint::black_box;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use cuda_driver::{CuResult, Symbol};
use host::kernels::IMAGES;
use host::lessons::forkjoin::Program;
use streamlab::{Context, Device, Error, Log, Model};

/// Six launches, five records, eight waits.
const OPERATIONS: u32 = 19;
/// Diamonds in one time: long beside the clock's step, and short enough that no device's queue is full.
const DIAMONDS: u32 = 10;

fn main() -> Result<(), Error> {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    let runs = if typed.iter().any(|arg| arg == "--bench") { 1001 } else { 1 };
    let asked = typed.iter().position(|arg| arg == "--device").and_then(|at| typed.get(at + 1));
    let device = asked
        .map_or(Device::Auto, |device| device.parse().expect("`--device` takes auto, gpu:N or virtual:h200"));

    let context = Context::open(Device::Virtual(Model::H200), IMAGES)?;
    {
        let diamond = Program::new(&context, 1, 1, &[0.5; 256])?;
        // SAFETY: three functions that take what they are given and do nothing, and otherwise the virtual device's.
        unsafe { cuda_driver::fill(|symbol| idle(symbol).or_else(|| virtual_gpu::driver::resolve(symbol))) };
        println!("over calls that do nothing, {runs} times {DIAMONDS} diamonds of {OPERATIONS} operations");
        println!("{}", Costs::measure(&context, &diamond, runs)?);
    }
    drop(context.finish());

    let context = Context::open(device, IMAGES)?;
    if context.is_virtual() {
        println!("on no GPU: the calls of a virtual device take so long that the log is lost in them");
    } else {
        println!("on {}", context.device());
        let diamond = Program::new(&context, 1, 1, &[0.5; 256])?;
        println!("{}", Costs::measure(&context, &diamond, runs)?);
    }
    drop(context.finish());
    Ok(())
}

/// A function that does nothing, for the calls that are timed.
fn idle(symbol: Symbol) -> Option<NonNull<c_void>> {
    extern "C" fn answer() -> CuResult {
        CuResult::SUCCESS
    }
    match symbol {
        Symbol::cuLaunchKernel | Symbol::cuEventRecord | Symbol::cuStreamWaitEvent => {
            NonNull::new(answer as *mut c_void)
        }
        _ => None,
    }
}

/// Nanoseconds of one operation.
struct Costs {
    /// Submitted without a log.
    off: Nanoseconds,
    /// With one.
    on: Nanoseconds,
    /// The difference of two times that were taken one after the other.
    log: Nanoseconds,
    /// What the end of the log costs, after the submission.
    end: Nanoseconds,
    /// Looking for missing edges.
    check: Nanoseconds,
}

impl Costs {
    fn measure(context: &Context, diamond: &Program<'_>, runs: usize) -> Result<Costs, Error> {
        let [mut off, mut on, mut log, mut end, mut check] = [const { Vec::new() }; 5];
        // The first run is not counted: it loads the kernels.
        for run in 0..=runs {
            // Which of the two comes first changes from run to run.
            let mut plain = (run % 2 == 0).then(|| submit(context, diamond)).transpose()?;
            let (logged, whole, entries) = submit_logged(context, diamond)?;
            if plain.is_none() {
                plain = Some(submit(context, diamond)?);
            }
            let plain = plain.unwrap_or_default();
            let start = Instant::now();
            black_box(entries.missing_edges());
            let checked = start.elapsed();
            if run > 0 {
                let each = |time: Duration| 1e9 * time.as_secs_f64() / f64::from(DIAMONDS * OPERATIONS);
                off.push(each(plain));
                on.push(each(logged));
                log.push(each(logged) - each(plain));
                end.push(each(whole - logged));
                check.push(each(checked));
            }
        }
        let [off, on, log, end, check] = [off, on, log, end, check].map(|times| Nanoseconds::of(&times));
        Ok(Costs { off, on, log, end, check })
    }
}

/// How long the host takes to submit, without what the device does then.
fn submit(context: &Context, diamond: &Program<'_>) -> Result<Duration, Error> {
    let start = Instant::now();
    for _ in 0..DIAMONDS {
        diamond.diamond()?;
    }
    let time = start.elapsed();
    context.synchronize()?;
    Ok(time)
}

/// How long the host takes while a log is kept, then with the log's beginning and end.
fn submit_logged(context: &Context, diamond: &Program<'_>) -> Result<(Duration, Duration, Log), Error> {
    let mut inner = Duration::ZERO;
    let start = Instant::now();
    let log = streamlab::check(context, || {
        let start = Instant::now();
        for _ in 0..DIAMONDS {
            diamond.diamond()?;
        }
        inner = start.elapsed();
        Ok(())
    })?;
    let whole = start.elapsed();
    context.synchronize()?;
    Ok((inner, whole, log))
}

impl fmt::Display for Costs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Costs { off, on, log, end, check } = self;
        writeln!(f, "  floor   {off}: an operation without a log")?;
        writeln!(f, "  on      {on}: with one")?;
        writeln!(f, "  log     {log}: the difference")?;
        writeln!(f, "  end     {end}: the log's beginning and end, outside the submission")?;
        write!(f, "  check   {check}: missing edges, outside the submission")
    }
}

/// Median and the middle half of many times.
struct Nanoseconds {
    median: f64,
    from: f64,
    to: f64,
}

impl Nanoseconds {
    fn of(times: &[f64]) -> Self {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |part: usize| sorted[(sorted.len() - 1) * part / 4];
        Nanoseconds { median: at(2), from: at(1), to: at(3) }
    }
}

impl fmt::Display for Nanoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:8.1} ns ({:.1} to {:.1})", self.median, self.from, self.to)
    }
}
