//! The pipeline lesson on virtual devices: its orders with any number of chunks and streams, and its checks at their thresholds.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use host::check::Verdict::{Fail, NotJudged, Pass};
use host::lessons::pipeline::model::{
    MIN_BOUND_MS, Stages, best_of_bound, bound_ms, chunk_ranges, model, of_bound, one_at_a_time, overlapped,
    reasons_against,
};
use host::lessons::pipeline::{Program, inputs};
use host::overlap::Interval;
use host::reference::pipeline::add_chain;
use serde_json::Value;
use streamlab::{Context, Device, Error, Log, Model, Options, Schedule};
use support::{failed, lesson, on_device, verdict, verdicts};

/// Chunks that a T4's bus takes some 90 us for, the last of them shorter.
const SMALL: &str = "pipeline --device virtual:t4 --elems 1048579 --chunks 8 --order deny";

type Order<'o> = &'o dyn Fn(&Program<'_>) -> Result<(), Error>;

/// Submits once, and returns what was submitted and whether the result is the reference's.
fn outcome(context: &Context, elems: u64, submit: impl Fn(&Program<'_>) -> Result<(), Error>) -> (Log, bool) {
    let [a, b] = inputs(elems);
    let mut want = vec![0.0; a.len()];
    add_chain(&a, &b, &mut want, 3);
    let p = Program::new(context, 5, 3, [&a, &b]).unwrap();
    let log = streamlab::check(context, || submit(&p)).unwrap();
    context.synchronize().unwrap();
    (log, p.result() == want)
}

fn on_virtual(schedule: Schedule, test: impl FnOnce(&Context)) {
    on_device(Options { device: Device::Virtual(Model::H200), schedule, ..Options::default() }, test);
}

#[test]
fn any_number_of_elements_chunks_and_streams_gives_the_reference_and_misses_no_edge() {
    for schedule in [Schedule::Earliest, Schedule::Late] {
        on_virtual(schedule, |context| {
            let right = |elems, name, submit: Order<'_>| {
                let (log, right) = outcome(context, elems, submit);
                assert!(right && log.missing_edges().is_empty(), "{name} of {elems}, {schedule:?}");
            };
            for (elems, chunks) in
                [(1, 1), (1, 16), (3, 2), (1003, 7), (4096, 16), (40_961, 16), (5000, 1024)]
            {
                for streams in [1, 2, 3, 5] {
                    right(elems, "pipeline", &|p| p.pipeline(chunks, streams));
                }
                right(elems, "serial", &|p| p.serial(chunks));
                right(elems, "by stage", &|p| p.by_stage(chunks));
            }
        });
    }
}

#[test]
fn chunks_take_the_streams_in_turn_and_each_step_has_a_line_of_its_own() {
    on_virtual(Schedule::Earliest, |context| {
        let (log, _) = outcome(context, 1003, |p| p.pipeline(4, 3));
        let chunk = |stream: u32| {
            format!(
                "copy host a to a on s{stream}\ncopy host b to b on s{stream}\nlaunch add_chain on s{stream}, reads a b, writes \
                 out\ncopy out to host out on s{stream}\n"
            )
        };
        assert_eq!(log.to_string(), [0, 1, 2, 0].map(chunk).concat());
        let orders: [Order<'_>; 4] =
            [&|p| p.serial(4), &|p| p.pipeline(4, 3), &|p| p.by_stage(4), &|p| p.broken(4)];
        let mut places = Vec::new();
        for order in orders {
            let (log, _) = outcome(context, 1003, order);
            let mut of_order: Vec<_> = log.work().into_iter().map(|at| log.place(at)).collect();
            of_order.sort_unstable();
            of_order.dedup();
            places.extend(of_order);
        }
        assert_eq!(places.len(), 16);
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 16, "{places:?}");
    });
}

#[test]
fn without_events_each_hand_over_is_a_missing_edge_and_late_the_result_is_wrong() {
    on_virtual(Schedule::Late, |context| {
        for chunks in [1, 2, 5, 16] {
            let (log, right) = outcome(context, 40_961, |p| p.broken(chunks));
            let edges = log.missing_edges();
            let edges: Vec<_> = edges.iter().map(|edge| (edge.from.as_str(), edge.to.as_str())).collect();
            assert_eq!(edges, [("s0", "s1"), ("s1", "s2")], "{chunks} chunks");
            assert!(!right);
        }
    });
}

#[test]
fn chunks_are_every_element_once_and_the_last_is_what_is_left() {
    for (elems, chunks, lengths) in [
        (16, 4, vec![4, 4, 4, 4]),
        (17, 4, vec![8, 8, 1]),
        (1000, 3, vec![336, 336, 328]),
        (3, 4, vec![3]),
        (5, 1, vec![5]),
    ] {
        let ranges: Vec<_> = chunk_ranges(elems, chunks).collect();
        assert_eq!(ranges.iter().map(ExactSizeIterator::len).collect::<Vec<_>>(), lengths);
        assert!(ranges.into_iter().flatten().eq(0..elems), "{elems} in {chunks}");
    }
}

fn names(run: &Value) -> Vec<&str> {
    run["slices"].as_array().unwrap().iter().map(|slice| slice["name"].as_str().unwrap()).collect()
}

#[test]
fn the_times_are_the_models_and_the_traced_runs_show_why() {
    let document = lesson(SMALL).unwrap();
    // Eight chunks of a vector addition cannot come nearer than this.
    for (id, found) in verdicts(&document) {
        assert_eq!(found, if id == "pipeline.bound" { "not_judged" } else { "pass" }, "{id}");
    }
    assert_eq!(verdicts(&document).len(), 14);
    let stages = ["copy to device", "copy to device", "add_chain", "copy to host"];
    for run in document["runs"].as_array().unwrap() {
        assert_eq!(names(run), stages.repeat(8));
    }
    let document = lesson("pipeline --device virtual:h200 --elems 4194339 --chunks 8 --order deny").unwrap();
    assert_eq!(failed(&document), [""; 0]);
    assert_eq!(verdict(&document, "pipeline.model"), "pass");
}

#[test]
fn a_sweep_has_every_setting_and_its_best_reaches_the_bound() {
    let document = lesson("pipeline --device virtual:t4 --elems 5242883 --chunks 8 --sweep").unwrap();
    assert_eq!((failed(&document), verdict(&document, "pipeline.bound").as_str()), (vec![], "pass"));
    let sweep = document["values"]["sweep"].as_array().unwrap();
    assert_eq!(sweep.len(), 35);
    let of_bound = |chunks: u64, streams: u64| {
        let point = sweep.iter().find(|point| point["chunks"] == chunks && point["streams"] == streams);
        point.unwrap()["of_bound"].as_f64().unwrap()
    };
    // One stream gains nothing from chunks, and one chunk nothing from streams.
    assert!(of_bound(16, 1) < 0.7 && of_bound(1, 8) < 0.7 && of_bound(16, 4) > 0.85);
}

#[test]
fn one_stream_small_work_and_the_late_schedule_fail_nothing() {
    for typed in [
        "pipeline --device virtual:t4 --elems 524291 --streams 1",
        "pipeline --device virtual:t4 --elems 524291 --streams 2",
        "pipeline --device virtual:h200 --elems 1",
        "pipeline --device virtual:h200 --elems 100003",
        "pipeline --device virtual:h200 --elems 100003 --schedule late",
    ] {
        assert_eq!(failed(&lesson(&format!("{typed} --order deny")).unwrap()), [""; 0], "{typed}");
    }
    let document = lesson(&format!("{SMALL} --schedule late")).unwrap();
    assert_eq!(failed(&document), [""; 0]);
    let broken = &document["values"]["broken_order"];
    assert_eq!(broken["wrong_elements"], broken["elements"]);
    for id in ["serial.model", "pipeline.model", "pipeline.bound", "timeline.pipeline-overlaps"] {
        assert_eq!(verdict(&document, id), "not_judged", "{id}");
    }
}

const EQUAL: Stages = Stages { copy_in: 4.0, compute: 4.0, copy_out: 4.0 };
const UNEQUAL: Stages = Stages { copy_in: 8.0, compute: 1.0, copy_out: 4.0 };

#[test]
fn the_model_is_the_longest_stage_and_one_chunk_of_the_others() {
    // Four chunks of t = 1: 12 t, and 4 t + 2 t.
    assert_eq!((EQUAL.serial_ms(), EQUAL.overlapped_ms(4, 0.0)), (12.0, 6.0));
    assert_eq!([EQUAL.predicted_ms(4, 0.0, 1), EQUAL.predicted_ms(4, 0.0, 3)], [12.0, 6.0]);
    assert_eq!([UNEQUAL.serial_ms(), UNEQUAL.longest_ms(), UNEQUAL.overlapped_ms(5, 0.0)], [13.0, 8.0, 9.0]);
    assert_eq!(UNEQUAL.overlapped_ms(1, 0.0), UNEQUAL.serial_ms());
    assert_eq!([bound_ms(UNEQUAL, 7.0), bound_ms(UNEQUAL, 8.5)], [8.0, 8.5]);
    let unknown = Stages { compute: f64::NAN, ..EQUAL };
    assert!(unknown.longest_ms().is_nan() && unknown.overlapped_ms(4, 0.0).is_nan());
    assert!(bound_ms(UNEQUAL, f64::NAN).is_nan() && bound_ms(unknown, 9.0).is_nan());
}

#[test]
fn times_hold_within_fifteen_hundredths_of_the_model_and_from_nine_tenths_of_the_bound_on() {
    for (measured, want) in [(8.5, Pass), (8.49, Fail), (11.5, Pass), (11.51, Fail), (f64::NAN, Fail)] {
        assert_eq!(model("serial", measured, 10.0, 1).verdict, want, "{measured}");
    }
    assert_eq!(model("pipeline", 30.0, 10.0, 2).verdict, NotJudged);
    assert_eq!(of_bound(10.0, 9.0, 9.5).verdict, Pass);
    for measured_ms in [10.01, 20.0, f64::NAN] {
        assert_eq!(of_bound(measured_ms, 9.0, 9.5).verdict, NotJudged);
        assert_eq!(best_of_bound("it", measured_ms, 9.0).verdict, Fail);
    }
    for (measured_ms, bound_ms, want) in
        [(10.0, 9.0, Pass), (8.0, MIN_BOUND_MS, Fail), (8.0, 5.99, NotJudged), (6.0, 5.99, Pass)]
    {
        assert_eq!(best_of_bound("it", measured_ms, bound_ms).verdict, want);
    }
    let of_longest = |ms: f64, late| reasons_against(Stages { copy_in: ms, ..EQUAL.of_one(1000) }, late);
    assert_eq!([of_longest(0.05, false).len(), of_longest(0.049, false).len()], [0, 1]);
    assert!(of_longest(0.01, true) == of_longest(1.0, true) && of_longest(0.01, true).len() == 1);
}

#[test]
fn traced_runs_overlap_by_half_of_what_the_model_says_or_not_at_all() {
    let ran = |start_ns, end_ns| Interval { start_ns, end_ns };
    let two = [ran(0, 100); 2];
    for (predicted, want) in [(3.0, Pass), (3.01, Fail), (1.09, NotJudged), (f64::NAN, Fail)] {
        assert_eq!(overlapped(&two, predicted).verdict, want, "{predicted}");
    }
    assert_eq!(overlapped(&[ran(0, 100), ran(100, 200)], 1.5).verdict, Fail);
    assert_eq!([overlapped(&[], 1.5).verdict, one_at_a_time(&[], 32).verdict], [NotJudged; 2]);
    for (end_ns, step_ns, want) in [(100, 0, Pass), (164, 32, Pass), (165, 32, Fail)] {
        assert_eq!(one_at_a_time(&[ran(100, 200), ran(0, end_ns)], step_ns).verdict, want, "{end_ns}");
    }
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_pipeline_reaches_the_bound_at_its_best_setting_and_holds_when_computing_takes_as_long() {
    for typed in ["pipeline --device gpu --elems 134217763 --sweep", "pipeline --device gpu --steps 2000"] {
        assert_eq!(failed(&lesson(&format!("{typed} --order deny")).unwrap()), [""; 0], "{typed}");
    }
}
