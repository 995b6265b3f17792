//! The copies lesson on virtual devices: its checks by identifier and verdict, and each of them at its threshold.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use host::check::Verdict::{Fail, NotJudged, Pass};
use host::lessons::copies::{
    Call, both_directions, complete_at_return, one_after_the_other, one_direction, pageable_is_slower,
    ran_together, reasons_against, returns, took_turns,
};
use host::measure::Statistics;
use host::overlap::Interval;
use support::{failed, lesson, verdict, verdicts};

/// 8 MiB, of which the last part over the bus is not a whole one.
const SMALL: &str = "copies --elems 2097155 --order deny --device virtual";

#[test]
fn only_a_pinned_copy_leaves_the_host_and_only_other_directions_overlap() {
    for device in ["h200", "t4"] {
        let document = lesson(&format!("{SMALL}:{device}")).unwrap();
        let verdicts = verdicts(&document);
        assert!(verdicts.iter().all(|(_, verdict)| verdict == "pass"), "{device}: {verdicts:?}");
        // There and back twice with their orders, eleven about calls, two about two copies, three traced with their orders, and
        // the result that is read too early.
        assert_eq!(verdicts.len(), 24);
        let calls = document["values"]["calls"].as_array().unwrap();
        let complete: Vec<_> = calls.iter().map(|call| &call["complete_at_return"]).collect();
        assert_eq!(complete, [0, 1, 1, 0, 1, 1], "{device}");
        let runs = document["runs"].as_array().unwrap().iter();
        let names: Vec<_> = runs.map(|run| [0, 1].map(|at| run["slices"][at]["name"].clone())).collect();
        let (to_device, to_host) = ("copy to device", "copy to host");
        assert_eq!(names, [[to_device, to_host], [to_device, to_device], [to_device, to_host]]);
    }
}

#[test]
fn copies_that_are_too_short_decide_nothing_and_fail_nothing() {
    let document = lesson("copies --device virtual:h200 --elems 1 --order deny").unwrap();
    assert_eq!(failed(&document), [""; 0]);
    for id in ["both-directions.ratio", "to-host.pinned-returns-early", "timeline.both-directions-overlap"] {
        assert_eq!(verdict(&document, id), "not_judged", "{id}");
    }
    assert_eq!(verdict(&document, "result read too early.missing-edges"), "pass");
}

#[test]
fn late_nothing_fails_and_the_schedule_is_the_reason_not_the_size() {
    let document = lesson(&format!("{SMALL}:h200 --schedule late")).unwrap();
    assert_eq!(failed(&document), [""; 0]);
    assert_eq!(document["values"]["read_too_early"]["old_elements"], 2_097_155);
    for id in ["both-directions.ratio", "one-direction.ratio"] {
        assert_eq!(verdict(&document, id), "not_judged", "{id}");
    }
    // The one reason of an unjudged check names what these numbers hang on; a second would be the copies' size.
    let [short, late, both] =
        [(0.01, false), (1.0, true), (0.01, true)].map(|(ms, late)| reasons_against(ms, 2, late));
    assert_eq!(both, late);
    assert!(short != late && short.len() == 1 && late.len() == 1);
}

fn call(returned_ms: f64, device_ms: f64) -> Call {
    let times = |ms: f64| Statistics { median_ms: ms, ..Statistics::of(&[1.0; 3]).unwrap() };
    let (returned, device) = (times(returned_ms), times(device_ms));
    Call { name: "copy", returned, complete_at_return: 0, device, gb_per_s: 1.0 }
}

#[test]
fn a_call_returns_early_up_to_half_of_its_copy_and_blocks_from_there_on() {
    for (returned_ms, device_ms, early, blocks) in [
        (0.49, 1.0, Pass, Fail),
        (0.5, 1.0, Pass, Pass),
        (0.51, 1.0, Fail, Pass),
        (0.01, 0.09, NotJudged, NotJudged),
        (f64::NAN, 1.0, Fail, Fail),
        (1.0, f64::NAN, Fail, Fail),
    ] {
        let call = call(returned_ms, device_ms);
        let found = [false, true].map(|blocks| returns("r", &call, blocks).verdict);
        assert_eq!(found, [early, blocks], "{returned_ms} of {device_ms}");
    }
}

#[test]
fn a_query_has_to_say_the_same_in_every_run() {
    let check =
        |complete_at_return, want| complete_at_return_of(Call { complete_at_return, ..call(0.1, 1.0) }, want);
    assert_eq!([check(3, true), check(2, true), check(0, true)], [Pass, Fail, Fail]);
    assert_eq!([check(0, false), check(1, false), check(3, false)], [Pass, Fail, Fail]);
    let none = Call { returned: Statistics::UNKNOWN, ..call(0.1, 1.0) };
    assert_eq!([true, false].map(|want| complete_at_return_of(none, want)), [Fail, Fail]);
    assert_eq!(complete_at_return_of(call(0.1, 0.09), true), NotJudged);
}

fn complete_at_return_of(call: Call, want: bool) -> host::check::Verdict {
    complete_at_return("c", &call, want).verdict
}

#[test]
fn ratios_pass_at_their_limits_and_fail_beyond_them() {
    let slower = |slow, fast| pageable_is_slower("p", &call(0.0, slow), &call(0.0, fast)).verdict;
    let found = [slower(1.2, 1.0), slower(1.19, 1.0), slower(f64::NAN, 1.0), slower(9.0, 0.09)];
    assert_eq!(found, [Pass, Fail, Fail, NotJudged]);
    assert_eq!([1.5, 1.51, f64::NAN].map(|ms| both_directions(ms, 1.0, 1.0).verdict), [Pass, Fail, Fail]);
    assert_eq!([1.8, 1.79, f64::NAN].map(|ms| one_direction(ms, 1.0).verdict), [Pass, Fail, Fail]);
    let reasons = |ms, engines, late| reasons_against(ms, engines, late).len();
    assert_eq!([reasons(0.1, 2, false), reasons(0.099, 2, false), reasons(1.0, 1, false)], [0, 1, 1]);
}

#[test]
fn the_timeline_tells_overlap_from_turns() {
    let ran = |start_ns, end_ns| Interval { start_ns, end_ns };
    for (second, engines, want) in [
        (ran(100_000, 300_000), 2, Pass),
        (ran(100_001, 300_001), 2, Fail),
        (ran(200_000, 300_000), 1, NotJudged),
        (ran(200_000, 299_999), 2, NotJudged),
    ] {
        assert_eq!(ran_together(&[ran(0, 200_000), second], engines)[0].verdict, want, "{second:?}");
    }
    for (second, want) in [(ran(100, 150), Pass), (ran(100, 149), NotJudged)] {
        assert_eq!(took_turns(&[ran(0, 100), second])[0].verdict, want);
    }
    assert_eq!(took_turns(&[ran(0, 0); 2])[0].verdict, NotJudged);
    for (start, want) in [(100, Pass), (95, Pass), (94, Fail)] {
        assert_eq!(one_after_the_other(&[ran(0, 100), ran(start, 200)])[0].verdict, want);
    }
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_copies_hold() {
    assert_eq!(failed(&lesson("copies --device gpu --order deny").unwrap()), [""; 0]);
}
