//! What the clock knows of a running block, and no more: [`BlockProgram`].
//!
//! A block computes on its own until it reaches a point of order: something that others can see, or that sees others.
//! The clock decides when that happens in virtual time, and calls [`BlockProgram::access`] then. What is measured here
//! is counted in instructions and cycles; nanoseconds are the clock's.

use crate::memory::{Fault, Memory};

/// A block that is running. [`exec::BlockRun`](crate::exec::BlockRun) is one; the clock's tests make up others.
///
/// The protocol: `compute`, then as [`Segment::next`] says, and again, until it says [`Next::Finished`] or
/// [`Next::Fault`]. The same calls in the same order give the same results, whatever thread makes them.
pub trait BlockProgram: Send {
    /// Runs instructions that touch nothing outside the block (registers, local and shared memory, the block's
    /// barriers) until the next point of order. Device memory is neither read nor written: several blocks may compute
    /// at once.
    fn compute(&mut self) -> Segment;

    /// Does what `compute` stopped at when it said [`Next::Access`], and returns what was touched, one entry for each
    /// instruction. To be called in the order of virtual time, one block at a time over the whole card.
    ///
    /// # Errors
    /// The access that the hardware would refuse; the block must not be called again.
    fn access(&mut self, memory: &mut Memory, now: Now) -> Result<&[Touch], Box<Fault>>;
}

/// One stretch of computing, and what ends it.
#[derive(Debug)]
pub struct Segment {
    /// Instructions issued, each counted once for each warp that took part.
    pub warp_instructions: u64,
    /// Cycles in which a scheduler's port was busy with them, summed over all warps: with four schedulers, a block that
    /// has the multiprocessor to itself is not faster than a quarter of this.
    pub issue_cycles: u64,
    /// The longest chain of dependent instructions, in cycles: no warp is faster than this, however idle the machine.
    pub dependent_cycles: u64,
    /// What comes after it.
    pub next: Next,
}

/// What a block needs before it can go on computing.
#[derive(Debug)]
pub enum Next {
    /// [`BlockProgram::access`], at a time of the clock's choice. Loads are in flight afterwards: the block can compute
    /// on before they arrive, and says [`Next::Await`] where it needs them.
    Access,
    /// The data of every load made so far.
    Await,
    /// Nothing: the block has computed for long enough for others to be looked at.
    Yield,
    /// `griddepcontrol.launch_dependents`: note it, the block goes on.
    Trigger,
    /// `griddepcontrol.wait`: the block goes on when what it depends on is complete.
    Wait,
    /// The block has ended.
    Finished,
    /// The block has ended, and the launch with it.
    Fault(Box<Fault>),
}

/// What the clock shows at an access; read by `%globaltimer`, `%clock` and `%clock64`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// Nanoseconds since the card was opened, in the step that the card's timer has.
    pub ns: u64,
    /// Cycles of the multiprocessor's clock.
    pub cycles: u64,
}

/// One instruction's access to device memory, over all lanes that took part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touch {
    /// What was done.
    pub kind: TouchKind,
    /// Sectors of 32 bytes that had to be moved, counted warp by warp: neighbours that share a sector move it once.
    pub sectors: u32,
    /// The lowest address.
    pub start: u64,
    /// One past the highest address.
    pub end: u64,
}

/// The kinds of access that cost differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TouchKind {
    /// A load: the block goes on, and waits at the first use.
    Load,
    /// A store: the block does not wait for it.
    Store,
    /// An atomic operation, which comes back with the old value like a load.
    Atomic,
    /// No memory at all: a clock was read, a fence was passed, or every lane stayed in shared or local memory.
    None,
}

/// What an instruction costs depends on its class and the card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Class {
    /// 32-bit and 16-bit integer and logic, moves, comparisons, selections, predicates.
    Integer,
    /// 32-bit integer multiplication and multiply-add.
    Multiply,
    /// 64-bit integer addition, shifts, logic and comparisons (each a few 32-bit instructions).
    Integer64,
    /// 64-bit integer multiplication.
    Multiply64,
    /// Single precision addition, multiplication, fused multiply-add, minimum.
    Single,
    /// Double precision addition, multiplication, fused multiply-add, minimum.
    Double,
    /// Conversions between types, population count, leading zeros, bit reversal.
    Convert,
    /// Single precision division and square root, rounded correctly: a subroutine.
    SingleDivision,
    /// Double precision division and square root.
    DoubleDivision,
    /// 32-bit (and narrower) integer division and remainder: a subroutine.
    Division,
    /// 64-bit integer division and remainder.
    Division64,
    /// Loads, stores and atomics in shared memory.
    Shared,
    /// Loads and stores in local memory, and arguments of functions that were not inlined.
    Local,
    /// Issue of an access to device memory; its latency is the clock's business.
    Global,
    /// Exchanges within a warp: shuffle, vote.
    Warp,
    /// The block's barrier.
    Barrier,
    /// Branches, calls and returns. As a latency: from the condition to the next instruction.
    Branch,
    /// Reading a special register.
    Special,
}

impl Class {
    /// Every class, in the order of their numbers.
    pub const ALL: [Self; 18] = [
        Self::Integer,
        Self::Multiply,
        Self::Integer64,
        Self::Multiply64,
        Self::Single,
        Self::Double,
        Self::Convert,
        Self::SingleDivision,
        Self::DoubleDivision,
        Self::Division,
        Self::Division64,
        Self::Shared,
        Self::Local,
        Self::Global,
        Self::Warp,
        Self::Barrier,
        Self::Branch,
        Self::Special,
    ];
}

/// What one warp's instruction of a class costs, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// How long it occupies its scheduler's port.
    pub issue: u32,
    /// From its issue to that of an instruction that needs its result.
    pub latency: u32,
}

/// The costs of all classes on one card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostTable([Cost; Class::ALL.len()]);

impl CostTable {
    /// Asks once for each class.
    pub fn new(cost: impl FnMut(Class) -> Cost) -> Self {
        Self(Class::ALL.map(cost))
    }

    /// The cost of one class.
    pub fn of(&self, class: Class) -> Cost {
        self.0[class as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_finds_its_own_cost() {
        let table = CostTable::new(|class| Cost { issue: class as u32, latency: 100 + class as u32 });
        for class in Class::ALL {
            assert_eq!(table.of(class), Cost { issue: class as u32, latency: 100 + class as u32 });
        }
    }
}
