//! Which registers an instruction reads and writes, and in which ways it is bound to its place.

use ptx::{Action, Address, Base, Instruction, Reg, Source, Space, Special};

/// Calls `each` for every register that is read, the guard's included.
pub(super) fn reads(instruction: &Instruction, mut each: impl FnMut(Reg)) {
    if let Some(guard) = instruction.guard {
        each(guard.register);
    }
    let mut source = |source: &Source| {
        if let Source::Reg(reg) = source {
            each(*reg);
        }
    };
    let address = |address: &Address| match address.base {
        Base::Reg(reg) => Source::Reg(reg),
        _ => Source::Bits(0),
    };
    match &instruction.action {
        Action::Alu { from, op, .. } => from[..op.signature().1.len()].iter().for_each(source),
        Action::AddressOf { address: at, .. } | Action::Load { address: at, .. } => source(&address(at)),
        Action::Convert { from, .. } => source(from),
        Action::Store { from, address: at, .. } => {
            from.iter().for_each(&mut source);
            source(&address(at));
        }
        Action::Atomic { from, address: at, .. } => {
            from.iter().for_each(&mut source);
            source(&address(at));
        }
        Action::BranchIndexed { index, .. } => source(index),
        Action::Call(call) => {
            if let Err(pointer) = call.callee {
                source(&Source::Reg(pointer));
            }
        }
        Action::Barrier { id, count, reduce, .. } => {
            source(id);
            count.iter().for_each(&mut source);
            reduce.iter().for_each(|reduce| source(&reduce.predicate));
        }
        Action::WarpBarrier { members } => source(members),
        Action::Shuffle { from, .. } => from.iter().for_each(source),
        Action::Vote { predicate, members, .. } => {
            source(predicate);
            source(members);
        }
        Action::ReadSpecial { .. }
        | Action::Branch { .. }
        | Action::Return
        | Action::Exit
        | Action::Trap
        | Action::ActiveMask { .. }
        | Action::Fence
        | Action::Trigger
        | Action::Wait => {}
    }
}

/// Calls `each` for every register that is written.
pub(super) fn writes(instruction: &Instruction, mut each: impl FnMut(Reg)) {
    match &instruction.action {
        Action::Alu { to, .. }
        | Action::AddressOf { to, .. }
        | Action::Convert { to, .. }
        | Action::ReadSpecial { to, .. }
        | Action::Vote { to, .. }
        | Action::ActiveMask { to } => each(*to),
        Action::Load { to, .. } => to.iter().flatten().for_each(|reg| each(*reg)),
        Action::Atomic { to, .. } => to.iter().for_each(|reg| each(*reg)),
        Action::Shuffle { to, valid, .. } => {
            each(*to);
            valid.iter().for_each(|reg| each(*reg));
        }
        Action::Barrier { reduce: Some(reduce), .. } => each(reduce.to),
        _ => {}
    }
}

/// Whether others can see it or it sees others: it is done when the clock says so.
pub(super) fn is_access(action: &Action) -> bool {
    match action {
        Action::Load { space, .. } | Action::Store { space, .. } | Action::Atomic { space, .. } => {
            matches!(space, Space::Global | Space::Generic | Space::Constant)
        }
        Action::ReadSpecial { special, .. } => reads_clock(*special),
        _ => false,
    }
}

/// Whether the register shows the clock.
pub(super) fn reads_clock(special: Special) -> bool {
    matches!(
        special,
        Special::Clock
            | Special::ClockHigh
            | Special::Clock64
            | Special::GlobalTimer
            | Special::GlobalTimerLow
            | Special::GlobalTimerHigh
    )
}

/// Whether it may change its place among the instructions around it, as far as registers allow.
pub(super) fn is_movable(action: &Action) -> bool {
    match action {
        Action::Load { ordered, .. } => !ordered,
        Action::ReadSpecial { special, .. } => !reads_clock(*special),
        Action::Alu { .. } | Action::AddressOf { .. } | Action::Convert { .. } => true,
        _ => false,
    }
}
