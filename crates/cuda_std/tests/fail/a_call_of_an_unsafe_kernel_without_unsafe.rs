#[path = "../support/scale.rs"]
mod kernels;
use cuda_std::kernel;
use kernels::buffer;

/// Writes one element.
///
/// # Safety
///
/// `out` is the address of an element.
#[kernel]
pub unsafe fn write_one(out: *mut f32) {
    // SAFETY: `out` is the address of an element.
    unsafe { *out = 1.0 };
}

fn main() {
    let out = buffer::<f32>(1);
    write_one(&out);
}
