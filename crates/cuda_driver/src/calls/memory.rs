//! Calls on device memory and on page-locked host memory: allocation, copies, fills.

use crate::handles::{CUdeviceptr, CUstream};
use crate::result::CuResult;
use std::ffi::{c_uchar, c_uint, c_void};

unsafe extern "C" {
    /// Allocates device memory of `bytes` bytes, more than 0, aligned for every type. Its content is undefined.
    pub fn cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize) -> CuResult;

    /// Frees device memory. May wait for all work of the context.
    pub fn cuMemFree_v2(address: CUdeviceptr) -> CuResult;

    /// Allocates page-locked host memory of `bytes` bytes.
    pub fn cuMemAllocHost_v2(address: *mut *mut c_void, bytes: usize) -> CuResult;

    /// Frees page-locked host memory.
    pub fn cuMemFreeHost(address: *mut c_void) -> CuResult;

    /// Writes how much of the device's memory is free, and how much there is, in bytes.
    pub fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> CuResult;

    /// Copies `bytes` bytes from host to device, on the default stream. May return when the source is read, before
    /// the device has the data.
    pub fn cuMemcpyHtoD_v2(to: CUdeviceptr, from: *const c_void, bytes: usize) -> CuResult;

    /// Copies `bytes` bytes from device to host, on the default stream. Returns when the data is there.
    pub fn cuMemcpyDtoH_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize) -> CuResult;

    /// Copies `bytes` bytes within the device, on the default stream. Does not wait for the copy.
    pub fn cuMemcpyDtoD_v2(to: CUdeviceptr, from: CUdeviceptr, bytes: usize) -> CuResult;

    /// Enqueues a copy of `bytes` bytes from host to device. Overlaps with other work only from page-locked memory.
    pub fn cuMemcpyHtoDAsync_v2(
        to: CUdeviceptr,
        from: *const c_void,
        bytes: usize,
        stream: CUstream,
    ) -> CuResult;

    /// Enqueues a copy of `bytes` bytes from device to host. Overlaps with other work only into page-locked memory.
    pub fn cuMemcpyDtoHAsync_v2(
        to: *mut c_void,
        from: CUdeviceptr,
        bytes: usize,
        stream: CUstream,
    ) -> CuResult;

    /// Enqueues a copy of `bytes` bytes within the device.
    pub fn cuMemcpyDtoDAsync_v2(
        to: CUdeviceptr,
        from: CUdeviceptr,
        bytes: usize,
        stream: CUstream,
    ) -> CuResult;

    /// Writes `value` to each of `count` bytes, on the default stream. Does not wait for the fill.
    pub fn cuMemsetD8_v2(to: CUdeviceptr, value: c_uchar, count: usize) -> CuResult;

    /// Writes `value` to each of `count` words of 4 bytes, on the default stream. Does not wait for the fill.
    pub fn cuMemsetD32_v2(to: CUdeviceptr, value: c_uint, count: usize) -> CuResult;

    /// Enqueues a fill of `count` bytes.
    pub fn cuMemsetD8Async(to: CUdeviceptr, value: c_uchar, count: usize, stream: CUstream) -> CuResult;

    /// Enqueues a fill of `count` words of 4 bytes.
    pub fn cuMemsetD32Async(to: CUdeviceptr, value: c_uint, count: usize, stream: CUstream) -> CuResult;
}
