//! The built program, run as a person runs it: what starts itself again cannot be tested in another process.

#![allow(dead_code, reason = "each test binary uses its part of it")]

use std::process::{Command, Output};

use serde_json::Value;

/// Runs the program with these words.
pub fn host(arguments: &str) -> Output {
    host_with(arguments, &[])
}

/// Runs the program with these words, and these variables set.
pub fn host_with(arguments: &str, variables: &[(&str, &str)]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_host"));
    program.args(arguments.split_whitespace()).envs(variables.iter().copied());
    program.output().expect("the program starts")
}

/// What was printed.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the program prints UTF-8")
}

/// Runs the program, which has to succeed, and returns its document.
#[track_caller]
pub fn document(arguments: &str) -> Value {
    let output = host(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a document is JSON")
}
