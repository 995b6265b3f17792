//! What `sync` takes.

use clap::Args;
use serde::Serialize;

use super::Common;

/// What `sync` takes.
#[derive(Clone, Debug, Args, Serialize)]
pub struct Sync {
    /// Steps of each of the two kernels in the short stream; the one in the long stream takes four times as many
    #[arg(long, value_name = "N", default_value_t = 400_000, value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX / 4)))]
    pub steps: u32,
    /// What every lesson takes.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: Common,
}
