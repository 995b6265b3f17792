//! What an instruction computes from its operands' values: names only. Whoever executes them says what each means and costs.

/// An integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntType {
    /// 16 bits, unsigned.
    U16,
    /// 16 bits, signed.
    S16,
    /// 32 bits, unsigned.
    U32,
    /// 32 bits, signed.
    S32,
    /// 64 bits, unsigned.
    U64,
    /// 64 bits, signed.
    S64,
}

/// A floating-point type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatType {
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

/// What a register holds: the kinds of row that a register file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One bit.
    Predicate,
    /// 16 bits.
    Half,
    /// 32 bits.
    Word,
    /// 64 bits.
    Double,
}

impl Kind {
    /// Returns the number of bits of a value.
    pub fn bits(self) -> u32 {
        match self {
            Self::Predicate => 1,
            Self::Half => 16,
            Self::Word => 32,
            Self::Double => 64,
        }
    }
}

impl IntType {
    /// Returns the kind of register that holds it.
    pub fn kind(self) -> Kind {
        match self {
            Self::U16 | Self::S16 => Kind::Half,
            Self::U32 | Self::S32 => Kind::Word,
            Self::U64 | Self::S64 => Kind::Double,
        }
    }
}

impl FloatType {
    /// Returns the kind of register that holds it.
    pub fn kind(self) -> Kind {
        match self {
            Self::F32 => Kind::Word,
            Self::F64 => Kind::Double,
        }
    }
}

/// An operation on integers of one type. Comments give what is not obvious.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are those of PTX
pub enum IntOp {
    Add,
    Sub,
    Mul,
    /// The upper half of the product.
    MulHigh,
    /// The product in twice the width.
    MulWide,
    Div,
    Rem,
    Min,
    Max,
    And,
    Or,
    Xor,
    /// Left, by a 32-bit count that is clamped to the width.
    ShiftLeft,
    /// Right, arithmetic for signed types, by a 32-bit count that is clamped to the width.
    ShiftRight,
    Not,
    Neg,
    Abs,
    /// `a * b + c`.
    MulAdd,
    /// The upper half of the product, plus `c`.
    MulHighAdd,
    /// The product in twice the width, plus `c` of that width.
    MulWideAdd,
    /// Whether `a + b + carry` carries out.
    CarryOut,
    /// `a + b + carry`.
    AddCarry,
    /// Whether `a - b - borrow` borrows.
    BorrowOut,
    /// `a - b - borrow`.
    SubBorrow,
    /// Ones, as a 32-bit value.
    PopCount,
    /// Leading zeros, as a 32-bit value.
    LeadingZeros,
    ReverseBits,
    /// Position of the highest bit that is not a copy of the sign, or all ones; as a 32-bit value.
    FindBit,
    /// `a`'s field of length `c` at `b`, extended by its type.
    Extract,
    /// `a` put into `b` at position `c` with length `d`.
    Insert,
}

/// An operation on floats of one type, each rounded once to nearest even.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are those of PTX
pub enum FloatOp {
    Add,
    Sub,
    Mul,
    Div,
    MulAdd,
    Sqrt,
    Reciprocal,
    /// A NaN loses against a number; -0 is below +0.
    Min,
    /// A NaN loses against a number; +0 is above -0.
    Max,
    /// A NaN wins.
    MinNan,
    /// A NaN wins.
    MaxNan,
    Abs,
    Neg,
    /// The magnitude of the second with the sign of the first.
    CopySign,
}

/// A comparison; `Unordered` ones hold when an operand is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names say it
pub enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    UnorderedEqual,
    UnorderedNotEqual,
    UnorderedLess,
    UnorderedLessEqual,
    UnorderedGreater,
    UnorderedGreaterEqual,
    /// Neither is NaN.
    Numbers,
    /// One is NaN.
    NotNumbers,
}

