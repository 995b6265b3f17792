//! Accesses to device memory, a warp at a time where its lanes stay in one allocation, and lane by lane elsewhere.

use ptx::op::Kind;
use ptx::{MemoryType, Special};

use super::block::BlockRun;
use super::group::Frame;
use super::lanes::{Chunk, Operand, WARP};
use super::run::extend;
use super::step::{At, Place, Step, Value, What};
use crate::memory::{Fault, FaultKind, Memory, window};
use crate::segment::{Now, Touch, TouchKind};

/// Bytes of a sector, the unit in which the card moves memory.
const SECTOR: u64 = 32;

impl BlockRun {
    /// Does the accesses that the current group has stopped at.
    pub(super) fn access_group(&mut self, memory: &mut Memory, now: Now) -> Result<(), Box<Fault>> {
        let launch = std::sync::Arc::clone(&self.launch);
        if let Some((lane, line)) = self.panicking {
            return Err(self.panic(memory, lane, line));
        }
        let Some(group) = self.groups.get(self.current) else { return Ok(()) };
        let (frame, first) = (group.frame(), group.step as usize);
        let Some(code) = launch.program.code(frame.code) else { return Ok(()) };
        let number = group.block;
        let block = &code.blocks[number as usize];
        // A protocol that is not kept finds nothing to do.
        let end = block.accesses.get(first).map_or(first, |access| (access.end as usize).max(first));
        for (step, access) in block.steps[first..end].iter().zip(&block.accesses[first..end]) {
            self.access_step(step, frame, memory, now)?;
            let pending = &mut self.groups[self.current].pending;
            pending.extend(access.brings.iter().filter(|reg| !pending.contains(reg)).collect::<Vec<_>>());
        }
        self.spend(code, number, first as u32, end as u32);
        self.groups[self.current].step = end as u32;
        Ok(())
    }

    fn access_step(
        &mut self,
        step: &Step,
        frame: Frame,
        memory: &mut Memory,
        now: Now,
    ) -> Result<(), Box<Fault>> {
        let nothing = Touch { kind: TouchKind::None, sectors: 0, start: 0, end: 0 };
        let Some(mask) = self.active(step, frame) else {
            self.touches.push(nothing);
            return Ok(());
        };
        let (at, bytes, kind) = match &step.what {
            What::Clock { to, special } => {
                self.set_all(*to, frame, &mask, clock(*special, now));
                self.touches.push(nothing);
                return Ok(());
            }
            What::Load { kind, to, at, .. } => (*at, kind.bytes * to.len() as u32, TouchKind::Load),
            What::Store { kind, from, at, .. } => (*at, kind.bytes * from.len() as u32, TouchKind::Store),
            What::Atomic { bytes, at, .. } => (*at, *bytes, TouchKind::Atomic),
            _ => return Ok(()),
        };
        let mut touch = Touch { kind: TouchKind::None, sectors: 0, start: u64::MAX, end: 0 };
        for warp in 0..self.warps() {
            let lanes = mask[warp];
            if lanes == 0 {
                continue;
            }
            let addresses = self.addresses(at, frame, warp);
            let span = Span::new(&addresses, lanes, bytes);
            span.note(&mut touch, kind);
            if !self.access_warp(step, frame, memory, warp, lanes, &addresses, &span) {
                let mut only = [0; super::group::MAX_WARPS];
                only[warp] = lanes;
                self.each_lane(step, frame, &only, Some(memory))?;
            }
        }
        self.touches.push(if touch.kind == TouchKind::None { nothing } else { touch });
        Ok(())
    }

    /// The addresses that a warp's lanes mean.
    fn addresses(&self, at: At, frame: Frame, warp: usize) -> [u64; WARP] {
        let offset = (at.offset as u64).wrapping_add(if at.in_frame { frame.local } else { 0 });
        match (self.operand(at.base, frame), at.narrow) {
            (Operand::All(bits), true) => [(bits & 0xffff_ffff).wrapping_add(offset); WARP],
            (Operand::All(bits), false) => [bits.wrapping_add(offset); WARP],
            (Operand::Row(row), true) => {
                self.registers.words[row + warp].0.map(|base| u64::from(base).wrapping_add(offset))
            }
            (Operand::Row(row), false) => {
                self.registers.doubles[row + warp].0.map(|base| base.wrapping_add(offset))
            }
        }
    }

