//! Right and wrong answers to the exercises: which check ends each, and with which lines.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::{Mutex, PoisonError};

use clap::{Args as _, Command, FromArgMatches as _};
use exercises::{Lab, Outcome, judge, task};
use gpu::forkjoin::{grind_fma, sum_four};
use gpu::pdl::{combine_stage, produce_stage_early, produce_stage_never};
use host::exercise::Options;
use host::report::Report;
use serde_json::Value;
use streamlab::{Context, DeviceBuffer, Error, Event, LaunchConfig, PinnedBuffer, Stream, StreamKind};

#[expect(dead_code, reason = "a program has a `main`")]
#[path = "../solutions"]
mod solutions {
    pub mod fork2;
    pub mod pdl;
    pub mod pipeline;
    pub mod streams;
}

type Program = fn(&Context, &mut Lab<'_, '_>) -> Outcome;

static DEVICE: Mutex<()> = Mutex::new(());

/// What an answer comes to, as a JSON document.
fn judged(
    name: &str,
    options: &str,
    program: impl FnOnce(&Context, &mut Lab<'_, '_>) -> Outcome,
) -> Result<Value, Error> {
    let _alone = DEVICE.lock().unwrap_or_else(PoisonError::into_inner);
    let command = Options::augment_args(Command::new("test").no_binary_name(true));
    let options = Options::from_arg_matches(&command.get_matches_from(options.split_whitespace())).unwrap();
    let common = options.common();
    let ended = judge(task(name).unwrap(), &common, Report::new(true), "answer", program)?;
    assert!(ended.released.is_empty(), "{:?}", ended.released);
    Ok(serde_json::to_value(&ended.document).unwrap())
}

fn ids(document: &Value, verdict: &str) -> Vec<String> {
    let checks = document["checks"].as_array().unwrap().iter();
    let of = checks.filter(|check| check["verdict"] == verdict);
    of.map(|check| check["id"].as_str().unwrap().to_owned()).collect()
}

/// Checks that the answer fails at this check, and only there; returns its document.
#[track_caller]
fn fails(name: &str, id: &str, program: impl FnOnce(&Context, &mut Lab<'_, '_>) -> Outcome) -> Value {
    let document = judged(name, "--device virtual", program).unwrap();
    assert_eq!(ids(&document, "fail"), [id], "{document:#}");
    document
}

const SOLUTIONS: [(&str, Program); 4] = [
    ("fork2", solutions::fork2::program),
    ("streams", solutions::streams::program),
    ("pdl", solutions::pdl::program),
    ("pipeline", solutions::pipeline::program),
];

/// The checks of every right answer, and those that only `pdl` has.
const CHECKS: [&str; 5] = ["writes", "host-waits", "missing-edges", "result", "depth"];
const PDL_CHECKS: [&str; 2] = ["early-launch", "starts-early"];

#[track_caller]
fn solution_passes(device: &str, (name, program): (&str, Program)) {
    let document = judged(name, device, program).unwrap();
    let is_pdl = name == "pdl";
    // Three kernels deep either way, pdl's ratio cannot decide anything.
    let ratio = [format!("{name}.ratio")];
    let (more, ratio, not_judged): (&[_], &[_], &[_]) =
        if is_pdl { (&PDL_CHECKS, &[], &ratio) } else { (&[], &ratio, &[]) };
    let passes = CHECKS.iter().chain(more).map(|check| format!("{name}.{check}"));
    assert_eq!(
        ids(&document, "pass"),
        passes.chain(ratio.iter().cloned()).collect::<Vec<_>>(),
        "{document:#}"
    );
    assert_eq!(ids(&document, "not_judged"), not_judged, "{document:#}");
}

#[test]
fn each_solution_passes_on_every_virtual_device_that_can_run_it() {
    for solution in SOLUTIONS {
        solution_passes("--device virtual:h200", solution);
        if solution.0 != "pdl" {
            solution_passes("--device virtual:t4", solution);
        }
    }
    let error = judged("pdl", "--device virtual:t4", solutions::pdl::program).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }) && error.is_bad_input());
}

#[test]
fn late_a_solution_is_right_and_its_overlap_is_not_judged() {
    for (name, program) in SOLUTIONS {
        let document = judged(name, "--device virtual:h200 --schedule late", program).unwrap();
        assert_eq!(ids(&document, "fail"), [""; 0], "{document:#}");
        assert_eq!(ids(&document, "not_judged"), [format!("{name}.ratio")], "{document:#}");
    }
}

