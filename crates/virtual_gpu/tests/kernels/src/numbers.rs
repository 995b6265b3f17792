//! Bits and conversions.

use cuda_std::{kernel, thread};

/// Counting, reversing, rotating and swapping bits.
#[kernel]
pub fn bit_tricks(input: &[u64], out: &mut [u64]) {
    let i = thread::index_1d();
    if i >= input.len() {
        return;
    }
    let x = input[i];
    let (low, turn) = (x as u32, (x >> 58) as u32);
    let results = [
        x.count_ones() as u64,
        low.count_ones() as u64,
        x.leading_zeros() as u64,
        low.leading_zeros() as u64,
        x.trailing_zeros() as u64,
        low.trailing_zeros() as u64,
        x.reverse_bits(),
        low.reverse_bits() as u64,
        x.swap_bytes(),
        low.swap_bytes() as u64,
        x.rotate_left(turn),
        low.rotate_left(turn) as u64,
        low.rotate_right(7) as u64,
        (x as u16).swap_bytes() as u64,
        (x as u8).leading_zeros() as u64,
        x & !(x >> 3) ^ (x << 5),
        x.wrapping_shl(turn) | x.wrapping_shr(turn),
        (x as i64 >> (turn & 63)) as u64,
        ((low as i32) >> (turn & 31)) as u64,
        (x as u16).rotate_left(3) as u64,
        (x as i16 >> (turn & 15)) as u64,
        x.is_power_of_two() as u64 + x.checked_next_power_of_two().unwrap_or(3),
        low.abs_diff(turn) as u64,
        (x as i64).abs_diff(-5),
    ];
    for (k, result) in results.iter().enumerate() {
        out[i * 24 + k] = *result;
    }
}

/// Between integers and floats, both ways, saturating as `as` does.
#[kernel]
pub fn conversions(singles: &[f32], doubles: &[f64], integers: &[i64], out: &mut [u64]) {
    let i = thread::index_1d();
    if i >= singles.len() {
        return;
    }
    let (f, d, n) = (singles[i], doubles[i], integers[i]);
    let results = [
        f as i8 as u64,
        f as u8 as u64,
        f as i16 as u64,
        f as u16 as u64,
        f as i32 as u64,
        f as u32 as u64,
        f as i64 as u64,
        f as u64,
        d as i32 as u64,
        d as u32 as u64,
        d as i64 as u64,
        d as u64,
        (d as f32).to_bits() as u64,
        (f as f64).to_bits(),
        (n as f32).to_bits() as u64,
        (n as f64).to_bits(),
        (n as u64 as f32).to_bits() as u64,
        (n as u64 as f64).to_bits(),
        (n as i32 as f32).to_bits() as u64,
        (n as u32 as f32).to_bits() as u64,
        (n as i32 as f64).to_bits(),
        (n as u8 as f32).to_bits() as u64,
        (n as i16 as f64).to_bits(),
        n as i8 as i32 as u64,
        n as u16 as i64 as u64,
        (n as i16 as u32) as u64,
        f.to_bits() as u64,
        f64::from_bits(n as u64).to_bits(),
    ];
    for (k, result) in results.iter().enumerate() {
        out[i * 28 + k] = *result;
    }
}

/// A pixel with mixed widths: packed fields, saturating sums in 8 and 16 bits.
#[kernel]
pub fn mixed_widths(bytes: &[u8], shorts: &[i16], words: &mut [u32], sums: &mut [i16]) {
    let i = thread::index_1d();
    if i >= bytes.len() {
        return;
    }
    let (byte, short) = (bytes[i], shorts[i]);
    let lighter = byte.saturating_add(60);
    let darker = byte.saturating_sub(100);
    words[i] = (lighter as u32) << 24 | (darker as u32) << 16 | (short as u16 as u32).rotate_left(4) & 0xffff;
    sums[i] = short.saturating_add(byte as i16).wrapping_mul(3).min(1000).max(-2000);
}
