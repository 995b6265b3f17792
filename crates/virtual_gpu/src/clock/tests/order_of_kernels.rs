//! Streams, records and waits, seen by what overlaps. Each kernel computes for 1,000 cycles.

use super::*;

const UNIT: [Step; 1] = [Step::Compute(8, 1000)];

/// Kernels that each take a unit: how many units all of them took together.
fn units(rig: &mut Rig) -> u64 {
    rig.finish();
    let last = rig.clock.now() * H200.sm.clock_mhz / 1_000_000;
    (last + 100) / 1000
}

#[test]
fn kernels_of_one_stream_follow_each_other() {
    let mut rig = Rig::new(Schedule::Card);
    let stream = rig.stream();
    (0..5).for_each(|_| _ = rig.kernel(stream, "k", 8, &UNIT));
    assert_eq!(units(&mut rig), 5);
}

#[test]
fn kernels_of_several_streams_overlap() {
    let mut rig = Rig::new(Schedule::Card);
    for _ in 0..5 {
        let stream = rig.stream();
        rig.kernel(stream, "k", 8, &UNIT);
    }
    assert_eq!(units(&mut rig), 1);
}

#[test]
fn full_grids_do_not_overlap_whatever_their_streams() {
    let mut rig = Rig::new(Schedule::Card);
    for _ in 0..3 {
        let stream = rig.stream();
        rig.kernel(stream, "k", 8 * 132, &UNIT);
    }
    assert_eq!(units(&mut rig), 3);
}

fn diamond(rig: &mut Rig, record_first: bool) {
    let main = rig.stream();
    let early = rig.clock.submit(main, 0, &[], Work::Nothing);
    rig.kernel(main, "up", 8, &UNIT);
    let late = rig.clock.submit(main, 0, &[], Work::Nothing);
    let fork = if record_first { early } else { late };
    let mut joins = Vec::new();
    for _ in 0..4 {
        let stream = rig.stream();
        rig.clock.submit(stream, 0, &[fork], Work::Nothing);
        rig.kernel(stream, "branch", 8, &UNIT);
        joins.push(rig.clock.submit(stream, 0, &[], Work::Nothing));
    }
    rig.clock.submit(main, 0, &joins, Work::Nothing);
    rig.kernel(main, "join", 8, &UNIT);
}

#[test]
fn a_diamond_is_three_kernels_deep() {
    let mut rig = Rig::new(Schedule::Card);
    diamond(&mut rig, false);
    assert_eq!(units(&mut rig), 3);
}

#[test]
fn with_the_record_before_the_launch_it_is_two() {
    let mut rig = Rig::new(Schedule::Card);
    diamond(&mut rig, true);
    assert_eq!(units(&mut rig), 2);
}

#[test]
fn the_legacy_stream_between_them_keeps_two_blocking_streams_apart() {
    for (kind, depth) in [(StreamKind::Blocking, 3), (StreamKind::NonBlocking, 1)] {
        let mut rig = Rig::new(Schedule::Card);
        let streams = [(); 2].map(|()| rig.clock.add_stream(0, kind));
        rig.kernel(streams[0], "before", 8, &UNIT);
        rig.kernel(rig.legacy, "legacy", 8, &UNIT);
        rig.kernel(streams[1], "after", 8, &UNIT);
        assert_eq!(units(&mut rig), depth, "{kind:?}");
    }
}

#[test]
fn the_front_end_takes_what_was_measured() {
    let mut rig = Rig::on(H200, Schedule::Card, 1);
    let (one, two) = (rig.stream(), rig.stream());
    let ns = |rig: &Rig, op| rig.clock.complete_at(op).unwrap() / NS;
    let first = rig.clock.submit(one, 0, &[], Work::Timestamp);
    let second = rig.clock.submit(one, 0, &[], Work::Timestamp);
    let kernels = [(); 3].map(|()| rig.kernel(one, "empty", 132, &[]));
    let wait = rig.clock.submit(two, 0, &[kernels[2]], Work::Nothing);
    let there = rig.kernel(two, "empty", 132, &[]);
    let grid = rig.kernel(two, "empty", 65_536, &[]);
    rig.finish();
    assert_eq!(ns(&rig, second) - ns(&rig, first), 1280);
    within(ns(&rig, kernels[2]) - ns(&rig, kernels[1]), 1540, 3);
    assert_eq!(ns(&rig, wait) - ns(&rig, kernels[2]), 360);
    within(ns(&rig, there) - ns(&rig, kernels[2]), 1540 + 360, 3);
    // 40.8 us on the real card.
    within(ns(&rig, grid) - ns(&rig, there), 40_800, 3);
}
