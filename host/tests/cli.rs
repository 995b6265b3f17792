//! The program as a person meets it, without a card: exit codes, one line for each fault, nothing on standard output.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::{Command, Output};

/// The program, with a loader path whose `libcuda.so.1` is no driver, so that the outcome is the same on a machine
/// with a GPU.
fn host(arguments: &str) -> Output {
    let fake = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fake_driver");
    Command::new(env!("CARGO_BIN_EXE_host"))
        .args(arguments.split_whitespace())
        .env("LD_LIBRARY_PATH", fake)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn without_a_driver_a_lesson_says_what_was_looked_for_and_what_to_do() {
    for arguments in ["forkjoin", "forkjoin --json"] {
        let output = host(arguments);
        let (out, error) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(out, "");
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(error.starts_with("error: no CUDA driver") && error.contains("libcuda.so.1"), "{error}");
    }
}

#[test]
fn bad_input_is_one_line_that_names_it_and_exit_code_2() {
    for (arguments, says) in [
        ("forkjoin --iters 0", "'--iters"),
        ("forkjoin --elems 1e6", "1e6"),
        ("forkjoin --branches 17", "1..=16"),
        ("forkjoin --nonsense", "--nonsense"),
        ("forkjion", "similar subcommand exists: 'forkjoin'"),
    ] {
        let output = host(arguments);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments}");
        assert_eq!((text(&output.stdout).as_str(), error.lines().count()), ("", 1), "{error}");
        assert!(error.starts_with("error: ") && error.contains(says), "{error}");
    }
}

#[test]
fn help_lists_the_lessons_and_is_not_an_error() {
    let output = host("--help");
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("forkjoin"));
    let output = host("");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("forkjoin"));
}
