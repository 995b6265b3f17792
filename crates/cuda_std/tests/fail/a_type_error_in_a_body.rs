use cuda_std::kernel;

#[kernel]
pub fn bad(out: &mut [f32], count: u32) {
    out[0] = count;
}

fn main() {}
