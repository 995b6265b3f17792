//! The default streams and a second host thread, on virtual devices and, where there is one, on a GPU.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use host::check::Verdict::{self, Fail, NotJudged, Pass};
use host::lessons::default_stream::{By, Pair, as_the_rules_say, take_turns};
use host::overlap::Interval;
use serde_json::Value;
use stream_order::program::Action;
use streamlab::{
    Context, Device, DeviceBuffer, Error, HostThread, LaunchConfig, Log, Model, Stream, StreamKind, check,
};
use support::{failed, lesson, on_device, verdict, verdicts};

/// How many pairs of the document ran so.
fn measured(document: &Value, how: &str) -> usize {
    document["values"]["pairs"].as_array().unwrap().iter().filter(|pair| pair["measured"] == how).count()
}

fn check_every_pair(typed: &str) {
    let document = lesson(&format!("default-stream --order deny {typed}")).unwrap();
    assert!(verdicts(&document).iter().all(|(_, verdict)| verdict == "pass"), "{typed}");
    assert_eq!(verdicts(&document).len(), 1 + 32 + 32);
    let pairs = document["values"]["pairs"].as_array().unwrap();
    assert!(pairs.iter().all(|pair| pair["measured"] == pair["predicted"]), "{typed}");
    assert_eq!((measured(&document, "in turn"), measured(&document, "overlap")), (11, 21));
    // The checker flags exactly those pairs whose kernels overlapped.
    let submissions = document["missing_edges"].as_array().unwrap();
    assert_eq!(submissions.len(), pairs.len());
    for (pair, submission) in pairs.iter().zip(submissions) {
        let edges = submission["edges"].as_array().unwrap().len();
        assert_eq!(edges, usize::from(pair["measured"] == "overlap"), "{pair}");
    }
    assert_eq!(document["runs"].as_array().unwrap().len(), 5);
    assert_eq!(verdict(&document, "spin.result"), "pass");
    assert_eq!(verdict(&document, "two-threads.per-thread-then-per-thread.timeline"), "pass");
}

#[test]
fn every_pair_of_kinds_runs_as_the_rules_and_the_checker_say() {
    check_every_pair("--device virtual:h200 --warmups 0");
    check_every_pair("--device virtual:t4 --warmups 0");
}

#[test]
fn late_nothing_overlaps_and_what_must_take_turns_still_does() {
    let document =
        lesson("default-stream --device virtual:h200 --schedule late --warmups 0 --order deny").unwrap();
    assert_eq!(failed(&document), [""; 0]);
    assert_eq!(measured(&document, "overlap"), 0);
}

#[test]
fn kernels_too_short_to_meet_decide_nothing_and_every_run_is_one() {
    let documents = [1, 2].map(|threads| {
        let typed = "default-stream --device virtual:h200 --warmups 0 --steps 100 --threads";
        lesson(&format!("{typed} {threads}")).unwrap()
    });
    assert_eq!(failed(&documents[0]), [""; 0]);
    assert_eq!(verdicts(&documents[0]).iter().filter(|(_, verdict)| verdict == "not_judged").count(), 21);
    assert_eq!(documents[0], documents[1]);
}

#[test]
fn a_second_thread_changes_only_what_is_its_own() {
    use StreamKind::{Legacy, PerThread};
    let turns =
        |first, second| [By::OneThread, By::TwoThreads].map(|by| take_turns(Pair { first, second, by }));
    assert_eq!(turns(Legacy, Legacy), [true, true]);
    assert_eq!(turns(PerThread, PerThread), [true, false]);
    assert_eq!(turns(PerThread, Legacy), [true, true]);
}

#[track_caller]
fn pair(second_start_us: u64, length_us: u64, in_turn: bool, verdict: Verdict) {
    let ran = |start_us| Interval { start_ns: 1000 * start_us, end_ns: 1000 * (start_us + length_us) };
    let check = as_the_rules_say("p", &[ran(0), ran(second_start_us)], in_turn, 32);
    assert_eq!(check.verdict, verdict, "{check}");
}

