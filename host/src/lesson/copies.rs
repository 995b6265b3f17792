//! Copies between host and device.
//!
//! Claim: a copy on a stream leaves the host at once only when its host memory is page-locked. With pageable memory the
//! same call holds the host for about as long as the copy takes, without a word; it is slower, and nothing that the host
//! submits behind it can run beside it. Copies of both directions run side by side; two of one direction do not.
//!
//! Prediction: the call of a pinned copy returns after microseconds, and the copy is not complete then. The call of a
//! pageable one returns when the copy is all but done. Both directions at once take as long as the longer one, two copies of
//! one direction as long as both in a row.

use serde::Serialize;

use super::stopwatch::time_drained;
use super::watched::Watched;
use super::{Gates, Setting};
use crate::args;
use crate::band::intervals;
use crate::gate::overlap::{self, Interval};
use crate::gate::{Gate, copies as gates, equality};
use crate::measure::Statistics;
use crate::report::{Report, thousands};
use crate::submit::{
    Buffer, Context, Error, Event, HostClock, HostMemory, Pageable, Pinned, Range, Stream, StreamKind,
};

/// What the lesson found, as its JSON document has it. What would come after a failed gate is absent.
#[derive(Debug, Serialize)]
pub struct Findings {
    lesson: &'static str,
    #[serde(flatten)]
    setting: Setting,
    parameters: args::Copies,
    gates: Gates,
    calls: Vec<Row>,
    at_once: Vec<Region>,
    read_too_early: Option<Observation>,
    #[serde(flatten)]
    watched: Watched,
}

/// One way to copy, in every run.
#[derive(Clone, Debug, Serialize)]
struct Row {
    name: &'static str,
    /// From the call to its return, by the host's clock.
    returned: Statistics,
    /// Runs in which a query said "complete" as soon as the call had returned.
    complete_at_return: u32,
    runs: u32,
    /// The copy's time by the card's clock.
    card: Statistics,
    gb_per_s: f64,
}

/// Copies that were submitted together.
#[derive(Debug, Serialize)]
struct Region {
    name: &'static str,
    times: Statistics,
}

/// What was seen and decides nothing.
#[derive(Debug, Serialize)]
struct Observation {
    old_elements: usize,
    elements: usize,
}

super::lesson!(args::Copies);

/// Runs the lesson: the data there and back, each call's return, copies at once, and a result that is read too early.
///
/// # Errors
///
/// Any error of the submission layer. A failed gate is not one: it is in the findings.
pub fn run(context: &Context, options: &args::Copies, report: Report) -> Result<Findings, Error> {
    let mut findings = Findings {
        lesson: "copies",
        setting: Setting::of(context),
        parameters: options.clone(),
        gates: Gates::default(),
        calls: Vec::new(),
        at_once: Vec::new(),
        read_too_early: None,
        watched: Watched::new(context, "copies", options.common.order, report),
    };
    findings.introduce(report);
    let ends = Ends::new(context, options.elems as usize)?;
    let there = findings.there_and_back("pinned", &ends, &ends.pinned, report)?
        && findings.there_and_back("pageable", &ends, &ends.pageable, report)?;
    if there {
        findings.calls(&ends, report)?;
        findings.at_once(&ends, report)?;
        findings.trace(&ends, report)?;
        findings.read_too_early(&ends, report)?;
        report.picture(findings.watched.timeline());
    }
    Ok(findings)
}

const TO_DEVICE: [&str; 3] =
    ["pinned to device, asynchronous", "pageable to device, asynchronous", "pageable to device, synchronous"];
const TO_HOST: [&str; 3] =
    ["pinned to host, asynchronous", "pageable to host, asynchronous", "pageable to host, synchronous"];

impl Findings {
    fn introduce(&self, report: Report) {
        self.setting.say(report);
        report.say(format!(
            "parameters: {} bytes a copy, {} runs after {} warm-ups, {} copy engines",
            thousands(self.parameters.elems * size_of::<f32>() as u64),
            self.parameters.common.repeat.runs(),
            self.parameters.common.repeat.warmups(),
            self.setting.card.copy_engines
        ));
    }

