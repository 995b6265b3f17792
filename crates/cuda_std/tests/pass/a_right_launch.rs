#[path = "../support/scale.rs"]
mod kernels;
use kernels::{buffer, scale};

fn main() {
    let (input, out) = (buffer::<f32>(1), buffer::<f32>(2));
    let call = scale(&input, &out, 2.0, 3);
    assert_eq!(call.kernel().name, "scale");
    assert_eq!(call.slots(), [0x7001, 8, 0x7002, 8, 2.0_f32.to_bits() as u64, 3]);
}
