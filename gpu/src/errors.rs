//! The kernel of the lesson on errors: it writes where it is told to, and looks at no length.

use cuda_std::{kernel, thread};

/// Writes `out[index] = value`, whatever the length of `out`, by the first thread of the grid.
///
/// # Safety
///
/// Until the launch is done, `out` is the address of more than `index` elements. The lesson breaks this on purpose, on a
/// card whose context it then gives up.
#[kernel]
pub unsafe fn write_at(out: *mut u32, index: u64, value: u32) {
    if thread::index_1d() == 0 {
        // SAFETY: `out` has more than `index` elements.
        unsafe { *out.wrapping_add(index as usize) = value };
    }
}
