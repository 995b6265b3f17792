#[path = "../support/scale.rs"]
mod kernels;
use kernels::{buffer, scale};

fn main() {
    let (input, out) = (buffer::<f32>(1), buffer::<f32>(2));
    let halves = buffer::<u16>(3);
    scale(&halves, &out, 2.0, 3);
}
