//! An opcode and its operands become an instruction: every operand is resolved and of the right width, or it is refused.

mod arithmetic;
mod control;
mod memory;

use super::action::{Action, Special};
use super::forms::{self, Make};
use super::instruction::{Base, Guard, Instruction, Reg, Source};
use super::op::{Alu, IntOp, IntType, Kind};
use super::operand::Operand;
use super::scope::Scope;

pub(super) use control::Pending;

/// Why an instruction is refused; the caller adds where.
pub(super) type Refusal = String;

/// One instruction on its way.
pub(super) struct Decoder<'s, 'a> {
    pub scope: &'s mut Scope<'a>,
    /// What the module's names mean.
    pub module: &'s mut dyn FnMut(&str) -> Option<Base>,
    /// Instructions go here; one form may need several.
    pub code: &'s mut Vec<Instruction>,
    /// Jumps and calls, to be resolved when the function has been read.
    pub pending: &'s mut Pending<'a>,
    pub guard: Option<Guard>,
    pub line: u32,
}

impl<'a> Decoder<'_, 'a> {
    /// Decodes one instruction.
    pub fn decode(&mut self, opcode: &'a str, operands: &[Operand<'a>]) -> Result<(), Refusal> {
        let make = forms::find(opcode).ok_or_else(|| format!("instruction `{opcode}` is not supported"))?;
        let last = opcode.rsplit('.').next().unwrap_or_default();
        match make {
            Make::Alu(op) => self.alu(op, operands),
            Make::Int(op) => {
                let int = int_type(last).ok_or("the type is missing")?;
                self.alu(Alu::Int(op, int), operands)
            }
            Make::Float(op) => {
                let float = forms::float_type(last).ok_or("the type is missing")?;
                self.alu(Alu::Float(op, float), operands)
            }
            Make::Compare => self.compare(opcode, operands),
            Make::Test => self.test(opcode, operands),
            Make::Select => self.alu(Alu::Select(kind_of(last)?), operands),
            Make::SelectSign => self.select_sign(opcode, operands),
            Make::Move => self.mov(kind_of(last)?, operands),
            Make::Convert => self.convert(opcode, operands),
            Make::Permute(mode) => self.alu(Alu::Permute(mode), operands),
            Make::Logic3 => self.alu(Alu::Logic3, operands),
            Make::Carry { subtract, reads } => self.carry(opcode, subtract, reads, operands),
            Make::ConvertAddress => self.convert_address(opcode, operands),
            Make::Load => self.load(opcode, operands),
            Make::Store => self.store(opcode, operands),
            Make::Atomic => self.atomic(opcode, operands, true),
            Make::Reduction => self.atomic(opcode, operands, false),
            other => self.control(other, opcode, operands),
        }
    }

    fn push(&mut self, action: Action) {
        self.code.push(Instruction { guard: self.guard, action, line: self.line });
    }

    /// An operation whose operands are as its signature says.
    fn alu(&mut self, op: Alu, operands: &[Operand<'a>]) -> Result<(), Refusal> {
        let (kind, sources) = op.signature();
        let [to, from @ ..] = operands else { return Err("operands are missing".to_owned()) };
        if from.len() != sources.len() {
            return Err(format!("{} operands where {} belong", from.len() + 1, sources.len() + 1));
        }
        let mut values = [Source::Bits(0); 4];
        for ((value, operand), &kind) in values.iter_mut().zip(from).zip(sources) {
            *value = self.source(operand, kind)?;
        }
        let to = self.register(to, kind)?;
        self.push(Action::Alu { op, to, from: values });
        Ok(())
    }

    /// A register of that kind.
    fn register(&mut self, operand: &Operand<'a>, kind: Kind) -> Result<Reg, Refusal> {
        let (reg, found) = self.any_register(operand)?;
        if found != kind {
            return Err(format!("a register of {} bits where one of {} belongs", found.bits(), kind.bits()));
        }
        Ok(reg)
    }

    fn any_register(&mut self, operand: &Operand<'a>) -> Result<(Reg, Kind), Refusal> {
        let Operand::Name(name) = operand else { return Err("an operand is no register".to_owned()) };
        self.scope.register(name).ok_or_else(|| format!("`{name}` is no register"))
    }

    /// A register to write, or `_` for none.
    fn register_or_none(&mut self, operand: &Operand<'a>, kind: Kind) -> Result<Option<Reg>, Refusal> {
        if *operand == Operand::Name("_") { Ok(None) } else { self.register(operand, kind).map(Some) }
    }

    /// A register or constant of that kind.
    fn source(&mut self, operand: &Operand<'a>, kind: Kind) -> Result<Source, Refusal> {
        match operand {
            Operand::Number(number) => number
                .bits(kind.bits())
                .map(Source::Bits)
                .ok_or_else(|| format!("a constant that is not of {} bits", kind.bits())),
            Operand::Name("WARP_SZ") => Ok(Source::Bits(32)),
            _ => self.register(operand, kind).map(Source::Reg),
        }
    }

    /// A predicate, perhaps turned round.
    fn predicate(&mut self, operand: &Operand<'a>) -> Result<(Source, bool), Refusal> {
        match operand {
            Operand::Not(name) => {
                let reg = self.register(&Operand::Name(name), Kind::Predicate)?;
                Ok((Source::Reg(reg), true))
            }
            _ => Ok((self.source(operand, Kind::Predicate)?, false)),
        }
    }
}

