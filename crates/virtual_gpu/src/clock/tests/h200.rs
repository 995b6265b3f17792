//! The H200's figures, put together, against whole kernels measured on one. Each kernel is reduced to what its threads do
//! in a trip: accesses, and the cost of the instructions between them.

use super::*;

/// Blocks of 256 threads: what eight warps do.
const WARPS: u64 = 8;

/// Cost of a fused multiply-add chain for a block.
fn chain(length: u64) -> Step {
    Step::Compute(WARPS * length, 4 * length)
}

/// Index, bounds, addresses: some ten instructions.
const SETUP: Step = Step::Compute(WARPS * 20, 60);
/// A trip's end: the next index, its comparison, the branch.
const LOOP: Step = Step::Compute(WARPS * 10, 32);

fn card() -> Rig {
    Rig::on(H200, Schedule::Card, 1)
}

/// Runs the kernel three times in a stream, and returns what the last run added, in nanoseconds.
fn further(rig: &mut Rig, blocks: u64, steps: &[Step]) -> u64 {
    let stream = rig.stream();
    let ops = [(); 3].map(|()| rig.kernel(stream, "k", blocks, steps));
    rig.finish();
    let at = |op| rig.clock.complete_at(op).unwrap() / NS;
    at(ops[2]) - at(ops[1])
}

/// `elements` words for each of the four inputs and the output.
fn sum_four(elements: u64) -> u64 {
    let mut steps = vec![SETUP];
    steps.extend((0..4).map(|i| Step::Prefetch(i << 32, 1024)));
    steps.extend([Step::Await, Step::Compute(WARPS * 3, 12), Step::Store(4 << 32, 1024)]);
    further(&mut card(), elements / 256, &steps)
}

#[test]
fn sums_of_four_in_the_l2_and_beyond_it() {
    within(sum_four(1 << 20), 4_716, 20);
    within(sum_four(1 << 21), 9_052, 20);
    within(sum_four(1 << 26), 318_976, 20);
}

/// `bytes` for each thread and trip, read and, if `write`, written.
fn stream(blocks: u64, elements: u64, bytes: u64, write: bool) -> u64 {
    let mut rig = card();
    let part = 256 * bytes;
    let trips = elements * 4 / part / blocks;
    let mut steps = vec![SETUP];
    for trip in 0..trips {
        let offset = trip * part * blocks;
        steps.push(Step::Load(offset, part));
        steps.extend(write.then(|| Step::Store((1 << 34) + offset, part)));
        steps.push(LOOP);
    }
    further(&mut rig, blocks, &steps)
}

#[test]
fn streams_of_reads_and_of_reads_and_writes() {
    within(stream(1056, 1 << 22, 4, false), 5_288, 20);
    within(stream(2112, 1 << 22, 4, true), 7_984, 20);
    within(stream(1056, 1 << 26, 4, false), 108_968, 20);
    within(stream(2112, 1 << 26, 4, true), 181_104, 20);
    within(stream(2112, 62_914_560, 16, true), 128_000, 20);
}

#[test]
fn grids_that_are_bound_by_issue() {
    let blocks = 4099;
    let half = [Step::Load(0, 1024), chain(256), Step::Store(1 << 32, 1024)];
    let produce: Vec<Step> = [SETUP].iter().chain(&half).chain(&half).cloned().collect();
    within(further(&mut card(), blocks, &produce), 19_900, 20);
    let combine =
        [SETUP, Step::Load(0, 1024), chain(256), Step::Load(2 << 32, 1024), Step::Store(1 << 32, 1024)];
    within(further(&mut card(), blocks, &combine), 11_800, 20);
}

/// 8 pairs of the programmatic lesson; nanoseconds for each of the last 7.
fn pairs(early: bool) -> u64 {
    let mut rig = card();
    let stream = rig.stream();
    let half = [Step::Load(0, 1024), chain(256)];
    let mut produce = vec![SETUP];
    produce.extend(half.clone());
    produce.extend([Step::Store(1 << 32, 1024), Step::Trigger]);
    produce.extend(half.clone());
    produce.push(Step::Store(2 << 32, 1024));
    let mut combine = vec![SETUP];
    combine.extend(half);
    combine.extend([Step::Wait, Step::Load(1 << 32, 1024), Step::Store(3 << 32, 1024)]);
    let ends = [(); 8].map(|()| {
        rig.kernel(stream, "produce", 4099, &produce);
        let mut launch = rig.launch("combine", 4099, &combine);
        launch.early = early;
        rig.clock.submit(stream, 0, &[], Work::Kernel(launch))
    });
    rig.finish();
    let at = |op| rig.clock.complete_at(op).unwrap() / NS;
    (at(ends[7]) - at(ends[0])) / 7
}

#[test]
fn programmatic_launch_saves_what_it_saves_on_the_card() {
    let (baseline, early) = (pairs(false), pairs(true));
    within(baseline, 32_050, 20);
    within(early, 29_900, 20);
    let (ratio, real) = (early as f64 / baseline as f64, 29.9 / 32.05);
    assert!((ratio - real).abs() < 0.05, "{ratio:.3} and {real:.3}");
}

#[test]
fn a_diamond_against_the_same_in_one_stream() {
    let mut trip = vec![Step::Prefetch(0, 1024), chain(512)];
    trip.extend([Step::Compute(WARPS * 40, 196), Step::Store(1 << 32, 1024), Step::Await]);
    let grind: Vec<Step> = (0..512).flat_map(|_| trip.clone()).collect();
    let sum = [SETUP, Step::Load(0, 4096), Step::Store(4 << 32, 1024)];
    let serial = {
        let mut rig = card();
        let stream = rig.stream();
        (0..5).for_each(|_| _ = rig.kernel(stream, "grind", 8, &grind));
        rig.kernel(stream, "sum", 4096, &sum);
        rig.finish()
    };
    let diamond = {
        let mut rig = card();
        let main = rig.stream();
        let fork = rig.kernel(main, "grind", 8, &grind);
        let joins = [(); 4].map(|()| {
            let stream = rig.stream();
            rig.clock.submit(stream, 0, &[fork], Work::Nothing);
            rig.kernel(stream, "grind", 8, &grind)
        });
        rig.clock.submit(main, 0, &joins, Work::Nothing);
        rig.kernel(main, "sum", 4096, &sum);
        rig.finish()
    };
    within(serial / NS, 5 * 588_000 + 11_000, 2);
    let ratio = serial as f64 / diamond as f64;
    assert!((2.46 * 0.95..2.46 * 1.05).contains(&ratio), "{ratio:.3}");
}
