//! The pitfalls' programs: each with its flaw, and repaired. Every call of every one of them succeeds, but for one time that is
//! asked of an event without. Where an edge is missing, its two ends are marked (1) and (2).

use crate::lesson::rig::{ELEMS, Rig};
use crate::submit::{Buffer, Error, Event, HostMemory, Pinned, Stream};

const FIRST: [f32; ELEMS] = [1.0; ELEMS];
const SECOND: [f32; ELEMS] = [2.0; ELEMS];

/// Elements of a copy that takes much longer than a call: 32 MiB.
const COPIED: usize = 8 << 20;

type Outcome = Result<f32, Error>;

/// The wait stands before the record.
pub fn waited_too_early(rig: &Rig<'_>) -> Outcome {
    let (a, b, done) = (rig.stream("A")?, rig.stream("B")?, rig.event("done")?);
    rig.slow(&a, &rig.mid)?; // (1)
    b.wait(&done)?;
    a.record(&done)?;
    rig.quick(&b, &rig.mid, &rig.out)?; // (2)
    rig.outcome()
}

/// Nobody records the event.
pub fn never_recorded(rig: &Rig<'_>) -> Outcome {
    let (a, b, done) = (rig.stream("A")?, rig.stream("B")?, rig.event("done")?);
    rig.slow(&a, &rig.mid)?; // (1)
    b.wait(&done)?;
    rig.quick(&b, &rig.mid, &rig.out)?; // (2)
    rig.outcome()
}

/// Launch, record, wait.
pub fn recorded_then_waited(rig: &Rig<'_>) -> Outcome {
    let (a, b, done) = (rig.stream("A")?, rig.stream("B")?, rig.event("done")?);
    rig.slow(&a, &rig.mid)?;
    a.record(&done)?;
    b.wait(&done)?;
    rig.quick(&b, &rig.mid, &rig.out)?;
    rig.outcome()
}

/// The second iteration's wait finds the first one's record.
pub fn one_event_for_two_iterations(rig: &Rig<'_>) -> Outcome {
    let (a, b, done) = (rig.stream("A")?, rig.stream("B")?, rig.event("done")?);
    rig.quick(&a, &rig.ones, &rig.other)?;
    a.record(&done)?;
    b.wait(&done)?;
    rig.quick(&b, &rig.other, &rig.another)?;
    rig.slow(&a, &rig.mid)?; // (1)
    b.wait(&done)?;
    a.record(&done)?;
    rig.quick(&b, &rig.mid, &rig.out)?; // (2)
    rig.outcome()
}

/// One event, recorded before the wait in each iteration.
pub fn one_event_in_turn(rig: &Rig<'_>) -> Outcome {
    let (a, b, done) = (rig.stream("A")?, rig.stream("B")?, rig.event("done")?);
    for (made, used) in [(&rig.other, &rig.another), (&rig.mid, &rig.out)] {
        rig.slow(&a, made)?;
        a.record(&done)?;
        b.wait(&done)?;
        rig.quick(&b, made, used)?;
    }
    rig.outcome()
}

/// An event for each iteration, both recorded before the first wait.
pub fn an_event_for_each_iteration(rig: &Rig<'_>) -> Outcome {
    let (a, b) = (rig.stream("A")?, rig.stream("B")?);
    let done = [rig.event("done0")?, rig.event("done1")?];
    let made = [(&rig.other, &rig.another), (&rig.mid, &rig.out)];
    for ((made, _), done) in made.iter().zip(&done) {
        rig.slow(&a, made)?;
        a.record(done)?;
    }
    for ((made, used), done) in made.iter().zip(&done) {
        b.wait(done)?;
        rig.quick(&b, made, used)?;
    }
    rig.outcome()
}

/// A time is asked of an event that was made for ordering: milliseconds, if there were an answer.
pub fn timed_by_an_ordering_event(rig: &Rig<'_>) -> Outcome {
    time_to(rig, &rig.event("stop")?)
}

/// The same with events of the other kind.
pub fn timed_by_timing_events(rig: &Rig<'_>) -> Outcome {
    time_to(rig, &rig.stopwatch("stop")?)
}

fn time_to(rig: &Rig<'_>, stop: &Event<'_>) -> Outcome {
    let (stream, start) = (rig.stream("S")?, rig.stopwatch("start")?);
    stream.record(&start)?;
    rig.slow(&stream, &rig.mid)?;
    stream.record(stop)?;
    stop.synchronize()?;
    Event::elapsed_ms(&start, stop)
}

/// The stop is recorded on the default stream, which does not follow a non-blocking one.
pub fn stop_elsewhere(rig: &Rig<'_>) -> Outcome {
    part_in_the_time(rig, &rig.stream("S")?, &rig.default_stream()?)
}

/// The kernel is on a blocking stream, which the default stream follows.
pub fn stop_behind_a_blocking_stream(rig: &Rig<'_>) -> Outcome {
    part_in_the_time(rig, &rig.blocking("S")?, &rig.default_stream()?)
}

/// The stop is recorded on the kernel's own stream.
pub fn stop_on_the_same_stream(rig: &Rig<'_>) -> Outcome {
    let stream = rig.stream("S")?;
    part_in_the_time(rig, &stream, &stream)
}

