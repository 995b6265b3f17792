//! Memory that only the block sees: shared, local, and the launch's parameters. And what all accesses have in common.

use ptx::op::Kind;
use ptx::{AtomicOp, MemoryType, Space};

use super::block::BlockRun;
use super::group::{Frame, Mask};
use super::lanes::Operand;
use super::run::{extend, lanes, read};
use super::step::{At, Place, Step, Value, What};
use crate::memory::{Attempt, AttemptKind, Fault, FaultKind, Memory, Place as Near, window};

/// One access of one lane.
#[derive(Clone, Copy)]
pub(super) struct Reach {
    pub space: Space,
    pub address: u64,
    pub bytes: u32,
    pub kind: AttemptKind,
}

impl BlockRun {
    /// Does a step that stays within the block.
    pub(super) fn near(&mut self, step: &Step, frame: Frame) -> Result<(), Box<Fault>> {
        let Some(mask) = self.active(step, frame) else { return Ok(()) };
        self.each_lane(step, frame, &mask, None)
    }

    /// Does an access lane by lane, wherever it goes.
    pub(super) fn each_lane(
        &mut self,
        step: &Step,
        frame: Frame,
        mask: &Mask,
        mut memory: Option<&mut Memory>,
    ) -> Result<(), Box<Fault>> {
        for lane in lanes(mask) {
            let done = match &step.what {
                What::Load { space, kind, to, at } => {
                    self.load_lane(*space, *kind, to, *at, frame, lane, memory.as_deref_mut())
                }
                What::Store { space, kind, from, at } => {
                    self.store_lane(*space, *kind, from, *at, frame, lane, memory.as_deref_mut())
                }
                What::Atomic { op, space, bytes, to, at, from } => {
                    let reach = Reach {
                        space: *space,
                        address: self.address(*at, frame, lane),
                        bytes: *bytes,
                        kind: AttemptKind::Atomic,
                    };
                    self.atomic_lane(*op, reach, *to, *from, frame, lane, memory.as_deref_mut())
                }
                _ => Ok(()),
            };
            done.map_err(|kind| self.fault(kind, lane, step.line))?;
        }
        Ok(())
    }

    /// The address that a lane means.
    pub(super) fn address(&self, at: At, frame: Frame, lane: usize) -> u64 {
        let base = match (self.operand(at.base, frame), at.narrow) {
            (Operand::All(bits), true) => bits & 0xffff_ffff,
            (Operand::All(bits), false) => bits,
            (Operand::Row(_), true) => self.lane(at.base, Kind::Word, frame, lane),
            (Operand::Row(_), false) => self.lane(at.base, Kind::Double, frame, lane),
        };
        let start = if at.in_frame { frame.local } else { 0 };
        base.wrapping_add(at.offset as u64).wrapping_add(start)
    }

    #[allow(clippy::too_many_arguments)] // one access, spelled out
    fn load_lane(
        &mut self,
        space: Space,
        kind: MemoryType,
        to: &[Option<Place>],
        at: At,
        frame: Frame,
        lane: usize,
        memory: Option<&mut Memory>,
    ) -> Result<(), FaultKind> {
        let bytes = kind.bytes * to.len() as u32;
        let reach = Reach { space, address: self.address(at, frame, lane), bytes, kind: AttemptKind::Load };
        let mut values = [0; 4];
        let found = self.bytes(reach, lane, memory)?;
        for (value, bytes) in values.iter_mut().zip(found.chunks(kind.bytes as usize)) {
            *value = read(bytes);
        }
        for (to, value) in to.iter().zip(values) {
            if let Some(to) = to {
                self.set_lane(*to, frame, lane, extend(value, kind, *to));
            }
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)] // one access, spelled out
    fn store_lane(
        &mut self,
        space: Space,
        kind: MemoryType,
        from: &[Value],
        at: At,
        frame: Frame,
        lane: usize,
        memory: Option<&mut Memory>,
    ) -> Result<(), FaultKind> {
        let mut values = [0; 4];
        for (value, from) in values.iter_mut().zip(from) {
            *value = self.any_lane(*from, frame, lane);
        }
        let bytes = kind.bytes * from.len() as u32;
        let reach = Reach { space, address: self.address(at, frame, lane), bytes, kind: AttemptKind::Store };
        let found = self.bytes(reach, lane, memory)?;
        for (value, bytes) in values.iter().zip(found.chunks_mut(kind.bytes as usize)) {
            bytes.copy_from_slice(&value.to_le_bytes()[..bytes.len()]);
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)] // one access, spelled out
    fn atomic_lane(
        &mut self,
        op: AtomicOp,
        reach: Reach,
        to: Option<Place>,
        from: [Value; 2],
        frame: Frame,
        lane: usize,
        memory: Option<&mut Memory>,
    ) -> Result<(), FaultKind> {
        let [a, b] = from.map(|value| self.any_lane(value, frame, lane));
        let found = self.bytes(reach, lane, memory)?;
        let old = read(found);
        let new = super::atomic::apply(op, reach.bytes, old, a, b);
        found.copy_from_slice(&new.to_le_bytes()[..found.len()]);
        if let Some(to) = to {
            self.set_lane(to, frame, lane, old);
        }
        Ok(())
    }

