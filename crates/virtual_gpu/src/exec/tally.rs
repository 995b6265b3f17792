//! What a block's instructions cost on the card: issue slots, and the longest chain of dependent ones.

use ptx::{Action, Instruction, Reg};

use super::class;
use super::flow::FlowEnd;
use super::step::Tally;
use super::usage;
use crate::segment::{Class, CostTable};

/// Adds up one block after the other.
///
/// Instructions are taken to issue as soon as their operands are there, in whatever order: the card's own compiler
/// arranges them so. What a load from device memory brings is there at once; the wait for it is the clock's.
pub(super) struct Meter<'c> {
    costs: &'c CostTable,
    total: Tally,
    /// When each register is there, and in which block that was noted.
    ready: Vec<(u32, u32)>,
    block: u32,
    /// When the last stop was: nothing after it is there sooner.
    stop: u32,
}

impl<'c> Meter<'c> {
    pub fn new(costs: &'c CostTable, registers: usize) -> Self {
        Self { costs, total: Tally::default(), ready: vec![(0, 0); registers], block: 0, stop: 0 }
    }

    /// Begins a block.
    pub fn begin(&mut self) -> Tally {
        self.block += 1;
        self.stop = 0;
        self.total = Tally::default();
        self.total
    }

    /// What has been spent after the instruction.
    pub fn step(&mut self, instruction: &Instruction) -> Tally {
        let cost = self.costs.of(class::of_action(&instruction.action));
        self.total.instructions += 1;
        self.total.issue = self.total.issue.saturating_add(cost.issue);
        let mut start = self.stop;
        usage::reads(instruction, |reg| start = start.max(self.ready_at(reg)));
        let access = usage::is_access(&instruction.action);
        let there = start.saturating_add(if access { cost.issue } else { cost.latency });
        usage::writes(instruction, |Reg(reg)| self.ready[reg as usize] = (there, self.block));
        self.total.cycles = self.total.cycles.max(there);
        let stops = matches!(instruction.action, Action::Barrier { .. } | Action::Trigger | Action::Wait);
        if access || stops {
            self.stop = self.total.cycles;
        }
        self.total
    }

    /// What has been spent after the end of the block.
    pub fn end(&mut self, end: &FlowEnd) -> Tally {
        if matches!(end, FlowEnd::Jump(_)) {
            return self.total;
        }
        let cost = self.costs.of(Class::Branch);
        let start = end.read().map_or(self.stop, |reg| self.ready_at(reg).max(self.stop));
        self.total.instructions += 1;
        self.total.issue = self.total.issue.saturating_add(cost.issue);
        self.total.cycles = self.total.cycles.max(start.saturating_add(cost.latency));
        self.total
    }

    fn ready_at(&self, Reg(reg): Reg) -> u32 {
        let (at, block) = self.ready[reg as usize];
        if block == self.block { at } else { 0 }
    }
}
