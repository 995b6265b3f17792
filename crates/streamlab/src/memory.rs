//! Device memory and host memory, as claims on what the context owns. Dropping a buffer gives up its claim; the context frees
//! memory when the last claim is gone, after all work is done. Copies between them on a stream are [`Stream`](crate::Stream)'s.

use std::alloc::{Layout, alloc_zeroed};
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::panic::Location;
use std::ptr::NonNull;

use bytemuck::Pod;
use cuda_driver::CuResult;
use cuda_std::call::{DeviceMemory, Location as DeviceLocation};
use cust::memory::{DeviceCopy, DevicePointer};
use stream_order::program::{Action, BufferId, Copy, Memory, Memset, Mode, Span, Text, ThreadId};

use crate::context::{Context, out_of_memory};
use crate::error::{Doing, Error, failure};
use crate::floor::{self, DeviceSpan, Failed, HostSpan, Owned, RawStream};
use crate::in_flight;
use crate::record::{LEGACY, span_at};

/// `len` elements in device memory, at least one byte. The elements are plain old data, for which every bit pattern is a value.
#[derive(Debug)]
pub struct DeviceBuffer<'c, T: Pod> {
    context: &'c Context,
    address: u64,
    len: usize,
    id: BufferId,
    name: String,
    elements: PhantomData<T>,
}

impl<'c, T: Pod> DeviceBuffer<'c, T> {
    /// Allocates (`cuMemAlloc`). What is in it is unspecified until something is written. `name` is what messages call it.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] when the device has too little, [`Error::NoBytes`] for no element; any other error of the call.
    #[track_caller]
    pub fn new(context: &'c Context, name: &str, len: usize) -> Result<Self, Error> {
        context.bind()?;
        let bytes = bytes_of::<T>(name, len)?;
        let address = match floor::memory_alloc(bytes) {
            Ok(address) => address.0,
            Err(failed) => return Err(out_of_memory(name, bytes, failed)),
        };
        let id = context.own(name, Memory::Device, Owned::Device(address));
        Ok(DeviceBuffer { context, address, len, id, name: name.to_owned(), elements: PhantomData })
    }

    /// Allocates, copies `data` to it, and waits until the device has it: whatever is submitted afterwards, on any stream, finds
    /// the data.
    ///
    /// # Errors
    ///
    /// Those of [`DeviceBuffer::new`] and [`DeviceBuffer::copy_from`].
    #[track_caller]
    pub fn from_slice(context: &'c Context, name: &str, data: &[T]) -> Result<Self, Error> {
        let buffer = DeviceBuffer::new(context, name, data.len())?;
        buffer.copy_from(data)?;
        Ok(buffer)
    }

    /// Allocates, sets every byte to zero, and waits until that is done.
    ///
    /// # Errors
    ///
    /// Those of [`DeviceBuffer::new`], and any error of the memset.
    #[track_caller]
    pub fn zeroed(context: &'c Context, name: &str, len: usize) -> Result<Self, Error> {
        let buffer = DeviceBuffer::new(context, name, len)?;
        buffer.memset_zeros()?;
        buffer.wait_for_legacy_stream()?;
        Ok(buffer)
    }

    /// Returns the name that messages use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of elements.
    #[expect(clippy::len_without_is_empty, reason = "a buffer has at least one element")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// Copies from the host (`cuMemcpyHtoD`), as many elements as the shorter of the two has, and waits until the device has them
    /// (`cuStreamSynchronize` of the legacy default stream): the driver's call alone may return before that.
    ///
    /// *Device*: on the legacy default stream, so after and before the work of blocking streams, and unordered with work that is
    /// already on a non-blocking one.
    ///
    /// # Errors
    ///
    /// Any error of the calls, or of earlier work.
    #[track_caller]
    pub fn copy_from(&self, data: &[T]) -> Result<(), Error> {
        self.context.bind()?;
        let bytes = size_of_val(data).min(self.bytes());
        let (to, from) = (device_span(&self.location(), bytes), host_span(NonNull::from(data), bytes));
        floor::copy_to_device(to, from).doing(|| format!("copy {bytes} bytes to `{}`", self.name))?;
        self.note_host_copy(bytes as u64, true);
        self.wait_for_legacy_stream()
    }

