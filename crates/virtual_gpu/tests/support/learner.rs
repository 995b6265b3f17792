//! What the learner's kernels are fed with, and how their results are compared.

use super::{Card, Dice, KERNELS};

/// A block that is not a whole number of warps, on purpose.
pub const BLOCK: [u32; 3] = [96, 1, 1];

/// Enough blocks of 96 threads for `n` threads.
pub fn grid(n: usize) -> [u32; 3] {
    [n.div_ceil(96) as u32, 1, 1]
}

pub fn card() -> Card {
    Card::new(&KERNELS)
}

/// Singles with everything that is special among them.
pub fn singles(dice: &mut Dice, n: usize) -> Vec<f32> {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MIN_POSITIVE,
        1e-45,
        -1e-45,
        f32::MAX,
        f32::MIN,
        2147483648.0,
        -2147483648.0,
        0.5,
        1.5,
        4294967296.0,
        1e-40,
        9.223372e18,
        127.5,
    ];
    dice.many(n, |roll| match roll % 3 {
        0 => special[(roll >> 8) as usize % special.len()],
        1 => f32::from_bits((roll >> 16) as u32),
        _ => ((roll >> 16) as i32 % 20_000) as f32 / 128.0,
    })
}

pub fn doubles(dice: &mut Dice, n: usize) -> Vec<f64> {
    let special = [
        0.0,
        -0.0,
        f64::NAN,
        f64::INFINITY,
        -1.0,
        f64::MIN_POSITIVE,
        5e-324,
        f64::MAX,
        1e39,
        -1e39,
        1e-46,
        4294967295.5,
    ];
    dice.many(n, |roll| match roll % 3 {
        0 => special[(roll >> 8) as usize % special.len()],
        1 => f64::from_bits(roll.rotate_left(7)),
        _ => ((roll >> 16) as i32 % 20_000) as f64 / 128.0,
    })
}

/// The same bits, or both no number: Rust leaves a NaN's bits open.
pub fn same32(got: f32, want: f32) -> bool {
    got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan()
}

pub fn same64(got: f64, want: f64) -> bool {
    got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan()
}

/// `min` and `max` may give either zero in Rust; on the card -0 is below +0.
pub fn min32(a: f32, b: f32) -> f32 {
    if a == b && a == 0.0 { f32::from_bits(a.to_bits() | b.to_bits()) } else { a.min(b) }
}

pub fn max32(a: f32, b: f32) -> f32 {
    if a == b && a == 0.0 { f32::from_bits(a.to_bits() & b.to_bits()) } else { a.max(b) }
}

pub fn min64(a: f64, b: f64) -> f64 {
    if a == b && a == 0.0 { f64::from_bits(a.to_bits() | b.to_bits()) } else { a.min(b) }
}

pub fn max64(a: f64, b: f64) -> f64 {
    if a == b && a == 0.0 { f64::from_bits(a.to_bits() & b.to_bits()) } else { a.max(b) }
}

pub fn integers(dice: &mut Dice, n: usize) -> Vec<i64> {
    let special =
        [0, 1, -1, i64::MIN, i64::MAX, i32::MIN.into(), i32::MAX.into(), 10, -7, 255, 256, 65535, 1 << 32];
    dice.many(n, |roll| match roll % 3 {
        0 => special[(roll >> 8) as usize % special.len()],
        1 => roll.rotate_left(11) as i64,
        _ => (roll >> 20) as i64 >> (roll % 40),
    })
}
