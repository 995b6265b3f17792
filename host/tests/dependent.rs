//! Programmatic dependent launch, checked: what a kernel that starts early may not touch before its wait is read from its
//! PTX.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/card.rs"]
mod card;

use clap::Parser;
use cuda_std::call::Call;
use gpu::pdl::{combine_stage, produce_stage, produce_stage_early};
use host::args::{Cli, Command, Pdl};
use host::lesson::{Outcome, pdl};
use host::order::missing_edges;
use host::report::Report;
use host::submit::{Attributes, Buffer, Context, Error, Launch, Stream, StreamKind};

const ELEMS: usize = 512;
const NORMAL: Attributes = Attributes { programmatic_stream_serialization: Some(false), priority: None };
const EARLY: Attributes = Attributes { programmatic_stream_serialization: Some(true), priority: None };

/// One stream, and buffers whose names the kernels' parameters have in the lesson; `more` and `rest` are for a third kernel.
struct Bench<'c> {
    stream: Stream<'c>,
    x: Buffer<'c, f32>,
    y: Buffer<'c, f32>,
    mid: Buffer<'c, f32>,
    aux: Buffer<'c, f32>,
    out: Buffer<'c, f32>,
    more: Buffer<'c, f32>,
    rest: Buffer<'c, f32>,
}

impl<'c> Bench<'c> {
    fn new(context: &'c Context) -> Result<Self, Error> {
        let buffer = |name| Buffer::from_slice(context, name, &[0.5; ELEMS]);
        Ok(Bench {
            stream: Stream::new(context, "s", StreamKind::NonBlocking)?,
            x: buffer("x")?,
            y: buffer("y")?,
            mid: buffer("mid")?,
            aux: buffer("aux")?,
            out: buffer("out")?,
            more: buffer("more")?,
            rest: buffer("rest")?,
        })
    }

    fn launch(&self, attributes: Attributes, call: Call<'_>) -> Result<(), Error> {
        self.stream.launch(&Launch::new(2, 256).with(attributes), call)
    }

    /// The primary, which lets the next kernel start at once.
    fn primary(&self) -> Result<(), Error> {
        self.launch(NORMAL, produce_stage_early(&self.x, &self.mid, &self.aux))
    }
}

fn options(typed: &str) -> Pdl {
    let words = ["host", "pdl", "--json"].into_iter().chain(typed.split_whitespace());
    match Cli::try_parse_from(words).unwrap().command {
        Command::Pdl(options) => options,
        other => panic!("{other:?}"),
    }
}

fn on_card<T>(test: impl FnOnce(&Context) -> T) -> T {
    card::on_card(&options("--device virtual").common, test)
}

/// The reports of a submission's missing edges.
fn reports(submit: impl Fn(&Bench<'_>) -> Result<(), Error>) -> Vec<String> {
    on_card(|context| {
        let bench = Bench::new(context).unwrap();
        let log = context.logged(|| submit(&bench)).unwrap();
        context.synchronize().unwrap();
        missing_edges(&log).into_iter().map(|edge| edge.report).collect()
    })
}

#[track_caller]
fn assert_one(reports: &[String], says: &[&str]) {
    let [report] = reports else { panic!("{reports:#?}") };
    for words in says {
        assert!(report.contains(words), "{words}: {report}");
    }
}

#[test]
fn a_kernel_without_a_wait_that_starts_early_misses_the_edge_from_the_kernel_before_it() {
    let pair = |attributes| {
        reports(|bench| {
            bench.primary()?;
            bench.launch(attributes, produce_stage(&bench.mid, &bench.more, &bench.rest))
        })
    };
    let says = [
        "missing edge within `s`: bytes 0..2048 of `mid`",
        "kernel `produce_stage_early` on `s` writes them",
        "kernel `produce_stage` on `s` reads them",
        "has no griddepcontrol.wait",
    ];
    assert_one(&pair(EARLY), &says);
    assert_eq!(pair(NORMAL), [""; 0]);
}

#[test]
fn a_kernel_that_waits_misses_the_edge_for_what_it_reads_before() {
    // What the primary writes, passed for the input of the prologue: that is read before the wait.
    let pair = |attributes| {
        reports(|bench| {
            bench.primary()?;
            bench.launch(attributes, combine_stage(&bench.more, &bench.mid, &bench.out))
        })
    };
    let says = ["bytes 0..2048 of `mid`", "touches the bytes before its griddepcontrol.wait"];
    assert_one(&pair(EARLY), &says);
    assert_eq!(pair(NORMAL), [""; 0]);
    // Passed for what it is meant for, it is read behind the wait, and the output is written there.
    let right = |bench: &Bench<'_>| {
        bench.primary()?;
        bench.launch(EARLY, combine_stage(&bench.mid, &bench.y, &bench.aux))
    };
    assert_eq!(reports(right), [""; 0]);
}

#[test]
fn the_third_of_a_chain_is_not_ordered_after_the_first_by_a_second_that_never_waits() {
    let chain = |attributes| {
        reports(|bench| {
            bench.primary()?;
            bench.launch(attributes, produce_stage(&bench.x, &bench.more, &bench.rest))?;
            bench.launch(EARLY, combine_stage(&bench.mid, &bench.y, &bench.out))
        })
    };
    let says = [
        "bytes 0..2048 of `mid`",
        "kernel `produce_stage` on `s`",
        "in between was launched with programmatic stream serialization and never waits",
        "CUDA does not promise it",
    ];
    assert_one(&chain(EARLY), &says);
    assert_eq!(chain(NORMAL), [""; 0]);
}

#[test]
fn a_normal_launch_behind_a_pair_is_ordered_after_both() {
    let behind = |secondary: fn(&Bench<'_>) -> Result<(), Error>| {
        reports(|bench| {
            bench.primary()?;
            secondary(bench)?;
            bench.launch(NORMAL, produce_stage(&bench.mid, &bench.aux, &bench.out))
        })
    };
    assert_eq!(behind(|b| b.launch(EARLY, combine_stage(&b.mid, &b.y, &b.out))), [""; 0]);
    // A secondary that never waits, and touches nothing of the primary's.
    assert_eq!(behind(|b| b.launch(EARLY, produce_stage(&b.x, &b.out, &b.more))), [""; 0]);
}

#[test]
fn the_lesson_on_dependent_launch_is_in_order_wherever_the_trigger_stands() {
    for trigger in ["early", "mid", "late", "never"] {
        on_card(|context| {
            let options =
                options(&format!("--elems 1000 --pairs 3 --runs 1 --warmups 0 --trigger {trigger}"));
            let findings = pdl::run(context, &options, Report::new(true).quiet()).unwrap();
            assert!(findings.passed(), "{trigger}");
            let document = serde_json::to_value(&findings).unwrap();
            let looks = document["missing_edges"].as_array().unwrap();
            let found: Vec<_> =
                looks.iter().map(|one| (one["order"].as_str().unwrap(), one["edges"].clone())).collect();
            let none = || serde_json::json!([]);
            assert_eq!(found, [("baseline", none()), ("pdl", none())], "{trigger}");
        });
    }
}
