//! What `startup` takes.

use clap::Args;
use serde::Serialize;

use super::Common;

/// What `startup` takes.
#[derive(Clone, Debug, Args, Serialize)]
pub struct Startup {
    /// What every lesson takes.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: Common,
}
