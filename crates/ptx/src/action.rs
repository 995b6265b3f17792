//! What an instruction does: plain data.

use std::sync::Arc;

use super::instruction::{Address, Reg, Source, Space};
use super::op::Alu;

/// How a value lies in memory, and in which register it is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryType {
    /// Bytes in memory: 1, 2, 4 or 8.
    pub bytes: u32,
    /// Whether a load into a wider register extends its sign.
    pub signed: bool,
}

/// An atomic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum AtomicOp {
    Add,
    AddSingle,
    AddDouble,
    MinSigned,
    MinUnsigned,
    MaxSigned,
    MaxUnsigned,
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
    /// Up by one, to zero after the operand.
    Increment,
    /// Down by one, to the operand after zero.
    Decrement,
}

/// Where `shfl` takes a lane's value from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names are those of PTX
pub enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

/// What `vote` asks of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // the names are those of PTX
pub enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

/// A register that the hardware fills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are those of PTX
pub enum Special {
    ThreadIndex(u8),
    BlockDim(u8),
    BlockIndex(u8),
    GridDim(u8),
    LaneId,
    WarpId,
    WarpCount,
    SmId,
    SmCount,
    GridId,
    LaneMaskEqual,
    LaneMaskLess,
    LaneMaskLessEqual,
    LaneMaskGreater,
    LaneMaskGreaterEqual,
    Clock,
    ClockHigh,
    Clock64,
    GlobalTimer,
    GlobalTimerLow,
    GlobalTimerHigh,
    DynamicSharedBytes,
    TotalSharedBytes,
}

/// What an instruction does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Computes a register from others.
    Alu {
        /// What.
        op: Alu,
        /// Into which register.
        to: Reg,
        /// From what, as many as the operation's signature has.
        from: [Source; 4],
    },
    /// Takes the address of something, in its own space's terms or as a generic one.
    AddressOf {
        /// Into which register.
        to: Reg,
        /// Of what.
        address: Address,
        /// As a generic address.
        generic: bool,
    },
    /// Turns an address of a space into a generic one, or back.
    Convert {
        /// Into which register.
        to: Reg,
        /// The address.
        from: Source,
        /// The space.
        space: Space,
        /// From generic to the space's own.
        back: bool,
    },
    /// Reads a special register.
    ReadSpecial {
        /// Into which register.
        to: Reg,
        /// Which.
        special: Special,
    },
    /// Reads memory.
    Load {
        /// Where it looks.
        space: Space,
        /// Each element's type.
        kind: MemoryType,
        /// Elements go into these registers; `None` is thrown away.
        to: Vec<Option<Reg>>,
        /// From where.
        address: Address,
        /// Whether it must stay in order with other accesses (volatile, relaxed, acquire).
        ordered: bool,
    },
    /// Writes memory.
    Store {
        /// Where it goes.
        space: Space,
        /// Each element's type.
        kind: MemoryType,
        /// The elements.
        from: Vec<Source>,
        /// To where.
        address: Address,
    },
    /// Reads, changes and writes memory as one.
    Atomic {
        /// What it does.
        op: AtomicOp,
        /// Where.
        space: Space,
        /// Bytes: 2, 4 or 8.
        bytes: u32,
        /// The old value goes here.
        to: Option<Reg>,
        /// Where in it.
        address: Address,
        /// The operands: one, or compare and swap.
        from: [Source; 2],
    },
    /// Jumps.
    Branch {
        /// To this place in the code.
        to: u32,
    },
    /// Jumps to one of several.
    BranchIndexed {
        /// By this number.
        index: Source,
        /// To these places in the code; many jumps may share one list.
        to: Arc<[u32]>,
    },
    /// Calls a function.
    Call(Box<Call>),
    /// Returns from the function, or ends the thread in a kernel.
    Return,
    /// Ends the thread.
    Exit,
    /// Ends the launch with an error.
    Trap,
    /// Waits for the block's threads.
    Barrier {
        /// Which barrier.
        id: Source,
        /// Threads that take part, if not all.
        count: Option<Source>,
        /// What comes back, with the predicate that is asked for.
        reduce: Option<Reduce>,
        /// Whether it only arrives and does not wait.
        arrive: bool,
    },
    /// Waits for the warp's threads.
    WarpBarrier {
        /// Lanes that take part.
        members: Source,
    },
    /// Exchanges values within a warp.
    Shuffle {
        /// How the source lane is found.
        mode: Shuffle,
        /// The value goes here.
        to: Reg,
        /// Whether the source lane was in range.
        valid: Option<Reg>,
        /// Value, lane or distance, clamp and segment, lanes that take part.
        from: [Source; 4],
    },
    /// Asks a warp.
    Vote {
        /// What.
        mode: Vote,
        /// The answer goes here.
        to: Reg,
        /// The predicate.
        predicate: Source,
        /// Whether it is turned round.
        negated: bool,
        /// Lanes that take part.
        members: Source,
    },
    /// The warp's active lanes.
    ActiveMask {
        /// Into which register.
        to: Reg,
    },
    /// Orders memory, which is in order anyway.
    Fence,
    /// `griddepcontrol.launch_dependents`.
    Trigger,
    /// `griddepcontrol.wait`.
    Wait,
}

/// A barrier's question to the block.
#[derive(Clone, Debug, PartialEq)]
pub struct Reduce {
    /// `None` counts; else whether any or all hold.
    pub mode: Option<Vote>,
    /// The answer goes here.
    pub to: Reg,
    /// The predicate.
    pub predicate: Source,
    /// Whether it is turned round.
    pub negated: bool,
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The function, or a register that points to it.
    pub callee: Result<u32, Reg>,
    /// Where the returned values go: declared variables, by number.
    pub returns: Vec<u32>,
    /// The arguments: declared variables, by number.
    pub arguments: Vec<u32>,
    /// The shape of all variables declared for this call.
    pub layout: CallLayout,
}

/// Sizes of what is passed and returned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallLayout {
    /// Returned values: bytes and alignment.
    pub returns: Vec<(u32, u32)>,
    /// Arguments: bytes and alignment.
    pub arguments: Vec<(u32, u32)>,
}
