//! The `host` command: runs a lesson and turns its outcome into an exit code. 0: every gate holds; 1: a gate failed, or
//! the card did; 2: bad input, or no card to run on.

use std::io;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use host::args::{self, Action, Child, Cli, Command, Common, Form, Repeat};
use host::doctor;
use host::draft::Draft;
use host::exercise;
use host::lesson::{Lesson, Outcome, child};
use host::report::{self, Report};
use host::submit::{Context, Error, open_driver};
use timeline::model::Timeline;

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
        Command::Forkjoin(options) => on_card(options),
        Command::Streams(options) => on_card(options),
        Command::DefaultStream(options) => on_card(options),
        Command::Priority(options) => on_card(options),
        Command::Sync(options) => on_card(options),
        Command::Pdl(options) => on_card(options),
        Command::Errors(options) => on_card(options),
        Command::Startup(options) => on_card(options),
        Command::Timing(options) => on_card(options),
        Command::Copies(options) => on_card(options),
        Command::Pipeline(options) => on_card(options),
        Command::Graph(options) => on_card(options),
        Command::Bench(options) => on_card(options),
        Command::Pitfalls(options) => on_card(options),
        Command::Exercise(args::Exercise { action: Action::Check(options) }) => on_card(options),
        Command::Exercise(args::Exercise { action }) => tell(action),
        Command::List => {
            for (name, about) in args::lessons() {
                Report::new(false).say(format!("{name:16} {about}"));
            }
            ExitCode::SUCCESS
        }
        Command::Doctor => {
            Report::new(false).say(doctor::in_words(&doctor::look()));
            ExitCode::SUCCESS
        }
        Command::Child(options) => in_child(&options),
    }
}

/// What an exercise says without a card.
fn tell(action: Action) -> ExitCode {
    match exercise::tell(&action) {
        Ok(text) => Report::new(false).say(text.trim_end()),
        Err(refusal) => {
            report::error(refusal);
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// What a lesson has started in a process of its own: its document, or the error that it ended with.
fn in_child(options: &Child) -> ExitCode {
    match child::run(options) {
        Ok(document) => match Report::new(true).document(&document) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => cannot_print(error),
        },
        Err(error) => ended(&error),
    }
}

fn ended(error: &Error) -> ExitCode {
    report::error(error);
    ExitCode::from(if error.is_bad_input() { 2 } else { 1 })
}

fn cannot_print(error: io::Error) -> ExitCode {
    report::error(format!("write the document to standard output: {error}"));
    ExitCode::from(2)
}

/// Opens the card, runs the lesson, writes its timeline and its document where they were asked for, and says what failed.
fn on_card<L: Lesson>(mut lesson: L) -> ExitCode {
    let common = lesson.common().clone();
    if common.timeline.is_some() && !L::DRAWS {
        report::error("this lesson does not look at what ran when: leave `--timeline` out");
        return ExitCode::from(2);
    }
    let draft = match common.timeline.as_ref().map(|file| Draft::new(&file.path)).transpose() {
        Ok(draft) => draft,
        Err(error) => return cannot_write(&common, error),
    };
    let (report, outcome, released) = match run_lesson(&mut lesson, Report::new(common.json)) {
        Ok(outcome) => outcome,
        Err(error) => return ended(&error),
    };
    if let (Some(file), Some(draft), Some(timeline)) = (&common.timeline, draft, outcome.timeline())
        && let Err(error) = draft.finish(&drawn(timeline, file.form))
    {
        return cannot_write(&common, error);
    }
    if let Err(error) = report.document(&outcome) {
        return cannot_print(error);
    }
    for error in &released {
        report::error(error);
    }
    ExitCode::from(if outcome.passed() && released.is_empty() { 0 } else { 1 })
}

/// The lesson's outcome, with whatever failed to be released after it.
fn run_lesson<L: Lesson>(lesson: &mut L, report: Report) -> Result<(Report, L::Findings, Vec<Error>), Error> {
    let common = lesson.common();
    let opened = open_driver(common)?;
    let report = report.virtual_time(opened.is_virtual);
    if let Some(reason) = &opened.reason {
        report.say(format!("no GPU to use: a virtual one takes its place ({reason})"));
    }
    common.device = opened.device(common.device);
    common.repeat = common.repeat.or(if opened.is_virtual { Repeat::VIRTUAL } else { Repeat::STANDARD });
    let context = Context::open(opened.ordinal, host::kernels::IMAGES)?;
    context.set_overlaps(opened.overlaps);
    let outcome = lesson.run(&context, report);
    let released = context.finish();
    outcome.map(|outcome| (report, outcome, released))
}

fn drawn(timeline: &Timeline, form: Form) -> String {
    match form {
        Form::Svg => timeline::svg::draw(timeline),
        Form::Html => timeline::html::page(timeline),
        Form::Json => timeline::chrome::trace(timeline),
    }
}

fn cannot_write(common: &Common, error: io::Error) -> ExitCode {
    let path = common.timeline.as_ref().map(|file| file.path.display().to_string()).unwrap_or_default();
    report::error(format!(
        "write the timeline to `{path}`: {error}; choose a file in a folder that you may write to"
    ));
    ExitCode::from(2)
}
