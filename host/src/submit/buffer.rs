//! Device memory that the program owns.

use std::mem::ManuallyDrop;
use std::ops::Range;
use std::panic::Location;

use cuda_driver::{CUdeviceptr, CuResult};
use cuda_std::call::{DeviceMemory, Location as DeviceLocation};
use cust::error::CudaError;
use cust::memory::{DeviceBuffer, DeviceCopy};

use super::error::{check, check_cust};
use super::last_error::LastError;
use super::log::Operation;
use super::{Context, Error};

/// What a buffer may hold: numbers, for which every bit pattern is a value.
pub trait Element: DeviceCopy + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! element {
    ($($type:ty)*) => {$(
        impl sealed::Sealed for $type {}
        impl Element for $type {}
    )*};
}

element! { u8 i8 u16 i16 u32 i32 f32 u64 i64 f64 }

/// `len` elements in device memory, at least one. Releasing it waits for the card (`cuMemFree`).
pub struct Buffer<'c, T: Element> {
    context: &'c Context,
    memory: ManuallyDrop<DeviceBuffer<T>>,
    id: u64,
    name: String,
    made_at: &'static Location<'static>,
}

impl<'c, T: Element> Buffer<'c, T> {
    /// Allocates (`cuMemAlloc`). What is in it is unspecified until something is written. `name` is what messages call
    /// it.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] when the card has not enough; any other error of the call.
    #[track_caller]
    pub fn new(context: &'c Context, name: &str, len: usize) -> Result<Self, Error> {
        // SAFETY: every bit pattern is a value of an `Element`, so memory that nobody wrote is one too.
        let memory = match unsafe { DeviceBuffer::uninitialized(len) } {
            Err(CudaError::OutOfMemory) => return Err(out_of_memory(name, len * size_of::<T>())),
            answer => check_cust("cuMemAlloc", answer, || format!("allocate `{name}`"))?,
        };
        Ok(Buffer {
            context,
            memory: ManuallyDrop::new(memory),
            id: context.identify(name),
            name: name.to_owned(),
            made_at: Location::caller(),
        })
    }

    /// Allocates and copies `data` to it.
    ///
    /// # Errors
    ///
    /// Those of [`Buffer::new`] and [`Buffer::copy_from`].
    #[track_caller]
    pub fn from_slice(context: &'c Context, name: &str, data: &[T]) -> Result<Self, Error> {
        let buffer = Buffer::new(context, name, data.len())?;
        buffer.copy_from(data)?;
        Ok(buffer)
    }

    /// The name that messages use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Elements.
    #[expect(clippy::len_without_is_empty, reason = "a buffer has at least one element")]
    pub fn len(&self) -> usize {
        self.memory.len()
    }

    /// Bytes.
    pub fn bytes(&self) -> usize {
        self.memory.len() * size_of::<T>()
    }

    /// Copies from the host (`cuMemcpyHtoD`); as many elements as the shorter of the two has.
    ///
    /// *Host*: returns when `data` may be used again. *Device*: on the legacy default stream, so after and before the
    /// work of blocking streams, and unordered with non-blocking ones.
    ///
    /// # Errors
    ///
    /// Any error of the call, or of earlier work.
    #[track_caller]
    pub fn copy_from(&self, data: &[T]) -> Result<(), Error> {
        let bytes = size_of_val(data).min(self.bytes());
        // SAFETY: `bytes` are readable at `data` and belong to the buffer at its address.
        let answer = unsafe { cuda_driver::cuMemcpyHtoD_v2(self.address(), data.as_ptr().cast(), bytes) };
        check("cuMemcpyHtoD", answer, || format!("copy {bytes} bytes to `{}`", self.name))?;
        self.context.note(|| Operation::CopyToDevice { buffer: self.id, bytes: bytes as u64 });
        Ok(())
    }

