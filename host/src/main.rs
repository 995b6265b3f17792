//! The `host` command: runs a lesson or a tool, and turns its outcome into an exit code. 0: every check holds; 1: a check failed,
//! or the device did; 2: bad input, or no device to run on.

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgMatches, FromArgMatches as _};
use host::child::ChildArgs;
use host::cli::Common;
use host::exercise::{self, Action};
use host::lessons::{LESSONS, Lesson, bench};
use host::report::{self, Report};
use host::{doctor, new, session};

fn main() -> ExitCode {
    match session::command_line().try_get_matches() {
        Ok(matches) => run(&matches).unwrap_or_else(refused),
        Err(answer) => refused(answer),
    }
}

fn run(matches: &ArgMatches) -> Result<ExitCode, clap::Error> {
    let Some((name, options)) = matches.subcommand() else { return Ok(ExitCode::from(2)) };
    match name {
        "list" => {
            for Lesson { name, about, .. } in LESSONS {
                Report::new(false).say(format!("{name:16} {about}"));
            }
            Ok(ExitCode::SUCCESS)
        }
        "doctor" => {
            Report::new(false).say(doctor::in_words(&doctor::diagnose()));
            Ok(ExitCode::SUCCESS)
        }
        "new" => Ok(match new::project(&new::Args::from_arg_matches(options)?) {
            Ok(text) => {
                Report::new(false).say(text);
                ExitCode::SUCCESS
            }
            Err(refusal) => {
                report::error(refusal);
                ExitCode::from(2)
            }
        }),
        "exercise" => Ok(exercise::run(&Action::from_arg_matches(options)?)),
        "child" => Ok(in_child(&ChildArgs::from_arg_matches(options)?)),
        _ => {
            let lesson = host::lessons::named(name).unwrap_or(&bench::BENCH);
            on_device(lesson, options)
        }
    }
}

/// Prints help where it was asked for, and else in one line what is wrong, what may have been meant, and where to find more.
fn refused(answer: clap::Error) -> ExitCode {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    if matches!(answer.kind(), DisplayHelp | DisplayHelpOnMissingArgumentOrSubcommand | DisplayVersion) {
        _ = answer.print();
        return ExitCode::from(if answer.use_stderr() { 2 } else { 0 });
    }
    let text = answer.to_string();
    let parts = text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    let said: Vec<_> =
        parts.filter(|part| part.starts_with("error: ") || part.starts_with("tip: ")).collect();
    report::error(format!("{}; see `host --help`", said.join("; ").trim_start_matches("error: ")));
    ExitCode::from(2)
}

/// Runs a part of a lesson that needs a process of its own, and prints its document, or the error that it ended with.
fn in_child(args: &ChildArgs) -> ExitCode {
    match host::lessons::child(args) {
        Ok(document) => match Report::new(true).document(&document) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => session::cannot_print(error),
        },
        Err(error) => session::failed(&error),
    }
}

/// Runs a lesson, unless it was asked for a timeline and has none.
fn on_device(lesson: &Lesson, options: &ArgMatches) -> Result<ExitCode, clap::Error> {
    let common = Common::from_arg_matches(options)?;
    if common.timeline.is_some() && !lesson.draws {
        report::error("this lesson records no timeline; remove --timeline");
        return Ok(ExitCode::from(2));
    }
    let report = Report::new(common.json);
    session::exit_code(&common, report, || session::run(lesson, options, report))
}
