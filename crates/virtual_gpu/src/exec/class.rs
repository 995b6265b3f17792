//! The class of cost of each instruction: what the card's table of costs is asked by.

use ptx::op::{Alu, FloatOp, FloatType, IntOp, Kind};
use ptx::{Action, Space};

use crate::segment::Class;

/// Returns the class of cost of an instruction.
pub(super) fn of_action(action: &Action) -> Class {
    match action {
        Action::Alu { op, .. } => of_operation(*op),
        Action::AddressOf { .. } | Action::Convert { .. } => Class::Integer64,
        Action::ReadSpecial { .. } | Action::ActiveMask { .. } => Class::Special,
        Action::Load { space, .. } | Action::Store { space, .. } | Action::Atomic { space, .. } => {
            match space {
                Space::Shared => Class::Shared,
                Space::Local => Class::Local,
                // Parameters are operands of the instructions that use them.
                Space::Parameter => Class::Integer,
                Space::Generic | Space::Global | Space::Constant => Class::Global,
            }
        }
        Action::Shuffle { .. } | Action::Vote { .. } | Action::WarpBarrier { .. } => Class::Warp,
        Action::Barrier { .. } => Class::Barrier,
        Action::Fence | Action::Trigger | Action::Wait => Class::Integer,
        Action::Branch { .. }
        | Action::BranchIndexed { .. }
        | Action::Call(_)
        | Action::Return
        | Action::Exit
        | Action::Trap => Class::Branch,
    }
}

/// Returns the class of cost of an operation.
fn of_operation(op: Alu) -> Class {
    let by_kind = |kind| if kind == Kind::Double { Class::Integer64 } else { Class::Integer };
    match op {
        Alu::Int(op, int) => of_integers(op, int.kind()),
        Alu::Float(FloatOp::Div | FloatOp::Sqrt | FloatOp::Reciprocal, FloatType::F32) => {
            Class::SingleDivision
        }
        Alu::Float(FloatOp::Div | FloatOp::Sqrt | FloatOp::Reciprocal, FloatType::F64) => {
            Class::DoubleDivision
        }
        Alu::Float(FloatOp::Abs | FloatOp::Neg | FloatOp::CopySign, float) => by_kind(float.kind()),
        Alu::Float(_, FloatType::F32) | Alu::CompareFloat(_, FloatType::F32) => Class::Single,
        Alu::Float(_, FloatType::F64) | Alu::CompareFloat(_, FloatType::F64) => Class::Double,
        Alu::Test(_, float) => by_kind(float.kind()),
        Alu::CompareInt(_, int) => by_kind(int.kind()),
        Alu::Move(kind) | Alu::Select(kind) | Alu::SelectSign(kind) => by_kind(kind),
        Alu::IntToFloat(..)
        | Alu::ByteToFloat(..)
        | Alu::FloatToInt(..)
        | Alu::FloatToByte(..)
        | Alu::Round(..)
        | Alu::Widen
        | Alu::Narrow(_)
        | Alu::HalfToSingle
        | Alu::SingleToHalf => Class::Convert,
        Alu::Predicate(_)
        | Alu::Resize { .. }
        | Alu::Permute(_)
        | Alu::Funnel { .. }
        | Alu::Logic3
        | Alu::Join32
        | Alu::Join16
        | Alu::Part32(_)
        | Alu::Part16(_) => Class::Integer,
    }
}

/// Returns the class of an integer operation on registers of one kind.
fn of_integers(op: IntOp, kind: Kind) -> Class {
    use IntOp as I;
    let double = kind == Kind::Double;
    match op {
        I::Mul | I::MulHigh | I::MulAdd | I::MulHighAdd if double => Class::Multiply64,
        I::Mul | I::MulHigh | I::MulAdd | I::MulHighAdd | I::MulWide | I::MulWideAdd => Class::Multiply,
        I::Div | I::Rem if double => Class::Division64,
        I::Div | I::Rem => Class::Division,
        I::PopCount | I::LeadingZeros | I::FindBit | I::ReverseBits => Class::Convert,
        _ if double => Class::Integer64,
        _ => Class::Integer,
    }
}
