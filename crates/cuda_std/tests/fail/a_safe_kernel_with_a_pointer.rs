use cuda_std::kernel;

#[kernel]
pub fn bad(input: &[f32], count: u32, out: *mut f32) {
    // SAFETY: none.
    unsafe { *out = input[0] * count as f32 };
}

fn main() {}
