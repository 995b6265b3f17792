//! A function's instructions as basic blocks, in an order in which every loop stands together.
//!
//! The order is a weak topological one (Bourdoncle 1993): blocks of a loop are neighbours, its head is first, and what
//! follows a join comes after both its sides. Running the lane group that is furthest behind in it brings diverged
//! lanes together again where their ways meet.

use ptx::{Action, Body, Guard, Instruction, Reg, Source};

/// A function's blocks. A block's number is its place in the order; the first is the entry.
#[derive(Debug)]
pub(super) struct Flow {
    pub blocks: Vec<FlowBlock>,
    /// The loops, each as the range of its blocks, outer ones first.
    pub loops: Vec<std::ops::Range<u32>>,
}

/// Instructions that are executed one after the other.
#[derive(Debug)]
pub(super) struct FlowBlock {
    pub code: Vec<Instruction>,
    pub end: FlowEnd,
    /// The line of what ends it.
    pub line: u32,
}

/// What ends a block.
#[derive(Clone, Debug)]
pub(super) enum FlowEnd {
    Jump(u32),
    Branch { guard: Guard, to: u32, other: u32 },
    Index { index: Source, to: Vec<u32> },
    Call { call: Box<ptx::Call>, next: u32 },
    Return,
    Exit,
    Trap,
}

impl FlowEnd {
    /// The blocks that may come next.
    pub fn successors(&self) -> Vec<u32> {
        match self {
            Self::Jump(to) => vec![*to],
            Self::Branch { to, other, .. } => vec![*to, *other],
            Self::Index { to, .. } => to.clone(),
            Self::Call { next, .. } => vec![*next],
            Self::Return | Self::Exit | Self::Trap => Vec::new(),
        }
    }

    /// The register that decides which comes next.
    pub fn read(&self) -> Option<Reg> {
        match self {
            Self::Branch { guard, .. } => Some(guard.register),
            Self::Index { index: Source::Reg(reg), .. } => Some(*reg),
            Self::Call { call, .. } => call.callee.err(),
            _ => None,
        }
    }

    fn rename(&mut self, name: impl Fn(u32) -> u32) {
        match self {
            Self::Jump(to) => *to = name(*to),
            Self::Branch { to, other, .. } => (*to, *other) = (name(*to), name(*other)),
            Self::Index { to, .. } => to.iter_mut().for_each(|to| *to = name(*to)),
            Self::Call { next, .. } => *next = name(*next),
            Self::Return | Self::Exit | Self::Trap => {}
        }
    }
}

impl Flow {
    /// The blocks of a function that can be reached; `None` when there are too many ways between them.
    pub fn new(body: &Body) -> Option<Self> {
        let edges = body.code.iter().map(|instruction| match &instruction.action {
            Action::BranchIndexed { to, .. } => to.len(),
            _ => 1,
        });
        if edges.sum::<usize>() > MAX_EDGES {
            return None;
        }
        let blocks = cut(body);
        let successors: Vec<Vec<u32>> = blocks.iter().map(|block| block.end.successors()).collect();
        let mut order = Order { successors: &successors, sequence: Vec::new(), loops: Vec::new() };
        let all: Vec<u32> = (0..blocks.len() as u32).collect();
        order.arrange(&all, &[0], 0);
        let Order { sequence, loops, .. } = order;
        let mut places = vec![0; blocks.len()];
        for (place, &block) in sequence.iter().enumerate() {
            places[block as usize] = place as u32;
        }
        let mut blocks: Vec<Option<FlowBlock>> = blocks.into_iter().map(Some).collect();
        let arranged = sequence.iter().filter_map(|&block| {
            let mut block = blocks[block as usize].take()?;
            block.end.rename(|block| places[block as usize]);
            Some(block)
        });
        Some(Self { blocks: arranged.collect(), loops })
    }
}

/// The most ways between blocks.
const MAX_EDGES: usize = 1 << 20;

