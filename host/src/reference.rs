//! What the kernels compute, on the CPU, bit for bit: the same operations in the same order, one rounding each.
//! Plain slices in, plain slices out; it touches no device, no file and no clock.
//!
//! Bit for bit holds for every number, infinity and denormal. A NaN is a NaN, but its bits differ from processor to
//! processor, GPUs included.
//!
//! # Adding a kernel
//!
//! One that is limited by memory is a plain loop, as [`sum_four`] is. One that is limited by arithmetic is a small
//! struct that holds its parameters and implements `Kernel` for one block of elements; `map` gives it every core
//! and the widest registers of this machine.

pub mod pdl;
pub mod pipeline;
pub mod streams;
pub mod timing;

use multiversion::{multiversion, target::match_target};
use rayon::prelude::*;

/// Elements that go through a kernel together. A chain of fused multiply-adds waits about 4 cycles for each result
/// and a core starts two vectors of them a cycle, so at least 8 vectors have to be under way. 96 elements are
/// 12 vectors of AVX2, which leaves room for `a` and `b` in its 16 registers (16 vectors would spill), 24 of NEON,
/// and 6 of AVX-512: three quarters of the pace of a core that starts two of these a cycle, which is enough.
const BLOCK: usize = 96;

/// Blocks that a core takes at a time: at 512 steps an element about 0.1 ms of work, so that the cores end together
/// and handing out costs nothing.
const BLOCKS_PER_TASK: usize = 64;

type Block = [f32; BLOCK];

/// `out[i] = grind(input[i])`, where grind is `x = fma(a, x, b)`, `iters` times: the kernel `grind_fma`.
///
/// # Panics
///
/// When `input` and `out` differ in length.
pub fn grind_fma(input: &[f32], out: &mut [f32], a: f32, b: f32, iters: u32) {
    map(&Grind { a, b, iters }, input, out);
}

/// `out[i] = ((b0[i] + b1[i]) + b2[i]) + b3[i]`: the kernel `sum_four`.
///
/// # Panics
///
/// When the slices differ in length.
pub fn sum_four(b0: &[f32], b1: &[f32], b2: &[f32], b3: &[f32], out: &mut [f32]) {
    for branch in [b0, b1, b2, b3] {
        assert_eq!(branch.len(), out.len(), "sum_four: as many elements as `out` in every buffer");
    }
    for (i, sum) in out.iter_mut().enumerate() {
        *sum = b0[i] + b1[i] + b2[i] + b3[i];
    }
}

/// The whole diamond: `mid = grind(input)` with `upstream_b`, then one `grind(mid)` for each of `branch_b`, and
/// their sum in the order of the branches, `((b0 + b1) + b2) + ...`. Without branches there is nothing to add, and
/// every element is 0.
pub fn diamond(input: &[f32], a: f32, upstream_b: f32, branch_b: &[f32], iters: u32) -> Vec<f32> {
    let mut out = vec![0.0; input.len()];
    let kernel = Diamond { a, upstream_b, branch_b, iters };
    map(&kernel, input, &mut out);
    out
}

struct Grind {
    a: f32,
    b: f32,
    iters: u32,
}

impl Kernel for Grind {
    #[inline(always)]
    fn block<F: Fma>(&self, mut block: Block) -> Block {
        for _ in 0..self.iters {
            for x in &mut block {
                *x = F::fma(self.a, *x, self.b);
            }
        }
        block
    }
}

struct Diamond<'a> {
    a: f32,
    upstream_b: f32,
    branch_b: &'a [f32],
    iters: u32,
}

impl Kernel for Diamond<'_> {
    #[inline(always)]
    fn block<F: Fma>(&self, block: Block) -> Block {
        let Self { a, iters, .. } = *self;
        let grind = |block, b| Grind { a, b, iters }.block::<F>(block);
        let mid = grind(block, self.upstream_b);
        let Some((&first, others)) = self.branch_b.split_first() else {
            return [0.0; BLOCK];
        };
        let mut sum = grind(mid, first);
        for &b in others {
            for (sum, x) in sum.iter_mut().zip(grind(mid, b)) {
                *sum += x;
            }
        }
        sum
    }
}