    /// Copies to the host (`cuMemcpyDtoH`), as many elements as the shorter of the two has.
    ///
    /// *Host*: returns when `data` is filled. *Device*: as for [`DeviceBuffer::copy_from`].
    ///
    /// # Errors
    ///
    /// Any error of the call, or of earlier work.
    #[track_caller]
    pub fn copy_to(&self, data: &mut [T]) -> Result<(), Error> {
        self.context.bind()?;
        let bytes = size_of_val(data).min(self.bytes());
        let (to, from) = (host_span(NonNull::from(data), bytes), device_span(&self.location(), bytes));
        floor::copy_to_host(to, from).doing(|| format!("copy {bytes} bytes from `{}`", self.name))?;
        self.note_host_copy(bytes as u64, false);
        Ok(())
    }

    /// Copies all elements to the host (`cuMemcpyDtoH`) and returns them.
    ///
    /// # Errors
    ///
    /// Those of [`DeviceBuffer::copy_to`].
    #[track_caller]
    pub fn to_vec(&self) -> Result<Vec<T>, Error> {
        let mut data = vec![T::zeroed(); self.len];
        self.copy_to(&mut data)?;
        Ok(data)
    }

    /// Sets every byte to zero (`cuMemsetD8`).
    ///
    /// *Host*: returns before it is done. *Device*: on the legacy default stream, as for [`DeviceBuffer::copy_from`].
    ///
    /// # Errors
    ///
    /// Any error of the call, or of earlier work.
    #[track_caller]
    pub fn memset_zeros(&self) -> Result<(), Error> {
        self.context.bind()?;
        let at = self.location();
        floor::memset_zeros(device_span(&at, self.bytes()))
            .doing(|| format!("set `{}` to zero", self.name))?;
        self.context.note(|| {
            let to = span_at(&at, self.bytes() as u64);
            Action::Memset(Memset { stream: LEGACY, to, is_async: false })
        });
        Ok(())
    }

    /// Returns these elements, as far as there are so many.
    pub fn slice(&self, elements: impl RangeBounds<usize>) -> DeviceSlice<'_, T> {
        let (start, len) = within(elements, self.len);
        DeviceSlice { buffer: self, start, len }
    }

    /// Returns the address, for code that launches through `cust`. Such a launch is in no log.
    pub fn as_device_ptr(&self) -> DevicePointer<T>
    where
        T: DeviceCopy,
    {
        DevicePointer::from_raw(self.address)
    }

    #[track_caller]
    fn wait_for_legacy_stream(&self) -> Result<(), Error> {
        floor::stream_synchronize(&RawStream::LEGACY).doing(|| format!("wait for `{}`", self.name))?;
        in_flight::done(LEGACY);
        self.context.note(|| Action::SynchronizeStream { stream: LEGACY });
        Ok(())
    }

    /// Notes a copy from or to host memory by a call without a stream.
    #[track_caller]
    fn note_host_copy(&self, bytes: u64, to_device: bool) {
        self.context.note_as(Text::Borrowed(""), ThreadId::default(), |recording| {
            let host = recording.anonymous_host(self.context.anonymous(), bytes);
            let device = span_at(&self.location(), bytes);
            let (from, to) = if to_device { (host, device) } else { (device, host) };
            Action::Copy(Copy { stream: LEGACY, from, to, is_async: false })
        });
    }
}

// SAFETY: the context owns the memory until this claim is gone and all work is done; the driver's addresses are never null, and
// aligned for every type.
unsafe impl<T: Pod> DeviceMemory<T> for DeviceBuffer<'_, T> {
    fn location(&self) -> DeviceLocation {
        DeviceLocation { buffer: self.id.0, address: self.address, offset_bytes: 0, elements: self.len }
    }
}

impl<T: Pod> Drop for DeviceBuffer<'_, T> {
    fn drop(&mut self) {
        self.context.unclaim(self.id.0);
    }
}

/// Consecutive elements of a device buffer.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSlice<'b, T: Pod> {
    buffer: &'b DeviceBuffer<'b, T>,
    start: usize,
    len: usize,
}

// SAFETY: the elements are the buffer's, and the slice borrows it.
unsafe impl<T: Pod> DeviceMemory<T> for DeviceSlice<'_, T> {
    fn location(&self) -> DeviceLocation {
        let whole = self.buffer.location();
        let offset_bytes = (self.start * size_of::<T>()) as u64;
        DeviceLocation { address: whole.address + offset_bytes, offset_bytes, elements: self.len, ..whole }
    }
}

/// `len` elements of host memory that copies on a stream read and write. A copy may be in flight at any time, so the memory is
/// read and written by copying, and lends no reference.
#[derive(Debug)]
pub struct HostBuffer<'c, T: Pod, const PINNED: bool> {
    context: &'c Context,
    start: NonNull<T>,
    len: usize,
    id: BufferId,
    name: String,
}

