//! What `pdl` takes.

use clap::{Args, ValueEnum};
use serde::Serialize;

use super::Common;

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
    /// What every lesson takes.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: Common,
}