    /// One lane's value, of the kind that its place has.
    pub(super) fn any_lane(&self, value: Value, frame: Frame, lane: usize) -> u64 {
        let kind = match value {
            Value::At(Place::Temporary(kind, _) | Place::Frame(kind, _)) => kind,
            _ => Kind::Double,
        };
        self.lane(value, kind, frame, lane)
    }

    /// The bytes that an access of a lane means.
    fn bytes<'a>(
        &'a mut self,
        reach: Reach,
        lane: usize,
        memory: Option<&'a mut Memory>,
    ) -> Result<&'a mut [u8], FaultKind> {
        let attempt = Attempt { kind: reach.kind, bytes: reach.bytes, address: reach.address };
        let (space, address) = match reach.space {
            Space::Generic => window_of(reach.address),
            space => (space, reach.address),
        };
        let misaligned = reach.bytes.is_power_of_two() && !address.is_multiple_of(u64::from(reach.bytes));
        let reads_only = reach.kind == AttemptKind::Load;
        let (file, start, size, place): (&mut [u8], u64, u64, _) = match space {
            Space::Shared => {
                let size = self.shared.len() as u64;
                (&mut self.shared, 0, size, Near::Shared(size))
            }
            Space::Local => {
                self.take_local();
                let size = self.local_stride;
                (&mut self.local, size * lane as u64, size, Near::Local(size))
            }
            Space::Parameter => {
                let size = self.launch.parameters.len() as u64;
                if !reads_only {
                    return Err(FaultKind::ReadOnly { attempt });
                }
                self.touched_parameters.clone_from(&self.launch.parameters);
                (&mut self.touched_parameters, 0, size, Near::Parameters(size))
            }
            Space::Global | Space::Generic | Space::Constant => {
                let Some(memory) = memory else {
                    return Err(FaultKind::OutOfBounds { attempt, place: Near::Nowhere });
                };
                return global(memory, attempt, reads_only);
            }
        };
        let inside = address.checked_add(u64::from(reach.bytes)).is_some_and(|end| end <= size);
        if !inside {
            return Err(FaultKind::OutOfBounds { attempt, place });
        }
        if misaligned {
            return Err(FaultKind::Misaligned { attempt, place });
        }
        let at = (start + address) as usize;
        Ok(&mut file[at..at + reach.bytes as usize])
    }
}

/// The space that a generic address leads to, and the address there.
fn window_of(address: u64) -> (Space, u64) {
    let windows = [
        (window::SHARED, Space::Shared),
        (window::LOCAL, Space::Local),
        (window::PARAMETER, Space::Parameter),
    ];
    let found = windows.iter().find_map(|&(start, space)| Some((space, window::offset_in(start, address)?)));
    found.unwrap_or((Space::Global, address))
}

/// The bytes of device memory that an access means.
fn global(memory: &mut Memory, attempt: Attempt, reads_only: bool) -> Result<&mut [u8], FaultKind> {
    let bytes = u64::from(attempt.bytes);
    let found = memory.find(attempt.address);
    let found = found.and_then(|index| Some((index, memory.at(index).offset(attempt.address, bytes)?)));
    let Some((index, offset)) = found else {
        return Err(FaultKind::OutOfBounds { attempt, place: memory.place(attempt.address) });
    };
    if bytes.is_power_of_two() && !attempt.address.is_multiple_of(bytes) {
        return Err(FaultKind::Misaligned { attempt, place: memory.place(attempt.address) });
    }
    if memory.at(index).read_only() && !reads_only {
        return Err(FaultKind::ReadOnly { attempt });
    }
    Ok(&mut memory.at_mut(index).bytes_mut()[offset..offset + attempt.bytes as usize])
}
