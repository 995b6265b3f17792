//! What can be put into a stream.

use super::residency::Footprint;
use crate::memory::Memory;
use crate::segment::BlockProgram;
use std::ops::Range;

/// One operation's work.
pub enum Work {
    /// None: a wait, or a record without a timestamp.
    Nothing,
    /// A record with a timestamp: the operation's end.
    Timestamp,
    /// A kernel.
    Kernel(Launch),
    /// A copy or a fill.
    Transfer(Transfer),
}

/// A kernel's launch.
pub struct Launch {
    /// Blocks of the grid, at least one.
    pub blocks: u64,
    /// What a block takes of a multiprocessor; one fits on an empty one.
    pub footprint: Footprint,
    /// Lower goes first.
    pub priority: i32,
    /// Whether it may start when the kernel before it in its stream lets it.
    pub early: bool,
    /// Makes the block of that index in the grid, on that multiprocessor.
    pub make: Box<dyn FnMut(u64, u32) -> Box<dyn BlockProgram> + Send>,
}

/// A copy or a fill.
pub struct Transfer {
    /// Who does it.
    pub route: Route,
    /// Bytes.
    pub bytes: u64,
    /// Moves the bytes of a part of it. Called for one part after the other.
    pub part: Part,
}

/// Moves the bytes of a part of a transfer. Who submits the transfer has looked whether its ranges are there.
pub type Part = Box<dyn FnMut(&mut Memory, Range<u64>) + Send>;

/// Who moves a transfer's bytes, and how fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// The engine for copies to the device, at so many GB/s.
    ToDevice(u64),
    /// The engine for copies to the host, at so many GB/s.
    ToHost(u64),
    /// The multiprocessors and the memory, for a copy within the device or a fill: where it reads and where it writes.
    Within {
        /// First address that is read; none for a fill.
        from: Option<u64>,
        /// First address that is written.
        to: u64,
    },
}