    /// Copies to the host (`cuMemcpyDtoH`); as many elements as the shorter of the two has.
    ///
    /// *Host*: returns when `data` is filled. *Device*: as for [`Buffer::copy_from`].
    ///
    /// # Errors
    ///
    /// Any error of the call, or of earlier work.
    #[track_caller]
    pub fn copy_to(&self, data: &mut [T]) -> Result<(), Error> {
        let bytes = size_of_val(data).min(self.bytes());
        // SAFETY: `bytes` are writable at `data`, belong to the buffer at its address, and whatever they are they are
        // values of an `Element`.
        let answer = unsafe { cuda_driver::cuMemcpyDtoH_v2(data.as_mut_ptr().cast(), self.address(), bytes) };
        check("cuMemcpyDtoH", answer, || format!("copy {bytes} bytes from `{}`", self.name))?;
        self.context.note(|| Operation::CopyToHost { buffer: self.id, bytes: bytes as u64 });
        Ok(())
    }

    /// Sets every byte to zero (`cuMemsetD8`).
    ///
    /// *Host*: returns before it is done. *Device*: as for [`Buffer::copy_from`].
    ///
    /// # Errors
    ///
    /// Any error of the call, or of earlier work.
    #[track_caller]
    pub fn zero(&self) -> Result<(), Error> {
        let bytes = self.bytes();
        // SAFETY: the address and the length are the buffer's own.
        let answer = unsafe { cuda_driver::cuMemsetD8_v2(self.address(), 0, bytes) };
        check("cuMemsetD8", answer, || format!("zero `{}`", self.name))?;
        self.context.note(|| Operation::FillByDefault { buffer: self.id, bytes: bytes as u64 });
        Ok(())
    }

    /// The first `elements` elements, or all when there are fewer.
    pub fn first(&self, elements: usize) -> View<'_, T> {
        self.part(0..elements)
    }

    /// These elements, as far as there are so many.
    pub fn part(&self, elements: Range<usize>) -> View<'_, T> {
        let end = elements.end.min(self.memory.len());
        let start = elements.start.min(end);
        View { buffer: self, start, elements: end - start }
    }

    fn address(&self) -> CUdeviceptr {
        CUdeviceptr(self.memory.as_device_ptr().as_raw())
    }
}

// SAFETY: the buffer owns its memory from `new` to `drop`; the driver's addresses are never null, and aligned for every
// number.
unsafe impl<T: Element> DeviceMemory<T> for Buffer<'_, T> {
    fn location(&self) -> DeviceLocation {
        DeviceLocation {
            buffer: self.id,
            address: self.memory.as_device_ptr().as_raw(),
            offset_bytes: 0,
            elements: self.memory.len(),
        }
    }
}

/// A part of a buffer, for a kernel that shall reach no more.
pub struct View<'b, T: Element> {
    buffer: &'b Buffer<'b, T>,
    start: usize,
    elements: usize,
}

// SAFETY: the elements are the buffer's, and the view borrows it.
unsafe impl<T: Element> DeviceMemory<T> for View<'_, T> {
    fn location(&self) -> DeviceLocation {
        let whole = self.buffer.location();
        let offset_bytes = (self.start * size_of::<T>()) as u64;
        DeviceLocation {
            address: whole.address + offset_bytes,
            offset_bytes,
            elements: self.elements,
            ..whole
        }
    }
}

impl<T: Element> Drop for Buffer<'_, T> {
    fn drop(&mut self) {
        self.context.memory.release(self.id);
        // SAFETY: taken once, here, and not used after.
        let memory = unsafe { ManuallyDrop::take(&mut self.memory) };
        let answer = match DeviceBuffer::drop(memory) {
            Ok(()) => CuResult::SUCCESS,
            Err((code, memory)) => {
                // A second attempt at the same free would only fail again.
                std::mem::forget(memory);
                CuResult::from_code(code as u32)
            }
        };
        self.context.park("cuMemFree", answer, &format!("buffer `{}`", self.name), self.made_at);
    }
}

#[cold]
#[track_caller]
fn out_of_memory(name: &str, needed: usize) -> Error {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both are there to be written; when the call fails they stay 0.
    _ = unsafe { cuda_driver::cuMemGetInfo_v2(&mut free, &mut total) };
    LastError::note(CuResult::OUT_OF_MEMORY.code(), "CUDA_ERROR_OUT_OF_MEMORY", Location::caller());
    Error::OutOfMemory {
        what: format!("buffer `{name}`"),
        needed_bytes: needed as u64,
        free_bytes: free as u64,
    }
}
