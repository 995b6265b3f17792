#[path = "../support/scale.rs"]
mod kernels;
use kernels::{buffer, scale};

fn main() {
    let (input, out) = (buffer::<f32>(1), buffer::<f32>(2));
    scale(&input, &out, 2.0, 3, 4);
}
