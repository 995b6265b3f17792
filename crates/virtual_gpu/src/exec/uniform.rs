//! Which registers hold the same value in all lanes of a group, so that one scalar does.
//!
//! A lane group keeps its scalars for itself, and two groups join only when the scalars that are still needed agree:
//! so whatever is marked uniform here, the results are right. The analysis decides what is fast: a register that is
//! marked although lanes that meet disagree on it keeps them from joining. It follows branches on varying conditions to
//! where their sides meet (as LLVM's does), and takes what leaves a loop at different trips as varying.

use ptx::{Action, Base, Instruction, Reg, Space, Special};

use super::flow::{Flow, FlowEnd};
use super::live::Live;
use super::usage;

/// Blocks times diverging branches, above which every register with several writers is taken as varying.
const MAX_WORK: usize = 1 << 22;

/// For each register whether lanes may disagree.
pub(super) fn varying(flow: &Flow, live: &Live, registers: usize, entry: bool) -> Vec<bool> {
    let mut varying = vec![false; registers];
    let mut writers = vec![0_u32; registers];
    for block in &flow.blocks {
        for instruction in &block.code {
            usage::writes(instruction, |reg| {
                writers[reg.0 as usize] += 1;
                varying[reg.0 as usize] |= begins_varying(instruction, entry);
            });
        }
    }
    let predecessors = predecessors(flow);
    let mut diverging = vec![false; flow.blocks.len()];
    loop {
        let mut changed = flow_through(flow, &mut varying);
        for (number, block) in flow.blocks.iter().enumerate() {
            if diverging[number] || !block.end.read().is_some_and(|reg| varying[reg.0 as usize]) {
                continue;
            }
            diverging[number] = true;
            if flow.blocks.len() * diverging.iter().filter(|d| **d).count() > MAX_WORK {
                (0..registers).filter(|&reg| writers[reg] > 1).for_each(|reg| varying[reg] = true);
                changed = true;
                continue;
            }
            for join in joins(flow, &predecessors, number as u32) {
                for reg in live.at_entry(join).filter(|reg| writers[reg.0 as usize] > 1) {
                    changed |= !std::mem::replace(&mut varying[reg.0 as usize], true);
                }
            }
            for reg in leaving(flow, live, number as u32) {
                changed |= !std::mem::replace(&mut varying[reg.0 as usize], true);
            }
        }
        if !changed {
            return varying;
        }
    }
}

/// Whether the result differs from lane to lane, whatever the operands are.
fn begins_varying(instruction: &Instruction, entry: bool) -> bool {
    match &instruction.action {
        Action::Load { space: Space::Parameter, address, .. } => {
            !(entry && matches!(address.base, Base::Parameter(_)))
        }
        Action::Load { .. }
        | Action::Atomic { .. }
        | Action::Shuffle { .. }
        | Action::Vote { .. }
        | Action::ActiveMask { .. }
        | Action::Barrier { .. } => true,
        Action::ReadSpecial { special, .. } => matches!(
            special,
            Special::ThreadIndex(_)
                | Special::LaneId
                | Special::WarpId
                | Special::LaneMaskEqual
                | Special::LaneMaskLess
                | Special::LaneMaskLessEqual
                | Special::LaneMaskGreater
                | Special::LaneMaskGreaterEqual
        ),
        _ => false,
    }
}

/// Carries varying operands to results; whether anything changed.
fn flow_through(flow: &Flow, varying: &mut [bool]) -> bool {
    let mut any = false;
    let mut changed = true;
    while changed {
        changed = false;
        for instruction in flow.blocks.iter().flat_map(|block| &block.code) {
            let mut differs = false;
            usage::reads(instruction, |reg| differs |= varying[reg.0 as usize]);
            if differs {
                usage::writes(instruction, |reg| {
                    changed |= !std::mem::replace(&mut varying[reg.0 as usize], true);
                });
            }
        }
        any |= changed;
    }
    any
}

fn predecessors(flow: &Flow) -> Vec<Vec<u32>> {
    let mut predecessors = vec![Vec::new(); flow.blocks.len()];
    for (number, block) in flow.blocks.iter().enumerate() {
        for next in block.end.successors() {
            predecessors[next as usize].push(number as u32);
        }
    }
    predecessors
}

