//! The driver's functions over a virtual card: the same names, the same codes, the same rules.
//!
//! [`install`] makes a card, [`resolve`] gives the functions, and whoever holds a table of driver functions is filled with
//! them. There is one driver in a process, as there is one `libcuda`; the `entry` functions hold it under one lock and hand
//! each call to a method of [`Driver`], which is safe and is what the tests use.
//!
//! Time is virtual. A call takes what the card's [`HostCosts`](crate::card::HostCosts) say; between its calls the host
//! does nothing that takes time; a call that waits returns at the virtual time at which the work was done. The card is
//! always as far as the host: what it reads of the host's page-locked memory it reads when its clock gets there.
//!
//! What it does not have answers `NOT_SUPPORTED`, and [`take_unsupported`] says which function that was. An error of a kernel
//! is sticky, as on a real card: every call that needs a context answers it until the last context is destroyed, and
//! [`last_fault`] has the details that a code cannot carry.

mod capture;
mod context;
mod copy;
mod device;
mod entry;
mod event;
mod graph;
mod handles;
mod launch;
mod memory;
mod module;
mod occupancy;
mod stream;
mod text;
mod unsupported;

#[cfg(test)]
mod tests;

pub use copy::{Completion, HostMemory};
pub use launch::LaunchShape;
pub use module::Refusal;
pub use unsupported::take_unsupported;

use crate::card::Card;
use crate::clock::{NS, OpId, Picos, Schedule, Stopped};
use crate::machine::Machine;
use crate::memory::Fault;
use capture::Captures;
use context::Contexts;
use cuda_driver::{CuResult, Symbol};
use event::Event;
use graph::{Executable, Graph};
use handles::{Names, Table};
use memory::Allocations;
use module::{Function, Module};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};
use stream::Stream;

/// What a call answers: a code other than success is an error.
pub type Answer<T> = Result<T, CuResult>;

/// How a card is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// When operations run, of all the times that their order allows.
    pub schedule: Schedule,
    /// Host threads that compute. The results and the times do not depend on it.
    pub threads: usize,
}

impl Default for Options {
    /// The card's own schedule, and as many threads as the host has processors.
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Options { schedule: Schedule::Card, threads }
    }
}

static DRIVER: Mutex<Option<Driver>> = Mutex::new(None);

/// Makes a card and its driver. One that was there before is gone, with everything that it held.
pub fn install(card: Card, options: Options) {
    *lock() = Some(Driver::new(card, options));
}

/// The driver's function of that name. It has one for every symbol, and each lives until the process ends.
pub fn resolve(symbol: Symbol) -> Option<NonNull<c_void>> {
    NonNull::new(entry::function(symbol).cast_mut())
}

/// The fault that made the context's error sticky: kernel, block, thread, address and allocation, on one line when shown.
pub fn last_fault() -> Option<Fault> {
    lock().as_ref().and_then(|driver| driver.fault.clone())
}

/// The virtual time on the host, nanoseconds since the card was made.
pub fn host_ns() -> Option<u64> {
    lock().as_ref().map(|driver| driver.now / NS)
}

fn lock() -> MutexGuard<'static, Option<Driver>> {
    DRIVER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A driver and its card.
pub struct Driver {
    machine: Machine,
    schedule: Schedule,
    /// The host's virtual time.
    now: Picos,
    initialized: bool,
    names: Names,
    contexts: Contexts,
    modules: Table<Module>,
    functions: Table<Function>,
    streams: Table<Stream>,
    events: Table<Event>,
    captures: Captures,
    graphs: Table<Graph>,
    executables: Table<Executable>,
    allocations: Allocations,
    /// The error that every call answers until the last context is gone.
    lost: Option<CuResult>,
    fault: Option<Fault>,
}

impl Driver {
    /// A driver on which nothing was called yet.
    pub fn new(card: Card, options: Options) -> Self {
        Driver {
            machine: Machine::new(card, options.schedule, options.threads),
            schedule: options.schedule,
            now: 0,
            initialized: false,
            names: Names::default(),
            contexts: Contexts::default(),
            modules: Table::default(),
            functions: Table::default(),
            streams: Table::default(),
            events: Table::default(),
            captures: Captures::default(),
            graphs: Table::default(),
            executables: Table::default(),
            allocations: Allocations::default(),
            lost: None,
            fault: None,
        }
    }

    /// Its card.
    pub fn card(&self) -> &Card {
        self.machine.card()
    }

    /// `cuInit`.
    ///
    /// # Errors
    ///
    /// `INVALID_VALUE` for flags other than 0.
    pub fn init(&mut self, flags: u32) -> Answer<()> {
        match flags {
            0 => self.initialized = true,
            _ => return Err(CuResult::INVALID_VALUE),
        }
        Ok(())
    }

    fn need_init(&self) -> Answer<()> {
        if self.initialized { Ok(()) } else { Err(CuResult::NOT_INITIALIZED) }
    }

    /// Lets a call's time pass on the host, and the card catch up.
    fn spend(&mut self, ns: u64) -> Answer<()> {
        self.now += ns * NS;
        let caught_up = self.machine.advance(self.now);
        self.check(caught_up)
    }

    /// Lets the host wait for an operation.
    fn wait_for(&mut self, op: OpId) -> Answer<()> {
        let done = self.machine.finish(self.now, op);
        let done = self.check(done)?;
        self.wake_at(done)
    }

    /// Lets the host wait for everything that was submitted.
    fn wait_for_all(&mut self) -> Answer<()> {
        let done = self.machine.finish_all(self.now);
        let done = self.check(done)?;
        self.wake_at(done)
    }

    fn wake_at(&mut self, done: Picos) -> Answer<()> {
        self.now = self.now.max(done);
        let wake_ns = self.card().host.wake_ns;
        self.spend(wake_ns)
    }

    /// When something that is submitted now reaches the card.
    fn arrival(&self) -> Picos {
        self.now + self.card().front.submission_ns * NS
    }

    /// Keeps a fault, and turns it into its code.
    fn check<T>(&mut self, outcome: Result<T, Stopped>) -> Answer<T> {
        outcome.map_err(|stopped| {
            let code = match stopped {
                Stopped::Fault(fault) => {
                    let code = CuResult::from_code(fault.code());
                    self.fault = Some(*fault);
                    code
                }
                Stopped::Standstill => CuResult::UNKNOWN,
            };
            self.lost = Some(code);
            code
        })
    }
}
