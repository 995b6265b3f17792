//! Copies between host and device.
//!
//! Claim: the call of an asynchronous copy returns at once only when the host memory is pinned. With pageable memory it blocks the
//! host thread for about as long as the copy takes, and no call says so; the copy is slower, and nothing that the host submits
//! after it can overlap it. Copies of both directions overlap; two of one direction do not.
//!
//! Prediction: a pinned copy's call returns after microseconds with the copy not complete, a pageable one's when the copy is all
//! but done. Both directions together take as long as the longer one, two copies of one direction as long as both in a row.

use serde::Serialize;
use serde_json::json;
use streamlab::{
    Context, DeviceBuffer, Error, Event, HostBuffer, HostClock, NvtxRange, PageableBuffer, PinnedBuffer,
    Stream, StreamKind,
};
use timeline::thousands;

use crate::check::{Check, cut, equal, us};
use crate::cli::Repeat;
use crate::lab::{Lab, Outcome};
use crate::measure::Statistics;
use crate::overlap::{Interval, all_overlap};

/// The lesson's place in the order in which to take them.
pub const PLACE: u32 = 100;
/// What the lesson shows, in a line.
pub const ABOUT: &str = "Copies of pinned and pageable memory: when the call returns, and what overlaps";
/// Whether it records a timeline.
pub const DRAWS: bool = true;

/// What the lesson takes.
#[derive(Clone, Debug, clap::Args, Serialize)]
pub struct Args {
    /// Elements of a copy, four bytes each
    #[arg(long, value_name = "N", default_value_t = 1 << 24, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub elems: u64,
}

