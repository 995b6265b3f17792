//! Streams and events.
#![allow(non_snake_case, reason = "the names are the driver's")]

use super::{Out, call};
use cuda_driver::{CUevent, CUstream, CuResult};
use std::ffi::{c_int, c_uint};
use std::ptr;

fn stream_handle(raw: usize) -> CUstream {
    CUstream::from_raw(ptr::without_provenance_mut(raw))
}

pub extern "C" fn cuStreamCreate(stream: Out<CUstream>, flags: c_uint) -> CuResult {
    call(|driver| stream.put(|| driver.create_stream(flags, 0).map(stream_handle)))
}

pub extern "C" fn cuStreamCreateWithPriority(
    stream: Out<CUstream>,
    flags: c_uint,
    priority: c_int,
) -> CuResult {
    call(|driver| stream.put(|| driver.create_stream(flags, priority).map(stream_handle)))
}

pub extern "C" fn cuStreamDestroy_v2(stream: CUstream) -> CuResult {
    call(|driver| driver.destroy_stream(stream.as_raw().addr()))
}

pub extern "C" fn cuStreamSynchronize(stream: CUstream) -> CuResult {
    call(|driver| driver.synchronize_stream(stream.as_raw().addr()))
}

pub extern "C" fn cuStreamQuery(stream: CUstream) -> CuResult {
    call(|driver| driver.query_stream(stream.as_raw().addr()))
}

pub extern "C" fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) -> CuResult {
    call(|driver| driver.wait_event(stream.as_raw().addr(), event.as_raw().addr(), flags))
}

pub extern "C" fn cuStreamGetFlags(stream: CUstream, flags: Out<c_uint>) -> CuResult {
    call(|driver| flags.put(|| driver.stream_flags(stream.as_raw().addr())))
}

pub extern "C" fn cuStreamGetPriority(stream: CUstream, priority: Out<c_int>) -> CuResult {
    call(|driver| priority.put(|| driver.stream_priority(stream.as_raw().addr())))
}

pub extern "C" fn cuEventCreate(event: Out<CUevent>, flags: c_uint) -> CuResult {
    let handle = |raw| CUevent::from_raw(ptr::without_provenance_mut(raw));
    call(|driver| event.put(|| driver.create_event(flags).map(handle)))
}

pub extern "C" fn cuEventDestroy_v2(event: CUevent) -> CuResult {
    call(|driver| driver.destroy_event(event.as_raw().addr()))
}

pub extern "C" fn cuEventRecord(event: CUevent, stream: CUstream) -> CuResult {
    call(|driver| driver.record_event(event.as_raw().addr(), stream.as_raw().addr()))
}

pub extern "C" fn cuEventQuery(event: CUevent) -> CuResult {
    call(|driver| driver.query_event(event.as_raw().addr()))
}

pub extern "C" fn cuEventSynchronize(event: CUevent) -> CuResult {
    call(|driver| driver.synchronize_event(event.as_raw().addr()))
}

pub extern "C" fn cuEventElapsedTime(milliseconds: Out<f32>, start: CUevent, end: CUevent) -> CuResult {
    call(|driver| milliseconds.put(|| driver.elapsed_ms(start.as_raw().addr(), end.as_raw().addr())))
}
