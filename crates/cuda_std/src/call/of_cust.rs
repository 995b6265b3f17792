//! A device buffer that [`cust`] allocated, as an argument of a kernel. `cust`'s slices are left out: they are `Copy` without a
//! lifetime, so one can outlive its buffer in safe code.

use std::ptr;

use cust::memory::{DeviceBuffer, DeviceCopy};

use super::{DeviceMemory, Location};

// SAFETY: a buffer owns device memory that is aligned for `T` until it is dropped, so for as long as it is borrowed. An empty one,
// which may have no address, gets one that is aligned and not null.
unsafe impl<T: DeviceCopy> DeviceMemory<T> for DeviceBuffer<T> {
    fn location(&self) -> Location {
        let address = match self.as_device_ptr().as_raw() {
            0 => ptr::dangling::<T>().addr() as u64,
            address => address,
        };
        Location { buffer: Location::FOREIGN, address, offset_bytes: 0, elements: self.len() }
    }
}