#[test]
fn a_solution_is_as_deep_as_predicted_and_not_much_slower_than_its_critical_path() {
    let document = judged("fork2", "--device virtual:h200", solutions::fork2::program).unwrap();
    let values = &document["values"];
    assert_eq!((&values["depth"], &values["prediction"]["serial_depth"]), (&3.into(), &5.into()));
    assert!((1.5..5.0 / 3.0).contains(&values["serial_over_yours"].as_f64().unwrap()), "{values}");
}

/// What the answers to fork2 use.
struct Fork2<'c> {
    context: &'c Context,
    main: Stream<'c>,
    left: Stream<'c>,
    right: Stream<'c>,
    fork: Event<'c>,
    left_done: Event<'c>,
    right_done: Event<'c>,
    input: DeviceBuffer<'c, f32>,
    mid: DeviceBuffer<'c, f32>,
    branches: [DeviceBuffer<'c, f32>; 4],
    sum: DeviceBuffer<'c, f32>,
}

impl<'c> Fork2<'c> {
    fn new(context: &'c Context) -> Result<Self, Error> {
        let input: Vec<f32> = (0..1 << 18).map(|i| (i % 251) as f32 * 0.01).collect();
        let stream = |name| Stream::new(context, name, StreamKind::NonBlocking);
        let event = |name| Event::ordering(context, name);
        let buffer = |name| DeviceBuffer::new(context, name, input.len());
        Ok(Fork2 {
            context,
            main: stream("main")?,
            left: stream("left")?,
            right: stream("right")?,
            fork: event("fork")?,
            left_done: event("left_done")?,
            right_done: event("right_done")?,
            input: DeviceBuffer::from_slice(context, "input", &input)?,
            mid: buffer("mid")?,
            branches: [buffer("branch1")?, buffer("branch2")?, buffer("branch3")?, buffer("branch4")?],
            sum: buffer("sum")?,
        })
    }

    #[track_caller]
    fn upstream(&self) -> Result<(), Error> {
        self.main.launch(LaunchConfig::new(8, 256), grind_fma(&self.input, &self.mid, 512, 0.999, 1.0))
    }

    #[track_caller]
    fn branch(&self, number: usize, stream: &Stream<'_>) -> Result<(), Error> {
        let (branch, b) = (&self.branches[number - 1], 0.0625 * f32::from(1_u8 << number));
        stream.launch(LaunchConfig::new(8, 256), grind_fma(&self.mid, branch, 512, 0.999, b))
    }

    #[track_caller]
    fn join(&self) -> Result<(), Error> {
        let [b1, b2, b3, b4] = &self.branches;
        self.main.launch(LaunchConfig::for_elements(1 << 18, 256), sum_four(b1, b2, b3, b4, &self.sum))
    }
}

