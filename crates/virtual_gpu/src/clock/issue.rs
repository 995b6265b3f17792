//! How the blocks on one multiprocessor share its schedulers.
//!
//! A stretch of computing has a time that it takes alone, and a demand: issue slots a cycle at that speed. While the
//! demands together are no more than the schedulers give, nobody is slowed. Beyond that, slots are shared evenly among
//! warps, and a block that wants less than its share (one that waits for its own results, say) keeps its speed.

use super::time::Picos;

/// One whole, in fixed point: a slot a cycle, or full speed.
const ONE: u64 = 1 << 16;

/// The stretches that run on one multiprocessor.
#[derive(Debug)]
pub struct Issue {
    slots: u64,
    running: Vec<Stretch>,
    /// Up to when `left` is reckoned.
    at: Picos,
}

#[derive(Debug)]
struct Stretch {
    block: usize,
    /// Time that is left at full speed.
    left: Picos,
    demand: u64,
    warps: u64,
    speed: u64,
}

impl Issue {
    /// Nothing runs; the multiprocessor has so many schedulers.
    pub fn new(schedulers: u32) -> Self {
        Issue { slots: u64::from(schedulers) * ONE, running: Vec::new(), at: 0 }
    }

    /// Starts a stretch of a block that has so many warps. Alone it would take `cycles`, of which `left` is the time still
    /// to go, and issue for `issue_cycles` in all.
    pub fn start(
        &mut self,
        now: Picos,
        block: usize,
        warps: u32,
        left: Picos,
        issue_cycles: u64,
        cycles: u64,
    ) {
        self.reckon(now);
        let demand = (issue_cycles.saturating_mul(ONE) / cycles.max(1)).min(self.slots);
        self.running.push(Stretch { block, left, demand, warps: u64::from(warps.max(1)), speed: ONE });
        self.share();
    }

    /// When the next stretch ends, if none is started before.
    pub fn next_end(&self) -> Option<Picos> {
        self.running.iter().map(|stretch| self.at + (stretch.left * ONE).div_ceil(stretch.speed)).min()
    }

    /// Ends one stretch that is over by `now`, and returns its block; of several the one that was started first.
    pub fn end_one(&mut self, now: Picos) -> Option<usize> {
        self.reckon(now);
        let over = self.running.iter().position(|stretch| stretch.left == 0)?;
        let block = self.running.remove(over).block;
        self.share();
        Some(block)
    }

    /// Forgets all stretches.
    pub fn clear(&mut self) {
        self.running.clear();
    }

    fn reckon(&mut self, now: Picos) {
        let span = now - self.at;
        if span > 0 {
            for stretch in &mut self.running {
                let done = if stretch.speed == ONE { span } else { span * stretch.speed / ONE };
                stretch.left = stretch.left.saturating_sub(done);
            }
            self.at = now;
        }
    }

    /// Gives each stretch its speed.
    fn share(&mut self) {
        let wanted: u64 = self.running.iter().map(|stretch| stretch.demand).sum();
        if wanted <= self.slots {
            for stretch in &mut self.running {
                stretch.speed = ONE;
            }
            return;
        }
        // A warp's share grows each time that those who want less than it are given what they want.
        let mut share = 0;
        loop {
            let (mut slots, mut warps) = (self.slots, 0);
            for stretch in &self.running {
                match stretch.demand <= share * stretch.warps {
                    true => slots = slots.saturating_sub(stretch.demand),
                    false => warps += stretch.warps,
                }
            }
            let larger = slots.checked_div(warps).unwrap_or(share);
            if larger <= share {
                break;
            }
            share = larger;
        }
        for stretch in &mut self.running {
            let given = (share * stretch.warps).min(stretch.demand);
            stretch.speed = (given * ONE).checked_div(stretch.demand).unwrap_or(ONE).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts (issue, cycles) stretches of 8 warps at once, a picosecond a cycle, and returns when each ends.
    fn ends(stretches: &[(u64, u64)]) -> Vec<Picos> {
        let mut issue = Issue::new(4);
        for (block, &(slots, cycles)) in stretches.iter().enumerate() {
            issue.start(0, block, 8, cycles, slots, cycles);
        }
        let mut ends = vec![0; stretches.len()];
        while let Some(now) = issue.next_end() {
            while let Some(block) = issue.end_one(now) {
                ends[block] = now;
            }
        }
        ends
    }

    #[test]
    fn alone_a_stretch_takes_its_own_time() {
        assert_eq!(ends(&[(400, 1000)]), [1000]);
        assert_eq!(ends(&[(4000, 1000)]), [1000]);
    }

    #[test]
    fn nobody_is_slowed_while_slots_suffice() {
        assert_eq!(ends(&[(1000, 1000), (3000, 1000)]), [1000, 1000]);
    }

    #[test]
    fn beyond_that_all_are_slowed_alike() {
        let ends = ends(&[(4000, 1000), (4000, 1000)]);
        assert!(ends.iter().all(|end| (2000..2010).contains(end)), "{ends:?}");
    }

    #[test]
    fn who_wants_little_keeps_its_speed() {
        let ends = ends(&[(1000, 1000), (4000, 1000)]);
        assert_eq!(ends[0], 1000);
        // Three slots a cycle beside the first, then four: 3,000 of 4,000 are issued by 1,000.
        assert!((1250..1260).contains(&ends[1]), "{ends:?}");
    }

    #[test]
    fn what_is_over_frees_its_slots() {
        let ends = ends(&[(2000, 500), (4000, 1000)]);
        assert!((1000..1010).contains(&ends[0]) && (1500..1515).contains(&ends[1]), "{ends:?}");
    }
}