/// A kernel on `stream` between two records on `clock`: how much of its time is between them.
fn part_in_the_time(rig: &Rig<'_>, stream: &Stream<'_>, clock: &Stream<'_>) -> Outcome {
    let (start, stop) = (rig.stopwatch("start")?, rig.stopwatch("stop")?);
    let (begin, end) = (rig.stopwatch("begin")?, rig.stopwatch("end")?);
    clock.record(&start)?;
    stream.record(&begin)?;
    rig.slow(stream, &rig.mid)?; // (1)
    stream.record(&end)?;
    clock.record(&stop)?; // (2)
    rig.context.synchronize()?;
    Ok(Event::elapsed_ms(&start, &stop)? / Event::elapsed_ms(&begin, &end)?)
}

/// The host stands still so that one kernel comes after another.
pub fn host_parked(rig: &Rig<'_>) -> Outcome {
    let (a, b, done) = (rig.stream("A")?, rig.stream("B")?, rig.event("done")?);
    rig.slow(&a, &rig.mid)?;
    a.record(&done)?;
    done.synchronize()?;
    rig.quick(&b, &rig.mid, &rig.out)?;
    rig.outcome()
}

/// Between two blocking streams one launch goes to the legacy default stream.
pub fn default_stream_between(rig: &Rig<'_>) -> Outcome {
    one_between_two(rig, &rig.default_stream()?)
}

/// The same launch on a stream of its own.
pub fn own_stream_between(rig: &Rig<'_>) -> Outcome {
    one_between_two(rig, &rig.blocking("C")?)
}

fn one_between_two(rig: &Rig<'_>, between: &Stream<'_>) -> Outcome {
    let (a, b) = (rig.blocking("A")?, rig.blocking("B")?);
    rig.slow(&a, &rig.mid)?;
    rig.quick(between, &rig.ones, &rig.out)?;
    rig.slow(&b, &rig.other)?;
    rig.outcome()
}

/// A copy of ordinary memory by the asynchronous call, and a kernel that is submitted behind it to another stream.
pub fn beside_a_pageable_copy(rig: &Rig<'_>) -> Outcome {
    beside_a_copy::<false>(rig)
}

/// The same with page-locked memory.
pub fn beside_a_page_locked_copy(rig: &Rig<'_>) -> Outcome {
    beside_a_copy::<true>(rig)
}

fn beside_a_copy<const PAGE_LOCKED: bool>(rig: &Rig<'_>) -> Outcome {
    let (a, b) = (rig.stream("A")?, rig.stream("B")?);
    let from = HostMemory::<f32, PAGE_LOCKED>::new(rig.context, "from", COPIED)?;
    let to = Buffer::<f32>::new(rig.context, "to", COPIED)?;
    a.copy_to_device(&from, &to)?;
    rig.slow(&b, &rig.out)?;
    rig.outcome()
}

/// The host refills a staging buffer while the copy from it is still to come.
pub fn staging_refilled(rig: &Rig<'_>) -> Outcome {
    let (stream, staging) = held_up(rig)?;
    staging.write(&FIRST);
    stream.copy_to_device(&staging, &rig.mid)?; // (1)
    staging.write(&SECOND); // (2)
    finish(rig, &stream, &staging)
}

/// A second staging buffer for the second copy.
pub fn two_staging_buffers(rig: &Rig<'_>) -> Outcome {
    let (stream, staging) = held_up(rig)?;
    let next = Pinned::new(rig.context, "next", ELEMS)?;
    staging.write(&FIRST);
    stream.copy_to_device(&staging, &rig.mid)?;
    next.write(&SECOND);
    finish(rig, &stream, &next)
}

/// The host waits for the copy before it refills.
pub fn staging_waited_for(rig: &Rig<'_>) -> Outcome {
    let ((stream, staging), copied) = (held_up(rig)?, rig.event("copied")?);
    staging.write(&FIRST);
    stream.copy_to_device(&staging, &rig.mid)?;
    stream.record(&copied)?;
    copied.synchronize()?;
    staging.write(&SECOND);
    finish(rig, &stream, &staging)
}

/// The host asks until the copy is complete: an answer of `true` is as good as a wait.
pub fn staging_asked_for(rig: &Rig<'_>) -> Outcome {
    let (stream, staging) = held_up(rig)?;
    staging.write(&FIRST);
    stream.copy_to_device(&staging, &rig.mid)?;
    while !stream.query()? {}
    staging.write(&SECOND);
    finish(rig, &stream, &staging)
}

/// Twice what the first copy brought.
fn finish(rig: &Rig<'_>, stream: &Stream<'_>, staging: &Pinned<'_, f32>) -> Outcome {
    stream.copy_to_device(staging, &rig.another)?;
    rig.quick(stream, &rig.mid, &rig.out)?;
    rig.outcome()
}

/// A stream with a slow kernel in it, which writes `other`, and page-locked memory.
pub fn held_up<'c>(rig: &Rig<'c>) -> Result<(Stream<'c>, Pinned<'c, f32>), Error> {
    let (stream, staging) = (rig.stream("S")?, Pinned::new(rig.context, "staging", ELEMS)?);
    rig.slow(&stream, &rig.other)?;
    Ok((stream, staging))
}