/// A kernel that makes each element of its output from the same element of its input.
trait Kernel: Sync {
    /// One block of elements. It is compiled once for each kind of vector unit, so it and all that it calls is
    /// `#[inline(always)]`.
    fn block<F: Fma>(&self, block: Block) -> Block;
}

/// Runs `kernel` over all elements, on all cores.
fn map<K: Kernel>(kernel: &K, input: &[f32], out: &mut [f32]) {
    assert_eq!(input.len(), out.len(), "input and output hold equally many elements");
    let task = BLOCK * BLOCKS_PER_TASK;
    out.par_chunks_mut(task)
        .zip(input.par_chunks(task))
        .for_each(|(out, input)| map_task(kernel, input, out));
}

/// Runs `kernel` over one task's elements, in the widest registers that this machine has.
#[multiversion(targets("x86_64+avx512f+fma", "x86_64+avx2+fma", "aarch64+neon"))]
fn map_task<K: Kernel>(kernel: &K, input: &[f32], out: &mut [f32]) {
    match_target! {
        "x86_64+fma" => map_blocks::<K, Units>(kernel, input, out),
        "aarch64+neon" => map_blocks::<K, Units>(kernel, input, out),
        _ => map_blocks::<K, Software>(kernel, input, out),
    }
}

/// Runs `kernel` block by block; the last block is filled up with zeros, whose results are dropped.
#[inline(always)]
fn map_blocks<K: Kernel, F: Fma>(kernel: &K, input: &[f32], out: &mut [f32]) {
    for (out, input) in out.chunks_mut(BLOCK).zip(input.chunks(BLOCK)) {
        let mut block = [0.0; BLOCK];
        block[..input.len()].copy_from_slice(input);
        let block = kernel.block::<F>(block);
        out.copy_from_slice(&block[..out.len()]);
    }
}

/// Who computes `a * x + b` with a single rounding.
trait Fma {
    fn fma(a: f32, x: f32, b: f32) -> f32;
}

/// The processor's own FMA units.
struct Units;

impl Fma for Units {
    #[inline(always)]
    fn fma(a: f32, x: f32, b: f32) -> f32 {
        a.mul_add(x, b)
    }
}

/// Processors without FMA units. `f32::mul_add` would be right there too, but it is a call for each element, and it
/// takes the FMA units wherever there are any, so that no test on a usual machine would reach what it does without.
struct Software;

impl Fma for Software {
    /// The product of two floats is exact in double precision, and only the sum has to be rounded, but twice: to
    /// double and then to float. Rounding the first time to odd (cut off, and a last bit of 1 for whatever was lost)
    /// makes the second one the only one that shows, because a double has more than two bits to spare.
    /// Source: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using rounding
    /// to odd", IEEE Transactions on Computers 57(4), 2008; the error of the sum is Knuth's TwoSum.
    #[inline(always)]
    fn fma(a: f32, x: f32, b: f32) -> f32 {
        let product = f64::from(a) * f64::from(x);
        let addend = f64::from(b);
        let sum = product + addend;
        let part = sum - product;
        let lost = (product - (sum - part)) + (addend - part);
        // Comparisons, and not `lost != 0.0`: where infinities meet, `lost` is a NaN, and the sum is right as it is.
        let inexact = (lost > 0.0) | (lost < 0.0);
        let outward = (lost > 0.0) == (sum > 0.0);
        let even = sum.to_bits() & 1 == 0;
        let step = if outward { 1 } else { u64::MAX };
        let odd = sum.to_bits().wrapping_add(if inexact & even { step } else { 0 });
        f64::from_bits(odd) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The course's loop as anybody would write it: one element, one step at a time, and the definition of
    /// `f32::mul_add` for the single rounding.
    fn slow_grind(mut x: f32, a: f32, b: f32, iters: u32) -> f32 {
        for _ in 0..iters {
            x = a.mul_add(x, b);
        }
        x
    }

    fn slow_diamond(x: f32, a: f32, upstream_b: f32, branch_b: &[f32], iters: u32) -> f32 {
        let mid = slow_grind(x, a, upstream_b, iters);
        let mut sum = slow_grind(mid, a, branch_b[0], iters);
        for &b in &branch_b[1..] {
            sum += slow_grind(mid, a, b, iters);
        }
        sum
    }

    /// The same bits, or a NaN on both sides.
    #[track_caller]
    fn check(got: &[f32], want: &[f32]) {
        assert_eq!(got.len(), want.len());
        for (i, (got, want)) in got.iter().zip(want).enumerate() {
            let same = got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan());
            assert!(same, "at {i}: got {got:?}, want {want:?}");
        }
    }

