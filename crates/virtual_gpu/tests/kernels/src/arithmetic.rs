//! Arithmetic on every type: one kernel for each kind.

use cuda_std::arith::fma;
use cuda_std::{kernel, thread};

/// `y = a * x + y`, the kernel everybody writes first.
#[kernel]
pub fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
    for i in thread::grid_stride(y.len()) {
        y[i] = fma(a, x[i], y[i]);
    }
}

/// Sixteen functions of two singles, side by side.
#[kernel]
pub fn single_functions(a: &[f32], b: &[f32], out: &mut [f32]) {
    let i = thread::index_1d();
    if i >= a.len() {
        return;
    }
    let (x, y) = (a[i], b[i]);
    let results = [
        x + y,
        x - y,
        x * y,
        x / y,
        -x,
        x.abs(),
        x.min(y),
        x.max(y),
        x.copysign(y),
        x.clamp(-1.0, 1.0),
        if x < y { 1.0 } else { 0.0 },
        if x != y { 1.0 } else { 0.0 },
        if x >= y { x } else { y },
        if x.is_nan() { 1.0 } else { 0.0 },
        x.signum(),
        1.0 / x,
    ];
    for (k, result) in results.iter().enumerate() {
        out[i * 16 + k] = *result;
    }
}

/// The same in double precision.
#[kernel]
pub fn double_functions(a: &[f64], b: &[f64], out: &mut [f64]) {
    let i = thread::index_1d();
    if i >= a.len() {
        return;
    }
    let (x, y) = (a[i], b[i]);
    let results = [
        x + y,
        x - y,
        x * y,
        x / y,
        -x,
        x.abs(),
        x.min(y),
        x.max(y),
        x.copysign(y),
        if x < y { 1.0 } else { 0.0 },
        if x.is_nan() || y.is_nan() { 1.0 } else { 0.0 },
        x.rem_euclid_like(y),
    ];
    for (k, result) in results.iter().enumerate() {
        out[i * 12 + k] = *result;
    }
}

trait Remainder {
    fn rem_euclid_like(self, other: Self) -> Self;
}

impl Remainder for f64 {
    /// What is left after taking whole multiples away; as far as a 64-bit integer reaches.
    fn rem_euclid_like(self, other: f64) -> f64 {
        let whole = (self / other) as i64;
        self - whole as f64 * other
    }
}

/// Division and remainder in every width, and what a program does about a divisor of zero.
#[kernel]
pub fn divisions(a: &[i64], b: &[i64], out: &mut [i64]) {
    let i = thread::index_1d();
    if i >= a.len() {
        return;
    }
    let (x, y) = (a[i], b[i]);
    let results = [
        x.checked_div(y).unwrap_or(-1),
        x.checked_rem(y).unwrap_or(-1),
        (x as u64).checked_div(y as u64).unwrap_or(7) as i64,
        (x as u64).checked_rem(y as u64).unwrap_or(7) as i64,
        (x as i32).checked_div(y as i32).unwrap_or(-1) as i64,
        (x as i32).checked_rem(y as i32).unwrap_or(-1) as i64,
        (x as u32).checked_div(y as u32).unwrap_or(7) as i64,
        (x as u32).checked_rem(y as u32).unwrap_or(7) as i64,
        (x as i16).checked_div(y as i16).unwrap_or(-1) as i64,
        (x as u8).checked_rem(y as u8).unwrap_or(7) as i64,
        (x as u64 / 10) as i64,
        x / -7,
        x.rem_euclid(1_000_003),
        x.wrapping_mul(y),
        ((x as i128 * y as i128) >> 64) as i64,
        ((x as u64 as u128 * y as u64 as u128) >> 64) as i64,
    ];
    for (k, result) in results.iter().enumerate() {
        out[i * 16 + k] = *result;
    }
}

/// Powers modulo a 61-bit prime, with 128-bit intermediate products.
#[kernel]
pub fn wide_integers(base: &[u64], exponent: &[u64], out: &mut [u64]) {
    const PRIME: u64 = (1 << 61) - 1;
    let i = thread::index_1d();
    if i >= base.len() {
        return;
    }
    let (mut square, mut left, mut power) = (base[i] % PRIME, exponent[i], 1_u64);
    while left != 0 {
        if left & 1 == 1 {
            power = (power as u128 * square as u128 % PRIME as u128) as u64;
        }
        square = (square as u128 * square as u128 % PRIME as u128) as u64;
        left >>= 1;
    }
    let sum = (base[i] as u128) << 32 | exponent[i] as u128;
    let sum = sum.wrapping_mul(sum) + (exponent[i] as u128) - (base[i] as u128 >> 1);
    out[i] = power ^ sum as u64 ^ (sum >> 64) as u64;
}
