#[path = "../support/scale.rs"]
mod kernels;
use kernels::{buffer, scale};

fn main() {
    let (input, out) = (buffer::<f32>(1), buffer::<f32>(2));
    let mut host = [0.0_f32; 8];
    scale(&input, &mut host, 2.0, 3);
}
