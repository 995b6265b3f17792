//! The gates of the priority lesson: when a small kernel got its place behind a grid that fills the card, from when the blocks
//! of that grid ran.

use super::Gate;
use super::overlap::{self, Interval};
use crate::report::thousands;

/// The least part of the grid's blocks that still wait when a kernel of a higher priority starts.
pub const MIN_PASSED: f64 = 0.5;
/// The most of them that do when a kernel of the same priority starts.
pub const MAX_PASSED: f64 = 0.05;

/// Blocks of the grid that did not start before `small`: it has passed them. A clock with long steps shows many starts as one.
fn passed(blocks: &[Interval], small: Interval) -> usize {
    blocks.iter().filter(|block| block.start_ns >= small.start_ns).count()
}

fn us(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1e3)
}

/// What is said of either order.
fn sentence(blocks: &[Interval], small: Interval) -> String {
    let end_ns = overlap::hull(blocks).map_or(0, |full| full.end_ns);
    let started = blocks.len() - passed(blocks, small);
    format!(
        "timeline: the small kernel ran from {} to {} us, the full grid to {} us; {} of its {} blocks started before the small \
         kernel",
        us(small.start_ns),
        us(small.end_ns),
        us(end_ns),
        thousands(started as u64),
        thousands(blocks.len() as u64)
    )
}

/// Whether a kernel of the same priority as the grid waited behind it. `blocks` is when the grid's blocks ran.
pub fn behind(blocks: &[Interval], small: Interval) -> Gate {
    let sentence = sentence(blocks, small);
    if !blocks.is_empty() && passed(blocks, small) as f64 <= MAX_PASSED * blocks.len() as f64 {
        Gate::pass(format!("{sentence}: it waited for them"))
    } else {
        Gate::fail(format!("{sentence}: it did not wait for the rest"))
    }
}

/// Whether a kernel of a higher priority went ahead of the blocks that waited.
pub fn ahead(blocks: &[Interval], small: Interval) -> Gate {
    let sentence = sentence(blocks, small);
    if !blocks.is_empty() && passed(blocks, small) as f64 >= MIN_PASSED * blocks.len() as f64 {
        Gate::pass(format!("{sentence}: it went ahead of the rest"))
    } else {
        Gate::fail(format!("{sentence}: the priority did not help it"))
    }
}

/// Whether the small kernel waited until a block of the grid had ended: a block that runs is not interrupted.
pub fn not_interrupted(blocks: &[Interval], small: Interval, step_ns: u64) -> Gate {
    let Some(first) = blocks.iter().min_by_key(|block| block.end_ns) else {
        return Gate::fail("timeline: the full grid has no blocks".to_owned());
    };
    overlap::after("the small kernel", small, "the first block of the full grid", *first, step_ns)
}

/// Whether a stream got the priority that it asked for, moved into the range. `least` goes last and is the greater number.
pub fn clamped(asked: i32, got: i32, least: i32, greatest: i32) -> Gate {
    let want = asked.max(greatest).min(least);
    let sentence = format!("a stream that asks for priority {asked} gets {got}");
    if got == want { Gate::pass(sentence) } else { Gate::fail(format!("{sentence}, not {want}")) }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::tests::check;
    use super::*;

    /// Twenty blocks on a card that holds five: four waves of 100 us.
    fn grid() -> Vec<Interval> {
        let wave = |wave: u64| Interval { start_ns: 100_000 * wave, end_ns: 100_000 * (wave + 1) };
        (0..20).map(|block| wave(block / 5)).collect()
    }

    fn small(start_us: u64) -> Interval {
        Interval { start_ns: 1000 * start_us, end_ns: 1000 * (start_us + 50) }
    }

    #[test]
    fn half_of_the_blocks_must_be_passed_with_a_priority() {
        assert_eq!(ahead(&grid(), small(200)).verdict, Verdict::Pass);
        assert_eq!(ahead(&grid(), small(201)).verdict, Verdict::Fail);
        check(
            ahead(&grid(), small(101)),
            Verdict::Pass,
            "timeline: the small kernel ran from 101.0 to 151.0 us, the full grid to 400.0 us; 10 of its 20 blocks started \
             before the small kernel: it went ahead of the rest",
        );
    }

    #[test]
    fn hardly_any_may_be_passed_without_one() {
        assert_eq!(behind(&grid(), small(301)).verdict, Verdict::Pass);
        assert_eq!(behind(&grid(), small(300)).verdict, Verdict::Fail);
        let mut one_late = grid();
        one_late[19].start_ns = 350_000;
        assert_eq!(behind(&one_late, small(320)).verdict, Verdict::Pass);
        one_late[18].start_ns = 350_000;
        assert_eq!(behind(&one_late, small(320)).verdict, Verdict::Fail);
    }

    #[test]
    fn a_start_before_any_block_has_ended_is_an_interruption_beyond_a_step_of_the_clock() {
        let at = |start_ns| Interval { start_ns, end_ns: 500_000 };
        assert_eq!(not_interrupted(&grid(), at(99_968), 32).verdict, Verdict::Pass);
        assert_eq!(not_interrupted(&grid(), at(99_967), 32).verdict, Verdict::Fail);
    }

    #[test]
    fn no_blocks_show_nothing() {
        for gate in [ahead(&[], small(0)), behind(&[], small(0)), not_interrupted(&[], small(0), 32)] {
            assert_eq!(gate.verdict, Verdict::Fail, "{gate}");
        }
    }

    #[test]
    fn a_priority_is_moved_into_the_range_and_one_inside_stays() {
        for (asked, got) in [(-1000, -5), (-5, -5), (-3, -3), (0, 0), (7, 0)] {
            assert_eq!(clamped(asked, got, 0, -5).verdict, Verdict::Pass, "{asked}");
            assert_eq!(clamped(asked, got - 1, 0, -5).verdict, Verdict::Fail, "{asked}");
        }
        let sentence = "a stream that asks for priority -9 gets -9, not -5";
        check(clamped(-9, -9, 0, -5), Verdict::Fail, sentence);
    }
}
