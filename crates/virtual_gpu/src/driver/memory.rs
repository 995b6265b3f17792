//! Device memory, and page-locked memory of the host.

use super::{Answer, Driver};
use cuda_driver::CuResult;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::ptr::NonNull;

/// Page-locked memory begins at multiples of this, as the driver's does.
const PAGE: usize = 4096;

/// The allocations that programs made, by their first address, each with the handle of its context.
#[derive(Default)]
pub struct Allocations {
    device: BTreeMap<u64, usize>,
    host: BTreeMap<usize, (HostBlock, usize)>,
}

/// Page-locked memory that lives as long as this.
struct HostBlock {
    start: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the block owns its memory and touches it only to free it.
unsafe impl Send for HostBlock {}

impl HostBlock {
    fn new(bytes: usize) -> Option<Self> {
        let layout = Layout::from_size_align(bytes, PAGE).ok().filter(|layout| layout.size() > 0)?;
        // SAFETY: the layout has a size.
        NonNull::new(unsafe { alloc_zeroed(layout) }).map(|start| HostBlock { start, layout })
    }
}

impl Drop for HostBlock {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed here only.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

impl Allocations {
    /// Whether the range is page-locked memory that this driver gave out.
    pub fn is_page_locked(&self, address: usize, bytes: u64) -> bool {
        self.host.range(..=address).next_back().is_some_and(|(&start, (block, _))| {
            (address - start) as u64 + bytes <= block.layout.size() as u64
        })
    }
}

impl Driver {
    /// `cuMemAlloc`.
    ///
    /// # Errors
    ///
    /// `INVALID_VALUE` for no bytes, `OUT_OF_MEMORY`.
    pub fn allocate(&mut self, bytes: u64) -> Answer<u64> {
        let context = self.context_handle()?;
        if bytes == 0 {
            return Err(CuResult::INVALID_VALUE);
        }
        self.refuse_in_capture()?;
        let address = self.machine.memory().allocate(bytes, None).map_err(|_| CuResult::OUT_OF_MEMORY)?;
        self.allocations.device.insert(address, context);
        self.spend(self.card().host.allocate_ns)?;
        Ok(address)
    }

    /// `cuMemFree`. Waits for all work on the card.
    ///
    /// # Errors
    ///
    /// `INVALID_VALUE` for what is no allocation's first address; the error of a kernel.
    pub fn free(&mut self, address: u64) -> Answer<()> {
        self.context()?;
        if !self.allocations.device.contains_key(&address) {
            return Err(CuResult::INVALID_VALUE);
        }
        self.refuse_in_capture()?;
        self.wait_for_all()?;
        self.allocations.device.remove(&address);
        self.machine.memory().free(address).map_err(|_| CuResult::INVALID_VALUE)?;
        self.spend(self.card().host.allocate_ns)
    }

    /// `cuMemGetInfo`: bytes that are free, and bytes that there are.
    ///
    /// # Errors
    ///
    /// Those of having no context.
    pub fn memory_info(&mut self) -> Answer<(u64, u64)> {
        self.context()?;
        Ok((self.machine.memory().left(), self.card().memory.bytes))
    }

    /// `cuMemAllocHost`: the address of page-locked memory.
    ///
    /// # Errors
    ///
    /// `INVALID_VALUE` for no bytes, `OUT_OF_MEMORY`.
    pub fn allocate_host(&mut self, bytes: usize) -> Answer<NonNull<u8>> {
        let context = self.context_handle()?;
        if bytes == 0 {
            return Err(CuResult::INVALID_VALUE);
        }
        self.refuse_in_capture()?;
        let block = HostBlock::new(bytes).ok_or(CuResult::OUT_OF_MEMORY)?;
        let start = block.start;
        self.allocations.host.insert(start.as_ptr().addr(), (block, context));
        self.spend(self.card().host.allocate_ns)?;
        Ok(start)
    }

    /// `cuMemFreeHost`. Waits for all work on the card, which may still use it.
    ///
    /// # Errors
    ///
    /// `INVALID_VALUE` for what is no allocation's first address; the error of a kernel.
    pub fn free_host(&mut self, address: usize) -> Answer<()> {
        self.context()?;
        if !self.allocations.host.contains_key(&address) {
            return Err(CuResult::INVALID_VALUE);
        }
        self.refuse_in_capture()?;
        self.wait_for_all()?;
        self.allocations.host.remove(&address);
        self.spend(self.card().host.allocate_ns)
    }

    /// Frees everything that belongs to a context. Nothing is under way then.
    pub(super) fn free_all(&mut self, context: usize) {
        let memory = self.machine.memory();
        self.allocations.device.retain(|&address, owner| {
            let goes = *owner == context;
            if goes {
                // It is there: the map holds live allocations only.
                _ = memory.free(address);
            }
            !goes
        });
        self.allocations.host.retain(|_, (_, owner)| *owner != context);
    }
}