/// Page-locked memory (`cuMemAllocHost`): an asynchronous copy returns at once, and runs beside other work.
pub type PinnedBuffer<'c, T> = HostBuffer<'c, T, true>;

/// Pageable memory, as any program has: an asynchronous copy may block the host thread until the driver has staged it.
pub type PageableBuffer<'c, T> = HostBuffer<'c, T, false>;

impl<'c, T: Pod, const PINNED: bool> HostBuffer<'c, T, PINNED> {
    /// Allocates and sets to zero. `name` is what messages call it.
    ///
    /// # Errors
    ///
    /// Any error of `cuMemAllocHost`; `CUDA_ERROR_OUT_OF_MEMORY` when the host has too little; [`Error::NoBytes`].
    #[track_caller]
    pub fn new(context: &'c Context, name: &str, len: usize) -> Result<Self, Error> {
        context.bind()?;
        let bytes = bytes_of::<T>(name, len)?;
        let (start, kind) = if PINNED {
            let start = floor::memory_alloc_host(bytes)
                .doing(|| format!("allocate `{name}`, {bytes} bytes of page-locked memory"))?;
            let start = NonNull::new(start).ok_or_else(|| no_host_memory(name, bytes))?;
            (start.cast::<T>(), Owned::Pinned(start))
        } else {
            let layout = Layout::array::<T>(len).map_err(|_| no_host_memory(name, bytes))?;
            // SAFETY: the layout has at least one byte.
            let start =
                NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or_else(|| no_host_memory(name, bytes))?;
            (start.cast::<T>(), Owned::Pageable(start.cast(), layout))
        };
        let memory = if PINNED { Memory::Pinned } else { Memory::Pageable };
        let id = context.own(name, memory, kind);
        let buffer = HostBuffer { context, start, len, id, name: name.to_owned() };
        if PINNED {
            buffer.store(std::iter::repeat_n(T::zeroed(), len));
        }
        Ok(buffer)
    }

    /// Allocates, and copies `data` to it.
    ///
    /// # Errors
    ///
    /// Those of [`HostBuffer::new`].
    #[track_caller]
    pub fn from_slice(context: &'c Context, name: &str, data: &[T]) -> Result<Self, Error> {
        let buffer = HostBuffer::new(context, name, data.len())?;
        buffer.write(data);
        Ok(buffer)
    }

    /// Returns the name that messages use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the number of elements.
    #[expect(clippy::len_without_is_empty, reason = "the memory has at least one element")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the number of bytes.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// Writes `data` to its start, now; as many elements as the shorter of the two has. A copy in flight may see the old value
    /// of an element or the new one; the checker reports that.
    #[track_caller]
    pub fn write(&self, data: &[T]) {
        self.store(data.iter().copied());
        self.note(Mode::Write, size_of_val(data));
    }

    /// Writes the elements in order, as many as there is room for.
    fn store(&self, data: impl Iterator<Item = T>) {
        for (i, value) in data.take(self.len).enumerate() {
            // SAFETY: the element is within the allocation. What the device does to it meanwhile is outside the program, as for
            // memory of a device, which is what volatile accesses are for.
            unsafe { self.start.add(i).write_volatile(value) };
        }
    }

    /// Returns what is in it now. An element that a copy is writing has the old value or the new one; the checker reports that.
    #[track_caller]
    pub fn read(&self) -> Vec<T> {
        // SAFETY: as for `store`; every bit pattern is a value of plain old data.
        let data = (0..self.len).map(|i| unsafe { self.start.add(i).read_volatile() }).collect();
        self.note(Mode::Read, self.bytes());
        data
    }

    /// Returns these elements, as far as there are so many.
    pub fn slice(&self, elements: impl RangeBounds<usize>) -> HostSlice<'_, T> {
        let (start, len) = within(elements, self.len);
        let bytes = start * size_of::<T>()..(start + len) * size_of::<T>();
        HostSlice { host: self.whole(), bytes, elements: PhantomData }
    }

    fn whole(&self) -> Host<'_> {
        Host { id: self.id, name: &self.name, start: self.start.cast() }
    }

    #[track_caller]
    fn note(&self, mode: Mode, bytes: usize) {
        let bytes = bytes.min(self.bytes()) as u64;
        self.context.note(|| Action::Host { span: Span { buffer: self.id, bytes: 0..bytes }, mode });
    }
}

impl<T: Pod, const PINNED: bool> Drop for HostBuffer<'_, T, PINNED> {
    fn drop(&mut self) {
        self.context.unclaim(self.id.0);
    }
}

/// A host buffer without its type.
#[derive(Clone, Copy, Debug)]
struct Host<'b> {
    id: BufferId,
    name: &'b str,
    start: NonNull<u8>,
}

