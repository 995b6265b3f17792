//! Which lane group of a block goes next, how groups split and join, and what happens when none can go on.
//!
//! The group that is furthest behind goes first, so that it comes to where the others wait and joins them. One that
//! loops for long gives way: what it waits for may be another's to do.

use std::cmp::Ordering;

use super::block::{BlockRun, PATIENCE};
use super::group::{Group, Mask, State};
use crate::memory::{Fault, FaultKind};

impl BlockRun {
    /// A group splits off, with the same frames and scalars.
    pub(super) fn split(&mut self, mask: Mask, block: u32) {
        let mut group = self.groups[self.current].clone();
        group.serial = self.serials;
        self.serials += 1;
        group.set_mask(mask);
        (group.block, group.step) = (block, 0);
        self.groups.push(group);
    }

    /// The current group's lanes have ended.
    pub(super) fn end_group(&mut self) {
        let mask = self.groups.swap_remove(self.current).mask;
        for (alive, ended) in self.alive.iter_mut().zip(mask) {
            *alive &= !ended;
        }
    }

    /// The current group has gone back in the order of blocks, so that it may run for long.
    pub(super) fn turn_loop(&mut self, ordered: bool) {
        if self.groups.len() > 1 {
            self.patience = self.patience.saturating_sub(if ordered { PATIENCE / 32 } else { 1 });
        }
    }

    /// Chooses the group that goes next; an error when none can.
    pub(super) fn choose(&mut self) -> Result<bool, Box<Fault>> {
        loop {
            if self.groups.is_empty() {
                return Ok(false);
            }
            if self.patience == 0 {
                self.let_another_pass();
            }
            let favoured = self.favoured;
            let ready = self.groups.iter().enumerate().filter(|(_, group)| group.state == State::Ready);
            let next = ready.min_by(|(_, a), (_, b)| {
                let first = |group: &Group| favoured != Some(group.serial);
                first(a).cmp(&first(b)).then_with(|| self.behind(a, b))
            });
            if let Some((next, _)) = next {
                self.current = next;
                self.join();
                return Ok(true);
            }
            if !self.release() {
                return Err(self.deadlock());
            }
        }
    }

    /// Which of two groups is further behind. A group inside a call is ahead of one that is at the call.
    fn behind(&self, a: &Group, b: &Group) -> Ordering {
        let place = |group: &Group, depth: usize| match group.frames.get(depth + 1) {
            Some(inner) => inner.from,
            None => group.block,
        };
        for depth in 0..a.frames.len().max(b.frames.len()) {
            match (depth < a.frames.len(), depth < b.frames.len()) {
                (true, true) => match place(a, depth).cmp(&place(b, depth)) {
                    Ordering::Equal => {}
                    other => return other,
                },
                (deeper, _) => {
                    return if deeper { Ordering::Less } else { Ordering::Greater };
                }
            }
        }
        a.serial.cmp(&b.serial)
    }

    /// The group that ran long gives way to the one that has waited longest.
    fn let_another_pass(&mut self) {
        self.patience = PATIENCE;
        let current = self.favoured.take().or(self.groups.get(self.current).map(|group| group.serial));
        let waiting = self.groups.iter().filter(|g| g.state == State::Ready).map(|g| g.serial);
        let (mut later, mut first) = (None, None);
        for serial in waiting.filter(|serial| Some(*serial) != current) {
            first = Some(first.map_or(serial, |first: u32| first.min(serial)));
            if Some(serial) > current {
                later = Some(later.map_or(serial, |later: u32| later.min(serial)));
            }
        }
        self.favoured = later.or(first);
    }

    /// Takes groups that are at the same place into the current one, if they agree on what is uniform.
    fn join(&mut self) {
        let mut other = 0;
        while other < self.groups.len() && self.groups.len() > 1 {
            if other != self.current && self.may_join(&self.groups[self.current], &self.groups[other]) {
                let gone = self.groups.swap_remove(other);
                if self.current == self.groups.len() {
                    self.current = other;
                }
                let group = &mut self.groups[self.current];
                let mask = std::array::from_fn(|warp| group.mask[warp] | gone.mask[warp]);
                group.set_mask(mask);
                group.pending.extend(
                    gone.pending.iter().filter(|reg| !group.pending.contains(reg)).collect::<Vec<_>>(),
                );
                if self.favoured == Some(gone.serial) {
                    self.favoured = None;
                }
            } else {
                other += 1;
            }
        }
        if self.groups.len() == 1 {
            (self.favoured, self.patience) = (None, PATIENCE);
        }
    }

    fn may_join(&self, a: &Group, b: &Group) -> bool {
        let at_same_place = a.block == b.block && a.step == 0 && b.step == 0 && a.frames == b.frames;
        if !at_same_place || matches!(b.state, State::Barrier { .. }) {
            return false;
        }
        a.frames.iter().enumerate().all(|(depth, frame)| {
            let block = a.frames.get(depth + 1).map_or(a.block, |inner| inner.back);
            let code = self.launch.program.code(frame.code);
            code.is_some_and(|code| {
                let needed = &code.blocks[block as usize].scalars;
                needed.iter().all(|scalar| {
                    let at = frame.scalars + *scalar as usize;
                    a.scalars[at] == b.scalars[at]
                })
            })
        })
    }

    /// Nobody can go on: threads wait for what will not come.
    fn deadlock(&self) -> Box<Fault> {
        let group = &self.groups[0];
        // A group stands after its barrier, and in front of what it waits for its warp at.
        let (back, waiting) = match group.state {
            State::Barrier { id, .. } => {
                let here = self.groups.iter().filter(|other| other.state == group.state).map(Group::lanes);
                let threads = here.sum::<u32>();
                (
                    1,
                    format!(
                        "{threads} threads wait at barrier {id}, and nobody is left who could come to it"
                    ),
                )
            }
            _ => (
                0,
                "threads of a warp wait for others that they name as members, and these never come"
                    .to_owned(),
            ),
        };
        let line = self.launch.program.code(group.frame().code).map_or(0, |code| {
            let block = &code.blocks[group.block as usize];
            block.steps.get(group.step as usize - back).map_or(block.line, |step| step.line)
        });
        self.fault(FaultKind::Deadlock { waiting }, group.first_lane(), line)
    }
}
