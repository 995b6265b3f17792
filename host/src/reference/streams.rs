//! What the kernels of the streams lesson compute.

/// `steps` steps `x = 1664525 x + 1013904223` (modulo 2^32) from the element's index: the kernel `spin_lcg`.
pub fn spin_lcg(out: &mut [u32], steps: u32) {
    for (i, out) in (0_u32..).zip(out) {
        *out = (0..steps).fold(i, |x, _| x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    }
}

/// `out[i] = input[i] + 1`: the kernel `sweep_add`.
pub fn sweep_add(input: &[f32], out: &mut [f32]) {
    for (input, out) in input.iter().zip(out) {
        *out = input + 1.0;
    }
}

/// `out[i] = input[i] * 2`: the kernel `sweep_scale`.
pub fn sweep_scale(input: &[f32], out: &mut [f32]) {
    for (input, out) in input.iter().zip(out) {
        *out = input * 2.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_gives_its_published_sequence() {
        // The recurrence of "Numerical Recipes" (ranqd1) from seed 0.
        let mut out = [0];
        for (steps, want) in
            [(0, 0), (1, 0x3c6e_f35f), (2, 0x4750_2932), (3, 0xd1cc_f6e9), (4, 0xaaf9_5334), (5, 0x6252_e503)]
        {
            spin_lcg(&mut out, steps);
            assert_eq!(out, [want], "{steps} steps");
        }
    }

    #[test]
    fn each_element_starts_from_its_index() {
        let mut out = [0; 5];
        spin_lcg(&mut out, 0);
        assert_eq!(out, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn sweeps_are_exact_on_small_whole_numbers() {
        let input = [0.0, 1.0, 8191.0];
        let mut out = [0.0; 3];
        sweep_add(&input, &mut out);
        assert_eq!(out, [1.0, 2.0, 8192.0]);
        sweep_scale(&input, &mut out);
        assert_eq!(out, [0.0, 2.0, 16382.0]);
    }
}
