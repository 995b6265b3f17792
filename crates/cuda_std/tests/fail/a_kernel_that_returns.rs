use cuda_std::kernel;

#[kernel]
pub fn bad(input: &[f32]) -> f32 {
    input[0]
}

fn main() {}