    /// Does a warp's access at once, if its lanes stay in one allocation and are aligned; false if not.
    #[allow(clippy::too_many_arguments)] // one access, spelled out
    fn access_warp(
        &mut self,
        step: &Step,
        frame: Frame,
        memory: &mut Memory,
        warp: usize,
        lanes: u32,
        addresses: &[u64; WARP],
        span: &Span,
    ) -> bool {
        let Some((index, offset)) = self.locate(memory, span) else { return false };
        let length = (span.end - span.start) as usize;
        match &step.what {
            What::Load { kind, to, .. } => {
                let bytes = &memory.at(index).bytes()[offset..offset + length];
                self.load_warp(*kind, to, frame, warp, lanes, addresses, span, bytes);
                true
            }
            What::Store { kind, from, .. } if !memory.at(index).read_only() => {
                let bytes = &mut memory.at_mut(index).bytes_mut()[offset..offset + length];
                self.store_warp(*kind, from, frame, warp, lanes, addresses, span, bytes);
                true
            }
            _ => false,
        }
    }

    /// The allocation that holds the span, and where.
    fn locate(&mut self, memory: &Memory, span: &Span) -> Option<(usize, usize)> {
        if !span.aligned {
            return None;
        }
        let length = span.end.checked_sub(span.start)?;
        let hint = Some(self.hint).filter(|&hint| hint < memory.live());
        let found = hint.and_then(|hint| Some((hint, memory.at(hint).offset(span.start, length)?)));
        if found.is_some() {
            return found;
        }
        let index = memory.find(span.start)?;
        let offset = memory.at(index).offset(span.start, length)?;
        self.hint = index;
        Some((index, offset))
    }

    #[allow(clippy::too_many_arguments)] // one access, spelled out
    fn load_warp(
        &mut self,
        kind: MemoryType,
        to: &[Option<Place>],
        frame: Frame,
        warp: usize,
        active: u32,
        addresses: &[u64; WARP],
        span: &Span,
        bytes: &[u8],
    ) {
        for (element, to) in to.iter().enumerate() {
            let Some(to) = *to else { continue };
            let skip = element * kind.bytes as usize;
            let at = |lane: usize| (addresses[lane] - span.start) as usize + skip;
            match (kind.bytes, to) {
                (4, Place::Temporary(Kind::Word, _) | Place::Frame(Kind::Word, _)) => {
                    let row = self.row(to, frame) + warp;
                    let chunk = &mut self.registers.words[row];
                    if span.is_run(4) && active == u32::MAX {
                        *chunk = Chunk(std::array::from_fn(|lane| word(bytes, 4 * lane)));
                    } else {
                        each(active, |lane| chunk.0[lane] = word(bytes, at(lane)));
                    }
                }
                (8, Place::Temporary(Kind::Double, _) | Place::Frame(Kind::Double, _)) => {
                    let row = self.row(to, frame) + warp;
                    let chunk = &mut self.registers.doubles[row];
                    each(active, |lane| chunk.0[lane] = double(bytes, at(lane)));
                }
                _ => each(active, |lane| {
                    let value = super::run::read(&bytes[at(lane)..at(lane) + kind.bytes as usize]);
                    self.set_lane(to, frame, warp * WARP + lane, extend(value, kind, to));
                }),
            }
        }
    }

    #[allow(clippy::too_many_arguments)] // one access, spelled out
    fn store_warp(
        &mut self,
        kind: MemoryType,
        from: &[Value],
        frame: Frame,
        warp: usize,
        active: u32,
        addresses: &[u64; WARP],
        span: &Span,
        bytes: &mut [u8],
    ) {
        let size = kind.bytes as usize;
        for (element, &from) in from.iter().enumerate() {
            let at = |lane: usize| (addresses[lane] - span.start) as usize + element * size;
            match (size, from, self.operand(from, frame)) {
                (
                    4,
                    Value::At(Place::Temporary(Kind::Word, _) | Place::Frame(Kind::Word, _)),
                    Operand::Row(row),
                ) => {
                    let chunk = &self.registers.words[row + warp].0;
                    if span.is_run(4) && active == u32::MAX {
                        for (to, value) in bytes.chunks_exact_mut(4).zip(chunk) {
                            to.copy_from_slice(&value.to_le_bytes());
                        }
                    } else {
                        each(active, |lane| {
                            bytes[at(lane)..at(lane) + 4].copy_from_slice(&chunk[lane].to_le_bytes())
                        });
                    }
                }
                _ => each(active, |lane| {
                    let value = self.any_lane(from, frame, warp * WARP + lane).to_le_bytes();
                    bytes[at(lane)..at(lane) + size].copy_from_slice(&value[..size]);
                }),
            }
        }
    }

