//! Which operations of a CUDA program are not ordered and should be.
//!
//! Two operations that touch the same bytes, one of them writing, need a path of edges from one to the other: through
//! their stream, an event's record and wait, the legacy default stream's barrier, or a wait of the host. Without one they
//! may run in either order or at once, every call succeeds all the same, and the result may even be right. [`check()`] reads
//! what was submitted ([`program`]) and says where an edge is missing, why, and what to do.
//!
//! Which mistakes it can make. Within its model it misses none: with an edge put in for each finding no two conflicting
//! operations are unordered. It never reports two operations that are ordered by the rules that CUDA documents. The cause
//! that it names is the most likely one, and a guess. The model ends where the input does: a kernel does to its buffers
//! what its launch says, to all of those bytes; host threads order each other by [`HandOver`](program::Action::HandOver)
//! alone; what CUDA happens to order and does not document is not ordered.
//!
//! What is no conflict is no finding: a kernel that is launched to start early and never waits is reported where it or a
//! later one touches what an earlier one does, and not for the attribute alone.
//!
//! It cannot fail. Any program has an answer: what is not declared is taken as the kind with the most order, an event that
//! was destroyed stands for nothing, empty and reversed ranges are no bytes.
//!
//! Cost: operations times lanes (streams and host threads), times the pieces that the accesses cut a buffer into; a write
//! that follows everything makes the buffer one piece again. Memory: a clock of one number for each lane for each lane,
//! event and finding.

mod arrows;
mod check;
mod clock;
mod edges;
mod explain;
mod index;
mod needless;
mod path;
pub mod program;
mod ranges;
mod words;

pub use arrows::{Arrow, arrows};
pub use check::{Clash, Race, races};
pub use explain::{Cause, Finding};
pub use needless::{Needless, needless};
pub use path::{CriticalPath, critical_path, predecessors};

use program::Program;

/// Every missing edge of the program, once per cause, in the order in which the program runs into them. Empty when all
/// that conflicts is ordered.
pub fn check(program: &Program) -> Vec<Finding> {
    explain::explain(program, races(program))
}