    /// What went to the device comes back, and no edge is missing on the way.
    fn there_and_back<const PAGE_LOCKED: bool>(
        &mut self,
        name: &'static str,
        ends: &Ends<'_>,
        memory: &[HostMemory<'_, f32, PAGE_LOCKED>; 2],
        report: Report,
    ) -> Result<bool, Error> {
        let [from, to] = memory;
        let data: Vec<f32> = (0..from.len()).map(|i| (i % 65_521) as f32).collect();
        let mut back = Vec::new();
        let log = self.watched.log(ends.context, || {
            from.write(&data);
            ends.streams[0].copy_to_device(from, &ends.buffers[0])?;
            ends.streams[0].copy_to_host(&ends.buffers[0], to)?;
            ends.streams[0].synchronize()?;
            back = to.read();
            Ok(())
        })?;
        let arrived = self.gates.hold(equality(&format!("{name}, there and back"), &back, &data), report);
        Ok(self.watched.look(name, 0, log.as_ref(), &mut self.gates, report) && arrived)
    }

    /// When each call returns, and what its copy takes.
    fn calls(&mut self, ends: &Ends<'_>, report: Report) -> Result<(), Error> {
        let Ends { streams: [stream, _], legacy, buffers: [x, _], pinned, pageable, .. } = ends;
        // Not zeros: those could be one page of the host's, many times over.
        let mut plain = vec![1.0; x.len()];
        report.say(format!(
            "{:32}  {:>13}  {:>16}  {:>11}  {:>8}",
            "copy", "call returned", "complete by then", "card's time", "GB/s"
        ));
        self.row(TO_DEVICE[0], ends, stream, report, || stream.copy_to_device(&pinned[0], x))?;
        self.row(TO_DEVICE[1], ends, stream, report, || stream.copy_to_device(&pageable[0], x))?;
        self.row(TO_DEVICE[2], ends, legacy, report, || x.copy_from(&plain))?;
        self.row(TO_HOST[0], ends, stream, report, || stream.copy_to_host(x, &pinned[1]))?;
        self.row(TO_HOST[1], ends, stream, report, || stream.copy_to_host(x, &pageable[1]))?;
        self.row(TO_HOST[2], ends, legacy, report, || x.copy_to(&mut plain))?;

        let rows = self.calls.clone();
        for (names, direction) in [(TO_DEVICE, "to device"), (TO_HOST, "to host")] {
            let [pinned, pageable, synchronous] = names.map(|name| rows.iter().find(|row| row.name == name));
            let (Some(pinned), Some(pageable), Some(synchronous)) = (pinned, pageable, synchronous) else {
                continue;
            };
            self.gates.hold(gates::returns_at_once(pinned.call()), report);
            self.gates.hold(pinned.complete(false), report);
            self.gates.hold(gates::holds_the_host(pageable.call()), report);
            self.gates.hold(gates::holds_the_host(synchronous.call()), report);
            let (slow_ms, fast_ms) = (pageable.card.median_ms, pinned.card.median_ms);
            self.gates.hold(gates::pageable_is_slower(direction, slow_ms, fast_ms), report);
            // To the device the driver may return with the last bytes still in memory of its own.
            if direction == "to host" {
                self.gates.hold(pageable.complete(true), report);
            }
        }
        Ok(())
    }

    fn row(
        &mut self,
        name: &'static str,
        ends: &Ends<'_>,
        stream: &Stream<'_>,
        report: Report,
        mut copy: impl FnMut() -> Result<(), Error>,
    ) -> Result<(), Error> {
        let repeat = self.parameters.common.repeat;
        let (start, stop) = (Event::timing(ends.context, "start")?, Event::timing(ends.context, "stop")?);
        let (mut returned, mut card, mut complete_at_return) = (Vec::new(), Vec::new(), 0);
        for run in 0..repeat.warmups() + repeat.runs() {
            let _range = Range::new(ends.context, name);
            stream.record(&start)?;
            let clock = HostClock::start();
            copy()?;
            let returned_ms = clock.elapsed_ms();
            let complete = stream.query()?;
            stream.record(&stop)?;
            stop.synchronize()?;
            if run >= repeat.warmups() {
                returned.push(returned_ms);
                card.push(Event::elapsed_ms(&start, &stop)?);
                complete_at_return += u32::from(complete);
            }
        }
        let card = Statistics::of(&card).unwrap_or(Statistics::UNKNOWN);
        let row = Row {
            name,
            returned: Statistics::of(&returned).unwrap_or(Statistics::UNKNOWN),
            complete_at_return,
            runs: repeat.runs(),
            card,
            gb_per_s: ends.buffers[0].bytes() as f64 / card.median_ms * 1e-6,
        };
        report.say(format!(
            "{name:32}  {:>10.4} ms  {:>10} of {:<2}  {:>8.3} ms  {:>8.2}",
            row.returned.median_ms, row.complete_at_return, row.runs, card.median_ms, row.gb_per_s
        ));
        self.calls.push(row);
        Ok(())
    }

    /// One copy, and two at once.
    fn at_once(&mut self, ends: &Ends<'_>, report: Report) -> Result<(), Error> {
        let to_device = self.region("to device", ends, report, || ends.to_device(0))?;
        let to_host = self.region("to host", ends, report, || ends.to_host(&ends.pinned[1]))?;
        let both = self.region("both directions", ends, report, || ends.both_directions())?;
        let two = self.region("two to device", ends, report, || ends.two_to_device())?;
        let engines = self.setting.card.copy_engines;
        let gate = gates::both_directions(both, to_device, to_host, engines);
        self.gates.hold_overlap(gate, ends.context, report);
        self.gates.hold_overlap(gates::one_direction(two, to_device), ends.context, report);
        Ok(())
    }

    /// Times copies, prints it, and returns the median.
    fn region(
        &mut self,
        name: &'static str,
        ends: &Ends<'_>,
        report: Report,
        submit: impl Fn() -> Result<(), Error>,
    ) -> Result<f64, Error> {
        let times = time_drained(ends.context, name, self.parameters.common.repeat, submit)?;
        report.time(&format!("{name:15}"), times);
        self.at_once.push(Region { name, times });
        Ok(times.median_ms)
    }

    /// What ran beside what, with the clock read around each copy.
    fn trace(&mut self, ends: &Ends<'_>, report: Report) -> Result<(), Error> {
        type Submit<'e> = &'e dyn Fn() -> Result<(), Error>;
        type Judge = fn(first: Interval, second: Interval, engines: u32, step_ns: u64) -> Gate;
        let parts: [(&str, Submit<'_>, Judge); 3] = [
            ("both directions, pinned", &|| ends.both_directions(), |first, second, engines, _| {
                gates::ran_at_once(first, second, engines)
            }),
            ("two to device, pinned", &|| ends.two_to_device(), |first, second, _, _| {
                gates::took_turns(first, second)
            }),
            (
                "both directions, pageable",
                &|| ends.both_directions_pageable(),
                |first, second, _, step_ns| {
                    overlap::after("the second copy", second, "the first", first, step_ns)
                },
            ),
        ];
        for (name, submit, judge) in parts {
            let warmups = self.parameters.common.repeat.warmups();
            let (band, log) = self.watched.trace(ends.context, name, warmups, submit, report)?;
            let gate = match intervals(&band)[..] {
                [first, second] => {
                    judge(first, second, self.setting.card.copy_engines, self.watched.step_ns())
                }
                _ => overlap::side_by_side("copies", &[]),
            };
            self.watched.draw(band, std::slice::from_ref(&gate));
            self.gates.hold_overlap(gate, ends.context, report);
            self.watched.look(name, 0, Some(&log), &mut self.gates, report);
        }
        Ok(())
    }

    /// Broken: the host reads what a copy is still to bring.
    fn read_too_early(&mut self, ends: &Ends<'_>, report: Report) -> Result<(), Error> {
        let name = "result read too early";
        let [stream, _] = &ends.streams;
        let [buffer, _] = &ends.buffers;
        let [_, result] = &ends.pinned;
        let ones = vec![1.0; buffer.len()];
        stream.zero(buffer)?;
        stream.synchronize()?;
        result.write(&ones);
        let mut read = Vec::new();
        let log = self.watched.log(ends.context, || {
            let _range = Range::new(ends.context, name);
            stream.copy_to_host(buffer, result)?;
            read = result.read();
            Ok(())
        })?;
        stream.synchronize()?;
        let old_elements = read.iter().filter(|&&value| value != 0.0).count();
        report.say(format!(
            "{name}: {} of {} elements were still the old ones, and no call failed. An observation, not a gate: it depends \
             on who was faster",
            thousands(old_elements as u64),
            thousands(read.len() as u64)
        ));
        self.read_too_early = Some(Observation { old_elements, elements: read.len() });
        self.watched.look(name, 1, log.as_ref(), &mut self.gates, report);
        Ok(())
    }
}

impl Row {
    fn call(&self) -> gates::Call<'_> {
        gates::Call { name: self.name, returned_ms: self.returned.median_ms, card_ms: self.card.median_ms }
    }

    fn complete(&self, want: bool) -> Gate {
        if self.card.median_ms < gates::MIN_COPY_MS {
            return Gate::not_gated(format!(
                "{}: the copy is too short to tell when it is complete",
                self.name
            ));
        }
        gates::complete_at_return(self.name, self.complete_at_return, self.runs, want)
    }
}

/// What is copied from and to.
struct Ends<'c> {
    context: &'c Context,
    streams: [Stream<'c>; 2],
    legacy: Stream<'c>,
    buffers: [Buffer<'c, f32>; 2],
    pinned: [Pinned<'c, f32>; 2],
    pageable: [Pageable<'c, f32>; 2],
}

impl<'c> Ends<'c> {
    fn new(context: &'c Context, elems: usize) -> Result<Self, Error> {
        let stream = |name| Stream::new(context, name, StreamKind::NonBlocking);
        let ends = Ends {
            context,
            streams: [stream("A")?, stream("B")?],
            legacy: Stream::new(context, "legacy default stream", StreamKind::Legacy)?,
            buffers: [Buffer::new(context, "x", elems)?, Buffer::new(context, "y", elems)?],
            pinned: [Pinned::new(context, "pinned from", elems)?, Pinned::new(context, "pinned to", elems)?],
            pageable: [
                Pageable::new(context, "pageable from", elems)?,
                Pageable::new(context, "pageable to", elems)?,
            ],
        };
        // `y` is copied from, and what is in it is unspecified until something is written.
        ends.streams[1].zero(&ends.buffers[1])?;
        context.synchronize()?;
        Ok(ends)
    }

    /// On stream A or B, to the buffer of the same number.
    fn to_device(&self, lane: usize) -> Result<(), Error> {
        self.streams[lane].copy_to_device(&self.pinned[0], &self.buffers[lane])
    }

    fn to_host<const PAGE_LOCKED: bool>(&self, to: &HostMemory<'_, f32, PAGE_LOCKED>) -> Result<(), Error> {
        self.streams[1].copy_to_host(&self.buffers[1], to)
    }

    fn both_directions(&self) -> Result<(), Error> {
        self.to_device(0)?;
        self.to_host(&self.pinned[1])
    }

    fn two_to_device(&self) -> Result<(), Error> {
        self.to_device(0)?;
        self.to_device(1)
    }

    fn both_directions_pageable(&self) -> Result<(), Error> {
        self.streams[0].copy_to_device(&self.pageable[0], &self.buffers[0])?;
        self.to_host(&self.pageable[1])
    }
}
