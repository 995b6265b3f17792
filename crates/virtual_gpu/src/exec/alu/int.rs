//! Integers. What the hardware does where Rust would stop: overflow wraps, quotient and remainder of a division by
//! zero are all ones, shift counts are clamped (seen on an H200, like all that the PTX ISA leaves open).

use ptx::op::{IntOp, IntType};

use crate::exec::lanes::{Apply, Lane};

/// An integer that a register holds.
pub(super) trait Int: Lane + Ord {
    type Wide: Lane;
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn mul_high(self, other: Self) -> Self;
    fn mul_wide(self, other: Self) -> Self::Wide;
    fn add_wide(a: Self::Wide, b: Self::Wide) -> Self::Wide;
    fn div(self, other: Self) -> Self;
    fn rem(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn not(self) -> Self;
    fn neg(self) -> Self;
    fn abs(self) -> Self;
    fn shl(self, count: u32) -> Self;
    fn shr(self, count: u32) -> Self;
    fn carry_out(self, other: Self, carry: bool) -> bool;
    fn borrow_out(self, other: Self, borrow: bool) -> bool;
    fn count_ones(self) -> u32;
    fn leading_zeros(self) -> u32;
    fn reverse_bits(self) -> Self;
    /// Position of the highest bit that is not a copy of the sign.
    fn find_bit(self) -> u32;
    fn extract(self, at: u32, length: u32) -> Self;
    fn insert(self, into: Self, at: u32, length: u32) -> Self;
    fn from_bool(value: bool) -> Self;
}

/// A position or a length of a bit field: of 32 bits and fewer only the lowest eight bits of it count.
#[inline(always)]
fn field_part<T>(part: u32) -> u32 {
    if size_of::<T>() == 8 { part } else { part & 0xff }
}

macro_rules! int {
    ($type:ty, $unsigned:ty, $wide:ty, $double:ty) => {
        impl Int for $type {
            type Wide = $wide;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn mul_high(self, other: Self) -> Self {
                ((self as $double * other as $double) >> <$type>::BITS) as $type
            }
            #[inline(always)]
            fn mul_wide(self, other: Self) -> $wide {
                (self as $wide).wrapping_mul(other as $wide)
            }
            #[inline(always)]
            fn add_wide(a: $wide, b: $wide) -> $wide {
                a.wrapping_add(b)
            }
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                if other == 0 { !0 } else { self.wrapping_div(other) }
            }
            #[inline(always)]
            fn rem(self, other: Self) -> Self {
                if other == 0 { !0 } else { self.wrapping_rem(other) }
            }
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn not(self) -> Self {
                !self
            }
            #[inline(always)]
            fn neg(self) -> Self {
                self.wrapping_neg()
            }
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn abs(self) -> Self {
                if self < 0 { self.wrapping_neg() } else { self }
            }
            #[inline(always)]
            fn shl(self, count: u32) -> Self {
                if count < <$type>::BITS { self << count } else { 0 }
            }
            #[inline(always)]
            fn shr(self, count: u32) -> Self {
                if count < <$type>::BITS { self >> count } else { self >> (<$type>::BITS - 1) >> 1 }
            }
            #[inline(always)]
            fn carry_out(self, other: Self, carry: bool) -> bool {
                let (sum, first) = (self as $unsigned).overflowing_add(other as $unsigned);
                first | sum.overflowing_add(carry as $unsigned).1
            }
            #[inline(always)]
            fn borrow_out(self, other: Self, borrow: bool) -> bool {
                let (difference, first) = (self as $unsigned).overflowing_sub(other as $unsigned);
                first | difference.overflowing_sub(borrow as $unsigned).1
            }
            #[inline(always)]
            fn count_ones(self) -> u32 {
                self.count_ones()
            }
            #[inline(always)]
            fn leading_zeros(self) -> u32 {
                self.leading_zeros()
            }
            #[inline(always)]
            fn reverse_bits(self) -> Self {
                self.reverse_bits()
            }
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn find_bit(self) -> u32 {
                let bits = if self < 0 { !self } else { self };
                // All ones where there is no such bit.
                (<$type>::BITS - 1).wrapping_sub(bits.leading_zeros())
            }
            #[inline(always)]
            fn extract(self, at: u32, length: u32) -> Self {
                let (at, length) = (field_part::<Self>(at), field_part::<Self>(length));
                if length == 0 {
                    return 0;
                }
                // The field's end, or the register's.
                let end = at.saturating_add(length).min(<$type>::BITS);
                if at >= <$type>::BITS {
                    return self >> (<$type>::BITS - 1) & if <$type>::MIN == 0 { 0 } else { !0 };
                }
                // What is above the field goes, and its highest bit is extended as the type says.
                self << (<$type>::BITS - end) >> (<$type>::BITS - end + at)
            }
            #[inline(always)]
            fn insert(self, into: Self, at: u32, length: u32) -> Self {
                let (at, length) = (field_part::<Self>(at), field_part::<Self>(length));
                if at >= <$type>::BITS || length == 0 {
                    return into;
                }
                let ones: $unsigned = !0;
                let field = (ones >> <$type>::BITS.saturating_sub(length).min(<$type>::BITS - 1)) << at;
                ((self as $unsigned) << at & field | into as $unsigned & !field) as $type
            }
            #[inline(always)]
            fn from_bool(value: bool) -> Self {
                value as $type
            }
        }
    };
}

