//! Programmatic dependent launch.

use super::*;

const WORK: Step = Step::Compute(8, 1000);

fn pair(rig: &mut Rig, primary: &[Step], secondary: &[Step]) -> (OpId, OpId) {
    let stream = rig.stream();
    let first = rig.kernel(stream, "primary", 8, primary);
    let mut launch = rig.launch("secondary", 8, secondary);
    launch.early = true;
    (first, rig.clock.submit(stream, 0, &[], Work::Kernel(launch)))
}

#[track_caller]
fn check(primary: &[Step], secondary: &[Step], first_ends: u64, second_ends: u64) {
    let mut rig = Rig::new(Schedule::Card);
    let (first, second) = pair(&mut rig, primary, secondary);
    rig.finish();
    near(rig.cycles(first), first_ends);
    near(rig.cycles(second), second_ends);
}

#[test]
fn the_secondary_starts_once_every_block_has_triggered() {
    check(&[WORK, Step::Trigger, WORK, WORK], &[WORK], 3000, 3000);
    check(&[WORK, Step::Trigger], &[WORK, WORK], 1000, 3000);
}

#[test]
fn without_a_trigger_it_starts_when_every_block_has_ended() {
    check(&[WORK, WORK], &[WORK], 2000, 3000);
}

#[test]
fn its_wait_ends_when_the_primary_is_complete() {
    check(&[Step::Trigger, WORK, WORK], &[WORK, Step::Wait, WORK], 2000, 3000);
}

#[test]
fn the_wait_covers_what_the_primary_stored() {
    let mut rig = Rig::new(Schedule::Card);
    let (first, second) =
        pair(&mut rig, &[Step::Trigger, Step::Store(0, 1024)], &[Step::Wait, Step::Say("on")]);
    rig.finish();
    assert!(rig.cycles(first) >= H200.memory.l2_latency_cycles);
    assert!(rig.clock.complete_at(second) > rig.clock.complete_at(first));
}

#[test]
fn without_the_attribute_a_trigger_lets_nobody_start_and_a_wait_waits_for_nothing() {
    let mut rig = Rig::new(Schedule::Card);
    let stream = rig.stream();
    rig.kernel(stream, "primary", 8, &[Step::Trigger, WORK]);
    let second = rig.kernel(stream, "secondary", 8, &[Step::Wait, WORK]);
    rig.finish();
    near(rig.cycles(second), 2000);
}

#[test]
fn there_must_be_room_for_it() {
    let mut rig = Rig::new(Schedule::Card);
    let stream = rig.stream();
    rig.kernel(stream, "primary", 8 * 132, &[Step::Trigger, WORK, WORK]);
    let mut launch = rig.launch("secondary", 1, &[WORK]);
    launch.early = true;
    let second = rig.clock.submit(stream, 0, &[], Work::Kernel(launch));
    rig.finish();
    near(rig.cycles(second), 3000);
}

#[test]
fn what_follows_the_pair_follows_both() {
    let mut rig = Rig::new(Schedule::Card);
    let stream = rig.stream();
    rig.kernel(stream, "primary", 8, &[Step::Trigger, WORK, WORK, WORK]);
    let mut launch = rig.launch("secondary", 8, &[]);
    launch.early = true;
    rig.clock.submit(stream, 0, &[], Work::Kernel(launch));
    let normal = rig.kernel(stream, "normal", 8, &[WORK]);
    rig.finish();
    near(rig.cycles(normal), 4000);
}

#[test]
fn a_secondary_that_never_waits_is_complete_no_sooner_than_its_primary() {
    let mut rig = Rig::new(Schedule::Card);
    let (_, second) = pair(&mut rig, &[Step::Trigger, WORK, WORK, WORK], &[Step::Trigger]);
    rig.finish();
    near(rig.cycles(second), 3000);
}

