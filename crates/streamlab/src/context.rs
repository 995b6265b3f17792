//! A context: one device opened for work, with the program's kernels loaded.
//!
//! It owns all memory, the recording and the trace; streams, events, buffers and graphs borrow it, so nothing outlives it. It
//! knows how memory is freed, and not what is in it. It prints nothing.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

use cuda_std::abi::{Image, Kernel};
use cuda_std::call::Location as DeviceLocation;
use stream_order::program::{Action, BufferId, EventId, Memory, StreamId, StreamKind, Text, ThreadId};

use crate::clock::HostClock;
use crate::device::{self, Chosen, Device, DeviceProperties, Loading, Options, PriorityRange};
use crate::error::{Doing, Error, LastError, failure};
use crate::floor::{self, Failed, Owned, RawContext, is_sticky};
use crate::in_flight;
use crate::log::Log;
use crate::module::Module;
use crate::record::{Captured, Names, Recording, operation};
use crate::tracer::{Reading, Tracer};

/// Bits of an identity that count within a context; the others are the context's number.
const OWN_BITS: u32 = 40;

/// The number of the next context of this process. A number is never used again.
static NEXT: AtomicU64 = AtomicU64::new(1);

thread_local! {
    /// The context that this thread's driver calls are for.
    static CURRENT: Cell<Option<(u64, RawContext)>> = const { Cell::new(None) };
}

/// When errors of kernels are looked for. A launch that the device refuses is an error of the call in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaunchBlocking {
    /// Where the program waits: nothing is slowed down, and an error comes out of whichever call waits first.
    #[default]
    Off,
    /// After each launch, by waiting for its stream (as `CUDA_LAUNCH_BLOCKING` does): an error comes out of the launch that
    /// caused it, and nothing that one thread submits overlaps.
    On,
}

impl LaunchBlocking {
    /// Returns what suits a program that is not about overlap: on in a debug build, off in a release build.
    pub fn of_this_build() -> LaunchBlocking {
        if cfg!(debug_assertions) { LaunchBlocking::On } else { LaunchBlocking::Off }
    }
}

/// What the steps of opening a context took on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct StartupTimes {
    /// Starting the driver and asking for the device (`cuInit` and queries).
    pub driver_ns: u64,
    /// Making the context (`cuDevicePrimaryCtxRetain`).
    pub context_ns: u64,
    /// Loading the module (`cuModuleLoadDataEx`).
    pub module_ns: u64,
}

/// Memory that the context owns. Buffers and graphs are claims on it.
#[derive(Debug)]
struct Allocation {
    owned: Owned,
    what: String,
    made_at: &'static Location<'static>,
    claims: usize,
}

/// A context on one device. Streams, events, buffers and graphs borrow it.
///
/// Contexts of one process are all on GPUs, or all on one virtual device; [`Error::DriverInUse`] refuses a mixture. What one
/// made is refused by the others ([`Error::OtherContext`]). A context stays on the thread that opened it.
#[derive(Debug)]
pub struct Context {
    number: u64,
    next: Cell<u64>,
    next_thread: Cell<u64>,
    chosen: Chosen,
    device: DeviceProperties,
    startup: StartupTimes,
    module: Module,
    launch_blocking: Cell<LaunchBlocking>,
    names: RefCell<Names>,
    recording: RefCell<Option<Recording>>,
    tracer: RefCell<Option<Tracer>>,
    memory: RefCell<HashMap<u64, Allocation>>,
    /// The captures under way.
    captures: RefCell<Vec<Captured>>,
    parked: RefCell<Vec<Error>>,
    raw: RawContext,
    is_closed: bool,
}

impl Context {
    /// Opens a device (`cuInit`, `cuDevicePrimaryCtxRetain`), loads the newest of `images` that its compute capability and its
    /// driver take, and brings the kernels to the device.
    ///
    /// `images` is what `cuda_builder` wrote for the program's kernel crate. A [`Device`] alone will do for `options`.
    ///
    /// # Errors
    ///
    /// [`Error::NoDriver`], [`Error::NoDevice`], [`Error::NoSuchDevice`], [`Error::DriverInUse`], [`Error::DeviceTooOld`],
    /// [`Error::PtxTooNew`], and any error of the driver.
    #[track_caller]
    pub fn open(options: impl Into<Options>, images: &'static [Image]) -> Result<Context, Error> {
        let options = options.into();
        let chosen = Chosen::new(&options)?;
        let opened = Context::open_chosen(&chosen, options.loading, images);
        let (raw, device, module, startup) = opened.inspect_err(|_| chosen.release())?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        CURRENT.set(Some((number, raw)));
        Ok(Context {
            number,
            next: Cell::new(0),
            next_thread: Cell::new(0),
            chosen,
            device,
            startup,
            module,
            launch_blocking: Cell::default(),
            names: RefCell::default(),
            recording: RefCell::default(),
            tracer: RefCell::default(),
            memory: RefCell::default(),
            captures: RefCell::default(),
            parked: RefCell::default(),
            raw,
            is_closed: false,
        })
    }

