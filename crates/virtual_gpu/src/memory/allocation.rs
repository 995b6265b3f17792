//! The allocations, and the host's side of reading and writing them.

use super::fault::{Area, Place};
use super::window;

/// Allocations begin at multiples of this, as the driver's do.
const ALIGN: u64 = 512;

/// The least number of bytes behind an allocation that belong to nobody.
const GAP: u64 = 1 << 20;

/// Freed allocations that are remembered, to name them in a fault.
const REMEMBERED: usize = 4096;

/// One live allocation.
#[derive(Debug)]
pub struct Allocation {
    area: Area,
    read_only: bool,
    bytes: Box<[u8]>,
}

/// The device memory of one card.
#[derive(Debug)]
pub struct Memory {
    /// Sorted by address, since addresses only grow.
    live: Vec<Allocation>,
    freed: Vec<Area>,
    next: u64,
    count: u64,
    capacity: u64,
    used: u64,
}

/// Why the host's request was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// There is not enough left: the driver's 2.
    #[error(
        "out of device memory: {asked} bytes asked, {left} of {capacity} left; free something or ask for less"
    )]
    Full {
        /// Bytes asked for.
        asked: u64,
        /// Bytes left.
        left: u64,
        /// Bytes of the card.
        capacity: u64,
    },
    /// The address is not the start of a live allocation: the driver's 1.
    #[error("nothing to free: 0x{address:x}, {place}; free each allocation once, by its first address")]
    NotAllocated {
        /// The address.
        address: u64,
        /// What is there.
        place: Place,
    },
    /// The range is not inside one live allocation: the driver's 1.
    #[error(
        "{bytes} bytes at 0x{address:x} are not inside one allocation: {place}; check address and length"
    )]
    OutOfRange {
        /// The first address.
        address: u64,
        /// Bytes asked for.
        bytes: u64,
        /// What is there.
        place: Place,
    },
}

impl Allocation {
    /// What a fault calls it.
    pub fn area(&self) -> &Area {
        &self.area
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Its bytes, to be changed.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Whether kernels may only read it.
    pub fn read_only(&self) -> bool {
        self.read_only
    }

    /// Where `bytes` bytes at `address` lie in it, if they do.
    #[inline]
    pub fn offset(&self, address: u64, bytes: u64) -> Option<usize> {
        let offset = address.checked_sub(self.area.start)?;
        let end = offset.checked_add(bytes)?;
        (end <= self.area.bytes).then_some(offset as usize)
    }
}

impl Memory {
    /// A card's memory of so many bytes. The host's memory is taken as allocations are touched.
    pub fn new(capacity: u64) -> Self {
        Self { live: Vec::new(), freed: Vec::new(), next: window::GLOBAL, count: 0, capacity, used: 0 }
    }

    /// Bytes of the card.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Bytes that are left.
    pub fn left(&self) -> u64 {
        self.capacity - self.used
    }

    /// Gives out memory, zeroed, and returns its address. `name` is what a fault calls it; without one it has a number.
    ///
    /// # Errors
    /// [`MemoryError::Full`].
    pub fn allocate(&mut self, bytes: u64, name: Option<String>) -> Result<u64, MemoryError> {
        let full = MemoryError::Full { asked: bytes, left: self.left(), capacity: self.capacity };
        let size = bytes.checked_next_multiple_of(ALIGN).filter(|size| *size <= self.left());
        let (Some(size), Ok(length)) = (size, usize::try_from(bytes)) else { return Err(full) };
        if Vec::<u8>::new().try_reserve_exact(length).is_err() {
            return Err(full);
        }
        let start = self.next;
        self.next += (size + GAP).next_multiple_of(ALIGN);
        self.count += 1;
        self.used += size;
        let name = name.unwrap_or_else(|| format!("allocation {}", self.count));
        let area = Area { name, start, bytes };
        self.live.push(Allocation { area, read_only: false, bytes: vec![0; length].into_boxed_slice() });
        Ok(start)
    }

