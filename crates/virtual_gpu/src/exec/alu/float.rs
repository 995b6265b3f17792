//! IEEE arithmetic, rounded once to nearest even, denormals kept. A result that is not a number is the canonical one:
//! writing a float into its register sees to that.

use crate::exec::lanes::{Apply, Lane};
use crate::ptx::op::{FloatOp, FloatType};

/// A float that a register holds.
pub(super) trait Float: Lane + PartialOrd {
    /// Its bits: what only moves or changes a sign keeps even a NaN's.
    type Raw: Lane;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn div(self, other: Self) -> Self;
    fn mul_add(self, b: Self, c: Self) -> Self;
    fn sqrt(self) -> Self;
    fn reciprocal(self) -> Self;
    fn is_nan(self) -> bool;
    /// Of two that compare equal: -0 if either is.
    fn either_negative(self, other: Self) -> Self;
    /// Of two that compare equal: +0 if either is.
    fn either_positive(self, other: Self) -> Self;
    fn nan() -> Self;
    fn raw_abs(raw: Self::Raw) -> Self::Raw;
    fn raw_neg(raw: Self::Raw) -> Self::Raw;
    fn raw_copy_sign(sign: Self::Raw, magnitude: Self::Raw) -> Self::Raw;
}

macro_rules! float {
    ($type:ty, $raw:ty) => {
        impl Float for $type {
            type Raw = $raw;
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
            fn reciprocal(self) -> Self {
                1.0 / self
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
            fn raw_abs(raw: $raw) -> $raw {
                raw & <$raw>::MAX >> 1
            }
            #[inline(always)]
            fn raw_neg(raw: $raw) -> $raw {
                raw ^ !(<$raw>::MAX >> 1)
            }
            #[inline(always)]
            fn raw_copy_sign(sign: $raw, magnitude: $raw) -> $raw {
                sign & !(<$raw>::MAX >> 1) | magnitude & <$raw>::MAX >> 1
            }
        }
    };
}

float!(f32, u32);
float!(f64, u64);

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
        FloatOp::Add => m.two(T::add),
        FloatOp::Sub => m.two(T::sub),
        FloatOp::Mul => m.two(T::mul),
        FloatOp::Div => m.two(T::div),
        FloatOp::MulAdd => m.three(T::mul_add),
        FloatOp::Sqrt => m.one(T::sqrt),
        FloatOp::Reciprocal => m.one(T::reciprocal),
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
fn min<T: Float>(a: T, b: T) -> T {
    let number = if a < b { a } else { b };
    let number = if a == b { a.either_negative(b) } else { number };
    if b.is_nan() { a } else { number }
}

#[inline(always)]
fn max<T: Float>(a: T, b: T) -> T {
    let number = if a > b { a } else { b };
    let number = if a == b { a.either_positive(b) } else { number };
    if b.is_nan() { a } else { number }
}
