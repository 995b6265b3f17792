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
