use std::marker::PhantomData;

use cuda_std::kernel;

#[path = "../support/buffer.rs"]
mod buffer;
use buffer::DeviceBuffer;

#[kernel]
pub fn scale(input: &[f32], out: &mut [f32], factor: f32, rounds: u32) {
    for i in cuda_std::thread::grid_stride(out.len()) {
        out[i] = input[i] * factor * rounds as f32;
    }
}

fn main() {
    let (input, out) = (DeviceBuffer::<f32>(1, 8, PhantomData), DeviceBuffer::<f32>(2, 4, PhantomData));
    let call = scale(&input, &out, 2.0, 3);
    assert_eq!(call.kernel().name, "scale");
    assert_eq!(call.slots(), [0x7001, 8, 0x7002, 4, 2.0_f32.to_bits() as u64, 3]);
}
