//! What `priority` takes.

use clap::Args;
use serde::Serialize;

use super::Common;

/// What `priority` takes.
#[derive(Clone, Debug, Args, Serialize)]
pub struct Priority {
    /// Waves of blocks in the full grid: it has so many times the blocks that the card holds at once
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(3..=64))]
    pub waves: u32,
    /// Steps of each block: so many that the small kernel is launched while the first wave runs
    #[arg(long, value_name = "N", default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub steps: u32,
    /// What every lesson takes.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: Common,
}
