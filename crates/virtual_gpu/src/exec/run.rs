//! Executes steps for the current group.

use ptx::op::{Alu, Kind, PredicateOp};
use ptx::{MemoryType, Special};

use super::alu;
use super::block::{BlockRun, Stop};
use super::chain;
use super::ends::leaves;
use super::group::{Frame, MAX_WARPS, Mask};
use super::lanes::{Operand, Rows};
use super::program::Program;
use super::step::{Code, Place, Step, Value, What, file};
use crate::memory::{Fault, window};
use crate::segment::Next;

impl BlockRun {
    /// Runs the current group to the end of its block, or to a stop before.
    pub(super) fn advance(&mut self, program: &Program) -> Result<Stop, Box<Fault>> {
        let (code_number, block_number) = {
            let group = &self.groups[self.current];
            (group.frame().code, group.block)
        };
        let Some(code) = program.code(code_number) else { return Ok(Stop::Turn) };
        self.count_turn();
        let block = &code.blocks[block_number as usize];
        let first = self.groups[self.current].step;
        let needed = self.first_need(code, block_number, first);
        for (at, step) in block.steps.iter().enumerate().skip(first as usize) {
            let at = at as u32;
            if needed == Some(at) {
                return Ok(self.stop(code, first, at, Next::Await));
            }
            if block.accesses[at as usize].end != 0 {
                return Ok(self.stop(code, first, at, Next::Access));
            }
            match &step.what {
                What::Trigger | What::Wait => {
                    let next = if matches!(step.what, What::Trigger) { Next::Trigger } else { Next::Wait };
                    return Ok(self.stop(code, first, at + 1, next));
                }
                What::Barrier { .. } => {
                    self.spend(code, block_number, first, at + 1);
                    self.groups[self.current].step = at + 1;
                    self.arrive(step);
                    return Ok(Stop::Turn);
                }
                What::Shuffle { .. } | What::Vote { .. } | What::WarpBarrier { .. } => {
                    if !self.meet(step)? {
                        self.spend(code, block_number, first, at);
                        self.groups[self.current].step = at;
                        return Ok(Stop::Turn);
                    }
                }
                _ => self.step(step)?,
            }
        }
        let end = block.steps.len() as u32;
        let awaits =
            needed == Some(end) || !self.groups[self.current].pending.is_empty() && leaves(&block.end);
        if awaits {
            return Ok(self.stop(code, first, end, Next::Await));
        }
        self.spend(code, block_number, first, end + 1);
        self.end(program, code, block_number)?;
        Ok(Stop::Turn)
    }

    /// Stops the current group in front of a step.
    fn stop(&mut self, code: &Code, first: u32, at: u32, next: Next) -> Stop {
        let block = self.groups[self.current].block;
        self.spend(code, block, first, at);
        self.groups[self.current].step = at;
        if matches!(next, Next::Await) {
            // The clock waits for everything that is on its way.
            self.groups.iter_mut().for_each(|group| group.pending.clear());
        }
        Stop::Next(next)
    }

    /// The first step from here on that reads what is still on its way.
    fn first_need(&self, code: &Code, block: u32, from: u32) -> Option<u32> {
        let reads = &code.blocks[block as usize].reads;
        let pending = self.groups[self.current].pending.iter();
        let needs = pending.filter_map(|&reg| {
            let at = reads.partition_point(|read| *read < (reg, from));
            reads.get(at).filter(|read| read.0 == reg).map(|read| read.1)
        });
        needs.min()
    }

    /// Where an operand is read.
    pub(super) fn operand(&self, value: Value, frame: Frame) -> Operand {
        match value {
            Value::Bits(bits) => Operand::All(bits),
            Value::At(Place::Scalar(scalar)) => {
                Operand::All(self.groups[self.current].scalars[frame.scalars + scalar as usize])
            }
            Value::At(place) => Operand::Row(self.row(place, frame)),
        }
    }

    /// Where a place's row begins in its file.
    pub(super) fn row(&self, place: Place, frame: Frame) -> usize {
        let row = match place {
            Place::Temporary(_, row) => row,
            Place::Frame(kind, row) => frame.rows[file(kind)] + row,
            Place::Scalar(_) => 0,
        };
        row as usize * self.warps()
    }

    /// One lane's value.
    pub(super) fn lane(&self, value: Value, kind: Kind, frame: Frame, lane: usize) -> u64 {
        match self.operand(value, frame) {
            Operand::All(bits) => bits,
            Operand::Row(row) => {
                let (at, lane) = (row + lane / 32, lane % 32);
                match file(kind) {
                    0 => self.registers.words[at].0[lane].into(),
                    1 => self.registers.doubles[at].0[lane],
                    _ => u64::from(self.registers.predicates[at] >> lane & 1),
                }
            }
        }
    }

