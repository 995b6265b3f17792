//! Events: each stands for the operation that recorded it last.

use super::{Answer, Driver};
use crate::clock::{NS, OpId, Picos, Work};
use cuda_driver::{CUeventFlags, CuResult};

/// An event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The handle of its context.
    pub context: usize,
    /// Whether a record of it has a timestamp.
    pub timing: bool,
    /// Its latest record.
    pub recorded: Option<OpId>,
}

/// Flags that an event may have: blocking synchronization, no timing. (Those for other processes are not supported.)
const FLAGS: u32 = CUeventFlags::BLOCKING_SYNC.0 | CUeventFlags::DISABLE_TIMING.0;

impl Driver {
    /// `cuEventCreate`.
    ///
    /// # Errors
    ///
    /// `INVALID_VALUE` for unknown flags, `NOT_SUPPORTED` for an event that other processes can use.
    pub fn create_event(&mut self, flags: u32) -> Answer<usize> {
        let context = self.context_handle()?;
        match flags & !FLAGS {
            0 => {}
            4 => return Err(CuResult::NOT_SUPPORTED),
            _ => return Err(CuResult::INVALID_VALUE),
        }
        let handle = self.names.give();
        let timing = flags & CUeventFlags::DISABLE_TIMING.0 == 0;
        self.events.put(handle, Event { context, timing, recorded: None });
        self.spend(self.card().host.handle_ns)?;
        Ok(handle)
    }

    /// `cuEventDestroy`. A wait that took it keeps what it took.
    ///
    /// # Errors
    ///
    /// `INVALID_HANDLE`.
    pub fn destroy_event(&mut self, handle: usize) -> Answer<()> {
        self.context()?;
        self.events.take(handle)?;
        self.captures.forget_event(handle);
        self.spend(self.card().host.handle_ns)
    }

    /// `cuEventRecord`.
    ///
    /// # Errors
    ///
    /// `INVALID_HANDLE`, also when event and stream are of two contexts; those of a capture.
    pub fn record_event(&mut self, event: usize, stream: usize) -> Answer<()> {
        let stream = self.stream(stream)?;
        let Event { context, timing, .. } = *self.events.get(event)?;
        if context != stream.context {
            return Err(CuResult::INVALID_HANDLE);
        }
        if let Some(capture) = self.captured(stream)? {
            self.note_record(event, stream, capture);
            self.events.get_mut(event)?.recorded = None;
            return self.spend(self.card().host.record_ns);
        }
        self.captures.forget_event(event);
        self.spend(self.card().host.record_ns)?;
        let work = if timing { Work::Timestamp } else { Work::Nothing };
        let record = self.machine.submit(stream.id, self.arrival(), &[], work);
        self.events.get_mut(event)?.recorded = Some(record);
        Ok(())
    }

    /// `cuEventQuery`. An event that was never recorded is complete.
    ///
    /// # Errors
    ///
    /// `NOT_READY` while it is not; `INVALID_HANDLE`; those of a capture; the error of a kernel.
    pub fn query_event(&mut self, handle: usize) -> Answer<()> {
        self.context()?;
        let recorded = self.events.get(handle)?.recorded;
        self.refuse_captured_event(handle, true)?;
        self.refuse_in_capture()?;
        self.spend(self.card().host.query_ns)?;
        self.query(recorded)
    }

    /// `cuEventSynchronize`.
    ///
    /// # Errors
    ///
    /// `INVALID_HANDLE`; those of a capture; the error of a kernel.
    pub fn synchronize_event(&mut self, handle: usize) -> Answer<()> {
        self.context()?;
        let recorded = self.events.get(handle)?.recorded;
        self.refuse_captured_event(handle, true)?;
        self.refuse_in_capture()?;
        match recorded {
            Some(record) => self.wait_for(record),
            None => self.spend(self.card().host.wake_ns),
        }
    }

    /// `cuEventElapsedTime`, in milliseconds; negative when `stop` was before `start`.
    ///
    /// # Errors
    ///
    /// `INVALID_HANDLE` when one has no timestamp or was never recorded, or when they are of two contexts; `NOT_READY` when
    /// one is not complete.
    pub fn elapsed_ms(&mut self, start: usize, stop: usize) -> Answer<f32> {
        self.context()?;
        let handles = [start, stop];
        let (start, stop) = (*self.events.get(start)?, *self.events.get(stop)?);
        handles.into_iter().try_for_each(|event| self.refuse_captured_event(event, false))?;
        if start.context != stop.context || !start.timing || !stop.timing {
            return Err(CuResult::INVALID_HANDLE);
        }
        let (Some(start), Some(stop)) = (start.recorded, stop.recorded) else {
            return Err(CuResult::INVALID_HANDLE);
        };
        self.spend(self.card().host.query_ns)?;
        self.query(Some(start))?;
        self.query(Some(stop))?;
        let step = self.card().front.global_timer_ns * NS;
        let stamp = |op| -> Answer<Picos> {
            Ok(self.machine.complete_at(op).ok_or(CuResult::NOT_READY)? / step * step)
        };
        let picos = stamp(stop)? as i64 - stamp(start)? as i64;
        Ok((picos as f64 / 1e9) as f32)
    }
}
