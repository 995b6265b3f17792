//! Memory, copies and fills.
#![allow(non_snake_case, reason = "the names are the driver's")]

use super::{Out, call};
use crate::driver::copy::{Completion, HostMemory};
use cuda_driver::{CUdeviceptr, CUstream, CuResult};
use std::ffi::{c_uchar, c_uint, c_ushort, c_void};

const LEGACY: usize = 1;

/// Memory of the host that a copy reads or writes.
#[repr(transparent)]
pub struct Host(*mut c_void);

impl Host {
    fn memory(self, bytes: usize) -> Result<HostMemory, CuResult> {
        if self.0.is_null() && bytes > 0 {
            return Err(CuResult::INVALID_VALUE);
        }
        // SAFETY: valid for the copy until it is complete, and not in use meanwhile, by the caller's promise.
        Ok(unsafe { HostMemory::new(self.0.cast()) })
    }
}

fn bytes(count: u64) -> Result<usize, CuResult> {
    usize::try_from(count).map_err(|_| CuResult::INVALID_VALUE)
}

pub extern "C" fn cuMemAlloc_v2(address: Out<CUdeviceptr>, bytes: usize) -> CuResult {
    call(|driver| address.put(|| driver.allocate(bytes as u64).map(CUdeviceptr)))
}

pub extern "C" fn cuMemFree_v2(address: CUdeviceptr) -> CuResult {
    call(|driver| driver.free(address.0))
}

pub extern "C" fn cuMemAllocHost_v2(address: Out<*mut c_void>, bytes: usize) -> CuResult {
    call(|driver| address.put(|| driver.allocate_host(bytes).map(|start| start.as_ptr().cast())))
}

pub extern "C" fn cuMemFreeHost(address: *mut c_void) -> CuResult {
    call(|driver| driver.free_host(address.addr()))
}

pub extern "C" fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) -> CuResult {
    call(|driver| {
        let (left, all) = driver.memory_info()?;
        free.put(|| bytes(left))?;
        total.put(|| bytes(all))
    })
}

pub extern "C" fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: Host, bytes: usize) -> CuResult {
    call(|driver| {
        driver.copy_to_device(to.0, from.memory(bytes)?, bytes as u64, LEGACY, Completion::Synchronous)
    })
}

pub extern "C" fn cuMemcpyDtoH_v2(to: Host, from: CUdeviceptr, bytes: usize) -> CuResult {
    call(|driver| {
        driver.copy_to_host(to.memory(bytes)?, from.0, bytes as u64, LEGACY, Completion::Synchronous)
    })
}

pub extern "C" fn cuMemcpyDtoD_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) -> CuResult {
    call(|driver| driver.copy_within(to.0, from.0, bytes as u64, LEGACY))
}

pub extern "C" fn cuMemcpyHtoDAsync_v2(
    to: CUdeviceptr,
    from: Host,
    bytes: usize,
    stream: CUstream,
) -> CuResult {
    let stream = stream.as_raw().addr();
    call(|driver| {
        driver.copy_to_device(to.0, from.memory(bytes)?, bytes as u64, stream, Completion::Asynchronous)
    })
}

pub extern "C" fn cuMemcpyDtoHAsync_v2(
    to: Host,
    from: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> CuResult {
    let stream = stream.as_raw().addr();
    call(|driver| {
        driver.copy_to_host(to.memory(bytes)?, from.0, bytes as u64, stream, Completion::Asynchronous)
    })
}

pub extern "C" fn cuMemcpyDtoDAsync_v2(
    to: CUdeviceptr,
    from: CUdeviceptr,
    bytes: usize,
    stream: CUstream,
) -> CuResult {
    call(|driver| driver.copy_within(to.0, from.0, bytes as u64, stream.as_raw().addr()))
}

pub extern "C" fn cuMemsetD8_v2(to: CUdeviceptr, value: c_uchar, count: usize) -> CuResult {
    call(|driver| driver.fill(to.0, &[value], count as u64, LEGACY))
}

pub extern "C" fn cuMemsetD16_v2(to: CUdeviceptr, value: c_ushort, count: usize) -> CuResult {
    call(|driver| driver.fill(to.0, &value.to_le_bytes(), count as u64, LEGACY))
}

pub extern "C" fn cuMemsetD32_v2(to: CUdeviceptr, value: c_uint, count: usize) -> CuResult {
    call(|driver| driver.fill(to.0, &value.to_le_bytes(), count as u64, LEGACY))
}

pub extern "C" fn cuMemsetD8Async(
    to: CUdeviceptr,
    value: c_uchar,
    count: usize,
    stream: CUstream,
) -> CuResult {
    call(|driver| driver.fill(to.0, &[value], count as u64, stream.as_raw().addr()))
}

pub extern "C" fn cuMemsetD16Async(
    to: CUdeviceptr,
    value: c_ushort,
    count: usize,
    stream: CUstream,
) -> CuResult {
    call(|driver| driver.fill(to.0, &value.to_le_bytes(), count as u64, stream.as_raw().addr()))
}

pub extern "C" fn cuMemsetD32Async(
    to: CUdeviceptr,
    value: c_uint,
    count: usize,
    stream: CUstream,
) -> CuResult {
    call(|driver| driver.fill(to.0, &value.to_le_bytes(), count as u64, stream.as_raw().addr()))
}
