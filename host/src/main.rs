//! The `host` command: runs a lesson and turns its outcome into an exit code. 0: every gate holds; 1: a gate failed, or
//! the card did; 2: bad input, or no card to run on.

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use host::args::{Cli, Command, Common};
use host::lesson::{Outcome, bench, forkjoin, pdl, streams};
use host::report::{self, Report};
use host::submit::{Context, Error, open_driver};

fn main() -> ExitCode {
    match Cli::try_parse() {
        Ok(cli) => run(cli.command),
        Err(answer) if is_help(answer.kind()) => {
            _ = answer.print();
            ExitCode::from(if answer.use_stderr() { 2 } else { 0 })
        }
        Err(refusal) => {
            report::error(one_line(&refusal));
            ExitCode::from(2)
        }
    }
}

fn is_help(kind: ErrorKind) -> bool {
    use ErrorKind::{DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion};
    matches!(kind, DisplayHelp | DisplayHelpOnMissingArgumentOrSubcommand | DisplayVersion)
}

/// A refusal in one line: what is wrong, what may have been meant, and where to find more.
fn one_line(refusal: &clap::Error) -> String {
    let text = refusal.to_string();
    let parts = text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "));
    let said: Vec<_> =
        parts.filter(|part| part.starts_with("error: ") || part.starts_with("tip: ")).collect();
    format!("{}; see `host --help`", said.join("; ").trim_start_matches("error: "))
}

fn run(command: Command) -> ExitCode {
    match command {
        Command::Forkjoin(options) => {
            on_card(&options.common, |context, report| forkjoin::run(context, &options, report))
        }
        Command::Streams(options) => {
            on_card(&options.common, |context, report| streams::run(context, &options, report))
        }
        Command::Pdl(options) => {
            on_card(&options.common, |context, report| pdl::run(context, &options, report))
        }
        Command::Bench(options) => {
            on_card(&options.common, |context, report| bench::run(context, &options, report))
        }
    }
}

/// Opens the card, runs the lesson, prints its document where one was asked for, and says what failed.
fn on_card<T: Outcome>(
    common: &Common,
    lesson: impl FnOnce(&Context, Report) -> Result<T, Error>,
) -> ExitCode {
    let report = Report::new(common.json);
    let (outcome, released) = match run_lesson(common.device, |context| lesson(context, report)) {
        Ok(outcome) => outcome,
        Err(error) => {
            report::error(&error);
            return ExitCode::from(if error.is_bad_input() { 2 } else { 1 });
        }
    };
    if let Err(error) = report.document(&outcome) {
        report::error(format!("write the document to standard output: {error}"));
        return ExitCode::from(2);
    }
    for error in &released {
        report::error(error);
    }
    ExitCode::from(if outcome.passed() && released.is_empty() { 0 } else { 1 })
}

/// The lesson's outcome, with whatever failed to be released after it.
fn run_lesson<T>(
    device: u32,
    lesson: impl FnOnce(&Context) -> Result<T, Error>,
) -> Result<(T, Vec<Error>), Error> {
    open_driver()?;
    let context = Context::open(device, host::kernels::IMAGES)?;
    let outcome = lesson(&context);
    let released = context.finish();
    outcome.map(|outcome| (outcome, released))
}