/// Cuts the code where something jumps from or to. An instruction that is no plain computation and has a guard becomes
/// a block that is jumped over.
fn cut(body: &Body) -> Vec<FlowBlock> {
    let code = &body.code;
    let mut starts = vec![false; code.len() + 1];
    starts[0] = true;
    for (at, instruction) in code.iter().enumerate() {
        match &instruction.action {
            Action::Branch { to } => starts[*to as usize] = true,
            Action::BranchIndexed { to, .. } => to.iter().for_each(|to| starts[*to as usize] = true),
            Action::Call(_) | Action::Return | Action::Exit | Action::Trap => {}
            action => {
                if instruction.guard.is_some() && !may_have_guard(action) {
                    starts[at + 1] = true;
                }
                starts[at] |= is_met(action) || is_jumped_over(instruction);
                continue;
            }
        }
        starts[at + 1] = true;
        if is_jumped_over(instruction) {
            starts[at] = true;
        }
    }
    starts[code.len()] = true;
    // Every start has a number; one that is jumped over has two: the branch, then the instruction itself.
    let mut numbers = vec![0; code.len() + 1];
    let mut count = 0;
    for at in 0..=code.len() {
        if starts[at] {
            numbers[at] = count;
            count += if at < code.len() && is_jumped_over(&code[at]) { 2 } else { 1 };
        }
    }
    let mut blocks = Vec::with_capacity(count as usize);
    let mut at = 0;
    while at < code.len() {
        if let (true, Some(guard)) = (is_jumped_over(&code[at]), code[at].guard) {
            let (to, other) = (numbers[at] + 1, numbers[at + 1]);
            let end = FlowEnd::Branch { guard, to, other };
            blocks.push(FlowBlock { code: Vec::new(), end, line: code[at].line });
        }
        let first = at;
        while at + 1 < code.len() && !starts[at + 1] {
            at += 1;
        }
        let (last, next) = (&code[at], numbers[at + 1]);
        let (end, has_end) = match &last.action {
            Action::Branch { to } => match last.guard {
                Some(guard) => (FlowEnd::Branch { guard, to: numbers[*to as usize], other: next }, true),
                None => (FlowEnd::Jump(numbers[*to as usize]), true),
            },
            Action::BranchIndexed { index, to } => {
                let to = to.iter().map(|to| numbers[*to as usize]).collect();
                (FlowEnd::Index { index: *index, to }, true)
            }
            Action::Call(call) => (FlowEnd::Call { call: call.clone(), next }, true),
            Action::Return => (FlowEnd::Return, true),
            Action::Exit => (FlowEnd::Exit, true),
            Action::Trap => (FlowEnd::Trap, true),
            _ => (FlowEnd::Jump(next), false),
        };
        let plain = code[first..at + usize::from(!has_end)].iter().map(|instruction| {
            let guard = instruction.guard.filter(|_| may_have_guard(&instruction.action));
            Instruction { guard, ..instruction.clone() }
        });
        blocks.push(FlowBlock { code: plain.collect(), end, line: last.line });
        at += 1;
    }
    // Where the text just ends, so does the function.
    let line = code.last().map_or(0, |last| last.line);
    blocks.push(FlowBlock { code: Vec::new(), end: FlowEnd::Return, line });
    blocks
}

/// Whether lanes wait for each other at it: it begins a block, since that is where lane groups join.
fn is_met(action: &Action) -> bool {
    matches!(
        action,
        Action::Barrier { .. } | Action::WarpBarrier { .. } | Action::Shuffle { .. } | Action::Vote { .. }
    )
}

/// Whether an instruction can be done for some lanes only, without a branch around it.
fn may_have_guard(action: &Action) -> bool {
    matches!(
        action,
        Action::Alu { .. }
            | Action::AddressOf { .. }
            | Action::Convert { .. }
            | Action::Load { .. }
            | Action::Store { .. }
            | Action::Atomic { .. }
            | Action::Fence
    )
}

fn is_jumped_over(instruction: &Instruction) -> bool {
    let has_own = matches!(instruction.action, Action::Branch { .. });
    instruction.guard.is_some() && !has_own && !may_have_guard(&instruction.action)
}

/// Loops that stand in each other deeper than this are not looked into.
const MAX_DEPTH: u32 = 64;

struct Order<'g> {
    successors: &'g [Vec<u32>],
    sequence: Vec<u32>,
    loops: Vec<std::ops::Range<u32>>,
}

impl Order<'_> {
    /// Appends the members that can be reached from the roots, through members only.
    fn arrange(&mut self, members: &[u32], roots: &[u32], depth: u32) {
        let components = components(self.successors, members, roots);
        for component in components.into_iter().rev() {
            let (head, start) = (component[0], self.sequence.len() as u32);
            self.sequence.push(head);
            let inner = &component[1..];
            if inner.is_empty() && !self.successors[head as usize].contains(&head) {
                continue;
            }
            let place = self.loops.len();
            self.loops.push(start..start);
            if depth < MAX_DEPTH {
                let roots: Vec<u32> = self.successors[head as usize].iter().chain(inner).copied().collect();
                self.arrange(inner, &roots, depth + 1);
            } else {
                self.sequence.extend(inner);
            }
            self.loops[place].end = self.sequence.len() as u32;
        }
    }
}

