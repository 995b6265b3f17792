//! What the kernel of the timing lesson computes.

/// `out[i] = a[i] + b[i]`: the kernel `vec_add`.
pub fn vec_add(a: &[f32], b: &[f32], out: &mut [f32]) {
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        *out = a + b;
    }
}
