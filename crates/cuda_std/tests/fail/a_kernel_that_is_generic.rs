use cuda_std::kernel;

#[kernel]
pub fn bad<T: Copy>(out: &mut [T], value: T) {
    out[0] = value;
}

fn main() {}
