//! The lesson on errors: what it finds, what its children say, and that it fails where its claims do not hold. The program
//! itself is run, because it starts itself again.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::process::{Command as Process, Output};

use clap::Parser;
use host::args::{Cli, Command};
use host::kernels::IMAGES;
use host::lesson::{Outcome, errors};
use host::report::Report;
use host::submit::{Buffer, Checks, Context, Launch, Stream, StreamKind};
use serde_json::Value;
use support::driver::{self, Driver};

fn host(arguments: &str) -> Output {
    Process::new(env!("CARGO_BIN_EXE_host")).args(arguments.split_whitespace()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn document(arguments: &str) -> Value {
    let output = host(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments}: {}", text(&output.stderr));
    serde_json::from_str(&text(&output.stdout)).unwrap()
}

/// Everything that the lesson claims, as its document has it.
#[track_caller]
fn holds(card: &str) {
    let document = document(&format!("errors --json --device {card}"));
    let gates = document["gates"].as_array().unwrap();
    // That a new context helps is no promise of the driver's.
    let recovers =
        |gate: &Value| gate["sentence"].as_str().unwrap().contains("new context in the same process");
    for gate in gates.iter().filter(|gate| !recovers(gate)) {
        assert_eq!(gate["verdict"], "pass", "{gate}");
    }
    // The kernel, its order, nine refusals, the last error, and five about a write out of bounds.
    assert_eq!(gates.len(), 17, "{gates:?}");
    let codes = |calls: &Value| -> Vec<_> {
        calls.as_array().unwrap().iter().map(|call| call["code"].as_u64().unwrap()).collect()
    };
    assert_eq!(codes(&document["refused"]), [1, 1, 1, 1, 1, 1, 1, 2, 400]);
    let (fault, checked) = (&document["fault"], &document["checked_fault"]);
    assert_eq!([&fault["launch"]["code"], &fault["wait"]["code"]], [0, 700]);
    assert_eq!([&checked["launch"]["code"], &checked["wait"]["code"]], [700, 700]);
    for fault in [fault, checked] {
        assert_eq!(codes(&fault["unrelated"]), [700; 4]);
        assert_eq!(fault["taken"], Value::from([700, 700]));
    }
    let named = |call: &Value, says: &str| call["error"].as_str().unwrap().contains(says);
    assert!(named(&fault["wait"], "not known to be done: `write_at`, launched at host/src/lesson/fault.rs:"));
    assert!(named(
        &checked["launch"],
        "not known to be done: `write_at`, launched at host/src/lesson/fault.rs:"
    ));
    let each_launch = if cfg!(debug_assertions) { "after_each_launch" } else { "where_the_program_waits" };
    assert_eq!(document["checks"], each_launch);
}

#[test]
fn every_claim_holds_on_both_virtual_cards_in_both_schedules() {
    for card in ["virtual:h200", "virtual:t4", "virtual:h200 --schedule late"] {
        holds(card);
    }
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_every_claim_holds() {
    holds("gpu");
}

#[test]
fn on_a_virtual_card_a_new_context_in_the_same_process_works() {
    let document = document("errors --json --device virtual");
    assert_eq!(document["fault"]["new_context"]["code"], 0);
    // The stream, the buffer and the module; none of them has printed anything.
    assert_eq!(document["fault"]["failed_releases"], 3);
}

#[test]
fn the_document_is_the_same_to_the_byte_with_any_number_of_threads() {
    let run = |threads| text(&host(&format!("errors --json --device virtual --threads {threads}")).stdout);
    assert_eq!(run(1), run(2));
}

/// The program ends with the first thing that it is told, drops everything it has, and says nothing more.
#[track_caller]
fn a_null_store_ends_the_program(card: &str) {
    let output = host(&format!("child null-store --device {card}"));
    let error = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(1), ""), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    for says in [
        "error: wait for `faulty`",
        "(700, ",
        "not known to be done: `write_at`, launched at host/src/lesson/fault.rs:",
    ] {
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn case_14_a_null_store_ends_the_program_with_one_line_that_names_the_launch() {
    for card in ["virtual:h200", "virtual:t4", "virtual:h200 --schedule late"] {
        a_null_store_ends_the_program(card);
    }
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_case_14_a_null_store_ends_the_program_with_one_line_that_names_the_launch() {
    a_null_store_ends_the_program("gpu");
}

#[test]
fn a_lesson_that_draws_nothing_refuses_a_timeline_before_anything_runs() {
    for lesson in ["errors", "startup"] {
        let path = std::env::temp_dir().join(format!("streamlab-{lesson}-{}.svg", std::process::id()));
        let output = host(&format!("{lesson} --device virtual --timeline {}", path.display()));
        let error = text(&output.stderr);
        assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(2), ""), "{error}");
        assert!(error.lines().count() == 1 && error.contains("leave `--timeline` out"), "{error}");
        assert!(!path.exists());
    }
}

#[test]
fn a_card_that_takes_every_launch_and_a_child_that_says_nothing_fail_the_lesson() {
    let (document, driver) = driver::with(Driver::new(), || {
        let Command::Errors(options) = Cli::try_parse_from(["host", "errors"]).unwrap().command else {
            panic!("not errors")
        };
        let context = Context::open(0, IMAGES).unwrap();
        let findings = errors::run(&context, &options, Report::new(true).quiet()).unwrap();
        assert!(!findings.passed() && context.finish().is_empty());
        serde_json::to_value(&findings).unwrap()
    });
    let gates = document["gates"].as_array().unwrap();
    let failed: Vec<_> = gates
        .iter()
        .filter(|gate| gate["verdict"] == "fail")
        .map(|gate| gate["sentence"].as_str().unwrap())
        .collect();
    // Seven launches, the last error of one of them, and a child: the tests' own program is none.
    assert_eq!(failed.iter().filter(|sentence| sentence.contains(": not refused")).count(), 7, "{failed:?}");
    assert!(failed[7].starts_with("the last error") && failed[8].starts_with("the child process ended with"));
    assert!(failed.len() == 9 && driver.leaks().is_empty());
}

#[test]
fn a_kernel_that_writes_something_else_is_found_first_and_ends_the_lesson() {
    let spoiled = Driver { spoiled_launch: Some(0), ..Driver::new() };
    let (document, _) = driver::with(spoiled, || {
        let Command::Errors(options) = Cli::try_parse_from(["host", "errors"]).unwrap().command else {
            panic!("not errors")
        };
        let context = Context::open(0, IMAGES).unwrap();
        serde_json::to_value(errors::run(&context, &options, Report::new(true).quiet()).unwrap()).unwrap()
    });
    assert_eq!(document["gates"][0]["verdict"], "fail");
    assert_eq!(document["refused"], Value::Array(Vec::new()));
}

#[test]
fn a_launch_is_waited_for_at_once_only_where_that_was_asked_for() {
    let calls = |checks: Option<Checks>| {
        let (_, driver) = driver::with(Driver::new(), || {
            let context = Context::open(0, IMAGES).unwrap();
            if let Some(checks) = checks {
                context.set_checks(checks);
            }
            let stream = Stream::new(&context, "s", StreamKind::NonBlocking).unwrap();
            let out = Buffer::<u32>::new(&context, "out", 4).unwrap();
            for value in 0..3 {
                stream.launch(&Launch::new(1, 1), gpu::errors::write_at(&out, 0, value)).unwrap();
            }
        });
        let calls = driver.calls.into_iter().map(|call| call.split(' ').next().unwrap().to_owned());
        calls.filter(|call| call == "cuLaunchKernel" || call == "cuStreamSynchronize").collect::<Vec<_>>()
    };
    let (launch, wait) = ("cuLaunchKernel", "cuStreamSynchronize");
    assert_eq!(calls(None), [launch; 3]);
    assert_eq!(calls(Some(Checks::WhereTheProgramWaits)), [launch; 3]);
    assert_eq!(calls(Some(Checks::AfterEachLaunch)), [launch, wait, launch, wait, launch, wait]);
}
