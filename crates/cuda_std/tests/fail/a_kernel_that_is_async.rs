use cuda_std::kernel;

#[kernel]
pub async fn bad(out: &mut [f32]) {
    out[0] = 1.0;
}

fn main() {}
