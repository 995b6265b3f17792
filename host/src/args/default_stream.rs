//! What `default-stream` takes.

use clap::Args;
use serde::Serialize;

use super::Common;

/// What `default-stream` takes.
#[derive(Clone, Debug, Args, Serialize)]
pub struct DefaultStream {
    /// Steps of each kernel: so many that the next one is launched while it runs
    #[arg(long, value_name = "N", default_value_t = 400_000, value_parser = clap::value_parser!(u32).range(1..=i64::from(i32::MAX)))]
    pub steps: u32,
    /// What every lesson takes.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: Common,
}
