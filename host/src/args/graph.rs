//! What `graph` takes.

use clap::Args;
use serde::Serialize;

use super::Common;

/// What `graph` takes.
#[derive(Clone, Debug, Args, Serialize)]
pub struct Graph {
    /// Elements of each buffer
    #[arg(long, value_name = "N", default_value_t = 1 << 18, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
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
    /// What every lesson takes.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: Common,
}
