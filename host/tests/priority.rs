//! The priority lesson on virtual devices and, where there is one, on a GPU; and each of its checks failing.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use host::check::Verdict::{Fail, NotJudged, Pass};
use host::lessons::priority::{Args, Ran, clamped, not_interrupted, passed_the_rest, waited, with_priority};
use host::lessons::{named, standard};
use host::overlap::Interval;
use host::session;
use streamlab::{Device, Model, PriorityRange, Stream, StreamKind};
use support::{failed, lesson, on_device, verdicts};

const CHECKS: [&str; 11] = [
    "priority.beyond-greatest",
    "priority.greatest",
    "priority.least",
    "priority.beyond-least",
    "full-grid.result",
    "small-kernel.result",
    "same-priority.missing-edges",
    "timeline.same-priority",
    "higher-priority.missing-edges",
    "timeline.higher-priority",
    "timeline.no-interruption",
];

fn check_both_orders(typed: &str, waves: f64) {
    let document = lesson(&format!("priority --order deny {typed}")).unwrap();
    let want: Vec<_> = CHECKS.iter().map(|id| ((*id).to_owned(), "pass".to_owned())).collect();
    assert_eq!(verdicts(&document), want, "{typed}");
    let us = |order: usize, what: &str| document["values"]["orders"][order][what].as_f64().unwrap();
    let wave = us(0, "full_end_us") / waves;
    assert!(us(0, "small_start_us") > (waves - 1.0) * wave, "{document}");
    assert!((0.5 * wave..1.5 * wave).contains(&us(1, "small_start_us")), "{document}");
}

#[test]
fn with_a_priority_a_small_kernel_waits_for_one_wave_and_without_for_all() {
    check_both_orders("--device virtual:h200 --warmups 0 --steps 1000", 4.0);
    check_both_orders("--device virtual:t4 --warmups 0 --steps 2000", 4.0);
    check_both_orders("--device virtual:t4 --warmups 0 --steps 2000 --waves 7", 7.0);
}

#[test]
fn late_no_check_fails_and_every_run_is_one() {
    let typed =
        "priority --device virtual:t4 --schedule late --warmups 0 --steps 1000 --order deny --threads";
    let documents = [1, 2].map(|threads| lesson(&format!("{typed} {threads}")).unwrap());
    assert_eq!(failed(&documents[0]), [""; 0]);
    assert_eq!(verdicts(&documents[0]).len(), CHECKS.len());
    assert_eq!(documents[0], documents[1]);
}

#[test]
fn a_stream_made_without_a_priority_goes_last_and_a_default_stream_takes_none() {
    on_device(Device::Virtual(Model::H200), |context| {
        let PriorityRange { least, greatest } = context.priorities().unwrap();
        assert!(greatest < least);
        let plain = Stream::new(context, "plain", StreamKind::Blocking).unwrap();
        assert_eq!(plain.priority().unwrap(), least);
        let legacy = Stream::with_priority(context, "legacy", StreamKind::Legacy, greatest).unwrap();
        assert_eq!(legacy.priority().unwrap(), least);
        let urgent = Stream::with_priority(context, "urgent", StreamKind::Blocking, greatest).unwrap();
        assert_eq!(urgent.priority().unwrap(), greatest);
    });
}

#[test]
fn too_few_waves_to_tell_the_orders_apart_are_refused() {
    let command = session::command(named("priority").unwrap());
    let refusal = command.try_get_matches_from(["priority", "--waves", "2"]).unwrap_err();
    assert_eq!(refusal.exit_code(), 2);
    let standard: Args = standard();
    assert_eq!((standard.waves, standard.steps), (4, 5000));
}

const RANGE: PriorityRange = PriorityRange { least: 0, greatest: -5 };

/// Twenty blocks on a device that holds five, four waves of 100 us, and when the small kernel starts.
fn ran(small_start_ns: u64) -> Ran {
    let wave = |wave: u64| Interval { start_ns: 100_000 * wave, end_ns: 100_000 * (wave + 1) };
    let small = Interval { start_ns: small_start_ns, end_ns: small_start_ns + 50_000 };
    Ran { blocks: (0..20).map(|block| wave(block / 5)).collect(), small }
}

#[test]
fn half_of_the_blocks_must_be_passed_with_a_priority() {
    assert_eq!(passed_the_rest("p", &ran(200_000)).verdict, Pass);
    assert_eq!(passed_the_rest("p", &ran(200_001)).verdict, Fail);
}

#[test]
fn hardly_any_may_be_passed_without_one() {
    assert_eq!(waited("w", &ran(300_001)).verdict, Pass);
    assert_eq!(waited("w", &ran(300_000)).verdict, Fail);
    let mut late = ran(320_000);
    late.blocks[19].start_ns = 350_000;
    assert_eq!(waited("w", &late).verdict, Pass);
    late.blocks[18].start_ns = 350_000;
    assert_eq!(waited("w", &late).verdict, Fail);
}

#[test]
fn a_start_before_any_block_has_ended_is_an_interruption_beyond_a_step_of_the_clock() {
    assert_eq!(not_interrupted("i", &ran(99_968), 32).verdict, Pass);
    assert_eq!(not_interrupted("i", &ran(99_967), 32).verdict, Fail);
}

#[test]
fn no_blocks_show_nothing_and_one_priority_decides_nothing() {
    let none = Ran { blocks: Vec::new(), ..ran(0) };
    for check in [waited("c", &none), passed_the_rest("c", &none), not_interrupted("c", &none, 32)] {
        assert_eq!(check.verdict, Fail, "{check}");
    }
    let verdicts =
        |range| with_priority(&ran(300_001), range, 32).iter().map(|c| c.verdict).collect::<Vec<_>>();
    assert_eq!(verdicts(RANGE), [Fail, Pass]);
    assert_eq!(verdicts(PriorityRange { least: 0, greatest: 0 }), [NotJudged]);
}

#[test]
fn a_priority_is_moved_into_the_range_and_one_inside_stays() {
    for (asked, got) in [(-1000, -5), (-5, -5), (-3, -3), (0, 0), (7, 0)] {
        assert_eq!(clamped("c", asked, got, RANGE).verdict, Pass, "{asked}");
        assert_eq!(clamped("c", asked, got - 1, RANGE).verdict, Fail, "{asked}");
    }
    assert_eq!(clamped("c", -9, -9, RANGE).verdict, Fail);
}

#[test]
#[ignore = "needs a GPU"]
fn gpu_with_a_priority_a_small_kernel_waits_for_one_wave_and_without_for_all() {
    check_both_orders("--device gpu", 4.0);
}
