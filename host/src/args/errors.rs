//! What `errors` takes.

use clap::Args;
use serde::Serialize;

use super::Common;

/// What `errors` takes.
#[derive(Clone, Debug, Args, Serialize)]
pub struct Errors {
    /// What every lesson takes.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: Common,
}