    /// A value that all lanes of the group share, by the first of them.
    pub(super) fn first(&self, value: Value, kind: Kind, frame: Frame) -> u64 {
        self.lane(value, kind, frame, self.groups[self.current].first_lane())
    }

    /// Writes one lane's value.
    pub(super) fn set_lane(&mut self, place: Place, frame: Frame, lane: usize, bits: u64) {
        let row = self.row(place, frame) + lane / 32;
        let lane = lane % 32;
        match place {
            Place::Scalar(scalar) => {
                self.groups[self.current].scalars[frame.scalars + scalar as usize] = bits;
            }
            Place::Temporary(kind, _) | Place::Frame(kind, _) => match kind {
                Kind::Half => self.registers.words[row].0[lane] = bits as u32 & 0xffff,
                Kind::Word => self.registers.words[row].0[lane] = bits as u32,
                Kind::Double => self.registers.doubles[row].0[lane] = bits,
                Kind::Predicate => {
                    let word = &mut self.registers.predicates[row];
                    *word = *word & !(1 << lane) | (bits as u32 & 1) << lane;
                }
            },
        }
    }

    /// Writes the same value for all lanes of a mask.
    pub(super) fn set_all(&mut self, place: Place, frame: Frame, mask: &Mask, bits: u64) {
        if let Place::Scalar(scalar) = place {
            self.groups[self.current].scalars[frame.scalars + scalar as usize] = bits;
            return;
        }
        let (Place::Temporary(kind, _) | Place::Frame(kind, _)) = place else { return };
        let op = if kind == Kind::Predicate { PREDICATE_MOVE } else { Alu::Move(kind) };
        let (to, warps) = (self.row(place, frame), self.warps());
        self.registers.with_rows(to, [Operand::All(bits); 4], &mask[..warps], |rows| alu::vector(op, rows));
    }

    /// The lanes that a step is done for; `None` for none.
    pub(super) fn active(&self, step: &Step, frame: Frame) -> Option<Mask> {
        let group = &self.groups[self.current];
        let Some((guard, negated)) = step.guard else { return Some(group.mask) };
        let mask = self.where_holds(guard, negated, frame);
        mask.iter().any(|lanes| *lanes != 0).then_some(mask)
    }

    /// The lanes of the group where a predicate holds, or does not.
    pub(super) fn where_holds(&self, predicate: Value, negated: bool, frame: Frame) -> Mask {
        let group = &self.groups[self.current];
        match self.operand(predicate, frame) {
            Operand::All(bits) if (bits & 1 != 0) != negated => group.mask,
            Operand::All(_) => [0; MAX_WARPS],
            Operand::Row(row) => {
                let mut mask = group.mask;
                for (lanes, word) in mask.iter_mut().zip(&self.registers.predicates[row..row + self.warps()])
                {
                    *lanes &= if negated { !word } else { *word };
                }
                mask
            }
        }
    }

    /// The lanes that a result is written for. Lanes of other groups need nothing of a temporary, and where there are no
    /// other groups nobody needs anything.
    fn written(&self, to: Place) -> Mask {
        let group = &self.groups[self.current];
        if self.groups.len() == 1 || matches!(to, Place::Temporary(..)) { group.wide } else { group.mask }
    }

