//! Host memory that copies on a stream read and write: page-locked, which the card reaches by itself while the host goes on,
//! or pageable, which the driver has to carry. Copies that take no stream are those of [`Buffer`].

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::ops::Range;
use std::panic::Location;
use std::ptr::{self, NonNull};

use cuda_driver::{CUdeviceptr, CuResult};
use cuda_std::abi::Access;
use cuda_std::call::DeviceMemory;

use super::buffer::Element;
use super::error::{check, failure};
use super::log::Operation;
use super::{Buffer, Context, Error, Stream};

/// `len` elements of host memory, at least one. A copy of it may be under way at any time, so it is read and written by
/// copying, and lends no reference. Releasing it waits for the card.
pub struct HostMemory<'c, T: Element, const PAGE_LOCKED: bool> {
    context: &'c Context,
    start: NonNull<T>,
    len: usize,
    id: u64,
    name: String,
    made_at: &'static Location<'static>,
}

/// Page-locked memory (`cuMemAllocHost`): a copy on a stream leaves the host at once.
pub type Pinned<'c, T> = HostMemory<'c, T, true>;

/// Ordinary memory, as any program has: a copy on a stream may hold the host until the driver has carried it.
pub type Pageable<'c, T> = HostMemory<'c, T, false>;

impl<'c, T: Element, const PAGE_LOCKED: bool> HostMemory<'c, T, PAGE_LOCKED> {
    /// Allocates and zeroes. `name` is what messages call it.
    ///
    /// # Errors
    ///
    /// Any error of `cuMemAllocHost`; `CUDA_ERROR_OUT_OF_MEMORY` when the host has not enough.
    #[track_caller]
    pub fn new(context: &'c Context, name: &str, len: usize) -> Result<Self, Error> {
        Ok(HostMemory {
            context,
            start: if PAGE_LOCKED { page_locked(name, len)? } else { pageable(name, len)? },
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
        self.context.note(|| Operation::Host { buffer: self.id, pinned: PAGE_LOCKED, access, bytes });
    }
}

/// Page-locked memory, zeroed.
#[track_caller]
fn page_locked<T: Element>(name: &str, len: usize) -> Result<NonNull<T>, Error> {
    let bytes = len.saturating_mul(size_of::<T>());
    let mut start = ptr::null_mut::<c_void>();
    // SAFETY: `start` is there to be written, and the context is current on this thread.
    let answer = unsafe { cuda_driver::cuMemAllocHost_v2(&mut start, bytes) };
    check("cuMemAllocHost", answer, || format!("allocate `{name}`, {bytes} bytes of page-locked memory"))?;
    let Some(start) = NonNull::new(start.cast::<T>()) else {
        let what = format!("allocate `{name}` of no element");
        return Err(failure("cuMemAllocHost", CuResult::INVALID_VALUE, what, Location::caller()));
    };
    // SAFETY: just allocated with these many bytes, aligned to a page, and nobody else knows of it.
    unsafe { start.write_bytes(0, len) };
    Ok(start)
}

/// Ordinary memory, zeroed.
#[track_caller]
fn pageable<T: Element>(name: &str, len: usize) -> Result<NonNull<T>, Error> {
    let layout = Layout::array::<T>(len).ok().filter(|layout| layout.size() > 0);
    // SAFETY: the layout has a size.
    let start = layout.and_then(|layout| NonNull::new(unsafe { alloc_zeroed(layout) }.cast::<T>()));
    start.ok_or_else(|| {
        let what = format!("allocate `{name}`, {len} elements of host memory");
        failure("alloc", CuResult::OUT_OF_MEMORY, what, Location::caller())
    })
}

impl Stream<'_> {
    /// Copies from host memory to a buffer (`cuMemcpyHtoDAsync`); as many elements as the shorter of them has.
    ///
    /// *Host*: of page-locked memory, returns when the copy is queued; of pageable memory it may wait. It must not write
    /// `from` before the copy is done. *Device*: ordered in this stream.
    ///
    /// # Errors
    ///
    /// Any error of the call, or of earlier work.
    #[track_caller]
    pub fn copy_to_device<T: Element, const PAGE_LOCKED: bool>(
        &self,
        from: &HostMemory<'_, T, PAGE_LOCKED>,
        to: &Buffer<'_, T>,
    ) -> Result<(), Error> {
        self.copy_part_to_device(from, to, 0..from.len())
    }

    /// The same for these elements of both, as far as both have them.
    ///
    /// # Errors
    ///
    /// Any error of the call, or of earlier work.
    #[track_caller]
    pub fn copy_part_to_device<T: Element, const PAGE_LOCKED: bool>(
        &self,
        from: &HostMemory<'_, T, PAGE_LOCKED>,
        to: &Buffer<'_, T>,
        elements: Range<usize>,
    ) -> Result<(), Error> {
        let bytes = common_bytes::<T>(elements, from.len().min(to.len()));
        let stamps = self.stamp_start()?;
        // SAFETY: both hold these bytes, and outlive the copy: releasing either waits for the card.
        let answer = unsafe {
            cuda_driver::cuMemcpyHtoDAsync_v2(
                CUdeviceptr(to.location().address + bytes.start as u64),
                from.start.as_ptr().byte_add(bytes.start).cast(),
                bytes.len(),
                self.raw(),
            )
        };
        check("cuMemcpyHtoDAsync", answer, || self.copying(from.name(), to.name()))?;
        from.context.note(|| Operation::AsyncCopyToDevice {
            stream: self.id(),
            from: from.id,
            pinned: PAGE_LOCKED,
            to: to.location().buffer,
            bytes: bytes.start as u64..bytes.end as u64,
        });
        self.stamp_end(stamps)
    }

    /// Copies from a buffer to host memory (`cuMemcpyDtoHAsync`); as many elements as the shorter of them has.
    ///
    /// *Host*: to page-locked memory, returns when the copy is queued; to pageable memory it may wait. It finds the data in
    /// `to` when the copy is done. *Device*: ordered in this stream.
    ///
    /// # Errors
    ///
    /// Any error of the call, or of earlier work.
    #[track_caller]
    pub fn copy_to_host<T: Element, const PAGE_LOCKED: bool>(
        &self,
        from: &Buffer<'_, T>,
        to: &HostMemory<'_, T, PAGE_LOCKED>,
    ) -> Result<(), Error> {
        self.copy_part_to_host(from, to, 0..to.len())
    }

    /// The same for these elements of both, as far as both have them.
    ///
    /// # Errors
    ///
    /// Any error of the call, or of earlier work.
    #[track_caller]
    pub fn copy_part_to_host<T: Element, const PAGE_LOCKED: bool>(
        &self,
        from: &Buffer<'_, T>,
        to: &HostMemory<'_, T, PAGE_LOCKED>,
        elements: Range<usize>,
    ) -> Result<(), Error> {
        let bytes = common_bytes::<T>(elements, from.len().min(to.len()));
        let stamps = self.stamp_start()?;
        // SAFETY: as for the copy to the device.
        let answer = unsafe {
            cuda_driver::cuMemcpyDtoHAsync_v2(
                to.start.as_ptr().byte_add(bytes.start).cast(),
                CUdeviceptr(from.location().address + bytes.start as u64),
                bytes.len(),
                self.raw(),
            )
        };
        check("cuMemcpyDtoHAsync", answer, || self.copying(from.name(), to.name()))?;
        to.context.note(|| Operation::AsyncCopyToHost {
            stream: self.id(),
            from: from.location().buffer,
            to: to.id,
            pinned: PAGE_LOCKED,
            bytes: bytes.start as u64..bytes.end as u64,
        });
        self.stamp_end(stamps)
    }

    fn copying(&self, from: &str, to: &str) -> String {
        format!("copy `{from}` to `{to}` on `{}`", self.name())
    }
}

/// The bytes of these elements, as far as there are so many of both.
fn common_bytes<T>(elements: Range<usize>, both: usize) -> Range<usize> {
    let end = elements.end.min(both);
    elements.start.min(end) * size_of::<T>()..end * size_of::<T>()
}

impl<T: Element, const PAGE_LOCKED: bool> Drop for HostMemory<'_, T, PAGE_LOCKED> {
    fn drop(&mut self) {
        let what = format!("host memory `{}`", self.name);
        self.context.memory.release(self.id);
        // That freeing it waits is not in the driver's documentation. When the wait fails, nothing runs any more.
        // SAFETY: takes nothing; the context is current on this thread.
        let answer = unsafe { cuda_driver::cuCtxSynchronize() };
        self.context.park("cuCtxSynchronize", answer, &what, self.made_at);
        if PAGE_LOCKED {
            // SAFETY: allocated by `page_locked`, freed once, and no copy of it is under way.
            let answer = unsafe { cuda_driver::cuMemFreeHost(self.start.as_ptr().cast()) };
            self.context.park("cuMemFreeHost", answer, &what, self.made_at);
        } else if let Ok(layout) = Layout::array::<T>(self.len) {
            // SAFETY: allocated by `pageable` with this layout, freed once, and no copy of it is under way.
            unsafe { dealloc(self.start.as_ptr().cast(), layout) };
        }
    }
}
