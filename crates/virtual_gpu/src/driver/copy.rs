//! Copies and fills.

use super::graph::{Movement, Task};
use super::stream::Stream;
use super::{Answer, Driver};
use crate::clock::{Picos, Route};
use crate::memory::Memory;
use cuda_driver::CuResult;
use std::ops::Range;
use std::sync::Arc;

/// Memory of the host that the card reads or writes when its clock gets there.
#[derive(Clone, Copy, Debug)]
pub struct HostMemory(*mut u8);

// SAFETY: a number to this side; who made it has promised that the memory may be used until the work is done.
unsafe impl Send for HostMemory {}
// SAFETY: as for Send; the memory is touched while the card's clock runs, by one thread.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// The memory that begins at `start`.
    ///
    /// # Safety
    ///
    /// It is valid for what the copy that is given it does: readable or writable for the copy's bytes, until the copy is
    /// complete (one that was captured: until the last launch of its graph is), and not in use elsewhere while the card's clock runs, that is within calls of this driver.
    pub unsafe fn new(start: *mut u8) -> Self {
        HostMemory(start)
    }

    fn read(self, part: &Range<u64>, to: &mut [u8]) {
        // SAFETY: the part lies within the copy's bytes, which are readable as `new` was promised.
        unsafe { to.as_mut_ptr().copy_from_nonoverlapping(self.0.add(part.start as usize), to.len()) };
    }

    fn write(self, part: &Range<u64>, from: &[u8]) {
        // SAFETY: the part lies within the copy's bytes, which are writable as `new` was promised.
        unsafe { from.as_ptr().copy_to_nonoverlapping(self.0.add(part.start as usize), from.len()) };
    }
}

/// Whether a call returns before its copy is complete, where it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// It waits.
    Synchronous,
    /// It does not, but from and to page-locked memory only.
    Asynchronous,
}

impl Driver {
    /// `cuMemcpyHtoD` and `cuMemcpyHtoDAsync`. From pageable memory the source is read at the call.
    ///
    /// # Errors
    ///
    /// `INVALID_VALUE` for a range that is not in one allocation; `INVALID_HANDLE`; the error of a kernel.
    pub fn copy_to_device(
        &mut self,
        to: u64,
        from: HostMemory,
        bytes: u64,
        stream: usize,
        completion: Completion,
    ) -> Answer<()> {
        let stream = self.copy_begins(stream, &[(to, bytes)])?;
        if bytes == 0 {
            return Ok(());
        }
        let bus = self.card().bus.clone();
        let read = move |memory: &mut Memory, part: Range<u64>| {
            if let Ok(target) = memory.write(to + part.start, part.end - part.start) {
                from.read(&part, target);
            }
        };
        if self.allocations.is_page_locked(from.0.addr(), bytes) {
            let route = Route::ToDevice(bus.pinned_gb_per_s);
            return self.transfer(stream, movement(route, bytes, read), completion);
        }
        if self.captured(stream)?.is_some() {
            let route = Route::ToDevice(bus.pageable_gb_per_s);
            return self.transfer(stream, movement(route, bytes, read), completion);
        }
        let mut staged = vec![0; bytes as usize];
        from.read(&(0..bytes), &mut staged);
        let staged: Arc<[u8]> = staged.into();
        let put = move |memory: &mut Memory, part: Range<u64>| {
            if let Ok(target) = memory.write(to + part.start, part.end - part.start) {
                target.copy_from_slice(&staged[part.start as usize..part.end as usize]);
            }
        };
        // A small one is staged at once; for a larger one the driver's buffer is needed again and again.
        let completion = match bytes <= bus.staging_bytes {
            true => Completion::Asynchronous,
            false => Completion::Synchronous,
        };
        self.transfer(stream, movement(Route::ToDevice(bus.pageable_gb_per_s), bytes, put), completion)
    }

