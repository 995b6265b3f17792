//! The operations that kernels are made of, for all lanes together, for the vector units that the processor has.
//!
//! Each function does those of one family that it knows, and says whether it did. Their meaning stands elsewhere, in the
//! same functions that compute a single lane.

use multiversion::multiversion;
use ptx::op::{Alu, Comparison, FloatOp, FloatType, IntOp, IntType, Kind, Rounding};

use super::int::Int;
use super::{bits, compare, convert, float, int};
use crate::exec::lanes::{Apply, Lane, Rows};

/// Does the operation if it is a common one.
pub(super) fn run(op: Alu, rows: &mut Rows<'_>) -> bool {
    match op {
        Alu::Int(op, int) => match without_sign(op, int) {
            IntType::U32 => words(op, rows),
            IntType::S32 => signed_words(op, rows),
            IntType::U64 => doubles(op, rows),
            IntType::S64 => signed_doubles(op, rows),
            IntType::U16 | IntType::S16 => false,
        },
        Alu::Float(op, FloatType::F32) => singles(op, rows),
        Alu::Float(op, FloatType::F64) => wide_floats(op, rows),
        Alu::CompareInt(comparison, int) => compare_ints(comparison, int, rows),
        Alu::CompareFloat(comparison, FloatType::F32) => compare_singles(comparison, rows),
        op => others(op, rows),
    }
}

