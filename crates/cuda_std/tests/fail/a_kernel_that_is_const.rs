use cuda_std::kernel;

#[kernel]
pub const fn bad(out: &mut [f32]) {
    out[0] = 1.0;
}

fn main() {}
