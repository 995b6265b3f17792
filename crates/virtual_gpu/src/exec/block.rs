//! One block that runs: its registers and memories, and the clock's view of it.

use std::sync::Arc;

use super::group::{Frame, Group, MAX_WARPS, Mask, State, first_lane};
use super::lanes::{Chunk, Registers};
use super::launch::{Launch, Seat};
use super::step::Code;
use crate::memory::{Fault, FaultKind, Memory};
use crate::segment::{BlockProgram, Next, Now, Segment, Touch};

/// Instructions after which a block lets others be looked at.
const SLICE: u64 = 1 << 20;

/// Turns of a loop that a group may take while another waits. A loop that does atomic or ordered accesses may wait for
/// that other one, and uses them up faster.
pub(super) const PATIENCE: u32 = 4096;

/// A block that runs. Made by [`Launch::start`].
pub struct BlockRun {
    pub(super) launch: Arc<Launch>,
    pub(super) index: [u32; 3],
    pub(super) seat: Seat,
    pub(super) registers: Registers,
    /// Each thread's local memory, one after the other.
    pub(super) local: Vec<u8>,
    /// Bytes of one thread's; it is taken when it is first touched.
    pub(super) local_stride: u64,
    /// Bytes that a thread may touch: as deep as any has called.
    local_reach: u64,
    pub(super) shared: Vec<u8>,
    pub(super) groups: Vec<Group>,
    /// The group that runs.
    pub(super) current: usize,
    /// Threads that have not ended.
    pub(super) alive: Mask,
    pub(super) serials: u32,
    /// A group that goes first for a while although others are behind it, by its serial.
    pub(super) favoured: Option<u32>,
    pub(super) patience: u32,
    /// Threads that arrived at each barrier without waiting.
    pub(super) arrived: [u32; 16],
    budget: u64,
    spent: Spent,
    pub(super) touches: Vec<Touch>,
    /// Where the last access to device memory went.
    pub(super) hint: usize,
    /// The thread and the line of a call of a panic function: it ends the launch as soon as memory can be looked at.
    pub(super) panicking: Option<(usize, u32)>,
    /// A copy of the parameters, for those who read them through a pointer.
    pub(super) touched_parameters: Vec<u8>,
}

#[derive(Default)]
struct Spent {
    instructions: u64,
    steps: u64,
    issue: u64,
    cycles: u64,
}

/// Why a group stopped.
pub(super) enum Stop {
    /// The clock is needed.
    Next(Next),
    /// The group's way ends or changes: another may be next.
    Turn,
}

impl Launch {
    /// Starts a block of the launch.
    pub fn start(self: &Arc<Self>, index: [u32; 3], seat: Seat) -> BlockRun {
        BlockRun::new(Arc::clone(self), index, seat)
    }
}

impl BlockRun {
    fn new(launch: Arc<Launch>, index: [u32; 3], seat: Seat) -> Self {
        let mut alive = [0; MAX_WARPS];
        alive[..launch.threads.len()].copy_from_slice(&launch.threads);
        let program = &launch.program;
        let frame =
            Frame { code: program.entry, rows: program.temporaries, scalars: 0, local: 0, from: 0, back: 0 };
        let mut group = Group {
            serial: 0,
            mask: alive,
            wide: alive,
            warps: 0,
            frames: vec![frame],
            scalars: Vec::new(),
            block: 0,
            step: 0,
            pending: Vec::new(),
            state: State::Ready,
        };
        group.set_mask(alive);
        let mut run = Self {
            index,
            seat,
            registers: Registers::default(),
            local: Vec::new(),
            local_stride: 0,
            local_reach: 0,
            shared: vec![0; launch.shared_bytes as usize],
            groups: vec![group],
            current: 0,
            alive,
            serials: 1,
            favoured: None,
            patience: PATIENCE,
            arrived: [0; 16],
            budget: launch.budget,
            spent: Spent::default(),
            touches: Vec::new(),
            hint: 0,
            panicking: None,
            touched_parameters: Vec::new(),
            launch,
        };
        run.enter(frame);
        run
    }

    /// The block's index in the grid.
    pub fn index(&self) -> [u32; 3] {
        self.index
    }

    /// The launch it belongs to.
    pub fn launch(&self) -> &Arc<Launch> {
        &self.launch
    }

    pub(super) fn warps(&self) -> usize {
        self.launch.threads.len()
    }

