//! The pitfalls: small programs with a flaw, each beside its repaired twin.
//!
//! Claim: no call of theirs says what is wrong, but for the one that asks an event without a timestamp for a time. The order that
//! was submitted says it, and the timeline shows it.
//!
//! Prediction: of each flawed program, how many edges are missing in it; of each repaired one, that none is.

pub mod programs;

use std::cell::Cell;
use std::ops::RangeInclusive;

use clap::builder::PossibleValuesParser;
use serde::Serialize;
use serde_json::json;
use streamlab::{Error, NvtxRange};
use timeline::thousands;

use self::programs::{ELEMS, Program, Rig};
use crate::check::{Check, count, us};
use crate::lab::{Lab, Outcome, Stop};
use crate::overlap::{Interval, after, all_overlap, before, intervals};

/// The lesson's place in the order in which to take them.
pub const PLACE: u32 = 130;
/// What the lesson shows, in a line.
pub const ABOUT: &str =
    "Small programs in which an order is missing or in the way, each beside its repaired twin";
/// Whether it records a timeline.
pub const DRAWS: bool = true;

/// What the lesson takes.
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct Args {
    /// One of them [default: all, one after the other]
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(PITFALLS.iter().map(|pitfall| pitfall.name)))]
    pub name: Option<String>,
    /// Steps of the kernel that takes long, of some 2 ns each
    #[arg(long, value_name = "N", default_value_t = 500_000, value_parser = clap::value_parser!(u32).range(1000..=1 << 24))]
    pub steps: u32,
}

/// A program with a flaw, and the program repaired.
pub struct Pitfall {
    /// What it is asked for by.
    pub name: &'static str,
    /// What goes wrong, in a sentence without its full stop.
    pub what: &'static str,
    /// With the flaw.
    pub flawed: Version,
    /// Without it.
    pub repaired: Version,
    /// What the two come to.
    pub comes_to: ComesTo,
}

/// A program, how many edges are missing in it, and what its timeline shows.
pub type Version = (Program, usize, Shows);

/// What the timeline of a program shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// The last kernel started before the one ahead of it had ended.
    Early,
    /// It started after that.
    After,
    /// The last kernel waited for the first.
    InTurn,
    /// The last kernel and the first overlapped.
    Overlap,
    /// The kernel started when the copy ahead of it, on another stream, was more than half over.
    Blocked,
    /// It started before that.
    Free,
    /// Nothing: what is wrong is no kernel's time.
    Nothing(&'static str),
}

