//! What was typed. Pure: it touches no device and no file.

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde::Serialize;

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
    /// Every kernel alone and the three lessons, against the card's limits
    Bench(Bench),
}

/// What every lesson takes.
#[derive(Clone, Debug, Args, Serialize)]
pub struct Common {
    /// Which CUDA device to use, from 0
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub device: u32,
    /// Print one JSON document on standard output, and the text on standard error
    #[arg(long)]
    #[serde(skip)]
    pub json: bool,
}

/// How often a thing is timed.
#[derive(Clone, Copy, Debug, Args, Serialize)]
pub struct Repeat {
    /// Timed runs of each thing that is timed
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub runs: u32,
    /// Runs of each before the timed ones
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub warmups: u32,
}

/// What `forkjoin` takes.
#[derive(Clone, Debug, Args, Serialize)]
pub struct ForkJoin {
    /// Elements of each buffer
    #[arg(long, value_name = "N", default_value_t = 1 << 20, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub elems: u64,
    /// Blocks of each grind kernel: few, so that the branches fit side by side
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub blocks: u32,
    /// Fused multiply-adds on each element in each grind kernel
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..))]
    pub iters: u32,
    /// Branches between fork and join, each on a stream of its own
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=16))]
    pub branches: u32,
    /// How often a thing is timed.
    #[command(flatten)]
    #[serde(flatten)]
    pub repeat: Repeat,
    /// What every lesson takes.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: Common,
}

/// What `streams` takes.
#[derive(Clone, Debug, Args, Serialize)]
pub struct Streams {
    /// Elements of each large buffer [default: four times the L2 cache, at least 16,777,216]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    pub elems: Option<u64>,
    /// Steps of the spin [default: so many that it lasts twice as long as the sweeps that it hides]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub spin_steps: Option<u32>,
    /// How often a thing is timed.
    #[command(flatten)]
    #[serde(flatten)]
    pub repeat: Repeat,
    /// What every lesson takes.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: Common,
}

/// Where the primary of `pdl` says that the secondary may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Trigger {
    /// Before everything else
    Early,
    /// Between the two phases, as in the course
    Mid,
    /// After everything else
    Late,
    /// Nowhere
    Never,
}

/// What `pdl` takes.
#[derive(Clone, Debug, Args, Serialize)]
pub struct Pdl {
    /// Elements of each buffer; the default is no multiple of the block
    #[arg(long, value_name = "N", default_value_t = (1 << 20) + 611, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub elems: u64,
    /// Pairs of primary and secondary in a run
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub pairs: u32,
    /// Where the primary says that the secondary may start
    #[arg(long, value_name = "PLACE", value_enum, default_value = "mid")]
    pub trigger: Trigger,
    /// Print a table of every place of the trigger on three grids
    #[arg(long)]
    pub sweep: bool,
    /// How often a thing is timed.
    #[command(flatten)]
    #[serde(flatten)]
    pub repeat: Repeat,
    /// What every lesson takes.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: Common,
}

/// What `bench` takes.
#[derive(Clone, Debug, Args, Serialize)]
pub struct Bench {
    /// How often a thing is timed.
    #[command(flatten)]
    #[serde(flatten)]
    pub repeat: Repeat,
    /// What every lesson takes.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: Common,
}

/// A lesson's options as if nothing but these had been typed.
///
/// # Panics
///
/// When the lesson has an option without a default; the tests ask for each lesson.
pub fn standard<T: Args>(repeat: Repeat, device: u32) -> T {
    let typed = format!("standard --runs {} --warmups {} --device {device}", repeat.runs, repeat.warmups);
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
        assert_eq!((options.branches, options.repeat.runs, options.repeat.warmups), (4, 10, 3));
        assert_eq!((options.common.device, options.common.json), (0, false));
    }

    #[test]
    fn every_lesson_has_standard_options() {
        let repeat = Repeat { runs: 7, warmups: 2 };
        let forkjoin: ForkJoin = standard(repeat, 1);
        assert_eq!((forkjoin.repeat.runs, forkjoin.repeat.warmups, forkjoin.common.device), (7, 2, 1));
        let streams: Streams = standard(repeat, 0);
        assert_eq!((streams.elems, streams.spin_steps, streams.repeat.runs), (None, None, 7));
        let pdl: Pdl = standard(repeat, 0);
        assert_eq!((pdl.elems, pdl.pairs, pdl.trigger), (1_049_187, 64, Trigger::Mid));
    }

    #[test]
    fn every_option_arrives() {
        let typed = "--elems 1000 --blocks 2 --iters 3 --branches 5 --runs 7 --warmups 0 --device 1 --json";
        let options = forkjoin(&typed.split(' ').collect::<Vec<_>>()).unwrap();
        assert_eq!((options.elems, options.blocks, options.iters), (1000, 2, 3));
        assert_eq!((options.branches, options.repeat.runs, options.repeat.warmups), (5, 7, 0));
        assert_eq!((options.common.device, options.common.json), (1, true));
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
