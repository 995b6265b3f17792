//! The kernel of the lesson on errors: it writes where it is told to, and looks at no length.

use cuda_std::{kernel, thread};

/// `out[index] = value`, whatever the length of `out`, by the first thread of the grid.
///
/// # Safety
///
/// `out` has more than `index` elements. A launch that breaks this is what the lesson is about.
#[kernel]
pub unsafe fn write_at(out: *mut u32, index: u64, value: u32) {
    if thread::index_1d() == 0 {
        // SAFETY: there is such an element, says the caller.
        unsafe { *out.wrapping_add(index as usize) = value };
    }
}