/// What the outcomes of the two programs are.
pub enum ComesTo {
    /// What the last kernel computed; the repaired program comes to this.
    Value(fn(&Rig<'_>) -> f32),
    /// How much of a kernel's time a stopwatch holds.
    PartOfTheTime,
    /// What counts is for how long the device is idle.
    Idle,
    /// The flawed program is refused with this code; the repaired one is told a time.
    Refused(u32),
}

/// Twice what the slow kernel writes.
const OF_THE_SLOW_KERNEL: ComesTo = ComesTo::Value(|rig| 2.0 * rig.slow_value());
const ONE_KERNEL: Shows = Shows::Nothing("there is one kernel, and nothing to compare it with");
const STOPWATCH_WRONG: Shows = Shows::Nothing("the kernel ran as it should; the stopwatch is what is wrong");
const STOPWATCH_RIGHT: Shows = Shows::Nothing("the kernel ran as it should, and the stopwatch follows it");
const HOST_WRITES: Shows = Shows::Nothing("it shows kernels and copies, and not what the host writes");

/// All of them.
pub const PITFALLS: &[Pitfall] = &[
    Pitfall {
        name: "record-after-wait",
        what: "the wait is submitted before the record, when the event captures no work: it orders nothing",
        flawed: (programs::waited_too_early, 1, Shows::Early),
        repaired: (programs::recorded_then_waited, 0, Shows::After),
        comes_to: OF_THE_SLOW_KERNEL,
    },
    Pitfall {
        name: "never-recorded",
        what: "nothing records the event, and an event that was never recorded counts as done",
        flawed: (programs::never_recorded, 1, Shows::Early),
        repaired: (programs::recorded_then_waited, 0, Shows::After),
        comes_to: OF_THE_SLOW_KERNEL,
    },
    Pitfall {
        name: "event-reused",
        what: "one event serves two iterations in flight, and the second wait finds the first record",
        flawed: (programs::one_event_for_two_iterations, 1, Shows::Early),
        repaired: (programs::one_event_in_turn, 0, Shows::After),
        comes_to: OF_THE_SLOW_KERNEL,
    },
    Pitfall {
        name: "untimed-event",
        what: "a time is asked of an event that was made for ordering and has no timestamp",
        flawed: (programs::timed_by_an_ordering_event, 0, ONE_KERNEL),
        repaired: (programs::timed_by_timing_events, 0, ONE_KERNEL),
        comes_to: ComesTo::Refused(400), // CUDA_ERROR_INVALID_HANDLE
    },
    Pitfall {
        name: "stopwatch-elsewhere",
        what: "the stop is recorded on the default stream, which follows no non-blocking one: the time is too short",
        flawed: (programs::stop_elsewhere, 1, STOPWATCH_WRONG),
        repaired: (programs::stop_on_the_same_stream, 0, STOPWATCH_RIGHT),
        comes_to: ComesTo::PartOfTheTime,
    },
    Pitfall {
        name: "host-parked",
        what: "the host thread waits to order two kernels: right, but the device is idle until the next launch",
        flawed: (programs::host_parked, 0, Shows::After),
        repaired: (programs::recorded_then_waited, 0, Shows::After),
        comes_to: ComesTo::Idle,
    },
    Pitfall {
        name: "default-stream-between",
        what: "a launch on the legacy default stream is between those on two blocking streams: none overlap",
        flawed: (programs::default_stream_between, 0, Shows::InTurn),
        repaired: (programs::own_stream_between, 0, Shows::Overlap),
        comes_to: ComesTo::Value(|_| 2.0),
    },
    Pitfall {
        name: "pageable-copy",
        what: "an asynchronous copy of pageable memory blocks the host thread until the driver has staged it",
        flawed: (programs::kernel_after_a_pageable_copy, 0, Shows::Blocked),
        repaired: (programs::kernel_after_a_pinned_copy, 0, Shows::Free),
        comes_to: ComesTo::Value(|rig| rig.slow_value()),
    },
    Pitfall {
        name: "staging-refilled",
        what: "the host refills a pinned buffer before the copy from it is done",
        flawed: (programs::staging_refilled, 1, HOST_WRITES),
        repaired: (programs::two_staging_buffers, 0, HOST_WRITES),
        comes_to: ComesTo::Value(|_| 2.0), // twice what the host wrote first
    },
];

/// What a program did.
struct Ran {
    came_to: f32,
    calls: usize,
    kernels: Vec<Interval>,
}

/// Runs the lesson.
pub fn run(lab: &mut Lab<'_>, args: &Args) -> Outcome {
    lab.parameters(args, format!("a slow kernel of {} steps", thousands(args.steps)));
    let rig = Rig::new(lab.context(), ELEMS, args.steps)?;
    for pitfall in PITFALLS {
        if args.name.as_deref().is_none_or(|name| name == pitfall.name) {
            show(lab, pitfall, &rig)?;
        }
    }
    lab.picture();
    Ok(())
}

/// Shows one of them: what each of its programs submitted and when that ran, then what both came to.
fn show(lab: &mut Lab<'_>, pitfall: &Pitfall, rig: &Rig<'_>) -> Outcome {
    let Pitfall { name, what, flawed, repaired, comes_to } = pitfall;
    lab.say(format!("\n{name}: {what}"));

    // 1. The flawed program.
    let flawed = match run_one(lab, rig, name, *flawed) {
        Err(Stop::Error(error @ Error::Driver(_))) if matches!(comes_to, ComesTo::Refused(_)) => Err(error),
        outcome => Ok(outcome?),
    };
    let flawed_calls = flawed.as_ref().ok().map(|ran| ran.calls);

    // 2. The repaired one.
    let repaired = run_one(lab, rig, &format!("{name}, repaired"), *repaired)?;
    let (calls, came_to) = (repaired.calls, repaired.came_to);
    lab.value(name, json!({ "what": what, "flawed_calls": flawed_calls, "repaired_calls": calls }));

    // 3. What they came to.
    match (comes_to, flawed) {
        (ComesTo::Refused(code), flawed) => {
            lab.check(refused(name, flawed.map(|ran| ran.came_to), *code));
            lab.check(told(name, came_to));
        }
        (ComesTo::Idle, Ok(flawed)) => _ = lab.check_overlap(idle(name, &flawed.kernels, &repaired.kernels)),
        (ComesTo::Value(right), Ok(flawed)) => {
            _ = lab.check(value(name, flawed.came_to, came_to, right(rig)))
        }
        (ComesTo::PartOfTheTime, Ok(flawed)) => {
            _ = lab.check(part_of_the_time(name, flawed.came_to, came_to))
        }
        (_, Err(error)) => return Err(error.into()),
    }
    Ok(())
}

/// Runs a program with instrumented kernels: how many of its calls succeeded, which edges are missing in it, what ran when.
fn run_one(lab: &mut Lab<'_>, rig: &Rig<'_>, name: &str, version: Version) -> Outcome<Ran> {
    let (program, missing, shows) = version;
    rig.clear()?;
    let came_to = Cell::new(f32::NAN);
    let traced = lab.trace_after(0, name, || {
        let _range = NvtxRange::new(rig.context, name);
        came_to.set(program(rig)?);
        Ok(())
    })?;
    let (calls, kernels) = (traced.log.program.operations.len(), intervals(&traced.run));
    lab.say(format!("{name}: {} returned success", count(calls, "call", "calls")));
    lab.missing_edges(name, missing, &traced.log)?;
    lab.draw(traced.run, vec![shown(&format!("{name}.timeline"), shows, &kernels, lab.step_ns())]);
    Ok(Ran { came_to: came_to.get(), calls, kernels })
}

/// The most of a kernel's time that a stopwatch may hold which does not follow it: what the host takes between its two records.
pub const MAX_MISSED: f32 = 0.3;
/// How much of it a stopwatch holds that follows it. It also holds the launch.
pub const HELD: RangeInclusive<f32> = 0.9..=2.0;

/// Checks that the timeline shows it; `ran` is when the kernels and copies ran, in the order of submission.
pub fn shown(id: &str, what: Shows, ran: &[Interval], step_ns: u64) -> Check {
    let (reader, writer) = ("the reader", "the writer");
    match (what, ran) {
        (Shows::Nothing(why), _) => Check::not_judged(id, why),
        (Shows::Early, [.., first, last]) => before(id, (reader, *last), (writer, *first)),
        (Shows::After, [.., first, last]) => after(id, (reader, *last), (writer, *first), step_ns),
        (Shows::InTurn, [first, .., last]) => {
            after(id, ("B's kernel", *last), ("A's kernel", *first), step_ns)
        }
        (Shows::Overlap, [first, .., last]) => all_overlap(id, "slow kernels", &[*first, *last]),
        (Shows::Blocked | Shows::Free, [copy, kernel]) => {
            let past_ns = kernel.start_ns.saturating_sub(copy.start_ns);
            let part = past_ns as f64 / copy.length_ns().max(1) as f64;
            let sentence =
                format!("the kernel started when {:.0}% of the copy's time had passed", 100.0 * part);
            Check::that((part >= 0.5) == (what == Shows::Blocked), id, sentence)
        }
        _ => Check::fail(id, format!("{} nothing of it", count(ran.len(), "slice shows", "slices show"))),
    }
}

/// Checks that the repaired program computes what is right. What the flawed one computed decides nothing: a race can come out right.
pub fn value(name: &str, flawed: f32, repaired: f32, right: f32) -> Check {
    let sentence =
        format!("{name}: repaired it computes {repaired} (expected {right}), flawed {flawed} this time");
    Check::that(repaired == right, format!("{name}.value"), sentence)
}

/// Checks that the stopwatch held next to nothing of the kernel, and repaired all of it.
pub fn part_of_the_time(name: &str, flawed: f32, repaired: f32) -> Check {
    let [flawed_percent, repaired_percent] = [flawed, repaired].map(|part| format!("{:.0}%", 100.0 * part));
    let sentence = format!(
        "{name}: the stopwatch held {flawed_percent} of the kernel's time (expected at most {:.0}%), and repaired \
         {repaired_percent} (expected {:.0}% to {:.0}%)",
        100.0 * MAX_MISSED,
        100.0 * HELD.start(),
        100.0 * HELD.end()
    );
    Check::that(flawed <= MAX_MISSED && HELD.contains(&repaired), format!("{name}.time-held"), sentence)
}

/// Checks that the device was idle for longer between two kernels when the host ordered them.
pub fn idle(name: &str, flawed: &[Interval], repaired: &[Interval]) -> Check {
    let gap = |ran: &[Interval]| {
        let last = ran.windows(2).last();
        last.map_or(0, |pair| pair[1].start_ns.saturating_sub(pair[0].end_ns))
    };
    let (flawed, repaired) = (gap(flawed), gap(repaired));
    let sentence = format!(
        "{name}: between the kernels the device was idle for {} us when the host waited and launched, and for {} us when the \
         stream waited (expected less)",
        us(flawed),
        us(repaired)
    );
    Check::that(flawed > repaired, format!("{name}.idle"), sentence)
}

/// Checks that a call which must fail did so with the code that is documented for it.
pub fn refused(name: &str, outcome: Result<f32, Error>, code: u32) -> Check {
    let id = format!("{name}.refused");
    match outcome {
        Err(error) => {
            Check::that(error.code() == Some(code), id, format!("{name}: {error} (expected code {code})"))
        }
        Ok(ms) => Check::fail(id, format!("{name}: the call returned {ms} ms (expected code {code})")),
    }
}

/// Checks that the time that was asked for is there.
pub fn told(name: &str, ms: f32) -> Check {
    Check::that(ms > 0.0, format!("{name}.time"), format!("{name}: repaired the call returned {ms:.3} ms"))
}
