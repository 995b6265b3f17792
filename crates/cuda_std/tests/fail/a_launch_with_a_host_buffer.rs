#[path = "../support/scale.rs"]
mod kernels;
use kernels::{buffer, scale};

fn main() {
    let (input, out) = (buffer::<f32>(1), buffer::<f32>(2));
    let host: Vec<f32> = vec![0.0; 8];
    scale(&host, &out, 2.0, 3);
}
