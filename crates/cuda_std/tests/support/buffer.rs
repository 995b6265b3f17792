//! A device buffer for the compile tests: memory of `T` that only its type makes different from a `Vec<T>`.

use std::marker::PhantomData;

use cuda_std::call::{DeviceMemory, Location};

pub struct DeviceBuffer<T>(pub u64, pub usize, pub PhantomData<T>);

// SAFETY: these tests compile launches and never run one, so no kernel accesses the address.
unsafe impl<T> DeviceMemory<T> for DeviceBuffer<T> {
    fn location(&self) -> Location {
        Location { buffer: self.0, address: 0x7000 + self.0, offset_bytes: 0, elements: self.1 }
    }
}
