//! Comparisons, moves, conversions, carries: forms whose operands are not simply those of one operation.

use super::{Decoder, Refusal, carry_ops, int_type, kind_of, special};
use crate::action::Action;
use crate::forms::float_type;
use crate::instruction::{Address, Reg, Source};
use crate::op::{Alu, Comparison, FloatTest, IntType, Kind, PredicateOp, Rounding};
use crate::operand::Operand;

impl<'a> Decoder<'_, 'a> {
    /// `setp.lt.u32 p|q, a, b` and `setp.lt.and.u32 p|q, a, b, c`.
    pub(super) fn compare(&mut self, opcode: &str, operands: &[Operand<'a>]) -> Result<(), Refusal> {
        let parts: Vec<&str> = opcode.split('.').collect();
        let (&last, name) = (parts.last().unwrap_or(&""), parts.get(1).copied().unwrap_or_default());
        let comparison = comparison(name).ok_or("an unknown comparison")?;
        let op = match (float_type(last), int_type(last)) {
            (Some(float), _) => Alu::CompareFloat(comparison, float),
            (_, Some(int)) => Alu::CompareInt(comparison, int),
            _ => return Err("the type is missing".to_owned()),
        };
        let kind = op.signature().1[0];
        let logic = match parts.get(2) {
            Some(&"and") => Some(PredicateOp::And),
            Some(&"or") => Some(PredicateOp::Or),
            Some(&"xor") => Some(PredicateOp::Xor),
            _ => None,
        };
        let [to, a, b, rest @ ..] = operands else { return Err("operands are missing".to_owned()) };
        if rest.len() != usize::from(logic.is_some()) {
            return Err("the number of operands is wrong".to_owned());
        }
        let from = [self.source(a, kind)?, self.source(b, kind)?, Source::Bits(0), Source::Bits(0)];
        let (first, second) = match to {
            Operand::Pair(first, second) => (Operand::Name(first), Some(Operand::Name(second))),
            other => (other.clone(), None),
        };
        let first = self.register(&first, Kind::Predicate)?;
        let second =
            second.map(|second| self.register_or_none(&second, Kind::Predicate)).transpose()?.flatten();
        let with = rest.first().map(|operand| self.predicate(operand)).transpose()?;
        if second.is_none() && with.is_none() {
            self.push(Action::Alu { op, to: first, from });
            return Ok(());
        }
        // Both results are made of the comparison before either is written: an operand may be one of them.
        let (holds, fails) = (self.scope.fresh(Kind::Predicate), self.scope.fresh(Kind::Predicate));
        self.push(Action::Alu { op, to: holds, from });
        self.logic(PredicateOp::Not, fails, Source::Reg(holds), Source::Bits(0));
        if let (Some(logic), Some((mut with, negated))) = (logic, with) {
            if negated {
                let turned = self.scope.fresh(Kind::Predicate);
                self.logic(PredicateOp::Not, turned, with, Source::Bits(0));
                with = Source::Reg(turned);
            }
            self.logic(logic, holds, Source::Reg(holds), with);
            self.logic(logic, fails, Source::Reg(fails), with);
        }
        self.logic(PredicateOp::Move, first, Source::Reg(holds), Source::Bits(0));
        if let Some(second) = second {
            self.logic(PredicateOp::Move, second, Source::Reg(fails), Source::Bits(0));
        }
        Ok(())
    }

    fn logic(&mut self, op: PredicateOp, to: Reg, a: Source, b: Source) {
        let from = [a, b, Source::Bits(0), Source::Bits(0)];
        self.push(Action::Alu { op: Alu::Predicate(op), to, from });
    }

    /// `testp.finite.f32 p, a`.
    pub(super) fn test(&mut self, opcode: &str, operands: &[Operand<'a>]) -> Result<(), Refusal> {
        let parts: Vec<&str> = opcode.split('.').collect();
        let test = match parts.get(1) {
            Some(&"finite") => FloatTest::Finite,
            Some(&"infinite") => FloatTest::Infinite,
            Some(&"number") => FloatTest::Number,
            Some(&"notanumber") => FloatTest::NotANumber,
            Some(&"normal") => FloatTest::Normal,
            _ => FloatTest::Subnormal,
        };
        let float = parts.last().and_then(|last| float_type(last)).ok_or("the type is missing")?;
        self.alu(Alu::Test(test, float), operands)
    }

    /// `slct.u32.s32 d, a, b, c`.
    pub(super) fn select_sign(&mut self, opcode: &str, operands: &[Operand<'a>]) -> Result<(), Refusal> {
        let kind = kind_of(opcode.split('.').nth(1).unwrap_or_default())?;
        self.alu(Alu::SelectSign(kind), operands)
    }

    /// Everything that `mov` does: values, addresses, special registers, packing and unpacking.
    pub(super) fn mov(&mut self, kind: Kind, operands: &[Operand<'a>]) -> Result<(), Refusal> {
        let [to, from] = operands else { return Err("mov has two operands".to_owned()) };
        match (to, from) {
            (Operand::Vector(parts), from) => self.unpack(kind, parts, from),
            (to, Operand::Vector(parts)) => self.pack(kind, to, parts),
            (to, Operand::Name(name)) if name.starts_with('%') && special(name).is_some() => {
                let (special, width) = special(name).ok_or("an unknown special register")?;
                if width != kind {
                    return Err(format!("`{name}` has {} bits", width.bits()));
                }
                let to = self.register(to, kind)?;
                self.push(Action::ReadSpecial { to, special });
                Ok(())
            }
            (to, Operand::Name(name) | Operand::Offset(name, _)) if self.scope.register(name).is_none() => {
                let offset = if let Operand::Offset(_, offset) = from { *offset } else { 0 };
                let base = self.place(name)?;
                let to = self.register(to, kind)?;
                if kind.bits() < 32 {
                    return Err("an address does not fit".to_owned());
                }
                self.push(Action::AddressOf { to, address: Address { base, offset }, generic: false });
                Ok(())
            }
            _ if kind == Kind::Predicate => self.alu(Alu::Predicate(PredicateOp::Move), operands),
            _ => self.alu(Alu::Move(kind), operands),
        }
    }

    fn unpack(&mut self, kind: Kind, parts: &[Operand<'a>], from: &Operand<'a>) -> Result<(), Refusal> {
        let from = self.source(from, kind)?;
        let words = match (kind, parts.len()) {
            (Kind::Double, 2) => vec![from],
            (Kind::Double, 4) => {
                let words = [self.scope.fresh(Kind::Word), self.scope.fresh(Kind::Word)];
                for (k, &word) in words.iter().enumerate() {
                    self.part(Alu::Part32(k as u8), word, from);
                }
                words.map(Source::Reg).to_vec()
            }
            (Kind::Word, 2) => vec![from],
            _ => return Err("a vector of that many parts has another width".to_owned()),
        };
        let half = kind == Kind::Word || parts.len() == 4;
        // The source may be one of the destinations: it is read from a copy.
        let copies: Vec<Source> = words
            .iter()
            .map(|&word| {
                let kind = if half { Kind::Word } else { Kind::Double };
                let copy = self.scope.fresh(kind);
                self.part(Alu::Move(kind), copy, word);
                Source::Reg(copy)
            })
            .collect();
        for (k, part) in parts.iter().enumerate() {
            let (op, width) = if half {
                (Alu::Part16((k % 2) as u8), Kind::Half)
            } else {
                (Alu::Part32(k as u8), Kind::Word)
            };
            if let Some(to) = self.register_or_none(part, width)? {
                self.part(op, to, copies[if half { k / 2 } else { 0 }]);
            }
        }
        Ok(())
    }

    fn part(&mut self, op: Alu, to: Reg, from: Source) {
        self.push(Action::Alu { op, to, from: [from, Source::Bits(0), Source::Bits(0), Source::Bits(0)] });
    }

    fn pack(&mut self, kind: Kind, to: &Operand<'a>, parts: &[Operand<'a>]) -> Result<(), Refusal> {
        let to = self.register(to, kind)?;
        let join = |this: &mut Self, op: Alu, to: Reg, a: Source, b: Source| {
            this.push(Action::Alu { op, to, from: [a, b, Source::Bits(0), Source::Bits(0)] });
        };
        match (kind, parts) {
            (Kind::Double, [a, b]) => {
                let (a, b) = (self.source(a, Kind::Word)?, self.source(b, Kind::Word)?);
                join(self, Alu::Join32, to, a, b);
            }
            (Kind::Word, [a, b]) => {
                let (a, b) = (self.source(a, Kind::Half)?, self.source(b, Kind::Half)?);
                join(self, Alu::Join16, to, a, b);
            }
            (Kind::Double, [a, b, c, d]) => {
                let mut words = [Source::Bits(0); 2];
                for (word, (low, high)) in words.iter_mut().zip([(a, b), (c, d)]) {
                    let (low, high) = (self.source(low, Kind::Half)?, self.source(high, Kind::Half)?);
                    let joined = self.scope.fresh(Kind::Word);
                    join(self, Alu::Join16, joined, low, high);
                    *word = Source::Reg(joined);
                }
                join(self, Alu::Join32, to, words[0], words[1]);
            }
            _ => return Err("a vector of that many parts has another width".to_owned()),
        }
        Ok(())
    }

    /// `add.cc`, `addc`, `subc.cc`: the carry is a predicate that the text does not name.
    pub(super) fn carry(
        &mut self,
        opcode: &str,
        subtract: bool,
        reads: bool,
        operands: &[Operand<'a>],
    ) -> Result<(), Refusal> {
        let int = opcode.rsplit('.').next().and_then(int_type).ok_or("the type is missing")?;
        let int = if int.kind() == Kind::Double { IntType::U64 } else { IntType::U32 };
        let [to, a, b] = operands else { return Err("three operands belong here".to_owned()) };
        let (a, b) = (self.source(a, int.kind())?, self.source(b, int.kind())?);
        let to = self.register(to, int.kind())?;
        let carry = self.scope.carry();
        let (carry_out, sum) = carry_ops(subtract);
        let from = [a, b, if reads { Source::Reg(carry) } else { Source::Bits(0) }, Source::Bits(0)];
        let out = self.scope.fresh(Kind::Predicate);
        self.push(Action::Alu { op: Alu::Int(carry_out, int), to: out, from });
        self.push(Action::Alu { op: Alu::Int(sum, int), to, from });
        if opcode.contains(".cc") {
            self.logic(PredicateOp::Move, carry, Source::Reg(out), Source::Bits(0));
        }
        Ok(())
    }

    /// `cvt`: the source register may be wider than its type.
    pub(super) fn convert(&mut self, opcode: &str, operands: &[Operand<'a>]) -> Result<(), Refusal> {
        let [to, from] = operands else { return Err("cvt has two operands".to_owned()) };
        let parts: Vec<&str> = opcode.split('.').collect();
        let [.., target, source] = parts[..] else { return Err("the types are missing".to_owned()) };
        let (op, wide) = conversion(&parts, target, source)?;
        let (mut to_kind, sources) = op.signature();
        let mut from_kind = sources[0];
        if let Operand::Name(name) = from {
            let found = self.scope.register(name).map(|(_, kind)| kind);
            let found = found.ok_or_else(|| format!("`{name}` is no register"))?;
            if found.bits() > from_kind.bits() {
                from_kind = found;
            }
        }
        if let (Operand::Name(name), true) = (to, wide) {
            let found = self.scope.register(name).map(|(_, kind)| kind);
            to_kind = found.filter(|kind| kind.bits() > to_kind.bits()).unwrap_or(to_kind);
        }
        let op = match op {
            Alu::Resize { bits, signed, keep, keep_signed, saturate, .. } => {
                Alu::Resize { from: from_kind, bits, signed, to: to_kind, keep, keep_signed, saturate }
            }
            op => op,
        };
        if from_kind != op.signature().1[0] {
            // A wider register than the float or integer type: its lower bits count.
            return Err("a register that is wider than the type is not supported here".to_owned());
        }
        let value = self.source(from, from_kind)?;
        let to = self.register(to, to_kind)?;
        self.push(Action::Alu { op, to, from: [value, Source::Bits(0), Source::Bits(0), Source::Bits(0)] });
        Ok(())
    }
}

/// The operation of a `cvt`, and whether its destination may be wider than the type.
fn conversion(parts: &[&str], target: &str, source: &str) -> Result<(Alu, bool), Refusal> {
    let rounding = parts.iter().find_map(|part| match *part {
        "rn" | "rni" => Some(Rounding::Nearest),
        "rz" | "rzi" => Some(Rounding::Zero),
        "rm" | "rmi" => Some(Rounding::Down),
        "rp" | "rpi" => Some(Rounding::Up),
        _ => None,
    });
    let (bits_of, signed) =
        (|name: &str| name[1..].parse().unwrap_or(32_u8), |name: &str| name.starts_with('s'));
    let wrong = || "a conversion between these types is not supported".to_owned();
    Ok(match (float_type(target), float_type(source)) {
        (None, None) => {
            let (from, to) = ((bits_of(source), signed(source)), (bits_of(target), signed(target)));
            let fits = from.0 <= to.0 && from.1 == to.1 || from.0 < to.0 && to.1;
            if fits && parts.contains(&"sat") {
                return Err("every value of the one type is one of the other: there is nothing to saturate"
                    .to_owned());
            }
            let op = Alu::Resize {
                from: kind_of(source)?,
                bits: bits_of(source),
                signed: signed(source),
                to: kind_of(target)?,
                keep: bits_of(target),
                keep_signed: signed(target),
                saturate: parts.contains(&"sat"),
            };
            (op, true)
        }
        (Some(float), None) => match int_type(source) {
            Some(int) => (Alu::IntToFloat(int, float), false),
            None => (Alu::ByteToFloat(signed(source), float), false),
        },
        (None, Some(float)) => {
            let rounding = rounding.ok_or_else(wrong)?;
            match int_type(target) {
                Some(int) => (Alu::FloatToInt(rounding, float, int), false),
                None => (Alu::FloatToByte(rounding, float, signed(target)), false),
            }
        }
        (Some(a), Some(b)) if a == b => (Alu::Round(rounding.ok_or_else(wrong)?, a), false),
        _ if target == "f64" => (Alu::Widen, false),
        _ => (Alu::Narrow(rounding.ok_or_else(wrong)?), false),
    })
}

fn comparison(name: &str) -> Option<Comparison> {
    Some(match name {
        "eq" => Comparison::Equal,
        "ne" => Comparison::NotEqual,
        "lt" | "lo" => Comparison::Less,
        "le" | "ls" => Comparison::LessEqual,
        "gt" | "hi" => Comparison::Greater,
        "ge" | "hs" => Comparison::GreaterEqual,
        "equ" => Comparison::UnorderedEqual,
        "neu" => Comparison::UnorderedNotEqual,
        "ltu" => Comparison::UnorderedLess,
        "leu" => Comparison::UnorderedLessEqual,
        "gtu" => Comparison::UnorderedGreater,
        "geu" => Comparison::UnorderedGreaterEqual,
        "num" => Comparison::Numbers,
        "nan" => Comparison::NotNumbers,
        _ => return None,
    })
}
