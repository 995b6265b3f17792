//! Exercise: two kernels that overlap, and a third that needs both.
//!
//! The submission below is right and slow: `lab.legacy` is the legacy default stream, and `lab.blocking` waits for it. You also
//! have `lab.a` and `lab.b`, which are non-blocking, and the event `lab.done`. Let the first two kernels run side by side, and
//! the third after both. Then check:
//!
//! ```console
//! $ cargo run -p host -- exercise check streams
//! ```

use crate::exercise::streams::Lab;
use crate::submit::Error;

/// Submits the three kernels.
///
/// # Errors
///
/// Any error of the submission layer.
pub fn submit(lab: &Lab<'_>) -> Result<(), Error> {
    // ---- edit from here ----
    lab.first(&lab.blocking)?;
    lab.second(&lab.legacy)?;
    lab.both(&lab.legacy)
    // ---- to here ----
}
