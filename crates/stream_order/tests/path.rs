//! The critical path of programs whose depth can be counted by hand: each launch of `grind` is one unit deep, and nothing else
//! is.

mod support;

use stream_order::critical_path;
use stream_order::program::Program;

fn depth(text: &str) -> (u64, Vec<u32>) {
    let program = support::program("path.rs", text);
    let is_grind = |at: usize| u64::from(program.operations[at].name == "grind");
    let path = critical_path(&program, is_grind);
    assert_eq!(path.length, path.operations.len() as u64);
    (path.length, lines(&program, &path.operations))
}

fn lines(program: &Program, operations: &[usize]) -> Vec<u32> {
    operations.iter().map(|&at| program.operations[at].caller.line).collect()
}

const STREAMS: &str = "streams: s0 nonblocking, s1 nonblocking, s2 nonblocking, b blocking, legacy legacy\n";

#[test]
fn a_stream_is_as_deep_as_its_kernels_and_other_streams_stand_beside_it() {
    let text =
        "s0: launch grind w a\ns1: launch grind w b\ns0: launch sum r a w c\ns0: launch grind r a w d\n";
    assert_eq!(depth(&format!("{STREAMS}{text}")), (2, vec![2, 5]));
    assert_eq!(depth(""), (0, vec![]));
}

#[test]
fn a_fork_on_two_streams_is_three_deep_and_without_its_wait_two() {
    let fork = |wait: &str| {
        format!(
            "{STREAMS}s0: launch grind w mid\ns0: record fork\n{wait}\ns1: launch grind r mid w b1\n\
             s1: launch grind r mid w b2\ns1: record done\ns0: wait done\ns0: launch sum r b1 r b2 w sum\n"
        )
    };
    assert_eq!(depth(&fork("s1: wait fork")), (3, vec![2, 5, 6]));
    assert_eq!(depth(&fork("")), (2, vec![5, 6]));
    assert_eq!(depth(&fork("host: wait stream s0")), (3, vec![2, 5, 6]));
}

#[test]
fn the_legacy_stream_is_a_step_between_blocking_ones() {
    let text = "b: launch grind w a\nlegacy: launch grind w b\nb: launch grind w c\ns0: launch grind w d\n";
    assert_eq!(depth(&format!("{STREAMS}{text}")), (3, vec![2, 3, 4]));
}

#[test]
fn a_dependent_kernel_counts_from_its_wait_and_without_one_beside_the_kernel_ahead() {
    let pair = |second: &str| {
        format!("{STREAMS}s0: launch grind w a\ns0: launch grind {second} w b\ns0: launch grind r b w c\n")
    };
    assert_eq!(depth(&pair("attribute waits")).0, 3);
    assert_eq!(depth(&pair("attribute")).0, 2);
}
