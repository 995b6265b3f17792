//! What `bench` takes.

use clap::Args;
use serde::Serialize;

use super::Common;

/// What `bench` takes.
#[derive(Clone, Debug, Args, Serialize)]
pub struct Bench {
    /// What every lesson takes.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: Common,
}
