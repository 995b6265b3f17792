//! The model, with blocks that were made up: what overlaps, what waits, what it takes.

mod h200;
mod kernels;
mod late;
mod order_of_kernels;
mod programmatic;
mod transfers;

use super::*;
use crate::card::H200;
use crate::segment::{BlockProgram, Next, Now, Segment, Touch, TouchKind};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// What a made-up block does, step by step.
#[derive(Clone, Debug)]
enum Step {
    /// Computes: issue cycles and dependent cycles.
    Compute(u64, u64),
    /// Loads so many bytes from there, and waits for them.
    Load(u64, u64),
    /// Loads, and does not wait.
    Prefetch(u64, u64),
    /// Waits for what was loaded.
    Await,
    /// Stores.
    Store(u64, u64),
    /// Lets the next kernel start.
    Trigger,
    /// Waits for the kernel before.
    Wait,
    /// Writes a word into the journal when its time comes.
    Say(&'static str),
    /// Fails.
    Fail,
}

/// What the blocks said, in the order of virtual time: when, and what.
type Journal = Arc<Mutex<Vec<(u64, String)>>>;

struct Script {
    name: String,
    steps: VecDeque<Step>,
    access: Option<Step>,
    touches: Vec<Touch>,
    journal: Journal,
}

fn segment(cost: (u64, u64), next: Next) -> Segment {
    Segment { warp_instructions: cost.0, issue_cycles: cost.0, dependent_cycles: cost.1, next }
}

impl BlockProgram for Script {
    fn compute(&mut self) -> Segment {
        let mut cost = (0, 0);
        loop {
            let next = match self.steps.pop_front() {
                None => Next::Finished,
                Some(Step::Compute(issue, dependent)) => {
                    cost = (cost.0 + issue, cost.1 + dependent);
                    continue;
                }
                Some(Step::Await) => Next::Await,
                Some(Step::Trigger) => Next::Trigger,
                Some(Step::Wait) => Next::Wait,
                Some(Step::Fail) => Next::Fault(Box::new(Fault {
                    kind: crate::memory::FaultKind::Trap,
                    kernel: self.name.clone(),
                    block: [0; 3],
                    thread: [0; 3],
                    line: 1,
                })),
                Some(Step::Load(start, bytes)) => {
                    self.steps.push_front(Step::Await);
                    self.access = Some(Step::Prefetch(start, bytes));
                    Next::Access
                }
                Some(access) => {
                    self.access = Some(access);
                    Next::Access
                }
            };
            return segment(cost, next);
        }
    }

    fn access(&mut self, _memory: &mut Memory, now: Now) -> Result<&[Touch], Box<Fault>> {
        let touch =
            |kind, start, bytes| Touch { kind, sectors: (bytes / 32) as u32, start, end: start + bytes };
        self.touches = match self.access.take() {
            Some(Step::Prefetch(start, bytes)) => vec![touch(TouchKind::Load, start, bytes)],
            Some(Step::Store(start, bytes)) => vec![touch(TouchKind::Store, start, bytes)],
            Some(Step::Say(word)) => {
                let entry = (now.ns, format!("{} {word}", self.name));
                self.journal.lock().unwrap().push(entry);
                vec![touch(TouchKind::None, 0, 0)]
            }
            other => panic!("the clock asked for an access at {other:?}"),
        };
        Ok(&self.touches)
    }
}

struct Rig {
    clock: Clock,
    memory: Memory,
    legacy: StreamId,
    journal: Journal,
}

impl Rig {
    fn new(schedule: Schedule) -> Self {
        Rig::with_threads(schedule, 1)
    }

    fn with_threads(schedule: Schedule, threads: usize) -> Self {
        // A card whose front end costs nothing, so that times are those of the work.
        let mut card = H200;
        card.front = crate::card::FrontEnd {
            submission_ns: 0,
            kernel_start_ns: 0,
            kernel_end_ns: 0,
            block_interval_ps: 0,
            block_start_ns: 0,
            cross_stream_ns: 0,
            timestamp_ns: 0,
            global_timer_ns: 1,
        };
        Rig::on(card, schedule, threads)
    }

    fn on(card: Card, schedule: Schedule, threads: usize) -> Self {
        let mut clock = Clock::new(card, schedule, threads);
        let legacy = clock.add_stream(0, StreamKind::Legacy);
        Rig { clock, memory: Memory::new(1 << 30), legacy, journal: Journal::default() }
    }

    fn stream(&mut self) -> StreamId {
        self.clock.add_stream(0, StreamKind::NonBlocking)
    }

    fn launch(&mut self, name: &str, blocks: u64, steps: &[Step]) -> Launch {
        let (name, steps, journal) = (name.to_owned(), steps.to_vec(), self.journal.clone());
        Launch {
            blocks,
            footprint: Footprint { threads: 256, registers_per_thread: 16, shared_bytes: 0 },
            priority: 0,
            early: false,
            make: Box::new(move |index, _sm| {
                let name = if blocks == 1 { name.clone() } else { format!("{name}{index}") };
                let steps = steps.iter().cloned().map(|step| match step {
                    // Each block has its own part of a buffer.
                    Step::Load(start, bytes) => Step::Load(start + index * bytes, bytes),
                    Step::Prefetch(start, bytes) => Step::Prefetch(start + index * bytes, bytes),
                    Step::Store(start, bytes) => Step::Store(start + index * bytes, bytes),
                    step => step,
                });
                Box::new(Script {
                    name,
                    steps: steps.collect(),
                    access: None,
                    touches: Vec::new(),
                    journal: journal.clone(),
                })
            }),
        }
    }

    fn kernel(&mut self, stream: StreamId, name: &str, blocks: u64, steps: &[Step]) -> OpId {
        let launch = self.launch(name, blocks, steps);
        self.clock.submit(stream, 0, &[], Work::Kernel(launch))
    }

    fn finish(&mut self) -> Picos {
        self.clock.finish_all(&mut self.memory, 0).unwrap()
    }

    /// When an operation was complete, in cycles.
    #[track_caller]
    fn cycles(&self, op: OpId) -> u64 {
        (self.clock.complete_at(op).unwrap() * H200.sm.clock_mhz).div_ceil(1_000_000)
    }

    fn card_time(&self, cycles: u64) -> Picos {
        cycles * 1_000_000 / H200.sm.clock_mhz
    }

    fn said(&self) -> Vec<String> {
        self.journal.lock().unwrap().iter().map(|(_, word)| word.clone()).collect()
    }
}

/// Equal but for a hundredth, which is rounding.
#[track_caller]
fn near(got: u64, want: u64) {
    within(got, want, 1);
}

/// Equal but for so many hundredths.
#[track_caller]
fn within(got: u64, want: u64, percent: u64) {
    assert!(got.abs_diff(want) <= want * percent / 100 + 2, "{got} is not within {percent}% of {want}");
}
