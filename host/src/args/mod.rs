//! What was typed. Pure: it touches no device and no file.

mod bench;
mod child;
mod copies;
mod default_stream;
mod errors;
mod exercise;
mod forkjoin;
mod graph;
mod pdl;
mod pipeline;
mod pitfalls;
mod priority;
mod startup;
mod streams;
mod sync;
mod timing;

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::Serialize;

pub use bench::Bench;
pub use child::{Child, Scene};
pub use copies::Copies;
pub use default_stream::DefaultStream;
pub use errors::Errors;
pub use exercise::{Action, Check, Exercise, Name};
pub use forkjoin::ForkJoin;
pub use graph::Graph;
pub use pdl::{Pdl, Trigger};
pub use pipeline::Pipeline;
pub use pitfalls::Pitfalls;
pub use priority::Priority;
pub use startup::Startup;
pub use streams::Streams;
pub use sync::Sync;
pub use timing::Timing;

/// Lessons in CUDA concurrency, run on a card and checked.
#[derive(Debug, Parser)]
#[command(name = "host", version, about, long_about = None)]
pub struct Cli {
    /// The lesson.
    #[command(subcommand)]
    pub command: Command,
}

/// The lessons.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// A fork-join diamond over five streams, against the same launches in one stream
    Forkjoin(ForkJoin),
    /// Streams that overlap, and streams that only look like it
    Streams(Streams),
    /// Programmatic dependent launch: a kernel that starts before the one ahead of it has finished
    Pdl(Pdl),
    /// Errors seen at the call, errors seen later, and one after which nothing works any more
    Errors(Errors),
    /// What the first call, the first load and the first launch cost, against the second
    Startup(Startup),
    /// Which streams wait for the default streams, for each pair of kinds, from one host thread and from two
    DefaultStream(DefaultStream),
    /// A small kernel behind a grid that fills the card, with and without a priority
    Priority(Priority),
    /// A vector addition timed with events, and four ways to time it wrong
    Timing(Timing),
    /// What is done when a wait for an event, a stream or the card is over, and asking without waiting
    Sync(Sync),
    /// Copies of page-locked and pageable memory: when the call returns, and what runs beside what
    Copies(Copies),
    /// Chunks over streams: copies to the device, kernels and copies to the host, side by side
    Pipeline(Pipeline),
    /// The diamond captured once as a graph, and launched again and again
    Graph(Graph),
    /// Small programs in which an order is missing or in the way, each beside its repaired twin
    Pitfalls(Pitfalls),
    /// Every kernel alone and the three lessons, against the card's limits
    Bench(Bench),
    /// The exercises: files that you edit, and that are checked
    Exercise(Exercise),
    /// The lessons in the order in which to take them, with a line each
    List,
    /// What of toolchain, driver, card, PTX and profilers there is on this machine, and what is missing
    Doctor,
    /// A part of a lesson that needs a process of its own
    #[command(hide = true)]
    Child(Child),
}

/// What is no lesson among the commands.
const NO_LESSONS: [&str; 4] = ["bench", "exercise", "list", "doctor"];

/// The lessons in order, each with its line.
pub fn lessons() -> Vec<(String, String)> {
    let commands = <Cli as clap::CommandFactory>::command();
    let lessons = commands
        .get_subcommands()
        .filter(|command| !command.is_hide_set() && !NO_LESSONS.contains(&command.get_name()));
    lessons
        .map(|command| {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            (command.get_name().to_owned(), about)
        })
        .collect()
}

/// What every lesson takes.
#[derive(Clone, Debug, Args, Serialize)]
pub struct Common {
    /// The card: `auto` (a GPU when there is one, else the virtual H200), `gpu` or `gpu:N`, `virtual:h200`, `virtual:t4`
    #[arg(long, value_name = "CARD", default_value = "auto")]
    #[serde(skip)]
    pub device: Device,
    /// What to do with edges that are missing where none should be: nothing, tell, or tell and exit with 1
    #[arg(long, value_name = "WHAT", value_enum, default_value = "report")]
    #[serde(skip)]
    pub order: Order,
    /// When a virtual card runs what it was given, of all the times that the order allows
    #[arg(long, value_name = "WHEN", value_enum, default_value = "card")]
    #[serde(skip)]
    pub schedule: Schedule,
    /// Host threads that a virtual card computes with [default: one for each processor]; nothing else depends on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    #[serde(skip)]
    pub threads: Option<u16>,
    /// Print one JSON document on standard output, and the text on standard error
    #[arg(long)]
    #[serde(skip)]
    pub json: bool,
    /// Write what ran when to a file: a picture (.svg), a page (.html), or a trace for Perfetto (.json)
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    pub timeline: Option<DrawingFile>,
    /// How often a thing is timed.
    #[command(flatten)]
    #[serde(flatten)]
    pub repeat: Repeat,
}

