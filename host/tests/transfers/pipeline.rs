//! The pipeline lesson, and its chunks.

use host::args::{Command, Pipeline};
use host::lesson::chunks::Chunks;
use host::order::missing_edges;
use host::reference;
use host::submit::{Error, Log, Operation};

use crate::rig::{self, Found};

fn pipeline(typed: &str) -> Pipeline {
    match rig::parse(&format!("pipeline {typed}")) {
        Command::Pipeline(options) => options,
        other => panic!("{other:?}"),
    }
}

fn on_virtual(typed: &str) -> Found {
    rig::run(pipeline(typed), true)
}

/// Chunks that a T4's bus takes some 90 us for, the last of them shorter.
const SMALL: &str = "--device virtual:t4 --elems 1048579 --chunks 8";

/// Submits once, and returns what was submitted and whether the result is the reference's.
fn outcome(typed: &str, submit: impl Fn(&Chunks<'_>, &Pipeline) -> Result<(), Error>) -> (Log, bool) {
    let options = pipeline(typed);
    let inputs =
        [8192, 1021].map(|period| (0..options.elems).map(|i| (1 + i % period) as f32).collect::<Vec<_>>());
    let mut want = vec![0.0; options.elems as usize];
    reference::pipeline::add_chain(&inputs[0], &inputs[1], &mut want, options.steps);
    crate::card::on_card(&options.common, |context| {
        let work = Chunks::new(context, &options, options.streams.max(3), [&inputs[0], &inputs[1]]).unwrap();
        let log = context.logged(|| submit(&work, &options)).unwrap();
        (log, work.result().unwrap() == want)
    })
}

#[test]
fn any_number_of_elements_chunks_and_streams_gives_the_reference_and_misses_no_edge() {
    for (elems, chunks) in [(1, 1), (1, 16), (3, 2), (1003, 7), (4096, 16), (40_961, 16), (5000, 1024)] {
        for streams in [1, 2, 3, 5] {
            for schedule in ["card", "late"] {
                let typed = format!(
                    "--device virtual --elems {elems} --chunks {chunks} --streams {streams} --steps 3 --schedule {schedule}"
                );
                let (log, right) =
                    outcome(&typed, |work, options| work.submit(options.chunks, options.streams));
                assert!(right, "{typed}");
                assert_eq!(missing_edges(&log).len(), 0, "{typed}");
                let (log, right) = outcome(&typed, |work, options| work.submit_by_stage(options.chunks));
                assert!(right, "by stage: {typed}");
                assert_eq!(missing_edges(&log).len(), 0, "by stage: {typed}");
            }
        }
    }
}

#[test]
fn chunks_take_the_streams_in_turn_and_the_last_one_is_what_is_left() {
    let (log, _) =
        outcome("--device virtual --elems 1003 --chunks 4 --streams 3", |work, _| work.submit(4, 3));
    let chunk = |stream: u32| {
        format!(
            "copy host a to a on s{stream}\ncopy host b to b on s{stream}\nlaunch add_chain on s{stream}, reads a b, \
             writes out\ncopy out to host out on s{stream}\n"
        )
    };
    assert_eq!(log.to_string(), [0, 1, 2, 0].map(chunk).concat());
    let bytes: Vec<_> = log
        .entries
        .iter()
        .filter_map(|entry| match &entry.operation {
            Operation::AsyncCopyToHost { bytes, .. } => Some(bytes.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(bytes, [0..1008, 1008..2016, 2016..3024, 3024..4012]);
}

#[test]
fn without_events_each_hand_over_is_a_missing_edge_and_late_no_element_is_right() {
    for chunks in [1, 2, 5, 16] {
        let typed = format!("--device virtual --elems 40961 --chunks {chunks} --schedule late");
        let (log, right) = outcome(&typed, |work, options| work.submit_broken(options.chunks));
        let edges: Vec<_> = missing_edges(&log).into_iter().map(|edge| (edge.from, edge.to)).collect();
        let edge = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        assert_eq!(edges, [edge("s0", "s1"), edge("s1", "s2")], "{chunks} chunks");
        assert!(!right);
    }
}

#[test]
fn the_times_are_the_models_and_the_traced_runs_show_why() {
    let found = on_virtual(SMALL);
    assert!(found.passed, "{:#?}", found.gates());
    for gate in ["serial 1.", "pipeline 0.", "timeline: 32 copies and kernels, one", "timeline: on average"] {
        assert_eq!(found.verdict(gate), "pass");
    }
    // Eight chunks of a vector addition cannot come nearer than this, and the gate says so.
    assert_eq!(found.verdict("the pipeline reaches"), "not_gated");
    let stages = ["copy to device", "copy to device", "add_chain", "copy to host"];
    let of_a_run: Vec<_> = stages.iter().cycle().take(32).map(|name| (*name).to_owned()).collect();
    assert_eq!(found.slices, [of_a_run.clone(), of_a_run]);
    assert_eq!(found.missing("a stream for each stage without events"), (2, 2));
}

#[test]
fn a_sweep_has_every_setting_and_its_best_reaches_the_bound() {
    let found = on_virtual("--device virtual:t4 --elems 5242883 --chunks 8 --sweep");
    assert!(found.passed, "{:#?}", found.gates());
    assert_eq!(found.verdict("the best setting, "), "pass");
    let sweep = found.document["sweep"].as_array().unwrap();
    assert_eq!(sweep.len(), 35);
    let of_bound = |chunks: u64, streams: u64| {
        let point =
            sweep.iter().find(|point| point["chunks"] == chunks && point["streams"] == streams).unwrap();
        point["of_bound"].as_f64().unwrap()
    };
    // One stream gains nothing from chunks, and one chunk nothing from streams.
    assert!(of_bound(16, 1) < 0.7 && of_bound(1, 8) < 0.7 && of_bound(16, 4) > 0.85);
}

#[test]
fn one_stream_and_work_that_is_too_small_decide_nothing_and_fail_nothing() {
    for typed in [
        "--device virtual:t4 --elems 524291 --streams 1",
        "--device virtual:t4 --elems 524291 --streams 2",
        "--elems 1",
        "--elems 100003",
        "--elems 100003 --schedule late",
    ] {
        let found = on_virtual(typed);
        assert!(found.passed, "{typed}: {:#?}", found.gates());
    }
}

#[test]
fn it_holds_when_everything_runs_as_late_as_the_order_allows() {
    let found = on_virtual(&format!("{SMALL} --schedule late"));
    assert!(found.passed, "{:#?}", found.gates());
    let broken = &found.document["broken_order"];
    assert_eq!(broken["wrong_elements"], broken["elements"]);
}

#[test]
fn the_document_of_a_virtual_card_is_the_same_on_any_number_of_threads() {
    let one = on_virtual("--elems 100003 --threads 1");
    assert_eq!(on_virtual("--elems 100003 --threads 2").document, one.document);
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_pipeline_reaches_the_bound_at_its_best_setting() {
    let found = rig::run(pipeline("--device gpu --elems 134217763 --sweep"), false);
    assert!(found.passed, "{:#?}", found.gates());
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_pipeline_holds_when_computing_takes_as_long_as_copying() {
    let found = rig::run(pipeline("--device gpu --steps 2000"), false);
    assert!(found.passed, "{:#?}", found.gates());
}