    /// Makes room for a frame of the current group; false when there is none.
    pub(super) fn enter(&mut self, frame: Frame) -> bool {
        let launch = Arc::clone(&self.launch);
        let Some(code) = launch.program.code(frame.code) else { return false };
        let warps = self.warps();
        let need: [usize; 3] = std::array::from_fn(|k| (frame.rows[k] + code.rows[k]) as usize * warps);
        let local = frame.local + code.local_reach;
        let threads = warps as u64 * 32;
        let bytes = 4 * 32 * (need[0] + 2 * need[1]) as u64 + local * threads;
        if local > MAX_STACK || bytes > MAX_BLOCK_BYTES {
            return false;
        }
        let registers = &mut self.registers;
        if registers.words.len() < need[0] {
            registers.words.resize(need[0], Chunk([0; 32]));
        }
        if registers.doubles.len() < need[1] {
            registers.doubles.resize(need[1], Chunk([0; 32]));
        }
        if registers.predicates.len() < need[2] {
            registers.predicates.resize(need[2], 0);
        }
        self.local_reach = self.local_reach.max(local);
        let group = &mut self.groups[self.current];
        group.scalars.resize(frame.scalars + code.scalars as usize, 0);
        true
    }

    /// Gives each thread all the local memory that it may touch; what it has stays.
    pub(super) fn take_local(&mut self) {
        if self.local_stride >= self.local_reach {
            return;
        }
        let (old, new) = (self.local_stride as usize, self.local_reach.next_power_of_two());
        let mut local = vec![0; new as usize * self.warps() * 32];
        if old > 0 {
            for (new, old) in local.chunks_mut(new as usize).zip(self.local.chunks(old)) {
                new[..old.len()].copy_from_slice(old);
            }
        }
        (self.local, self.local_stride) = (local, new);
    }

    /// Counts a block of code that is entered: an empty one that jumps to itself must end too.
    pub(super) fn count_turn(&mut self) {
        self.spent.steps += 1;
    }

    /// A fault of the current group, or of some of its lanes.
    pub(super) fn fault(&self, kind: FaultKind, lane: usize, line: u32) -> Box<Fault> {
        let index = |axis: usize| self.launch.indices[axis][lane / 32].0[lane % 32];
        Box::new(Fault {
            kind,
            kernel: self.launch.program.name().to_owned(),
            block: self.index,
            thread: [index(0), index(1), index(2)],
            line,
        })
    }

    /// Notes what steps of the current group cost.
    pub(super) fn spend(&mut self, code: &Code, block: u32, from: u32, to: u32) {
        let tallies = &code.blocks[block as usize].tallies;
        let (a, b) = (tallies[from as usize], tallies[to as usize]);
        let warps = u64::from(self.groups[self.current].warps);
        self.spent.steps += u64::from(b.instructions - a.instructions);
        self.spent.instructions += u64::from(b.instructions - a.instructions) * warps;
        self.spent.issue += u64::from(b.issue - a.issue) * warps;
        self.spent.cycles += u64::from(b.cycles - a.cycles);
    }

    fn segment(&mut self, next: Next) -> Segment {
        let spent = std::mem::take(&mut self.spent);
        Segment {
            warp_instructions: spent.instructions,
            issue_cycles: spent.issue,
            dependent_cycles: spent.cycles,
            next,
        }
    }

    /// Takes what was executed off the budget; a fault when it is used up.
    fn settle(&mut self, before: u64) -> Result<(), Box<Fault>> {
        let steps = self.spent.steps - before;
        match self.budget.checked_sub(steps) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => {
                let group = &self.groups[self.current.min(self.groups.len() - 1)];
                let code = self.launch.program.code(group.frame().code);
                let line = code.map_or(0, |code| code.blocks[group.block as usize].line);
                let kind = FaultKind::Budget { steps: self.launch.budget };
                Err(self.fault(kind, first_lane(&group.mask), line))
            }
        }
    }

    fn run(&mut self) -> Result<Next, Box<Fault>> {
        let launch = Arc::clone(&self.launch);
        loop {
            let before = self.spent.steps;
            if self.groups.len() != 1 || self.groups[0].state != State::Ready {
                if !self.choose()? {
                    return Ok(Next::Finished);
                }
            } else {
                self.current = 0;
            }
            let stop = self.advance(&launch.program)?;
            if !self.groups.is_empty() {
                self.settle(before)?;
            }
            if self.panicking.is_some() {
                return Ok(Next::Access);
            }
            match stop {
                Stop::Next(next) => return Ok(next),
                Stop::Turn if self.spent.steps > SLICE => return Ok(Next::Yield),
                Stop::Turn => {}
            }
        }
    }
}

impl BlockProgram for BlockRun {
    fn compute(&mut self) -> Segment {
        let next = self.run().unwrap_or_else(Next::Fault);
        self.segment(next)
    }

    fn access(&mut self, memory: &mut Memory, now: Now) -> Result<&[Touch], Box<Fault>> {
        self.touches.clear();
        self.access_group(memory, now)?;
        Ok(&self.touches)
    }
}

/// The most local memory that a thread may have, calls included.
const MAX_STACK: u64 = 512 << 10;

/// The most memory of the host that a block's registers and local memory may take.
const MAX_BLOCK_BYTES: u64 = 256 << 20;