/// A file to draw to, and what its name says of the form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DrawingFile {
    /// Where.
    pub path: PathBuf,
    /// What.
    pub form: Form,
}

/// The forms of a timeline's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A picture.
    Svg,
    /// A page for a browser.
    Html,
    /// Chrome's trace format.
    Json,
}

impl FromStr for DrawingFile {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let path = PathBuf::from(typed);
        let form = match path.extension().and_then(|extension| extension.to_str()) {
            Some("svg") => Form::Svg,
            Some("html") => Form::Html,
            Some("json") => Form::Json,
            _ => return Err("the name ends in .svg, .html or .json, for what the file shall be".to_owned()),
        };
        Ok(DrawingFile { path, form })
    }
}

/// Which card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Device {
    /// A GPU when there is one, else the virtual H200.
    Auto,
    /// The GPU of this number, from 0.
    Gpu(u32),
    /// A card in software.
    Virtual(Model),
}

/// A model of a virtual card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Model {
    /// NVIDIA H200.
    H200,
    /// NVIDIA Tesla T4.
    T4,
}

/// What to do with a missing edge where none should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// Do not look
    Off,
    /// Tell
    Report,
    /// Tell, and exit with 1
    Deny,
}

/// When a virtual card runs what it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Schedule {
    /// As soon as its turn has come, as a card does
    Card,
    /// As late as is allowed, so that a program which is right by luck alone shows it
    Late,
}

impl FromStr for Device {
    type Err = String;

    /// A number alone is a GPU's.
    fn from_str(typed: &str) -> Result<Self, String> {
        let number = |digits: &str| digits.parse().map(Device::Gpu);
        match typed {
            "auto" => return Ok(Device::Auto),
            "gpu" => return Ok(Device::Gpu(0)),
            "virtual" | "virtual:h200" => return Ok(Device::Virtual(Model::H200)),
            "virtual:t4" => return Ok(Device::Virtual(Model::T4)),
            _ => {}
        }
        number(typed.strip_prefix("gpu:").unwrap_or(typed))
            .map_err(|_| "the cards are auto, gpu, gpu:N, virtual:h200 and virtual:t4".to_owned())
    }
}

impl fmt::Display for Device {
    /// As it is typed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Auto => f.write_str("auto"),
            Device::Gpu(number) => write!(f, "gpu:{number}"),
            Device::Virtual(Model::H200) => f.write_str("virtual:h200"),
            Device::Virtual(Model::T4) => f.write_str("virtual:t4"),
        }
    }
}

/// How often a thing is timed.
#[derive(Clone, Copy, Debug, Args, Serialize)]
pub struct Repeat {
    /// Timed runs of each thing that is timed [default: 10; on a virtual card 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub runs: Option<u32>,
    /// Runs of each before the timed ones [default: 3; on a virtual card 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub warmups: Option<u32>,
}

impl Repeat {
    /// What is done where nothing else is said.
    pub const STANDARD: Repeat = Repeat { runs: Some(10), warmups: Some(3) };
    /// On a card whose time is virtual, and all but the same in every run.
    pub const VIRTUAL: Repeat = Repeat { runs: Some(1), warmups: Some(0) };

    /// What was typed, and `other` for the rest.
    pub fn or(self, other: Repeat) -> Self {
        Repeat { runs: self.runs.or(other.runs), warmups: self.warmups.or(other.warmups) }
    }

    /// No more than three runs after one: enough to learn how long something takes.
    pub fn probe(self) -> Self {
        Repeat { runs: Some(self.runs().min(3)), warmups: Some(self.warmups().min(1)) }
    }

    /// Timed runs.
    pub fn runs(self) -> u32 {
        self.or(Repeat::STANDARD).runs.unwrap_or_default()
    }

    /// Runs before them.
    pub fn warmups(self) -> u32 {
        self.or(Repeat::STANDARD).warmups.unwrap_or_default()
    }
}

