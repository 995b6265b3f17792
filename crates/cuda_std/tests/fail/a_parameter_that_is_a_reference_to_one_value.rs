use cuda_std::kernel;

#[kernel]
pub fn bad(factor: &f32, out: &mut [f32]) {
    out[0] = *factor;
}

fn main() {}
