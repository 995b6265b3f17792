//! The fork-join diamond, its serial order and its broken order, as the lab submits them: one line of source for each call,
//! the same line for all branches.

mod support;

use stream_order::Cause;
use stream_order::program::{Program, ThreadId};

const BRANCHES: usize = 4;

const DIAMOND: &str = "
streams: s0 blocking, s1 blocking, s2 blocking, s3 blocking, s4 blocking
s0: launch grind_fma r input w mid
s0: record fork
s1: wait fork
s1: launch grind_fma r mid w branch1
s1: record done1
s2: wait fork
s2: launch grind_fma r mid w branch2
s2: record done2
s3: wait fork
s3: launch grind_fma r mid w branch3
s3: record done3
s4: wait fork
s4: launch grind_fma r mid w branch4
s4: record done4
s0: wait done1
s0: wait done2
s0: wait done3
s0: wait done4
s0: launch sum_four r branch1 r branch2 r branch3 r branch4 w sum0
";

const SERIAL: &str = "
streams: s0 blocking
s0: launch grind_fma r input w mid
s0: launch grind_fma r mid w branch1
s0: launch grind_fma r mid w branch2
s0: launch grind_fma r mid w branch3
s0: launch grind_fma r mid w branch4
s0: launch sum_four r branch1 r branch2 r branch3 r branch4 w sum0
";

/// The diamond with the record moved one line up.
fn broken() -> String {
    let (launch, record) = ("s0: launch grind_fma r input w mid\n", "s0: record fork\n");
    let broken = DIAMOND.replace(&format!("{launch}{record}"), &format!("{record}{launch}"));
    assert_ne!(broken, DIAMOND);
    broken
}

/// The program with the lines that a loop over the branches has in a source file.
fn diamond(text: &str) -> Program {
    let mut program = support::program("diamond.rs", text);
    for operation in &mut program.operations {
        let line = &mut operation.caller.line;
        *line = match *line {
            5..17 => 5 + (*line - 5) % 3,
            17..21 => 17,
            other => other,
        };
    }
    program
}

#[test]
fn the_diamond_and_the_serial_order_lack_nothing() {
    for text in [DIAMOND, SERIAL] {
        assert_eq!(support::report(&diamond(text)), "");
    }
}

#[test]
fn the_broken_order_lacks_an_edge_to_each_branch_because_of_the_early_record() {
    let program = diamond(&broken());
    let findings = stream_order::check(&program);
    assert_eq!(findings.len(), BRANCHES);
    for (branch, finding) in findings.iter().enumerate() {
        let (wait, launch) = (2 + 3 * branch, 3 + 3 * branch);
        assert_eq!((finding.race.first, finding.race.second), (1, launch));
        assert_eq!((finding.after, finding.before), (1, launch));
        assert_eq!(finding.cause, Cause::RecordedTooEarly { record: 0, wait });
        assert_eq!(finding.more, []);
        let text = finding.in_words(&program).to_string();
        assert!(text.contains("`fork` was recorded on `s0` (diamond.rs:3) before (1)"), "{text}");
    }
}

#[test]
fn a_loop_around_the_broken_order_repeats_its_findings_and_adds_none() {
    let mut program = diamond(&broken());
    let once = program.operations.clone();
    for _ in 1..20 {
        program.operations.extend(once.iter().cloned());
    }
    let findings = stream_order::check(&program);
    assert_eq!(findings.iter().map(|finding| finding.more.len()).collect::<Vec<_>>(), [19; BRANCHES]);
    for finding in findings {
        assert!(matches!(finding.cause, Cause::RecordedTooEarly { record: 0, .. }), "{finding:?}");
    }
}

#[test]
fn the_thread_that_submits_makes_no_difference_to_streams() {
    let mut program = diamond(&broken());
    for (i, operation) in program.operations.iter_mut().enumerate() {
        operation.thread = ThreadId(i as u64 % 3);
    }
    assert_eq!(stream_order::check(&program).len(), BRANCHES);
}