    #[track_caller]
    fn open_chosen(
        chosen: &Chosen,
        loading: Loading,
        images: &'static [Image],
    ) -> Result<(RawContext, DeviceProperties, Module, StartupTimes), Error> {
        let mut clock = HostClock::start();
        device::start()?;
        let count = device::count()?;
        if count == 0 {
            return Err(Error::NoDevice);
        }
        if chosen.ordinal >= count {
            return Err(Error::NoSuchDevice { asked: chosen.ordinal, count });
        }
        let device = DeviceProperties::of(chosen.ordinal)?;
        let images = Module::images_for(&device, images)?;
        let driver_ns = clock.lap_ns();
        let raw = floor::context_open(chosen.ordinal.cast_signed())
            .doing(|| format!("make a context on {}", device.name))?;
        let context_ns = clock.lap_ns();
        let loaded = Module::load(&device, &images).and_then(|mut module| {
            let module_ns = clock.lap_ns();
            match loading {
                Loading::Eager => module.load_kernels().inspect_err(|_| _ = module.unload())?,
                Loading::DriverDefault => {}
            }
            Ok((module, module_ns))
        });
        let (module, module_ns) = loaded.inspect_err(|_| _ = floor::primary_context_release(raw))?;
        Ok((raw, device, module, StartupTimes { driver_ns, context_ns, module_ns }))
    }

    /// Returns the device's properties.
    pub fn device(&self) -> &DeviceProperties {
        &self.device
    }

    /// Returns which device was opened, where the choice was open.
    pub fn opened(&self) -> Device {
        self.chosen.device
    }

    /// Returns why a virtual device took the place of a GPU; `None` where that was asked for.
    pub fn fallback(&self) -> Option<&str> {
        self.chosen.fallback.as_deref()
    }

    /// Whether the device's times are virtual.
    pub fn is_virtual(&self) -> bool {
        self.chosen.is_virtual
    }

    /// Whether the device overlaps what nothing orders. A virtual device with [`Schedule::Late`](crate::Schedule::Late) does
    /// not, and its times say nothing about overlap.
    pub fn overlaps(&self) -> bool {
        self.chosen.overlaps
    }

    /// Returns what opening took on the host.
    pub fn startup(&self) -> StartupTimes {
        self.startup
    }

    /// Returns the loaded kernels.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Returns how many blocks of `threads` threads of the kernel are resident on the whole device at once
    /// (`cuOccupancyMaxActiveBlocksPerMultiprocessor`).
    ///
    /// # Errors
    ///
    /// Any error of the call.
    #[track_caller]
    pub fn resident_blocks(&self, kernel: &Kernel, threads: u32) -> Result<u32, Error> {
        self.resident(kernel.name, threads)
    }

    /// Returns how many blocks of `threads` threads of the kernel are resident on the whole device at once while a submission is
    /// traced. The instrumented entry may need more registers, and then fewer fit.
    ///
    /// # Errors
    ///
    /// Any error of the call.
    #[track_caller]
    pub fn traced_resident_blocks(&self, kernel: &Kernel, threads: u32) -> Result<u32, Error> {
        let is_traced = self.module.has(kernel.traced_name);
        self.resident(if is_traced { kernel.traced_name } else { kernel.name }, threads)
    }

    #[track_caller]
    fn resident(&self, entry: &'static str, threads: u32) -> Result<u32, Error> {
        self.bind()?;
        let function = self.module.function(entry)?;
        let blocks = floor::occupancy(function, threads.cast_signed())
            .doing(|| format!("ask how many blocks of `{entry}` a multiprocessor holds"))?;
        Ok(blocks.unsigned_abs() * self.device.sms)
    }

    /// Returns the device's stream priorities (`cuCtxGetStreamPriorityRange`); 0 for both ends where it has none.
    ///
    /// # Errors
    ///
    /// Any error of the call.
    #[track_caller]
    pub fn priorities(&self) -> Result<PriorityRange, Error> {
        self.bind()?;
        let (least, greatest) = floor::priority_range().doing(|| "ask for the range of priorities".into())?;
        Ok(PriorityRange { least, greatest })
    }

