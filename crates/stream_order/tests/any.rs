//! Any program has an answer, and the answer can be told: identities that nobody declared, reversed and immense ranges,
//! waits for nothing.

#[path = "support/random.rs"]
mod random;
mod support;

use proptest::prelude::*;
use random::{Reach, programs};
use stream_order::program::Program;

fn answers(program: &Program) {
    for finding in stream_order::check(program) {
        let text = finding.in_words(program).to_string();
        assert!(finding.race.first < finding.race.second && text.lines().count() >= 5, "{text}");
        for race in [&finding.race].into_iter().chain(&finding.more) {
            assert!(race.second < program.operations.len());
        }
    }
    for arrow in stream_order::arrows(program) {
        assert!(arrow.from < Some(arrow.wait) && arrow.record < Some(arrow.wait));
        assert!(arrow.to.is_none_or(|to| to > arrow.wait));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn any_program_has_an_answer(
        mut program in programs(Reach { identities: u64::MAX, wild_ranges: true }, 0..60),
        declares in any::<bool>(),
        has_lines in any::<bool>(),
    ) {
        if !declares {
            program.streams.clear();
            program.buffers.clear();
        }
        if !has_lines {
            program.operations.iter_mut().for_each(|operation| operation.caller = Default::default());
        }
        answers(&program);
    }
}

#[test]
fn the_empty_program_is_clean() {
    answers(&Program::default());
    assert_eq!(stream_order::check(&Program::default()), []);
}
