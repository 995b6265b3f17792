//! The late schedule: what is right by luck is wrong.

use super::*;

const SAY: [Step; 1] = [Step::Say("ran")];

#[test]
fn nothing_runs_until_the_host_waits_for_it() {
    let mut rig = Rig::new(Schedule::Late);
    let (one, two) = (rig.stream(), rig.stream());
    rig.kernel(one, "a", 1, &SAY);
    let b = rig.kernel(two, "b", 1, &SAY);
    rig.clock.advance(&mut rig.memory, 1_000_000_000).unwrap();
    assert!(rig.said().is_empty());
    rig.clock.finish(&mut rig.memory, 1_000_000_000, b).unwrap();
    assert_eq!(rig.said(), ["b ran"]);
    assert!(rig.clock.complete_at(b).unwrap() >= 1_000_000_000);
}

#[test]
fn what_is_ordered_stays_so_and_what_is_not_comes_last_if_it_was_first() {
    let mut rig = Rig::new(Schedule::Late);
    let (one, two, three) = (rig.stream(), rig.stream(), rig.stream());
    rig.kernel(one, "unordered", 1, &SAY);
    rig.kernel(two, "first", 1, &SAY);
    let record = rig.clock.submit(two, 0, &[], Work::Nothing);
    rig.clock.submit(three, 0, &[record], Work::Nothing);
    rig.kernel(three, "second", 1, &SAY);
    rig.kernel(three, "third", 1, &SAY);
    rig.finish();
    assert_eq!(rig.said(), ["first ran", "second ran", "third ran", "unordered ran"]);
}

#[test]
fn the_broken_diamond_reads_before_anything_was_written() {
    let mut rig = Rig::new(Schedule::Late);
    let (main, branch) = (rig.stream(), rig.stream());
    let too_early = rig.clock.submit(main, 0, &[], Work::Nothing);
    rig.kernel(main, "upstream", 1, &SAY);
    rig.clock.submit(branch, 0, &[too_early], Work::Nothing);
    rig.kernel(branch, "branch", 1, &SAY);
    rig.finish();
    assert_eq!(rig.said(), ["branch ran", "upstream ran"]);
}
