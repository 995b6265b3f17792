//! Loads, stores, atomics, and what turns addresses of one space into those of another.

use super::{Decoder, Refusal, kind_of};
use crate::action::{Action, AtomicOp, MemoryType};
use crate::instruction::{Address, Base, Source, Space};
use crate::op::Kind;
use crate::operand::Operand;

impl<'a> Decoder<'_, 'a> {
    /// What a name is the address of.
    pub(super) fn place(&mut self, name: &str) -> Result<Base, Refusal> {
        let base = self.scope.find_place(name).or_else(|| (self.module)(name));
        base.ok_or_else(|| format!("`{name}` is not declared"))
    }

    fn address(&mut self, operand: &Operand<'a>) -> Result<Address, Refusal> {
        let Operand::Address(name, offset) = *operand else { return Err("an address is missing".to_owned()) };
        let Some(name) = name else { return Ok(Address { base: Base::Zero, offset }) };
        let base = match self.scope.register(name) {
            Some((reg, Kind::Word | Kind::Double)) => Base::Reg(reg),
            Some(_) => return Err(format!("`{name}` is too small for an address")),
            None => self.place(name)?,
        };
        Ok(Address { base, offset })
    }

    /// Elements of a vector access, or the single one.
    fn elements<'o>(opcode: &str, operand: &'o Operand<'a>) -> Result<&'o [Operand<'a>], Refusal> {
        let count = if opcode.contains(".v2.") {
            2
        } else if opcode.contains(".v4.") {
            4
        } else {
            return Ok(std::slice::from_ref(operand));
        };
        match operand {
            Operand::Vector(elements) if elements.len() == count => Ok(elements),
            _ => Err(format!("a vector of {count} belongs here")),
        }
    }

    pub(super) fn load(&mut self, opcode: &str, operands: &[Operand<'a>]) -> Result<(), Refusal> {
        let [to, address] = operands else { return Err("a load has two operands".to_owned()) };
        let (kind, least) = memory_type(opcode)?;
        let to = Self::elements(opcode, to)?
            .iter()
            .map(|element| {
                if *element == Operand::Name("_") {
                    return Ok(None);
                }
                let (reg, found) = self.any_register(element)?;
                if found.bits() < least.bits() {
                    Err("the register is too small".to_owned())
                } else {
                    Ok(Some(reg))
                }
            })
            .collect::<Result<_, _>>()?;
        let ordered = [".volatile", ".relaxed", ".acquire"].iter().any(|order| opcode.contains(order));
        let (space, address) = (space(opcode), self.address(address)?);
        self.push(Action::Load { space, kind, to, address, ordered });
        Ok(())
    }

    pub(super) fn store(&mut self, opcode: &str, operands: &[Operand<'a>]) -> Result<(), Refusal> {
        let [address, from] = operands else { return Err("a store has two operands".to_owned()) };
        let (kind, least) = memory_type(opcode)?;
        let from = Self::elements(opcode, from)?
            .iter()
            .map(|element| match element {
                Operand::Number(number) => number
                    .bits(least.bits())
                    .map(Source::Bits)
                    .ok_or_else(|| "a constant of another type".to_owned()),
                _ => {
                    let (reg, found) = self.any_register(element)?;
                    if found.bits() < least.bits() {
                        return Err("the register is too small".to_owned());
                    }
                    Ok(Source::Reg(reg))
                }
            })
            .collect::<Result<_, _>>()?;
        let (space, address) = (space(opcode), self.address(address)?);
        self.push(Action::Store { space, kind, from, address });
        Ok(())
    }

    /// `atom`, and `red`, which is the same without the old value.
    pub(super) fn atomic(
        &mut self,
        opcode: &str,
        operands: &[Operand<'a>],
        returns: bool,
    ) -> Result<(), Refusal> {
        let mut parts = opcode.rsplit('.');
        let (name, operation) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let kind = kind_of(name)?;
        let op = match (operation, &name[..1]) {
            ("add", "f") if kind == Kind::Word => AtomicOp::AddSingle,
            ("add", "f") => AtomicOp::AddDouble,
            ("add", _) => AtomicOp::Add,
            ("min", "s") => AtomicOp::MinSigned,
            ("min", _) => AtomicOp::MinUnsigned,
            ("max", "s") => AtomicOp::MaxSigned,
            ("max", _) => AtomicOp::MaxUnsigned,
            ("and", _) => AtomicOp::And,
            ("or", _) => AtomicOp::Or,
            ("xor", _) => AtomicOp::Xor,
            ("exch", _) => AtomicOp::Exchange,
            ("cas", _) => AtomicOp::CompareAndSwap,
            ("inc", _) => AtomicOp::Increment,
            _ => AtomicOp::Decrement,
        };
        let (to, rest) = match operands {
            [to, rest @ ..] if returns => (self.register_or_none(to, kind)?, rest),
            rest => (None, rest),
        };
        let wanted = if op == AtomicOp::CompareAndSwap { 3 } else { 2 };
        if rest.len() != wanted {
            return Err("the number of operands is wrong".to_owned());
        }
        let address = self.address(&rest[0])?;
        let mut from = [Source::Bits(0); 2];
        for (value, operand) in from.iter_mut().zip(&rest[1..]) {
            *value = self.source(operand, kind)?;
        }
        self.push(Action::Atomic { op, space: space(opcode), bytes: kind.bits() / 8, to, address, from });
        Ok(())
    }

    /// `cvta.global.u64 d, a` and `cvta.to.global.u64 d, a`.
    pub(super) fn convert_address(&mut self, opcode: &str, operands: &[Operand<'a>]) -> Result<(), Refusal> {
        let [to, from] = operands else { return Err("cvta has two operands".to_owned()) };
        let to = self.register(to, Kind::Double)?;
        let (space, back) = (space(opcode), opcode.starts_with("cvta.to."));
        match from {
            Operand::Name(name) | Operand::Offset(name, _)
                if self.scope.register(name).is_none() && !back =>
            {
                let offset = if let Operand::Offset(_, offset) = from { *offset } else { 0 };
                let base = self.place(name)?;
                self.push(Action::AddressOf { to, address: Address { base, offset }, generic: true });
            }
            _ => {
                let from = self.source(from, Kind::Double)?;
                self.push(Action::Convert { to, from, space, back });
            }
        }
        Ok(())
    }
}

/// The space an opcode names.
fn space(opcode: &str) -> Space {
    opcode
        .split(['.', ':'])
        .find_map(|part| {
            Some(match part {
                "global" => Space::Global,
                "shared" => Space::Shared,
                "local" => Space::Local,
                "const" => Space::Constant,
                "param" => Space::Parameter,
                _ => return None,
            })
        })
        .unwrap_or(Space::Generic)
}

/// The last modifier of an access: bytes, sign, and the smallest register that takes it.
fn memory_type(opcode: &str) -> Result<(MemoryType, Kind), Refusal> {
    let name = opcode.rsplit('.').next().unwrap_or_default();
    let bits: u32 = name.get(1..).and_then(|bits| bits.parse().ok()).ok_or("the type is missing")?;
    Ok((MemoryType { bytes: bits / 8, signed: name.starts_with('s') }, kind_of(name)?))
}
