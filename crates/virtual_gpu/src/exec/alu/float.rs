//! IEEE arithmetic, rounded once to nearest even, denormals kept.
//!
//! A NaN is the one thing that IEEE leaves open. In single precision there is one: writing a float into its register sees
//! to that. In double precision an operand's NaN goes through, made quiet, and a new one is negative (seen on an H200).

use ptx::op::{FloatOp, FloatType};

use crate::exec::lanes::{Apply, Lane, NAN32};

/// A float that a register holds.
pub(super) trait Float: Lane + PartialOrd {
    /// Its bits: what only moves or changes a sign keeps even a NaN's.
    type Bits: Lane;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn mul_add(self, b: Self, c: Self) -> Self;
    fn sqrt(self) -> Self;
    fn one() -> Self;
    fn is_nan(self) -> bool;
    /// Of two that compare equal: -0 if either is.
    fn either_negative(self, other: Self) -> Self;
    /// Of two that compare equal: +0 if either is.
    fn either_positive(self, other: Self) -> Self;
    fn nan() -> Self;
    /// The result, or the NaN that it is when the operands are these.
    fn settle(self, operands: [Self; 3]) -> Self;
    fn raw_abs(raw: Self::Bits) -> Self::Bits;
    fn raw_neg(raw: Self::Bits) -> Self::Bits;
    fn raw_copy_sign(sign: Self::Bits, magnitude: Self::Bits) -> Self::Bits;
}

macro_rules! float {
    ($type:ty, $raw:ty, $settle:expr, $keeps_nan:expr) => {
        impl Float for $type {
            type Bits = $raw;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                self / other
            }
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                self.mul_add(b, c)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn one() -> Self {
                1.0
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                self.is_nan()
            }
            #[inline(always)]
            fn either_negative(self, other: Self) -> Self {
                Self::from_bits(self.to_bits() | other.to_bits())
            }
            #[inline(always)]
            fn either_positive(self, other: Self) -> Self {
                Self::from_bits(self.to_bits() & other.to_bits())
            }
            #[inline(always)]
            fn nan() -> Self {
                Self::NAN
            }
            #[inline(always)]
            fn settle(self, operands: [Self; 3]) -> Self {
                $settle(self, operands)
            }
            #[inline(always)]
            fn raw_abs(raw: $raw) -> $raw {
                if <$type>::from_bits(raw).is_nan() { $keeps_nan(raw) } else { raw & <$raw>::MAX >> 1 }
            }
            #[inline(always)]
            fn raw_neg(raw: $raw) -> $raw {
                if <$type>::from_bits(raw).is_nan() { $keeps_nan(raw) } else { raw ^ !(<$raw>::MAX >> 1) }
            }
            #[inline(always)]
            fn raw_copy_sign(sign: $raw, magnitude: $raw) -> $raw {
                sign & !(<$raw>::MAX >> 1) | magnitude & <$raw>::MAX >> 1
            }
        }
    };
}

float!(f32, u32, |result: f32, _| result, |_| NAN32);
float!(f64, u64, settle, |raw: u64| raw | 1 << 51);

/// What a double's operation gives where a NaN comes out: the first of these operands that is one, made quiet. The second
/// operand of an instruction comes first, save in a division, which is a routine of its own (seen on an H200).
#[inline(always)]
fn settle(result: f64, [a, b, c]: [f64; 3]) -> f64 {
    let nan = if a.is_nan() {
        quiet(a)
    } else if b.is_nan() {
        quiet(b)
    } else if c.is_nan() {
        quiet(c)
    } else {
        f64::from_bits(0xfff8_0000_0000_0000)
    };
    if result.is_nan() { nan } else { result }
}

/// A NaN, made quiet.
#[inline(always)]
pub(super) fn quiet(nan: f64) -> f64 {
    f64::from_bits(nan.to_bits() | 1 << 51)
}

#[inline(always)]
pub(super) fn apply<M: Apply>(op: FloatOp, float: FloatType, m: M) -> M::Output {
    match float {
        FloatType::F32 => apply_to::<f32, M>(op, m),
        FloatType::F64 => apply_to::<f64, M>(op, m),
    }
}

#[inline(always)]
pub(super) fn apply_to<T: Float, M: Apply>(op: FloatOp, m: M) -> M::Output {
    match op {
        FloatOp::Add => m.two(add::<T>),
        FloatOp::Sub => m.two(sub::<T>),
        FloatOp::Mul => m.two(mul::<T>),
        FloatOp::Div => m.two(div::<T>),
        FloatOp::MulAdd => m.three(mul_add::<T>),
        FloatOp::Sqrt => m.one(|a: T| a.sqrt().settle([a; 3])),
        FloatOp::Reciprocal => m.one(|a: T| div(T::one(), a)),
        FloatOp::Min => m.two(min::<T>),
        FloatOp::Max => m.two(max::<T>),
        FloatOp::MinNan => m.two(|a: T, b: T| if a.is_nan() || b.is_nan() { T::nan() } else { min(a, b) }),
        FloatOp::MaxNan => m.two(|a: T, b: T| if a.is_nan() || b.is_nan() { T::nan() } else { max(a, b) }),
        FloatOp::Abs => m.one(T::raw_abs),
        FloatOp::Neg => m.one(T::raw_neg),
        FloatOp::CopySign => m.two(T::raw_copy_sign),
    }
}

#[inline(always)]
pub(super) fn add<T: Float>(a: T, b: T) -> T {
    a.add(b).settle([b, a, a])
}

#[inline(always)]
pub(super) fn sub<T: Float>(a: T, b: T) -> T {
    a.sub(b).settle([b, a, a])
}

#[inline(always)]
pub(super) fn mul<T: Float>(a: T, b: T) -> T {
    a.mul(b).settle([b, a, a])
}

#[inline(always)]
pub(super) fn div<T: Float>(a: T, b: T) -> T {
    a.div(b).settle([a, b, b])
}

#[inline(always)]
pub(super) fn mul_add<T: Float>(a: T, b: T, c: T) -> T {
    a.mul_add(b, c).settle([b, c, a])
}

#[inline(always)]
fn min<T: Float>(a: T, b: T) -> T {
    let number = if a < b { a } else { b };
    let number = if a == b { a.either_negative(b) } else { number };
    of_numbers(a, b, number)
}

#[inline(always)]
fn max<T: Float>(a: T, b: T) -> T {
    let number = if a > b { a } else { b };
    let number = if a == b { a.either_positive(b) } else { number };
    of_numbers(a, b, number)
}

/// The one that is a number; of two that are none the second.
#[inline(always)]
fn of_numbers<T: Float>(a: T, b: T, number: T) -> T {
    let number = if b.is_nan() { a } else { number };
    let number = if a.is_nan() { b } else { number };
    number.settle([b, b, b])
}
