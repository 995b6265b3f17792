//! How the host waits, from narrow to wide, and how it asks without waiting.
//!
//! Claim: a wait returns when what it names is done, and says nothing about the rest: an event is narrower than its stream, a
//! stream narrower than the card. A query never waits. The narrowest wait that covers what the host reads is the right one; one
//! that is narrower still is a race, and no call says so.
//!
//! Prediction: two kernels in a short stream, an event between them, and a kernel four times as long in another stream. When a
//! wait for the event returns, both streams are busy; when one for the short stream returns, the long one is.

use serde::Serialize;

use super::watched::Watched;
use super::{Gates, Setting};
use crate::args;
use crate::band::intervals_of;
use crate::gate::equality;
use crate::gate::sync::{self as gates, Complete};
use crate::reference::streams as reference;
use crate::report::{Report, thousands};
use crate::submit::{Buffer, Context, Error, Event, Launch, Pinned, Range, Stream, StreamKind};

/// Threads of the one block of a kernel.
const THREADS: u32 = 32;
/// The long kernel, in short ones.
const LONG: u32 = 4;

/// What the lesson found, as its JSON document has it. What would come after a failed gate is absent.
#[derive(Debug, Serialize)]
pub struct Findings {
    lesson: &'static str,
    #[serde(flatten)]
    setting: Setting,
    parameters: args::Sync,
    gates: Gates,
    waits: Vec<Wait>,
    refused_queries: Option<u64>,
    read_too_early: Option<usize>,
    #[serde(flatten)]
    watched: Watched,
}

/// What was complete when a wait returned.
#[derive(Debug, Serialize)]
struct Wait {
    name: &'static str,
    complete: Complete,
}

super::lesson!(args::Sync);

/// Runs the lesson.
///
/// # Errors
///
/// Any error of the submission layer. A failed gate is not one: it is in the findings.
pub fn run(context: &Context, options: &args::Sync, report: Report) -> Result<Findings, Error> {
    let mut findings = Findings {
        lesson: "sync",
        setting: Setting::of(context),
        parameters: options.clone(),
        gates: Gates::default(),
        waits: Vec::new(),
        refused_queries: None,
        read_too_early: None,
        watched: Watched::new(context, "sync", options.common.order, report),
    };
    findings.setting.say(report);
    report.say(format!(
        "parameters: two kernels of {} steps in the short stream, one of {LONG} times as many in the long one",
        thousands(options.steps)
    ));
    let rig = Rig::new(context, options.steps)?;
    if findings.check(&rig, report)? {
        findings.waits(&rig, report)?;
        findings.queries(&rig, report)?;
        findings.too_narrow(&rig, report)?;
        findings.trace(context, &rig, report)?;
        report.picture(findings.watched.timeline());
    }
    Ok(findings)
}

/// A kernel and its result: on the card, where the host finds it, and as it should be.
struct Spin<'c> {
    on_card: Buffer<'c, u32>,
    on_host: Pinned<'c, u32>,
    steps: u32,
    want: Vec<u32>,
}

impl<'c> Spin<'c> {
    fn new(context: &'c Context, name: &str, steps: u32) -> Result<Self, Error> {
        let mut want = vec![0; THREADS as usize];
        reference::spin_lcg(&mut want, steps);
        Ok(Spin {
            on_card: Buffer::new(context, name, want.len())?,
            on_host: Pinned::new(context, &format!("{name}, on the host"), want.len())?,
            steps,
            want,
        })
    }

    fn submit(&self, stream: &Stream<'_>) -> Result<(), Error> {
        stream.launch(&Launch::new(1, THREADS), gpu::streams::spin_lcg(&self.on_card, self.steps))?;
        stream.copy_to_host(&self.on_card, &self.on_host)
    }
}

/// The streams, kernels and the event of the lesson.
struct Rig<'c> {
    context: &'c Context,
    short: Stream<'c>,
    long: Stream<'c>,
    first_done: Event<'c>,
    first: Spin<'c>,
    second: Spin<'c>,
    third: Spin<'c>,
}

impl<'c> Rig<'c> {
    fn new(context: &'c Context, steps: u32) -> Result<Self, Error> {
        Ok(Rig {
            context,
            short: Stream::new(context, "short", StreamKind::NonBlocking)?,
            long: Stream::new(context, "long", StreamKind::NonBlocking)?,
            first_done: Event::ordering(context, "first-done")?,
            first: Spin::new(context, "first", steps)?,
            second: Spin::new(context, "second", steps)?,
            third: Spin::new(context, "third", LONG * steps)?,
        })
    }

    fn submit(&self) -> Result<(), Error> {
        self.first.submit(&self.short)?;
        self.short.record(&self.first_done)?;
        self.second.submit(&self.short)?;
        self.third.submit(&self.long)
    }

    /// What is complete now.
    fn ask(&self) -> Result<Complete, Error> {
        Ok(Complete { event: self.first_done.query()?, short: self.short.query()?, long: self.long.query()? })
    }

