//! The driver itself, and devices.
#![allow(non_snake_case, reason = "the names are the driver's")]

use super::{Out, call};
use crate::driver::{Answer, device, text};
use cuda_driver::{CUdevice, CUdeviceAttribute, CuResult};
use std::ffi::{CStr, c_char, c_int, c_uint};
use std::ptr;

/// The one device that there is.
pub fn check(device: CUdevice) -> Answer<()> {
    if device == CUdevice(0) { Ok(()) } else { Err(CuResult::INVALID_DEVICE) }
}

pub extern "C" fn cuInit(flags: c_uint) -> CuResult {
    call(|driver| driver.init(flags))
}

pub extern "C" fn cuDriverGetVersion(version: Out<c_int>) -> CuResult {
    call(|driver| version.put(|| Ok(driver.card().driver_version)))
}

pub extern "C" fn cuGetErrorName(code: CuResult, name: Out<*const c_char>) -> CuResult {
    tell(name, text::of(code.code()).map(|(name, _)| name))
}

pub extern "C" fn cuGetErrorString(code: CuResult, text: Out<*const c_char>) -> CuResult {
    tell(text, text::of(code.code()).map(|(_, text)| text))
}

/// Needs no driver: a code can be asked about at any time.
fn tell(place: Out<*const c_char>, text: Option<&'static CStr>) -> CuResult {
    match place.put(|| Ok(text.map_or(ptr::null(), CStr::as_ptr))) {
        Ok(()) if text.is_some() => CuResult::SUCCESS,
        _ => CuResult::INVALID_VALUE,
    }
}

pub extern "C" fn cuDeviceGet(device: Out<CUdevice>, ordinal: c_int) -> CuResult {
    call(|driver| {
        driver.need_init()?;
        device.put(|| check(CUdevice(ordinal)).map(|()| CUdevice(ordinal)))
    })
}

pub extern "C" fn cuDeviceGetCount(count: Out<c_int>) -> CuResult {
    call(|driver| {
        driver.need_init()?;
        count.put(|| Ok(1))
    })
}

/// Room for a string.
#[repr(transparent)]
pub struct Room(*mut c_char);

impl Room {
    /// Writes as much of the text as `len` bytes hold, and a zero.
    fn put(self, text: &str, len: c_int) -> Answer<()> {
        let len = usize::try_from(len).ok().filter(|&len| len > 0 && !self.0.is_null());
        let len = len.ok_or(CuResult::INVALID_VALUE)?;
        let taken = text.len().min(len - 1);
        // SAFETY: not null, and `len` bytes are writable there by the caller's promise; `taken` is less than that.
        unsafe { self.0.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), taken) };
        // SAFETY: as above.
        unsafe { self.0.add(taken).write(0) };
        Ok(())
    }
}

pub extern "C" fn cuDeviceGetName(name: Room, len: c_int, device: CUdevice) -> CuResult {
    call(|driver| {
        driver.need_init()?;
        check(device)?;
        name.put(driver.card().name, len)
    })
}

pub extern "C" fn cuDeviceGetAttribute(
    value: Out<c_int>,
    attribute: CUdeviceAttribute,
    device: CUdevice,
) -> CuResult {
    call(|driver| {
        driver.need_init()?;
        check(device)?;
        value.put(|| device::attribute(driver.card(), attribute))
    })
}

pub extern "C" fn cuDeviceTotalMem_v2(bytes: Out<usize>, device: CUdevice) -> CuResult {
    call(|driver| {
        driver.need_init()?;
        check(device)?;
        bytes.put(|| usize::try_from(driver.card().memory.bytes).map_err(|_| CuResult::INVALID_VALUE))
    })
}
