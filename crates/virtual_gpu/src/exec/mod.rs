//! Runs a block's lanes together: one decoded step over all of them at a time, so that the host's vector units do the
//! work. It knows no time: the clock tells a block when to go on ([`crate::segment::BlockProgram`]).
//!
//! In reading order. Once for each kernel: `flow` (blocks in order), `schedule` (loads together), `live`, `uniform` (what
//! all lanes agree on), `place` (few rows), `lower` (steps), `class` and `tally` (what they cost),
//! `program`. Then for each launch:
//! `launch`, `block` (what the clock sees), `turns` (which lanes go next), `run` and `ends` (steps and ends of blocks),
//! `alu` and `chain` over `lanes` (arithmetic), `access` and `near` (memory), `warp` (lanes together), `panic`.

mod access;
mod alu;
mod atomic;
mod block;
mod chain;
mod class;
mod ends;
mod flow;
mod group;
mod lanes;
mod launch;
mod live;
mod lower;
mod near;
mod panic;
mod place;
mod program;
mod run;
mod schedule;
mod step;
mod tally;
mod turns;
mod uniform;
mod usage;
mod warp;

pub use block::BlockRun;
pub use launch::{DEFAULT_BUDGET, Launch, LaunchError, MAX_THREADS, Seat};
pub use program::{Image, Kernel, ParameterPlace, Program};
