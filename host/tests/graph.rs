//! Graphs through the submission layer, and the graph lesson through the `host` command.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/card.rs"]
mod card;

use std::process::Command as Process;

use clap::Parser;
use host::args::{Cli, Command, Graph};
use host::lesson::{Lesson, Outcome};
use host::report::Report;
use host::submit::{Buffer, Context, Error, Event, Launch, Node, Shape, Stream, StreamKind};
use serde_json::Value;

fn options(typed: &str) -> Graph {
    let words = ["host", "graph"].into_iter().chain(typed.split_whitespace());
    match Cli::try_parse_from(words).unwrap().command {
        Command::Graph(options) => options,
        other => panic!("{other:?}"),
    }
}

fn with_card<T>(typed: &str, test: impl FnOnce(&Context, &Graph) -> T) -> T {
    let options = options(typed);
    card::on_card(&options.common, |context| test(context, &options))
}

fn lesson(typed: &str) -> (Value, bool) {
    with_card(typed, |context, options| {
        let findings = options.run(context, Report::new(true).quiet()).unwrap();
        (serde_json::to_value(&findings).unwrap(), findings.passed())
    })
}

const ELEMS: usize = 1024;

/// A stream with a buffer, and one that comes to wait for it.
struct Pair<'c> {
    context: &'c Context,
    one: Stream<'c>,
    two: Stream<'c>,
    forked: Event<'c>,
    joined: Event<'c>,
    from: Buffer<'c, f32>,
    to: Buffer<'c, f32>,
}

impl<'c> Pair<'c> {
    fn new(context: &'c Context) -> Self {
        let stream = |name| Stream::new(context, name, StreamKind::NonBlocking).unwrap();
        let pair = Pair {
            context,
            one: stream("one"),
            two: stream("two"),
            forked: Event::ordering(context, "forked").unwrap(),
            joined: Event::ordering(context, "joined").unwrap(),
            from: Buffer::from_slice(context, "from", &[1.0; ELEMS]).unwrap(),
            to: Buffer::new(context, "to", ELEMS).unwrap(),
        };
        context.synchronize().unwrap();
        pair
    }

    fn scale(&self, stream: &Stream<'_>) -> Result<(), Error> {
        stream.launch(&Launch::new(1, ELEMS as u32), gpu::streams::sweep_scale(&self.from, &self.to))
    }

    /// A fill on one stream, a kernel on the other, and where it is joined a copy behind it.
    fn submit(&self, join: bool) -> Result<(), Error> {
        self.one.zero(&self.to)?;
        self.one.record(&self.forked)?;
        self.two.wait(&self.forked)?;
        self.scale(&self.two)?;
        if join {
            self.two.record(&self.joined)?;
            self.one.wait(&self.joined)?;
        }
        self.one.copy(&self.to, &self.from)
    }

    fn first(&self, buffer: &Buffer<'_, f32>) -> f32 {
        self.context.synchronize().unwrap();
        let mut all = [0.0; ELEMS];
        buffer.copy_to(&mut all).unwrap();
        all[0]
    }
}

fn a_captured_submission_runs_only_when_it_is_launched(card: &str) {
    with_card(card, |context, _| {
        let pair = Pair::new(context);
        let graph = pair.one.capture(|| pair.submit(true)).unwrap();
        assert_eq!(pair.first(&pair.from), 1.0);
        let nodes = vec![Node::Fill, Node::Kernel, Node::Copy];
        assert_eq!(graph.shape().unwrap(), Shape { nodes, edges: vec![(0, 1), (0, 2), (1, 2)] });
        let launchable = graph.instantiate().unwrap();
        drop(graph);
        for want in [2.0, 4.0, 8.0] {
            pair.one.launch_graph(&launchable).unwrap();
            assert_eq!(pair.first(&pair.from), want);
        }
    });
}