#[test]
fn kernels_that_must_take_turns_may_not_overlap_and_those_that_nothing_orders_do() {
    pair(100, 100, true, Pass);
    pair(99, 100, true, Fail);
    pair(49, 50, true, Fail);
    pair(50, 100, false, Pass);
    pair(51, 100, false, Fail);
    pair(100, 100, false, Fail);
    pair(99, 99, false, NotJudged);
}

#[test]
fn anything_but_two_kernels_fails() {
    let ran = Interval { start_ns: 0, end_ns: 200_000 };
    for (count, in_turn) in [(0, false), (0, true), (1, false), (1, true), (3, false), (3, true)] {
        assert_eq!(as_the_rules_say("p", &vec![ran; count], in_turn, 32).verdict, Fail);
    }
}

const BLOCK: LaunchConfig = LaunchConfig::new(1, 32);

/// A buffer, two names for default streams of their threads, and a second thread, on a virtual device.
fn on_two_threads(test: impl FnOnce(&Context, &DeviceBuffer<'_, u32>, [&Stream<'_>; 2], &HostThread<'_>)) {
    on_device(Device::Virtual(Model::H200), |context| {
        let out = DeviceBuffer::new(context, "out", 32).unwrap();
        let stream = |name| Stream::new(context, name, StreamKind::PerThread).unwrap();
        test(context, &out, [&stream("mine"), &stream("others")], &HostThread::new(context).unwrap());
    });
}

fn spin<'b>(out: &'b DeviceBuffer<'_, u32>) -> cuda_std::call::Call<'b> {
    gpu::streams::spin_lcg(out, 10)
}

/// By which thread each operation was noted, and whether it is a launch.
fn by(log: &Log) -> Vec<(u64, bool)> {
    let operations = log.program.operations.iter();
    operations.map(|one| (one.thread.0, matches!(one.action, Action::Launch(_)))).collect()
}

#[test]
fn a_launch_by_another_thread_is_noted_as_such_and_goes_to_that_threads_own_stream() {
    on_two_threads(|context, out, [mine, others], thread| {
        let log = check(context, || {
            mine.launch(BLOCK, spin(out))?;
            others.launch_from(thread, BLOCK, spin(out))?;
            context.synchronize()
        })
        .unwrap();
        assert_eq!(by(&log), [(0, true), (0, false), (1, true), (1, false), (0, false)], "{log}");
        assert_eq!(log.missing_edges().len(), 1);
        let log = check(context, || {
            mine.launch(BLOCK, spin(out))?;
            mine.launch(BLOCK, spin(out))?;
            context.synchronize()
        });
        assert!(log.unwrap().missing_edges().is_empty());
    });
}

#[test]
fn what_another_thread_did_and_was_waited_for_is_before_what_follows() {
    on_two_threads(|context, out, _, thread| {
        let stream = Stream::new(context, "S", StreamKind::NonBlocking).unwrap();
        let log = check(context, || {
            stream.launch_from(thread, BLOCK, spin(out))?;
            stream.synchronize()?;
            out.copy_to(&mut [0; 32])
        });
        assert!(log.unwrap().missing_edges().is_empty());
    });
}

#[test]
fn a_launch_that_another_thread_is_refused_names_the_line_that_asked_for_it_and_the_next_one_works() {
    on_two_threads(|context, out, [_, others], thread| {
        let refused = others.launch_from(thread, LaunchConfig::new(1, 1025), spin(out));
        let Err(Error::Driver(error)) = refused else { panic!("{refused:?}") };
        assert_eq!((error.code, error.call), (1, "cuLaunchKernel"));
        assert!(error.at.file().ends_with("default_stream.rs"), "{error}");
        others.launch_from(thread, BLOCK, spin(out)).unwrap();
        context.synchronize().unwrap();
    });
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_every_pair_of_kinds_runs_as_the_rules_and_the_checker_say() {
    check_every_pair("--device gpu");
}
