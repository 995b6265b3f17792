//! The gates of `errors`: when an error is told, by which call, and for how long.

use super::Gate;

/// What a call answered: what it was, and the driver's number, 0 for success.
pub type Answered<'a> = (&'a str, u32);

/// The context lives on after an error that did not come from a kernel: a good launch right behind it does its work.
pub fn survived(what: &str, code: Option<u32>, wanted: u32, words: &str, works: bool) -> Gate {
    match code {
        Some(code) if code == wanted && works => Gate::pass(format!(
            "{what}: refused at the call ({code}: {words}), and the next good launch works"
        )),
        Some(code) if code == wanted => Gate::fail(format!(
            "{what}: refused at the call ({code}), and the next good launch does not work"
        )),
        Some(code) => Gate::fail(format!("{what}: refused with code {code}, expected was {wanted}: {words}")),
        None => Gate::fail(format!("{what}: not refused, and it should be with code {wanted}")),
    }
}

/// The last error stays for who peeks, goes with who takes, and no call that succeeds takes it away.
pub fn last_error(wanted: u32, peeked: [Option<u32>; 2], taken: [Option<u32>; 2]) -> Gate {
    let words = |code: Option<u32>| code.map_or("none".to_owned(), |code| code.to_string());
    let [peeked_once, peeked_again, taken_once, taken_again] =
        [peeked[0], peeked[1], taken[0], taken[1]].map(words);
    let sentence = format!(
        "the last error, after a call that failed with {wanted} and one that succeeded: peek {peeked_once}, peek \
         {peeked_again}, take {taken_once}, take {taken_again}"
    );
    match (peeked, taken) {
        ([Some(first), Some(second)], [Some(third), None]) if [first, second, third] == [wanted; 3] => {
            Gate::pass(sentence)
        }
        _ => Gate::fail(sentence),
    }
}

/// A kernel's error is no error of its launch: the first call that waits tells it, and names the kernel.
pub fn told_by_the_wait(launch: u32, wait: u32, words: &str, kernel: &str) -> Gate {
    let sentence =
        format!("a write out of bounds: the launch answers {launch}, the first call that waits {wait}");
    if launch != 0 || wait == 0 {
        Gate::fail(sentence)
    } else if !words.contains(kernel) {
        Gate::fail(format!("{sentence}, and it does not say that it was `{kernel}`: {words}"))
    } else {
        Gate::pass(format!("{sentence}, and names the kernel"))
    }
}

/// With a check after each launch, the launch itself tells it.
pub fn told_by_the_launch(launch: u32, wanted: u32) -> Gate {
    let sentence = format!("the same with a check after each launch: the launch answers {launch}");
    if launch == wanted && launch != 0 { Gate::pass(sentence) } else { Gate::fail(sentence) }
}

/// From then on every call of the context answers the same, and the last error cannot be taken away.
pub fn sticks(code: u32, unrelated: &[Answered<'_>], taken: [Option<u32>; 2]) -> Gate {
    let other = unrelated.iter().find(|(_, answer)| *answer != code);
    match other {
        Some((what, answer)) => {
            Gate::fail(format!("after a sticky error of code {code}: {what} answers {answer}"))
        }
        None if unrelated.is_empty() => Gate::fail("after a sticky error: no call was made".to_owned()),
        None if taken != [Some(code); 2] => {
            Gate::fail(format!("a sticky last error of code {code}: taken twice it was {taken:?}"))
        }
        None => Gate::pass(format!(
            "after it, {} unrelated calls answer {code} ({}), and so does the last error, taken twice",
            unrelated.len(),
            unrelated.iter().map(|(what, _)| *what).collect::<Vec<_>>().join(", ")
        )),
    }
}

/// What a new context of the same process is worth. The driver's manual says that the process must be ended, so that
/// nothing is promised here.
pub fn recovered(code: u32) -> Gate {
    match code {
        0 => Gate::pass(
            "with its context ended the error is gone: a new one in the same process works".to_owned(),
        ),
        code => Gate::not_gated(format!(
            "a new context in the same process answers {code}: here only a new process helps, as the driver's manual says"
        )),
    }
}

/// The other process did not harm this one.
pub fn unharmed(works: bool) -> Gate {
    let sentence = "this process' own context, open all the while";
    match works {
        true => Gate::pass(format!("{sentence}, works as before")),
        false => Gate::fail(format!("{sentence}, computes something else than before")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Verdict;

    #[test]
    fn a_refusal_needs_its_code_and_a_context_that_works() {
        for (code, works, verdict) in [
            (Some(1), true, Verdict::Pass),
            (Some(1), false, Verdict::Fail),
            (Some(2), true, Verdict::Fail),
            (None, true, Verdict::Fail),
        ] {
            assert_eq!(
                survived("1025 threads", code, 1, "too many", works).verdict,
                verdict,
                "{code:?} {works}"
            );
        }
    }

    #[test]
    fn the_last_error_is_there_until_it_is_taken_and_not_longer() {
        let (there, none) = (Some(1), None);
        assert_eq!(last_error(1, [there; 2], [there, none]).verdict, Verdict::Pass);
        for (peeked, taken) in [
            ([none, none], [there, none]),
            ([there, none], [there, none]),
            ([there; 2], [none, none]),
            ([there; 2], [there; 2]),
            ([Some(2); 2], [Some(2), none]),
        ] {
            assert_eq!(last_error(1, peeked, taken).verdict, Verdict::Fail, "{peeked:?} {taken:?}");
        }
    }

    #[test]
    fn a_kernels_error_comes_with_the_wait_unless_each_launch_is_checked() {
        assert_eq!(told_by_the_wait(0, 700, "`k` did it", "k").verdict, Verdict::Pass);
        for (launch, wait, words) in [(700, 700, "k"), (0, 0, "k"), (0, 700, "somebody")] {
            assert_eq!(
                told_by_the_wait(launch, wait, words, "k").verdict,
                Verdict::Fail,
                "{launch} {wait} {words}"
            );
        }
        assert_eq!(told_by_the_launch(700, 700).verdict, Verdict::Pass);
        assert_eq!(told_by_the_launch(0, 700).verdict, Verdict::Fail);
        assert_eq!(told_by_the_launch(0, 0).verdict, Verdict::Fail);
    }

    #[test]
    fn a_sticky_error_is_the_answer_to_everything() {
        let both = [Some(700); 2];
        let calls = [("allocate", 700), ("launch", 700)];
        assert_eq!(sticks(700, &calls, both).verdict, Verdict::Pass);
        assert_eq!(sticks(700, &[calls[0], ("launch", 0)], both).verdict, Verdict::Fail);
        assert_eq!(sticks(700, &calls, [Some(700), None]).verdict, Verdict::Fail);
        assert_eq!(sticks(700, &[], both).verdict, Verdict::Fail);
    }

    #[test]
    fn what_comes_after_it_is_promised_to_other_processes_alone() {
        assert_eq!(recovered(0).verdict, Verdict::Pass);
        assert_eq!(recovered(700).verdict, Verdict::NotGated);
        assert_eq!((unharmed(true).verdict, unharmed(false).verdict), (Verdict::Pass, Verdict::Fail));
    }
}