/// Consecutive elements of a host buffer.
#[derive(Clone, Debug)]
pub struct HostSlice<'b, T: Pod> {
    host: Host<'b>,
    bytes: std::ops::Range<usize>,
    elements: PhantomData<T>,
}

/// Host memory that a copy on a stream may read and write: a [`PinnedBuffer`], a [`PageableBuffer`], or a [`HostSlice`] of one.
pub trait HostMemory<T: Pod>: sealed::Sealed {
    /// Returns the elements.
    #[doc(hidden)]
    fn part(&self) -> HostSlice<'_, T>;
}

mod sealed {
    pub trait Sealed {}
}

impl<T: Pod, const PINNED: bool> sealed::Sealed for HostBuffer<'_, T, PINNED> {}
impl<T: Pod, const PINNED: bool> HostMemory<T> for HostBuffer<'_, T, PINNED> {
    fn part(&self) -> HostSlice<'_, T> {
        self.slice(..)
    }
}

impl<T: Pod> sealed::Sealed for HostSlice<'_, T> {}
impl<T: Pod> HostMemory<T> for HostSlice<'_, T> {
    fn part(&self) -> HostSlice<'_, T> {
        self.clone()
    }
}

impl<T: Pod> HostSlice<'_, T> {
    pub(crate) fn id(&self) -> BufferId {
        self.host.id
    }

    pub(crate) fn name(&self) -> &str {
        self.host.name
    }

    /// The memory, for a call.
    pub(crate) fn span(&self) -> HostSpan {
        // SAFETY: the bytes are within the buffer. The context owns it until its last claim is gone and all work is done. It was
        // set to zero, and is read and written by volatile accesses only, so the device may write it at any time.
        unsafe { HostSpan::new(self.host.start.add(self.bytes.start).cast(), self.bytes.len()) }
    }

    /// The first `bytes` bytes of the elements, for the log.
    pub(crate) fn noted(&self, bytes: u64) -> Span {
        let start = self.bytes.start as u64;
        Span { buffer: self.host.id, bytes: start..start + bytes }
    }
}

/// The first `bytes` bytes at a location, for a call.
pub(crate) fn device_span(location: &DeviceLocation, bytes: usize) -> DeviceSpan {
    // SAFETY: the implementor of `DeviceMemory` vouches for its elements. What this crate owns stays until all work is done; what
    // `cust` owns it frees through the driver's table, where `floor` waits for all work first.
    unsafe { DeviceSpan::new(location.address, bytes) }
}

/// Host data that is borrowed, for a call that waits: alone where the call writes it.
fn host_span<T: Pod>(start: NonNull<[T]>, bytes: usize) -> HostSpan {
    // SAFETY: both callers pass a slice that they borrow until the one call that gets this span has returned; every bit pattern is a
    // value of plain old data.
    unsafe { HostSpan::new(start.cast(), bytes) }
}

#[track_caller]
fn bytes_of<T>(name: &str, len: usize) -> Result<usize, Error> {
    match len.saturating_mul(size_of::<T>()) {
        0 => Err(Error::NoBytes { name: name.to_owned(), at: Location::caller() }),
        bytes => Ok(bytes),
    }
}

#[cold]
#[track_caller]
fn no_host_memory(name: &str, bytes: usize) -> Error {
    let what = format!("allocate `{name}`, {bytes} bytes of host memory");
    failure(Failed { call: "alloc", code: CuResult::OUT_OF_MEMORY }, what, Location::caller())
}

/// Returns start and length of a range, as far as `len` elements reach.
fn within(elements: impl RangeBounds<usize>, len: usize) -> (usize, usize) {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let end = match elements.end_bound() {
        Included(&last) => last.saturating_add(1).min(len),
        Excluded(&end) => end.min(len),
        Unbounded => len,
    };
    let start = match elements.start_bound() {
        Included(&start) => start.min(end),
        Excluded(&before) => before.saturating_add(1).min(end),
        Unbounded => 0,
    };
    (start, end - start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_reaches_no_further_than_there_are_elements() {
        assert_eq!(within(.., 5), (0, 5));
        assert_eq!(within(1..3, 5), (1, 2));
        assert_eq!(within(1..=3, 5), (1, 3));
        assert_eq!(within(3..99, 5), (3, 2));
        assert_eq!(within(7..9, 5), (5, 0));
        #[expect(clippy::reversed_empty_ranges, reason = "that is the case")]
        let reversed = within(4..2, 5);
        assert_eq!(reversed, (2, 0));
        assert_eq!(within(..=usize::MAX, 5), (0, 5));
    }
}