    /// What a panic says, now that memory can be looked at.
    fn panic(&mut self, memory: &Memory, lane: usize, line: u32) -> Box<Fault> {
        let frame = self.groups[self.current].frame();
        let launch = std::sync::Arc::clone(&self.launch);
        let Some(code) = launch.program.code(frame.code) else {
            return self.fault(FaultKind::Trap, lane, line);
        };
        let (places, _) = super::step::offsets(&code.layout);
        let thread = self.local_stride * lane as u64 + frame.local;
        let arguments = places.iter().skip(code.layout.returns.len()).zip(&code.layout.arguments);
        let arguments: Vec<u64> = arguments
            .map(|(place, (bytes, _))| {
                let at = (thread + place) as usize;
                self.local.get(at..at + (*bytes as usize).min(8)).map_or(0, super::run::read)
            })
            .collect();
        let message = super::panic::message(&code.name, &arguments, memory);
        self.fault(FaultKind::Panic { message }, lane, line)
    }
}

/// Where a warp's access goes.
struct Span {
    start: u64,
    end: u64,
    bytes: u32,
    /// All lanes are aligned to the access's width.
    aligned: bool,
    /// All lanes are active and each lies right after the one before.
    run: bool,
    sectors: u32,
}

impl Span {
    fn new(addresses: &[u64; WARP], active: u32, bytes: u32) -> Self {
        let width = u64::from(bytes);
        if active == u32::MAX {
            let first = addresses[0];
            let off = (0..WARP)
                .fold(0, |off, lane| off | addresses[lane] ^ first.wrapping_add(width * lane as u64));
            let end = first.checked_add(width * WARP as u64);
            if let (0, Some(end)) = (off, end) {
                let aligned = first.is_multiple_of(width);
                let sectors = ((end - 1) / SECTOR - first / SECTOR + 1) as u32;
                return Self { start: first, end, bytes, aligned, run: true, sectors };
            }
        }
        let (mut start, mut last, mut low_bits, mut sectors, mut before) = (u64::MAX, 0, 0, 0, u64::MAX);
        each(active, |lane| {
            let address = addresses[lane];
            start = start.min(address);
            last = last.max(address);
            low_bits |= address;
            if address / SECTOR != before {
                before = address / SECTOR;
                sectors += bytes.div_ceil(SECTOR as u32);
            }
        });
        let end = last.saturating_add(width);
        Self {
            start,
            end,
            bytes,
            aligned: low_bits & (width - 1) == 0 && end != u64::MAX,
            run: false,
            sectors,
        }
    }

    fn is_run(&self, bytes: u32) -> bool {
        self.run && self.bytes == bytes
    }

    /// Adds what is in device memory to an instruction's touch.
    fn note(&self, touch: &mut Touch, kind: TouchKind) {
        if self.end > window::GLOBAL {
            touch.kind = kind;
            touch.sectors += self.sectors;
            touch.start = touch.start.min(self.start.max(window::GLOBAL));
            touch.end = touch.end.max(self.end);
        }
    }
}

/// Calls a function for each lane of a warp's mask.
fn each(mut active: u32, mut f: impl FnMut(usize)) {
    if active == u32::MAX {
        return (0..WARP).for_each(f);
    }
    while active != 0 {
        f(active.trailing_zeros() as usize);
        active &= active - 1;
    }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_le_bytes)
}

fn double(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes)
}

/// What a special register shows at this moment.
fn clock(special: Special, now: Now) -> u64 {
    match special {
        Special::Clock => now.cycles & 0xffff_ffff,
        Special::ClockHigh => now.cycles >> 32,
        Special::Clock64 => now.cycles,
        Special::GlobalTimerLow => now.ns & 0xffff_ffff,
        Special::GlobalTimerHigh => now.ns >> 32,
        _ => now.ns,
    }
}
