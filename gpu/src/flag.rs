//! Two kernels of which one waits for the other while both run. CUDA does not promise that they do: where the second has to
//! wait for the first, for room or to be loaded, both wait for ever. So the first gives up.

use cuda_std::{kernel, sense, thread};

/// Looks at `flag` until it is not 0, at most `limit_ns`, and writes to `seen` what it saw last. One thread.
///
/// # Safety
///
/// Until the launch is done, `flag` is the address of one word.
#[kernel]
pub unsafe fn wait_for_flag(flag: *const u32, limit_ns: u64, seen: &mut [u32]) {
    if thread::index_1d() > 0 {
        return;
    }
    let start = sense::global_timer();
    for seen in seen {
        // SAFETY: `flag` is the address of a word; another kernel may write it meanwhile, which is why it is volatile.
        *seen = unsafe { flag.read_volatile() };
        while *seen == 0 && sense::global_timer() - start < limit_ns {
            // SAFETY: `flag` is the address of a word.
            *seen = unsafe { flag.read_volatile() };
        }
    }
}

/// Sets `flag` to 1. One thread.
///
/// # Safety
///
/// Until the launch is done, `flag` is the address of one word.
#[kernel]
pub unsafe fn set_flag(flag: *mut u32) {
    if thread::index_1d() == 0 {
        // SAFETY: `flag` is the address of a word; another kernel may read it meanwhile, which is why it is volatile.
        unsafe { flag.write_volatile(1) };
    }
}
