//! A kernel with its grid and its arguments: what all blocks of one launch share.

use std::sync::Arc;

use super::lanes::{Chunk, WARP};
use super::program::Program;

/// Threads that a block may have.
pub const MAX_THREADS: u32 = 1024;

/// Instructions that a block may execute, counted once for all its lanes, unless the launch says otherwise: some tens
/// of seconds on the host.
pub const DEFAULT_BUDGET: u64 = 1 << 33;

/// A kernel and everything that its blocks have in common.
#[derive(Debug)]
pub struct Launch {
    pub(super) program: Arc<Program>,
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) parameters: Vec<u8>,
    pub(super) shared_bytes: u64,
    pub(super) dynamic_shared: u32,
    pub(super) budget: u64,
    /// Each thread's index in the three dimensions, warp by warp.
    pub(super) indices: [Vec<Chunk<u32>>; 3],
    /// For each warp the lanes that are threads.
    pub(super) threads: Vec<u32>,
}

/// Why a launch is none. The card's own limits, which may be lower, are the driver's business.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// A dimension is zero, or a block has more threads than any may have.
    #[error(
        "a block of {block:?} threads in a grid of {grid:?} cannot run: kernel {kernel}; each number is at least 1, and \
         a block has at most {MAX_THREADS} threads"
    )]
    Shape {
        /// The kernel.
        kernel: String,
        /// Blocks.
        grid: [u32; 3],
        /// Threads of a block.
        block: [u32; 3],
    },
    /// The arguments are not as long as the parameters.
    #[error(
        "{given} bytes of arguments where {wanted} belong: kernel {kernel}; pass one value for each parameter"
    )]
    Arguments {
        /// The kernel.
        kernel: String,
        /// Bytes given.
        given: usize,
        /// Bytes of the parameters.
        wanted: u32,
    },
}

/// Where a block runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seat {
    /// The multiprocessor (`%smid`).
    pub sm: u32,
    /// How many there are (`%nsmid`).
    pub sm_count: u32,
    /// The launch's number (`%gridid`).
    pub grid_id: u64,
}

impl Launch {
    /// Parameters are the bytes that [`Program::parameters`] describes; the dynamic shared memory is in bytes, and comes
    /// after the kernel's own.
    ///
    /// # Errors
    /// [`LaunchError`].
    pub fn new(
        program: Arc<Program>,
        grid: [u32; 3],
        block: [u32; 3],
        parameters: Vec<u8>,
        dynamic_shared: u32,
    ) -> Result<Self, LaunchError> {
        let kernel = program.name().to_owned();
        let threads = block.iter().try_fold(1_u32, |product, &n| product.checked_mul(n));
        let threads = threads.filter(|threads| (1..=MAX_THREADS).contains(threads));
        let (Some(threads), false) = (threads, grid.contains(&0)) else {
            return Err(LaunchError::Shape { kernel, grid, block });
        };
        if parameters.len() != program.parameter_bytes() as usize {
            let (given, wanted) = (parameters.len(), program.parameter_bytes());
            return Err(LaunchError::Arguments { kernel, given, wanted });
        }
        let warps = threads.div_ceil(WARP as u32);
        let index = |axis: usize| {
            let before: u32 = block[..axis].iter().product();
            let chunk = |warp: u32| {
                Chunk(std::array::from_fn(|lane| (warp * WARP as u32 + lane as u32) / before % block[axis]))
            };
            (0..warps).map(chunk).collect()
        };
        let full = |warp: u32| match threads - warp * WARP as u32 {
            left @ 1..32 => (1 << left) - 1,
            _ => u32::MAX,
        };
        Ok(Self {
            shared_bytes: program.shared_bytes() + u64::from(dynamic_shared),
            program,
            grid,
            block,
            parameters,
            dynamic_shared,
            budget: DEFAULT_BUDGET,
            indices: [index(0), index(1), index(2)],
            threads: (0..warps).map(full).collect(),
        })
    }

    /// The same with another number of instructions that each block may execute.
    #[must_use]
    pub fn with_budget(self, budget: u64) -> Self {
        Self { budget, ..self }
    }

    /// The kernel.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// Blocks in each dimension.
    pub fn grid(&self) -> [u32; 3] {
        self.grid
    }

    /// Threads of a block in each dimension.
    pub fn block(&self) -> [u32; 3] {
        self.block
    }

    /// Bytes of a block's shared memory, the kernel's own included.
    pub fn shared_bytes(&self) -> u64 {
        self.shared_bytes
    }

    /// Warps of a block.
    pub fn warps(&self) -> u32 {
        self.threads.len() as u32
    }
}
