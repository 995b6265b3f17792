//! Ends of blocks: jumps, splits, calls and returns of the current group.

use ptx::CallLayout;
use ptx::op::Kind;

use super::block::BlockRun;
use super::group::{Frame, MAX_WARPS, first_lane};
use super::program::Program;
use super::run::lanes;
use super::step::{Code, End, Value, agree};
use crate::memory::{Fault, FaultKind, window};

impl BlockRun {
    /// Leaves a block.
    pub(super) fn end(&mut self, program: &Program, code: &Code, number: u32) -> Result<(), Box<Fault>> {
        let frame = self.groups[self.current].frame();
        let block = &code.blocks[number as usize];
        match &block.end {
            End::Jump(to) => self.go(number, *to, code),
            End::Branch { predicate, negated, to, other } => {
                let taken = self.where_holds(*predicate, *negated, frame);
                let mask = self.groups[self.current].mask;
                if taken == mask {
                    self.go(number, *to, code);
                } else if taken == [0; MAX_WARPS] || to == other {
                    self.go(number, *other, code);
                } else {
                    self.split(std::array::from_fn(|warp| mask[warp] & !taken[warp]), *other);
                    self.groups[self.current].set_mask(taken);
                    self.go(number, *to, code);
                }
            }
            End::Index { index, to } => self.end_index(*index, to, frame, code, block.line)?,
            End::Call { callee, layout, next } => {
                let number = match callee {
                    Ok(number) => *number,
                    Err(pointer) => self.pointed_to(*pointer, layout, program, frame, block.line)?,
                };
                self.call(program, number, *next, block.line)?;
            }
            End::Return => {
                let frame = self.groups[self.current].frames.pop();
                match frame.filter(|_| !self.groups[self.current].frames.is_empty()) {
                    Some(frame) => {
                        let group = &mut self.groups[self.current];
                        (group.block, group.step) = (frame.back, 0);
                        group.scalars.truncate(frame.scalars);
                    }
                    None => self.end_group(),
                }
            }
            End::Exit => self.end_group(),
            End::Trap => {
                let lane = self.groups[self.current].first_lane();
                return Err(self.fault(FaultKind::Trap, lane, block.line));
            }
        }
        Ok(())
    }

    /// Goes on at a block.
    fn go(&mut self, from: u32, to: u32, code: &Code) {
        let group = &mut self.groups[self.current];
        (group.block, group.step) = (to, 0);
        if to <= from {
            let blocks = &code.blocks[to as usize..=from as usize];
            let ordered = blocks.iter().any(|block| block.accesses.iter().any(|access| access.end != 0));
            self.turn_loop(ordered);
        }
    }

    /// Jumps by an index: one group for each target.
    fn end_index(
        &mut self,
        index: Value,
        to: &[u32],
        frame: Frame,
        code: &Code,
        line: u32,
    ) -> Result<(), Box<Fault>> {
        let from = self.groups[self.current].block;
        let mut left = self.groups[self.current].mask;
        loop {
            let lane = first_lane(&left);
            let value = self.lane(index, Kind::Word, frame, lane);
            // The hardware's behaviour is undefined where there is no such target.
            let Some(&target) = to.get(value as usize) else {
                return Err(self.fault(FaultKind::BadCall { pointer: value }, lane, line));
            };
            let mut taken = [0; MAX_WARPS];
            for lane in lanes(&left) {
                let place = self.lane(index, Kind::Word, frame, lane) as usize;
                taken[lane / 32] |= u32::from(to.get(place) == Some(&target)) << (lane % 32);
            }
            left = std::array::from_fn(|warp| left[warp] & !taken[warp]);
            if left == [0; MAX_WARPS] {
                self.groups[self.current].set_mask(taken);
                self.go(from, target, code);
                return Ok(());
            }
            self.split(taken, target);
        }
    }

    /// The function that the first lane's pointer means; lanes with another pointer wait in a group of their own.
    fn pointed_to(
        &mut self,
        pointer: Value,
        layout: &CallLayout,
        program: &Program,
        frame: Frame,
        line: u32,
    ) -> Result<u32, Box<Fault>> {
        let mask = self.groups[self.current].mask;
        let lane = first_lane(&mask);
        let address = self.lane(pointer, Kind::Double, frame, lane);
        let number = window::function_at(address)
            .filter(|&number| program.code(number).is_some_and(|code| agree(&code.layout, layout)));
        let Some(number) = number else {
            return Err(self.fault(FaultKind::BadCall { pointer: address }, lane, line));
        };
        let mut same = [0; MAX_WARPS];
        for lane in lanes(&mask) {
            same[lane / 32] |=
                u32::from(self.lane(pointer, Kind::Double, frame, lane) == address) << (lane % 32);
        }
        if same != mask {
            let block = self.groups[self.current].block;
            self.split(std::array::from_fn(|warp| mask[warp] & !same[warp]), block);
            // The others are at the end of the block already.
            let steps = program.code(frame.code).map_or(0, |code| code.blocks[block as usize].steps.len());
            if let Some(group) = self.groups.last_mut() {
                group.step = steps as u32;
            }
            self.groups[self.current].set_mask(same);
        }
        Ok(number)
    }

    fn call(&mut self, program: &Program, number: u32, back: u32, line: u32) -> Result<(), Box<Fault>> {
        let group = &self.groups[self.current];
        let (caller, lane) = (group.frame(), group.first_lane());
        let (Some(code), Some(callee)) = (program.code(caller.code), program.code(number)) else {
            return Err(self.fault(FaultKind::BadCall { pointer: 0 }, lane, line));
        };
        let rows = std::array::from_fn(|k| caller.rows[k] + code.rows[k]);
        let scalars = caller.scalars + code.scalars as usize;
        let local = caller.local + code.local_bytes;
        let frame = Frame { code: number, rows, scalars, local, from: group.block, back };
        if !self.enter(frame) {
            let bytes = local + callee.local_reach;
            return Err(self.fault(FaultKind::StackOverflow { bytes }, lane, line));
        }
        let group = &mut self.groups[self.current];
        group.frames.push(frame);
        (group.block, group.step) = (0, 0);
        if callee.panics {
            self.panicking = Some((lane, line));
        }
        Ok(())
    }
}

/// Whether the registers of the block are left behind.
pub(super) fn leaves(end: &End) -> bool {
    matches!(end, End::Call { .. } | End::Return)
}
