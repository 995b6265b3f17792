//! Page-locked host memory, which the card reads and writes by itself while the host goes on, and the copies from and to
//! it. Copies of other host memory are synchronous: see [`Buffer`].

use std::ffi::c_void;
use std::panic::Location;
use std::ptr::{self, NonNull};

use cuda_driver::{CUdeviceptr, CuResult};
use cuda_std::abi::Access;
use cuda_std::call::DeviceMemory;

use super::buffer::Element;
use super::error::{check, failure};
use super::log::Operation;
use super::{Buffer, Context, Error, Stream};

/// `len` elements of page-locked host memory, at least one. A copy of it may be under way at any time, so it is read and
/// written by copying, and lends no reference. Releasing it waits for the card.
pub struct Pinned<'c, T: Element> {
    context: &'c Context,
    start: NonNull<T>,
    len: usize,
    id: u64,
    name: String,
    made_at: &'static Location<'static>,
}

impl<'c, T: Element> Pinned<'c, T> {
    /// Allocates (`cuMemAllocHost`) and zeroes. `name` is what messages call it.
    ///
    /// # Errors
    ///
    /// Any error of the call.
    #[track_caller]
    pub fn new(context: &'c Context, name: &str, len: usize) -> Result<Self, Error> {
        let bytes = len.saturating_mul(size_of::<T>());
        let mut start = ptr::null_mut::<c_void>();
        // SAFETY: `start` is there to be written, and the context is current on this thread.
        let answer = unsafe { cuda_driver::cuMemAllocHost_v2(&mut start, bytes) };
        check("cuMemAllocHost", answer, || {
            format!("allocate `{name}`, {bytes} bytes of page-locked memory")
        })?;
        let Some(start) = NonNull::new(start.cast::<T>()) else {
            let what = format!("allocate `{name}` of no element");
            return Err(failure("cuMemAllocHost", CuResult::INVALID_VALUE, what, Location::caller()));
        };
        // SAFETY: just allocated with these many bytes, aligned to a page, and nobody else knows of it.
        unsafe { start.write_bytes(0, len) };
        Ok(Pinned {
            context,
            start,
            len,
            id: context.identify(name),
            name: name.to_owned(),
            made_at: Location::caller(),
        })
    }

    /// The name that messages use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Elements.
    #[expect(clippy::len_without_is_empty, reason = "the memory has at least one element")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Bytes.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// Writes `data` to its start, now; as many elements as the shorter of the two has. A copy that is under way may see the
    /// old value of an element or the new one.
    #[track_caller]
    pub fn write(&self, data: &[T]) {
        for (i, &value) in data.iter().take(self.len).enumerate() {
            // SAFETY: the element is within the allocation. What the card does to it meanwhile is outside the program, as
            // for memory of a device, which is what volatile accesses are for.
            unsafe { self.start.add(i).write_volatile(value) };
        }
        self.note(Access::Write, size_of_val(data));
    }

    /// What is in it now. Of an element that a copy is writing it may be the old value or the new one.
    #[track_caller]
    pub fn read(&self) -> Vec<T> {
        // SAFETY: as for `write`; every bit pattern is a value of an `Element`.
        let data = (0..self.len).map(|i| unsafe { self.start.add(i).read_volatile() }).collect();
        self.note(Access::Read, self.bytes());
        data
    }

    #[track_caller]
    fn note(&self, access: Access, bytes: usize) {
        let bytes = bytes.min(self.bytes()) as u64;
        self.context.note(|| Operation::Host { buffer: self.id, access, bytes });
    }
}

impl Stream<'_> {
    /// Copies from page-locked memory to a buffer (`cuMemcpyHtoDAsync`); as many bytes as the shorter of them has.
    ///
    /// *Host*: returns when the copy is queued, and must not write `from` before the copy is done. *Device*: ordered in this
    /// stream.
    ///
    /// # Errors
    ///
    /// Any error of the call, or of earlier work.
    #[track_caller]
    pub fn copy_to_device<T: Element>(&self, from: &Pinned<'_, T>, to: &Buffer<'_, T>) -> Result<(), Error> {
        let target = to.location();
        let bytes = from.bytes().min(to.bytes());
        // SAFETY: both hold that many bytes, and outlive the copy: releasing either waits for the card.
        let answer = unsafe {
            cuda_driver::cuMemcpyHtoDAsync_v2(
                CUdeviceptr(target.address),
                from.start.as_ptr().cast(),
                bytes,
                self.raw(),
            )
        };
        check("cuMemcpyHtoDAsync", answer, || self.copying(from.name(), to.name()))?;
        from.context.note(|| Operation::CopyFromPinned {
            stream: self.id(),
            from: from.id,
            to: target.buffer,
            bytes: bytes as u64,
        });
        Ok(())
    }

    /// Copies from a buffer to page-locked memory (`cuMemcpyDtoHAsync`); as many bytes as the shorter of them has.
    ///
    /// *Host*: returns when the copy is queued, and finds the data in `to` when the copy is done. *Device*: ordered in this
    /// stream.
    ///
    /// # Errors
    ///
    /// Any error of the call, or of earlier work.
    #[track_caller]
    pub fn copy_to_host<T: Element>(&self, from: &Buffer<'_, T>, to: &Pinned<'_, T>) -> Result<(), Error> {
        let source = from.location();
        let bytes = from.bytes().min(to.bytes());
        // SAFETY: as for `copy_to_device`.
        let answer = unsafe {
            cuda_driver::cuMemcpyDtoHAsync_v2(
                to.start.as_ptr().cast(),
                CUdeviceptr(source.address),
                bytes,
                self.raw(),
            )
        };
        check("cuMemcpyDtoHAsync", answer, || self.copying(from.name(), to.name()))?;
        to.context.note(|| Operation::CopyToPinned {
            stream: self.id(),
            from: source.buffer,
            to: to.id,
            bytes: bytes as u64,
        });
        Ok(())
    }

    fn copying(&self, from: &str, to: &str) -> String {
        format!("copy `{from}` to `{to}` on `{}`", self.name())
    }
}

impl<T: Element> Drop for Pinned<'_, T> {
    fn drop(&mut self) {
        let what = format!("page-locked `{}`", self.name);
        // That freeing it waits is not in the driver's documentation. When the wait fails, nothing runs any more.
        // SAFETY: takes nothing; the context is current on this thread.
        let answer = unsafe { cuda_driver::cuCtxSynchronize() };
        self.context.park("cuCtxSynchronize", answer, &what, self.made_at);
        // SAFETY: allocated by `new`, freed once, and no copy of it is under way.
        let answer = unsafe { cuda_driver::cuMemFreeHost(self.start.as_ptr().cast()) };
        self.context.park("cuMemFreeHost", answer, &what, self.made_at);
    }
}
