//! A card opened for work: its context, its module, and what everything else of this layer refers to.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::Location;

use cuda_driver::CuResult;
use cuda_std::abi::Kernel;
use cust::CudaFlags;
use cust::context::CurrentContext;
use cust::device::Device;
use cust::error::CudaError;

use super::dependence;
use super::error::{check, check_cust};
use super::graph::Memory;
use super::log::{Entry, Log, Operation, Recorded, StreamId, ThreadId};
use super::trace::Tracer;
use super::{Card, Checks, Error, HostClock, LastError, Loading, Module, StreamKind, pending};
use crate::kernels::Image;

/// A context on one card with the program's kernels loaded. Streams, events and buffers borrow it.
pub struct Context {
    card: Card,
    module: Module,
    identities: Cell<u64>,
    threads: Cell<u64>,
    overlaps: Cell<bool>,
    pub(super) checks: Cell<Checks>,
    names: RefCell<HashMap<u64, String>>,
    streams: RefCell<Vec<(StreamId, StreamKind)>>,
    log: RefCell<Option<Recorded>>,
    pub(super) tracer: RefCell<Option<Tracer>>,
    pub(super) memory: Memory,
    parked: RefCell<Vec<Error>>,
    // Last, because fields drop in order and the module's release needs the context.
    cust: cust::context::Context,
}

/// What the steps of opening a card took on the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Opening {
    /// Starting the driver and asking for the card (`cuInit` and queries).
    pub driver_ns: u64,
    /// Making the context (`cuDevicePrimaryCtxRetain`).
    pub context_ns: u64,
    /// Loading the module (`cuModuleLoadDataEx`).
    pub module_ns: u64,
}

impl Context {
    /// Opens device `ordinal` (`cuInit`, `cuDevicePrimaryCtxRetain`), loads the newest of `images` that its compute
    /// capability and its driver take, and brings its kernels to the card.
    ///
    /// # Errors
    ///
    /// [`Error::NoDevice`], [`Error::NoSuchDevice`], [`Error::CardTooOld`], [`Error::PtxTooNew`], and any error of the
    /// driver.
    pub fn open(ordinal: u32, images: &'static [Image]) -> Result<Context, Error> {
        Context::open_timed(ordinal, images, Loading::Ahead).map(|(context, _)| context)
    }

    /// The same, with what it took, and with the kernels brought to the card now or not.
    ///
    /// # Errors
    ///
    /// Those of [`Context::open`].
    pub fn open_timed(
        ordinal: u32,
        images: &'static [Image],
        loading: Loading,
    ) -> Result<(Context, Opening), Error> {
        let mut clock = HostClock::start();
        match cust::init(CudaFlags::empty()) {
            Err(CudaError::NoDevice) => return Err(Error::NoDevice),
            answer => check_cust("cuInit", answer, || "start the driver".into())?,
        }
        let count = check_cust("cuDeviceGetCount", Device::num_devices(), || "count the devices".into())?;
        if count == 0 {
            return Err(Error::NoDevice);
        }
        if ordinal >= count {
            return Err(Error::NoSuchDevice { asked: ordinal, count });
        }
        let device =
            check_cust("cuDeviceGet", Device::get_device(ordinal), || format!("open device {ordinal}"))?;
        let card = Card::of(device)?;
        let images = Module::images_for(&card, images)?;
        let driver_ns = clock.lap_ns();
        let cust = check_cust("cuDevicePrimaryCtxRetain", cust::context::Context::new(device), || {
            format!("make a context on {}", card.name)
        })?;
        // `Context::new` makes this call too and drops its answer.
        check_cust("cuCtxSetCurrent", CurrentContext::set_current(&cust), || "use the context".into())?;
        let context_ns = clock.lap_ns();
        let module = Module::load(&card, &images)?;
        let opening = Opening { driver_ns, context_ns, module_ns: clock.lap_ns() };
        if loading == Loading::Ahead {
            module.load_kernels()?;
        }
        let context = Context {
            card,
            module,
            identities: Cell::new(0),
            threads: Cell::new(0),
            overlaps: Cell::new(true),
            checks: Cell::default(),
            names: RefCell::default(),
            streams: RefCell::default(),
            log: RefCell::default(),
            tracer: RefCell::default(),
            memory: Memory::default(),
            parked: RefCell::default(),
            cust,
        };
        Ok((context, opening))
    }

    /// The card.
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// Whether the card runs side by side what nothing orders. Where it does not, times say nothing about overlap.
    pub fn overlaps(&self) -> bool {
        self.overlaps.get()
    }

    /// Says that it does, or does not.
    pub fn set_overlaps(&self, overlaps: bool) {
        self.overlaps.set(overlaps);
    }

    /// The kernels.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Fails on a card whose compute capability is below `needs`.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`], naming `feature`.
    pub fn require(&self, feature: &'static str, needs: (u32, u32)) -> Result<(), Error> {
        let Card { name, compute_capability: capability, .. } = self.card.clone();
        if capability >= needs {
            Ok(())
        } else {
            Err(Error::Unsupported { feature, needs, card: name, capability })
        }
    }

