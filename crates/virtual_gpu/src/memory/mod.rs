//! Device memory: allocations, what lies at an address, and the faults of those who look elsewhere.
//!
//! Addresses are the card's, never the host's. An address is given out once only, and behind each allocation lies a gap
//! that nothing ever fills: what runs over the end, or uses what was freed, is found.

mod allocation;
mod fault;
pub mod window;

pub use allocation::{Allocation, Memory, MemoryError};
pub use fault::{Area, Attempt, AttemptKind, Fault, FaultKind, Place};
