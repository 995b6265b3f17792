//! What `copies` takes.

use clap::Args;
use serde::Serialize;

use super::Common;

/// What `copies` takes.
#[derive(Clone, Debug, Args, Serialize)]
pub struct Copies {
    /// Elements of a copy, four bytes each
    #[arg(long, value_name = "N", default_value_t = 1 << 24, value_parser = clap::value_parser!(u64).range(1..=1 << 30))]
    pub elems: u64,
    /// What every lesson takes.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: Common,
}
