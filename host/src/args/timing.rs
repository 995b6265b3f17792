//! What `timing` takes.

use clap::Args;
use serde::Serialize;

use super::Common;

/// What `timing` takes.
#[derive(Clone, Debug, Args, Serialize)]
pub struct Timing {
    /// Elements of each of the three vectors [default: four times the L2 cache, at least 67,108,864]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    pub elems: Option<u64>,
    /// What every lesson takes.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: Common,
}
