//! The programs of the pitfalls: each with its flaw, and repaired. Every call of them succeeds, but for one time that is asked of an
//! event without a timestamp. Where an edge is missing, its two operations are marked (1) and (2).
//!
//! `grind_fma(from, to, steps, 1.0, 1.0)` takes long, and writes `steps` more than it reads. `sweep_scale(from, to)` takes next to
//! no time, and writes twice what it reads: where nothing orders it after the slow kernel, it is done before it.

use gpu::forkjoin::grind_fma;
use gpu::streams::sweep_scale;
use streamlab::{
    Context, DeviceBuffer, Error, Event, LaunchConfig, PageableBuffer, PinnedBuffer, Stream, StreamKind,
};

/// Elements of each buffer: few, because all steps of the slow kernel are executed.
pub const ELEMS: usize = 64;
/// The shape of every launch: one block.
pub const BLOCK: LaunchConfig = LaunchConfig::new(1, ELEMS as u32);
/// Elements of a copy that takes much longer than a call: 32 MiB.
const COPIED: usize = 8 << 20;
/// What the host writes first, and second.
const FIRST: [f32; ELEMS] = [1.0; ELEMS];
const SECOND: [f32; ELEMS] = [2.0; ELEMS];

/// Submits, waits, and returns what it came to.
pub type Program = fn(&Rig<'_>) -> Result<f32, Error>;

/// What the programs share: a context, buffers, and how long the slow kernel takes. The buffers are all zero when a program begins,
/// but for `ones`.
#[expect(missing_docs, reason = "the names of the buffers are all that there is to say of them")]
pub struct Rig<'c> {
    pub context: &'c Context,
    /// Steps of the slow kernel, of some 2 ns each.
    pub steps: u32,
    pub zeros: DeviceBuffer<'c, f32>,
    pub ones: DeviceBuffer<'c, f32>,
    pub mid: DeviceBuffer<'c, f32>,
    pub other: DeviceBuffer<'c, f32>,
    pub another: DeviceBuffer<'c, f32>,
    pub rest: DeviceBuffer<'c, f32>,
    pub out: DeviceBuffer<'c, f32>,
}

impl<'c> Rig<'c> {
    /// Allocates buffers of `elems` elements. The slow kernel takes `steps` steps, at most 2^24: its result is exact.
    pub fn new(context: &'c Context, elems: usize, steps: u32) -> Result<Self, Error> {
        let buffer = |name| DeviceBuffer::new(context, name, elems);
        Ok(Rig {
            context,
            steps,
            zeros: buffer("zeros")?,
            ones: DeviceBuffer::from_slice(context, "ones", &vec![1.0; elems])?,
            mid: buffer("mid")?,
            other: buffer("other")?,
            another: buffer("another")?,
            rest: buffer("rest")?,
            out: buffer("out")?,
        })
    }

    /// Zeroes what a program before this one wrote, and waits for that.
    pub fn clear(&self) -> Result<(), Error> {
        for buffer in [&self.zeros, &self.mid, &self.other, &self.another, &self.rest, &self.out] {
            buffer.memset_zeros()?;
        }
        self.context.synchronize()
    }

    /// Returns what the slow kernel makes of zeros.
    pub fn slow_value(&self) -> f32 {
        self.steps as f32
    }

    /// Returns the first element of `out`.
    pub fn result(&self) -> Result<f32, Error> {
        Ok(self.out.to_vec()?[0])
    }

    /// Makes a non-blocking stream.
    pub fn stream(&self, name: &str) -> Result<Stream<'c>, Error> {
        Stream::new(self.context, name, StreamKind::NonBlocking)
    }

    /// Makes a blocking stream.
    pub fn blocking(&self, name: &str) -> Result<Stream<'c>, Error> {
        Stream::new(self.context, name, StreamKind::Blocking)
    }

    /// Returns the legacy default stream.
    pub fn default_stream(&self) -> Result<Stream<'c>, Error> {
        Stream::new(self.context, "default", StreamKind::Legacy)
    }

    /// Makes an event for ordering.
    pub fn event(&self, name: &str) -> Result<Event<'c>, Error> {
        Event::ordering(self.context, name)
    }

    /// Makes an event for timing.
    pub fn timing(&self, name: &str) -> Result<Event<'c>, Error> {
        Event::timing(self.context, name)
    }
}

/// The wait stands before the record.
pub fn waited_too_early(rig: &Rig<'_>) -> Result<f32, Error> {
    let (a, b, done) = (rig.stream("A")?, rig.stream("B")?, rig.event("done")?);
    a.launch(BLOCK, grind_fma(&rig.zeros, &rig.mid, rig.steps, 1.0, 1.0))?; // (1)
    b.wait(&done)?;
    a.record(&done)?;
    b.launch(BLOCK, sweep_scale(&rig.mid, &rig.out))?; // (2)
    rig.context.synchronize()?;
    rig.result()
}

