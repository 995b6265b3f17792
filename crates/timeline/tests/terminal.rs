//! The terminal's drawing: its width, its escapes, and that nothing is lost in it.

mod support;

use proptest::{prop_assert, prop_assert_eq, proptest};
use support::{any_timeline, band, slice, timeline};
use timeline::terminal::draw;

/// Without the escapes that give colour.
fn without_colour(text: &str) -> String {
    let mut out = String::new();
    let mut is_escape = false;
    for letter in text.chars() {
        is_escape |= letter == '\x1b';
        if !is_escape {
            out.push(letter);
        }
        is_escape &= letter != 'm';
    }
    out
}

proptest! {
    #[test]
    fn no_line_is_wider_than_the_terminal_and_none_obeys_a_name(timeline in any_timeline(), columns in 0..200_usize) {
        let text = draw(&timeline, columns, false);
        for line in text.lines() {
            prop_assert!(line.chars().count() <= columns.max(20), "{line}");
            prop_assert!(!line.chars().any(char::is_control), "{line:?}");
        }
        prop_assert_eq!(without_colour(&draw(&timeline, columns, true)), text);
    }
}

/// The lines with bars, without the names of their streams.
fn bars(text: &str) -> Vec<String> {
    let has_bars = |line: &&str| line.contains(['█', '▌', '▓']);
    text.lines().filter(has_bars).map(|line| line.chars().skip(3).collect()).collect()
}

#[test]
fn a_short_slice_has_a_cell_of_its_own_beside_its_neighbours() {
    let mut band = band("short", "", 1, 1);
    band.slices = vec![
        slice("a", 0, 0, 587),
        slice("b", 0, 587, 591),
        slice("c", 0, 591, 1200),
        slice("d", 0, 1200, 1200),
    ];
    for columns in 40..200 {
        let text = draw(&timeline("t", vec![band.clone()]), columns, false);
        let rows = bars(&text);
        assert_eq!(rows.len(), 1, "{text}");
        assert_eq!(rows[0].matches('▌').count(), 4, "{text}");
    }
}

#[test]
fn slices_that_overlap_on_one_stream_have_rows_of_their_own() {
    let mut band = band("pdl", "", 1, 1);
    band.slices = vec![slice("one", 0, 0, 500), slice("two", 0, 400, 1000)];
    let rows = bars(&draw(&timeline("t", vec![band]), 43, false));
    assert_eq!(rows, ["█one███████████████▌", "                █two███████████████████▌"]);
}

#[test]
fn more_slices_than_cells_share_them_where_they_are() {
    let mut band = band("many", "", 1, 1);
    band.slices =
        (0..300).map(|at| slice("k", 0, at, at + 1)).chain([slice("last", 0, 1000, 2000)]).collect();
    let text = draw(&timeline("t", vec![band]), 43, false);
    assert_eq!(bars(&text)[0], "▓▓▓▓▓▓              ████████████████████");
    assert!(text.contains("▓ several kernels"), "{text}");
}

#[test]
fn what_is_missing_is_said_and_all_bands_have_one_axis() {
    let text = draw(&support::forkjoin(4), 80, false);
    for line in [
        "s0 -> s1 s2 s3 s4 by fork",
        "s1 s2 s3 s4 -> s0 by done1 done2 done3 done4",
        "missing: s0 -> s1 s2 s3 s4 (mid)",
    ] {
        assert!(text.lines().any(|its| its == line), "{line} in {text}");
    }
    let axes: Vec<_> = text.lines().filter(|line| line.starts_with("us ")).collect();
    assert!(axes.len() == 3 && axes.windows(2).all(|pair| pair[0] == pair[1]), "{axes:?}");
    assert!(text.starts_with("forkjoin on virtual H200, virtual time"));
}

#[test]
fn nothing_at_all_is_drawn_too() {
    let mut still = band("still", "", 2, 0);
    still.slices = vec![slice("now", 0, 0, 0)];
    assert_eq!(bars(&draw(&timeline("t", vec![still]), 80, false)), ["▌ now"]);
    assert_eq!(draw(&timeline("t", Vec::new()), 80, false).lines().count(), 1);
}
