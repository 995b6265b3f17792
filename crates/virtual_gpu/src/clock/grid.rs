//! A kernel that runs: which of its blocks are placed, have triggered, have ended.

use super::blocks::BlockId;
use super::residency::Room;
use super::time::Picos;
use super::work::Launch;
use crate::card::Sm;

/// A kernel that runs.
pub struct Grid {
    /// What was launched.
    pub launch: Launch,
    /// What a block takes of a multiprocessor.
    pub room: Room,
    /// Blocks that were placed.
    pub placed: u64,
    /// Blocks that have triggered, or have ended without.
    pub triggered: u64,
    /// Blocks that have ended.
    pub finished: u64,
    /// When everything that was stored is where everyone can see it.
    pub stored: Picos,
    /// Blocks that wait for the kernel that let this one start early.
    pub waiting: Vec<BlockId>,
    /// Whether it has ended, and is complete as soon as that kernel is.
    pub ended: bool,
}

impl Grid {
    /// One of which no block is placed.
    pub fn new(launch: Launch, sm: &Sm) -> Self {
        let room = launch.footprint.room(sm);
        Grid {
            launch,
            room,
            placed: 0,
            triggered: 0,
            finished: 0,
            stored: 0,
            waiting: Vec::new(),
            ended: false,
        }
    }

    /// Whether there are blocks to place.
    pub fn has_blocks_left(&self) -> bool {
        self.placed < self.launch.blocks
    }
}