    /// Waits until everything that was submitted in this context is done (`cuCtxSynchronize`).
    ///
    /// # Errors
    ///
    /// An error of work submitted earlier comes out here.
    #[track_caller]
    pub fn synchronize(&self) -> Result<(), Error> {
        self.bind()?;
        floor::context_synchronize().doing(|| "wait for the device".into())?;
        in_flight::all_done();
        self.note(|| Action::SynchronizeDevice);
        Ok(())
    }

    /// Returns when errors of kernels are looked for; at first [`LaunchBlocking::Off`].
    pub fn launch_blocking(&self) -> LaunchBlocking {
        self.launch_blocking.get()
    }

    /// Sets when errors of kernels are looked for.
    pub fn set_launch_blocking(&self, launch_blocking: LaunchBlocking) {
        self.launch_blocking.set(launch_blocking);
    }

    /// Ends the context, and returns every failure of a release that happened meanwhile: a drop cannot report its own.
    pub fn finish(mut self) -> Vec<Error> {
        self.close();
        self.parked.take()
    }

    /// Makes the context current on this thread, where another one is.
    #[track_caller]
    pub(crate) fn bind(&self) -> Result<(), Error> {
        if CURRENT.get().is_some_and(|(number, _)| number == self.number) {
            return Ok(());
        }
        floor::context_set_current(self.raw).doing(|| "use the context".into())?;
        CURRENT.set(Some((self.number, self.raw)));
        Ok(())
    }

    /// Returns the number of the device.
    pub(crate) fn ordinal(&self) -> i32 {
        self.chosen.ordinal.cast_signed()
    }

    pub(crate) fn raw(&self) -> RawContext {
        self.raw
    }

    /// Returns a new identity. It carries the number of the context, and is never used again.
    fn identify(&self) -> u64 {
        let own = self.next.get();
        self.next.set(own + 1);
        (self.number << OWN_BITS) | own
    }

    pub(crate) fn identify_stream(&self, name: &str, kind: StreamKind) -> StreamId {
        let id = StreamId(self.identify());
        self.names.borrow_mut().stream(id, name, kind);
        id
    }

    pub(crate) fn identify_event(&self, name: &str) -> EventId {
        let id = EventId(self.identify());
        self.names.borrow_mut().event(id, name);
        id
    }

    pub(crate) fn identify_thread(&self) -> ThreadId {
        self.next_thread.set(self.next_thread.get() + 1);
        ThreadId(self.next_thread.get())
    }

    /// Returns a buffer's name for a message.
    pub(crate) fn buffer_name(&self, id: u64) -> String {
        self.names.borrow().of_buffer(id)
    }

    /// Refuses what another context made. `name` is asked for only then.
    #[track_caller]
    pub(crate) fn expect_own(
        &self,
        identity: u64,
        name: impl FnOnce() -> String,
        what: impl FnOnce() -> String,
    ) -> Result<(), Error> {
        if identity == DeviceLocation::FOREIGN || identity >> OWN_BITS == self.number {
            return Ok(());
        }
        Err(Error::OtherContext { what: what(), name: name(), at: Location::caller() })
    }