/// The blocks where two different ways from the branch meet.
fn joins(flow: &Flow, predecessors: &[Vec<u32>], branch: u32) -> Vec<u32> {
    const NONE: u32 = u32::MAX;
    // Each block's label is the last block that every way from the branch to it passes.
    let mut labels = vec![NONE; flow.blocks.len()];
    let sides = flow.blocks[branch as usize].end.successors();
    sides.iter().for_each(|&side| labels[side as usize] = side);
    let mut changed = true;
    while changed {
        changed = false;
        for block in 0..labels.len() {
            if labels[block] == block as u32 {
                continue;
            }
            for &from in &predecessors[block] {
                let label = if from == branch { NONE } else { labels[from as usize] };
                let merged = match (labels[block], label) {
                    (same, NONE) => same,
                    (NONE, label) => label,
                    (a, b) if a == b => a,
                    _ => block as u32,
                };
                changed |= merged != labels[block];
                labels[block] = merged;
            }
        }
    }
    // A side is a join when a way from the other side leads to it.
    let is_join = |block: u32| {
        labels[block as usize] == block
            && (!sides.contains(&block)
                || predecessors[block as usize].iter().any(|&from| {
                    from != branch && labels[from as usize] != NONE && labels[from as usize] != block
                }))
    };
    (0..labels.len() as u32).filter(|&block| is_join(block)).collect()
}

/// Registers that a loop writes and that are needed where the branch leaves it: lanes leave at different trips.
fn leaving(flow: &Flow, live: &Live, branch: u32) -> Vec<Reg> {
    let mut found = Vec::new();
    for inside in flow.loops.iter().filter(|inside| inside.contains(&branch)) {
        let exits = flow.blocks[branch as usize].end.successors();
        let exits: Vec<u32> = exits.into_iter().filter(|exit| !inside.contains(exit)).collect();
        if exits.is_empty() || matches!(flow.blocks[branch as usize].end, FlowEnd::Call { .. }) {
            continue;
        }
        for instruction in
            flow.blocks[inside.start as usize..inside.end as usize].iter().flat_map(|b| &b.code)
        {
            usage::writes(instruction, |reg| {
                if exits.iter().any(|&exit| live.contains(exit, reg)) {
                    found.push(reg);
                }
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx::Module;

    /// Names of the registers `%a` to `%h` that are varying.
    fn found(body: &str) -> String {
        let names = "abcdefgh";
        let declared: String = names.chars().map(|name| format!(".reg .b32 %{name}; ")).collect();
        let first: String = names.chars().map(|name| format!("mov.u32 %{name}, 0; ")).collect();
        let text = format!(
            ".version 7.8\n.target sm_75\n.entry k(.param .u32 x) {{ .reg .pred %p<9>; {declared} {first}\n\
             {body}\n}}"
        );
        let module = Module::parse(&text).unwrap();
        let body = &module.functions[0].body;
        let flow = Flow::new(body).unwrap();
        let live = Live::new(&flow, body.registers.len()).unwrap();
        let varying = varying(&flow, &live, body.registers.len(), true);
        names.chars().zip(varying).filter(|(_, varying)| *varying).map(|(name, _)| name).collect()
    }

    #[test]
    fn what_comes_of_the_thread_varies_and_what_comes_of_parameters_does_not() {
        assert_eq!(
            found(
                "ld.param.u32 %a, [x]; mov.u32 %b, %tid.x; add.u32 %c, %a, 1; add.u32 %d, %b, %a; mov.u32 %e, %ctaid.x; ret;"
            ),
            "bd"
        );
    }

    #[test]
    fn where_two_sides_meet_what_they_wrote_varies() {
        let diamond = |condition: &str| {
            found(&format!(
                "mov.u32 %a, %tid.x; ld.param.u32 %b, [x]; setp.lt.u32 %p1, {condition}, 3; @%p1 bra T;\n\
                 mov.u32 %c, 1; mov.u32 %d, 5; bra J;\nT: mov.u32 %c, 2;\nJ: st.global.u32 [0], %c; ret;"
            ))
        };
        assert_eq!(diamond("%a"), "ac");
        assert_eq!(diamond("%b"), "a");
    }

    #[test]
    fn a_count_that_lanes_leave_a_loop_with_varies_outside_only_if_it_is_needed_there() {
        let count = |after: &str| {
            found(&format!(
                "mov.u32 %a, %tid.x;\nL: add.u32 %b, %b, 1; setp.lt.u32 %p1, %b, %a; @%p1 bra L;\n{after} ret;"
            ))
        };
        assert_eq!(count(""), "a");
        assert_eq!(count("st.global.u32 [0], %b;"), "ab");
    }

    #[test]
    fn an_inner_count_stays_uniform_in_a_loop_that_lanes_leave_early() {
        let inner = found(
            "mov.u32 %a, %tid.x;\nO: mov.u32 %b, 0;\nI: add.u32 %b, %b, 1; setp.lt.u32 %p1, %b, 9; @%p1 bra I;\n\
             add.u32 %a, %a, %b; setp.lt.u32 %p2, %a, 100; @%p2 bra O;\nret;",
        );
        assert_eq!(inner, "a");
    }
}
