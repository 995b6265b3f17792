//! `cust`'s own calls end in the functions that the table was filled with. One process, one filling.

use cuda_driver::{CuResult, MissingSymbol, Symbol, fill, take_missing};
use cust::CudaFlags;
use cust::device::Device;
use cust::error::CudaError;
use cust::memory::{CopyDestination, DeviceBuffer};
use cust::stream::{Stream, StreamFlags};
use std::alloc::{Layout, alloc, dealloc};
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::{NonNull, copy_nonoverlapping, null_mut};

/// What the stand-in driver allocates, whatever it is asked for.
const MEMORY: Layout = Layout::new::<[u64; 64]>();

extern "C" fn init(_flags: c_uint) -> CuResult {
    CuResult::SUCCESS
}
unsafe extern "C" fn device_get_count(count: *mut c_int) -> CuResult {
    // SAFETY: `cust` passes a place for the result, here and below.
    unsafe { *count = 3 };
    CuResult::SUCCESS
}
unsafe extern "C" fn device_get(device: *mut c_int, ordinal: c_int) -> CuResult {
    // SAFETY: see `device_get_count`.
    unsafe { *device = ordinal };
    CuResult::SUCCESS
}
unsafe extern "C" fn device_get_name(name: *mut c_char, len: c_int, _device: c_int) -> CuResult {
    let text = c"a card of straw";
    assert!(text.count_bytes() < len as usize);
    // SAFETY: `name` has `len` bytes, which are enough.
    unsafe { copy_nonoverlapping(text.as_ptr(), name, text.count_bytes() + 1) };
    CuResult::SUCCESS
}
unsafe extern "C" fn mem_alloc(address: *mut u64, bytes: usize) -> CuResult {
    assert!(bytes <= MEMORY.size());
    // SAFETY: the layout is not empty; for the result see `device_get_count`.
    unsafe { *address = alloc(MEMORY) as u64 };
    CuResult::SUCCESS
}
unsafe extern "C" fn mem_free(address: u64) -> CuResult {
    // SAFETY: `cust` frees what `mem_alloc` gave it.
    unsafe { dealloc(address as *mut u8, MEMORY) };
    CuResult::SUCCESS
}
unsafe extern "C" fn copy_to_device(to: u64, from: *const u8, bytes: usize) -> CuResult {
    // SAFETY: `to` is from `mem_alloc`, which checked the size; `from` is a slice's.
    unsafe { copy_nonoverlapping(from, to as *mut u8, bytes) };
    CuResult::SUCCESS
}
unsafe extern "C" fn copy_to_host(to: *mut u8, from: u64, bytes: usize) -> CuResult {
    // SAFETY: as in `copy_to_device`.
    unsafe { copy_nonoverlapping(from as *const u8, to, bytes) };
    CuResult::SUCCESS
}

#[test]
fn cust_calls_the_functions_of_the_table() {
    let function = |symbol| {
        NonNull::new(match symbol {
            Symbol::cuInit => init as *mut c_void,
            Symbol::cuDeviceGetCount => device_get_count as *mut c_void,
            Symbol::cuDeviceGet => device_get as *mut c_void,
            Symbol::cuDeviceGetName => device_get_name as *mut c_void,
            Symbol::cuMemAlloc_v2 => mem_alloc as *mut c_void,
            Symbol::cuMemFree_v2 => mem_free as *mut c_void,
            Symbol::cuMemcpyHtoD_v2 => copy_to_device as *mut c_void,
            Symbol::cuMemcpyDtoH_v2 => copy_to_host as *mut c_void,
            _ => null_mut(),
        })
    };

    assert!(cust::init(CudaFlags::empty()).is_err());
    assert_eq!(take_missing(), Some(MissingSymbol::NotFilled(Symbol::cuInit)));

    // SAFETY: the functions have the driver's signatures, and the memory they give is real.
    unsafe { fill(function) };
    cust::init(CudaFlags::empty()).unwrap();
    assert_eq!(Device::num_devices().unwrap(), 3);
    assert_eq!(Device::get_device(2).unwrap().name().unwrap(), "a card of straw");

    let sent = [1.5_f32, -2.0, f32::MAX];
    let buffer = DeviceBuffer::from_slice(&sent).unwrap();
    let mut received = [0.0; 3];
    buffer.copy_to(&mut received).unwrap();
    assert_eq!(received, sent);

    // A code that `cust` gives no name; who was missing is told here.
    assert_eq!(Stream::new(StreamFlags::DEFAULT, None).unwrap_err(), CudaError::UnknownError);
    assert_eq!(take_missing(), Some(MissingSymbol::NotInDriver(Symbol::cuStreamCreateWithPriority)));
}
