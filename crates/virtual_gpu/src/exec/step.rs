//! A kernel in the form that is executed: steps whose operands are places in the register files.

use ptx::op::{Alu, Kind};
use ptx::{AtomicOp, CallLayout, MemoryType, Shuffle, Space, Special, Vote};

/// Where a register lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// A row that only one block of the code uses, so that lanes elsewhere need nothing of it.
    Temporary(Kind, u32),
    /// A row of the function's frame.
    Frame(Kind, u32),
    /// One value for all lanes of a group.
    Scalar(u32),
}

/// A value that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    At(Place),
    Bits(u64),
}

/// An address that a step uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At {
    pub base: Value,
    /// The base has 32 bits.
    pub narrow: bool,
    pub offset: i64,
    /// The function's own part of local memory is counted from.
    pub in_frame: bool,
}

/// One decoded instruction.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub what: What,
    /// The lanes it is done for: a predicate, and whether it must not hold.
    pub guard: Option<(Value, bool)>,
    pub line: u32,
}

/// What a step does.
#[derive(Clone, Debug)]
pub(super) enum What {
    /// An operation, on scalars if the result is one.
    Alu {
        op: Alu,
        to: Place,
        from: [Value; 4],
    },
    /// The same operation many times, each result an operand of the next, the other operands unchanged.
    Chain {
        op: Alu,
        to: Place,
        from: [Value; 4],
        through: usize,
        count: u32,
    },
    /// An address in the function's part of local memory.
    LocalAddress {
        to: Place,
        offset: u64,
        generic: bool,
    },
    /// Part of the kernel's parameters.
    Parameter {
        to: Place,
        kind: MemoryType,
        offset: u32,
    },
    /// A special register that does not change.
    Special {
        to: Place,
        special: Special,
    },
    /// A special register that shows the clock.
    Clock {
        to: Place,
        special: Special,
    },
    Load {
        space: Space,
        kind: MemoryType,
        to: Vec<Option<Place>>,
        at: At,
    },
    Store {
        space: Space,
        kind: MemoryType,
        from: Vec<Value>,
        at: At,
    },
    Atomic {
        op: AtomicOp,
        space: Space,
        bytes: u32,
        to: Option<Place>,
        at: At,
        from: [Value; 2],
    },
    Barrier {
        id: Value,
        count: Option<Value>,
        reduce: Option<Reduce>,
        arrive: bool,
    },
    WarpBarrier {
        members: Value,
    },
    Shuffle {
        mode: Shuffle,
        to: Place,
        valid: Option<Place>,
        from: [Value; 4],
    },
    Vote {
        mode: Vote,
        to: Place,
        predicate: Value,
        negated: bool,
        members: Value,
    },
    ActiveMask {
        to: Place,
    },
    Fence,
    Trigger,
    Wait,
}

/// A barrier's question.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduce {
    pub mode: Option<Vote>,
    pub to: Place,
    pub predicate: Value,
    pub negated: bool,
}

/// What ends a block.
#[derive(Clone, Debug)]
pub(super) enum End {
    Jump(u32),
    Branch { predicate: Value, negated: bool, to: u32, other: u32 },
    Index { index: Value, to: Vec<u32> },
    Call { callee: Result<u32, Value>, layout: CallLayout, next: u32 },
    Return,
    Exit,
    Trap,
}

/// What running a block as far as a step has cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub instructions: u32,
    pub issue: u32,
    /// The longest chain of dependent instructions since the last stop.
    pub cycles: u32,
}

/// Accesses that need nothing of each other, and are made at one point of order.
#[derive(Clone, Debug, Default)]
pub(super) struct AccessGroup {
    /// The registers that this step loads.
    pub brings: Vec<u32>,
    /// The step after the last of the group; 0 when this one is no access.
    pub end: u32,
}

/// A basic block.
#[derive(Debug)]
pub(super) struct Block {
    pub steps: Vec<Step>,
    pub end: End,
    /// The line of the end.
    pub line: u32,
    /// Scalars that are needed at its beginning: lane groups join when they agree on these.
    pub scalars: Vec<u32>,
    /// The registers that each step reads, sorted; the end is the step after the last.
    pub reads: Vec<(u32, u32)>,
    /// For each step the registers that it loads from device memory, and for an access the step after the last of those
    /// that are made together with it.
    pub accesses: Vec<AccessGroup>,
    /// What has been spent before each step; after the end is one more.
    pub tallies: Vec<Tally>,
}

/// A function.
#[derive(Debug)]
pub(super) struct Code {
    pub name: String,
    /// It is `core`'s and never returns: calling it is a panic.
    pub panics: bool,
    pub blocks: Vec<Block>,
    /// Rows of a frame: words (halves too), doubles, predicates.
    pub rows: [u32; 3],
    /// Rows that are shared by all frames.
    pub temporaries: [u32; 3],
    pub scalars: u32,
    /// Bytes of local memory: returned values and parameters, then variables.
    pub local_bytes: u64,
    /// The same with what it passes to the functions it calls.
    pub local_reach: u64,
    /// Sizes of what is returned and taken.
    pub layout: CallLayout,
}

/// The file that holds registers of a kind.
pub(super) fn file(kind: Kind) -> usize {
    match kind {
        Kind::Half | Kind::Word => 0,
        Kind::Double => 1,
        Kind::Predicate => 2,
    }
}

/// Everything passed lies on a multiple of this: caller and function find it without agreeing on more than sizes.
const PASSED: u64 = 16;

/// Where returned values and then arguments lie, and where they end.
pub(super) fn offsets(layout: &CallLayout) -> (Vec<u64>, u64) {
    let mut end = 0;
    let places = layout.returns.iter().chain(&layout.arguments).map(|(bytes, _)| {
        let place = end;
        end += u64::from(*bytes).next_multiple_of(PASSED);
        place
    });
    (places.collect(), end)
}

/// Whether a caller and a function mean the same.
pub(super) fn agree(a: &CallLayout, b: &CallLayout) -> bool {
    let sizes = |list: &[(u32, u32)]| list.iter().map(|(bytes, _)| *bytes).collect::<Vec<_>>();
    sizes(&a.returns) == sizes(&b.returns) && sizes(&a.arguments) == sizes(&b.arguments)
}
