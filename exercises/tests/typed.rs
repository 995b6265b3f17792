//! The programs as they are typed: an untouched file fails at its own check, and other options are refused.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::{Command as Process, Output as Ended};

use host::exercise::EXERCISES;
use serde_json::Value;

fn typed(name: &str, words: &str) -> Ended {
    let program = match name {
        "fork2" => env!("CARGO_BIN_EXE_fork2"),
        "streams" => env!("CARGO_BIN_EXE_streams"),
        "pdl" => env!("CARGO_BIN_EXE_pdl"),
        _ => env!("CARGO_BIN_EXE_pipeline"),
    };
    Process::new(program).args(words.split_whitespace()).output().unwrap()
}

/// What the files come to as they are in the repository; whoever has edited one sees the test fail.
#[test]
fn an_untouched_file_fails_at_its_own_check() {
    let checks = ["fork2.writes", "streams.depth", "pdl.early-launch", "pipeline.depth"];
    for (exercise, id) in EXERCISES.iter().zip(checks) {
        let ended = typed(exercise.name, "--device virtual --json");
        let document: Value = serde_json::from_slice(&ended.stdout).unwrap();
        let checks = document["checks"].as_array().unwrap().iter();
        let failed: Vec<_> =
            checks.filter(|check| check["verdict"] == "fail").map(|check| &check["id"]).collect();
        assert_eq!((ended.status.code(), failed), (Some(1), vec![&Value::from(id)]));
    }
}

#[test]
fn options_that_are_not_the_programs_are_refused() {
    for words in ["--order off", "--device a100", "--runs 0", "more"] {
        assert_eq!(typed("fork2", words).status.code(), Some(2), "{words}");
    }
    assert_eq!(typed("fork2", "--help").status.code(), Some(0));
    assert_eq!(typed("pdl", "--device virtual:t4").status.code(), Some(2));
}
