//! What fits on a multiprocessor: threads, blocks, registers, shared memory.

use crate::card::{Sm, WARP};

/// Registers are given to a warp in portions of so many (NVIDIA's occupancy calculator, all cards since 3.0).
const REGISTER_UNIT: u32 = 256;
/// Shared memory is given in portions of so many bytes (guide: 128 since compute capability 8.0, 256 before; the
/// coarser one errs by less than a block on none of the lab's kernels).
const SHARED_UNIT: u32 = 128;

/// What one block of a launch takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Threads.
    pub threads: u32,
    /// Registers of each thread.
    pub registers_per_thread: u32,
    /// Shared memory, static and dynamic, bytes.
    pub shared_bytes: u32,
}

impl Footprint {
    /// Warps of a block.
    pub fn warps(&self) -> u32 {
        self.threads.div_ceil(WARP)
    }

    /// Registers of a block, as they are given out.
    pub fn registers(&self) -> u32 {
        (self.registers_per_thread.max(1) * WARP).next_multiple_of(REGISTER_UNIT) * self.warps()
    }

    /// What a block takes of a multiprocessor.
    pub fn room(&self, sm: &Sm) -> Room {
        Room {
            blocks: 1,
            threads: self.warps() * WARP,
            registers: self.registers(),
            shared_bytes: (self.shared_bytes + sm.shared_bytes_reserved).next_multiple_of(SHARED_UNIT),
        }
    }

    /// How many blocks can be resident on an otherwise empty multiprocessor.
    pub fn blocks_per_sm(&self, sm: &Sm) -> u32 {
        let (all, one) = (Room::of(sm), self.room(sm));
        (all.blocks)
            .min(all.threads / one.threads.max(1))
            .min(all.registers / one.registers.max(1))
            .min(all.shared_bytes.checked_div(one.shared_bytes).unwrap_or(u32::MAX))
    }
}

/// What is free on a multiprocessor, or what a block takes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    blocks: u32,
    threads: u32,
    registers: u32,
    shared_bytes: u32,
}

impl Room {
    /// All that a multiprocessor has.
    pub fn of(sm: &Sm) -> Self {
        Room {
            blocks: sm.blocks,
            threads: sm.threads,
            registers: sm.registers,
            shared_bytes: sm.shared_bytes,
        }
    }

    /// Threads that are free.
    pub fn threads(&self) -> u32 {
        self.threads
    }

    /// Whether there is room for a block that takes `one`.
    pub fn fits(&self, one: &Room) -> bool {
        one.blocks <= self.blocks
            && one.threads <= self.threads
            && one.registers <= self.registers
            && one.shared_bytes <= self.shared_bytes
    }

    /// Takes the part of a block that fits.
    pub fn take(&mut self, one: &Room) {
        self.blocks -= one.blocks;
        self.threads -= one.threads;
        self.registers -= one.registers;
        self.shared_bytes -= one.shared_bytes;
    }

    /// Gives a block's part back.
    pub fn give(&mut self, one: &Room) {
        self.blocks += one.blocks;
        self.threads += one.threads;
        self.registers += one.registers;
        self.shared_bytes += one.shared_bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::{H200, T4};

    #[track_caller]
    fn check(sm: &Sm, threads: u32, registers_per_thread: u32, shared_bytes: u32, blocks: u32) {
        let block = Footprint { threads, registers_per_thread, shared_bytes };
        assert_eq!(block.blocks_per_sm(sm), blocks);
        let mut room = Room::of(sm);
        let one = block.room(sm);
        for _ in 0..blocks {
            assert!(room.fits(&one));
            room.take(&one);
        }
        assert!(!room.fits(&one));
        (0..blocks).for_each(|_| room.give(&one));
        assert_eq!(room, Room::of(sm));
    }

    #[test]
    fn each_limit_binds_and_what_was_taken_is_given_back() {
        check(&H200.sm, 256, 16, 0, 8);
        check(&H200.sm, 32, 16, 0, 32);
        check(&H200.sm, 33, 16, 0, 32);
        check(&H200.sm, 1024, 64, 0, 1);
        check(&H200.sm, 256, 128, 0, 2);
        // With the kilobyte that the system takes: 228 / 49.
        check(&H200.sm, 64, 16, 48 << 10, 4);
        check(&H200.sm, 64, 16, 227 << 10, 1);
        check(&T4.sm, 256, 16, 0, 4);
        check(&T4.sm, 64, 16, 64 << 10, 1);
    }
}