fn fork2(
    submit: impl Fn(&Fork2<'_>) -> Result<(), Error>,
) -> impl FnOnce(&Context, &mut Lab<'_, '_>) -> Outcome {
    move |context, lab| {
        let f = Fork2::new(context)?;
        lab.check(&f.sum, || submit(&f))
    }
}

/// Both branch streams, and which of the waits and records there are.
fn branches(f: &Fork2<'_>, waits: bool, records: bool) -> Result<(), Error> {
    for (stream, branches, done) in [(&f.left, [1, 2], &f.left_done), (&f.right, [3, 4], &f.right_done)] {
        if waits || stream.name() == "left" {
            stream.wait(&f.fork)?;
        }
        branches.into_iter().try_for_each(|branch| f.branch(branch, stream))?;
        if records {
            stream.record(done)?;
            f.main.wait(done)?;
        }
    }
    Ok(())
}

/// The missing edges that a document has, as pairs of streams.
fn edges(document: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let edges = document["missing_edges"][0]["edges"].as_array().unwrap().iter();
    edges.map(|edge| (text(&edge["from"]), text(&edge["to"]))).collect()
}

fn pairs<const N: usize>(of: [(&str, &str); N]) -> Vec<(String, String)> {
    of.map(|(from, to)| (from.to_owned(), to.to_owned())).into()
}

#[test]
fn in_fork2_a_dropped_wait_and_a_moved_record_are_missing_edges() {
    let missing = |submit: fn(&Fork2<'_>) -> Result<(), Error>| {
        let document = fails("fork2", "fork2.missing-edges", fork2(submit));
        assert!(document["runs"].as_array().unwrap().len() == 1, "the wrong order is drawn");
        edges(&document)
    };
    let no_wait_of_right = missing(|f| {
        f.upstream()?;
        f.main.record(&f.fork)?;
        branches(f, false, true)?;
        f.join()
    });
    assert_eq!(no_wait_of_right, pairs([("main", "right")]));
    let recorded_too_early = missing(|f| {
        f.main.record(&f.fork)?;
        f.upstream()?;
        branches(f, true, true)?;
        f.join()
    });
    assert_eq!(recorded_too_early, pairs([("main", "left"), ("main", "right")]));
    let nothing_recorded_after_the_branches = missing(|f| {
        f.upstream()?;
        f.main.record(&f.fork)?;
        branches(f, true, false)?;
        f.join()
    });
    assert_eq!(nothing_recorded_after_the_branches, pairs([("right", "main"), ("left", "main")]));
}

/// The line of the needless edge, and the depth.
fn needless(document: &Value) -> (u32, u64) {
    let made_at = document["values"]["needless_edge"]["made_at"].as_str().unwrap();
    let line = made_at.strip_prefix("exercises/tests/answers.rs:").unwrap().parse().unwrap();
    (line, document["values"]["depth"].as_u64().unwrap())
}

#[test]
fn in_fork2_what_is_too_deep_is_told_the_line_that_makes_it_so() {
    let all_on_main = fork2(|f| {
        f.upstream()?;
        (1..=4).try_for_each(|branch| f.branch(branch, &f.main))?;
        f.join()
    });
    let document = fails("fork2", "fork2.depth", all_on_main);
    assert_eq!(needless(&document), (line!() - 4, 5));
    assert_eq!(document["runs"].as_array().unwrap().len(), 1);

    let wait = line!() + 9;
    let one_event_for_both = fork2(|f| {
        f.upstream()?;
        f.main.record(&f.fork)?;
        f.left.wait(&f.fork)?;
        f.branch(1, &f.left)?;
        f.branch(2, &f.left)?;
        f.left.record(&f.fork)?;

        f.right.wait(&f.fork)?;
        f.branch(3, &f.right)?;
        f.branch(4, &f.right)?;
        f.right.record(&f.right_done)?;
        f.main.wait(&f.right_done)?;
        f.join()
    });
    assert_eq!(needless(&fails("fork2", "fork2.depth", one_event_for_both)), (wait, 5));

    // Fewer than the task's streams allow is another answer than was asked for.
    let a_branch_on_main_too = fork2(|f| {
        f.upstream()?;
        f.main.record(&f.fork)?;
        f.left.wait(&f.fork)?;
        f.right.wait(&f.fork)?;
        f.branch(1, &f.left)?;
        f.branch(2, &f.right)?;
        f.branch(3, &f.main)?;
        let more = Stream::new(f.context, "more", StreamKind::NonBlocking)?;
        more.wait(&f.fork)?;
        f.branch(4, &more)?;
        more.record(&f.fork)?;
        f.main.wait(&f.fork)?;
        f.left.record(&f.left_done)?;
        f.right.record(&f.right_done)?;
        f.main.wait(&f.left_done)?;
        f.main.wait(&f.right_done)?;
        f.join()
    });
    assert_eq!(fails("fork2", "fork2.depth", a_branch_on_main_too)["values"]["depth"], 2);
}

#[test]
fn what_is_missing_and_where_the_host_waits_comes_first() {
    fails("fork2", "fork2.writes", fork2(|f| f.upstream()));
    let twice = fork2(|f| {
        f.upstream()?;
        (1..=4).chain([4]).try_for_each(|branch| f.branch(branch, &f.main))?;
        f.join()
    });
    fails("fork2", "fork2.writes", twice);
    for wait in 0..3 {
        let waiting = fork2(move |f| {
            f.upstream()?;
            match wait {
                0 => f.main.synchronize()?,
                1 => f.fork.synchronize()?,
                _ => _ = f.mid.to_vec()?,
            }
            f.main.record(&f.fork)?;
            branches(f, true, true)?;
            f.join()
        });
        fails("fork2", "fork2.host-waits", waiting);
    }
    let wrong_buffer = fork2(|f| {
        f.upstream()?;
        f.main.record(&f.fork)?;
        branches(f, true, true)?;
        let [b1, b2, b3, _] = &f.branches;
        f.main.launch(LaunchConfig::for_elements(1 << 18, 256), sum_four(b1, b2, b3, b3, &f.sum))
    });
    fails("fork2", "fork2.result", wrong_buffer);
}

#[test]
fn a_panic_an_error_and_a_program_that_submits_nothing_are_checks_that_fail() {
    let there_is_no_branch_6 = fork2(|f| f.branch(std::hint::black_box(6), &f.main));
    assert_eq!(fails("fork2", "program.panic", there_is_no_branch_6)["checks"].as_array().unwrap().len(), 1);
    let place = line!() + 1;
    let outside = |_: &Context, _: &mut Lab<'_, '_>| -> Outcome { panic!("no streams") };
    let said =
        fails("streams", "program.panic", outside)["checks"][0]["sentence"].as_str().unwrap().to_owned();
    assert!(
        said.starts_with(&format!("exercises/tests/answers.rs:{place}: ")) && said.ends_with("no streams")
    );
    let refused = fork2(|f| {
        f.main.launch(LaunchConfig::new(8, 4096), sum_four(&f.mid, &f.mid, &f.mid, &f.mid, &f.sum))
    });
    fails("fork2", "program.call", refused);
    fails("fork2", "program.submission", |_: &Context, _: &mut Lab<'_, '_>| Ok(()));
}

fn streams(
    streams: [StreamKind; 2],
    submit: impl Fn(
        [&Stream<'_>; 2],
        &Event<'_>,
        &dyn Fn(usize, &Stream<'_>) -> Result<(), Error>,
    ) -> Result<(), Error>,
) -> impl FnOnce(&Context, &mut Lab<'_, '_>) -> Outcome {
    move |context, lab| {
        let input: Vec<f32> = (0..1 << 18).map(|i| (i % 251) as f32 * 0.01).collect();
        let input = DeviceBuffer::from_slice(context, "input", &input)?;
        let (first, second) =
            (DeviceBuffer::new(context, "first", 1 << 18)?, DeviceBuffer::new(context, "second", 1 << 18)?);
        let (zeros, out) =
            (DeviceBuffer::zeroed(context, "zeros", 1 << 18)?, DeviceBuffer::new(context, "out", 1 << 18)?);
        let [a, b] = [Stream::new(context, "a", streams[0])?, Stream::new(context, "b", streams[1])?];
        let done = Event::ordering(context, "done")?;
        let grind = LaunchConfig::new(8, 256);
        let launch = |which: usize, stream: &Stream<'_>| match which {
            1 => stream.launch(grind, grind_fma(&input, &first, 512, 0.999, 0.25)),
            2 => stream.launch(grind, grind_fma(&input, &second, 512, 0.999, 0.5)),
            _ => stream.launch(
                LaunchConfig::for_elements(1 << 18, 256),
                sum_four(&first, &second, &zeros, &zeros, &out),
            ),
        };
        lab.check(&out, || submit([&a, &b], &done, &launch))
    }
}

#[test]
fn in_streams_the_legacy_stream_one_stream_and_no_event_are_told_apart() {
    use StreamKind::{Blocking, Legacy, NonBlocking};
    let legacy = streams([Blocking, Legacy], |[a, b], _, launch| {
        launch(1, a)?;
        launch(2, b)?;
        launch(3, b)
    });
    assert_eq!(fails("streams", "streams.depth", legacy)["values"]["depth"], 2);
    let in_one =
        streams([NonBlocking; 2], |[a, _], _, launch| (1..=3).try_for_each(|which| launch(which, a)));
    assert_eq!(fails("streams", "streams.depth", in_one)["values"]["depth"], 2);
    let no_event = streams([NonBlocking; 2], |[a, b], _, launch| {
        launch(1, a)?;
        launch(2, b)?;
        launch(3, b)
    });
    assert_eq!(edges(&fails("streams", "streams.missing-edges", no_event)), pairs([("a", "b")]));
    let wait = line!() + 4;
    let waits_too_early = streams([NonBlocking; 2], |[a, b], done, launch| {
        launch(1, a)?;
        a.record(done)?;
        b.wait(done)?;
        launch(2, b)?;
        launch(3, b)
    });
    assert_eq!(needless(&fails("streams", "streams.depth", waits_too_early)), (wait, 2));
}

fn pdl(trigger: bool, attributes: [bool; 2]) -> impl FnOnce(&Context, &mut Lab<'_, '_>) -> Outcome {
    move |context, lab| {
        let raw: Vec<f32> = (0..8192).map(|i| (i % 251) as f32 * 0.01).collect();
        let raw = DeviceBuffer::from_slice(context, "raw", &raw)?;
        let (x, mid) = (DeviceBuffer::new(context, "x", 8192)?, DeviceBuffer::new(context, "mid", 8192)?);
        let (aux, out) = (DeviceBuffer::new(context, "aux", 8192)?, DeviceBuffer::new(context, "out", 8192)?);
        let stream = Stream::new(context, "stream", StreamKind::NonBlocking)?;
        let launch = LaunchConfig::new(8, 1024);
        let [primary, secondary] = attributes.map(|early| if early { launch.programmatic() } else { launch });
        lab.check(&out, || {
            stream.launch(launch, grind_fma(&raw, &x, 10_000, 0.999, 0.001))?;
            match trigger {
                true => stream.launch(primary, produce_stage_early(&x, &mid, &aux))?,
                false => stream.launch(primary, produce_stage_never(&x, &mid, &aux))?,
            }
            // SAFETY: `mid` has as many elements as `out`.
            stream.launch(secondary, unsafe { combine_stage(&mid, &raw, &out) })
        })
    }
}

#[test]
fn in_pdl_it_is_said_which_of_the_three_things_are_missing() {
    for (trigger, attribute, missing) in [
        (false, false, vec!["trigger", "attribute"]),
        (true, false, vec!["attribute"]),
        (false, true, vec!["trigger"]),
    ] {
        let document = fails("pdl", "pdl.early-launch", pdl(trigger, [false, attribute]));
        assert_eq!(document["values"]["missing"], serde_json::json!(missing));
    }
    // The primary has no wait: with the attribute, nothing orders it after the first kernel.
    let document = fails("pdl", "pdl.missing-edges", pdl(true, [true, true]));
    assert!(!edges(&document).is_empty());
}

fn pipeline(
    stream_of: fn(usize) -> usize,
    copies_back: fn(usize) -> bool,
) -> impl FnOnce(&Context, &mut Lab<'_, '_>) -> Outcome {
    move |context, lab| {
        let (mut input, mut result) = (Vec::new(), Vec::new());
        for chunk in 0..4 {
            let elems = if chunk == 3 { (1 << 19) - 10 } else { 1 << 19 };
            let data: Vec<f32> = (0..elems).map(|i| ((chunk + i) % 251) as f32 * 0.01).collect();
            input.push(PinnedBuffer::from_slice(context, &format!("input{chunk}"), &data)?);
            result.push(PinnedBuffer::new(context, &format!("result{chunk}"), elems)?);
        }
        let buffer = |name| DeviceBuffer::<f32>::new(context, name, 1 << 19);
        let (arrived, computed) =
            ([buffer("arrived0")?, buffer("arrived1")?], [buffer("computed0")?, buffer("computed1")?]);
        let stream = |name| Stream::new(context, name, StreamKind::NonBlocking);
        let streams = [stream("even")?, stream("odd")?];
        lab.check(&result, || {
            for chunk in 0..4 {
                let stream = &streams[stream_of(chunk)];
                let (n, arrived, computed) = (input[chunk].len(), &arrived[chunk % 2], &computed[chunk % 2]);
                stream.copy_to_device(&input[chunk], arrived)?;
                let (from, to) = (arrived.slice(..n), computed.slice(..n));
                stream.launch(LaunchConfig::new(64, 256), grind_fma(&from, &to, 256, 0.999, 0.25))?;
                if copies_back(chunk) {
                    stream.copy_to_host(computed, &result[chunk])?;
                }
            }
            Ok(())
        })
    }
}

#[test]
fn in_pipeline_shared_buffers_one_stream_and_a_result_that_stays_are_told_apart() {
    let document = fails("pipeline", "pipeline.missing-edges", pipeline(|chunk| chunk / 2, |_| true));
    assert!(
        edges(&document).iter().all(|edge| *edge == ("even".to_owned(), "odd".to_owned())),
        "{document:#}"
    );
    fails("pipeline", "pipeline.writes", pipeline(|chunk| chunk % 2, |chunk| chunk > 0));
    assert_eq!(fails("pipeline", "pipeline.depth", pipeline(|_| 1, |_| true))["values"]["depth"], 12);
    fails("pipeline", "program.panic", pipeline(|chunk| chunk, |_| true));
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_each_solution_passes() {
    for solution in SOLUTIONS {
        solution_passes("--device gpu", solution);
    }
}
