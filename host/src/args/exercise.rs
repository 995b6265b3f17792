//! What `exercise` takes.

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;

use super::Common;

/// What `exercise` takes.
#[derive(Clone, Debug, Args)]
pub struct Exercise {
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

/// What to do with an exercise.
#[derive(Clone, Debug, Subcommand)]
pub enum Action {
    /// Print the exercises and their tasks
    List,
    /// Check your file, exercises/NAME.rs
    Check(Check),
    /// Print a hint
    Hint {
        /// The exercise
        name: Name,
        /// Which hint, from 1
        #[arg(default_value_t = 1)]
        number: usize,
    },
    /// Print a file that passes
    Solution {
        /// The exercise
        name: Name,
    },
}

/// What a check takes.
#[derive(Clone, Debug, Args, Serialize)]
pub struct Check {
    /// The exercise
    pub name: Name,
    /// What every lesson takes.
    #[command(flatten)]
    #[serde(flatten)]
    pub common: Common,
}

/// The exercises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Name {
    /// The diamond on two branch streams
    Fork2,
    /// Two kernels that overlap, and a third that needs both
    Streams,
    /// A kernel that starts before the one ahead of it has ended
    Pdl,
    /// Copies and kernels of several chunks on two streams
    Pipeline,
}
