//! Gives each register a place: as few rows as possible, so that they stay in the nearest cache.
//!
//! A register that never leaves its block has a temporary row, which other lane groups never read: it is written
//! without a mask. One that leaves it has a row of the frame, shared with registers that are needed elsewhere in the
//! order of blocks. A uniform one has a scalar.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ptx::op::Kind;
use ptx::{Action, Reg};

use super::flow::Flow;
use super::live::Live;
use super::step::{Place, file};
use super::usage;

/// Every register's place, and how many there are.
pub(super) struct Places {
    places: Vec<Option<Place>>,
    pub rows: [u32; 3],
    pub temporaries: [u32; 3],
    pub scalars: u32,
}

/// The rows of one file that are free.
#[derive(Default)]
struct Rows {
    free: BinaryHeap<Reverse<u32>>,
    count: u32,
}

impl Rows {
    fn take(&mut self) -> u32 {
        self.free.pop().map_or_else(
            || {
                self.count += 1;
                self.count - 1
            },
            |Reverse(row)| row,
        )
    }

    fn give(&mut self, row: u32) {
        self.free.push(Reverse(row));
    }
}

impl Places {
    pub fn new(flow: &Flow, live: &Live, kinds: &[Kind], varying: &[bool]) -> Self {
        let mut places =
            Self { places: vec![None; kinds.len()], rows: [0; 3], temporaries: [0; 3], scalars: 0 };
        for (reg, varying) in varying.iter().enumerate() {
            if !varying {
                places.places[reg] = Some(Place::Scalar(places.scalars));
                places.scalars += 1;
            }
        }
        places.frame(flow, live, kinds);
        places.temporary(flow, live, kinds);
        places
    }

    pub fn of(&self, reg: Reg) -> Place {
        // Every register that the code names was given one.
        self.places[reg.0 as usize].unwrap_or(Place::Scalar(0))
    }

    /// Rows for registers that leave their block: from the first place they are needed at to the last.
    fn frame(&mut self, flow: &Flow, live: &Live, kinds: &[Kind]) {
        let mut spans: Vec<Option<(u32, u32)>> = vec![None; kinds.len()];
        let mut extend = |reg: Reg, at: u32| {
            let span = spans[reg.0 as usize].get_or_insert((at, at));
            *span = (span.0.min(at), span.1.max(at));
        };
        let mut at = 0;
        for (number, block) in flow.blocks.iter().enumerate() {
            live.at_entry(number as u32).for_each(|reg| extend(reg, at));
            for instruction in &block.code {
                at += 1;
                usage::reads(instruction, |reg| extend(reg, at));
                usage::writes(instruction, |reg| extend(reg, at));
            }
            at += 1;
            block.end.read().into_iter().for_each(|reg| extend(reg, at));
            for next in block.end.successors() {
                live.at_entry(next).for_each(|reg| extend(reg, at));
            }
            at += 1;
        }
        let mut order: Vec<(u32, u32, usize)> = spans
            .iter()
            .enumerate()
            .filter(|(reg, _)| self.places[*reg].is_none() && !live.is_local(Reg(*reg as u32)))
            .filter_map(|(reg, span)| span.map(|(first, last)| (first, last, reg)))
            .collect();
        order.sort_unstable();
        let mut files: [Rows; 3] = Default::default();
        let mut ends: BinaryHeap<Reverse<(u32, usize, u32)>> = BinaryHeap::new();
        for (first, last, reg) in order {
            while let Some(&Reverse((end, file, row))) = ends.peek() {
                if end >= first {
                    break;
                }
                ends.pop();
                files[file].give(row);
            }
            let file = file(kinds[reg]);
            let row = files[file].take();
            ends.push(Reverse((last, file, row)));
            self.places[reg] = Some(Place::Frame(kinds[reg], row));
        }
        self.rows = files.map(|rows| rows.count);
    }

    /// Rows for registers that stay in a block: from their write to their last read.
    fn temporary(&mut self, flow: &Flow, live: &Live, kinds: &[Kind]) {
        let mut last = vec![0_u32; kinds.len()];
        for block in &flow.blocks {
            for (at, instruction) in block.code.iter().enumerate() {
                usage::reads(instruction, |Reg(reg)| last[reg as usize] = at as u32);
                usage::writes(instruction, |Reg(reg)| last[reg as usize] = at as u32);
            }
            if let Some(Reg(reg)) = block.end.read() {
                last[reg as usize] = block.code.len() as u32;
            }
            let mut files: [Rows; 3] = Default::default();
            for (at, instruction) in block.code.iter().enumerate() {
                // A simple operation reads all of a chunk before it writes: its result may take an operand's row.
                let early = matches!(instruction.action, Action::Alu { .. }) && instruction.guard.is_none();
                let mut ended: Vec<(usize, u32)> = Vec::new();
                let mut end = |places: &[Option<Place>], Reg(reg): Reg| {
                    let ends = last[reg as usize] == at as u32;
                    let Some(Place::Temporary(kind, row)) = places[reg as usize] else { return };
                    if ends && !ended.contains(&(file(kind), row)) {
                        ended.push((file(kind), row));
                    }
                };
                usage::reads(instruction, |reg| end(&self.places, reg));
                if early {
                    ended.drain(..).for_each(|(file, row)| files[file].give(row));
                }
                let mut written: Vec<(usize, u32)> = Vec::new();
                usage::writes(instruction, |reg| {
                    let place = &mut self.places[reg.0 as usize];
                    if place.is_none() && live.is_local(reg) {
                        let kind = kinds[reg.0 as usize];
                        let row = files[file(kind)].take();
                        *place = Some(Place::Temporary(kind, row));
                        if last[reg.0 as usize] == at as u32 {
                            written.push((file(kind), row));
                        }
                    }
                });
                ended.into_iter().chain(written).for_each(|(file, row)| files[file].give(row));
            }
            for (most, rows) in self.temporaries.iter_mut().zip(&files) {
                *most = (*most).max(rows.count);
            }
        }
    }
}