/// The strongly connected components among the members, last ones first, each with the block first that is entered
/// first (Tarjan 1972, without recursion).
fn components(successors: &[Vec<u32>], members: &[u32], roots: &[u32]) -> Vec<Vec<u32>> {
    const UNSEEN: u32 = u32::MAX;
    // Places of members; blocks that are none have no entry.
    let places: std::collections::HashMap<u32, usize> =
        members.iter().enumerate().map(|(place, &block)| (block, place)).collect();
    let (mut index, mut low) = (vec![UNSEEN; members.len()], vec![0; members.len()]);
    let mut on_stack = vec![false; members.len()];
    let (mut stack, mut found, mut next) = (Vec::new(), Vec::new(), 0);
    for root in roots {
        let Some(&root) = places.get(root) else { continue };
        if index[root] != UNSEEN {
            continue;
        }
        let mut path: Vec<(usize, usize)> = vec![(root, 0)];
        while let Some((at, edge)) = path.last_mut() {
            let (at, first) = (*at, *edge == 0);
            if first && index[at] == UNSEEN {
                (index[at], low[at]) = (next, next);
                next += 1;
                stack.push(at);
                on_stack[at] = true;
            }
            if let Some(to) = successors[members[at] as usize].get(*edge) {
                *edge += 1;
                if let Some(&to) = places.get(to) {
                    if index[to] == UNSEEN {
                        path.push((to, 0));
                    } else if on_stack[to] {
                        low[at] = low[at].min(index[to]);
                    }
                }
                continue;
            }
            path.pop();
            if let Some((above, _)) = path.last() {
                low[*above] = low[*above].min(low[at]);
            }
            if low[at] == index[at] {
                let first = stack.iter().rposition(|&block| block == at).unwrap_or(0);
                let component = stack.split_off(first);
                component.iter().for_each(|&block| on_stack[block] = false);
                found.push(component.into_iter().map(|place| members[place]).collect());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx::Module;

    fn flow(body: &str) -> Flow {
        let text = format!(
            ".version 7.8\n.target sm_75\n.entry k() {{ .reg .pred %p<9>; .reg .b32 %r<9>;\n{body}\n}}"
        );
        Flow::new(&Module::parse(&text).unwrap().functions[0].body).unwrap()
    }

    fn lines(flow: &Flow) -> Vec<u32> {
        flow.blocks.iter().map(|block| block.line - 3).collect()
    }

    #[test]
    fn a_join_comes_after_both_sides() {
        let flow = flow("@%p1 bra A;\nmov.u32 %r1, 1;\nbra B;\nA: mov.u32 %r1, 2;\nB: ret;");
        assert_eq!(*lines(&flow).last().unwrap(), 5);
        assert_eq!(flow.blocks.len(), 4);
        assert!(flow.loops.is_empty());
    }

    #[test]
    fn a_loop_stands_together_though_its_latch_is_written_first() {
        let flow = flow("bra H;\nL: @%p1 bra X;\nH: @%p2 bra L;\nX: ret;");
        // H is the head, L the body; both before X.
        assert_eq!(lines(&flow), [1, 3, 2, 4]);
        assert_eq!(flow.loops, vec![1..3; 1]);
    }

    #[test]
    fn the_exit_of_a_loop_comes_after_all_of_it() {
        // Two ways through the body, of which only one can leave.
        let flow = flow("H: @%p1 bra X;\nY: @%p2 bra E;\nbra H;\nX: bra H;\nE: ret;");
        assert_eq!(*lines(&flow).last().unwrap(), 5);
        assert_eq!(flow.loops, vec![0..4; 1]);
    }

    #[test]
    fn loops_within_loops_are_found() {
        let flow = flow("A: mov.u32 %r1, 1;\nB: @%p1 bra B;\n@%p2 bra A;\nret;");
        assert_eq!(flow.loops, [0..3, 1..2]);
    }

    #[test]
    fn what_cannot_be_reached_is_left_out() {
        let flow = flow("ret;\nmov.u32 %r1, 1;\nL: bra L;");
        assert_eq!(flow.blocks.len(), 1);
    }

    #[test]
    fn a_guarded_trap_is_jumped_over() {
        let flow = flow("@!%p1 trap;\n@%p2 mov.u32 %r1, 1;\nret;");
        assert_eq!(flow.blocks.len(), 3);
        assert!(matches!(flow.blocks[0].end, FlowEnd::Branch { guard: Guard { negated: true, .. }, .. }));
        assert!(flow.blocks.iter().any(|block| matches!(block.end, FlowEnd::Trap)));
        assert!(flow.blocks.iter().any(|block| block.code.iter().any(|i| i.guard.is_some())));
    }
}
