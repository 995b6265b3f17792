//! Joins the clock with what it runs: the clock says which block is next, `exec` runs it.

use crate::card::Card;
use crate::clock::{Clock, Footprint, Launch, OpId, Picos, Schedule, Stopped, StreamId, StreamKind, Work};
use crate::exec;
use crate::memory::{Memory, MemoryError};
use crate::segment::{BlockProgram, CostTable};
use std::sync::Arc;

/// A card at work: its clock and its memory.
pub struct Machine {
    card: Card,
    costs: CostTable,
    clock: Clock,
    memory: Memory,
    launches: u64,
}

/// A module on the card: its variables have memory, and its kernels are decoded for the card.
pub struct Program {
    image: exec::Image,
    kernels: Vec<Kernel>,
}

/// A kernel of a module on the card.
#[derive(Clone)]
pub struct Kernel {
    program: Arc<exec::Program>,
    target: u32,
}

/// Why a module cannot be brought to the card.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Its variables find no room.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A kernel cannot be run.
    #[error(transparent)]
    Kernel(#[from] ptx::Error),
}

/// A kernel's launch.
#[derive(Clone)]
pub struct KernelLaunch {
    /// Blocks along each axis.
    pub grid: [u32; 3],
    /// Threads of a block along each axis.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, bytes.
    pub shared_bytes: u32,
    /// The arguments, laid out as [`Kernel::parameters`] says.
    pub arguments: Vec<u8>,
    /// Lower goes first.
    pub priority: i32,
    /// Whether it may start when the kernel before it in its stream lets it.
    pub early: bool,
}

impl Machine {
    /// An idle card with empty memory.
    pub fn new(card: Card, schedule: Schedule, threads: usize) -> Self {
        let memory = Memory::new(card.memory.bytes - card.memory.reserved_bytes);
        let clock = Clock::new(card.clone(), schedule, threads);
        Machine { costs: card.costs(), clock, memory, card, launches: 0 }
    }

    /// What card it is.
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// Its memory, as of the time that the clock has come to.
    pub fn memory(&mut self) -> &mut Memory {
        &mut self.memory
    }

    /// Gives a module's variables memory, and decodes its kernels.
    ///
    /// # Errors
    ///
    /// There is not enough memory, or a kernel cannot be run; nothing is left behind then.
    pub fn load(&mut self, module: ptx::Module) -> Result<Program, LoadError> {
        let target = module.target;
        let image = exec::Image::load(module, &mut self.memory)?;
        let entries = image.module().functions.iter().filter(|function| function.entry);
        let decoded = entries.filter_map(|entry| image.kernel(&entry.name)).map(|kernel| {
            let program = Arc::new(exec::Program::new(&image, kernel, &self.costs)?);
            Ok(Kernel { program, target })
        });
        match decoded.collect::<Result<Vec<_>, ptx::Error>>() {
            Ok(kernels) => Ok(Program { image, kernels }),
            Err(error) => {
                image.unload(&mut self.memory);
                Err(error.into())
            }
        }
    }

    /// Gives the memory of a module's variables back. Nothing of it runs any more.
    pub fn unload(&mut self, program: &Program) {
        program.image.unload(&mut self.memory);
    }