    /// Runs `submission`, and returns what it submitted beside its outcome. What was being recorded before goes on after it.
    pub(crate) fn recorded<T>(&self, submission: impl FnOnce() -> T) -> (T, Log) {
        struct Restore<'c>(&'c Context, Option<Recording>);
        impl Drop for Restore<'_> {
            fn drop(&mut self) {
                self.0.recording.replace(self.1.take());
            }
        }
        let restore = Restore(self, self.recording.replace(Some(Recording::default())));
        let outcome = submission();
        let recording = self.recording.take().unwrap_or_default();
        drop(restore);
        (outcome, recording.finish(&self.names.borrow(), |kernel| self.module.early_access(kernel)))
    }

    /// Runs `submission` with each kernel's instrumented entry in its place, and returns the tracer beside its outcome. A panic
    /// ends the trace too.
    pub(crate) fn traced_into<T>(
        &self,
        tracer: Tracer,
        submission: impl FnOnce() -> T,
    ) -> (T, Option<Tracer>) {
        struct Restore<'c>(&'c Context, Option<Tracer>);
        impl Drop for Restore<'_> {
            fn drop(&mut self) {
                self.0.tracer.replace(self.1.take());
            }
        }
        let restore = Restore(self, self.tracer.replace(Some(tracer)));
        let outcome = submission();
        let tracer = self.tracer.take();
        drop(restore);
        (outcome, tracer)
    }

    /// Whether a submission is being traced.
    pub(crate) fn is_traced(&self) -> bool {
        self.tracer.borrow().is_some()
    }

    /// Lets `place` find room for the records of the operation that is noted next, while a submission is traced.
    pub(crate) fn place<T>(&self, place: impl FnOnce(&mut Tracer) -> T) -> Option<T> {
        self.tracer.borrow_mut().as_mut().map(place)
    }

    /// Returns where the clock's readings around a copy or memset go that is noted next, while a submission is traced.
    pub(crate) fn place_transfer(&self) -> Option<[Reading; 2]> {
        self.place(Tracer::place_transfer).flatten()
    }

    /// Notes an operation, while a submission is recorded or captured.
    #[track_caller]
    pub(crate) fn note(&self, action: impl FnOnce() -> Action) {
        self.note_as(Text::Borrowed(""), ThreadId::default(), |_| action());
    }

    /// Notes an operation of this name by a host thread.
    #[track_caller]
    pub(crate) fn note_as(
        &self,
        name: Text,
        thread: ThreadId,
        action: impl FnOnce(&mut Recording) -> Action,
    ) {
        self.note_at(name, thread, Location::caller(), action);
    }

    /// Notes an operation that this line submitted.
    pub(crate) fn note_at(
        &self,
        name: Text,
        thread: ThreadId,
        at: &'static Location<'static>,
        action: impl FnOnce(&mut Recording) -> Action,
    ) {
        let mut recording = self.recording.borrow_mut();
        let mut captures = self.captures.borrow_mut();
        if recording.is_none() && captures.is_empty() {
            return;
        }
        let placement = self.tracer.borrow_mut().as_mut().and_then(Tracer::take_unnoted);
        let mut scratch = Recording::default();
        let action = action(&mut scratch);
        let operation = operation(name, thread, at, action);
        if let Some(captured) = captures.iter_mut().rev().find_map(|one| one.taking(&operation.action)) {
            captured.note(operation, scratch, placement);
        } else if let Some(recording) = recording.as_mut() {
            self.place(|tracer| placement.iter().for_each(|&one| tracer.noted(one, recording.len())));
            recording.absorb(scratch);
            recording.push(operation);
        }
    }

    /// Notes the launch of a graph, while a submission is recorded.
    #[track_caller]
    pub(crate) fn note_graph(&self, graph: u64, captured: &Captured, stream: StreamId) {
        let noted = |placement, operation| _ = self.place(|tracer| tracer.noted(placement, operation));
        let names = self.names.borrow();
        if let Some(recording) = self.recording.borrow_mut().as_mut() {
            let launch = (stream, Location::caller());
            recording.launch_graph((graph, captured), launch, &names, || self.identify(), noted);
        }
    }

    /// Returns an identity for host memory that a call without a stream copies from or to.
    pub(crate) fn anonymous(&self) -> BufferId {
        BufferId(self.identify())
    }

    pub(crate) fn begin_range(&self, name: &str) -> Option<usize> {
        self.recording.borrow_mut().as_mut().map(|recording| recording.begin_range(name))
    }

    pub(crate) fn end_range(&self, range: usize) {
        if let Some(recording) = self.recording.borrow_mut().as_mut() {
            recording.end_range(range);
        }
    }

    /// Takes memory that was allocated just now; the first claim on it is its buffer's.
    #[track_caller]
    pub(crate) fn own(&self, name: &str, memory: Memory, owned: Owned) -> BufferId {
        let id = BufferId(self.identify());
        let what = match memory {
            Memory::Device => format!("buffer `{name}`"),
            Memory::Pinned | Memory::Pageable => format!("host memory `{name}`"),
        };
        self.names.borrow_mut().buffer(id, name, memory);
        let allocation = Allocation { owned, what, made_at: Location::caller(), claims: 1 };
        self.memory.borrow_mut().insert(id.0, allocation);
        id
    }

    /// Adds a claim on memory that is alive.
    pub(crate) fn claim(&self, id: u64) {
        if let Some(allocation) = self.memory.borrow_mut().get_mut(&id) {
            allocation.claims += 1;
        }
    }

    /// Gives up a claim. Memory without one is freed, but not while a capture is under way: nobody may wait then.
    pub(crate) fn unclaim(&self, id: u64) {
        if let Some(allocation) = self.memory.borrow_mut().get_mut(&id) {
            allocation.claims = allocation.claims.saturating_sub(1);
        }
        if self.captures.borrow().is_empty() {
            self.free_unclaimed();
        }
    }

    /// Whether a capture is under way.
    pub(crate) fn is_capturing(&self) -> bool {
        !self.captures.borrow().is_empty()
    }

    /// Begins to note what a capture of this stream takes.
    pub(crate) fn begin_capture(&self, origin: StreamId) {
        self.captures.borrow_mut().push(Captured::of(origin));
    }

    /// Ends the innermost capture, and returns what it took. The graph gets a claim on the memory that its nodes use.
    pub(crate) fn end_capture(&self) -> Captured {
        let mut captured = self.captures.borrow_mut().pop().unwrap_or_default();
        // The instrumented kernels write there too.
        captured.memory.extend(self.tracer.borrow().as_ref().map(Tracer::memory));
        captured.memory.iter().for_each(|&id| self.claim(id));
        if self.captures.borrow().is_empty() {
            self.free_unclaimed();
        }
        captured
    }

    fn free_unclaimed(&self) {
        let unclaimed: Vec<u64> = {
            let memory = self.memory.borrow();
            memory.iter().filter(|(_, allocation)| allocation.claims == 0).map(|(&id, _)| id).collect()
        };
        for id in unclaimed {
            if let Some(allocation) = self.memory.borrow_mut().remove(&id) {
                self.free(allocation);
            }
        }
    }

    /// Waits for the device and frees memory. CUDA says of its own functions only that they may wait. Where the wait fails, the
    /// memory stays: work may still use it. But in a context that is lost nothing runs any more.
    fn free(&self, allocation: Allocation) {
        let Allocation { owned, what, made_at, .. } = allocation;
        if let Err(error) = self.bind() {
            self.parked.borrow_mut().push(error);
            return;
        }
        let waited = floor::context_synchronize();
        if waited.as_ref().is_err_and(|failed| !is_sticky(failed.code.code())) {
            return self.park(waited, &what, made_at);
        }
        in_flight::all_done();
        let name = format!("to free {what}");
        self.note_at(name.into(), ThreadId::default(), made_at, |_| Action::SynchronizeDevice);
        // SAFETY: `own` was given what was just allocated. It is freed once, since it was taken out of the table; its buffer and its
        // graphs are gone, and the wait above was for all work.
        let answer = unsafe { owned.free() };
        // A lost context fails the wait and the release with the same code: that is one failure.
        self.park(waited.and(answer), &what, made_at);
    }

    /// Keeps the failure of a release for [`Context::finish`].
    pub(crate) fn park(&self, answer: floor::Result<()>, what: &str, at: &'static Location<'static>) {
        if let Err(failed) = answer {
            self.parked.borrow_mut().push(failure(failed, format!("release {what}"), at));
        }
    }

    fn close(&mut self) {
        if std::mem::replace(&mut self.is_closed, true) {
            return;
        }
        if let Err(error) = self.bind() {
            self.parked.borrow_mut().push(error);
        }
        // Only what was forgotten on purpose is still here.
        self.captures.borrow_mut().clear();
        self.memory.borrow_mut().values_mut().for_each(|allocation| allocation.claims = 0);
        self.free_unclaimed();
        let end = |answer, call: &str| {
            if let Err(failed) = answer {
                let error = failure(failed, call.to_owned(), Location::caller());
                self.parked.borrow_mut().push(error);
            }
        };
        end(self.module.unload(), "unload the kernels");
        end(floor::primary_context_release(self.raw), "end the context");
        CURRENT.set(None);
        in_flight::all_done();
        LastError::forget();
        self.chosen.release();
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.close();
    }
}