    /// Lets kernels only read what begins at this address.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`].
    pub fn make_read_only(&mut self, address: u64) -> Result<(), MemoryError> {
        let index = self.start_of(address)?;
        self.live[index].read_only = true;
        Ok(())
    }

    /// Takes memory back.
    ///
    /// # Errors
    /// [`MemoryError::NotAllocated`].
    pub fn free(&mut self, address: u64) -> Result<(), MemoryError> {
        let index = self.start_of(address)?;
        let area = self.live.remove(index).area;
        self.used -= area.bytes.next_multiple_of(ALIGN);
        if self.freed.len() == REMEMBERED {
            self.freed.remove(0);
        }
        self.freed.push(area);
        Ok(())
    }

    /// The allocation that holds the whole range.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`].
    pub fn read(&self, address: u64, bytes: u64) -> Result<&[u8], MemoryError> {
        let (index, offset) = self.range(address, bytes)?;
        Ok(&self.live[index].bytes[offset..offset + bytes as usize])
    }

    /// The range, to be changed.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`].
    pub fn write(&mut self, address: u64, bytes: u64) -> Result<&mut [u8], MemoryError> {
        let (index, offset) = self.range(address, bytes)?;
        Ok(&mut self.live[index].bytes[offset..offset + bytes as usize])
    }

    /// Copies within the card; the ranges may overlap.
    ///
    /// # Errors
    /// [`MemoryError::OutOfRange`], for the source first.
    pub fn copy(&mut self, from: u64, to: u64, bytes: u64) -> Result<(), MemoryError> {
        let (source, from) = self.range(from, bytes)?;
        let (target, to) = self.range(to, bytes)?;
        let length = bytes as usize;
        if let Ok([source, target]) = self.live.get_disjoint_mut([source, target]) {
            target.bytes[to..to + length].copy_from_slice(&source.bytes[from..from + length]);
        } else {
            self.live[source].bytes.copy_within(from..from + length, to);
        }
        Ok(())
    }

    /// The number of the allocation that holds the address, for [`Memory::at`] and [`Memory::at_mut`]; good until the
    /// next `allocate` or `free`.
    #[inline]
    pub fn find(&self, address: u64) -> Option<usize> {
        let after = self.live.partition_point(|allocation| allocation.area.start <= address);
        let index = after.checked_sub(1)?;
        self.live[index].offset(address, 1).map(|_| index)
    }

    /// How many allocations there are; numbers are below it.
    #[inline]
    pub fn live(&self) -> usize {
        self.live.len()
    }

    /// An allocation by its number.
    #[inline]
    pub fn at(&self, index: usize) -> &Allocation {
        &self.live[index]
    }

    /// An allocation by its number, to be changed.
    #[inline]
    pub fn at_mut(&mut self, index: usize) -> &mut Allocation {
        &mut self.live[index]
    }

    /// What lies at an address or near it.
    pub fn place(&self, address: u64) -> Place {
        if let Some(area) = self.freed.iter().rev().find(|area| address.wrapping_sub(area.start) < area.bytes)
        {
            return Place::Freed(area.clone());
        }
        let after = self.live.partition_point(|allocation| allocation.area.start <= address);
        let below = after.checked_sub(1).map(|index| self.live[index].area());
        let above = self.live.get(after).map(Allocation::area);
        match (below, above) {
            (Some(area), _) if address - area.start < area.bytes => Place::Inside(area.clone()),
            (Some(below), Some(above)) if above.start - address < address - (below.start + below.bytes) => {
                Place::Before(above.clone())
            }
            (Some(below), _) => Place::After(below.clone()),
            (None, Some(above)) => Place::Before(above.clone()),
            (None, None) => Place::Nowhere,
        }
    }

    fn start_of(&self, address: u64) -> Result<usize, MemoryError> {
        self.live
            .binary_search_by_key(&address, |allocation| allocation.area.start)
            .map_err(|_| MemoryError::NotAllocated { address, place: self.place(address) })
    }

