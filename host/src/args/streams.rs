//! What `streams` takes.

use clap::Args;
use serde::Serialize;

use super::Common;

/// What `streams` takes.
#[derive(Clone, Debug, Args, Serialize)]
pub struct Streams {
    /// Elements of each large buffer [default: four times the L2 cache, at least 16,777,216]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    pub elems: Option<u64>,
    /// Steps of the spin [default: so many that it lasts twice as long as the sweeps that it hides]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub spin_steps: Option<u32>,
    /// What every lesson takes.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: Common,
}
