use cuda_std::kernel;

#[kernel]
pub fn bad(weights: [f32; 4], out: &mut [f32]) {
    out[0] = weights[0];
}

fn main() {}