    fn range(&self, address: u64, bytes: u64) -> Result<(usize, usize), MemoryError> {
        let after = self.live.partition_point(|allocation| allocation.area.start <= address);
        let index = after.checked_sub(1);
        let found = index.and_then(|index| Some((index, self.live[index].offset(address, bytes)?)));
        found.ok_or_else(|| MemoryError::OutOfRange { address, bytes, place: self.place(address) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_never_given_out_twice() {
        let mut memory = Memory::new(1 << 30);
        let mut seen = Vec::new();
        for _ in 0..10 {
            let address = memory.allocate(1000, None).unwrap();
            assert_eq!(address % ALIGN, 0);
            assert!(seen.iter().all(|&other| address > other + 1000 + GAP - ALIGN));
            seen.push(address);
            memory.free(address).unwrap();
            assert_eq!(memory.place(address + 3), Place::Freed(memory.freed.last().unwrap().clone()));
        }
        assert_eq!(memory.left(), 1 << 30);
    }

    #[test]
    fn what_is_near_is_named() {
        let mut memory = Memory::new(1 << 30);
        assert_eq!(memory.place(0), Place::Nowhere);
        let first = memory.allocate(100, Some("first".into())).unwrap();
        let second = memory.allocate(100, None).unwrap();
        let name = |place| match place {
            Place::Freed(a) | Place::Inside(a) | Place::After(a) | Place::Before(a) => a.name,
            other => other.to_string(),
        };
        for (address, text) in [(0, "first"), (first + 100, "first"), (first + 1000, "first")] {
            assert_eq!(name(memory.place(address)), text);
        }
        for address in [second - 1, second - 1000, second + 99, second + 100, u64::MAX] {
            assert_eq!(name(memory.place(address)), "allocation 2", "{address:x}");
        }
        assert!(matches!(memory.place(second + 99), Place::Inside(_)));
        assert!(matches!(memory.place(second - 1), Place::Before(_)));
        assert!(matches!(memory.place(second + 100), Place::After(_)));
    }

    #[test]
    fn the_host_is_refused_what_does_not_fit() {
        let mut memory = Memory::new(4096);
        let address = memory.allocate(1024, None).unwrap();
        assert_eq!(
            memory.allocate(4096, None),
            Err(MemoryError::Full { asked: 4096, left: 3072, capacity: 4096 })
        );
        assert!(memory.allocate(u64::MAX, None).is_err());
        memory.write(address, 1024).unwrap().fill(7);
        assert_eq!(memory.read(address + 1020, 4).unwrap(), [7; 4]);
        for (address, bytes) in [(address + 1020, 5), (address - 1, 1), (address, u64::MAX), (0, 1)] {
            assert!(matches!(memory.read(address, bytes), Err(MemoryError::OutOfRange { .. })));
            assert!(matches!(memory.write(address, bytes), Err(MemoryError::OutOfRange { .. })));
        }
        assert!(matches!(memory.free(address + 1), Err(MemoryError::NotAllocated { .. })));
        memory.free(address).unwrap();
        let again = memory.free(address).unwrap_err();
        assert!(again.to_string().contains("it was freed: allocation 1"), "{again}");
    }

    #[test]
    fn copies_may_overlap() {
        let mut memory = Memory::new(1 << 20);
        let (a, b) = (memory.allocate(8, None).unwrap(), memory.allocate(8, None).unwrap());
        memory.write(a, 8).unwrap().copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
        memory.copy(a, b, 8).unwrap();
        memory.copy(b, b + 2, 6).unwrap();
        assert_eq!(memory.read(b, 8).unwrap(), [1, 2, 1, 2, 3, 4, 5, 6]);
        memory.copy(b + 2, b, 6).unwrap();
        assert_eq!(memory.read(b, 8).unwrap(), [1, 2, 3, 4, 5, 6, 5, 6]);
        assert!(memory.copy(a, b, 9).is_err());
    }
}
