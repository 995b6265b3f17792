//! Contexts.
#![allow(non_snake_case, reason = "the names are the driver's")]

use super::device::check;
use super::{Out, call};
use crate::driver::device::GREATEST_PRIORITY;
use cuda_driver::{CUcontext, CUdevice, CuResult};
use std::ffi::{c_int, c_uint};
use std::ptr;

fn handle(raw: usize) -> CUcontext {
    CUcontext::from_raw(ptr::without_provenance_mut(raw))
}

pub extern "C" fn cuDevicePrimaryCtxRetain(context: Out<CUcontext>, device: CUdevice) -> CuResult {
    call(|driver| {
        check(device)?;
        context.put(|| driver.retain_primary().map(handle))
    })
}

pub extern "C" fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) -> CuResult {
    call(|driver| {
        check(device)?;
        driver.release_primary()
    })
}

pub extern "C" fn cuDevicePrimaryCtxGetState(
    device: CUdevice,
    flags: Out<c_uint>,
    active: Out<c_int>,
) -> CuResult {
    call(|driver| {
        check(device)?;
        let (its_flags, is_active) = driver.primary_state()?;
        flags.put(|| Ok(its_flags))?;
        active.put(|| Ok(c_int::from(is_active)))
    })
}

pub extern "C" fn cuDevicePrimaryCtxSetFlags_v2(device: CUdevice, flags: c_uint) -> CuResult {
    call(|driver| {
        check(device)?;
        driver.set_primary_flags(flags)
    })
}

pub extern "C" fn cuDevicePrimaryCtxReset_v2(device: CUdevice) -> CuResult {
    call(|driver| {
        check(device)?;
        driver.reset_primary()
    })
}

pub extern "C" fn cuCtxCreate_v2(context: Out<CUcontext>, flags: c_uint, device: CUdevice) -> CuResult {
    call(|driver| {
        check(device)?;
        context.put(|| driver.create_context(flags).map(handle))
    })
}

pub extern "C" fn cuCtxDestroy_v2(context: CUcontext) -> CuResult {
    call(|driver| driver.destroy_context(context.as_raw().addr()))
}

pub extern "C" fn cuCtxPushCurrent_v2(context: CUcontext) -> CuResult {
    call(|driver| driver.push_context(context.as_raw().addr()))
}

pub extern "C" fn cuCtxPopCurrent_v2(context: Out<CUcontext>) -> CuResult {
    call(|driver| {
        let popped = driver.pop_context()?;
        // Who pops may have no use for it.
        _ = context.put(|| Ok(handle(popped)));
        Ok(())
    })
}

pub extern "C" fn cuCtxSetCurrent(context: CUcontext) -> CuResult {
    let context = (!context.is_null()).then(|| context.as_raw().addr());
    call(|driver| driver.set_current_context(context))
}

pub extern "C" fn cuCtxGetCurrent(context: Out<CUcontext>) -> CuResult {
    call(|driver| {
        driver.need_init()?;
        context.put(|| Ok(driver.current_context().map_or(CUcontext::NULL, handle)))
    })
}

pub extern "C" fn cuCtxGetDevice(device: Out<CUdevice>) -> CuResult {
    call(|driver| device.put(|| driver.context().map(|_| CUdevice(0))))
}

pub extern "C" fn cuCtxGetFlags(flags: Out<c_uint>) -> CuResult {
    call(|driver| flags.put(|| driver.context().map(|context| context.flags)))
}

pub extern "C" fn cuCtxGetApiVersion(_context: CUcontext, version: Out<c_uint>) -> CuResult {
    // Of the interface that all of these functions have.
    call(|_| version.put(|| Ok(3020)))
}

pub extern "C" fn cuCtxGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) -> CuResult {
    call(|driver| {
        driver.context()?;
        // Either may be left out.
        _ = least.put(|| Ok(0));
        _ = greatest.put(|| Ok(GREATEST_PRIORITY));
        Ok(())
    })
}

pub extern "C" fn cuCtxSynchronize() -> CuResult {
    call(|driver| driver.synchronize())
}
