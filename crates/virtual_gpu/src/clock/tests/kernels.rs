//! What a kernel takes.

use super::*;

const CHAIN: [Step; 1] = [Step::Compute(8 * 1000, 4000)];

#[test]
fn alone_a_block_takes_the_longer_of_its_chain_and_its_issue() {
    let mut rig = Rig::new(Schedule::Card);
    let stream = rig.stream();
    let chain = rig.kernel(stream, "chain", 1, &CHAIN);
    let issue = rig.kernel(stream, "issue", 1, &[Step::Compute(8 * 1000, 100)]);
    rig.finish();
    near(rig.cycles(chain), 4000);
    near(rig.cycles(issue) - rig.cycles(chain), 2000);
}

#[test]
fn one_warp_uses_one_scheduler() {
    let mut rig = Rig::new(Schedule::Card);
    let stream = rig.stream();
    let mut launch = rig.launch("narrow", 1, &[Step::Compute(1000, 100)]);
    launch.footprint.threads = 32;
    let op = rig.clock.submit(stream, 0, &[], Work::Kernel(launch));
    rig.finish();
    near(rig.cycles(op), 1000);
}

#[test]
fn blocks_that_fit_run_at_once_and_the_next_wave_after_them() {
    let mut rig = Rig::new(Schedule::Card);
    let stream = rig.stream();
    // One slot in two cycles for each block: two of four schedulers' slots, so that two blocks are at full speed.
    let steps = [Step::Compute(8000, 4000)];
    let two = rig.kernel(stream, "two", 2 * 132, &steps);
    let eight = rig.kernel(stream, "eight", 8 * 132, &steps);
    let nine = rig.kernel(stream, "nine", 8 * 132 + 1, &steps);
    rig.finish();
    near(rig.cycles(two), 4000);
    near(rig.cycles(eight) - rig.cycles(two), 16_000);
    near(rig.cycles(nine) - rig.cycles(eight), 16_000 + 4000);
}

#[test]
fn a_load_is_hidden_behind_a_chain_that_does_not_need_it() {
    let mut rig = Rig::new(Schedule::Card);
    let stream = rig.stream();
    let hidden = rig.kernel(stream, "hidden", 1, &[Step::Prefetch(0, 1024), CHAIN[0].clone(), Step::Await]);
    let exposed = rig.kernel(stream, "exposed", 1, &[Step::Load(1 << 30, 1024), CHAIN[0].clone()]);
    rig.finish();
    near(rig.cycles(hidden), 4000);
    near(rig.cycles(exposed) - rig.cycles(hidden), 600 + 4000);
}

#[test]
fn a_kernel_is_complete_when_its_stores_are() {
    let mut rig = Rig::new(Schedule::Card);
    let stream = rig.stream();
    let op = rig.kernel(stream, "store", 1, &[Step::Store(0, 1024)]);
    rig.finish();
    near(rig.cycles(op), H200.memory.l2_latency_cycles);
}

#[test]
fn many_blocks_move_bytes_at_the_memorys_rate() {
    let mut rig = Rig::new(Schedule::Card);
    let stream = rig.stream();
    let blocks = 65_536;
    let four: Vec<Step> = (0..4)
        .map(|i| Step::Prefetch(i << 30, 1024))
        .chain([Step::Await, Step::Store(4 << 30, 1024)])
        .collect();
    rig.kernel(stream, "sum", blocks, &four);
    let ps = rig.finish();
    let gb_per_s = blocks * 5 * 1024 * 1000 / ps;
    // A little more than its rate, because the last stores stay in the L2.
    assert!((3900..4400).contains(&gb_per_s), "{gb_per_s} GB/s");
}