/// Logic on predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names say it
pub enum PredicateOp {
    And,
    Or,
    Xor,
    Not,
    Move,
}

/// How a float becomes one with fewer digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// To nearest, ties to even.
    Nearest,
    /// Towards zero.
    Zero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
}

/// What a class of floats `testp` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names say it
pub enum FloatTest {
    Finite,
    Infinite,
    Number,
    NotANumber,
    Normal,
    Subnormal,
}

/// Which bits `prmt` selects by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // the names are those of PTX
pub enum PermuteMode {
    Index,
    Forward4,
    Backward4,
    Replicate8,
    EdgeLeft,
    EdgeRight,
    Replicate16,
}

/// Everything that computes a register from registers, lane by lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Alu {
    /// Integer arithmetic.
    Int(IntOp, IntType),
    /// Floating-point arithmetic.
    Float(FloatOp, FloatType),
    /// `setp` on integers.
    CompareInt(Comparison, IntType),
    /// `setp` on floats.
    CompareFloat(Comparison, FloatType),
    /// `testp`.
    Test(FloatTest, FloatType),
    /// Logic on predicates.
    Predicate(PredicateOp),
    /// The value as it is.
    Move(Kind),
    /// `a` where the predicate holds, else `b`.
    Select(Kind),
    /// `a` where `c` is not negative, else `b`.
    SelectSign(Kind),
    /// Integer to integer.
    Resize {
        /// The register that is read.
        from: Kind,
        /// Bits of it that count.
        bits: u8,
        /// Whether the highest of them is a sign.
        signed: bool,
        /// The register that is written.
        to: Kind,
        /// Bits of it that are kept.
        keep: u8,
        /// Whether the highest of the kept ones is a sign, and fills the register.
        keep_signed: bool,
        /// Whether out-of-range values become the nearest, rather than lose their upper bits.
        saturate: bool,
    },
    /// Integer to float, rounded to nearest.
    IntToFloat(IntType, FloatType),
    /// An 8-bit integer to float.
    ByteToFloat(bool, FloatType),
    /// Float to integer, out-of-range values to the nearest, NaN to 0 (32 bits and fewer) or the lowest bit pattern.
    FloatToInt(Rounding, FloatType, IntType),
    /// Float to 8-bit integer.
    FloatToByte(Rounding, FloatType, bool),
    /// To an integral value of the same type.
    Round(Rounding, FloatType),
    /// Single to double.
    Widen,
    /// Double to single, rounded.
    Narrow(Rounding),
    /// Half precision to single.
    HalfToSingle,
    /// Single to half precision, to nearest.
    SingleToHalf,
    /// Bytes of two words, chosen by the third.
    Permute(PermuteMode),
    /// `shf`: two words shifted as one, the upper (left) or lower (right) word kept.
    Funnel {
        /// Left, keeping the upper word.
        left: bool,
        /// The count is clamped to 32 rather than taken modulo 32.
        clamp: bool,
    },
    /// Any function of three words' bits, by its table.
    Logic3,
    /// Two words make a double word, the first the lower.
    Join32,
    /// Two halves make a word.
    Join16,
    /// One of a double word's words.
    Part32(u8),
    /// One of a word's halves.
    Part16(u8),
}

