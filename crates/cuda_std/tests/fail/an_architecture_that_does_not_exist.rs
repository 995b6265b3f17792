use cuda_std::kernel;

#[kernel(since = "sm_91")]
pub fn bad(out: &mut [f32]) {
    out[0] = 1.0;
}

fn main() {}