/// A type by its name, for integers and untyped bits.
pub(super) fn int_type(name: &str) -> Option<IntType> {
    Some(match name {
        "u16" | "b16" => IntType::U16,
        "s16" => IntType::S16,
        "u32" | "b32" => IntType::U32,
        "s32" => IntType::S32,
        "u64" | "b64" => IntType::U64,
        "s64" => IntType::S64,
        _ => return None,
    })
}

/// The register that a type lives in.
pub(super) fn kind_of(name: &str) -> Result<Kind, Refusal> {
    Ok(match name {
        "pred" => Kind::Predicate,
        "b8" | "u8" | "s8" | "b16" | "u16" | "s16" | "f16" => Kind::Half,
        "b32" | "u32" | "s32" | "f32" | "f16x2" => Kind::Word,
        "b64" | "u64" | "s64" | "f64" => Kind::Double,
        _ => return Err(format!("type `{name}` is not supported")),
    })
}

/// A special register by its name, and the kind of register that takes it.
pub(super) fn special(name: &str) -> Option<(Special, Kind)> {
    let axis = |name: &str| match name {
        "x" => Some(0),
        "y" => Some(1),
        "z" => Some(2),
        _ => None,
    };
    if let Some((family, last)) = name.split_once('.') {
        let axis = axis(last)?;
        let special = match family {
            "%tid" => Special::ThreadIndex(axis),
            "%ntid" => Special::BlockDim(axis),
            "%ctaid" => Special::BlockIndex(axis),
            "%nctaid" => Special::GridDim(axis),
            _ => return None,
        };
        return Some((special, Kind::Word));
    }
    Some(match name {
        "%laneid" => (Special::LaneId, Kind::Word),
        "%warpid" => (Special::WarpId, Kind::Word),
        "%nwarpid" => (Special::WarpCount, Kind::Word),
        "%smid" => (Special::SmId, Kind::Word),
        "%nsmid" => (Special::SmCount, Kind::Word),
        "%gridid" => (Special::GridId, Kind::Double),
        "%lanemask_eq" => (Special::LaneMaskEqual, Kind::Word),
        "%lanemask_lt" => (Special::LaneMaskLess, Kind::Word),
        "%lanemask_le" => (Special::LaneMaskLessEqual, Kind::Word),
        "%lanemask_gt" => (Special::LaneMaskGreater, Kind::Word),
        "%lanemask_ge" => (Special::LaneMaskGreaterEqual, Kind::Word),
        "%clock" => (Special::Clock, Kind::Word),
        "%clock_hi" => (Special::ClockHigh, Kind::Word),
        "%clock64" => (Special::Clock64, Kind::Double),
        "%globaltimer" => (Special::GlobalTimer, Kind::Double),
        "%globaltimer_lo" => (Special::GlobalTimerLow, Kind::Word),
        "%globaltimer_hi" => (Special::GlobalTimerHigh, Kind::Word),
        "%dynamic_smem_size" => (Special::DynamicSharedBytes, Kind::Word),
        "%total_smem_size" => (Special::TotalSharedBytes, Kind::Word),
        _ => return None,
    })
}

/// Carry-out and the sum are two operations of one instruction.
pub(super) fn carry_ops(subtract: bool) -> (IntOp, IntOp) {
    if subtract { (IntOp::BorrowOut, IntOp::SubBorrow) } else { (IntOp::CarryOut, IntOp::AddCarry) }
}
