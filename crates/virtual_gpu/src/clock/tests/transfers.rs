//! Copies and fills.

use super::*;

const MIB: u64 = 1 << 20;

type Moves = Arc<Mutex<Vec<(&'static str, u64)>>>;

fn transfer(moves: &Moves, name: &'static str, route: Route, bytes: u64) -> Work {
    let moves = moves.clone();
    let part = move |_memory: &mut Memory, part: std::ops::Range<u64>| {
        moves.lock().unwrap().push((name, part.end - part.start));
    };
    Work::Transfer(Transfer { route, bytes, part: Box::new(part) })
}

fn us(rig: &Rig, op: OpId) -> u64 {
    rig.clock.complete_at(op).unwrap() / (1000 * NS)
}

#[test]
fn each_direction_has_one_engine_and_the_two_run_at_once() {
    let mut rig = Rig::new(Schedule::Card);
    let moves = Moves::default();
    let up = Route::ToDevice(55);
    let down = Route::ToHost(55);
    let ops = [up, up, down].map(|route| {
        let stream = rig.stream();
        rig.clock.submit(stream, 0, &[], transfer(&moves, "copy", route, 4 * MIB))
    });
    rig.finish();
    // 6 us and 76 us for the bytes.
    near(us(&rig, ops[0]), 82);
    near(us(&rig, ops[1]), 2 * 82);
    near(us(&rig, ops[2]), 82);
    assert_eq!(moves.lock().unwrap().iter().map(|&(_, bytes)| bytes).sum::<u64>(), 12 * MIB);
}

#[test]
fn a_copy_runs_beside_a_kernel() {
    let mut rig = Rig::new(Schedule::Card);
    let moves = Moves::default();
    let (one, two) = (rig.stream(), rig.stream());
    let kernel = rig.kernel(one, "long", 8, &[Step::Compute(8, 198_000)]);
    let copy = rig.clock.submit(two, 0, &[], transfer(&moves, "copy", Route::ToDevice(55), 4 * MIB));
    rig.finish();
    near(us(&rig, kernel), 100);
    near(us(&rig, copy), 82);
}

#[test]
fn within_the_device_a_copy_reaches_the_memorys_rate() {
    let mut rig = Rig::on(H200, Schedule::Card, 1);
    let moves = Moves::default();
    let stream = rig.stream();
    let route = Route::Within { from: Some(0), to: 1 << 32 };
    let copy = rig.clock.submit(stream, 0, &[], transfer(&moves, "copy", route, 256 * MIB));
    let fill = Route::Within { from: None, to: 1 << 33 };
    let fill = rig.clock.submit(stream, 0, &[], transfer(&moves, "fill", fill, 256 * MIB));
    rig.finish();
    // 127.5 and 61 us on the real card.
    let (copy, both) = (us(&rig, copy), us(&rig, fill));
    assert!((115..=140).contains(&copy), "{copy}");
    assert!((55..=70).contains(&(both - copy)), "{}", both - copy);
}

#[test]
fn copies_that_race_move_their_parts_in_turn() {
    let mut rig = Rig::new(Schedule::Card);
    let moves = Moves::default();
    for (name, route) in [("up", Route::ToDevice(55)), ("down", Route::ToHost(55))] {
        let stream = rig.stream();
        rig.clock.submit(stream, 0, &[], transfer(&moves, name, route, MIB));
    }
    rig.finish();
    let names: Vec<_> = moves.lock().unwrap().iter().map(|&(name, _)| name).collect();
    assert_eq!(names[..4], ["up", "down", "up", "down"]);
}

#[test]
fn a_short_rest_is_moved_too() {
    let mut rig = Rig::new(Schedule::Card);
    let moves = Moves::default();
    for route in [Route::ToDevice(55), Route::ToHost(55), Route::Within { from: Some(0), to: 1 << 32 }] {
        let stream = rig.stream();
        rig.clock.submit(stream, 0, &[], transfer(&moves, "copy", route, 130 * 1024 + 1));
    }
    rig.finish();
    assert_eq!(moves.lock().unwrap().iter().map(|&(_, bytes)| bytes).sum::<u64>(), 3 * (130 * 1024 + 1));
}
