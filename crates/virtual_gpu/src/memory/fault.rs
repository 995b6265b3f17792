//! What ends a launch: the fault, who caused it, and the driver error that reports it.

use std::fmt;

/// A launch that the hardware would have stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// The kernel's name.
    pub kernel: String,
    /// The block's index in the grid.
    pub block: [u32; 3],
    /// The thread's index in the block: the lowest of those that faulted together.
    pub thread: [u32; 3],
    /// The line of the PTX, counted from 1.
    pub line: u32,
}

/// What a thread did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An access outside every allocation, shared memory or local memory.
    OutOfBounds {
        /// What was attempted.
        attempt: Attempt,
        /// What lies there or near.
        place: Place,
    },
    /// An address that is not a multiple of the access's width.
    Misaligned {
        /// What was attempted.
        attempt: Attempt,
        /// What lies there or near.
        place: Place,
    },
    /// A store to what may only be read.
    ReadOnly {
        /// What was attempted.
        attempt: Attempt,
    },
    /// `trap` was executed.
    Trap,
    /// A Rust panic: `core`'s panic function was called.
    Panic {
        /// What is known of it: the function called, its numbers, the place in the source.
        message: String,
    },
    /// A call through a pointer to what is no function, or takes other arguments.
    BadCall {
        /// The pointer's value.
        pointer: u64,
    },
    /// The stack of calls grew beyond what a thread may have.
    StackOverflow {
        /// Bytes of local memory that the thread would have needed.
        bytes: u64,
    },
    /// Threads wait at a barrier that others of their block can never reach, or a warp's exchange names lanes that do
    /// not take part.
    Deadlock {
        /// What they wait at.
        waiting: String,
    },
    /// The kernel executed more steps than a launch may have.
    Budget {
        /// Steps allowed for a block.
        steps: u64,
    },
}

/// An access as it was attempted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// What was to be done.
    pub kind: AttemptKind,
    /// Bytes, for all elements of a vector access together.
    pub bytes: u32,
    /// Where.
    pub address: u64,
}

/// The kinds of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptKind {
    /// A load.
    Load,
    /// A store.
    Store,
    /// An atomic operation.
    Atomic,
}

/// What lies at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Inside an allocation that was freed and not given out again.
    Freed(Area),
    /// In a live allocation (misaligned), or across its end.
    Inside(Area),
    /// After the end of the nearest live allocation.
    After(Area),
    /// Before the start of the nearest live allocation.
    Before(Area),
    /// The block's shared memory of so many bytes.
    Shared(u64),
    /// The thread's local memory of so many bytes.
    Local(u64),
    /// The launch's parameters of so many bytes.
    Parameters(u64),
    /// Nothing was ever allocated.
    Nowhere,
}

/// An allocation, as a fault names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Area {
    /// What it is: the number of the allocation, or the variable's name.
    pub name: String,
    /// First address.
    pub start: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Fault {
    /// The driver's error: 700 illegal address, 702 time-out, 715 illegal instruction, 716 misaligned address, 719
    /// launch failure.
    pub fn code(&self) -> u32 {
        match self.kind {
            FaultKind::OutOfBounds { .. } | FaultKind::ReadOnly { .. } | FaultKind::StackOverflow { .. } => {
                700
            }
            FaultKind::Budget { .. } => 702,
            FaultKind::BadCall { .. } => 715,
            FaultKind::Misaligned { .. } => 716,
            FaultKind::Trap | FaultKind::Panic { .. } | FaultKind::Deadlock { .. } => 719,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [bx, by, bz] = self.block;
        let [tx, ty, tz] = self.thread;
        let place = format_args!(
            "kernel {}, block ({bx},{by},{bz}), thread ({tx},{ty},{tz}), PTX line {}",
            self.kernel, self.line
        );
        match &self.kind {
            FaultKind::OutOfBounds { attempt, place: near } => {
                write!(f, "{attempt} is out of bounds: {place}; {near}")
            }
            FaultKind::Misaligned { attempt, place: near } => {
                write!(f, "{attempt} is not aligned to its width: {place}; {near}")
            }
            FaultKind::ReadOnly { attempt } => {
                write!(
                    f,
                    "{attempt} goes to read-only memory: {place}; parameters and constants cannot be written"
                )
            }
            FaultKind::Trap => write!(f, "trap: {place}; the kernel stopped itself"),
            FaultKind::Panic { message } => write!(f, "Rust panic: {place}; {message}"),
            FaultKind::BadCall { pointer } => {
                write!(
                    f,
                    "call of 0x{pointer:x}, which is no function of that kind: {place}; check the pointer"
                )
            }
            FaultKind::StackOverflow { bytes } => write!(
                f,
                "stack overflow, {bytes} bytes of local memory for a thread: {place}; recurse less deeply or use \
                 smaller arrays"
            ),
            FaultKind::Deadlock { waiting } => {
                write!(f, "deadlock: {place}; {waiting}")
            }
            FaultKind::Budget { steps } => write!(
                f,
                "the kernel does not end: {place}; a block may execute {steps} steps, look for a loop that never ends"
            ),
        }
    }
}

impl std::error::Error for Fault {}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            AttemptKind::Load => "load",
            AttemptKind::Store => "store",
            AttemptKind::Atomic => "atomic operation",
        };
        write!(f, "{kind} of {} bytes at 0x{:x}", self.bytes, self.address)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Freed(area) => write!(f, "it was freed: {area}"),
            Self::Inside(area) => write!(f, "it begins inside {area}"),
            Self::After(area) => write!(f, "the nearest is {area}, which ends before it"),
            Self::Before(area) => write!(f, "the nearest is {area}, which begins after it"),
            Self::Shared(bytes) => write!(f, "the block has {bytes} bytes of shared memory"),
            Self::Local(bytes) => write!(f, "the thread has {bytes} bytes of local memory"),
            Self::Parameters(bytes) => write!(f, "the launch has {bytes} bytes of parameters"),
            Self::Nowhere => write!(f, "nothing is allocated"),
        }
    }
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (0x{:x}, {} bytes)", self.name, self.start, self.bytes)
    }
}