    /// Puts a kernel's launch into a stream; it reaches the card at `arrival`, and waits for the operations in `after` beside
    /// those that its stream implies.
    ///
    /// # Errors
    ///
    /// Arguments that are not as long as the parameters, or a shape that no card has.
    pub fn launch(
        &mut self,
        stream: StreamId,
        arrival: Picos,
        after: &[OpId],
        kernel: &Kernel,
        launch: KernelLaunch,
    ) -> Result<OpId, exec::LaunchError> {
        let KernelLaunch { grid, block, shared_bytes, arguments, priority, early } = launch;
        let footprint = Footprint {
            threads: block.iter().product(),
            registers_per_thread: kernel.registers(),
            shared_bytes: kernel.shared_bytes() + shared_bytes,
        };
        let launch = exec::Launch::new(kernel.program.clone(), grid, block, arguments, shared_bytes)?;
        let launch = Arc::new(launch);
        let (sm_count, grid_id) = (self.card.sms, self.launches);
        self.launches += 1;
        let make = move |index: u64, sm: u32| -> Box<dyn BlockProgram> {
            let [x, y, _] = grid.map(u64::from);
            let place = [index % x, index / x % y, index / x / y].map(|along| along as u32);
            Box::new(launch.start(place, exec::Seat { sm, sm_count, grid_id }))
        };
        let blocks = grid.iter().map(|&along| u64::from(along)).product();
        let work = Launch { blocks, footprint, priority, early, make: Box::new(make) };
        Ok(self.clock.submit(stream, arrival, after, Work::Kernel(work)))
    }

    /// See [`Clock::submit`].
    pub fn submit(&mut self, stream: StreamId, arrival: Picos, after: &[OpId], work: Work) -> OpId {
        self.clock.submit(stream, arrival, after, work)
    }

    /// See [`Clock::add_stream`].
    pub fn add_stream(&mut self, context: u32, kind: StreamKind) -> StreamId {
        self.clock.add_stream(context, kind)
    }

    /// See [`Clock::remove_stream`].
    pub fn remove_stream(&mut self, stream: StreamId) {
        self.clock.remove_stream(stream);
    }

    /// See [`Clock::last`].
    pub fn last(&self, stream: StreamId) -> Option<OpId> {
        self.clock.last(stream)
    }

    /// See [`Clock::is_complete`].
    pub fn is_complete(&self, op: OpId) -> bool {
        self.clock.is_complete(op)
    }

    /// See [`Clock::complete_at`].
    pub fn complete_at(&self, op: OpId) -> Option<Picos> {
        self.clock.complete_at(op)
    }

    /// See [`Clock::advance`].
    ///
    /// # Errors
    ///
    /// A kernel's fault.
    pub fn advance(&mut self, until: Picos) -> Result<(), Stopped> {
        self.clock.advance(&mut self.memory, until)
    }

    /// See [`Clock::finish`].
    ///
    /// # Errors
    ///
    /// A kernel's fault, or a standstill.
    pub fn finish(&mut self, from: Picos, op: OpId) -> Result<Picos, Stopped> {
        self.clock.finish(&mut self.memory, from, op)
    }

    /// See [`Clock::finish_all`].
    ///
    /// # Errors
    ///
    /// A kernel's fault, or a standstill.
    pub fn finish_all(&mut self, from: Picos) -> Result<Picos, Stopped> {
        self.clock.finish_all(&mut self.memory, from)
    }
}

impl Program {
    /// The kernel of that name.
    pub fn kernel(&self, name: &str) -> Option<Kernel> {
        self.kernels.iter().find(|kernel| kernel.name() == name).cloned()
    }

    /// Address and bytes of the variable of that name.
    pub fn variable(&self, name: &str) -> Option<(u64, u64)> {
        self.image.variable(name)
    }
}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &str {
        self.program.name()
    }

    /// Where each parameter begins in the arguments, and its bytes.
    pub fn parameters(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.program.parameters().iter().map(|place| (place.offset, place.bytes))
    }

    /// Registers of 32 bits of a thread.
    pub fn registers(&self) -> u32 {
        self.program.registers()
    }

    /// Static shared memory of a block, bytes.
    pub fn shared_bytes(&self) -> u32 {
        u32::try_from(self.program.shared_bytes()).unwrap_or(u32::MAX)
    }

    /// Local memory of a thread, bytes.
    pub fn local_bytes(&self) -> u32 {
        u32::try_from(self.program.local_bytes()).unwrap_or(u32::MAX)
    }

    /// Threads that its text lets a block have.
    pub fn max_threads(&self) -> Option<u32> {
        self.program.max_threads()
    }

    /// The architecture that it was compiled for, as in `sm_90`.
    pub fn target(&self) -> u32 {
        self.target
    }
}