#[test]
fn a_captured_submission_runs_only_when_it_is_launched_on_a_virtual_card() {
    for card in ["--device virtual", "--device virtual --schedule late"] {
        a_captured_submission_runs_only_when_it_is_launched(card);
    }
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_a_captured_submission_runs_only_when_it_is_launched() {
    a_captured_submission_runs_only_when_it_is_launched("--device gpu");
}

fn what_spoils_a_capture_is_the_error_and_the_next_capture_is_well(card: &str) {
    with_card(card, |context, _| {
        let pair = Pair::new(context);
        let unjoined = pair.one.capture(|| pair.submit(false)).map(|_| ()).unwrap_err().to_string();
        assert!(unjoined.contains("end the capture of `one`") && unjoined.contains("(904, "), "{unjoined}");
        let waits = pair.one.capture(|| pair.one.synchronize()).map(|_| ()).unwrap_err().to_string();
        assert!(waits.contains("wait for `one`") && waits.contains("(900, "), "{waits}");
        pair.two.record(&pair.forked).unwrap();
        let outside = pair.one.capture(|| pair.one.wait(&pair.forked)).map(|_| ()).unwrap_err().to_string();
        assert!(outside.contains("(905, "), "{outside}");
        let too_large = pair.one.capture(|| {
            pair.one.launch(&Launch::new(1, 1025), gpu::streams::sweep_scale(&pair.from, &pair.to))
        });
        let too_large = too_large.map(|_| ()).unwrap_err().to_string();
        assert!(too_large.contains("1025x1x1"), "{too_large}");
        assert!(pair.one.capture(|| pair.submit(true)).is_ok());
    });
}

#[test]
fn what_spoils_a_capture_is_the_error_on_a_virtual_card() {
    what_spoils_a_capture_is_the_error_and_the_next_capture_is_well("--device virtual");
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_what_spoils_a_capture_is_the_error() {
    what_spoils_a_capture_is_the_error_and_the_next_capture_is_well("--device gpu");
}

#[test]
fn a_graph_whose_memory_was_released_is_not_launched() {
    with_card("--device virtual", |context, _| {
        let pair = Pair::new(context);
        let graph = {
            let short_lived = Buffer::<f32>::new(context, "short-lived", ELEMS).unwrap();
            let graph = pair.one.capture(|| pair.one.zero(&short_lived)).unwrap().instantiate().unwrap();
            pair.one.launch_graph(&graph).unwrap();
            graph
        };
        let error = pair.one.launch_graph(&graph).unwrap_err().to_string();
        assert!(
            error.contains("`short-lived`, which it uses, was released (host/tests/graph.rs:"),
            "{error}"
        );
        // The records of a traced twin are such memory too.
        let made = std::cell::RefCell::new(None);
        let traced = context.traced(0, || {
            let graph = pair.one.capture(|| pair.scale(&pair.one))?.instantiate()?;
            pair.one.launch_graph(&graph)?;
            made.replace(Some(graph));
            Ok(())
        });
        assert_eq!(traced.unwrap().launches.len(), 1);
        let error = pair.one.launch_graph(made.borrow().as_ref().unwrap()).unwrap_err().to_string();
        assert!(error.contains("`trace`"), "{error}");
    });
}

#[test]
fn every_gate_of_the_lesson_holds_on_every_virtual_card_and_in_both_schedules() {
    for card in ["virtual:h200", "virtual:t4", "virtual:h200 --schedule late"] {
        let (document, passed) = lesson(&format!("--runs 1 --warmups 0 --order deny --device {card}"));
        assert!(passed, "{card}: {}", document["gates"]);
        assert_eq!((&document["nodes"], &document["edges"]), (&6.into(), &9.into()));
    }
}

#[test]
fn of_the_broken_order_as_many_edges_are_missing_as_there_are_branches() {
    for branches in [1, 4, 7] {
        let typed =
            format!("--branches {branches} --elems 3001 --iters 8 --runs 1 --warmups 0 --device virtual");
        let (document, _) = lesson(&typed);
        let gates = document["gates"].as_array().unwrap();
        let says = format!("the {branches} missing edges are missing in the graph too");
        let found = gates.iter().find(|gate| gate["sentence"].as_str().unwrap().contains(&says));
        assert_eq!(found.unwrap()["verdict"], "pass", "{branches}: {gates:?}");
    }
}

#[test]
fn the_same_command_prints_the_same_document_in_every_run_on_a_virtual_card() {
    let run = |threads: u32| {
        let typed = format!("graph --json --device virtual --elems 3001 --threads {threads}");
        let output = Process::new(env!("CARGO_BIN_EXE_host")).args(typed.split(' ')).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let once = run(1);
    assert!(once.contains("\"host_graph\""), "{once}");
    assert_eq!(run(2), once);
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_every_gate_of_the_lesson_holds() {
    let (document, passed) = lesson("--order deny --device gpu");
    assert!(passed, "{}", document["gates"]);
}
