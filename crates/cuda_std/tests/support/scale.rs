//! A kernel to launch, rightly and wrongly, and buffers for it.

use std::marker::PhantomData;

use cuda_std::kernel;

#[path = "buffer.rs"]
mod buffer;
pub use buffer::DeviceBuffer;

/// A kernel with a buffer to read, one to write, and two numbers.
#[kernel]
pub fn scale(input: &[f32], out: &mut [f32], factor: f32, rounds: u32) {
    for i in cuda_std::thread::grid_stride(out.len()) {
        out[i] = input[i] * factor * rounds as f32;
    }
}

/// Device memory of eight elements of `T`.
pub fn buffer<T>(identity: u64) -> DeviceBuffer<T> {
    DeviceBuffer(identity, 8, PhantomData)
}