#[test]
fn a_secondary_that_comes_after_the_trigger_starts_at_once() {
    let mut rig = Rig::new(Schedule::Card);
    let stream = rig.stream();
    rig.kernel(stream, "primary", 8, &[Step::Trigger, WORK, WORK]);
    let soon = rig.card_time(500);
    rig.clock.advance(&mut rig.memory, soon).unwrap();
    let mut launch = rig.launch("secondary", 1, &[Step::Say("started"), Step::Wait]);
    launch.early = true;
    rig.clock.submit(stream, soon, &[], Work::Kernel(launch));
    rig.finish();
    let started = rig.journal.lock().unwrap()[0].0;
    near(started, soon / NS);
}

/// What stands between the two kernels of a pair.
#[derive(Clone, Copy, Debug)]
enum Between {
    Record,
    TimedRecord,
    WaitForWhatIsComplete,
    WaitForWhatIsPending,
    Fill,
}

/// Whether the second kernel, which never waits, started before the first was complete.
fn starts_early(schedule: Schedule, between: Between) -> bool {
    let mut rig = Rig::new(schedule);
    let (stream, other) = (rig.stream(), rig.stream());
    let before = rig.clock.submit(other, 0, &[], Work::Nothing);
    rig.clock.finish(&mut rig.memory, 0, before).unwrap();
    let pending = rig.kernel(other, "other", 8, &[WORK]);
    let first = rig.kernel(stream, "primary", 1, &[Step::Trigger, WORK, WORK, Step::Say("ended")]);
    let (after, work) = match between {
        Between::Record => (None, Work::Nothing),
        Between::TimedRecord => (None, Work::Timestamp),
        Between::WaitForWhatIsComplete => (Some(before), Work::Nothing),
        Between::WaitForWhatIsPending => (Some(pending), Work::Nothing),
        Between::Fill => (
            None,
            Work::Transfer(Transfer {
                route: Route::Within { from: None, to: 0 },
                bytes: 32,
                part: Box::new(|_, _| {}),
            }),
        ),
    };
    rig.clock.submit(stream, 0, after.as_slice(), work);
    let mut launch = rig.launch("secondary", 1, &[Step::Say("started")]);
    launch.early = true;
    let second = rig.clock.submit(stream, 0, &[], Work::Kernel(launch));
    rig.finish();
    assert!(rig.clock.complete_at(second) >= rig.clock.complete_at(first));
    rig.said() == ["secondary started", "primary ended"]
}

#[test]
fn what_keeps_a_dependent_kernel_behind_the_one_before_it_is_as_measured() {
    for (between, early) in [
        (Between::Record, true),
        (Between::WaitForWhatIsComplete, true),
        (Between::TimedRecord, false),
        (Between::WaitForWhatIsPending, false),
        (Between::Fill, false),
    ] {
        assert_eq!(starts_early(Schedule::Card, between), early, "{between:?}");
    }
}

#[test]
fn late_it_starts_early_behind_everything_but_work() {
    for between in
        [Between::Record, Between::TimedRecord, Between::WaitForWhatIsComplete, Between::WaitForWhatIsPending]
    {
        assert!(starts_early(Schedule::Late, between), "{between:?}");
    }
    assert!(!starts_early(Schedule::Late, Between::Fill));
}

#[test]
fn late_whoever_waits_for_the_record_between_them_waits_for_the_first_alone() {
    let mut rig = Rig::new(Schedule::Late);
    let stream = rig.stream();
    rig.kernel(stream, "primary", 1, &[Step::Trigger, Step::Say("ran")]);
    let record = rig.clock.submit(stream, 0, &[], Work::Nothing);
    let mut launch = rig.launch("secondary", 1, &[Step::Say("ran")]);
    launch.early = true;
    rig.clock.submit(stream, 0, &[], Work::Kernel(launch));
    rig.clock.finish(&mut rig.memory, 0, record).unwrap();
    assert_eq!(rig.said(), ["primary ran"]);
    rig.finish();
    assert_eq!(rig.said(), ["primary ran", "secondary ran"]);
}
