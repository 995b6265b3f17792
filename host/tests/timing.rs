//! The timing lesson on virtual devices: its checks by identifier and verdict, and each of them at its threshold.

mod support;

use host::check::Verdict::{Fail, NotJudged, Pass};
use host::lessons::timing::{INVALID_HANDLE, NOT_READY, bandwidth, directions, missed, refused, waited};
use streamlab::{Device, Error, Event, Model, Stream, StreamKind};
use support::{failed, lesson, on_device, verdict, verdicts};

const CHECKS: [&str; 12] = [
    "events on the stream of the work.missing-edges",
    "vec_add.result",
    "vec_add.bandwidth",
    "host-clock.misses-the-work",
    "host-clock.holds-the-work-after-a-wait",
    "stop-elsewhere.misses-the-work",
    "timeline.stop-elsewhere",
    "stop elsewhere.missing-edges",
    "too-early.refused",
    "ordering-events.refused",
    "never-recorded.refused",
    "elapsed.directions",
];

/// Large enough for the memory of a T4 to be the limit, with a last element that no four and no block takes.
const T4: &str = "timing --device virtual:t4 --elems 2097155 --order deny";

#[test]
fn the_right_events_show_the_work_and_each_wrong_way_what_was_predicted() {
    let document = lesson(T4).unwrap();
    assert_eq!(verdicts(&document), CHECKS.map(|id| (id.to_owned(), "pass".to_owned())));
    // Twelve bytes an element at 240 GB/s.
    let median_ms = document["times"][0]["median_ms"].as_f64().unwrap();
    assert!((0.095..0.115).contains(&median_ms), "{median_ms} ms");
    for wrong in ["host_clock_without_a_wait_ms", "stop_on_another_stream_ms"] {
        assert!(document["values"][wrong].as_f64().unwrap() < 0.01, "{wrong}");
    }
    let slices = document["runs"][0]["slices"].as_array().unwrap();
    assert_eq!(slices.iter().map(|slice| &slice["name"]).collect::<Vec<_>>(), ["vec_add"]);
    let document = lesson("timing --device virtual:h200 --elems 20971521 --order deny").unwrap();
    assert!(verdicts(&document).iter().all(|(_, verdict)| verdict == "pass"), "{:?}", verdicts(&document));
}

#[test]
fn late_and_with_little_work_nothing_fails() {
    let document = lesson(&format!("{T4} --schedule late")).unwrap();
    assert_eq!(failed(&document), [""; 0]);
    assert_eq!(verdict(&document, "too-early.refused"), "pass");
    let document = lesson("timing --device virtual:h200 --elems 1000 --order deny").unwrap();
    assert_eq!(failed(&document), [""; 0]);
    for id in ["vec_add.bandwidth", "host-clock.misses-the-work", "stop-elsewhere.misses-the-work"] {
        assert_eq!(verdict(&document, id), "not_judged", "{id}");
    }
}

#[test]
fn an_addition_is_as_fast_as_memory_from_four_fifths_of_a_copy_on() {
    for (per_s, of_l2, want) in
        [(3.2e12, 4.0, Pass), (3.19e12, 4.0, Fail), (3.19e12, 3.9, NotJudged), (f64::NAN, 4.0, Fail)]
    {
        assert_eq!(bandwidth(per_s, 4e12, of_l2).verdict, want, "{per_s} {of_l2}");
    }
}

#[test]
fn a_clock_misses_the_work_when_it_shows_at_most_half_of_it_and_holds_it_from_nine_tenths_on() {
    for (shown_ms, work_ms, want) in [
        (0.5, 1.0, Pass),
        (0.51, 1.0, Fail),
        (f64::NAN, 1.0, Fail),
        (0.001, 0.05, Pass),
        (0.001, 0.049, NotJudged),
        (0.001, f64::NAN, NotJudged),
    ] {
        assert_eq!(missed("m", "it", shown_ms, work_ms).verdict, want, "{shown_ms} of {work_ms}");
    }
    assert_eq!([0.9, 7.0, 0.89, f64::NAN].map(|ms| waited(ms, 1.0).verdict), [Pass, Pass, Fail, Fail]);
}

#[test]
fn a_refusal_has_the_one_code_and_an_error_of_another_kind_goes_on() {
    on_device(Device::Virtual(Model::T4), |context| {
        let stream = Stream::new(context, "s", StreamKind::NonBlocking).unwrap();
        let [start, never] = ["start", "never"].map(|name| Event::timing(context, name).unwrap());
        stream.record(&start).unwrap();
        let ask = |want| refused("r", "a time", Event::elapsed_ms(&start, &never), want).unwrap().verdict;
        assert_eq!([ask(INVALID_HANDLE), ask(NOT_READY)], [Pass, Fail]);
    });
    assert_eq!(refused("r", "a time", Ok(1.0), NOT_READY).unwrap().verdict, Fail);
    assert!(refused("r", "a time", Err(Error::NoDevice), NOT_READY).is_err());
}

#[test]
fn swapped_events_give_the_negative_time_and_one_event_none() {
    assert_eq!(directions(2.0, -2.0, 0.0).verdict, Pass);
    for (forwards_ms, backwards_ms, itself_ms) in
        [(0.0, 0.0, 0.0), (2.0, 2.0, 0.0), (2.0, -2.0, 0.1), (-2.0, 2.0, 0.0)]
    {
        assert_eq!(directions(forwards_ms, backwards_ms, itself_ms).verdict, Fail);
    }
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_timing_holds_with_the_courses_vectors() {
    let document = lesson("timing --device gpu --elems 67108864 --order deny").unwrap();
    assert!(verdicts(&document).iter().all(|(_, verdict)| verdict == "pass"), "{:?}", verdicts(&document));
}