int!(u16, u16, u32, u32);
int!(i16, u16, i32, i32);
int!(u32, u32, u64, u64);
int!(i32, u32, i64, i64);
int!(u64, u64, u64, u128);
int!(i64, u64, i64, i128);

#[inline(always)]
pub(super) fn apply_any<M: Apply>(op: IntOp, int: IntType, m: M) -> M::Output {
    match int {
        IntType::U16 => apply::<u16, M>(op, m),
        IntType::S16 => apply::<i16, M>(op, m),
        IntType::U32 => apply::<u32, M>(op, m),
        IntType::S32 => apply::<i32, M>(op, m),
        IntType::U64 => apply::<u64, M>(op, m),
        IntType::S64 => apply::<i64, M>(op, m),
    }
}

#[inline(always)]
pub(super) fn apply<T: Int, M: Apply>(op: IntOp, m: M) -> M::Output {
    match op {
        IntOp::Add => m.two(T::add),
        IntOp::Sub => m.two(T::sub),
        IntOp::Mul => m.two(T::mul),
        IntOp::MulHigh => m.two(T::mul_high),
        IntOp::MulWide => m.two(T::mul_wide),
        IntOp::Div => m.two(T::div),
        IntOp::Rem => m.two(T::rem),
        IntOp::Min => m.two(|a: T, b: T| a.min(b)),
        IntOp::Max => m.two(|a: T, b: T| a.max(b)),
        IntOp::And => m.two(T::and),
        IntOp::Or => m.two(T::or),
        IntOp::Xor => m.two(T::xor),
        IntOp::ShiftLeft => m.two(T::shl),
        IntOp::ShiftRight => m.two(T::shr),
        IntOp::Not => m.one(T::not),
        IntOp::Neg => m.one(T::neg),
        IntOp::Abs => m.one(T::abs),
        IntOp::MulAdd => m.three(|a: T, b: T, c: T| a.mul(b).add(c)),
        IntOp::MulHighAdd => m.three(|a: T, b: T, c: T| a.mul_high(b).add(c)),
        IntOp::MulWideAdd => m.three(|a: T, b: T, c: T::Wide| T::add_wide(a.mul_wide(b), c)),
        IntOp::CarryOut => m.three(T::carry_out),
        IntOp::AddCarry => m.three(|a: T, b: T, carry: bool| a.add(b).add(T::from_bool(carry))),
        IntOp::BorrowOut => m.three(T::borrow_out),
        IntOp::SubBorrow => m.three(|a: T, b: T, borrow: bool| a.sub(b).sub(T::from_bool(borrow))),
        IntOp::PopCount => m.one(T::count_ones),
        IntOp::LeadingZeros => m.one(T::leading_zeros),
        IntOp::ReverseBits => m.one(T::reverse_bits),
        IntOp::FindBit => m.one(T::find_bit),
        IntOp::Extract => m.three(T::extract),
        IntOp::Insert => m.four(T::insert),
    }
}
