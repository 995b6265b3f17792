//! Exercise: a kernel that starts before the one ahead of it has ended.
//!
//! Three kernels, each of which needs what the one before it made. The last one begins with a prologue that needs nothing of
//! the second: let it start early. Then check:
//!
//! ```console
//! $ cargo run -p host -- exercise check pdl
//! ```
//!
//! Launch attributes are in `crate::submit::Attributes`, and `launch.with(attributes)` adds them to a launch.

use crate::exercise::pdl::Lab;
use crate::submit::Error;

/// Submits the three kernels.
///
/// # Errors
///
/// Any error of the submission layer.
pub fn submit(lab: &Lab<'_>) -> Result<(), Error> {
    let plain = lab.plain();
    // ---- edit from here ----
    lab.stream.launch(&plain, lab.prepare())?;
    lab.stream.launch(&plain, lab.produce_without_trigger())?;
    lab.stream.launch(&plain, lab.combine())
    // ---- to here ----
}