    /// Blocks of `threads` threads of the kernel that are resident on the whole card at once
    /// (`cuOccupancyMaxActiveBlocksPerMultiprocessor`).
    ///
    /// # Errors
    ///
    /// Any error of the call.
    #[track_caller]
    pub fn resident_blocks(&self, kernel: &Kernel, threads: u32) -> Result<u32, Error> {
        let function = self.module.function(kernel.name)?;
        let mut blocks = 0;
        // SAFETY: the function is of the loaded module, and `blocks` is there to be written.
        let answer = unsafe {
            cuda_driver::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                function,
                threads.cast_signed(),
                0,
            )
        };
        check("cuOccupancyMaxActiveBlocksPerMultiprocessor", answer, || {
            format!("ask how many blocks of `{}` a multiprocessor holds", kernel.name)
        })?;
        Ok(blocks.unsigned_abs() * self.card.sms)
    }

    /// Waits until everything that was submitted in this context is done (`cuCtxSynchronize`).
    ///
    /// # Errors
    ///
    /// An error of work submitted earlier comes out here.
    #[track_caller]
    pub fn synchronize(&self) -> Result<(), Error> {
        // SAFETY: takes nothing; the context is current on this thread since `open`.
        check("cuCtxSynchronize", unsafe { cuda_driver::cuCtxSynchronize() }, || "wait for the card".into())?;
        pending::all_done();
        self.note(|| Operation::SynchronizeContext);
        Ok(())
    }

    /// Runs `submission` and returns what it submitted, in order.
    ///
    /// # Errors
    ///
    /// The submission's own.
    pub fn logged(&self, submission: impl FnOnce() -> Result<(), Error>) -> Result<Log, Error> {
        self.log.replace(Some(Recorded::default()));
        let outcome = submission();
        let recorded = self.log.take().unwrap_or_default();
        let dependences = dependence::of_early_starters(&recorded.entries, self.module.image());
        outcome.map(|()| {
            Log::new(recorded, self.streams.borrow().clone(), self.names.borrow().clone(), dependences)
        })
    }

    /// Ends the context and returns every failure of a release that happened meanwhile: a drop cannot report its own.
    pub fn finish(self) -> Vec<Error> {
        let Context { module, parked, cust, .. } = self;
        let mut failures = parked.into_inner();
        failures.extend(module.unload().err());
        let release = cust::context::Context::drop(cust).map_err(|(code, _context)| code);
        failures.extend(check_cust("cuDevicePrimaryCtxRelease", release, || "end the context".into()).err());
        pending::all_done();
        LastError::forget();
        failures
    }

    /// A new identity, and the name that messages and the log use for it.
    pub(super) fn identify(&self, name: &str) -> u64 {
        let identity = self.identities.get();
        self.identities.set(identity + 1);
        self.names.borrow_mut().insert(identity, name.to_owned());
        identity
    }

    /// The name of an identity.
    pub(super) fn name(&self, identity: u64) -> String {
        self.names.borrow().get(&identity).cloned().unwrap_or_default()
    }

    /// The same for a stream.
    pub(super) fn identify_stream(&self, name: &str, kind: StreamKind) -> StreamId {
        let id = StreamId(self.identify(name));
        self.streams.borrow_mut().push((id, kind));
        id
    }

    /// A new identity for a host thread.
    pub(super) fn identify_thread(&self) -> ThreadId {
        self.threads.set(self.threads.get() + 1);
        ThreadId(self.threads.get())
    }

    /// How many operations were noted so far.
    pub(super) fn noted(&self) -> usize {
        self.log.borrow().as_ref().map_or(0, |recorded| recorded.entries.len())
    }

    /// Notes that a named range begins here, when a log is being taken, and says which it is.
    pub(super) fn begin_range(&self, name: &str) -> Option<usize> {
        self.log.borrow_mut().as_mut().map(|Recorded { entries, ranges }| {
            ranges.push((name.to_owned(), entries.len()..entries.len()));
            ranges.len() - 1
        })
    }

    /// Notes that it ends.
    pub(super) fn end_range(&self, range: usize) {
        if let Some(Recorded { entries, ranges }) = self.log.borrow_mut().as_mut()
            && let Some((_, extent)) = ranges.get_mut(range)
        {
            extent.end = entries.len();
        }
    }

    /// Notes an operation when a log is being taken, and its memory when it is captured.
    #[track_caller]
    pub(super) fn note(&self, operation: impl FnOnce() -> Operation) {
        self.note_by(ThreadId::default(), operation);
    }

    /// The same for what another host thread did.
    #[track_caller]
    pub(super) fn note_by(&self, thread: ThreadId, operation: impl FnOnce() -> Operation) {
        let mut log = self.log.borrow_mut();
        if log.is_none() && !self.memory.is_noted() {
            return;
        }
        let operation = operation();
        self.memory.note(operation.memory());
        if let Some(recorded) = log.as_mut() {
            recorded.entries.push(Entry { operation, thread, at: Location::caller() });
        }
    }

    /// Keeps the failure of a release for [`Context::finish`].
    pub(super) fn park(
        &self,
        call: &'static str,
        answer: CuResult,
        what: &str,
        at: &'static Location<'static>,
    ) {
        if answer != CuResult::SUCCESS {
            let failure = super::error::failure(call, answer, format!("release {what}"), at);
            self.parked.borrow_mut().push(failure);
        }
    }
}
