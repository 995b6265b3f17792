//! Threads that work together: shared memory, barriers, atomics, shuffles.

use core::arch::asm;
use core::arch::nvptx::_syncthreads;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use cuda_std::{kernel, thread};

/// The sum of each block's elements, through shared memory; 256 threads a block.
#[kernel]
pub fn block_sum(input: &[f32], out: &mut [f32]) {
    let tile: *mut f32;
    // SAFETY: declares shared memory of the block and yields its generic address.
    unsafe {
        asm!(".shared .align 4 .b8 block_sum_tile[1024];", "cvta.shared.u64 {0}, block_sum_tile;", out(reg64) tile);
    }
    let (index, i) = (thread::index().x as usize, thread::index_1d());
    let mut width = thread::block().dim.x as usize / 2;
    // SAFETY: the tile has 256 elements, one for each thread; barriers separate writers from readers.
    unsafe {
        tile.add(index).write(if i < input.len() { input[i] } else { 0.0 });
        _syncthreads();
        while width > 0 {
            if index < width {
                *tile.add(index) += *tile.add(index + width);
            }
            _syncthreads();
            width /= 2;
        }
        if index == 0 {
            out[thread::block().index.x as usize] = *tile;
        }
    }
}

/// How often each byte occurs.
///
/// # Safety
///
/// `bins` has 256 elements, and is touched by atomic operations only.
#[kernel]
pub unsafe fn histogram(text: &[u8], bins: *mut u32) {
    for i in thread::grid_stride(text.len()) {
        // SAFETY: 256 bins, and only atomic operations touch them.
        let bin = unsafe { AtomicU32::from_ptr(bins.add(text[i] as usize)) };
        bin.fetch_add(1, Ordering::Relaxed);
    }
}

/// Every atomic operation whose result does not depend on the order.
///
/// # Safety
///
/// `cells` has 8 elements and `wide` 4, touched by atomic operations only.
#[kernel]
pub unsafe fn atomics(input: &[i32], cells: *mut i32, wide: *mut u64) {
    let i = thread::index_1d();
    if i >= input.len() {
        return;
    }
    let x = input[i];
    // SAFETY: eight cells and four wide cells, touched by atomic operations only.
    let (cell, wide) = unsafe {
        (|k: usize| AtomicI32::from_ptr(cells.add(k)), |k: usize| AtomicU64::from_ptr(wide.add(k)))
    };
    cell(0).fetch_max(x, Ordering::Relaxed);
    cell(1).fetch_min(x, Ordering::AcqRel);
    cell(2).fetch_and(x | 0xff, Ordering::Relaxed);
    cell(3).fetch_or(x & 0xff, Ordering::SeqCst);
    cell(4).fetch_xor(x, Ordering::Release);
    cell(5).fetch_sub(x, Ordering::Relaxed);
    // The largest by magnitude, with compare-and-swap.
    let mut seen = cell(6).load(Ordering::Relaxed);
    while (x.unsigned_abs(), x) > (seen.unsigned_abs(), seen) {
        match cell(6).compare_exchange(seen, x, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => break,
            Err(other) => seen = other,
        }
    }
    wide(0).fetch_add(x as u64, Ordering::Relaxed);
    wide(1).fetch_max(x as u32 as u64, Ordering::Relaxed);
    wide(2).fetch_xor((x as u64).rotate_left(17), Ordering::Relaxed);
    if i == 0 {
        wide(3).swap(x as u64, Ordering::Relaxed);
    }
}

/// Each warp's sum by shuffling, then who agrees with it.
#[kernel]
pub fn warp_sum(input: &[u32], out: &mut [u32]) {
    let i = thread::index_1d();
    let mut sum = if i < input.len() { input[i] } else { 0 };
    for distance in [16, 8, 4, 2, 1_u32] {
        let other: u32;
        // SAFETY: all threads of the warp arrive here.
        unsafe {
            asm!("shfl.sync.down.b32 {0}, {1}, {2}, 31, -1;", out(reg32) other, in(reg32) sum, in(reg32) distance)
        };
        sum = sum.wrapping_add(other);
    }
    let total: u32;
    let ballot: u32;
    // SAFETY: as above.
    unsafe {
        asm!("shfl.sync.idx.b32 {0}, {1}, 0, 31, -1;", out(reg32) total, in(reg32) sum);
        asm!("{{ .reg .pred p; setp.gt.u32 p, {1}, {2}; vote.sync.ballot.b32 {0}, p, -1; }}",
            out(reg32) ballot, in(reg32) sum, in(reg32) total / 2);
    }
    if i < out.len() {
        out[i] = total ^ ballot;
    }
}

/// A lock that the threads of a block take one after another: progress needs every thread to move on.
///
/// # Safety
///
/// `lock` and `counter` are a word each.
#[kernel]
pub unsafe fn spin_lock(lock: *mut u32, counter: *mut u32, rounds: u32) {
    // SAFETY: one word, touched by atomic operations only.
    let lock = unsafe { AtomicU32::from_ptr(lock) };
    for _ in 0..rounds {
        while lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {}
        // SAFETY: the lock is held.
        unsafe { counter.write_volatile(counter.read_volatile() * 3 + 1) };
        lock.store(0, Ordering::Release);
    }
}
