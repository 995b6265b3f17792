//! The `host` command: runs a lesson and turns its outcome into an exit code. 0: every gate holds; 1: a gate failed, or
//! the card did; 2: bad input, or no card to run on.

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use host::args::{Bench, Cli, Command, Common, DrawingFile, ForkJoin, Form, Pdl, Repeat, Streams};
use host::draft::Draft;
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
            on_card(options.common.clone(), options.drawing.file.clone(), |context, report, common| {
                forkjoin::run(context, &ForkJoin { common, ..options }, report)
            })
        }
        Command::Streams(options) => {
            on_card(options.common.clone(), options.drawing.file.clone(), |context, report, common| {
                streams::run(context, &Streams { common, ..options }, report)
            })
        }
        Command::Pdl(options) => {
            on_card(options.common.clone(), options.drawing.file.clone(), |context, report, common| {
                pdl::run(context, &Pdl { common, ..options }, report)
            })
        }
        Command::Bench(options) => on_card(options.common.clone(), None, |context, report, common| {
            bench::run(context, &Bench { common }, report)
        }),
    }
}

/// Opens the card, runs the lesson, prints its document where one was asked for, and says what failed.
fn on_card<T: Outcome>(
    common: Common,
    drawing: Option<DrawingFile>,
    lesson: impl FnOnce(&Context, Report, Common) -> Result<T, Error>,
) -> ExitCode {
    let report = Report::new(common.json);
    let cannot_write = |file: &DrawingFile, error| {
        let path = file.path.display();
        report::error(format!(
            "write the timeline to `{path}`: {error}; choose a file in a folder that you may write to"
        ));
        ExitCode::from(2)
    };
    let draft = match drawing
        .as_ref()
        .map(|file| Draft::new(&file.path).map_err(|error| cannot_write(file, error)))
    {
        None => None,
        Some(Ok(draft)) => Some(draft),
        Some(Err(code)) => return code,
    };
    let (report, outcome, released) = match run_lesson(common, report, lesson) {
        Ok(outcome) => outcome,
        Err(error) => {
            report::error(&error);
            return ExitCode::from(if error.is_bad_input() { 2 } else { 1 });
        }
    };
    if let (Some(file), Some(draft), Some(timeline)) = (drawing, draft, outcome.timeline()) {
        let text = match file.form {
            Form::Svg => timeline::svg::draw(timeline),
            Form::Html => timeline::html::page(timeline),
            Form::Json => timeline::chrome::trace(timeline),
        };
        if let Err(error) = draft.finish(&text) {
            return cannot_write(&file, error);
        }
    }
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
    mut common: Common,
    report: Report,
    lesson: impl FnOnce(&Context, Report, Common) -> Result<T, Error>,
) -> Result<(Report, T, Vec<Error>), Error> {
    let opened = open_driver(&common)?;
    let report = report.virtual_time(opened.is_virtual);
    if let Some(reason) = &opened.reason {
        report.say(format!("no GPU to use: a virtual one takes its place ({reason})"));
    }
    common.repeat = common.repeat.or(if opened.is_virtual { Repeat::VIRTUAL } else { Repeat::STANDARD });
    let context = Context::open(opened.ordinal, host::kernels::IMAGES)?;
    context.set_overlaps(opened.overlaps);
    let outcome = lesson(&context, report, common);
    let released = context.finish();
    outcome.map(|outcome| (report, outcome, released))
}