    /// Waits for everything, and forgets the results.
    fn clear(&self) -> Result<(), Error> {
        self.context.synchronize()?;
        for spin in [&self.first, &self.second, &self.third] {
            spin.on_host.write(&vec![0; spin.want.len()]);
        }
        Ok(())
    }
}

impl Findings {
    /// Every kernel against the reference.
    fn check(&mut self, rig: &Rig<'_>, report: Report) -> Result<bool, Error> {
        rig.submit()?;
        rig.context.synchronize()?;
        let mut right = true;
        for (name, spin) in [("first", &rig.first), ("second", &rig.second), ("third", &rig.third)] {
            right &= self.gates.hold(equality(name, &spin.on_host.read(), &spin.want), report);
        }
        Ok(right)
    }

    /// The three waits. After each the host reads what the wait covers.
    fn waits(&mut self, rig: &Rig<'_>, report: Report) -> Result<(), Error> {
        let Rig { first, second, third, .. } = rig;
        let (event, short, long) = (true, true, true);
        let narrow = Complete { event, short: false, long: false };

        let wait = || rig.first_done.synchronize();
        self.wait(rig, "a wait for the event", wait, &[first], narrow, report)?;
        let (wait, stream) = (|| rig.short.synchronize(), Complete { short, ..narrow });
        self.wait(rig, "a wait for the short stream", wait, &[first, second], stream, report)?;
        let (wait, card) = (|| rig.context.synchronize(), Complete { event, short, long });
        self.wait(rig, "a wait for the card", wait, &[first, second, third], card, report)
    }

    fn wait(
        &mut self,
        rig: &Rig<'_>,
        name: &'static str,
        wait: impl FnOnce() -> Result<(), Error>,
        covers: &[&Spin<'_>],
        want: Complete,
        report: Report,
    ) -> Result<(), Error> {
        rig.clear()?;
        let mut complete = want;
        let mut results = Vec::new();
        let log = self.watched.log(rig.context, || {
            let _range = Range::new(rig.context, name);
            rig.submit()?;
            wait()?;
            results = covers.iter().map(|spin| spin.on_host.read()).collect();
            complete = rig.ask()?;
            Ok(())
        })?;
        self.waits.push(Wait { name, complete });
        self.gates.hold(gates::returned(name, complete, want), report);
        let (got, want): (Vec<_>, Vec<_>) =
            (results.concat(), covers.iter().flat_map(|spin| spin.want.clone()).collect());
        self.gates.hold(equality(&format!("what {name} covers"), &got, &want), report);
        self.watched.look(name, 0, log.as_ref(), &mut self.gates, report);
        Ok(())
    }

    /// The host asks for the event until it is complete, and could do something else each time it is not.
    fn queries(&mut self, rig: &Rig<'_>, report: Report) -> Result<(), Error> {
        rig.clear()?;
        let (mut refused, mut got) = (0, Vec::new());
        let log = self.watched.log(rig.context, || {
            let _range = Range::new(rig.context, "queries");
            rig.submit()?;
            while !rig.first_done.query()? {
                refused += 1;
            }
            got = rig.first.on_host.read();
            Ok(())
        })?;
        self.refused_queries = Some(refused);
        self.gates.hold(gates::asked(refused), report);
        self.gates.hold(equality("what the last query covers", &got, &rig.first.want), report);
        self.watched.look("queries", 0, log.as_ref(), &mut self.gates, report);
        Ok(())
    }

    /// The host waits for the event, and reads what the event does not cover.
    fn too_narrow(&mut self, rig: &Rig<'_>, report: Report) -> Result<(), Error> {
        rig.clear()?;
        let mut got = Vec::new();
        let log = self.watched.log(rig.context, || {
            let _range = Range::new(rig.context, "too-narrow");
            rig.submit()?;
            rig.first_done.synchronize()?;
            got = rig.third.on_host.read();
            Ok(())
        })?;
        rig.context.synchronize()?;
        let early = got.iter().zip(&rig.third.want).filter(|(got, want)| got != want).count();
        self.read_too_early = Some(early);
        report.say(format!(
            "too narrow: after a wait for the event the host read the long stream's result, {early} of {} elements before \
             they were there, and no call failed. An observation, not a gate",
            got.len()
        ));
        self.watched.look("too-narrow", 1, log.as_ref(), &mut self.gates, report);
        Ok(())
    }

    /// The same submission by the card's own clock.
    fn trace(&mut self, context: &Context, rig: &Rig<'_>, report: Report) -> Result<(), Error> {
        let warmups = self.parameters.common.repeat.warmups();
        let (band, _) =
            self.watched.trace(context, "short-and-long-stream", warmups, || rig.submit(), report)?;
        let gates = gates::narrow_first(
            &intervals_of(&band, |name| name == gpu::streams::spin_lcg::KERNEL.name),
            self.watched.step_ns(),
        );
        self.watched.draw(band, &gates);
        for gate in gates {
            self.gates.hold_overlap(gate, context, report);
        }
        Ok(())
    }
}