/// Nothing records the event.
pub fn never_recorded(rig: &Rig<'_>) -> Result<f32, Error> {
    let (a, b, done) = (rig.stream("A")?, rig.stream("B")?, rig.event("done")?);
    a.launch(BLOCK, grind_fma(&rig.zeros, &rig.mid, rig.steps, 1.0, 1.0))?; // (1)
    b.wait(&done)?;
    b.launch(BLOCK, sweep_scale(&rig.mid, &rig.out))?; // (2)
    rig.context.synchronize()?;
    rig.result()
}

/// Launch, record, wait.
pub fn recorded_then_waited(rig: &Rig<'_>) -> Result<f32, Error> {
    let (a, b, done) = (rig.stream("A")?, rig.stream("B")?, rig.event("done")?);
    a.launch(BLOCK, grind_fma(&rig.zeros, &rig.mid, rig.steps, 1.0, 1.0))?;
    a.record(&done)?;
    b.wait(&done)?;
    b.launch(BLOCK, sweep_scale(&rig.mid, &rig.out))?;
    rig.context.synchronize()?;
    rig.result()
}

/// The second iteration's wait finds the first one's record.
pub fn one_event_for_two_iterations(rig: &Rig<'_>) -> Result<f32, Error> {
    let (a, b, done) = (rig.stream("A")?, rig.stream("B")?, rig.event("done")?);
    a.launch(BLOCK, sweep_scale(&rig.ones, &rig.other))?;
    a.record(&done)?;
    b.wait(&done)?;
    b.launch(BLOCK, sweep_scale(&rig.other, &rig.another))?;
    a.launch(BLOCK, grind_fma(&rig.zeros, &rig.mid, rig.steps, 1.0, 1.0))?; // (1)
    b.wait(&done)?;
    a.record(&done)?;
    b.launch(BLOCK, sweep_scale(&rig.mid, &rig.out))?; // (2)
    rig.context.synchronize()?;
    rig.result()
}

/// One event, recorded before the wait in each iteration.
pub fn one_event_in_turn(rig: &Rig<'_>) -> Result<f32, Error> {
    let (a, b, done) = (rig.stream("A")?, rig.stream("B")?, rig.event("done")?);
    for (made, used) in [(&rig.other, &rig.another), (&rig.mid, &rig.out)] {
        a.launch(BLOCK, grind_fma(&rig.zeros, made, rig.steps, 1.0, 1.0))?;
        a.record(&done)?;
        b.wait(&done)?;
        b.launch(BLOCK, sweep_scale(made, used))?;
    }
    rig.context.synchronize()?;
    rig.result()
}

/// A time is asked of an event that was made for ordering. Returns milliseconds, if the call does.
pub fn timed_by_an_ordering_event(rig: &Rig<'_>) -> Result<f32, Error> {
    let (stream, start, stop) = (rig.stream("S")?, rig.timing("start")?, rig.event("stop")?);
    stream.record(&start)?;
    stream.launch(BLOCK, grind_fma(&rig.zeros, &rig.mid, rig.steps, 1.0, 1.0))?;
    stream.record(&stop)?;
    stop.synchronize()?;
    Event::elapsed_ms(&start, &stop)
}

/// Both events were made for timing. Returns milliseconds.
pub fn timed_by_timing_events(rig: &Rig<'_>) -> Result<f32, Error> {
    let (stream, start, stop) = (rig.stream("S")?, rig.timing("start")?, rig.timing("stop")?);
    stream.record(&start)?;
    stream.launch(BLOCK, grind_fma(&rig.zeros, &rig.mid, rig.steps, 1.0, 1.0))?;
    stream.record(&stop)?;
    stop.synchronize()?;
    Event::elapsed_ms(&start, &stop)
}

/// The stop is recorded on the default stream, which does not follow a non-blocking one. Returns how much of the kernel's time is
/// in the time from start to stop.
pub fn stop_elsewhere(rig: &Rig<'_>) -> Result<f32, Error> {
    let (stream, default) = (rig.stream("S")?, rig.default_stream()?);
    let (start, stop) = (rig.timing("start")?, rig.timing("stop")?);
    let (begin, end) = (rig.timing("begin")?, rig.timing("end")?);
    default.record(&start)?;
    stream.record(&begin)?;
    stream.launch(BLOCK, grind_fma(&rig.zeros, &rig.mid, rig.steps, 1.0, 1.0))?; // (1)
    stream.record(&end)?;
    default.record(&stop)?; // (2)
    rig.context.synchronize()?;
    Ok(Event::elapsed_ms(&start, &stop)? / Event::elapsed_ms(&begin, &end)?)
}

/// The stop is recorded on the kernel's own stream.
pub fn stop_on_the_same_stream(rig: &Rig<'_>) -> Result<f32, Error> {
    let stream = rig.stream("S")?;
    let (start, stop) = (rig.timing("start")?, rig.timing("stop")?);
    let (begin, end) = (rig.timing("begin")?, rig.timing("end")?);
    stream.record(&start)?;
    stream.record(&begin)?;
    stream.launch(BLOCK, grind_fma(&rig.zeros, &rig.mid, rig.steps, 1.0, 1.0))?;
    stream.record(&end)?;
    stream.record(&stop)?;
    rig.context.synchronize()?;
    Ok(Event::elapsed_ms(&start, &stop)? / Event::elapsed_ms(&begin, &end)?)
}