/// A named range: in a profiler's timeline (NVTX), and in the log. Without a profiler it costs a call that returns at once.
#[derive(Debug)]
#[must_use = "a range that is dropped at once covers nothing"]
pub struct NvtxRange<'c> {
    context: &'c Context,
    noted: Option<usize>,
}

impl<'c> NvtxRange<'c> {
    /// Begins a range on this thread. It ends when it is dropped.
    pub fn new(context: &'c Context, name: &str) -> Self {
        nvtx::range_push!("{}", name);
        NvtxRange { context, noted: context.begin_range(name) }
    }
}

impl Drop for NvtxRange<'_> {
    fn drop(&mut self) {
        nvtx::range_pop!();
        if let Some(range) = self.noted {
            self.context.end_range(range);
        }
    }
}

/// The error of a call on memory that the driver has too little of.
#[cold]
#[track_caller]
pub(crate) fn out_of_memory(name: &str, needed: usize, failed: Failed) -> Error {
    let at = Location::caller();
    if failed.code != cuda_driver::CuResult::OUT_OF_MEMORY {
        return failure(failed, format!("allocate `{name}`"), at);
    }
    let (free, _) = floor::memory_info().unwrap_or_default();
    LastError::note(failed.code.code(), "CUDA_ERROR_OUT_OF_MEMORY", at);
    let what = format!("buffer `{name}`");
    Error::OutOfMemory { what, needed_bytes: needed as u64, free_bytes: free as u64 }
}