/// Where a sign makes no difference there is one loop for both types.
fn without_sign(op: IntOp, int: IntType) -> IntType {
    let same = matches!(
        op,
        IntOp::Add
            | IntOp::Sub
            | IntOp::Mul
            | IntOp::MulAdd
            | IntOp::And
            | IntOp::Or
            | IntOp::Xor
            | IntOp::Not
            | IntOp::Neg
            | IntOp::ShiftLeft
    );
    match int {
        IntType::S32 if same => IntType::U32,
        IntType::S64 if same => IntType::U64,
        int => int,
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+fma", "x86_64+avx2+fma", "aarch64+neon"))]
fn words(op: IntOp, rows: &mut Rows<'_>) -> bool {
    plain::<u32>(op, rows) || ordered::<u32>(op, rows)
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+fma", "x86_64+avx2+fma", "aarch64+neon"))]
fn signed_words(op: IntOp, rows: &mut Rows<'_>) -> bool {
    ordered::<i32>(op, rows)
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+fma", "x86_64+avx2+fma", "aarch64+neon"))]
fn doubles(op: IntOp, rows: &mut Rows<'_>) -> bool {
    plain::<u64>(op, rows)
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+fma", "x86_64+avx2+fma", "aarch64+neon"))]
fn signed_doubles(op: IntOp, rows: &mut Rows<'_>) -> bool {
    match op {
        IntOp::ShiftRight => int::apply::<i64, _>(IntOp::ShiftRight, rows),
        _ => return false,
    }
    true
}

/// What is the same for signed and unsigned integers, and the unsigned shift to the right.
#[inline(always)]
fn plain<T: Int>(op: IntOp, rows: &mut Rows<'_>) -> bool {
    match op {
        IntOp::Add => rows.two(T::add),
        IntOp::Sub => rows.two(T::sub),
        IntOp::Mul => rows.two(T::mul),
        IntOp::MulAdd => int::apply::<T, _>(IntOp::MulAdd, rows),
        IntOp::And => rows.two(T::and),
        IntOp::Or => rows.two(T::or),
        IntOp::Xor => rows.two(T::xor),
        IntOp::ShiftLeft => rows.two(T::shl),
        IntOp::ShiftRight => rows.two(T::shr),
        _ => return false,
    }
    true
}

/// What depends on the sign.
#[inline(always)]
fn ordered<T: Int>(op: IntOp, rows: &mut Rows<'_>) -> bool {
    match op {
        IntOp::ShiftRight => rows.two(T::shr),
        IntOp::Min => int::apply::<T, _>(IntOp::Min, rows),
        IntOp::Max => int::apply::<T, _>(IntOp::Max, rows),
        IntOp::MulWide => rows.two(T::mul_wide),
        IntOp::MulWideAdd => int::apply::<T, _>(IntOp::MulWideAdd, rows),
        _ => return false,
    }
    true
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+fma", "x86_64+avx2+fma", "aarch64+neon"))]
fn singles(op: FloatOp, rows: &mut Rows<'_>) -> bool {
    match op {
        FloatOp::Min | FloatOp::Max => min_max(op, rows),
        FloatOp::Sqrt => float::apply_to::<f32, _>(FloatOp::Sqrt, rows),
        FloatOp::Neg => float::apply_to::<f32, _>(FloatOp::Neg, rows),
        FloatOp::Abs => float::apply_to::<f32, _>(FloatOp::Abs, rows),
        op => return arithmetic::<f32>(op, rows),
    }
    true
}

#[inline(always)]
fn min_max(op: FloatOp, rows: &mut Rows<'_>) {
    match op {
        FloatOp::Min => float::apply_to::<f32, _>(FloatOp::Min, rows),
        _ => float::apply_to::<f32, _>(FloatOp::Max, rows),
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+fma", "x86_64+avx2+fma", "aarch64+neon"))]
fn wide_floats(op: FloatOp, rows: &mut Rows<'_>) -> bool {
    arithmetic::<f64>(op, rows)
}

#[inline(always)]
fn arithmetic<T: float::Float>(op: FloatOp, rows: &mut Rows<'_>) -> bool {
    match op {
        FloatOp::Add => rows.two(float::add::<T>),
        FloatOp::Sub => rows.two(float::sub::<T>),
        FloatOp::Mul => rows.two(float::mul::<T>),
        FloatOp::Div => rows.two(float::div::<T>),
        FloatOp::MulAdd => rows.three(float::mul_add::<T>),
        _ => return false,
    }
    true
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+fma", "x86_64+avx2+fma", "aarch64+neon"))]
fn compare_ints(comparison: Comparison, int: IntType, rows: &mut Rows<'_>) -> bool {
    match (comparison, int) {
        (Comparison::Equal | Comparison::NotEqual, IntType::U32 | IntType::S32) => {
            equality::<u32>(comparison, rows)
        }
        (Comparison::Equal | Comparison::NotEqual, IntType::U64 | IntType::S64) => {
            equality::<u64>(comparison, rows)
        }
        (_, IntType::U32) => inequality::<u32>(comparison, rows),
        (_, IntType::S32) => inequality::<i32>(comparison, rows),
        (_, IntType::U64) => inequality::<u64>(comparison, rows),
        (_, IntType::S64) => inequality::<i64>(comparison, rows),
        _ => return false,
    }
    true
}

#[inline(always)]
fn equality<T: Lane + PartialEq>(comparison: Comparison, rows: &mut Rows<'_>) {
    match comparison {
        Comparison::Equal => rows.two(|a: T, b: T| a == b),
        _ => rows.two(|a: T, b: T| a != b),
    }
}

#[inline(always)]
fn inequality<T: Lane + PartialOrd>(comparison: Comparison, rows: &mut Rows<'_>) {
    match comparison {
        Comparison::Less => rows.two(|a: T, b: T| a < b),
        Comparison::LessEqual => rows.two(|a: T, b: T| a <= b),
        Comparison::Greater => rows.two(|a: T, b: T| a > b),
        _ => rows.two(|a: T, b: T| a >= b),
    }
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+fma", "x86_64+avx2+fma", "aarch64+neon"))]
fn compare_singles(comparison: Comparison, rows: &mut Rows<'_>) -> bool {
    compare::floats(comparison, FloatType::F32, rows);
    true
}

#[multiversion(targets("x86_64+avx512f+avx512bw+avx512dq+avx512vl+fma", "x86_64+avx2+fma", "aarch64+neon"))]
fn others(op: Alu, rows: &mut Rows<'_>) -> bool {
    match op {
        Alu::Move(Kind::Double) => rows.one(|a: u64| a),
        Alu::Move(_) => rows.one(|a: u32| a),
        Alu::Select(Kind::Double) => rows.three(|a: u64, b: u64, p: bool| if p { a } else { b }),
        Alu::Select(_) => rows.three(|a: u32, b: u32, p: bool| if p { a } else { b }),
        // From 32 bits to 64 and back.
        Alu::Resize { from: Kind::Word, bits: 32, signed: false, to: Kind::Double, .. } => {
            rows.one(|a: u32| u64::from(a));
        }
        Alu::Resize {
            from: Kind::Word, bits: 32, signed: true, to: Kind::Double, saturate: false, ..
        } => {
            rows.one(|a: i32| i64::from(a));
        }
        Alu::Resize { from: Kind::Double, to: Kind::Word, keep: 32, saturate: false, bits: 64, .. } => {
            rows.one(|a: u64| a as u32);
        }
        Alu::IntToFloat(IntType::S32, FloatType::F32) => rows.one(|a: i32| a as f32),
        Alu::IntToFloat(IntType::U32, FloatType::F32) => rows.one(|a: u32| a as f32),
        Alu::FloatToInt(Rounding::Zero, FloatType::F32, IntType::S32) => rows.one(|a: f32| a as i32),
        Alu::Widen => convert::apply(Alu::Widen, rows),
        Alu::Funnel { left: true, clamp: false } => bits::funnel(true, false, rows),
        _ => return false,
    }
    true
}
