use cuda_std::kernel;

pub struct Pair(pub f32, pub f32);

#[kernel]
pub fn bad(pair: Pair, out: &mut [f32]) {
    out[0] = pair.0;
}

fn main() {}
