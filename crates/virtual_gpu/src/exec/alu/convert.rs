//! `cvt`: between widths, between integers and floats, to integral values.

use ptx::op::{Alu, FloatType, IntType, Kind, Rounding};

use super::float::quiet;
use crate::exec::lanes::Apply;

#[inline(always)]
pub(super) fn apply<M: Apply>(op: Alu, m: M) -> M::Output {
    match op {
        Alu::Resize { from, bits, signed, to, keep, keep_signed, saturate } => {
            let resize = Resize { bits, signed, keep, keep_signed, saturate };
            match (from, to) {
                (Kind::Double, Kind::Double) => m.one(|a: u64| resize.of(a)),
                (Kind::Double, _) => m.one(|a: u64| resize.of(a) as u32 & width(to)),
                (_, Kind::Double) => m.one(|a: u32| resize.of(a.into())),
                _ => m.one(|a: u32| resize.of(a.into()) as u32 & width(to)),
            }
        }
        Alu::IntToFloat(int, FloatType::F32) => match int {
            IntType::U16 => m.one(|a: u16| f32::from(a)),
            IntType::S16 => m.one(|a: i16| f32::from(a)),
            IntType::U32 => m.one(|a: u32| a as f32),
            IntType::S32 => m.one(|a: i32| a as f32),
            IntType::U64 => m.one(|a: u64| a as f32),
            IntType::S64 => m.one(|a: i64| a as f32),
        },
        Alu::IntToFloat(int, FloatType::F64) => match int {
            IntType::U16 => m.one(|a: u16| f64::from(a)),
            IntType::S16 => m.one(|a: i16| f64::from(a)),
            IntType::U32 => m.one(|a: u32| f64::from(a)),
            IntType::S32 => m.one(|a: i32| f64::from(a)),
            IntType::U64 => m.one(|a: u64| a as f64),
            IntType::S64 => m.one(|a: i64| a as f64),
        },
        Alu::ByteToFloat(true, FloatType::F32) => m.one(|a: u16| f32::from(a as i8)),
        Alu::ByteToFloat(false, FloatType::F32) => m.one(|a: u16| f32::from(a as u8)),
        Alu::ByteToFloat(true, FloatType::F64) => m.one(|a: u16| f64::from(a as i8)),
        Alu::ByteToFloat(false, FloatType::F64) => m.one(|a: u16| f64::from(a as u8)),
        Alu::FloatToInt(rounding, FloatType::F32, int) => match int {
            IntType::U16 => m.one(move |a: f32| round32(rounding, a) as u16),
            IntType::S16 => m.one(move |a: f32| round32(rounding, a) as i16),
            IntType::U32 => m.one(move |a: f32| round32(rounding, a) as u32),
            IntType::S32 => m.one(move |a: f32| round32(rounding, a) as i32),
            IntType::U64 => {
                m.one(move |a: f32| if a.is_nan() { NAN_AS_INT } else { round32(rounding, a) as u64 })
            }
            IntType::S64 => {
                m.one(move |a: f32| if a.is_nan() { NAN_AS_INT as i64 } else { round32(rounding, a) as i64 })
            }
        },
        Alu::FloatToInt(rounding, FloatType::F64, int) => match int {
            IntType::U16 => {
                m.one(move |a: f64| if a.is_nan() { 1 << 15 } else { round64(rounding, a) as u16 })
            }
            IntType::S16 => {
                m.one(move |a: f64| if a.is_nan() { i16::MIN } else { round64(rounding, a) as i16 })
            }
            IntType::U32 => {
                m.one(move |a: f64| if a.is_nan() { 1 << 31 } else { round64(rounding, a) as u32 })
            }
            IntType::S32 => {
                m.one(move |a: f64| if a.is_nan() { i32::MIN } else { round64(rounding, a) as i32 })
            }
            IntType::U64 => {
                m.one(move |a: f64| if a.is_nan() { 1 << 63 } else { round64(rounding, a) as u64 })
            }
            IntType::S64 => {
                m.one(move |a: f64| if a.is_nan() { i64::MIN } else { round64(rounding, a) as i64 })
            }
        },
        Alu::FloatToByte(rounding, FloatType::F32, true) => {
            m.one(move |a: f32| round32(rounding, a) as i8 as i16)
        }
        Alu::FloatToByte(rounding, FloatType::F32, false) => {
            m.one(move |a: f32| u16::from(round32(rounding, a) as u8))
        }
        Alu::FloatToByte(rounding, FloatType::F64, true) => {
            m.one(move |a: f64| i16::from(if a.is_nan() { i8::MIN } else { round64(rounding, a) as i8 }))
        }
        Alu::FloatToByte(rounding, FloatType::F64, false) => {
            m.one(move |a: f64| u16::from(if a.is_nan() { 1 << 7 } else { round64(rounding, a) as u8 }))
        }
        Alu::Round(rounding, FloatType::F32) => m.one(move |a: f32| round32(rounding, a)),
        Alu::Round(rounding, FloatType::F64) => {
            m.one(move |a: f64| if a.is_nan() { quiet(a) } else { round64(rounding, a) })
        }
        Alu::Widen => m.one(widen),
        Alu::Narrow(rounding) => m.one(move |a: f64| narrow(rounding, a)),
        Alu::HalfToSingle => m.one(half_to_single),
        // What is left is `SingleToHalf`: the other operations have their own families.
        _ => m.one(single_to_half),
    }
}

