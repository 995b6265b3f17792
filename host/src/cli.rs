//! What was typed. Pure: it touches no device and no file.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use serde::Serialize;
use streamlab::{Device, Options, Schedule};
use timeline::Format;

/// What every command that runs on a device takes.
#[derive(Clone, Debug, Args)]
pub struct Common {
    /// Device: `auto` (a GPU when there is one, else the virtual H200), `gpu` or `gpu:N`, `virtual:h200`, `virtual:t4`
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    pub device: Device,
    /// Missing-edge check: off, report, or deny (report, and exit with 1)
    #[arg(long, value_name = "WHAT", value_enum, default_value = "report")]
    pub order: Order,
    /// Virtual device schedule: `earliest` (as hardware does) or `late` (the latest start that the order allows, which exposes
    /// races hidden by luck)
    #[arg(long, value_name = "WHEN", default_value = "earliest")]
    pub schedule: Schedule,
    /// CPU threads that a virtual device computes with [default: one for each processor]; results do not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Print one JSON document on standard output, and the text on standard error
    #[arg(long)]
    pub json: bool,
    /// Write the timeline to a file: a picture (.svg), a page (.html), or a trace for Perfetto (.json)
    #[arg(long, value_name = "FILE")]
    pub timeline: Option<TimelineFile>,
    /// How often something is timed.
    #[command(flatten)]
    pub repeat: Repeat,
}

impl Common {
    /// Returns how the device is opened.
    pub fn options(&self) -> Options {
        let threads = self.threads.and_then(|threads| std::num::NonZeroUsize::new(usize::from(threads)));
        Options { device: self.device, schedule: self.schedule, threads, ..Options::default() }
    }
}

/// A file for a timeline, and the format that its name asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineFile {
    /// Where.
    pub path: PathBuf,
    /// In which format.
    pub format: Format,
}

impl FromStr for TimelineFile {
    type Err = String;

    fn from_str(typed: &str) -> Result<Self, String> {
        let path = PathBuf::from(typed);
        let format = Format::of(&path)?;
        Ok(TimelineFile { path, format })
    }
}

/// What to do with a missing edge where none is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// Do not look
    Off,
    /// Report it
    Report,
    /// Report it, and exit with 1
    Deny,
}

/// How often something is timed.
#[derive(Clone, Copy, Debug, Args, Serialize)]
pub struct Repeat {
    /// Timed runs of each measurement [default: 10; on a virtual device 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub runs: Option<u32>,
    /// Runs of each before the timed ones [default: 3; on a virtual device 0]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub warmups: Option<u32>,
}

impl Repeat {
    /// What is done where nothing else is said.
    pub const STANDARD: Repeat = Repeat { runs: Some(10), warmups: Some(3) };
    /// On a device whose time is virtual, and all but the same in every run.
    pub const VIRTUAL: Repeat = Repeat { runs: Some(1), warmups: Some(0) };

    /// Returns what was typed, and `other` for the rest.
    pub fn or(self, other: Repeat) -> Self {
        Repeat { runs: self.runs.or(other.runs), warmups: self.warmups.or(other.warmups) }
    }

    /// Returns no more than three runs after one: enough to learn how long something takes.
    pub fn probe(self) -> Self {
        Repeat { runs: Some(self.runs().min(3)), warmups: Some(self.warmups().min(1)) }
    }

    /// Returns the number of timed runs.
    pub fn runs(self) -> u32 {
        self.or(Repeat::STANDARD).runs.unwrap_or_default()
    }

    /// Returns the number of runs before them.
    pub fn warmups(self) -> u32 {
        self.or(Repeat::STANDARD).warmups.unwrap_or_default()
    }
}
