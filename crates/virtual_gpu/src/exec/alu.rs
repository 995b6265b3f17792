//! What each operation means, for one lane; [`Apply`] makes it one of many.
//!
//! [`scalar`] has every operation. [`vector`] does the common ones for all lanes together, compiled several times for the
//! vector units that the processor may have, and the others lane by lane: hundreds of loops that are hardly ever run
//! would take minutes to compile.

mod bits;
mod common;
mod compare;
mod convert;
mod float;
mod int;

use ptx::op::{Alu, Kind, PredicateOp};

use super::lanes::{Apply, One, Operand, Registers, Rows, WARP};

/// One lane's result; of the operands as many count as the operation has.
pub(super) fn scalar(op: Alu, from: [u64; 4]) -> u64 {
    apply(op, One(from))
}

/// All lanes' results.
pub(super) fn vector(op: Alu, rows: &mut Rows<'_>) {
    match op {
        Alu::Predicate(op) => predicates(op, rows),
        op if common::run(op, rows) => {}
        op => lane_by_lane(op, rows),
    }
}

/// Predicates are words of bits already: a warp at a time.
fn predicates(op: PredicateOp, rows: &mut Rows<'_>) {
    let file = &mut rows.registers.predicates;
    for (warp, &mask) in rows.masks.iter().enumerate() {
        let value = |operand: Operand| match operand {
            Operand::Row(at) => file[at + warp],
            Operand::All(bits) => u32::from(bits & 1 != 0).wrapping_neg(),
        };
        let (a, b) = (value(rows.from[0]), value(rows.from[1]));
        let result = match op {
            PredicateOp::And => a & b,
            PredicateOp::Or => a | b,
            PredicateOp::Xor => a ^ b,
            PredicateOp::Not => !a,
            PredicateOp::Move => a,
        };
        let to = &mut file[rows.to + warp];
        *to = result & mask | *to & !mask;
    }
}

fn lane_by_lane(op: Alu, rows: &mut Rows<'_>) {
    let (kind, sources) = op.signature();
    let Registers { words, doubles, predicates } = rows.registers;
    for (warp, &mask) in rows.masks.iter().enumerate() {
        for lane in (0..WARP).filter(|lane| mask & 1 << lane != 0) {
            let mut from = [0; 4];
            for ((value, &kind), &operand) in from.iter_mut().zip(sources).zip(&rows.from) {
                *value = match (operand, kind) {
                    (Operand::All(bits), _) => bits,
                    (Operand::Row(at), Kind::Predicate) => u64::from(predicates[at + warp] >> lane & 1),
                    (Operand::Row(at), Kind::Half | Kind::Word) => words[at + warp].0[lane].into(),
                    (Operand::Row(at), Kind::Double) => doubles[at + warp].0[lane],
                };
            }
            let (result, to) = (scalar(op, from), rows.to + warp);
            match kind {
                Kind::Predicate => {
                    predicates[to] = predicates[to] & !(1 << lane) | (result as u32 & 1) << lane;
                }
                Kind::Half | Kind::Word => words[to].0[lane] = result as u32,
                Kind::Double => doubles[to].0[lane] = result,
            }
        }
    }
}

fn apply<M: Apply>(op: Alu, m: M) -> M::Output {
    match op {
        Alu::Int(op, int) => int::apply_any(op, int, m),
        Alu::Float(op, float) => float::apply(op, float, m),
        Alu::CompareInt(comparison, int) => compare::ints(comparison, int, m),
        Alu::CompareFloat(comparison, float) => compare::floats(comparison, float, m),
        Alu::Predicate(op) => match op {
            PredicateOp::And => m.two(|a: bool, b: bool| a & b),
            PredicateOp::Or => m.two(|a: bool, b: bool| a | b),
            PredicateOp::Xor => m.two(|a: bool, b: bool| a ^ b),
            PredicateOp::Not => m.one(|a: bool| !a),
            PredicateOp::Move => m.one(|a: bool| a),
        },
        Alu::Test(test, float) => compare::test(test, float, m),
        Alu::Move(Kind::Double) => m.one(|a: u64| a),
        Alu::Move(_) => m.one(|a: u32| a),
        Alu::Select(Kind::Double) => m.three(|a: u64, b: u64, p: bool| if p { a } else { b }),
        Alu::Select(_) => m.three(|a: u32, b: u32, p: bool| if p { a } else { b }),
        Alu::SelectSign(Kind::Double) => m.three(|a: u64, b: u64, c: i32| if c >= 0 { a } else { b }),
        Alu::SelectSign(_) => m.three(|a: u32, b: u32, c: i32| if c >= 0 { a } else { b }),
        Alu::Permute(mode) => bits::permute(mode, m),
        Alu::Funnel { left, clamp } => bits::funnel(left, clamp, m),
        Alu::Logic3 => m.four(bits::logic3),
        Alu::Join32 => m.two(|low: u32, high: u32| u64::from(high) << 32 | u64::from(low)),
        Alu::Join16 => m.two(|low: u16, high: u16| u32::from(high) << 16 | u32::from(low)),
        Alu::Part32(0) => m.one(|a: u64| a as u32),
        Alu::Part32(_) => m.one(|a: u64| (a >> 32) as u32),
        Alu::Part16(0) => m.one(|a: u32| a as u16),
        Alu::Part16(_) => m.one(|a: u32| (a >> 16) as u16),
        op => convert::apply(op, m),
    }
}
