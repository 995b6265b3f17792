//! Bytes and bits moved about: `prmt`, `shf`, `lop3`.

use ptx::op::PermuteMode;

use crate::exec::lanes::Apply;

#[inline(always)]
pub(super) fn permute<M: Apply>(mode: PermuteMode, m: M) -> M::Output {
    match mode {
        PermuteMode::Index => m.three(|a: u32, b: u32, c: u32| pick(a, b, c, true)),
        PermuteMode::Forward4 => {
            m.three(|a: u32, b: u32, c: u32| pick(a, b, 0x3210 + (c & 3) * 0x1111, false))
        }
        PermuteMode::Backward4 => m.three(|a: u32, b: u32, c: u32| {
            let first = c & 3;
            let selected = (0..4).fold(0, |all, k| all | (first.wrapping_sub(k) & 7) << (4 * k));
            pick(a, b, selected, false)
        }),
        PermuteMode::Replicate8 => m.three(|a: u32, b: u32, c: u32| pick(a, b, (c & 3) * 0x1111, false)),
        PermuteMode::EdgeLeft => m.three(|a: u32, b: u32, c: u32| {
            pick(a, b, (0..4).fold(0, |all, k| all | k.max(c & 3) << (4 * k)), false)
        }),
        PermuteMode::EdgeRight => m.three(|a: u32, b: u32, c: u32| {
            pick(a, b, (0..4).fold(0, |all, k| all | k.min(c & 3) << (4 * k)), false)
        }),
        PermuteMode::Replicate16 => {
            m.three(|a: u32, b: u32, c: u32| pick(a, b, if c & 1 == 0 { 0x1010 } else { 0x3232 }, false))
        }
    }
}

/// Four of the eight bytes of `b:a`, by the selector's nibbles; their highest bit replicates the byte's sign.
#[inline(always)]
fn pick(a: u32, b: u32, selector: u32, signs: bool) -> u32 {
    let bytes = u64::from(b) << 32 | u64::from(a);
    let mut result = 0;
    for k in 0..4 {
        let nibble = selector >> (4 * k) & 0xf;
        let byte = (bytes >> (8 * (nibble & 7))) as u8;
        let byte = if signs && nibble & 8 != 0 { (byte as i8 >> 7) as u8 } else { byte };
        result |= u32::from(byte) << (8 * k);
    }
    result
}

#[inline(always)]
pub(super) fn funnel<M: Apply>(left: bool, clamp: bool, m: M) -> M::Output {
    let limit = move |count: u32| if clamp { count.min(32) } else { count & 31 };
    let pair = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
    if left {
        m.three(move |a: u32, b: u32, c: u32| (pair(a, b) << limit(c) >> 32) as u32)
    } else {
        m.three(move |a: u32, b: u32, c: u32| (pair(a, b) >> limit(c)) as u32)
    }
}

/// Any function of three bits, applied to 32 of each; the table's bit `4a + 2b + c` is the result.
#[inline(always)]
pub(super) fn logic3(a: u32, b: u32, c: u32, table: u32) -> u32 {
    (0..8).filter(|row| table & 1 << row != 0).fold(0, |all, row| {
        let side = |value: u32, bit: u32| if row & bit != 0 { value } else { !value };
        all | side(a, 4) & side(b, 2) & side(c, 1)
    })
}