impl Alu {
    /// Returns the kind of the register that it writes, and the kinds of those that it reads, in order.
    pub fn signature(self) -> (Kind, &'static [Kind]) {
        use Kind::{Double as D, Half as H, Predicate as P, Word as W};
        match self {
            Self::Int(op, int) => int_signature(op, int.kind()),
            Self::Float(op, float) => {
                let (kind, three) = match float.kind() {
                    D => (D, &[D, D, D]),
                    _ => (W, &[W, W, W]),
                };
                let sources = match op {
                    FloatOp::Sqrt | FloatOp::Reciprocal | FloatOp::Abs | FloatOp::Neg => 1,
                    FloatOp::MulAdd => 3,
                    _ => 2,
                };
                (kind, &three[..sources])
            }
            Self::CompareInt(_, int) => (P, pair(int.kind())),
            Self::CompareFloat(_, float) => (P, pair(float.kind())),
            Self::Test(_, float) => (P, &pair(float.kind())[..1]),
            Self::Predicate(PredicateOp::Not | PredicateOp::Move) => (P, &[P]),
            Self::Predicate(_) => (P, &[P, P]),
            Self::Move(kind) => (kind, &pair(kind)[..1]),
            Self::Select(H) => (H, &[H, H, P]),
            Self::Select(D) => (D, &[D, D, P]),
            Self::Select(_) => (W, &[W, W, P]),
            Self::SelectSign(D) => (D, &[D, D, W]),
            Self::SelectSign(_) => (W, &[W, W, W]),
            Self::Resize { from, to, .. } => (to, &pair(from)[..1]),
            Self::IntToFloat(int, float) => (float.kind(), &pair(int.kind())[..1]),
            Self::ByteToFloat(_, float) => (float.kind(), &[H]),
            Self::FloatToInt(_, float, int) => (int.kind(), &pair(float.kind())[..1]),
            Self::FloatToByte(_, float, _) => (H, &pair(float.kind())[..1]),
            Self::Round(_, float) => (float.kind(), &pair(float.kind())[..1]),
            Self::Widen => (D, &[W]),
            Self::Narrow(_) => (W, &[D]),
            Self::HalfToSingle => (W, &[H]),
            Self::SingleToHalf => (H, &[W]),
            Self::Permute(_) | Self::Funnel { .. } => (W, &[W, W, W]),
            Self::Logic3 => (W, &[W, W, W, W]),
            Self::Join32 => (D, &[W, W]),
            Self::Join16 => (W, &[H, H]),
            Self::Part32(_) => (W, &[D]),
            Self::Part16(_) => (H, &[W]),
        }
    }
}

fn pair(kind: Kind) -> &'static [Kind] {
    match kind {
        Kind::Predicate => &[Kind::Predicate; 2],
        Kind::Half => &[Kind::Half; 2],
        Kind::Word => &[Kind::Word; 2],
        Kind::Double => &[Kind::Double; 2],
    }
}

fn int_signature(op: IntOp, kind: Kind) -> (Kind, &'static [Kind]) {
    use IntOp as I;
    use Kind::{Double as D, Half as H, Predicate as P, Word as W};
    let wide = if kind == H { W } else { D };
    match op {
        I::Not | I::Neg | I::Abs | I::ReverseBits => (kind, &pair(kind)[..1]),
        I::PopCount | I::LeadingZeros | I::FindBit => (W, &pair(kind)[..1]),
        I::MulWide => (wide, pair(kind)),
        I::MulWideAdd => (wide, if kind == H { &[H, H, W] } else { &[W, W, D] }),
        I::ShiftLeft | I::ShiftRight => (kind, by_kind(kind, &[H, W], &[W, W], &[D, W])),
        I::MulAdd | I::MulHighAdd => (kind, by_kind(kind, &[H; 3], &[W; 3], &[D; 3])),
        I::AddCarry | I::SubBorrow => (kind, by_kind(kind, &[H, H, P], &[W, W, P], &[D, D, P])),
        I::CarryOut | I::BorrowOut => (P, by_kind(kind, &[H, H, P], &[W, W, P], &[D, D, P])),
        I::Extract => (kind, by_kind(kind, &[H, W, W], &[W, W, W], &[D, W, W])),
        I::Insert => (kind, by_kind(kind, &[H, H, W, W], &[W, W, W, W], &[D, D, W, W])),
        _ => (kind, pair(kind)),
    }
}

fn by_kind<T>(kind: Kind, half: T, word: T, double: T) -> T {
    match kind {
        Kind::Predicate | Kind::Half => half,
        Kind::Word => word,
        Kind::Double => double,
    }
}