#[test]
fn higher_priority_goes_first_where_blocks_wait_for_room() {
    let mut rig = Rig::new(Schedule::Card);
    let (low, high) = (rig.stream(), rig.stream());
    rig.kernel(low, "first", 8 * 132, &[Step::Compute(8, 9000)]);
    let waiting = rig.kernel(low, "low", 8 * 132, &[Step::Compute(8, 1000)]);
    let also = rig.stream();
    let low_too = rig.kernel(also, "low too", 8 * 132, &[Step::Compute(8, 1000)]);
    let mut launch = rig.launch("high", 8 * 132, &[Step::Compute(8, 1000)]);
    launch.priority = -5;
    let urgent = rig.clock.submit(high, 0, &[], Work::Kernel(launch));
    rig.finish();
    assert!(rig.cycles(urgent) < rig.cycles(low_too) && rig.cycles(urgent) < rig.cycles(waiting));
}

#[test]
fn the_same_happens_at_the_same_picosecond_with_any_number_of_threads() {
    let run = |threads| {
        let mut rig = Rig::with_threads(Schedule::Card, threads);
        let (one, two) = (rig.stream(), rig.stream());
        let steps: Vec<Step> = (0..20)
            .flat_map(|i| {
                [Step::Load(i << 20, 1024), Step::Compute(700 + 13 * i, 90 * i), Step::Say("was here")]
            })
            .collect();
        let ops = [
            rig.kernel(one, "a", 300, &steps),
            rig.kernel(two, "b", 1500, &steps[20..]),
            rig.kernel(one, "c", 77, &steps[40..]),
        ];
        rig.finish();
        let journal = rig.journal.lock().unwrap().clone();
        (ops.map(|op| rig.clock.complete_at(op)), journal)
    };
    let alone = run(1);
    assert_eq!(alone.1.len(), 300 * 20 + 1500 * 14 + 77 * 7);
    assert_eq!(run(2), alone);
    assert_eq!(run(5), alone);
}

#[test]
fn it_does_not_matter_in_how_many_steps_the_clock_is_advanced() {
    let run = |step: Option<Picos>| {
        let mut rig = Rig::new(Schedule::Card);
        let (one, two) = (rig.stream(), rig.stream());
        let steps = [Step::Load(0, 1024), Step::Compute(900, 700), Step::Store(1 << 20, 1024)];
        let ops = [rig.kernel(one, "a", 2000, &steps), rig.kernel(two, "b", 300, &steps)];
        for until in step.into_iter().flat_map(|step| (1..100).map(move |i| i * step)) {
            rig.clock.advance(&mut rig.memory, until).unwrap();
            assert!(rig.clock.now() <= until);
        }
        rig.finish();
        ops.map(|op| rig.clock.complete_at(op))
    };
    assert_eq!(run(Some(10_000)), run(None));
}

#[test]
fn a_fault_stops_the_clock_and_forgets_what_was_under_way() {
    let mut rig = Rig::new(Schedule::Card);
    let (one, two) = (rig.stream(), rig.stream());
    rig.kernel(one, "bad", 1, &[CHAIN[0].clone(), Step::Fail]);
    let bystander = rig.kernel(two, "long", 1, &[Step::Compute(8, 1_000_000), Step::Say("never")]);
    let stopped = rig.clock.finish(&mut rig.memory, 0, bystander).unwrap_err();
    assert!(matches!(stopped, Stopped::Fault(fault) if fault.kernel == "bad"));
    assert!(rig.said().is_empty());
    // The card is as new.
    let op = rig.kernel(one, "good", 1, &CHAIN);
    rig.finish();
    assert!(rig.clock.is_complete(op));
}

#[test]
fn a_block_that_fits_nowhere_is_a_standstill_and_not_a_hang() {
    let mut rig = Rig::new(Schedule::Card);
    let stream = rig.stream();
    let mut launch = rig.launch("large", 1, &CHAIN);
    launch.footprint.threads = 4096;
    let op = rig.clock.submit(stream, 0, &[], Work::Kernel(launch));
    assert!(matches!(rig.clock.finish(&mut rig.memory, 0, op), Err(Stopped::Standstill)));
}
