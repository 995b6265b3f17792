//! Stream priorities: a card's range of them, and streams that have one.

use std::fmt;

use cuda_driver::CUstream;
use serde::Serialize;

use super::error::check;
use super::{Context, Error, Stream, StreamKind};

/// The priorities that a card tells apart. A lower number goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PriorityRange {
    /// The one that goes last: what a stream has that was made without.
    pub least: i32,
    /// The one that goes first.
    pub greatest: i32,
}

impl fmt::Display for PriorityRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (goes last) to {} (goes first)", self.least, self.greatest)
    }
}

impl Context {
    /// The card's priorities (`cuCtxGetStreamPriorityRange`). A card without any has 0 for both ends.
    ///
    /// # Errors
    ///
    /// Any error of the call.
    #[track_caller]
    pub fn priorities(&self) -> Result<PriorityRange, Error> {
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: both are there to be written, and the context is current on this thread.
        let answer = unsafe { cuda_driver::cuCtxGetStreamPriorityRange(&mut least, &mut greatest) };
        check("cuCtxGetStreamPriorityRange", answer, || "ask for the range of priorities".into())?;
        Ok(PriorityRange { least, greatest })
    }
}

impl<'c> Stream<'c> {
    /// Makes a stream of a priority (`cuStreamCreateWithPriority`). One outside the card's range is moved into it, and no
    /// call says so: [`Stream::priority`] tells what it became. A default stream is as it is.
    ///
    /// *Device*: of the blocks that wait for room, those of the stream whose number is lower are placed first. Blocks that
    /// run are not interrupted. It is a hint, and orders nothing.
    ///
    /// # Errors
    ///
    /// Any error of the call.
    #[track_caller]
    pub fn with_priority(
        context: &'c Context,
        name: &str,
        kind: StreamKind,
        priority: i32,
    ) -> Result<Self, Error> {
        let Some(flags) = kind.flags() else { return Stream::new(context, name, kind) };
        let mut raw = CUstream::NULL;
        // SAFETY: `raw` is there to be written, and the context is current on this thread.
        let answer = unsafe { cuda_driver::cuStreamCreateWithPriority(&mut raw, flags.0, priority) };
        check("cuStreamCreateWithPriority", answer, || {
            format!("make stream `{name}` of priority {priority}")
        })?;
        Ok(Stream::of(context, name, kind, raw))
    }

    /// The stream's priority (`cuStreamGetPriority`).
    ///
    /// # Errors
    ///
    /// Any error of the call.
    #[track_caller]
    pub fn priority(&self) -> Result<i32, Error> {
        let mut priority = 0;
        // SAFETY: the stream is alive, and `priority` is there to be written.
        let answer = unsafe { cuda_driver::cuStreamGetPriority(self.raw(), &mut priority) };
        check("cuStreamGetPriority", answer, || format!("ask for the priority of `{}`", self.name()))?;
        Ok(priority)
    }
}