/// What a single's NaN becomes as an integer of 64 bits; in fewer bits it becomes 0. A double's becomes the highest bit of
/// whatever type.
const NAN_AS_INT: u64 = 1 << 63;

#[inline(always)]
fn width(kind: Kind) -> u32 {
    if kind == Kind::Half { 0xffff } else { u32::MAX }
}

/// How an integer changes its width.
#[derive(Clone, Copy)]
struct Resize {
    bits: u8,
    signed: bool,
    keep: u8,
    keep_signed: bool,
    saturate: bool,
}

impl Resize {
    #[inline(always)]
    fn of(self, raw: u64) -> u64 {
        let value = extend(raw, self.bits, self.signed);
        if !self.saturate {
            return extend(value, self.keep, self.keep_signed);
        }
        // In 128 bits every value of either sign has its place.
        let value = if self.signed { i128::from(value as i64) } else { i128::from(value) };
        let (low, high) = if self.keep_signed {
            (-(1_i128 << (self.keep - 1)), (1_i128 << (self.keep - 1)) - 1)
        } else {
            (0, (1_i128 << self.keep) - 1)
        };
        value.clamp(low, high) as u64
    }
}

/// The lower bits, with the sign or zeros above them.
#[inline(always)]
fn extend(raw: u64, bits: u8, signed: bool) -> u64 {
    let above = 64 - u32::from(bits);
    if signed { ((raw << above) as i64 >> above) as u64 } else { raw << above >> above }
}

#[inline(always)]
fn round32(rounding: Rounding, a: f32) -> f32 {
    match rounding {
        Rounding::Nearest => a.round_ties_even(),
        Rounding::Zero => a.trunc(),
        Rounding::Down => a.floor(),
        Rounding::Up => a.ceil(),
    }
}

#[inline(always)]
fn round64(rounding: Rounding, a: f64) -> f64 {
    match rounding {
        Rounding::Nearest => a.round_ties_even(),
        Rounding::Zero => a.trunc(),
        Rounding::Down => a.floor(),
        Rounding::Up => a.ceil(),
    }
}

/// Single to double; a NaN keeps what it carries.
#[inline(always)]
fn widen(a: f32) -> f64 {
    let bits = u64::from(a.to_bits());
    let nan = (bits & 1 << 31) << 32 | 0x7ff8_0000_0000_0000 | (bits & 0x7f_ffff) << 29;
    if a.is_nan() { f64::from_bits(nan) } else { f64::from(a) }
}

/// Double to single, as bits: a NaN keeps the upper part of what it carries.
#[inline(always)]
fn narrow(rounding: Rounding, a: f64) -> u32 {
    if a.is_nan() {
        let bits = a.to_bits();
        return (bits >> 32) as u32 & 1 << 31 | 0x7fc0_0000 | (bits >> 29) as u32 & 0x7f_ffff;
    }
    let near = a as f32;
    let exact = f64::from(near);
    let rounded = match rounding {
        Rounding::Zero if exact.abs() > a.abs() => f32::from_bits(near.to_bits() - 1),
        Rounding::Down if exact > a => near.next_down(),
        Rounding::Up if exact < a => near.next_up(),
        _ => near,
    };
    rounded.to_bits()
}

#[inline(always)]
fn half_to_single(half: u16) -> f32 {
    let (sign, magnitude) = (u32::from(half & 0x8000) << 16, u32::from(half & 0x7fff));
    let bits = match magnitude {
        0x7c00.. => 0x7f80_0000 | (magnitude & 0x3ff) << 13,
        0x0400.. => (magnitude << 13) + ((127 - 15) << 23),
        // A denormal half counts in steps of 2^-24, which a single holds exactly.
        _ => (magnitude as f32 * 2.0_f32.powi(-24)).to_bits(),
    };
    f32::from_bits(sign | bits)
}

#[inline(always)]
fn single_to_half(single: f32) -> u16 {
    if single.is_nan() {
        return 0x7fff;
    }
    let (sign, magnitude) = ((single.to_bits() >> 16) as u16 & 0x8000, single.abs());
    let bits = if magnitude >= 65520.0 {
        0x7c00
    } else if magnitude < 2.0_f32.powi(-14) {
        (magnitude * 2.0_f32.powi(24)).round_ties_even() as u16
    } else {
        // The half's last bit is the single's 13th: half of it is added, less one where the tie goes down.
        let bits = magnitude.to_bits() - ((127 - 15) << 23);
        ((bits + 0xfff + (bits >> 13 & 1)) >> 13) as u16
    };
    sign | bits
}
