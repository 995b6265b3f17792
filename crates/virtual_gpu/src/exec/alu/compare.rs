//! Comparisons and tests, which write predicates.

use ptx::op::{Comparison, FloatTest, FloatType, IntType};

use super::int::Int;
use crate::exec::lanes::{Apply, Lane};

#[inline(always)]
pub(super) fn ints<M: Apply>(comparison: Comparison, int: IntType, m: M) -> M::Output {
    match int {
        IntType::U16 => int_of::<u16, M>(comparison, m),
        IntType::S16 => int_of::<i16, M>(comparison, m),
        IntType::U32 => int_of::<u32, M>(comparison, m),
        IntType::S32 => int_of::<i32, M>(comparison, m),
        IntType::U64 => int_of::<u64, M>(comparison, m),
        IntType::S64 => int_of::<i64, M>(comparison, m),
    }
}

#[inline(always)]
fn int_of<T: Int, M: Apply>(comparison: Comparison, m: M) -> M::Output {
    match comparison {
        Comparison::Equal => m.two(|a: T, b: T| a == b),
        Comparison::NotEqual => m.two(|a: T, b: T| a != b),
        Comparison::Less => m.two(|a: T, b: T| a < b),
        Comparison::LessEqual => m.two(|a: T, b: T| a <= b),
        Comparison::Greater => m.two(|a: T, b: T| a > b),
        // The others are for floats only.
        _ => m.two(|a: T, b: T| a >= b),
    }
}

#[inline(always)]
pub(super) fn floats<M: Apply>(comparison: Comparison, float: FloatType, m: M) -> M::Output {
    match float {
        FloatType::F32 => float_of::<f32, M>(comparison, m),
        FloatType::F64 => float_of::<f64, M>(comparison, m),
    }
}

#[inline(always)]
#[allow(clippy::neg_cmp_op_on_partial_ord)] // "not less" is what an unordered comparison asks
fn float_of<T: Lane + PartialOrd, M: Apply>(comparison: Comparison, m: M) -> M::Output {
    match comparison {
        Comparison::Equal => m.two(|a: T, b: T| a == b),
        Comparison::NotEqual => m.two(|a: T, b: T| (a < b) | (a > b)),
        Comparison::Less => m.two(|a: T, b: T| a < b),
        Comparison::LessEqual => m.two(|a: T, b: T| a <= b),
        Comparison::Greater => m.two(|a: T, b: T| a > b),
        Comparison::GreaterEqual => m.two(|a: T, b: T| a >= b),
        Comparison::UnorderedEqual => m.two(|a: T, b: T| !((a < b) | (a > b))),
        Comparison::UnorderedNotEqual => m.two(|a: T, b: T| a != b),
        Comparison::UnorderedLess => m.two(|a: T, b: T| !(a >= b)),
        Comparison::UnorderedLessEqual => m.two(|a: T, b: T| !(a > b)),
        Comparison::UnorderedGreater => m.two(|a: T, b: T| !(a <= b)),
        Comparison::UnorderedGreaterEqual => m.two(|a: T, b: T| !(a < b)),
        Comparison::Numbers => m.two(|a: T, b: T| (a <= b) | (a > b)),
        Comparison::NotNumbers => m.two(|a: T, b: T| !((a <= b) | (a > b))),
    }
}

#[inline(always)]
pub(super) fn test<M: Apply>(test: FloatTest, float: FloatType, m: M) -> M::Output {
    match (test, float) {
        (FloatTest::Finite, FloatType::F32) => m.one(|a: f32| a.is_finite()),
        (FloatTest::Finite, FloatType::F64) => m.one(|a: f64| a.is_finite()),
        (FloatTest::Infinite, FloatType::F32) => m.one(|a: f32| a.is_infinite()),
        (FloatTest::Infinite, FloatType::F64) => m.one(|a: f64| a.is_infinite()),
        (FloatTest::Number, FloatType::F32) => m.one(|a: f32| !a.is_nan()),
        (FloatTest::Number, FloatType::F64) => m.one(|a: f64| !a.is_nan()),
        (FloatTest::NotANumber, FloatType::F32) => m.one(|a: f32| a.is_nan()),
        (FloatTest::NotANumber, FloatType::F64) => m.one(|a: f64| a.is_nan()),
        (FloatTest::Normal, FloatType::F32) => m.one(|a: f32| a.is_normal() || a == 0.0),
        (FloatTest::Normal, FloatType::F64) => m.one(|a: f64| a.is_normal() || a == 0.0),
        (FloatTest::Subnormal, FloatType::F32) => m.one(|a: f32| a.is_subnormal()),
        (FloatTest::Subnormal, FloatType::F64) => m.one(|a: f64| a.is_subnormal()),
    }
}
