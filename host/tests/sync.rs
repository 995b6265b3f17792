//! The sync lesson on virtual devices and, where there is one, on a GPU; and each of its checks failing.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use host::check::Verdict::{Fail, Pass};
use host::lessons::sync::{Complete, asked, narrow_first, returned};
use host::overlap::Interval;
use serde_json::{Value, json};
use support::{lesson, verdicts};

const CHECKS: [&str; 18] = [
    "first.result",
    "second.result",
    "third.result",
    "event-wait.missing-edges",
    "event-wait.complete",
    "event-wait.covered",
    "short-stream-wait.missing-edges",
    "short-stream-wait.complete",
    "short-stream-wait.covered",
    "device-wait.missing-edges",
    "device-wait.complete",
    "device-wait.covered",
    "queries.missing-edges",
    "queries.not-ready-first",
    "queries.covered",
    "too-narrow.missing-edges",
    "timeline.second-after-first",
    "timeline.short-hidden",
];

fn check_every_wait(typed: &str, undecided: &[&str]) -> Value {
    let document = lesson(&format!("sync --order deny {typed}")).unwrap();
    let verdict = |id: &str| if undecided.contains(&id) { "not_judged" } else { "pass" }.to_owned();
    let want: Vec<_> = CHECKS.iter().map(|id| ((*id).to_owned(), verdict(id))).collect();
    assert_eq!(verdicts(&document), want, "{typed}");
    let complete = |wait: &str| document["values"][&format!("{wait}.complete")].clone();
    for (wait, short, long) in
        [("event-wait", false, false), ("short-stream-wait", true, false), ("device-wait", true, true)]
    {
        assert_eq!(complete(wait), json!({ "event": true, "short": short, "long": long }), "{typed}");
    }
    let edges = document["missing_edges"].as_array().unwrap().iter();
    let missing: Vec<_> = edges.map(|submission| submission["edges"].as_array().unwrap().len()).collect();
    assert_eq!(missing, [0, 0, 0, 0, 1], "{typed}");
    document
}

#[test]
fn each_wait_returns_when_what_it_names_is_done_and_only_the_narrow_read_is_flagged() {
    for device in ["h200", "t4"] {
        let document = check_every_wait(&format!("--device virtual:{device} --warmups 0"), &[]);
        assert!(document["values"]["refused_queries"].as_u64().unwrap() > 100);
        assert_eq!(document["values"]["read_too_early"], 32);
    }
}

#[test]
fn late_the_waits_still_name_what_they_wait_for_and_every_run_is_one() {
    let documents = [1, 2].map(|threads| {
        let typed = format!("--device virtual:h200 --schedule late --warmups 0 --threads {threads}");
        check_every_wait(&typed, &["timeline.short-hidden"])
    });
    assert_eq!(documents[0]["values"]["refused_queries"], 1);
    assert_eq!(documents[0]["values"]["read_too_early"], 32);
    assert_eq!(documents[0], documents[1]);
}

#[test]
fn the_report_names_the_copy_and_the_read_of_the_narrow_wait() {
    let document = lesson("sync --device virtual:h200 --warmups 0 --steps 20000").unwrap();
    let source: Vec<_> = include_str!("../src/lessons/sync.rs").lines().collect();
    let start = source.iter().position(|line| line.contains("fn too_narrow(&self)")).unwrap();
    let end = start + source[start..].iter().position(|line| *line == "    }").unwrap();
    let report = document["missing_edges"][4]["edges"][0]["report"].as_str().unwrap();
    let line =
        |rest: &str| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap().parse::<usize>().unwrap();
    let named: Vec<_> = report.split("lessons/sync.rs:").skip(1).map(|rest| line(rest) - 1).collect();
    assert!(named.iter().all(|at| (start..end).contains(at)), "{named:?} in {start}..{end}");
    let [copy, read] = named[..] else { panic!("{report}") };
    assert!(source[copy].contains("copy_to_host(&self.third") && source[read].contains("third_host.read()"));
}

#[test]
fn a_wait_that_returns_late_or_early_fails() {
    let narrow = Complete { event: true, short: false, long: false };
    assert_eq!(returned("w", "a wait", narrow, narrow).verdict, Pass);
    for other in [
        Complete { event: false, ..narrow },
        Complete { short: true, ..narrow },
        Complete { long: true, ..narrow },
    ] {
        assert_eq!(returned("w", "a wait", other, narrow).verdict, Fail, "{other}");
    }
}

#[test]
fn a_query_that_was_complete_at_once_may_have_waited() {
    assert_eq!([0, 1, 9].map(|refusals| asked(refusals).verdict), [Fail, Pass, Pass]);
}

#[test]
fn the_kernels_end_from_narrow_to_wide() {
    let ran = |start_ns, end_ns| Interval { start_ns, end_ns };
    let verdicts =
        |ran: &[Interval]| narrow_first(ran, 32).iter().map(|check| check.verdict).collect::<Vec<_>>();
    let (first, second, long) = (ran(0, 1000), ran(1100, 2100), ran(20, 4000));
    assert_eq!(verdicts(&[first, second, long]), [Pass, Pass]);
    assert_eq!(verdicts(&[first, ran(968, 1900), long]), [Pass, Pass]);
    assert_eq!(verdicts(&[first, ran(967, 1900), long]), [Fail, Pass]);
    assert_eq!(verdicts(&[first, second, ran(2100, 6100)]), [Pass, Fail]);
    assert_eq!(verdicts(&[first]), [Fail]);
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_each_wait_returns_when_what_it_names_is_done_and_only_the_narrow_read_is_flagged() {
    check_every_wait("--device gpu", &[]);
}
