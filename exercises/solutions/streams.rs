//! A solution: two non-blocking streams, and one event where they meet.

use crate::exercise::streams::Lab;
use crate::submit::Error;

/// Submits the three kernels.
///
/// # Errors
///
/// Any error of the submission layer.
pub fn submit(lab: &Lab<'_>) -> Result<(), Error> {
    lab.first(&lab.a)?;
    lab.a.record(&lab.done)?;
    lab.second(&lab.b)?;
    lab.b.wait(&lab.done)?;
    lab.both(&lab.b)
}
