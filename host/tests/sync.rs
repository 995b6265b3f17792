//! The sync lesson on virtual cards and, where there is one, on a GPU.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/card.rs"]
mod card;

use clap::Parser;
use host::args::{Cli, Command, Repeat, Sync, standard};
use host::lesson::{Outcome, sync};
use host::report::Report;

use serde_json::{Value, json};

fn lesson(typed: &str) -> (Value, bool) {
    let words = ["host", "sync"].into_iter().chain(typed.split_whitespace());
    let Command::Sync(options) = Cli::try_parse_from(words).unwrap().command else { panic!("not sync") };
    card::on_card(&options.common, |context| {
        let findings = sync::run(context, &options, Report::new(true).quiet()).unwrap();
        (serde_json::to_value(&findings).unwrap(), findings.passed())
    })
}

fn check_every_wait(typed: &str) -> Value {
    let (document, passed) = lesson(typed);
    assert!(passed, "{document}");
    let complete: Vec<_> =
        document["waits"].as_array().unwrap().iter().map(|wait| wait["complete"].clone()).collect();
    let want = [(true, false, false), (true, true, false), (true, true, true)]
        .map(|(event, short, long)| json!({"event": event, "short": short, "long": long}));
    assert_eq!(complete, want, "{document}");
    let missing: Vec<_> = document["missing_edges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|order| order["edges"].as_array().unwrap().len())
        .collect();
    // The three waits, the queries, and the wait that is too narrow.
    assert_eq!(missing, [0, 0, 0, 0, 1], "{document}");
    document
}

#[test]
fn each_wait_returns_when_what_it_names_is_done_and_only_the_narrow_read_is_flagged() {
    for card in ["virtual:h200", "virtual:t4"] {
        let document = check_every_wait(&format!("--device {card} --warmups 0 --order deny"));
        assert!(document["refused_queries"].as_u64().unwrap() > 100, "{document}");
        assert_eq!(document["read_too_early"], 32);
    }
}

#[test]
fn run_late_the_waits_still_name_what_they_wait_for() {
    let document = check_every_wait("--device virtual --schedule late --warmups 0 --order deny");
    assert_eq!((&document["refused_queries"], &document["read_too_early"]), (&json!(1), &json!(32)));
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_each_wait_returns_when_what_it_names_is_done_and_only_the_narrow_read_is_flagged() {
    check_every_wait("--device gpu --order deny");
}

#[test]
fn the_document_is_the_same_in_every_run() {
    let documents =
        [1, 2].map(|threads| lesson(&format!("--device virtual --warmups 0 --threads {threads}")).0);
    assert_eq!(documents[0], documents[1]);
}

#[test]
fn the_lesson_has_standard_options() {
    let options: Sync = standard(Repeat::VIRTUAL);
    assert_eq!((options.steps, options.common.repeat.runs()), (400_000, 1));
}