/// A lesson's options as if nothing but these had been typed.
///
/// # Panics
///
/// When the lesson has an option without a default; the tests ask for each lesson.
pub fn standard<T: Args>(repeat: Repeat) -> T {
    let typed = format!("standard --runs {} --warmups {}", repeat.runs(), repeat.warmups());
    T::augment_args(clap::Command::new("standard"))
        .try_get_matches_from(typed.split(' '))
        .and_then(|matches| T::from_arg_matches(&matches))
        .expect("every option of a lesson has a default")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forkjoin(options: &[&str]) -> Result<ForkJoin, clap::Error> {
        let typed = ["host", "forkjoin"].iter().chain(options);
        Cli::try_parse_from(typed).map(|cli| match cli.command {
            Command::Forkjoin(options) => options,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn the_definition_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn the_defaults_are_the_lessons() {
        let options = forkjoin(&[]).unwrap();
        assert_eq!((options.elems, options.blocks, options.iters), (1_048_576, 8, 512));
        assert_eq!(
            (options.branches, options.common.repeat.runs(), options.common.repeat.warmups()),
            (4, 10, 3)
        );
        assert_eq!((options.common.device, options.common.json), (Device::Auto, false));
    }

    #[test]
    fn every_lesson_has_standard_options() {
        let repeat = Repeat { runs: Some(7), warmups: Some(2) };
        let forkjoin: ForkJoin = standard(repeat);
        assert_eq!((forkjoin.common.repeat.runs(), forkjoin.common.repeat.warmups()), (7, 2));
        let streams: Streams = standard(repeat);
        assert_eq!((streams.elems, streams.spin_steps, streams.common.repeat.runs()), (None, None, 7));
        let pdl: Pdl = standard(repeat);
        assert_eq!((pdl.elems, pdl.pairs, pdl.trigger), (1_049_187, 64, Trigger::Mid));
        let graph: Graph = standard(repeat);
        assert_eq!((graph.elems, graph.branches, graph.common.repeat.runs()), (1 << 18, 4, 7));
        let pitfalls: Pitfalls = standard(repeat);
        assert_eq!((pitfalls.name, pitfalls.steps, pitfalls.common.repeat.warmups()), (None, 500_000, 2));
    }

    #[test]
    fn every_option_arrives() {
        let typed = "--elems 1000 --blocks 2 --iters 3 --branches 5 --runs 7 --warmups 0 --device 1 --json";
        let options = forkjoin(&typed.split(' ').collect::<Vec<_>>()).unwrap();
        assert_eq!((options.elems, options.blocks, options.iters), (1000, 2, 3));
        assert_eq!(
            (options.branches, options.common.repeat.runs(), options.common.repeat.warmups()),
            (5, 7, 0)
        );
        assert_eq!((options.common.device, options.common.json), (Device::Gpu(1), true));
    }

    #[test]
    fn a_card_is_named_by_kind_and_number_or_model() {
        for (typed, device) in [
            ("auto", Device::Auto),
            ("gpu", Device::Gpu(0)),
            ("gpu:3", Device::Gpu(3)),
            ("2", Device::Gpu(2)),
            ("virtual", Device::Virtual(Model::H200)),
            ("virtual:h200", Device::Virtual(Model::H200)),
            ("virtual:t4", Device::Virtual(Model::T4)),
        ] {
            assert_eq!(forkjoin(&["--device", typed]).unwrap().common.device, device, "{typed}");
        }
        for typed in ["", "gpu:", "gpu:x", "gpu:-1", "virtual:", "virtual:h100", "cpu"] {
            let refusal = forkjoin(&["--device", typed]).unwrap_err();
            assert_eq!(refusal.exit_code(), 2, "{typed}");
        }
    }

    #[test]
    fn what_was_typed_goes_before_what_is_usual() {
        let typed = Repeat { runs: Some(7), warmups: None };
        assert_eq!((typed.runs(), typed.warmups()), (7, 3));
        let settled = typed.or(Repeat::VIRTUAL);
        assert_eq!((settled.runs(), settled.warmups()), (7, 0));
    }

    #[test]
    fn a_value_out_of_range_is_refused_by_name() {
        for (option, value) in [
            ("--elems", "0"),
            ("--elems", "1073741825"),
            ("--blocks", "0"),
            ("--blocks", "2147483648"),
            ("--iters", "0"),
            ("--iters", "4294967296"),
            ("--branches", "0"),
            ("--branches", "17"),
            ("--runs", "0"),
            ("--runs", "100001"),
            ("--warmups", "-1"),
            ("--device", "-1"),
            ("--device", "x"),
        ] {
            let refusal = forkjoin(&[&format!("{option}={value}")]).unwrap_err();
            assert_eq!(refusal.exit_code(), 2, "{option} {value}");
            let message = refusal.to_string();
            assert!(message.contains(option) && message.contains(value), "{message}");
        }
    }
}
