//! What a kernel's traced twin leaves behind: for each warp when it started, when it ended, and where it ran.
//!
//! `#[kernel]` makes every kernel twice: as itself, and as the twin `NAME_traced`, which takes one more parameter at the end,
//! the address of [`WORDS`] words of 64 bits for each warp of the grid. What is timed is never the twin.
//! `#[kernel(untraced)]` leaves it out.
//!
//! Record `block * warps of a block + warp` holds the warp's first reading of [`global_timer`](crate::sense::global_timer),
//! its last one, and its multiprocessor. Blocks and threads count along x first, then y, then z.
//!
//! What is no kernel, as a copy, is timed from outside: by [`streamlab_timestamp()`] before and behind it on its stream.
//!
//! Source: PTX ISA, "Special Registers" (`%globaltimer`, `%smid`), "Parallel Synchronization and Communication
//! Instructions: bar.warp.sync".

mod timer;

#[cfg(not(target_arch = "nvptx64"))]
use crate::abi::Kernel;
pub use timer::{streamlab_read_timer, streamlab_timestamp};

/// The kernels of this library, which every module compiled with it has beside its own.
#[cfg(not(target_arch = "nvptx64"))]
pub const KERNELS: &[&Kernel] = &[streamlab_read_timer::KERNEL, streamlab_timestamp::KERNEL];

/// Threads of a warp.
pub const WARP: u32 = 32;

/// Words of a record: start and end in nanoseconds, and the multiprocessor.
pub const WORDS: usize = 3;

/// What a traced twin adds to its kernel's name.
pub const SUFFIX: &str = "_traced";

/// Returns how many records a launch has: one for each warp.
pub fn records(grid: (u32, u32, u32), block: (u32, u32, u32)) -> usize {
    let count = |(x, y, z): (u32, u32, u32)| x as usize * y as usize * z as usize;
    count(grid).saturating_mul(count(block).div_ceil(WARP as usize))
}

/// Notes that this warp starts. The code that `#[kernel]` writes calls it.
///
/// # Safety
///
/// `records` is the address of at least as many records as the launch has warps, and nothing but the launch's own warps
/// touches them until it is done.
#[cfg(target_arch = "nvptx64")]
#[doc(hidden)]
#[inline(always)]
pub unsafe fn begin(records: *mut u64) {
    if let Some(record) = own(records) {
        // SAFETY: there are at least as many records as the launch has warps, so the one with this warp's number is among
        // them; no other warp has that number, and one lane of the warp writes it.
        unsafe {
            record.write(crate::sense::global_timer());
            record.add(2).write(u64::from(crate::sense::sm_id()));
        }
    }
}

/// Notes that this warp has ended: after the last of its lanes.
///
/// # Safety
///
/// `records` is what [`begin`] was given.
#[cfg(target_arch = "nvptx64")]
#[doc(hidden)]
#[inline(always)]
pub unsafe fn end(records: *mut u64) {
    // SAFETY: all lanes of the warp come here, or have left the kernel for good; those are not waited for.
    unsafe { core::arch::asm!("bar.warp.sync 0xffffffff;", options(nostack, preserves_flags)) };
    if let Some(record) = own(records) {
        // SAFETY: there are at least as many records as the launch has warps, and this one is this warp's alone.
        unsafe { record.add(1).write(crate::sense::global_timer()) };
    }
}

/// Returns the address of this warp's record in its first lane, and nothing in the others.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
fn own(records: *mut u64) -> Option<*mut u64> {
    use crate::thread::{self, Dim3};

    let linear = |index: Dim3, dim: Dim3| (index.z * dim.y + index.y) * dim.x + index.x;
    let (block, grid) = (thread::block(), thread::grid());
    let thread = linear(thread::index(), block.dim);
    let warps = (block.dim.x * block.dim.y * block.dim.z).div_ceil(WARP);
    let record = linear(block.index, grid.dim) as usize * warps as usize + (thread / WARP) as usize;
    thread.is_multiple_of(WARP).then(|| records.wrapping_add(record * WORDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `cuda_builder` knows them by this prefix when it looks for a crate's own kernels.
    #[test]
    fn the_librarys_kernels_have_a_prefix_and_no_twins() {
        for kernel in KERNELS {
            assert!(kernel.name.starts_with("streamlab_"), "{}", kernel.name);
            assert_eq!((kernel.traced_name, kernel.is_unsafe), ("", false), "{}", kernel.name);
        }
    }

    #[test]
    fn a_kernel_without_a_twin_stays_itself_in_a_traced_run() {
        let call = crate::call::Call::new(streamlab_timestamp::KERNEL).traced(8);
        assert_eq!((call.entry(), call.slots()), ("streamlab_timestamp", &[][..]));
    }

    #[test]
    fn every_warp_has_a_record_and_a_part_of_a_warp_is_one() {
        for (grid, block, warps) in [
            ((8, 1, 1), (256, 1, 1), 64),
            ((1, 1, 1), (1, 1, 1), 1),
            ((3, 2, 1), (33, 1, 1), 12),
            ((2, 1, 1), (8, 8, 2), 8),
            ((0, 1, 1), (32, 1, 1), 0),
        ] {
            assert_eq!(records(grid, block), warps, "{grid:?} {block:?}");
        }
    }
}
