use cuda_std::kernel;

#[kernel]
pub fn bad((a, b): (f32, f32), out: &mut [f32]) {
    out[0] = a + b;
}

fn main() {}
