//! A lesson from the words that were typed to its document and an exit code: opens the device, runs the lesson, ends the context,
//! writes what was asked for. 0: every check holds; 1: a check failed, or the device did; 2: bad input, or no device to run on.

use std::io;
use std::process::ExitCode;

use clap::{ArgMatches, Args as _, Command, FromArgMatches as _, Subcommand as _};
use streamlab::{Context, Error};

use crate::child::ChildArgs;
use crate::cli::{Common, Repeat};
use crate::document::Document;
use crate::draft::Draft;
use crate::exercise::Action;
use crate::kernels;
use crate::lab::{Lab, Outcome, Stop};
use crate::lessons::{LESSONS, Lesson, bench};
use crate::new;
use crate::report::{self, Report};

/// What a lesson came to.
#[derive(Debug)]
pub struct Ended {
    /// What it found.
    pub document: Document,
    /// What failed to be released after it.
    pub released: Vec<Error>,
}

impl Ended {
    /// Whether every check holds, and everything was released.
    pub fn passed(&self) -> bool {
        self.document.passed() && self.released.is_empty()
    }
}

/// Returns the command of a lesson: its own options, and those of every lesson.
pub fn command(lesson: &Lesson) -> Command {
    Common::augment_args((lesson.options)(Command::new(lesson.name))).about(lesson.about)
}

/// Returns the command line: every lesson, and the tools beside them.
pub fn command_line() -> Command {
    Command::new("host")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Lessons in CUDA concurrency, run on a device and checked")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(LESSONS.iter().map(command))
        .subcommand(command(&bench::BENCH))
        .subcommand(Command::new("list").about("List the lessons in the order in which to take them"))
        .subcommand(
            Command::new("doctor")
                .about("Check which toolchain, driver, devices and profilers are installed"),
        )
        .subcommand(Action::augment_subcommands(
            Command::new("exercise")
                .about("Programs for you to complete, and what checks them")
                .subcommand_required(true)
                .arg_required_else_help(true),
        ))
        .subcommand(new::Args::augment_args(
            Command::new("new").about("Write a small project of your own, to build and run"),
        ))
        .subcommand(ChildArgs::augment_args(Command::new("child").hide(true)))
}

/// Opens the device that was asked for, runs the lesson on it, and ends the context.
///
/// # Errors
///
/// The outer one where the options are not the lesson's; the inner one is any error that the lesson is not about. A failed check is
/// none: it is in the document.
pub fn run(
    lesson: &Lesson,
    options: &ArgMatches,
    report: Report,
) -> Result<Result<Ended, Error>, clap::Error> {
    let mut misread = None;
    let ended = on_device(lesson.name, &Common::from_arg_matches(options)?, report, |lab| {
        (lesson.run)(lab, options).unwrap_or_else(|error| {
            misread = Some(error);
            Err(Stop::Failed)
        })
    });
    misread.map_or(Ok(ended), Err)
}

/// Opens the device that was asked for, runs `body` on it as the lesson of that name, and ends the context.
///
/// # Errors
///
/// Any error that the lesson is not about. A failed check is none: it is in the document.
pub fn on_device(
    lesson: &str,
    common: &Common,
    report: Report,
    body: impl FnOnce(&mut Lab<'_>) -> Outcome,
) -> Result<Ended, Error> {
    let context = Context::open(common.options(), kernels::IMAGES)?;
    let report = report.virtual_time(context.is_virtual());
    if let Some(reason) = context.fallback() {
        report.say(format!("no GPU found, using the virtual H200 ({reason})"));
    }
    let standard = if context.is_virtual() { Repeat::VIRTUAL } else { Repeat::STANDARD };
    let common = Common { device: context.opened(), repeat: common.repeat.or(standard), ..common.clone() };
    let mut lab = Lab::new(&context, lesson, &common, report);
    let outcome = body(&mut lab);
    let document = lab.finish();
    let released = context.finish();
    match outcome {
        Ok(()) | Err(Stop::Failed) => Ok(Ended { document, released }),
        Err(Stop::Error(error)) => Err(error),
    }
}

/// Runs `lesson`, writes its timeline and its document where they were asked for, and reports what failed.
///
/// # Errors
///
/// The outer one of `lesson`.
pub fn exit_code<E>(
    common: &Common,
    report: Report,
    lesson: impl FnOnce() -> Result<Result<Ended, Error>, E>,
) -> Result<ExitCode, E> {
    let draft = match common.timeline.as_ref().map(|file| Draft::new(&file.path)).transpose() {
        Ok(draft) => draft,
        Err(error) => return Ok(cannot_write(common, error)),
    };
    let found = match lesson()? {
        Ok(found) => found,
        Err(error) => return Ok(failed(&error)),
    };
    if let (Some(file), Some(draft)) = (&common.timeline, draft)
        && let Err(error) = draft.finish(&file.format.draw(found.document.timeline()))
    {
        return Ok(cannot_write(common, error));
    }
    if let Err(error) = report.document(&found.document) {
        return Ok(cannot_print(error));
    }
    for error in &found.released {
        report::error(error);
    }
    Ok(ExitCode::from(if found.passed() { 0 } else { 1 }))
}

/// Reports an error, and returns its exit code.
pub fn failed(error: &Error) -> ExitCode {
    report::error(error);
    ExitCode::from(if error.is_bad_input() { 2 } else { 1 })
}

/// Reports that a document cannot be printed, and returns the exit code.
pub fn cannot_print(error: io::Error) -> ExitCode {
    report::error(format!("write the document to standard output: {error}"));
    ExitCode::from(2)
}

fn cannot_write(common: &Common, error: io::Error) -> ExitCode {
    let path = common.timeline.as_ref().map(|file| file.path.display().to_string()).unwrap_or_default();
    report::error(format!(
        "write the timeline to `{path}`: {error}; choose a file in a folder that you may write to"
    ));
    ExitCode::from(2)
}