    fn step(&mut self, step: &Step) -> Result<(), Box<Fault>> {
        let frame = self.groups[self.current].frame();
        match &step.what {
            What::Alu { op, to: Place::Scalar(to), from } => {
                let holds = |(guard, negated)| (self.scalar(guard, frame) & 1 != 0) != negated;
                if !step.guard.is_none_or(holds) {
                    return Ok(());
                }
                let from = from.map(|value| self.scalar(value, frame));
                self.groups[self.current].scalars[frame.scalars + *to as usize] = alu::scalar(*op, from);
            }
            What::Alu { op, to, from } => {
                let mask = if step.guard.is_some() {
                    let Some(mask) = self.active(step, frame) else { return Ok(()) };
                    mask
                } else {
                    self.written(*to)
                };
                let (to, from) = (self.row(*to, frame), from.map(|value| self.operand(value, frame)));
                let warps = self.warps();
                self.registers.with_rows(to, from, &mask[..warps], |rows| alu::vector(*op, rows));
            }
            What::Chain { op, to, from, through, count } => {
                let mask = self.written(*to);
                let (to, from) = (self.row(*to, frame), from.map(|value| self.operand(value, frame)));
                let warps = self.warps();
                let run = |rows: &mut Rows<'_>| chain::run(*op, rows, *through, *count);
                self.registers.with_rows(to, from, &mask[..warps], run);
            }
            What::Parameter { to, kind, offset } => {
                if let Some(mask) = self.active(step, frame) {
                    let start = *offset as usize;
                    let bytes = &self.launch.parameters[start..start + kind.bytes as usize];
                    let value = extend(read(bytes), *kind, *to);
                    self.set_all(*to, frame, &mask, value);
                }
            }
            What::LocalAddress { to, offset, generic } => {
                if let Some(mask) = self.active(step, frame) {
                    let start = if *generic { window::LOCAL } else { 0 };
                    self.set_all(*to, frame, &mask, start + frame.local + offset);
                }
            }
            What::Special { to, special } => {
                if let Some(mask) = self.active(step, frame) {
                    self.special(*special, *to, frame, &mask);
                }
            }
            What::ActiveMask { to } => {
                let mask = self.groups[self.current].mask;
                for lane in lanes(&mask) {
                    self.set_lane(*to, frame, lane, mask[lane / 32].into());
                }
            }
            What::Load { .. } | What::Store { .. } | What::Atomic { .. } => self.near(step, frame)?,
            // Memory is in order anyway; the others were looked at before.
            _ => {}
        }
        Ok(())
    }

    /// A value that is the same in all lanes.
    fn scalar(&self, value: Value, frame: Frame) -> u64 {
        match self.operand(value, frame) {
            Operand::All(bits) => bits,
            Operand::Row(_) => 0,
        }
    }

    fn special(&mut self, special: Special, to: Place, frame: Frame, mask: &Mask) {
        let launch = std::sync::Arc::clone(&self.launch);
        let warps = launch.threads.len() as u64;
        let shared = launch.shared_bytes;
        let all = match special {
            Special::BlockDim(axis) => launch.block[axis as usize].into(),
            Special::BlockIndex(axis) => self.index[axis as usize].into(),
            Special::GridDim(axis) => launch.grid[axis as usize].into(),
            Special::WarpCount => warps,
            Special::SmId => self.seat.sm.into(),
            Special::SmCount => self.seat.sm_count.into(),
            Special::GridId => self.seat.grid_id,
            Special::DynamicSharedBytes => launch.dynamic_shared.into(),
            // As a card gives it out.
            Special::TotalSharedBytes => shared.next_multiple_of(128),
            special => {
                for lane in lanes(mask) {
                    let (warp, lane_id) = (lane / 32, lane as u32 % 32);
                    let value = match special {
                        Special::ThreadIndex(axis) => launch.indices[axis as usize][warp].0[lane % 32],
                        Special::LaneId => lane_id,
                        Special::WarpId => warp as u32,
                        Special::LaneMaskEqual => 1 << lane_id,
                        Special::LaneMaskLess => (1 << lane_id) - 1,
                        Special::LaneMaskLessEqual => {
                            (2_u32.wrapping_shl(lane_id)).wrapping_sub(1) | 1 << lane_id
                        }
                        Special::LaneMaskGreater => !(1 << lane_id | ((1 << lane_id) - 1)),
                        _ => !((1 << lane_id) - 1),
                    };
                    self.set_lane(to, frame, lane, value.into());
                }
                return;
            }
        };
        self.set_all(to, frame, mask, all);
    }
}

const PREDICATE_MOVE: Alu = Alu::Predicate(PredicateOp::Move);

/// The lanes of a mask, counted over the block.
pub(super) fn lanes(mask: &Mask) -> impl Iterator<Item = usize> + use<> {
    (*mask).into_iter().enumerate().flat_map(|(warp, mut lanes)| {
        std::iter::from_fn(move || {
            (lanes != 0).then(|| {
                let lane = lanes.trailing_zeros() as usize;
                lanes &= lanes - 1;
                warp * 32 + lane
            })
        })
    })
}

/// A little-endian number of up to 8 bytes.
pub(super) fn read(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// What a loaded value is in its register.
pub(super) fn extend(value: u64, kind: MemoryType, to: Place) -> u64 {
    let above = 64 - 8 * kind.bytes;
    let value = if kind.signed { ((value << above) as i64 >> above) as u64 } else { value };
    match to {
        Place::Temporary(Kind::Half, _) | Place::Frame(Kind::Half, _) => value & 0xffff,
        Place::Temporary(Kind::Word, _) | Place::Frame(Kind::Word, _) => value & 0xffff_ffff,
        _ => value,
    }
}
