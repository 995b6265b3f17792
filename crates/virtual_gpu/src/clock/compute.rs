//! Computing of blocks, on the calling thread or on several. Nobody's device memory is touched here, so that it does not
//! matter who computes when: a block's next stretches are asked for as early as possible and taken when the clock gets
//! there.

use crate::segment::{BlockProgram, Next, Segment};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Stretches that are computed ahead at most: those after a wait for data, a trigger or a wait for another kernel do not
/// depend on when that is over.
const AHEAD: usize = 4;

/// A block with the stretches that it has computed.
pub struct Computed {
    /// The block.
    pub program: Box<dyn BlockProgram>,
    /// The block goes on computing after the last of them.
    pub segments: VecDeque<Segment>,
}

impl Computed {
    /// A block that has computed nothing.
    pub fn new(program: Box<dyn BlockProgram>) -> Self {
        Computed { program, segments: VecDeque::with_capacity(AHEAD) }
    }

    /// Computes at least one stretch.
    fn ahead(mut self) -> Self {
        loop {
            let segment = self.program.compute();
            let goes_on = matches!(segment.next, Next::Await | Next::Trigger | Next::Wait);
            self.segments.push_back(segment);
            if !goes_on || self.segments.len() == AHEAD {
                return self;
            }
        }
    }
}

/// Where a block's computing ends up.
#[derive(Clone, Default)]
pub struct Job(Arc<Mutex<Option<thread::Result<Computed>>>>);

/// Who computes.
pub enum Workers {
    /// The thread that runs the clock.
    Caller,
    /// A pool, of which the clock takes one thread while it runs.
    Pool(rayon::ThreadPool),
}

impl Workers {
    /// So many threads; the calling one if there is to be one only, or if the system gives no more.
    pub fn new(threads: usize) -> Self {
        match threads {
            0 | 1 => Workers::Caller,
            _ => rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .thread_name(|number| format!("virtual-gpu-{number}"))
                .build()
                .map_or(Workers::Caller, Workers::Pool),
        }
    }

    /// Runs the clock.
    pub fn run<T: Send>(&self, clock: impl FnOnce() -> T + Send) -> T {
        match self {
            Workers::Caller => clock(),
            Workers::Pool(pool) => pool.install(clock),
        }
    }

    /// Starts computing a block's next stretches.
    pub fn start(&self, block: Computed, job: &Job) {
        match self {
            Workers::Caller => job.compute(block),
            Workers::Pool(pool) => {
                let job = job.clone();
                pool.spawn_fifo(move || job.compute(block));
            }
        }
    }
}

impl Job {
    fn compute(&self, block: Computed) {
        let computed = catch_unwind(AssertUnwindSafe(|| block.ahead()));
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(computed);
    }

    /// Takes what was computed; until it is there, computes what else there is to compute.
    pub fn take(&self) -> Computed {
        loop {
            let computed = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
            match computed {
                Some(Ok(computed)) => return computed,
                Some(Err(panic)) => resume_unwind(panic),
                None if rayon::yield_now() == Some(rayon::Yield::Executed) => {}
                None => thread::yield_now(),
            }
        }
    }
}