    /// `kernel` as `map` runs it, and with both ways to multiply and add, whichever of them this machine prefers.
    #[track_caller]
    fn check_kernel<K: Kernel>(kernel: &K, input: &[f32], want: &[f32]) {
        for run in [map::<K>, map_blocks::<K, Units>, map_blocks::<K, Software>] {
            let mut got = vec![f32::NAN; input.len()];
            run(kernel, input, &mut got);
            check(&got, want);
        }
    }

    const DENORMAL: f32 = f32::from_bits(1);

    /// Zero, the denormals at both ends, the smallest normal number, one, the largest number, infinity, NaN.
    const SPECIAL_BITS: [u32; 8] =
        [0x0, 0x1, 0x7fffff, 0x800000, 0x3f800000, 0x7f7fffff, 0x7f800000, 0x7fc00000];

    /// Any bits at all, special values of either sign, and values of the size that the lesson uses.
    fn float() -> impl Strategy<Value = f32> {
        let special = (prop::sample::select(&SPECIAL_BITS[..]), any::<bool>());
        let special = special.prop_map(|(bits, negative)| bits | u32::from(negative) << 31);
        prop_oneof![any::<u32>().prop_map(f32::from_bits), special.prop_map(f32::from_bits), -4.0..4.0_f32]
    }

    fn floats() -> impl Strategy<Value = Vec<f32>> {
        let edges = prop::sample::select(&[0, 1, BLOCK - 1, BLOCK, BLOCK + 1][..]);
        let size = prop_oneof![edges, 0..3 * BLOCK];
        size.prop_flat_map(|size| prop::collection::vec(float(), size))
    }

    fn iters() -> impl Strategy<Value = u32> {
        prop::sample::select(&[0, 1, 7, 64][..])
    }

    proptest! {
        #[test]
        fn grind_is_the_slow_loop(input in floats(), a in float(), b in float(), iters in iters()) {
            let want: Vec<f32> = input.iter().map(|&x| slow_grind(x, a, b, iters)).collect();
            check_kernel(&Grind { a, b, iters }, &input, &want);
            let mut got = vec![f32::NAN; input.len()];
            grind_fma(&input, &mut got, a, b, iters);
            check(&got, &want);
        }

        #[test]
        fn the_diamond_is_the_slow_loop(
            input in floats(),
            a in float(),
            upstream_b in float(),
            branch_b in prop::collection::vec(float(), 1..6),
            iters in iters(),
        ) {
            let slow = |&x| slow_diamond(x, a, upstream_b, &branch_b, iters);
            let want: Vec<f32> = input.iter().map(slow).collect();
            check_kernel(&Diamond { a, upstream_b, branch_b: &branch_b, iters }, &input, &want);
            check(&diamond(&input, a, upstream_b, &branch_b, iters), &want);
        }

        #[test]
        fn four_are_summed_in_order(input in prop::collection::vec(prop::array::uniform4(float()), 0..200)) {
            let branch = |j: usize| input.iter().map(|four| four[j]).collect::<Vec<f32>>();
            let want: Vec<f32> = input.iter().map(|[x, y, z, w]| ((x + y) + z) + w).collect();
            let mut got = vec![f32::NAN; input.len()];
            sum_four(&branch(0), &branch(1), &branch(2), &branch(3), &mut got);
            check(&got, &want);
        }

        #[test]
        fn software_rounds_once_for_any_bits(a in float(), x in float(), b in float()) {
            check(&[Software::fma(a, x, b)], &[a.mul_add(x, b)]);
        }

        /// Products of which many lie halfway between two floats, and an addend that is small and decides.
        #[test]
        fn software_rounds_once_next_to_a_tie(
            a in (1_u32..1 << 12).prop_map(|n| (2 * n + 1) as f32),
            x in (1_u32..1 << 12).prop_map(|n| (2 * n + 1) as f32),
            b in (1_u8..16, 0_i32..60).prop_map(|(n, exponent)| f32::from(n) * 2.0_f32.powi(10 - exponent)),
            negative: [bool; 2],
            scale in -130_i32..60,
        ) {
            let x = if negative[0] { -x } else { x } * 2.0_f32.powi(scale);
            let b = if negative[1] { -b } else { b } * 2.0_f32.powi(scale);
            check(&[Software::fma(a, x, b)], &[a.mul_add(x, b)]);
        }

        /// Sums that end among the denormals, where a float has fewer bits.
        #[test]
        fn software_rounds_once_among_denormals(a in 0.5..2.0_f32, x in -1e-37..1e-37_f32, b in -1e-37..1e-37_f32) {
            check(&[Software::fma(a, x, b)], &[a.mul_add(x, b)]);
            let tiny = a * 1e-20;
            check(&[Software::fma(tiny, x * 1e20, b)], &[tiny.mul_add(x * 1e20, b)]);
        }
    }

