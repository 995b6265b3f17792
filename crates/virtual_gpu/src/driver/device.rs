//! What the card says of itself.

use super::Answer;
use crate::card::{Card, WARP};
use cuda_driver::{CUdeviceAttribute as Ask, CuResult};

/// Threads of a block in all, and along each axis; blocks of a grid along each axis (guide, every compute capability).
pub const MAX_THREADS_PER_BLOCK: u32 = 1024;
/// See [`MAX_THREADS_PER_BLOCK`].
pub const MAX_BLOCK: [u32; 3] = [1024, 1024, 64];
/// See [`MAX_THREADS_PER_BLOCK`].
pub const MAX_GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];

/// The most urgent stream priority; the least urgent is 0. (Driver, for both cards.)
pub const GREATEST_PRIORITY: i32 = -5;

/// One attribute of the card.
///
/// # Errors
///
/// `INVALID_VALUE` for one that it does not know.
pub fn attribute(card: &Card, ask: Ask) -> Answer<i32> {
    let Card { sm, memory, .. } = card;
    let number = match ask {
        Ask::MAX_THREADS_PER_BLOCK => MAX_THREADS_PER_BLOCK,
        Ask::MAX_BLOCK_DIM_X => MAX_BLOCK[0],
        Ask::MAX_BLOCK_DIM_Y => MAX_BLOCK[1],
        Ask::MAX_BLOCK_DIM_Z => MAX_BLOCK[2],
        Ask::MAX_GRID_DIM_X => MAX_GRID[0],
        Ask::MAX_GRID_DIM_Y => MAX_GRID[1],
        Ask::MAX_GRID_DIM_Z => MAX_GRID[2],
        Ask::MAX_SHARED_MEMORY_PER_BLOCK => sm.shared_bytes_per_block,
        Ask::WARP_SIZE => WARP,
        Ask::MAX_REGISTERS_PER_BLOCK | Ask::MAX_REGISTERS_PER_MULTIPROCESSOR => sm.registers,
        Ask::CLOCK_RATE => sm.clock_mhz as u32 * 1000,
        Ask::MULTIPROCESSOR_COUNT => card.sms,
        Ask::KERNEL_EXEC_TIMEOUT | Ask::COMPUTE_MODE => 0,
        Ask::CONCURRENT_KERNELS | Ask::STREAM_PRIORITIES_SUPPORTED => 1,
        Ask::MEMORY_CLOCK_RATE => memory.clock_mhz * 1000,
        Ask::GLOBAL_MEMORY_BUS_WIDTH => memory.bus_bits,
        Ask::L2_CACHE_SIZE => memory.l2_bytes as u32,
        Ask::MAX_THREADS_PER_MULTIPROCESSOR => sm.threads,
        Ask::ASYNC_ENGINE_COUNT => card.bus.engines,
        Ask::COMPUTE_CAPABILITY_MAJOR => card.capability.0,
        Ask::COMPUTE_CAPABILITY_MINOR => card.capability.1,
        Ask::MAX_SHARED_MEMORY_PER_MULTIPROCESSOR => sm.shared_bytes,
        Ask::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN => sm.shared_bytes_per_block_optin,
        Ask::MAX_BLOCKS_PER_MULTIPROCESSOR => sm.blocks,
        _ => return Err(CuResult::INVALID_VALUE),
    };
    i32::try_from(number).map_err(|_| CuResult::INVALID_VALUE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::{H200, T4};

    #[test]
    fn each_card_says_what_its_file_says() {
        assert_eq!(attribute(&H200, Ask::MULTIPROCESSOR_COUNT), Ok(132));
        assert_eq!(attribute(&H200, Ask::MAX_GRID_DIM_X), Ok(2_147_483_647));
        assert_eq!(attribute(&T4, Ask::COMPUTE_CAPABILITY_MAJOR), Ok(7));
        assert_eq!(attribute(&T4, Ask::L2_CACHE_SIZE), Ok(4 << 20));
        assert_eq!(attribute(&T4, Ask(9999)), Err(CuResult::INVALID_VALUE));
    }
}
