//! A solution: one wait before the two branches of a stream, and one record behind them.

use crate::exercise::fork2::Lab;
use crate::submit::Error;

/// Submits the diamond.
///
/// # Errors
///
/// Any error of the submission layer.
pub fn submit(lab: &Lab<'_>) -> Result<(), Error> {
    lab.upstream(&lab.main)?;
    lab.main.record(&lab.fork)?;

    for (stream, branches, done) in
        [(&lab.left, [0, 1], &lab.left_done), (&lab.right, [2, 3], &lab.right_done)]
    {
        stream.wait(&lab.fork)?;
        // The stream itself keeps its two branches in order; neither needs an event for that.
        for branch in branches {
            lab.branch(branch, stream)?;
        }
        stream.record(done)?;
    }

    lab.main.wait(&lab.left_done)?;
    lab.main.wait(&lab.right_done)?;
    lab.join(&lab.main)
}
