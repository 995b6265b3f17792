//! How many blocks fit on a multiprocessor.

use super::module::{Function, max_threads};
use super::{Answer, Driver};
use crate::card::WARP;
use crate::clock::Footprint;
use cuda_driver::CuResult;

impl Driver {
    fn footprint(function: &Function, threads: u32, dynamic_shared: u64) -> Answer<Footprint> {
        let dynamic = u32::try_from(dynamic_shared).map_err(|_| CuResult::INVALID_VALUE)?;
        Ok(Footprint {
            threads,
            registers_per_thread: function.kernel.registers(),
            shared_bytes: function.kernel.shared_bytes().saturating_add(dynamic),
        })
    }

    /// `cuOccupancyMaxActiveBlocksPerMultiprocessor`.
    ///
    /// # Errors
    ///
    /// `INVALID_HANDLE`; `INVALID_VALUE` for no threads.
    pub fn blocks_per_multiprocessor(&mut self, handle: usize, threads: i32, shared: u64) -> Answer<u32> {
        self.context()?;
        let function = self.functions.get(handle)?;
        let threads = u32::try_from(threads).ok().filter(|&threads| threads > 0);
        let threads = threads.ok_or(CuResult::INVALID_VALUE)?;
        if threads > max_threads(self.card(), &function.kernel) {
            return Ok(0);
        }
        Ok(Self::footprint(function, threads, shared)?.blocks_per_sm(&self.card().sm))
    }

    /// `cuOccupancyMaxPotentialBlockSize`: the blocks that fill the card, and the threads of a block that let most threads
    /// be resident; of several the most. `shared` says what a block of so many threads needs; a `limit` of 0 is none.
    ///
    /// # Errors
    ///
    /// `INVALID_HANDLE`.
    pub fn best_block(
        &mut self,
        handle: usize,
        shared: impl Fn(u32) -> u64,
        limit: u32,
    ) -> Answer<(u32, u32)> {
        self.context()?;
        let most = max_threads(self.card(), &self.functions.get(handle)?.kernel);
        let most = if limit == 0 { most } else { most.min(limit) };
        let mut best = (0, 0, 0);
        for threads in (WARP..=most.max(WARP)).step_by(WARP as usize) {
            let threads = threads.min(most);
            let blocks = self.blocks_per_multiprocessor(handle, threads as i32, shared(threads))?;
            best = best.max((blocks * threads, threads, blocks));
        }
        Ok((best.2 * self.card().sms, best.1))
    }

    /// `cuOccupancyAvailableDynamicSMemPerBlock`: dynamic shared memory that lets so many blocks be resident.
    ///
    /// # Errors
    ///
    /// `INVALID_HANDLE`; `INVALID_VALUE` when so many are never resident.
    pub fn shared_for_blocks(&mut self, handle: usize, blocks: i32, threads: i32) -> Answer<u64> {
        let blocks =
            u32::try_from(blocks).ok().filter(|&blocks| blocks > 0).ok_or(CuResult::INVALID_VALUE)?;
        if self.blocks_per_multiprocessor(handle, threads, 0)? < blocks {
            return Err(CuResult::INVALID_VALUE);
        }
        let sm = &self.card().sm;
        let function = self.functions.get(handle)?;
        let each = (sm.shared_bytes / blocks / 128 * 128).saturating_sub(sm.shared_bytes_reserved);
        let each = each.min(sm.shared_bytes_per_block_optin);
        Ok(u64::from(each.saturating_sub(function.kernel.shared_bytes())))
    }
}
