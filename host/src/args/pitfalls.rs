//! What `pitfalls` takes.

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde::Serialize;

use super::Common;
use crate::lesson::pitfalls::PITFALLS;

/// What `pitfalls` takes.
#[derive(Clone, Debug, Args, Serialize)]
pub struct Pitfalls {
    /// One of them [default: all, one after the other]
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(PITFALLS.iter().map(|pitfall| pitfall.name)))]
    pub name: Option<String>,
    /// Steps of the kernel that takes long, of some 2 ns each
    #[arg(long, value_name = "N", default_value_t = 500_000, value_parser = clap::value_parser!(u32).range(1000..=1 << 24))]
    pub steps: u32,
    /// What every lesson takes.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: Common,
}
