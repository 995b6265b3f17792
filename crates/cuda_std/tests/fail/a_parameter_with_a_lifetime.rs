use cuda_std::kernel;

#[kernel]
pub fn bad(out: &'static mut [f32]) {
    out[0] = 1.0;
}

fn main() {}
