//! Copies and fills of a traced submission: a reading of the card's clock before and after each, by a kernel of one thread on
//! the same stream. What is not traced has none, and the log never does.

use cuda_std::call::{DeviceMemory, Location};

use super::error::check;
use super::{Attributes, Context, Error, Launch, Stream};

/// Where one reading goes.
pub(super) struct Reading {
    /// A word of the tracer's buffer.
    pub(super) address: u64,
}

// SAFETY: the tracer gives each reading a word of its buffer, which is alive until the submission has been waited for.
unsafe impl DeviceMemory<u64> for Reading {
    fn location(&self) -> Location {
        // No log has a stamp, so nobody asks for the buffer.
        Location { buffer: u64::MAX, address: self.address, offset_bytes: 0, elements: 1 }
    }
}

impl Stream<'_> {
    /// Reads the clock before a copy or a fill that is noted next, and says where the reading behind it goes.
    #[track_caller]
    pub(super) fn stamp_start(&self) -> Result<Option<Reading>, Error> {
        let Some([start, end]) = self.context().place_transfer() else { return Ok(None) };
        self.stamp(&start)?;
        Ok(Some(end))
    }

    /// Reads it behind the copy or the fill.
    #[track_caller]
    pub(super) fn stamp_end(&self, end: Option<Reading>) -> Result<(), Error> {
        end.map_or(Ok(()), |end| self.stamp(&end))
    }

    /// As urgent as can be: behind the blocks of a kernel that fills the card, it would say when that kernel ended.
    #[track_caller]
    fn stamp(&self, reading: &Reading) -> Result<(), Error> {
        let call = gpu::clock::stamp(reading);
        let launch = Launch::new(1, 1);
        let urgent = Attributes { priority: Some(self.context().most_urgent()?), ..Attributes::default() };
        match self.submit(&launch.with(urgent), &call) {
            // A driver that knows no attributes.
            Err(Error::Missing { .. }) => self.submit(&launch, &call),
            answer => answer,
        }
    }
}

impl Context {
    /// The number of the most urgent priority (`cuCtxGetStreamPriorityRange`).
    #[track_caller]
    fn most_urgent(&self) -> Result<i32, Error> {
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: both are there to be written.
        let answer = unsafe { cuda_driver::cuCtxGetStreamPriorityRange(&mut least, &mut greatest) };
        check("cuCtxGetStreamPriorityRange", answer, || "ask for the card's priorities".into())?;
        Ok(greatest)
    }
}
