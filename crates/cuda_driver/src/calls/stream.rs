//! Calls on streams and on events.

use crate::handles::{CUevent, CUstream};
use crate::result::CuResult;
use std::ffi::{c_int, c_uint};

unsafe extern "C" {
    /// Makes a stream. `flags` are [`CUstreamFlags`](crate::CUstreamFlags).
    pub fn cuStreamCreate(stream: *mut CUstream, flags: c_uint) -> CuResult;

    /// Makes a stream of a priority; lower numbers go first, and one outside the device's range is moved into it.
    pub fn cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int) -> CuResult;

    /// Gives a stream up. Returns at once; work that is pending in it still runs.
    pub fn cuStreamDestroy_v2(stream: CUstream) -> CuResult;

    /// Returns when all work of the stream is done.
    pub fn cuStreamSynchronize(stream: CUstream) -> CuResult;

    /// Answers `SUCCESS` when all work of the stream is done, else `NOT_READY`.
    pub fn cuStreamQuery(stream: CUstream) -> CuResult;

    /// Makes later work of the stream wait for the latest record of the event, as of this call. Does not wait when
    /// the event was never recorded. `flags` is 0.
    pub fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) -> CuResult;

    /// Writes the flags that the stream was made with.
    pub fn cuStreamGetFlags(stream: CUstream, flags: *mut c_uint) -> CuResult;

    /// Writes the priority that the stream has.
    pub fn cuStreamGetPriority(stream: CUstream, priority: *mut c_int) -> CuResult;

    /// Makes an event. `flags` are [`CUeventFlags`](crate::CUeventFlags).
    pub fn cuEventCreate(event: *mut CUevent, flags: c_uint) -> CuResult;

    /// Gives an event up, even one that a stream still waits for: that wait stays.
    pub fn cuEventDestroy_v2(event: CUevent) -> CuResult;

    /// Makes the event stand for all work that is in the stream at this call.
    pub fn cuEventRecord(event: CUevent, stream: CUstream) -> CuResult;

    /// Answers `SUCCESS` when the work that the event stands for is done, else `NOT_READY`. An event that was never
    /// recorded is done.
    pub fn cuEventQuery(event: CUevent) -> CuResult;

    /// Returns when the work that the event stands for is done.
    pub fn cuEventSynchronize(event: CUevent) -> CuResult;

    /// Writes the time between two records, in milliseconds, with a resolution of about half a microsecond.
    ///
    /// Answers `INVALID_HANDLE` when an event has no timestamps or was never recorded, and `NOT_READY` when one is
    /// not done. This is the first version: every driver has it, `cust` calls it, and unlike `_v2` (CUDA 12.8) it
    /// still promises to answer the error of the work between the two records.
    pub fn cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent) -> CuResult;
}
