//! The default streams and a second host thread, on virtual cards and, where there is one, on a GPU.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/card.rs"]
mod card;

use clap::Parser;
use host::args::{Cli, Command, DefaultStream, Repeat, standard};
use host::lesson::{Outcome, default_stream};
use host::order::missing_edges;
use host::report::Report;
use host::submit::{Buffer, Context, Error, HostThread, Launch, Stream, StreamKind};
use serde_json::Value;

fn options(typed: &str) -> DefaultStream {
    let words = ["host", "default-stream"].into_iter().chain(typed.split_whitespace());
    match Cli::try_parse_from(words).unwrap().command {
        Command::DefaultStream(options) => options,
        other => panic!("{other:?}"),
    }
}

fn on_card<T>(typed: &str, test: impl FnOnce(&Context, &DefaultStream) -> T) -> T {
    let options = options(typed);
    card::on_card(&options.common, |context| test(context, &options))
}

fn lesson(typed: &str) -> (Value, bool) {
    on_card(typed, |context, options| {
        let findings = default_stream::run(context, options, Report::new(true).quiet()).unwrap();
        (serde_json::to_value(&findings).unwrap(), findings.passed())
    })
}

/// How many pairs of the document ran so.
fn measured(document: &Value, how: &str) -> usize {
    document["pairs"].as_array().unwrap().iter().filter(|pair| pair["measured"] == how).count()
}

fn check_every_pair(typed: &str) {
    let (document, passed) = lesson(typed);
    assert!(passed, "{document}");
    let pairs = document["pairs"].as_array().unwrap();
    assert!(pairs.iter().all(|pair| pair["measured"] == pair["predicted"]), "{document}");
    assert_eq!((measured(&document, "in turn"), measured(&document, "overlap")), (11, 21));
    // The checker flags exactly those pairs whose kernels ran side by side.
    let flagged: Vec<_> = document["missing_edges"].as_array().unwrap().iter().collect();
    assert_eq!(flagged.len(), pairs.len());
    for (pair, flagged) in pairs.iter().zip(flagged) {
        let edges = flagged["edges"].as_array().unwrap().len();
        assert_eq!(edges, usize::from(pair["measured"] == "overlap"), "{pair}");
    }
}

#[test]
fn every_pair_of_kinds_runs_as_the_rules_and_the_checker_say() {
    check_every_pair("--device virtual:h200 --warmups 0 --order deny");
    check_every_pair("--device virtual:t4 --warmups 0 --order deny");
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_every_pair_of_kinds_runs_as_the_rules_and_the_checker_say() {
    check_every_pair("--device gpu --order deny");
}

#[test]
fn run_late_nothing_overlaps_and_what_must_take_turns_still_does() {
    let (document, passed) = lesson("--device virtual --schedule late --warmups 0");
    assert!(passed, "{document}");
    assert_eq!(measured(&document, "overlap"), 0);
}

#[test]
fn kernels_too_short_to_meet_decide_nothing() {
    let (document, passed) = lesson("--device virtual --warmups 0 --steps 100");
    assert!(passed, "{document}");
    let gates = document["gates"].as_array().unwrap();
    let undecided = gates.iter().filter(|gate| gate["verdict"] == "not_gated");
    assert_eq!(undecided.count(), 21);
}

#[test]
fn the_document_is_the_same_in_every_run() {
    let documents =
        [1, 2].map(|threads| lesson(&format!("--device virtual --warmups 0 --threads {threads}")).0);
    assert_eq!(documents[0], documents[1]);
}

#[test]
fn the_lesson_has_standard_options() {
    let options: DefaultStream = standard(Repeat::VIRTUAL);
    assert_eq!((options.steps, options.common.repeat.runs()), (400_000, 1));
}

/// Two kernels that write one buffer, on the default streams of their threads.
fn two_writers(context: &Context, second_by_another: bool) -> (String, usize) {
    let out = Buffer::<u32>::new(context, "out", 32).unwrap();
    let stream = |name| Stream::new(context, name, StreamKind::PerThread).unwrap();
    let (mine, others) = (stream("mine"), stream("others"));
    let thread = HostThread::new(context).unwrap();
    let spin = || gpu::streams::spin_lcg(&out, 10);
    let launch = Launch::new(1, 32);
    let log = context
        .logged(|| {
            mine.launch(&launch, spin())?;
            match second_by_another {
                true => thread.launch(&others, &launch, spin())?,
                false => mine.launch(&launch, spin())?,
            }
            context.synchronize()
        })
        .unwrap();
    (log.to_string(), missing_edges(&log).len())
}

#[test]
fn a_launch_by_another_thread_is_noted_as_such_and_goes_to_that_threads_own_stream() {
    on_card("--device virtual", |context, _| {
        let (log, missing) = two_writers(context, true);
        let lines = [
            "launch spin_lcg on mine, writes out",
            "hand over to host thread 1",
            "launch spin_lcg on others, writes out, by host thread 1",
            "hand over to host thread 0, by host thread 1",
            "host waits for everything",
        ];
        assert_eq!(log.lines().collect::<Vec<_>>(), lines);
        assert_eq!(missing, 1);
        let (_, missing) = two_writers(context, false);
        assert_eq!(missing, 0);
    });
}

#[test]
fn what_another_thread_did_and_was_waited_for_is_before_what_follows() {
    on_card("--device virtual", |context, _| {
        let out = Buffer::<u32>::new(context, "out", 32).unwrap();
        let stream = Stream::new(context, "S", StreamKind::NonBlocking).unwrap();
        let thread = HostThread::new(context).unwrap();
        let launch = Launch::new(1, 32);
        let log = context
            .logged(|| {
                thread.launch(&stream, &launch, gpu::streams::spin_lcg(&out, 10))?;
                stream.synchronize()?;
                out.copy_to(&mut [0; 32])
            })
            .unwrap();
        assert!(missing_edges(&log).is_empty(), "{log}");
    });
}

#[test]
fn a_launch_that_another_thread_is_refused_names_the_line_that_asked_for_it_and_the_next_one_works() {
    on_card("--device virtual", |context, _| {
        let out = Buffer::<u32>::new(context, "out", 32).unwrap();
        let stream = Stream::new(context, "S", StreamKind::PerThread).unwrap();
        let thread = HostThread::new(context).unwrap();
        let spin = || gpu::streams::spin_lcg(&out, 10);
        let refused = thread.launch(&stream, &Launch::new(1, 1025), spin());
        let Err(Error::Driver(error)) = refused else { panic!("{refused:?}") };
        assert_eq!((error.code, error.call), (1, "cuLaunchKernel"));
        assert!(error.at.file().ends_with("default_stream.rs"), "{error}");
        thread.launch(&stream, &Launch::new(1, 32), spin()).unwrap();
        context.synchronize().unwrap();
    });
}
