//! Submissions that are looked at while a lesson runs: which edges are missing in them, and when their kernels ran.

use serde::{Serialize, Serializer};
use timeline::model::{Band, Timeline};

use super::Gates;
use crate::args::Order;
use crate::band::band;
use crate::gate::Gate;
use crate::order::{MissingEdge, in_words, missing_edges};
use crate::report::Report;
use crate::submit::{Buffer, Context, Error, Launch, Log, Stream, StreamKind};

/// Readings of the card's clock whose least distance is its step.
const CLOCK_READINGS: usize = 64;

/// What was found out about order, and the lesson's timeline.
#[derive(Debug, Serialize)]
pub struct Watched {
    #[serde(skip)]
    order: Order,
    missing_edges: Vec<Submission>,
    clock_step_ns: Option<u64>,
    #[serde(serialize_with = "kernels")]
    timeline: Timeline,
}

/// When a kernel ran, in a document.
#[derive(Debug, Serialize)]
struct Ran<'t> {
    kernel: &'t str,
    stream: &'t str,
    start_ns: u64,
    end_ns: u64,
}

/// The bands by name, without what only a drawing needs.
fn kernels<S: Serializer>(timeline: &Timeline, serializer: S) -> Result<S::Ok, S::Error> {
    let of = |band: &Band| {
        let ran = band.slices.iter().map(|slice| Ran {
            kernel: &slice.name,
            stream: band.streams.get(slice.stream).map_or("", |stream| &stream.name),
            start_ns: slice.start_ns,
            end_ns: slice.end_ns,
        });
        serde_json::json!({ "band": band.name, "kernels": ran.collect::<Vec<_>>() })
    };
    serializer.collect_seq(timeline.bands.iter().map(of))
}

/// The edges that are missing in one submission.
#[derive(Debug, Serialize)]
struct Submission {
    order: String,
    expected: usize,
    edges: Vec<MissingEdge>,
}

impl Watched {
    /// For a lesson of that name.
    pub fn new(context: &Context, lesson: &str, order: Order, report: Report) -> Self {
        let timeline = Timeline {
            title: lesson.to_owned(),
            card: context.card().name.clone(),
            is_virtual: report.is_virtual(),
            step_ns: 0,
            bands: Vec::new(),
        };
        Watched { order, missing_edges: Vec::new(), clock_step_ns: None, timeline }
    }

    /// The step of the card's clock, ns; 0 before anything was traced.
    pub fn step_ns(&self) -> u64 {
        self.timeline.step_ns
    }

    /// What ran when; empty when nothing was traced.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Runs a submission, and returns what it submitted where that is to be looked at.
    ///
    /// # Errors
    ///
    /// The submission's own.
    pub fn log(
        &self,
        context: &Context,
        submit: impl FnOnce() -> Result<(), Error>,
    ) -> Result<Option<Log>, Error> {
        match self.order {
            Order::Off => submit().map(|()| None),
            Order::Report | Order::Deny => context.logged(submit).map(Some),
        }
    }

    /// Says which edges are missing in what was submitted, where `expected` are, and returns whether the lesson goes on.
    pub fn look(
        &mut self,
        name: &str,
        expected: usize,
        log: Option<&Log>,
        gates: &mut Gates,
        report: Report,
    ) -> bool {
        let Some(log) = log.filter(|_| self.order != Order::Off) else { return true };
        let edges = missing_edges(log);
        let count = edges.len();
        let gate = match (count == expected, self.order) {
            (true, _) => Gate::pass(format!("{name}: {count} missing edges, as predicted")),
            (false, Order::Deny) => {
                Gate::fail(format!("{name}: {count} missing edges, predicted were {expected}"))
            }
            (false, _) => {
                Gate::not_gated(format!("{name}: {count} missing edges, predicted were {expected}"))
            }
        };
        let goes_on = gates.hold(gate, report);
        if !edges.is_empty() {
            report.say(in_words(&edges));
        }
        self.missing_edges.push(Submission { order: name.to_owned(), expected, edges });
        goes_on
    }

    /// Runs a submission with each kernel's traced twin, and returns its band and its log.
    ///
    /// # Errors
    ///
    /// The submission's own.
    pub fn trace(
        &mut self,
        context: &Context,
        name: &str,
        warmups: u32,
        submit: impl Fn() -> Result<(), Error>,
        report: Report,
    ) -> Result<(Band, Log), Error> {
        if self.clock_step_ns.is_none() {
            let step_ns = clock_step_ns(context)?;
            report.say(format!("timeline: from the card's own clock, which steps by {step_ns} ns"));
            self.clock_step_ns = Some(step_ns);
            self.timeline.step_ns = step_ns;
        }
        let trace = context.traced(warmups.min(1), submit)?;
        let band = band(&trace, name, context.card().sms, self.order != Order::Off);
        Ok((band, trace.log))
    }

    /// Adds a band with what its gates say, and holds them.
    pub fn settle(
        &mut self,
        band: Band,
        gates: Vec<Gate>,
        held: &mut Gates,
        context: &Context,
        report: Report,
    ) {
        let name = band.name.clone();
        self.draw(band, &gates);
        for gate in gates {
            let sentence = gate.sentence.replacen("timeline: ", &format!("timeline of {name}: "), 1);
            held.hold_overlap(Gate { sentence, ..gate }, context, report);
        }
    }

    /// Adds a band to the timeline, with the sentences of its gates as its caption.
    pub fn draw(&mut self, band: Band, said: &[Gate]) {
        let sentences: Vec<_> = said.iter().map(|gate| sentence(&gate.sentence)).collect();
        self.timeline.bands.push(Band { caption: sentences.join(" "), ..band });
    }
}

/// A gate's words as a sentence of a caption.
fn sentence(said: &str) -> String {
    let said = said.trim_start_matches("timeline: ");
    let first = said.chars().next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", said.chars().skip(1).collect::<String>())
}

/// The step of the card's clock (`%globaltimer`): the least distance of two readings that differ.
fn clock_step_ns(context: &Context) -> Result<u64, Error> {
    let stream = Stream::new(context, "clock", StreamKind::Blocking)?;
    let readings = Buffer::new(context, "readings", CLOCK_READINGS)?;
    stream.launch(&Launch::new(1, 1), gpu::clock::read_clock(&readings))?;
    stream.synchronize()?;
    let mut read = vec![0_u64; CLOCK_READINGS];
    readings.copy_to(&mut read)?;
    let steps = read.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    Ok(steps.filter(|&step| step > 0).min().unwrap_or(0))
}
