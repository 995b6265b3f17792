//! The pitfalls on virtual devices, and their checks.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use std::process::Command;

use host::check::Verdict::{Fail, NotJudged, Pass};
use host::lessons::pitfalls::{PITFALLS, Shows, idle, part_of_the_time, refused, shown, told, value};
use host::overlap::Interval;
use serde_json::Value;
use streamlab::{DriverError, Error};
use support::{failed, lesson, verdicts};

/// What is checked beyond order and timeline.
const OUTCOMES: [&str; 10] = [
    "record-after-wait.value",
    "never-recorded.value",
    "event-reused.value",
    "untimed-event.refused",
    "untimed-event.time",
    "stopwatch-elsewhere.time-held",
    "host-parked.idle",
    "default-stream-between.value",
    "pageable-copy.value",
    "staging-refilled.value",
];

#[test]
fn every_pitfall_is_shown_on_every_virtual_device_and_in_both_schedules() {
    for device in ["virtual:h200", "virtual:t4", "virtual:h200 --schedule late"] {
        let document = lesson(&format!("pitfalls --order deny --device {device}")).unwrap();
        assert_eq!(failed(&document), [""; 0], "{device}");
        let verdicts = verdicts(&document);
        let outcomes: Vec<_> = verdicts
            .iter()
            .filter(|(id, _)| !id.ends_with(".timeline") && !id.ends_with(".missing-edges"))
            .collect();
        assert!(outcomes.iter().map(|(id, _)| id.as_str()).eq(OUTCOMES), "{outcomes:?}");
        assert!(
            outcomes.iter().all(|(id, verdict)| verdict == "pass" || id == "host-parked.idle"),
            "{outcomes:?}"
        );
        for pitfall in PITFALLS {
            let found = &document["values"][pitfall.name];
            let was_refused = pitfall.name == "untimed-event";
            assert_eq!(found["flawed_calls"].is_null(), was_refused, "{found}");
            assert!(found["repaired_calls"].as_u64() > Some(0), "{found}");
        }
        // Of each program but the one that a call ended.
        let timelines = verdicts.iter().filter(|(id, _)| id.ends_with(".timeline")).count();
        assert_eq!(timelines, 2 * PITFALLS.len() - 1);
        missing_edges_are_as_predicted(&document);
    }
}

fn missing_edges_are_as_predicted(document: &Value) {
    for submission in document["missing_edges"].as_array().unwrap() {
        let name = submission["submission"].as_str().unwrap();
        let flawed = PITFALLS.iter().find(|pitfall| pitfall.name == name);
        let edges = submission["edges"].as_array().unwrap();
        assert_eq!(edges.len(), flawed.map_or(0, |pitfall| pitfall.flawed.1), "{name}");
        assert!(edges.iter().all(|edge| edge["report"].as_str().unwrap().contains("cause: ")), "{name}");
    }
}

#[test]
fn one_is_shown_alone_by_its_name_and_another_name_is_refused_with_the_list() {
    let document = lesson("pitfalls host-parked --device virtual --steps 20000").unwrap();
    assert_eq!(document["values"].as_object().unwrap().keys().collect::<Vec<_>>(), ["host-parked"]);
    assert_eq!(failed(&document), [""; 0]);
    let program = env!("CARGO_BIN_EXE_host");
    let output =
        Command::new(program).args(["pitfalls", "host-packed", "--device", "virtual"]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), error.lines().count()), (Some(2), 1));
    assert!(error.contains("host-packed") && error.contains("host-parked"), "{error}");
}

#[test]
fn each_version_of_the_stopwatch_has_a_caption_of_its_own() {
    let document = lesson("pitfalls stopwatch-elsewhere --device virtual --steps 20000").unwrap();
    let sentence = |id: &str| {
        let check = document["checks"].as_array().unwrap().iter().find(|check| check["id"] == id);
        check.unwrap()["sentence"].as_str().unwrap().split(": ").last().unwrap().to_owned()
    };
    assert_ne!(sentence("stopwatch-elsewhere.timeline"), sentence("stopwatch-elsewhere, repaired.timeline"));
}