/// Two streams, and what is copied: of each pair of host buffers the first is copied from, the second copied to.
struct Program<'c> {
    context: &'c Context,
    repeat: Repeat,
    a: Stream<'c>,
    b: Stream<'c>,
    x: DeviceBuffer<'c, f32>,
    y: DeviceBuffer<'c, f32>,
    pinned: [PinnedBuffer<'c, f32>; 2],
    pageable: [PageableBuffer<'c, f32>; 2],
}

impl<'c> Program<'c> {
    fn new(context: &'c Context, repeat: Repeat, elems: usize) -> Result<Self, Error> {
        let pinned = |name| PinnedBuffer::new(context, name, elems);
        let pageable = |name| PageableBuffer::new(context, name, elems);
        Ok(Program {
            context,
            repeat,
            a: Stream::new(context, "A", StreamKind::NonBlocking)?,
            b: Stream::new(context, "B", StreamKind::NonBlocking)?,
            x: DeviceBuffer::new(context, "x", elems)?,
            y: DeviceBuffer::zeroed(context, "y", elems)?, // copied from before anything is copied to it
            pinned: [pinned("pinned from")?, pinned("pinned to")?],
            pageable: [pageable("pageable from")?, pageable("pageable to")?],
        })
    }

    /// Copies data to the device and back.
    fn round_trip<const PINNED: bool>(
        &self,
        [from, to]: &[HostBuffer<'_, f32, PINNED>; 2],
        data: &[f32],
    ) -> Result<Vec<f32>, Error> {
        from.write(data);
        self.a.copy_to_device(from, &self.x)?;
        self.a.copy_to_host(&self.x, to)?;
        self.a.synchronize()?;
        Ok(to.read())
    }

    /// Times a copy on a stream, and its call.
    fn time(
        &self,
        name: &'static str,
        stream: &Stream<'_>,
        mut copy: impl FnMut() -> Result<(), Error>,
    ) -> Result<Call, Error> {
        let [start, stop] = [Event::timing(self.context, "start")?, Event::timing(self.context, "stop")?];
        let (mut returned, mut device, mut complete_at_return) = (Vec::new(), Vec::new(), 0);
        for run in 0..self.repeat.warmups() + self.repeat.runs() {
            let _range = NvtxRange::new(self.context, name);
            stream.record(&start)?;
            let clock = HostClock::start();
            copy()?;
            let returned_ms = clock.elapsed_ms();
            let complete = stream.query()?;
            stream.record(&stop)?;
            stop.synchronize()?;
            if run >= self.repeat.warmups() {
                returned.push(returned_ms);
                device.push(Event::elapsed_ms(&start, &stop)?);
                complete_at_return += usize::from(complete);
            }
        }
        let returned = Statistics::of(&returned).unwrap_or(Statistics::UNKNOWN);
        let device = Statistics::of(&device).unwrap_or(Statistics::UNKNOWN);
        let gb_per_s = self.x.bytes() as f64 / device.median_ms * 1e-6;
        Ok(Call { name, returned, complete_at_return, device, gb_per_s })
    }

    /// One copy in each direction, of pinned memory.
    fn both_directions(&self) -> Result<(), Error> {
        self.a.copy_to_device(&self.pinned[0], &self.x)?;
        self.b.copy_to_host(&self.y, &self.pinned[1])
    }

    /// Two copies in one direction, of pinned memory.
    fn two_to_device(&self) -> Result<(), Error> {
        self.a.copy_to_device(&self.pinned[0], &self.x)?;
        self.b.copy_to_device(&self.pinned[0], &self.y)
    }

    /// One copy in each direction, of pageable memory.
    fn both_directions_pageable(&self) -> Result<(), Error> {
        self.a.copy_to_device(&self.pageable[0], &self.x)?; // blocks the host thread
        self.b.copy_to_host(&self.y, &self.pageable[1])
    }

    /// Broken: returns what the host reads of a copy to it that nobody has waited for.
    fn read_too_early(&self) -> Result<Vec<f32>, Error> {
        let _range = NvtxRange::new(self.context, "result read too early");
        self.a.copy_to_host(&self.x, &self.pinned[1])?;
        Ok(self.pinned[1].read())
    }
}

/// Runs the lesson.
pub fn run(lab: &mut Lab<'_>, args: &Args) -> Outcome {
    let (elems, engines) = (args.elems as usize, lab.device().copy_engines);
    lab.parameters(args, format!("{} bytes a copy, copy engines: {engines}", thousands(4 * args.elems)));
    lab.predict("only a pinned copy's call returns early, and only copies of opposite directions overlap");
    let p = Program::new(lab.context(), lab.repeat(), elems)?;

    // 1. What went to the device comes back, and no edge is missing on the way.
    let data: Vec<f32> = (0..elems).map(|i| (i % 65_521) as f32).collect();
    let mut back = Vec::new();
    lab.record("pinned", || p.round_trip(&p.pinned, &data).map(|read| back = read))?.missing_edges(0)?;
    lab.require(equal("pinned.result", "pinned, to the device and back", &back, &data))?;
    lab.record("pageable", || p.round_trip(&p.pageable, &data).map(|read| back = read))?.missing_edges(0)?;
    lab.require(equal("pageable.result", "pageable, to the device and back", &back, &data))?;

    // 2. When each call returns.
    let legacy = Stream::new(p.context, "legacy default stream", StreamKind::Legacy)?;
    let calls = [
        p.time("pinned to device, asynchronous", &p.a, || p.a.copy_to_device(&p.pinned[0], &p.x))?,
        p.time("pageable to device, asynchronous", &p.a, || p.a.copy_to_device(&p.pageable[0], &p.x))?,
        p.time("pageable to device, synchronous", &legacy, || p.x.copy_from(&data))?,
        p.time("pinned to host, asynchronous", &p.a, || p.a.copy_to_host(&p.x, &p.pinned[1]))?,
        p.time("pageable to host, asynchronous", &p.a, || p.a.copy_to_host(&p.x, &p.pageable[1]))?,
        p.time("pageable to host, synchronous", &legacy, || p.x.copy_to(&mut back))?,
    ];
    lab.say("copy                              call returned  complete by then  device time      GB/s");
    for Call { name, returned, complete_at_return: complete, device, gb_per_s } in &calls {
        let (returned_ms, device_ms) = (returned.median_ms, device.median_ms);
        let row = format!("{complete:>10} of {:<2}  {device_ms:>8.3} ms  {gb_per_s:>8.2}", returned.runs);
        lab.say(format!("{name:32}  {returned_ms:>10.4} ms  {row}"));
    }
    lab.value("calls", calls);
    for ([pinned, pageable, synchronous], way) in calls.as_chunks().0.iter().zip(["to-device", "to-host"]) {
        lab.check(returns(&format!("{way}.pinned-returns-early"), pinned, false));
        lab.check(complete_at_return(&format!("{way}.pinned-incomplete-at-return"), pinned, false));
        lab.check(returns(&format!("{way}.pageable-blocks"), pageable, true));
        lab.check(returns(&format!("{way}.synchronous-blocks"), synchronous, true));
        lab.check(pageable_is_slower(&format!("{way}.pageable-is-slower"), pageable, pinned));
    }
    // To the device the driver may return with the last bytes still in memory of its own.
    lab.check(complete_at_return("to-host.pageable-complete-at-return", &calls[4], true));

    // 3. Copies of both directions take as long as the longer one, two of one direction as long as both in a row.
    let one = lab.time_synchronized("to device", || p.a.copy_to_device(&p.pinned[0], &p.x))?.median_ms;
    let other = lab.time_synchronized("to host", || p.b.copy_to_host(&p.y, &p.pinned[1]))?.median_ms;
    let both = lab.time_synchronized("both directions", || p.both_directions())?.median_ms;
    let two = lab.time_synchronized("two to device", || p.two_to_device())?.median_ms;
    let late = !p.context.overlaps();
    lab.check_overlap(both_directions(both, one, other).unless(&reasons_against(one, engines, late)));
    lab.check_overlap(one_direction(two, one).unless(&reasons_against(one, 2, late)));

    // 4. The timeline shows what overlapped.
    lab.show("both directions, pinned", 0, || p.both_directions(), |ran, _| ran_together(ran, engines))?;
    lab.show("two to device, pinned", 0, || p.two_to_device(), |ran, _| took_turns(ran))?;
    lab.show(
        "both directions, pageable",
        0,
        || p.both_directions_pageable(),
        |ran, _| one_after_the_other(ran),
    )?;

    // 5. Broken: the host reads what a copy is still to bring.
    p.a.memset_zeros(&p.x)?;
    p.a.synchronize()?;
    p.pinned[1].write(&vec![1.0; elems]);
    lab.run("result read too early", || p.read_too_early().map(|read| back = read))?.missing_edges(1)?;
    let old = back.iter().filter(|&&value| value != 0.0).count();
    let seen = format!("{} of {} elements were old ones", thousands(old as u64), thousands(elems as u64));
    let text = format!("result read too early: {seen}, and every call succeeded. Not checked: a data race");
    lab.observe("read_too_early", json!({ "old_elements": old, "elements": elems }), text);
    lab.picture();
    Ok(())
}

/// One way to copy, over all runs.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Call {
    /// Which: `pinned to device, asynchronous`.
    pub name: &'static str,
    /// From the call to its return, by the host's clock.
    pub returned: Statistics,
    /// Runs in which a query said "complete" as soon as the call had returned.
    pub complete_at_return: usize,
    /// The copy's time by the device's clock.
    pub device: Statistics,
    /// Bytes over that time.
    pub gb_per_s: f64,
}

/// The part of a copy's time up to which a call returns at once, and from which on it blocks the host thread.
pub const BLOCKED: f64 = 0.5;
/// How many times as long pageable memory takes at least: the driver carries it through pinned memory of its own.
pub const MIN_SLOWER: f64 = 1.2;
/// The most that both directions together take, relative to one after the other. Perfect overlap would be 0.5.
pub const MAX_BOTH: f64 = 0.75;
/// The least that two copies of one direction take on two streams, relative to one after the other: one alone fills the bus.
pub const MIN_ONE_WAY: f64 = 0.9;
/// The most of a pageable copy that another one overlaps: the piece that was staged last.
pub const MAX_SHARED: f64 = 0.05;
/// A copy that takes less is as long as the calls around it, ms.
pub const MIN_COPY_MS: f64 = 0.1;

/// Returns why the time of a copy decides nothing; empty where it does. `late` is the virtual device's schedule.
pub fn reasons_against(copy_ms: f64, engines: u32, late: bool) -> Vec<String> {
    let late = late.then(|| "the late schedule overlaps nothing, and records the start last".to_owned());
    let few = (engines < 2).then(|| format!("the device has {engines} copy engine"));
    let short = || format!("a copy of {copy_ms:.3} ms is as short as its call (take more elements)");
    late.or(few).or_else(|| (copy_ms < MIN_COPY_MS).then(short)).into_iter().collect()
}

/// Checks when the call of a copy returns: when most of the copy is done where it `blocks` the host thread, else before that.
pub fn returns(id: &str, call: &Call, blocks: bool) -> Check {
    let (returned_ms, device_ms) = (call.returned.median_ms, call.device.median_ms);
    let part = returned_ms / device_ms;
    let (holds, limit) = if blocks { (part >= BLOCKED, "at least") } else { (part <= BLOCKED, "at most") };
    let times = format!("after {returned_ms:.4} ms of {device_ms:.3} ms, {limit} {BLOCKED} of it expected");
    let sentence = format!("{}: the call returned {times}", call.name);
    Check::that(holds, id, sentence).unless(&reasons_against(device_ms, 2, false))
}

/// Checks what a query said as soon as the call had returned: "complete" in all runs where `want` is set, else in none.
pub fn complete_at_return(id: &str, call: &Call, want: bool) -> Check {
    let (name, complete, runs) = (call.name, call.complete_at_return, call.returned.runs);
    let expected = if want { runs } else { 0 };
    let sentence = format!("{name}: complete at return in {complete} of {runs} runs, {expected} expected");
    let holds = complete == expected && runs > 0;
    Check::that(holds, id, sentence).unless(&reasons_against(call.device.median_ms, 2, false))
}

/// Checks that a copy of pageable memory takes longer than one of pinned memory.
pub fn pageable_is_slower(id: &str, pageable: &Call, pinned: &Call) -> Check {
    let (slow_ms, fast_ms) = (pageable.device.median_ms, pinned.device.median_ms);
    let (times, ratio) = (format!("{slow_ms:.3} ms / pinned {fast_ms:.3} ms"), slow_ms / fast_ms);
    let sentence = format!("{} {times} = {ratio:.2}x, at least {MIN_SLOWER}x expected", pageable.name);
    Check::that(ratio >= MIN_SLOWER, id, sentence).unless(&reasons_against(fast_ms, 2, false))
}

/// Checks that both directions overlap.
pub fn both_directions(both_ms: f64, to_device_ms: f64, to_host_ms: f64) -> Check {
    let part = both_ms / (to_device_ms + to_host_ms);
    let sentence = format!("both directions / their sum = {}x, at most {MAX_BOTH}x expected", cut(part));
    Check::that(part <= MAX_BOTH, "both-directions.ratio", sentence)
}

/// Checks that two copies of one direction on two streams take turns.
pub fn one_direction(two_ms: f64, one_ms: f64) -> Check {
    let part = cut(two_ms / (2.0 * one_ms));
    let sentence = format!("two copies to the device / twice one = {part}x, {MIN_ONE_WAY}x or more expected");
    Check::that(two_ms / (2.0 * one_ms) >= MIN_ONE_WAY, "one-direction.ratio", sentence)
}

/// Checks that the two copies of a traced run overlapped, on a device with so many copy engines.
pub fn ran_together(ran: &[Interval], engines: u32) -> Vec<Check> {
    let shortest_ns = ran.iter().map(|copy| copy.length_ns()).min().unwrap_or(0);
    let reasons = reasons_against(shortest_ns as f64 / 1e6, engines, false);
    vec![all_overlap("timeline.both-directions-overlap", "copies", ran).unless(&reasons)]
}

/// Checks that two copies took turns. The second is drawn from the first's end: at least half as long, unless they shared the bus.
pub fn took_turns(ran: &[Interval]) -> Vec<Check> {
    let &[first, second] = ran else { return Vec::new() };
    let (first, second) = (first.length_ns(), second.length_ns());
    let reason = (first == 0 || second < first.div_ceil(2)).then(|| "the copies shared the bus".to_owned());
    let sentence = format!("the second copy ended {} us after the first of {} us", us(second), us(first));
    vec![Check::pass("timeline.one-direction-serialized", sentence).unless(reason.as_slice())]
}

/// Checks that the second of two copies of pageable memory started when the first was all but over. The first call blocks the host
/// thread until the driver has staged the last of its memory, which may still be on its way then.
pub fn one_after_the_other(ran: &[Interval]) -> Vec<Check> {
    let &[first, second] = ran else { return Vec::new() };
    let shared_ns = first.shared_ns(second);
    let holds = first.length_ns() > 0 && shared_ns as f64 <= MAX_SHARED * first.length_ns() as f64;
    let sentence = format!("the copies overlapped for {} us of {} us", us(shared_ns), us(first.length_ns()));
    let sentence = format!("{sentence}, at most {MAX_SHARED} of it expected");
    vec![Check::that(holds, "timeline.pageable-serialized", sentence)]
}
