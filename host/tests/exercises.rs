//! `host exercise` as it is typed. What checks an answer is tested in the crate `exercises`; here cargo is a script.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Output};

use host::exercise::EXERCISES;

fn host(typed: &str, cargo: impl AsRef<OsStr>) -> Output {
    let mut process = Process::new(env!("CARGO_BIN_EXE_host"));
    process.arg("exercise").args(typed.split_whitespace()).env("CARGO", cargo).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// A script that prints its folder and its words, one a line, and ends with this code.
fn cargo(code: u8) -> PathBuf {
    let path = std::env::temp_dir().join(format!("streamlab-cargo-{code}-{}", std::process::id()));
    fs::write(&path, format!("#!/bin/sh\npwd -P\nprintf '%s\\n' \"$@\"\nexit {code}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn the_list_the_hints_and_the_solutions_are_those_of_the_exercises() {
    let list = host("list", "none");
    assert_eq!(text(&list.stdout).lines().count(), EXERCISES.len());
    for exercise in EXERCISES {
        for (number, hint) in (1..).zip(exercise.hints) {
            let output = host(&format!("hint {} {number}", exercise.name), "none");
            assert!(text(&output.stdout).trim_end().ends_with(hint));
        }
        for number in [0, exercise.hints.len() + 1] {
            let output = host(&format!("hint {} {number}", exercise.name), "none");
            assert_eq!((output.status.code(), text(&output.stderr).lines().count()), (Some(2), 1));
        }
        let output = host(&format!("solution {}", exercise.name), "none");
        assert_eq!(text(&output.stdout).trim_end(), exercise.solution.trim_end());
    }
}

#[test]
fn a_check_is_cargos_run_of_the_program_in_the_workspace_with_the_options() {
    for code in [0, 1, 2] {
        let cargo = cargo(code);
        let output = host("check pdl --device virtual:h200 --runs 2 --json --timeline a.svg", &cargo);
        fs::remove_file(cargo).unwrap();
        assert_eq!(output.status.code(), Some(i32::from(code)));
        let mut words = text(&output.stdout).lines();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().canonicalize().unwrap();
        assert_eq!(Path::new(words.next().unwrap()), root);
        let before: Vec<_> = words.by_ref().take_while(|word| *word != "--").collect();
        assert_eq!(before, ["run", "--quiet", "--package", "exercises", "--bin", "pdl"]);
        let after: Vec<_> = words.collect();
        assert_eq!(after[..4], ["--device=virtual:h200", "--schedule=earliest", "--runs=2", "--json"]);
        let timeline = after[4].strip_prefix("--timeline=").unwrap();
        assert!(Path::new(timeline).is_absolute() && timeline.ends_with("a.svg"));
    }
}

#[test]
fn without_cargo_or_a_build_there_is_one_line_and_its_code() {
    let cargo = cargo(101);
    let unbuilt = host("check fork2", &cargo);
    fs::remove_file(cargo).unwrap();
    assert_eq!((unbuilt.status.code(), text(&unbuilt.stderr).lines().count()), (Some(1), 1));
    for action in ["check", "watch"] {
        let missing = host(&format!("{action} fork2"), "/none/cargo");
        assert_eq!((missing.status.code(), text(&missing.stderr).lines().count()), (Some(2), 1));
    }
}

#[test]
fn other_names_and_options_are_refused() {
    for typed in ["check nosuch", "check fork2 --order off", "hint", "solution fork2 fork2"] {
        assert_eq!(host(typed, "none").status.code(), Some(2), "{typed}");
    }
}