fn ran(start_ns: u64, end_ns: u64) -> Interval {
    Interval { start_ns, end_ns }
}

#[test]
fn the_last_kernel_is_compared_with_the_one_ahead_of_it_or_the_first() {
    let (long, inside, later) = (ran(0, 1000), ran(100, 900), ran(1010, 2000));
    for (what, kernels, verdict) in [
        (Shows::Early, &[long, inside][..], Pass),
        (Shows::Early, &[inside, long, later], Fail),
        (Shows::After, &[inside, long, later], Pass),
        (Shows::After, &[later, long, inside], Fail),
        (Shows::InTurn, &[long, inside, later], Pass),
        (Shows::InTurn, &[long, later, inside], Fail),
        (Shows::Overlap, &[long, later, inside], Pass),
        (Shows::Overlap, &[long, inside, later], Fail),
        (Shows::Blocked, &[long, ran(500, 600)], Pass),
        (Shows::Blocked, &[long, ran(499, 600)], Fail),
        (Shows::Free, &[long, ran(499, 600)], Pass),
        (Shows::Free, &[long, ran(500, 600)], Fail),
        (Shows::Free, &[later, long], Pass),
        (Shows::Early, &[long], Fail),
        (Shows::Overlap, &[], Fail),
        (Shows::Nothing("why"), &[], NotJudged),
    ] {
        assert_eq!(shown("t", what, kernels, 32).verdict, verdict, "{what:?} {kernels:?}");
    }
}

#[test]
fn the_repaired_value_decides() {
    for (flawed, repaired, verdict) in
        [(0.0, 4.0, Pass), (4.0, 4.0, Pass), (4.0, 0.0, Fail), (4.0, f32::NAN, Fail)]
    {
        assert_eq!(value("p", flawed, repaired, 4.0).verdict, verdict, "{flawed} {repaired}");
    }
}

#[test]
fn a_stopwatch_holds_nothing_or_all() {
    for (flawed, repaired, verdict) in [
        (0.3, 0.9, Pass),
        (0.31, 1.0, Fail),
        (0.0, 0.89, Fail),
        (0.0, 2.0, Pass),
        (0.0, 2.01, Fail),
        (f32::NAN, 1.0, Fail),
    ] {
        assert_eq!(part_of_the_time("p", flawed, repaired).verdict, verdict, "{flawed} {repaired}");
    }
}

#[test]
fn the_host_between_two_kernels_costs_more_than_a_wait_of_the_stream() {
    let gap = |ns: u64| [ran(0, 100), ran(100 + ns, 300)];
    assert_eq!(idle("p", &gap(9), &gap(2)).verdict, Pass);
    assert_eq!(idle("p", &gap(2), &gap(2)).verdict, Fail);
    assert_eq!(idle("p", &gap(9)[..1], &gap(2)).verdict, Fail);
}

#[test]
fn a_refusal_has_its_one_code() {
    let failure = |code| {
        let at = std::panic::Location::caller();
        let [what, name, text, detail] = [(); 4].map(|()| String::new());
        Error::Driver(Box::new(DriverError { what, call: "", code, name, text, at, detail }))
    };
    assert_eq!(refused("p", Err(failure(400)), 400).verdict, Pass);
    assert_eq!(refused("p", Err(failure(600)), 400).verdict, Fail);
    assert_eq!(refused("p", Ok(1.0), 400).verdict, Fail);
    assert_eq!(
        [told("p", 0.1).verdict, told("p", 0.0).verdict, told("p", f32::NAN).verdict],
        [Pass, Fail, Fail]
    );
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_every_pitfall_is_shown() {
    assert_eq!(failed(&lesson("pitfalls --order deny --device gpu").unwrap()), [""; 0]);
}
