//! The fork-join lesson on virtual devices: its checks by identifier and verdict, and each of them failing.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../crates/streamlab/tests/support/faulty.rs"]
mod faulty;
mod support;

use faulty::Faulty;
use host::check::Verdict::{self, Fail, NotJudged, Pass};
use host::kernels::IMAGES;
use host::lab::{Lab, Stop};
use host::lessons::forkjoin::{
    self, Room, broken_order, no_timestamp, ratio, reasons_against_ratio, right_order,
};
use host::measure::Statistics;
use host::overlap::Interval;
use host::report::Report;
use serde_json::Value;
use streamlab::{Context, Device};
use support::{failed, lesson, verdict, verdicts};

const CHECKS: [&str; 11] = [
    "diamond.missing-edges",
    "diamond.result",
    "serial.missing-edges",
    "serial.result",
    "ordering-event.refused",
    "overlap.ratio",
    "timeline.branches-overlap",
    "timeline.branches-after-upstream",
    "timeline.join-after-branches",
    "timeline.branches-before-upstream-ends",
    "broken order.missing-edges",
];

#[test]
fn every_check_passes_on_each_virtual_device() {
    for device in ["h200", "t4"] {
        let document = lesson(&format!("forkjoin --device virtual:{device} --order deny")).unwrap();
        let want: Vec<_> = CHECKS.iter().map(|id| ((*id).to_owned(), "pass".to_owned())).collect();
        assert_eq!(verdicts(&document), want, "{device}");
        let counts: Vec<_> =
            (0..3).map(|at| document["missing_edges"][at]["edges"].as_array().unwrap().len()).collect();
        assert_eq!(counts, [0, 0, 4], "{device}");
        assert_eq!(document["runs"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn each_line_that_a_report_names_is_a_line_of_the_broken_order() {
    let document = lesson("forkjoin --device virtual:h200 --elems 1000 --iters 8").unwrap();
    let source = include_str!("../src/lessons/forkjoin.rs");
    let start = source.lines().position(|line| line.contains("pub fn broken(&self)")).unwrap();
    let end = start + source.lines().skip(start).position(|line| line == "    }").unwrap();
    let report = document["missing_edges"][2]["edges"][0]["report"].as_str().unwrap();
    let named: Vec<usize> = report
        .split("lessons/forkjoin.rs:")
        .skip(1)
        .map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(named.len(), 4, "{report}");
    assert!(named.iter().all(|line| (start + 1..=end).contains(&(line - 1))), "{named:?} in {start}..{end}");
}

#[test]
fn late_the_broken_order_spoils_every_element_and_nothing_else_changes() {
    let document = lesson("forkjoin --device virtual:h200 --schedule late --order deny").unwrap();
    assert_eq!(failed(&document), [""; 0]);
    assert_eq!(document["values"]["broken order.mismatches"]["wrong_elements"], 1_048_576);
    assert_eq!(verdict(&document, "overlap.ratio"), "not_judged");
    assert_eq!(verdict(&document, "broken order.missing-edges"), "pass");
}

#[test]
fn order_off_looks_for_no_edge() {
    let document = lesson("forkjoin --device virtual:h200 --order off --elems 1000 --iters 8").unwrap();
    assert!(document["missing_edges"].as_array().unwrap().is_empty());
    assert!(verdicts(&document).iter().all(|(id, _)| !id.ends_with("missing-edges")));
}

fn times(median_ms: f64) -> Statistics {
    Statistics::of(&[median_ms]).unwrap()
}

#[test]
fn the_ratio_decides_from_one_point_three_on() {
    for (serial, diamond, verdict) in
        [(1.3, 1.0, Pass), (1.299, 1.0, Fail), (2.5, 1.0, Pass), (f64::NAN, 1.0, Fail), (1.3, f64::NAN, Fail)]
    {
        let times = |ms: f64| Statistics { median_ms: ms, ..times(1.0) };
        assert_eq!(ratio(times(serial), times(diamond)).verdict, verdict, "{serial} / {diamond}");
    }
}

#[test]
fn a_ratio_is_not_judged_on_few_sms_with_many_blocks_or_short_kernels() {
    let reasons = |serial, blocks, sms| reasons_against_ratio(times(serial), blocks, sms).len();
    assert_eq!(reasons(2.8, 8, 132), 0);
    assert_eq!([reasons(2.8, 8, 23), reasons(2.8, 66, 132), reasons(2.8, 67, 132)], [1, 0, 1]);
    assert_eq!([reasons(0.25, 8, 132), reasons(0.249, 8, 132), reasons(0.1, 99, 8)], [0, 1, 3]);
}

#[test]
fn only_the_documented_code_says_that_an_ordering_event_has_no_time() {
    assert_eq!(no_timestamp(Ok(0.5)).unwrap().verdict, Fail);
    let other = streamlab::Error::OutOfMemory { what: String::new(), needed_bytes: 1, free_bytes: 0 };
    assert_eq!(no_timestamp(Err(other)).unwrap().verdict, Fail);
    assert!(no_timestamp(Err(streamlab::Error::NoDevice)).is_err());
}

/// Kernels of the diamond with gaps of 2 us, 500 us each; the branches start `early` us before the upstream kernel's end.
fn ran(early: u64) -> Vec<Interval> {
    let us = |start: u64, end: u64| Interval { start_ns: 1000 * start, end_ns: 1000 * end };
    let branch = us(502 - early, 1002 - early);
    vec![us(0, 500), branch, branch, branch, branch, us(1004, 1010)]
}

const ROOM: Room = Room { blocks: 8, resident: 1056 };

#[track_caller]
fn verdicts_of(checks: &[host::check::Check], want: &[Verdict]) {
    assert_eq!(checks.iter().map(|check| check.verdict).collect::<Vec<_>>(), want, "{checks:?}");
}

#[test]
fn the_timeline_of_each_order_is_told_from_the_others() {
    verdicts_of(&right_order(&ran(0), ROOM, 32), &[Pass, Pass, Pass]);
    verdicts_of(&right_order(&ran(400), ROOM, 32), &[Pass, Fail, Pass]);
    verdicts_of(&broken_order(&ran(400), ROOM), &[Pass]);
    verdicts_of(&broken_order(&ran(0), ROOM), &[Fail]);
    let mut serial = ran(0);
    for (j, branch) in serial[1..5].iter_mut().enumerate() {
        let start_ns = 502_000 + 500_000 * j as u64;
        *branch = Interval { start_ns, end_ns: start_ns + 500_000 };
    }
    verdicts_of(&right_order(&serial, ROOM, 32), &[Fail, Pass, Fail]);
    let full = Room { blocks: 300, resident: 1056 };
    verdicts_of(&right_order(&serial, full, 32), &[NotJudged, Pass, Fail]);
    verdicts_of(&right_order(&[], ROOM, 32), &[]);
}

/// Runs the lesson small, on the virtual H200 with a fault.
fn with_fault(faulty: Faulty) -> (Value, Faulty) {
    let _alone = support::alone();
    faulty::with(faulty, || {
        let context = Context::open(Device::Installed(0), IMAGES).unwrap();
        let mut lab = Lab::new(&context, "forkjoin", &support::common(context.opened()), Report::new(true));
        let outcome = forkjoin::run(&mut lab, &forkjoin::Args { elems: 1000, iters: 8, blocks: 8 });
        assert!(matches!(outcome, Err(Stop::Failed)));
        let document = serde_json::to_value(lab.finish()).unwrap();
        assert!(context.finish().is_empty());
        document
    })
}

#[test]
fn a_lost_launch_fails_the_result_of_its_order_and_ends_the_lesson() {
    // Nothing wrote the memory before: the diamond is the first to run, and its sum is the sixth launch.
    for launch in [0, 1, 5] {
        let (document, after) = with_fault(Faulty { loses_launch: Some(launch), ..Faulty::default() });
        assert_eq!(failed(&document), ["diamond.result"], "launch {launch}");
        assert_eq!(verdicts(&document).len(), 2);
        assert!(document["times"].as_array().unwrap().is_empty() && after.leaks().is_empty());
    }
}
