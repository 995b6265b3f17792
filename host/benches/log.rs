//! What it costs to keep a log while a lesson runs, for each operation of a diamond: `cargo bench -p host --bench log`,
//! with `-- --device gpu` for a card that is asked for. What is timed is the host's part alone: submitting. First over calls
//! that do nothing, where nothing hides the log, then on the card. Under `cargo test` everything runs once.

#![allow(clippy::print_stdout, reason = "the numbers are what it is for")]

use std::ffi::c_void;
use std::fmt;
use std::hint::black_box;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

use clap::Parser;
use cuda_driver::{CuResult, Symbol};
use host::args::{Cli, Command, ForkJoin};
use host::kernels::IMAGES;
use host::lesson::diamond::Diamond;
use host::order::missing_edges;
use host::submit::{Context, Error, Log, open_driver};

/// Six launches, five records, eight waits.
const OPERATIONS: u32 = 19;
/// Diamonds in one time: long beside the clock's step, and short enough that no card's queue is full.
const DIAMONDS: u32 = 10;

fn main() -> Result<(), Error> {
    let typed: Vec<String> = std::env::args().skip(1).collect();
    let runs = if typed.iter().any(|arg| arg == "--bench") { 1001 } else { 1 };
    let device = typed.iter().position(|arg| arg == "--device").and_then(|at| typed.get(at + 1));

    let virtual_card = options("virtual");
    open_driver(&virtual_card.common)?;
    let context = Context::open(0, IMAGES)?;
    {
        let diamond = Diamond::new(&context, &virtual_card, &[0.5; 256])?;
        // SAFETY: three functions that take what they are given and do nothing, and otherwise the virtual card's.
        unsafe { cuda_driver::fill(|symbol| idle(symbol).or_else(|| virtual_gpu::driver::resolve(symbol))) };
        println!("over calls that do nothing, {runs} times {DIAMONDS} diamonds of {OPERATIONS} operations");
        println!("{}", Costs::measure(&context, &diamond, runs)?);
    }
    drop(context.finish());

    let asked = options(device.map_or("auto", String::as_str));
    let opened = open_driver(&asked.common)?;
    if let Some(reason) = opened.reason {
        println!(
            "no GPU to use, and a virtual card's calls take so long that the log is lost in them ({reason})"
        );
        return Ok(());
    }
    let context = Context::open(opened.ordinal, IMAGES)?;
    println!("on {}", context.card());
    {
        let diamond = Diamond::new(&context, &asked, &[0.5; 256])?;
        println!("{}", Costs::measure(&context, &diamond, runs)?);
    }
    drop(context.finish());
    Ok(())
}

fn options(device: &str) -> ForkJoin {
    let words = ["host", "forkjoin", "--elems", "256", "--blocks", "1", "--iters", "1", "--device", device];
    match Cli::try_parse_from(words) {
        Ok(Cli { command: Command::Forkjoin(options), .. }) => options,
        Ok(_) => unreachable!("the words name the lesson"),
        Err(error) => error.exit(),
    }
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
    fn measure(context: &Context, diamond: &Diamond<'_>, runs: usize) -> Result<Costs, Error> {
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
            black_box(missing_edges(&entries));
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

/// How long the host takes to submit, without what the card does then.
fn submit(context: &Context, diamond: &Diamond<'_>) -> Result<Duration, Error> {
    let start = Instant::now();
    for _ in 0..DIAMONDS {
        diamond.submit_diamond()?;
    }
    let time = start.elapsed();
    context.synchronize()?;
    Ok(time)
}

/// The same while a log is kept, then with the log's beginning and end.
fn submit_logged(context: &Context, diamond: &Diamond<'_>) -> Result<(Duration, Duration, Log), Error> {
    let mut inner = Duration::ZERO;
    let start = Instant::now();
    let log = context.logged(|| {
        let start = Instant::now();
        for _ in 0..DIAMONDS {
            diamond.submit_diamond()?;
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
