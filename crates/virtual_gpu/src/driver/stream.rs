//! Streams.

use super::device::GREATEST_PRIORITY;
use super::{Answer, Driver};
use crate::clock::{Schedule, StreamId, StreamKind, Work};
use cuda_driver::{CUstreamFlags, CuResult};

/// A stream that a program made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// The handle of its context.
    pub context: usize,
    /// What the clock calls it.
    pub id: StreamId,
    /// The flags that it was made with.
    pub flags: u32,
    /// Lower goes first.
    pub priority: i32,
}

/// Handles of the legacy and of the calling thread's own default stream; 0 is the legacy one too.
const LEGACY: usize = 1;
const PER_THREAD: usize = 2;
/// The one flag of a wait. (`CU_EVENT_WAIT_EXTERNAL`)
const EXTERNAL: u32 = 1;

impl Driver {
    /// The stream of a handle.
    ///
    /// # Errors
    ///
    /// `INVALID_HANDLE` for one that is none, or of another context; those of having no context.
    pub(super) fn stream(&mut self, handle: usize) -> Answer<Stream> {
        let context = self.context_handle()?;
        let default = |id| Stream { context, id, flags: CUstreamFlags::BLOCKING.0, priority: 0 };
        match handle {
            0 | LEGACY => Ok(default(self.context()?.legacy)),
            PER_THREAD => Ok(default(self.per_thread_stream()?)),
            _ => match self.streams.get(handle)? {
                stream if stream.context == context => Ok(*stream),
                _ => Err(CuResult::INVALID_HANDLE),
            },
        }
    }

    /// `cuStreamCreateWithPriority`; a priority outside the range is moved into it.
    ///
    /// # Errors
    ///
    /// `INVALID_VALUE` for unknown flags.
    pub fn create_stream(&mut self, flags: u32, priority: i32) -> Answer<usize> {
        let context = self.context_handle()?;
        let kind = match CUstreamFlags(flags) {
            CUstreamFlags::BLOCKING => StreamKind::Blocking,
            CUstreamFlags::NON_BLOCKING => StreamKind::NonBlocking,
            _ => return Err(CuResult::INVALID_VALUE),
        };
        let number = self.context()?.number;
        let id = self.machine.add_stream(number, kind);
        let handle = self.names.give();
        let priority = priority.clamp(GREATEST_PRIORITY, 0);
        self.streams.put(handle, Stream { context, id, flags, priority });
        self.spend(self.card().host.handle_ns)?;
        Ok(handle)
    }

    /// `cuStreamDestroy`. What is in the stream still runs.
    ///
    /// # Errors
    ///
    /// `INVALID_HANDLE`, also for a default stream.
    pub fn destroy_stream(&mut self, handle: usize) -> Answer<()> {
        self.context()?;
        let stream = self.streams.take(handle)?;
        self.captures.forget_stream(stream.id);
        self.machine.remove_stream(stream.id);
        self.spend(self.card().host.handle_ns)
    }

    /// `cuStreamSynchronize`.
    ///
    /// # Errors
    ///
    /// `INVALID_HANDLE`; those of a capture; the error of a kernel.
    pub fn synchronize_stream(&mut self, handle: usize) -> Answer<()> {
        let stream = self.stream(handle)?;
        self.refuse_waiting(stream)?;
        self.wait_for_stream(stream)
    }

    /// Waits for all work of a stream; for the legacy one that is all work of the blocking streams too.
    pub(super) fn wait_for_stream(&mut self, stream: Stream) -> Answer<()> {
        match self.mark(stream) {
            Some(op) => self.wait_for(op),
            None => self.spend(self.card().host.wake_ns),
        }
    }

    /// The operation that stands for all work of a stream, if there is any.
    fn mark(&mut self, stream: Stream) -> Option<crate::clock::OpId> {
        let legacy = self.context().is_ok_and(|context| context.legacy == stream.id);
        match legacy {
            true => Some(self.machine.submit(stream.id, self.now, &[], Work::Nothing)),
            false => self.machine.last(stream.id),
        }
    }

    /// `cuStreamQuery`: whether all work of the stream is done.
    ///
    /// # Errors
    ///
    /// `NOT_READY` while it is not; `INVALID_HANDLE`; those of a capture; the error of a kernel.
    pub fn query_stream(&mut self, handle: usize) -> Answer<()> {
        let stream = self.stream(handle)?;
        self.refuse_waiting(stream)?;
        self.spend(self.card().host.query_ns)?;
        let last = self.mark(stream);
        // The mark of the legacy stream is complete when what it stands for is.
        self.spend(0)?;
        self.query(last)
    }

    /// Whether an operation is complete. With the late schedule it never is while nobody waits, and the one who asks would
    /// ask for ever: having said no, it runs.
    pub(super) fn query(&mut self, op: Option<crate::clock::OpId>) -> Answer<()> {
        match op.filter(|&op| !self.machine.is_complete(op)) {
            None => Ok(()),
            Some(op) => {
                if self.schedule == Schedule::Late {
                    self.wait_for(op)?;
                }
                Err(CuResult::NOT_READY)
            }
        }
    }

    /// `cuStreamWaitEvent`: later work of the stream waits for what the event stands for now.
    ///
    /// # Errors
    ///
    /// `INVALID_HANDLE`; `INVALID_VALUE` for flags; those of a capture.
    pub fn wait_event(&mut self, stream: usize, event: usize, flags: u32) -> Answer<()> {
        let stream = self.stream(stream)?;
        let recorded = self.events.get(event)?.recorded;
        match flags {
            0 => {}
            // Within a capture a node that waits for an event of outside; without one the same as none.
            EXTERNAL => return Err(CuResult::NOT_SUPPORTED),
            _ => return Err(CuResult::INVALID_VALUE),
        }
        let is_captured = self.note_wait(stream, event, recorded.is_some())?;
        self.spend(self.card().host.wait_ns)?;
        if is_captured {
            return Ok(());
        }
        if let Some(record) = recorded {
            self.machine.submit(stream.id, self.arrival(), &[record], Work::Nothing);
        }
        Ok(())
    }

    /// `cuStreamGetFlags`.
    ///
    /// # Errors
    ///
    /// `INVALID_HANDLE`.
    pub fn stream_flags(&mut self, handle: usize) -> Answer<u32> {
        Ok(self.stream(handle)?.flags)
    }

    /// `cuStreamGetPriority`.
    ///
    /// # Errors
    ///
    /// `INVALID_HANDLE`.
    pub fn stream_priority(&mut self, handle: usize) -> Answer<i32> {
        Ok(self.stream(handle)?.priority)
    }
}
