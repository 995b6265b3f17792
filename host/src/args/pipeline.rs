//! What `pipeline` takes.

use clap::Args;
use serde::Serialize;

use super::Common;

/// What `pipeline` takes.
#[derive(Clone, Debug, Args, Serialize)]
pub struct Pipeline {
    /// Elements of each of the two inputs and of the output; no number of chunks has to divide it
    #[arg(long, value_name = "N", default_value_t = (3 << 23) + 35, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub elems: u64,
    /// Chunks that the work is cut into
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub chunks: u32,
    /// Streams that take the chunks in turn
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=32))]
    pub streams: u32,
    /// Fused multiply-adds on each sum: 0 is a vector addition, some thousands make computing as long as copying
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub steps: u32,
    /// Print a table of chunks and streams
    #[arg(long)]
    pub sweep: bool,
    /// What every lesson takes.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: Common,
}
