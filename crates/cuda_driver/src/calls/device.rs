//! Calls on the driver itself, on devices and on contexts.

use crate::handles::{CUcontext, CUdevice};
use crate::numbers::CUdeviceAttribute;
use crate::result::CuResult;
use std::ffi::{c_char, c_int, c_uint};

unsafe extern "C" {
    /// Starts the driver. `flags` is 0. A second call does nothing.
    pub fn cuInit(flags: c_uint) -> CuResult;

    /// Writes the newest CUDA release that the driver knows; [`CudaVersion`](crate::CudaVersion) reads the number.
    /// Needs no `cuInit`.
    pub fn cuDriverGetVersion(version: *mut c_int) -> CuResult;

    /// Writes the name of a code, such as `CUDA_ERROR_INVALID_HANDLE`, a string that lives as long as the driver.
    /// Answers `INVALID_VALUE`, and writes null, for a code that the driver does not know.
    pub fn cuGetErrorName(code: CuResult, name: *mut *const c_char) -> CuResult;

    /// Writes the text for a code, a string that lives as long as the driver. Answers `INVALID_VALUE`, and writes
    /// null, for a code that the driver does not know.
    pub fn cuGetErrorString(code: CuResult, text: *mut *const c_char) -> CuResult;

    /// Writes the device of an ordinal, which counts from 0.
    pub fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int) -> CuResult;

    /// Writes how many devices there are.
    pub fn cuDeviceGetCount(count: *mut c_int) -> CuResult;

    /// Writes the device's name and the zero that ends it, cut to `len` bytes.
    pub fn cuDeviceGetName(name: *mut c_char, len: c_int, device: CUdevice) -> CuResult;

    /// Writes one attribute of the device.
    pub fn cuDeviceGetAttribute(
        value: *mut c_int,
        attribute: CUdeviceAttribute,
        device: CUdevice,
    ) -> CuResult;

    /// Writes the size of the device's memory in bytes.
    pub fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice) -> CuResult;

    /// Writes the device's primary context, made if need be, and counts one more user of it. Does not make it
    /// current.
    pub fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice) -> CuResult;

    /// Counts one user of the primary context less; the last one's release destroys it and all that it owns.
    pub fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) -> CuResult;

    /// Writes the primary context's flags ([`CUcontextFlags`](crate::CUcontextFlags)), and 1 when it is active.
    pub fn cuDevicePrimaryCtxGetState(device: CUdevice, flags: *mut c_uint, active: *mut c_int) -> CuResult;

    /// Sets the primary context's flags ([`CUcontextFlags`](crate::CUcontextFlags)).
    pub fn cuDevicePrimaryCtxSetFlags_v2(device: CUdevice, flags: c_uint) -> CuResult;

    /// Destroys the primary context and all that it owns, whoever else uses it.
    pub fn cuDevicePrimaryCtxReset_v2(device: CUdevice) -> CuResult;

    /// Makes a context current for the calling thread; null leaves none.
    pub fn cuCtxSetCurrent(context: CUcontext) -> CuResult;

    /// Writes the calling thread's current context, or null.
    pub fn cuCtxGetCurrent(context: *mut CUcontext) -> CuResult;

    /// Returns when all work of the current context is done.
    pub fn cuCtxSynchronize() -> CuResult;

    /// Writes the range of stream priorities. Lower numbers go first, so `greatest` is the smaller number; both are
    /// 0 where the device has no priorities.
    pub fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) -> CuResult;
}
