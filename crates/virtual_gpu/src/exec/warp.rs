//! What the lanes of a warp, or the warps of a block, do together: shuffles, votes, barriers.

use ptx::op::Kind;
use ptx::{Shuffle, Vote};

use super::block::BlockRun;
use super::group::{Frame, MAX_WARPS, Mask, State};
use super::lanes::WARP;
use super::run::lanes;
use super::step::{Place, Reduce, Step, Value, What};
use crate::memory::Fault;

impl BlockRun {
    /// Does a warp's exchange, if all its members are here; else the group waits for them, and false comes back.
    pub(super) fn meet(&mut self, step: &Step) -> Result<bool, Box<Fault>> {
        let frame = self.groups[self.current].frame();
        let members = match &step.what {
            What::Shuffle { from, .. } => from[3],
            What::Vote { members, .. } | What::WarpBarrier { members } => *members,
            _ => return Ok(true),
        };
        let mask = self.groups[self.current].mask;
        let missing = lanes(&mask).any(|lane| {
            let members = self.lane(members, Kind::Word, frame, lane) as u32;
            members & self.alive[lane / WARP] & !mask[lane / WARP] != 0
        });
        if missing {
            self.groups[self.current].state = State::Warp;
            return Ok(false);
        }
        match &step.what {
            What::Shuffle { mode, to, valid, from } => self.shuffle(*mode, *to, *valid, *from, frame, &mask),
            What::Vote { mode, to, predicate, negated, .. } => {
                self.vote(*mode, *to, *predicate, *negated, members, frame, &mask);
            }
            _ => {}
        }
        Ok(true)
    }

    /// PTX ISA, "shfl.sync".
    fn shuffle(
        &mut self,
        mode: Shuffle,
        to: Place,
        valid: Option<Place>,
        from: [Value; 4],
        frame: Frame,
        mask: &Mask,
    ) {
        let mut results = Vec::with_capacity(WARP * MAX_WARPS);
        for lane in lanes(mask) {
            let own = lane as u32 % 32;
            let operand = self.lane(from[1], Kind::Word, frame, lane) as u32 & 31;
            let clamp = self.lane(from[2], Kind::Word, frame, lane) as u32;
            let (limit, segment) = (clamp & 31, clamp >> 8 & 31);
            let (highest, lowest) = (own & segment | limit & !segment, own & segment);
            let (source, in_range) = match mode {
                Shuffle::Up => (own.wrapping_sub(operand), own as i32 - operand as i32 >= highest as i32),
                Shuffle::Down => (own + operand, own + operand <= highest),
                Shuffle::Butterfly => (own ^ operand, own ^ operand <= highest),
                Shuffle::Index => {
                    let source = lowest | operand & !segment;
                    (source, source <= highest)
                }
            };
            let source = if in_range { source } else { own };
            let other = lane / 32 * 32 + source as usize;
            results.push((lane, self.lane(from[0], Kind::Word, frame, other), in_range));
        }
        for (lane, value, in_range) in results {
            self.set_lane(to, frame, lane, value);
            if let Some(valid) = valid {
                self.set_lane(valid, frame, lane, in_range.into());
            }
        }
    }

    #[allow(clippy::too_many_arguments)] // one instruction's operands
    fn vote(
        &mut self,
        mode: Vote,
        to: Place,
        predicate: Value,
        negated: bool,
        members: Value,
        frame: Frame,
        mask: &Mask,
    ) {
        let holds = self.where_holds(predicate, negated, frame);
        let answers: Vec<(usize, u64)> = lanes(mask)
            .map(|lane| {
                let members = self.lane(members, Kind::Word, frame, lane) as u32 & mask[lane / WARP];
                let yes = holds[lane / WARP] & members;
                let answer = match mode {
                    Vote::All => u64::from(yes == members),
                    Vote::Any => u64::from(yes != 0),
                    Vote::Uniform => u64::from(yes == 0 || yes == members),
                    Vote::Ballot => yes.into(),
                };
                (lane, answer)
            })
            .collect();
        for (lane, answer) in answers {
            self.set_lane(to, frame, lane, answer);
        }
    }

    /// The current group comes to a barrier.
    pub(super) fn arrive(&mut self, step: &Step) {
        let What::Barrier { id, count, reduce: _, arrive } = &step.what else { return };
        let frame = self.groups[self.current].frame();
        let id = self.first(*id, Kind::Word, frame) as u32 % 16;
        let count = count.map(|count| self.first(count, Kind::Word, frame) as u32);
        let group = &mut self.groups[self.current];
        if *arrive {
            self.arrived[id as usize] += group.warps * WARP as u32;
        } else {
            group.state = State::Barrier { id, count };
        }
    }

    /// Lets the groups go on for whom a barrier is complete; whether there were any.
    pub(super) fn release(&mut self) -> bool {
        let mut released = false;
        for id in 0..16 {
            let waits = |state: State| matches!(state, State::Barrier { id: other, .. } if other == id);
            let waiting: Vec<usize> =
                (0..self.groups.len()).filter(|&k| waits(self.groups[k].state)).collect();
            let Some(&first) = waiting.first() else { continue };
            let mut here: Mask = [0; MAX_WARPS];
            for &k in &waiting {
                here.iter_mut().zip(self.groups[k].mask).for_each(|(here, mask)| *here |= mask);
            }
            let complete = match self.groups[first].state {
                State::Barrier { count: Some(count), .. } => {
                    let warps = here.iter().filter(|lanes| **lanes != 0).count() as u32;
                    warps * WARP as u32 + self.arrived[id as usize] >= count
                }
                _ => here == self.alive,
            };
            if complete {
                self.answer(&waiting);
                waiting.iter().for_each(|&k| self.groups[k].state = State::Ready);
                self.arrived[id as usize] = 0;
                released = true;
            }
        }
        released
    }

    /// Gives the groups at a barrier what they asked the block.
    fn answer(&mut self, waiting: &[usize]) {
        let launch = std::sync::Arc::clone(&self.launch);
        let current = self.current;
        let mut questions: Vec<(usize, Frame, Reduce)> = Vec::new();
        let (mut yes, mut all) = (0, 0);
        for &k in waiting {
            let group = &self.groups[k];
            let (frame, at) = (group.frame(), group.step as usize - 1);
            let step = launch
                .program
                .code(frame.code)
                .and_then(|code| code.blocks[group.block as usize].steps.get(at));
            let Some(What::Barrier { reduce: Some(reduce), .. }) = step.map(|step| &step.what) else {
                continue;
            };
            self.current = k;
            let holds = self.where_holds(reduce.predicate, reduce.negated, frame);
            yes += holds.iter().map(|lanes| lanes.count_ones()).sum::<u32>();
            all += self.groups[k].lanes();
            questions.push((k, frame, *reduce));
        }
        for (k, frame, reduce) in questions {
            self.current = k;
            let answer = match reduce.mode {
                None => yes,
                Some(Vote::All) => u32::from(yes == all),
                Some(_) => u32::from(yes != 0),
            };
            let mask = self.groups[k].mask;
            self.set_all(reduce.to, frame, &mask, answer.into());
        }
        self.current = current;
    }
}