    /// `cuMemcpyDtoH` and `cuMemcpyDtoHAsync`. To pageable memory it always waits.
    ///
    /// # Errors
    ///
    /// As [`Driver::copy_to_device`].
    pub fn copy_to_host(
        &mut self,
        to: HostMemory,
        from: u64,
        bytes: u64,
        stream: usize,
        completion: Completion,
    ) -> Answer<()> {
        let stream = self.copy_begins(stream, &[(from, bytes)])?;
        if bytes == 0 {
            return Ok(());
        }
        let bus = &self.card().bus;
        let (gb_per_s, completion) = match self.allocations.is_page_locked(to.0.addr(), bytes) {
            true => (bus.pinned_gb_per_s, completion),
            false => (bus.pageable_gb_per_s, Completion::Synchronous),
        };
        let put = move |memory: &mut Memory, part: Range<u64>| {
            if let Ok(source) = memory.read(from + part.start, part.end - part.start) {
                to.write(&part, source);
            }
        };
        self.transfer(stream, movement(Route::ToHost(gb_per_s), bytes, put), completion)
    }

    /// `cuMemcpyDtoD` and `cuMemcpyDtoDAsync`; neither waits.
    ///
    /// # Errors
    ///
    /// As [`Driver::copy_to_device`].
    pub fn copy_within(&mut self, to: u64, from: u64, bytes: u64, stream: usize) -> Answer<()> {
        let stream = self.copy_begins(stream, &[(to, bytes), (from, bytes)])?;
        let copy = move |memory: &mut Memory, part: Range<u64>| {
            // Both ranges are there; see `copy_begins`.
            _ = memory.copy(from + part.start, to + part.start, part.end - part.start);
        };
        let route = Route::Within { from: Some(from), to };
        self.transfer(stream, movement(route, bytes, copy), Completion::Asynchronous)
    }

    /// `cuMemsetD8`, `D16`, `D32` and their asynchronous kin; none waits. The pattern is one, two or four bytes.
    ///
    /// # Errors
    ///
    /// As [`Driver::copy_to_device`], and `INVALID_VALUE` for an address that is no multiple of the pattern's length.
    pub fn fill(&mut self, to: u64, pattern: &[u8], count: u64, stream: usize) -> Answer<()> {
        let width = pattern.len() as u64;
        let bytes =
            count.checked_mul(width).filter(|_| to.is_multiple_of(width)).ok_or(CuResult::INVALID_VALUE)?;
        let stream = self.copy_begins(stream, &[(to, bytes)])?;
        let pattern: Arc<[u8]> = pattern.into();
        let part = move |memory: &mut Memory, part: Range<u64>| {
            // Parts begin at multiples of the pattern's length, which is a power of two.
            if let Ok(target) = memory.write(to + part.start, part.end - part.start) {
                match pattern[..] {
                    [byte] => target.fill(byte),
                    _ => {
                        target.chunks_exact_mut(pattern.len()).for_each(|word| word.copy_from_slice(&pattern))
                    }
                }
            }
        };
        let route = Route::Within { from: None, to };
        self.transfer(stream, movement(route, bytes, part), Completion::Asynchronous)
    }

    /// Checks the ranges on the device, and lets the call's time pass.
    fn copy_begins(&mut self, stream: usize, ranges: &[(u64, u64)]) -> Answer<Stream> {
        let stream = self.stream(stream)?;
        for &(address, bytes) in ranges.iter().filter(|(_, bytes)| *bytes > 0) {
            self.machine.memory().read(address, bytes).map_err(|_| CuResult::INVALID_VALUE)?;
        }
        self.captured(stream)?;
        self.spend(self.card().host.copy_ns)?;
        Ok(stream)
    }

    fn transfer(&mut self, stream: Stream, movement: Movement, completion: Completion) -> Answer<()> {
        if movement.bytes == 0 {
            return Ok(());
        }
        if self.captured(stream)?.is_some() {
            return self.note(stream, Task::Transfer(movement));
        }
        let arrival: Picos = self.arrival();
        let op = self.machine.submit(stream.id, arrival, &[], movement.work());
        match completion {
            Completion::Synchronous => self.wait_for(op),
            Completion::Asynchronous => Ok(()),
        }
    }
}

/// A movement whose every part `part` moves.
fn movement(
    route: Route,
    bytes: u64,
    part: impl Fn(&mut Memory, Range<u64>) + Clone + Send + Sync + 'static,
) -> Movement {
    Movement { route, bytes, make: Arc::new(move || Box::new(part.clone())) }
}
