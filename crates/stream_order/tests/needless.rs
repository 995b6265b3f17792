//! The edge that makes a critical path longer than it has to be, by the line that makes it. Each launch of `grind` is one unit.

mod support;

use stream_order::{Needless, check, critical_path, needless};

const STREAMS: &str =
    "streams: main nonblocking, left nonblocking, right nonblocking, blocking blocking, legacy legacy\n";

/// The lines of what makes the edge, of the awaited and of the waiting operation; the length with the edge and without.
fn edge(text: &str) -> Option<([u32; 3], u64, u64)> {
    let program = support::program("needless.rs", &format!("{STREAMS}{text}"));
    assert_eq!(check(&program), []);
    let weight = |at: usize| u64::from(program.operations[at].name == "grind");
    let line = |at: usize| program.operations[at].caller.line;
    let Needless { made_by, awaited, waiting, length } = needless(&program, weight)?;
    Some(([made_by, awaited, waiting].map(line), critical_path(&program, weight).length, length))
}

#[test]
fn what_the_data_needs_is_not_needless() {
    assert_eq!(edge(""), None);
    assert_eq!(edge("main: launch grind w a\nmain: launch grind r a w b\nmain: launch grind r b w c"), None);
    let through_another = "main: launch grind w a\nmain: launch sum r a w b\nmain: launch grind r b w c";
    assert_eq!(edge(through_another), None);
}

#[test]
fn a_stream_makes_its_next_operation_wait() {
    let text = "main: launch grind w a\nmain: launch grind w b\nmain: launch sum r a r b w c";
    assert_eq!(edge(text), Some(([3, 2, 3], 2, 1)));
    // The copy and the kernel that needs it would both have to leave the stream: no single edge is to blame.
    let both = "memory: host pinned\nmain: launch grind w a\nmain: copy host > b\nmain: launch grind r b w c";
    assert_eq!(edge(both), None);
}

#[test]
fn the_legacy_stream_makes_blocking_ones_wait_and_they_it() {
    let text = "blocking: launch grind w a\nlegacy: launch grind w b\nlegacy: launch sum r a r b w c";
    assert_eq!(edge(text), Some(([3, 2, 3], 2, 1)));
}

#[test]
fn a_wait_that_takes_too_much_is_named_before_a_stream() {
    // `fork` is recorded once more after the branches of `left`, and `right` waits for that.
    let text = "main: launch grind w mid\nmain: record fork\nleft: wait fork\nleft: launch grind r mid w b1\n\
                left: launch grind r mid w b2\nleft: record fork\nright: wait fork\nright: launch grind r mid w b3\n\
                right: launch grind r mid w b4\nright: record done\nmain: wait fork\nmain: wait done\n\
                main: launch sum r b1 r b2 r b3 r b4 w sum";
    assert_eq!(edge(text), Some(([8, 6, 9], 5, 3)));
}

#[test]
fn a_wait_is_named_though_another_chain_is_as_long() {
    let text = "main: launch grind w mid\nmain: launch grind r mid w b1\nmain: record fork\nleft: wait fork\n\
                left: launch grind r mid w b2\nright: wait fork\nright: launch grind r mid w b3";
    assert_eq!(edge(text), Some(([5, 3, 6], 3, 3)));
}

#[test]
fn a_wait_of_the_host_is_an_edge_too() {
    let text = "main: launch grind w a\nhost: wait stream main\nleft: launch grind w b";
    assert_eq!(edge(text), Some(([3, 2, 4], 2, 1)));
}