/// The host thread waits so that one kernel comes after another.
pub fn host_parked(rig: &Rig<'_>) -> Result<f32, Error> {
    let (a, b, done) = (rig.stream("A")?, rig.stream("B")?, rig.event("done")?);
    a.launch(BLOCK, grind_fma(&rig.zeros, &rig.mid, rig.steps, 1.0, 1.0))?;
    a.record(&done)?;
    done.synchronize()?;
    b.launch(BLOCK, sweep_scale(&rig.mid, &rig.out))?;
    rig.context.synchronize()?;
    rig.result()
}

/// Between launches on two blocking streams, one goes to the legacy default stream.
pub fn default_stream_between(rig: &Rig<'_>) -> Result<f32, Error> {
    let (a, b, default) = (rig.blocking("A")?, rig.blocking("B")?, rig.default_stream()?);
    a.launch(BLOCK, grind_fma(&rig.zeros, &rig.mid, rig.steps, 1.0, 1.0))?;
    default.launch(BLOCK, sweep_scale(&rig.ones, &rig.out))?;
    b.launch(BLOCK, grind_fma(&rig.zeros, &rig.other, rig.steps, 1.0, 1.0))?;
    rig.context.synchronize()?;
    rig.result()
}

/// That launch goes to a stream of its own.
pub fn own_stream_between(rig: &Rig<'_>) -> Result<f32, Error> {
    let (a, b, c) = (rig.blocking("A")?, rig.blocking("B")?, rig.blocking("C")?);
    a.launch(BLOCK, grind_fma(&rig.zeros, &rig.mid, rig.steps, 1.0, 1.0))?;
    c.launch(BLOCK, sweep_scale(&rig.ones, &rig.out))?;
    b.launch(BLOCK, grind_fma(&rig.zeros, &rig.other, rig.steps, 1.0, 1.0))?;
    rig.context.synchronize()?;
    rig.result()
}

/// A copy of pageable memory by the asynchronous call, and after it a kernel on another stream.
pub fn kernel_after_a_pageable_copy(rig: &Rig<'_>) -> Result<f32, Error> {
    let (a, b) = (rig.stream("A")?, rig.stream("B")?);
    let from = PageableBuffer::<f32>::new(rig.context, "from", COPIED)?;
    let to = DeviceBuffer::<f32>::new(rig.context, "to", COPIED)?;
    a.copy_to_device(&from, &to)?;
    b.launch(BLOCK, grind_fma(&rig.zeros, &rig.out, rig.steps, 1.0, 1.0))?;
    rig.context.synchronize()?;
    rig.result()
}

/// The copy is of pinned memory.
pub fn kernel_after_a_pinned_copy(rig: &Rig<'_>) -> Result<f32, Error> {
    let (a, b) = (rig.stream("A")?, rig.stream("B")?);
    let from = PinnedBuffer::<f32>::new(rig.context, "from", COPIED)?;
    let to = DeviceBuffer::<f32>::new(rig.context, "to", COPIED)?;
    a.copy_to_device(&from, &to)?;
    b.launch(BLOCK, grind_fma(&rig.zeros, &rig.out, rig.steps, 1.0, 1.0))?;
    rig.context.synchronize()?;
    rig.result()
}

/// The host refills a staging buffer before the copy from it is done. A slow kernel is ahead of the copy.
pub fn staging_refilled(rig: &Rig<'_>) -> Result<f32, Error> {
    let (stream, staging) = (rig.stream("S")?, PinnedBuffer::new(rig.context, "staging", ELEMS)?);
    stream.launch(BLOCK, grind_fma(&rig.zeros, &rig.other, rig.steps, 1.0, 1.0))?;
    staging.write(&FIRST);
    stream.copy_to_device(&staging, &rig.mid)?; // (1)
    staging.write(&SECOND); // (2)
    stream.copy_to_device(&staging, &rig.another)?;
    stream.launch(BLOCK, sweep_scale(&rig.mid, &rig.out))?;
    rig.context.synchronize()?;
    rig.result()
}

/// The second copy has a staging buffer of its own.
pub fn two_staging_buffers(rig: &Rig<'_>) -> Result<f32, Error> {
    let (stream, staging) = (rig.stream("S")?, PinnedBuffer::new(rig.context, "staging", ELEMS)?);
    let next = PinnedBuffer::new(rig.context, "next", ELEMS)?;
    stream.launch(BLOCK, grind_fma(&rig.zeros, &rig.other, rig.steps, 1.0, 1.0))?;
    staging.write(&FIRST);
    stream.copy_to_device(&staging, &rig.mid)?;
    next.write(&SECOND);
    stream.copy_to_device(&next, &rig.another)?;
    stream.launch(BLOCK, sweep_scale(&rig.mid, &rig.out))?;
    rig.context.synchronize()?;
    rig.result()
}
