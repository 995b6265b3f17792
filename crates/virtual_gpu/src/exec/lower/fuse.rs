//! What is done as one: chains of the same operation, and accesses that need nothing of each other.

use ptx::op::{Alu, FloatOp, IntOp, IntType};
use ptx::{Action, Instruction, Source, Space};

use super::Lowering;
use crate::exec::step::{Block, Place, Step, What};

impl Lowering<'_> {
    /// Makes the last step of the block do this instruction too, if it is the next link of the same chain.
    pub(super) fn lengthens(
        &self,
        block: &mut Block,
        before: Option<&Instruction>,
        now: &Instruction,
    ) -> bool {
        let (Some(before), Some(last)) = (before, block.steps.last_mut()) else { return false };
        let (Action::Alu { op, to: link, from: first }, Action::Alu { op: same, to, from }) =
            (&before.action, &now.action)
        else {
            return false;
        };
        let sources = op.signature().1.len();
        let single = self.live.is_local(*link) && self.read_counts[link.0 as usize] == 1;
        if op != same || !is_chained(*op) || before.guard.is_some() || now.guard.is_some() || !single {
            return false;
        }
        if matches!(self.places.of(*to), Place::Scalar(_)) {
            return false;
        }
        let Some(through) = from[..sources].iter().position(|source| *source == Source::Reg(*link)) else {
            return false;
        };
        let same_others = (0..sources).all(|k| k == through || first[k] == from[k]);
        let to = self.places.of(*to);
        match &mut last.what {
            What::Alu { op, from, .. } if same_others => {
                last.what = What::Chain { op: *op, to, from: *from, through, count: 2 };
                true
            }
            What::Chain { to: end, through: before, count, .. } if same_others && *before == through => {
                (*end, *count) = (to, *count + 1);
                true
            }
            _ => false,
        }
    }
}

/// Whether the step, if there is one, is done when the clock says so.
pub(super) fn is_access(steps: &[Step], step: usize) -> bool {
    match steps.get(step).map(|step| &step.what) {
        Some(What::Load { space, .. } | What::Store { space, .. } | What::Atomic { space, .. }) => {
            matches!(space, Space::Global | Space::Generic | Space::Constant)
        }
        Some(What::Clock { .. }) => true,
        _ => false,
    }
}

/// Puts accesses that follow one another into one group, as long as none needs what another brings.
pub(super) fn group(block: &mut Block) {
    let mut first = 0;
    while first < block.steps.len() {
        let clock = matches!(block.steps[first].what, What::Clock { .. });
        if block.accesses[first].end == 0 || clock {
            first += 1;
            continue;
        }
        let mut end = first + 1;
        while end < block.steps.len() && block.accesses[end].end != 0 {
            let needs = block.accesses[first..end]
                .iter()
                .flat_map(|access| &access.brings)
                .any(|&reg| block.reads.binary_search(&(reg, end as u32)).is_ok());
            if needs || matches!(block.steps[end].what, What::Clock { .. }) {
                break;
            }
            end += 1;
        }
        block.accesses[first].end = end as u32;
        first = end;
    }
}

/// Operations that are worth to be done as a chain.
fn is_chained(op: Alu) -> bool {
    matches!(op, Alu::Float(FloatOp::MulAdd, _) | Alu::Int(IntOp::MulAdd, IntType::U32 | IntType::S32))
}