    /// Worked out by hand, so that they hold without trusting `mul_add`.
    #[test]
    fn known_sums_are_rounded_once() {
        let hand_made = [
            // 24929 * 673 = 2^24 + 1, halfway between two floats: to the even one, or to where the addend points.
            (24_929.0, 673.0, 0.0, 16_777_216.0),
            (24_929.0, 673.0, 1e-30, 16_777_218.0),
            (24_929.0, 673.0, -1e-30, 16_777_216.0),
            // 3 * (2^24 + 2) = 50331654, halfway between ...652 and ...656, of which ...656 is even.
            (3.0, 16_777_218.0, 0.0, 50_331_656.0),
            (3.0, 16_777_218.0, 1e-30, 50_331_656.0),
            (3.0, 16_777_218.0, -1e-30, 50_331_652.0),
            // The same tie, and three quarters of a double's last bit: next to the tie, on an odd double.
            (24_929.0, 673.0, 0.75 / 268_435_456.0, 16_777_218.0),
            // Half of the smallest denormal, and a hair more.
            (DENORMAL, 0.5, 0.0, 0.0),
            (DENORMAL, 0.5_f32.next_up(), 0.0, DENORMAL),
        ];
        for (a, x, b, want) in hand_made {
            check(&[Units::fma(a, x, b), Software::fma(a, x, b)], &[want; 2]);
        }
    }

    #[test]
    fn the_sign_of_zero_survives() {
        for fma in [Units::fma, Software::fma] {
            let got = [fma(0.0, -1.0, -0.0), fma(0.0, -1.0, 0.0), fma(1.0, -1.0, 1.0)];
            check(&got, &[-0.0, 0.0, 0.0]);
        }
    }

    /// Across tasks and cores, with a last block that is not full.
    #[test]
    fn every_element_of_many_tasks_is_right() {
        let size = 3 * BLOCK * BLOCKS_PER_TASK + BLOCK + 1;
        let input: Vec<f32> = (0..size).map(|i| i as f32 * 0.001).collect();
        let branch_b = [0.125, 0.25, 0.5, 1.0];
        let slow = |&x| slow_diamond(x, 0.999, 1.0, &branch_b, 5);
        let want: Vec<f32> = input.iter().map(slow).collect();
        check(&diamond(&input, 0.999, 1.0, &branch_b, 5), &want);
    }

    #[test]
    fn a_diamond_without_branches_is_zero() {
        check(&diamond(&[1.0, 2.0], 0.999, 1.0, &[], 3), &[0.0, 0.0]);
    }

    #[test]
    #[should_panic(expected = "equally many elements")]
    fn grind_refuses_buffers_of_different_lengths() {
        grind_fma(&[1.0, 2.0], &mut [0.0], 0.5, 1.0, 1);
    }

    #[test]
    #[should_panic(expected = "as many elements as `out`")]
    fn sum_refuses_buffers_of_different_lengths() {
        sum_four(&[1.0], &[1.0], &[1.0, 2.0], &[1.0], &mut [0.0]);
    }
}
