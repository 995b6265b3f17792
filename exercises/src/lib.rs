//! What checks an exercise. An exercise is a small program in this folder: it creates its streams, events and buffers, and hands its
//! submission to [`Lab::check`].
//!
//! The submission is run once, recorded and traced, and looked at step by step; the first check that fails ends it. Only a submission
//! that is right is timed, against the same work in one stream.

pub mod caught;
pub mod checks;
mod fork2;
mod lab;
mod pdl;
mod pipeline;
mod streams;
mod task;
pub mod words;

use std::convert::Infallible;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use clap::{Args as _, Command, FromArgMatches as _};
use host::cli::Common;
use host::exercise::{self, Exercise, Options};
use host::report::{self, Report};
use host::session;
use streamlab::Context;

pub use host::lab::Outcome;
pub use lab::{Lab, Output, judge};
pub use task::{Prediction, Task, Write, task};

/// A program's own source file, as it was compiled.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The file, from the root of the workspace.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// Returns the file that this stands in, as a [`Source`].
#[macro_export]
macro_rules! this_file {
    () => {
        $crate::Source {
            path: file!(),
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../", file!())),
        }
    };
}

/// Runs the program of an exercise, whose name is its file's, with the options that were typed, and checks it. The exit code is 0 where
/// every check holds, 1 where one does not, and 2 for bad input, or without a device to run on.
///
/// It refuses a program that was compiled from another text than its file has now.
pub fn check(source: Source, program: impl FnOnce(&Context, &mut Lab<'_, '_>) -> Outcome) -> ExitCode {
    let name = Path::new(source.path).file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let (Some(exercise), Some(task)) = (exercise::named(name), task(name)) else {
        report::error(format!(
            "{} is no exercise: `cargo run -p host -- exercise list` names them",
            source.path
        ));
        return ExitCode::from(2);
    };
    let command = Command::new(exercise.name).about(exercise.task);
    let options = Options::augment_args(command).try_get_matches();
    let options = match options.and_then(|options| Options::from_arg_matches(&options)) {
        Ok(options) => options,
        Err(answer) => {
            _ = answer.print();
            return ExitCode::from(if answer.use_stderr() { 2 } else { 0 });
        }
    };
    if edited_since(source) {
        report::error(format!(
            "{} was edited after this program was compiled: save it once more, and check it with `{}`",
            source.path,
            command_line("check", exercise)
        ));
        return ExitCode::from(2);
    }
    let common = options.common();
    let report = Report::new(common.json);
    run(exercise, task, &common, report, source.path, program)
}

fn run(
    exercise: &Exercise,
    task: &'static Task,
    common: &Common,
    report: Report,
    path: &str,
    program: impl FnOnce(&Context, &mut Lab<'_, '_>) -> Outcome,
) -> ExitCode {
    let code = session::exit_code::<Infallible>(common, report, || {
        report.say(format!("exercise {}, {path}: {}", exercise.name, exercise.task));
        let ended = judge(task, common, report, path, program);
        if ended.as_ref().is_ok_and(|ended| !ended.passed()) {
            report.say(format!(
                "edit {path}, and check it again: `{}`; for help: `{}`",
                command_line("check", exercise),
                command_line("hint", exercise)
            ));
        }
        Ok(ended)
    });
    code.unwrap_or_else(|never| match never {})
}

fn command_line(action: &str, exercise: &Exercise) -> String {
    format!("cargo run -p host -- exercise {action} {}", exercise.name)
}

/// Whether the file, where it is there, has another text than the program was compiled from.
fn edited_since(source: Source) -> bool {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(source.path);
    fs::read_to_string(path).is_ok_and(|text| text != source.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_another_text_was_edited_and_one_that_is_not_there_was_not() {
        let source = this_file!();
        assert!(source.path.ends_with("exercises/src/lib.rs") && !edited_since(source));
        assert!(edited_since(Source { text: "fn main() {}", ..source }));
        assert!(!edited_since(Source { path: "exercises/none.rs", text: "" }));
    }
}
