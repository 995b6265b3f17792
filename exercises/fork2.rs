//! Exercise: the diamond on two branch streams.
//!
//! One kernel feeds four branches, and a fifth kernel adds up what they made. Put the branches on `left` and `right`, two on
//! each, so that they follow the upstream kernel and the join follows them. Then check:
//!
//! ```console
//! $ cargo run -p host -- exercise check fork2
//! ```
//!
//! You have `lab.branch(0, stream)?` to `lab.branch(3, stream)?`, `stream.record(&event)?` and `stream.wait(&event)?`.

use crate::exercise::fork2::Lab;
use crate::submit::Error;

/// Submits the diamond.
///
/// # Errors
///
/// Any error of the submission layer.
pub fn submit(lab: &Lab<'_>) -> Result<(), Error> {
    lab.upstream(&lab.main)?;

    // ---- edit from here ----

    // ---- to here ----

    lab.join(&lab.main)
}
