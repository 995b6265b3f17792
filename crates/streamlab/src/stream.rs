//! Streams, and everything that is submitted to one.

use std::panic::Location;

use bytemuck::Pod;
use cuda_driver::CUstreamFlags;
use cuda_std::call::{Call, DeviceMemory, Location as DeviceLocation};
use stream_order::program::{Action, Copy, Launch, Memset, StreamId, StreamKind, ThreadId};

use crate::context::{Context, LaunchBlocking};
use crate::error::{Doing, Error};
use crate::event::Event;
use crate::floor::{self, Enqueue, RawStream};
use crate::graph::{Graph, GraphExec};
use crate::launch::{Attributes, LaunchConfig};
use crate::memory::{HostMemory, device_span};
use crate::record::{accesses, span_at};
use crate::thread::HostThread;
use crate::tracer::Reading;
use crate::{in_flight, limits};

/// An ordered queue of work on the device.
#[derive(Debug)]
pub struct Stream<'c> {
    context: &'c Context,
    raw: RawStream,
    id: StreamId,
    name: String,
    kind: StreamKind,
    made_at: &'static Location<'static>,
}

impl<'c> Stream<'c> {
    /// Makes a stream (`cuStreamCreate`), or refers to a default one. `name` is what messages call it.
    ///
    /// # Errors
    ///
    /// Any error of the call.
    #[track_caller]
    pub fn new(context: &'c Context, name: &str, kind: StreamKind) -> Result<Self, Error> {
        context.bind()?;
        let raw = match kind {
            StreamKind::Legacy => RawStream::LEGACY,
            StreamKind::PerThread => RawStream::PER_THREAD,
            StreamKind::Blocking | StreamKind::NonBlocking => {
                floor::stream_create(flags(kind)).doing(|| format!("make stream `{name}`"))?
            }
        };
        Ok(Stream::of(context, name, kind, raw))
    }

    /// Makes a stream of a priority (`cuStreamCreateWithPriority`). One outside the device's range is moved into it, and no call
    /// says so: [`Stream::priority`] returns what it became. A default stream is as it is.
    ///
    /// *Device*: of the blocks that wait for room, those of the stream whose number is lower are placed first. Blocks that run are
    /// not interrupted. It is a hint, and orders nothing.
    ///
    /// # Errors
    ///
    /// Any error of the call.
    #[track_caller]
    pub fn with_priority(
        context: &'c Context,
        name: &str,
        kind: StreamKind,
        priority: i32,
    ) -> Result<Self, Error> {
        if is_default(kind) {
            return Stream::new(context, name, kind);
        }
        context.bind()?;
        let raw = floor::stream_create_with_priority(flags(kind), priority)
            .doing(|| format!("make stream `{name}` of priority {priority}"))?;
        Ok(Stream::of(context, name, kind, raw))
    }

    #[track_caller]
    fn of(context: &'c Context, name: &str, kind: StreamKind, raw: RawStream) -> Self {
        let id = context.identify_stream(name, kind);
        Stream { context, raw, id, name: name.to_owned(), kind, made_at: Location::caller() }
    }

    /// Returns the name that messages use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the stream's priority (`cuStreamGetPriority`).
    ///
    /// # Errors
    ///
    /// Any error of the call.
    #[track_caller]
    pub fn priority(&self) -> Result<i32, Error> {
        self.context.bind()?;
        floor::stream_priority(&self.raw).doing(|| format!("ask for the priority of `{}`", self.name))
    }

    /// Launches a kernel (`cuLaunchKernel`; with attributes `cuLaunchKernelEx`).
    ///
    /// *Host*: returns when the launch is queued. *Device*: after everything in this stream before it, unless
    /// [`Attributes`] say otherwise, and after what the stream was told to wait for.
    ///
    /// # Errors
    ///
    /// A grid, block or shared memory that the device does not take is refused here; an error of the kernel itself comes out of a
    /// later call that waits for it. [`Error::UnequalLengths`] when the kernel needs slices of one length and got others;
    /// [`Error::Overlap`] when a safe kernel writes memory that another argument names; [`Error::OtherContext`];
    /// [`Error::Missing`] when the driver is too old for attributes.
    #[track_caller]
    pub fn launch(&self, config: LaunchConfig, call: Call<'_>) -> Result<(), Error> {
        self.launch_by(None, config, call)
    }

    /// Launches a kernel from another host thread: a stream of kind [`StreamKind::PerThread`] is then that thread's.
    ///
    /// # Errors
    ///
    /// Those of [`Stream::launch`].
    #[track_caller]
    pub fn launch_from(
        &self,
        thread: &HostThread<'_>,
        config: LaunchConfig,
        call: Call<'_>,
    ) -> Result<(), Error> {
        if !std::ptr::eq(thread.context(), self.context) {
            let name = format!("host thread {}", thread.id().0);
            return Err(Error::OtherContext { what: "launch".to_owned(), name, at: Location::caller() });
        }
        self.context.note(|| Action::HandOver { to: thread.id() });
        self.launch_by(Some(thread), config, call)?;
        let back = Action::HandOver { to: ThreadId::default() };
        self.context.note_as("".into(), thread.id(), |_| back);
        Ok(())
    }

    #[track_caller]
    fn launch_by(
        &self,
        thread: Option<&HostThread<'_>>,
        config: LaunchConfig,
        call: Call<'_>,
    ) -> Result<(), Error> {
        let kernel = call.kernel();
        if !call.lengths_fit() {
            return Err(Error::UnequalLengths { kernel: kernel.name, at: Location::caller() });
        }
        if !call.is_unsafe()
            && let Some((written, other)) = call.overlap()
        {
            return Err(Error::Overlap { kernel: kernel.name, written, other, at: Location::caller() });
        }
        for used in call.buffers() {
            self.expect_own(used.buffer, || format!("launch `{}` on `{}`", kernel.name, self.name))?;
            if used.buffer == DeviceLocation::FOREIGN && self.context.is_capturing() {
                let (kernel, parameter) = (kernel.name.to_owned(), used.parameter);
                return Err(Error::ForeignInCapture { kernel, parameter, at: Location::caller() });
            }
        }
        let module = self.context.module();
        let call = if self.context.is_traced() && module.has(kernel.traced_name) {
            let unplaced = call.clone();
            self.context.place(|tracer| tracer.place(&config, call)).unwrap_or(unplaced)
        } else {
            call
        };
        self.submit(thread, config, &call)?;
        let by = thread.map(HostThread::id).unwrap_or_default();
        self.context.note_as(kernel.name.into(), by, |recording| {
            let buffers: Vec<_> = call.buffers().cloned().collect();
            let accesses = accesses(&buffers, None);
            let programmatic = config.attributes.may_start_early();
            if programmatic {
                recording.note_early(kernel, buffers);
            }
            Action::Launch(Launch { stream: self.id, accesses, programmatic, waits: true })
        });
        match self.context.launch_blocking() {
            LaunchBlocking::Off => Ok(()),
            LaunchBlocking::On => self.synchronize(),
        }
    }

    /// Hands a launch to the driver.
    #[track_caller]
    fn submit(
        &self,
        thread: Option<&HostThread<'_>>,
        config: LaunchConfig,
        call: &Call<'_>,
    ) -> Result<(), Error> {
        self.context.bind()?;
        let function = self.context.module().function(call.entry())?;
        // SAFETY: one slot holds a value of each parameter's type: `#[kernel]` made the entry and the call from one signature. The
        // context owns this crate's memory until all work is done; `cust` frees its own through the driver's table, where `floor`
        // waits for all work. Function and stream live as long as the context that this stream borrows.
        let enqueue = unsafe { Enqueue::new(function, &self.raw, config, call.slots()) };
        let answer = match thread {
            None => enqueue.make(),
            Some(thread) => thread.make(move || enqueue.make()),
        };
        let kernel = call.kernel().name;
        answer.doing(|| format!("launch `{kernel}` on `{}` as {config}", self.name)).map_err(|error| {
            error.or_detail(|code| limits::exceeded(code, &config, self.context.ordinal(), function))
        })?;
        in_flight::launched(self.id, kernel);
        Ok(())
    }

    /// Records `event`: it captures all work that is in this stream now (`cuEventRecord`). Waits that were submitted earlier keep
    /// what the event captured then.
    ///
    /// *Host*: returns when the record is queued.
    ///
    /// # Errors
    ///
    /// [`Error::OtherContext`]; any error of the call, or of earlier work.
    #[track_caller]
    pub fn record(&self, event: &Event<'_>) -> Result<(), Error> {
        let what = || format!("record `{}` on `{}`", event.name(), self.name);
        self.context.expect_own(event.id().0, || event.name().to_owned(), what)?;
        self.context.bind()?;
        floor::event_record(event.raw(), &self.raw).doing(what)?;
        event.mark_recorded();
        self.context.note(|| Action::Record { event: event.id(), stream: self.id });
        Ok(())
    }

    /// Makes all later work of this stream wait for what `event` captured last (`cuStreamWaitEvent`). An event that was never
    /// recorded captures nothing, and the wait orders nothing: no call says so.
    ///
    /// *Host*: returns when the wait is queued.
    ///
    /// # Errors
    ///
    /// [`Error::OtherContext`]; any error of the call, or of earlier work.
    #[track_caller]
    pub fn wait(&self, event: &Event<'_>) -> Result<(), Error> {
        let what = || format!("make `{}` wait for `{}`", self.name, event.name());
        self.context.expect_own(event.id().0, || event.name().to_owned(), what)?;
        self.context.bind()?;
        floor::stream_wait_event(&self.raw, event.raw()).doing(what)?;
        self.context.note(|| Action::Wait { stream: self.id, event: event.id() });
        Ok(())
    }

    /// Sets every byte to zero (`cuMemsetD8Async`).
    ///
    /// *Host*: returns when the memset is queued. *Device*: ordered in this stream.
    ///
    /// # Errors
    ///
    /// Any error of the call, or of earlier work.
    #[track_caller]
    pub fn memset_zeros<T: Pod>(&self, to: &impl DeviceMemory<T>) -> Result<(), Error> {
        let at = to.location();
        let bytes = at.elements * size_of::<T>();
        let what = || format!("set `{}` to zero on `{}`", self.context.buffer_name(at.buffer), self.name);
        self.expect_memory(&at, what)?;
        self.transfer(
            || floor::memset_zeros_async(device_span(&at, bytes), &self.raw),
            what,
            || Action::Memset(Memset { stream: self.id, to: span_at(&at, bytes as u64), is_async: true }),
        )
    }

    /// Copies on the device (`cuMemcpyDtoDAsync`); as many elements as the shorter of the two has.
    ///
    /// *Host*: returns when the copy is queued. *Device*: ordered in this stream.
    ///
    /// # Errors
    ///
    /// Any error of the call, or of earlier work.
    #[track_caller]
    pub fn copy<T: Pod>(&self, from: &impl DeviceMemory<T>, to: &impl DeviceMemory<T>) -> Result<(), Error> {
        let (source, target) = (from.location(), to.location());
        let bytes = source.elements.min(target.elements) * size_of::<T>();
        let name = |at: &DeviceLocation| self.context.buffer_name(at.buffer);
        let what = || self.copying(&name(&source), &name(&target));
        self.expect_memory(&source, what)?;
        self.expect_memory(&target, what)?;
        let (from, to) = (device_span(&source, bytes), device_span(&target, bytes));
        self.transfer(
            || floor::copy_on_device_async(to, from, &self.raw),
            what,
            || {
                let (from, to) = (span_at(&source, bytes as u64), span_at(&target, bytes as u64));
                Action::Copy(Copy { stream: self.id, from, to, is_async: true })
            },
        )
    }

    /// Copies from host memory to the device (`cuMemcpyHtoDAsync`); as many elements as the shorter of the two has.
    ///
    /// *Host*: from a [`PinnedBuffer`](crate::PinnedBuffer), returns when the copy is queued; from a
    /// [`PageableBuffer`](crate::PageableBuffer) it may block. The host must not write `from` before the copy is done; the checker
    /// reports it. *Device*: ordered in this stream.
    ///
    /// # Errors
    ///
    /// Any error of the call, or of earlier work.
    #[track_caller]
    pub fn copy_to_device<T: Pod>(
        &self,
        from: &impl HostMemory<T>,
        to: &impl DeviceMemory<T>,
    ) -> Result<(), Error> {
        let (from, at) = (from.part(), to.location());
        let span = from.span();
        let to = device_span(&at, at.elements * size_of::<T>());
        let bytes = to.common(span.bytes()) as u64;
        let what = || self.copying(from.name(), &self.context.buffer_name(at.buffer));
        self.expect_own(from.id().0, what)?;
        self.expect_memory(&at, what)?;
        self.transfer(
            || floor::copy_to_device_async(to, span, &self.raw),
            what,
            || {
                let (from, to) = (from.noted(bytes), span_at(&at, bytes));
                Action::Copy(Copy { stream: self.id, from, to, is_async: true })
            },
        )
    }

    /// Copies from the device to host memory (`cuMemcpyDtoHAsync`); as many elements as the shorter of the two has.
    ///
    /// *Host*: to a [`PinnedBuffer`](crate::PinnedBuffer), returns when the copy is queued; to a
    /// [`PageableBuffer`](crate::PageableBuffer) it may block. The data is in `to` when the copy is done. *Device*: ordered in this
    /// stream.
    ///
    /// # Errors
    ///
    /// Any error of the call, or of earlier work.
    #[track_caller]
    pub fn copy_to_host<T: Pod>(
        &self,
        from: &impl DeviceMemory<T>,
        to: &impl HostMemory<T>,
    ) -> Result<(), Error> {
        let (at, to) = (from.location(), to.part());
        let span = to.span();
        let from = device_span(&at, at.elements * size_of::<T>());
        let bytes = from.common(span.bytes()) as u64;
        let what = || self.copying(&self.context.buffer_name(at.buffer), to.name());
        self.expect_memory(&at, what)?;
        self.expect_own(to.id().0, what)?;
        self.transfer(
            || floor::copy_to_host_async(span, from, &self.raw),
            what,
            || {
                let (from, to) = (span_at(&at, bytes), to.noted(bytes));
                Action::Copy(Copy { stream: self.id, from, to, is_async: true })
            },
        )
    }

    /// Enqueues a copy or a memset, with the clock read before and after it while a submission is traced.
    #[track_caller]
    fn transfer(
        &self,
        call: impl FnOnce() -> floor::Result<()>,
        what: impl FnOnce() -> String,
        action: impl FnOnce() -> Action,
    ) -> Result<(), Error> {
        self.context.bind()?;
        let readings = if self.has_timestamps() { self.context.place_transfer() } else { None };
        let (before, after) = readings.map_or((None, None), |[before, after]| (Some(before), Some(after)));
        self.timestamp(before)?;
        call().doing(what)?;
        self.context.note(action);
        self.timestamp(after)
    }

    /// Whether the module can read the clock by a kernel: `cuda_std` brings one along.
    fn has_timestamps(&self) -> bool {
        self.context.is_traced()
            && self.context.module().has(cuda_std::trace::streamlab_timestamp::KERNEL.name)
    }

    /// Reads the clock by a kernel of one thread, with the greatest priority: after the blocks of a kernel that fills the device, it
    /// would say when that kernel ended.
    #[track_caller]
    fn timestamp(&self, reading: Option<Reading>) -> Result<(), Error> {
        let Some(reading) = reading else { return Ok(()) };
        let call = cuda_std::trace::streamlab_timestamp(&reading);
        let config = LaunchConfig::new(1, 1);
        let priority = Some(self.context.priorities()?.greatest);
        let urgent = config.with(Attributes { priority, ..Attributes::default() });
        match self.submit(None, urgent, &call) {
            // A driver that knows no attributes.
            Err(Error::Missing { .. }) => self.submit(None, config, &call),
            answer => answer,
        }
    }

    /// Captures what `submit` puts into this stream, and into those that come to wait for events of it (`cuStreamBeginCapture`,
    /// `cuStreamEndCapture`). Nothing of it runs, and the log has nothing of it: it notes a graph's nodes when the graph is launched.
    ///
    /// Memory that is dropped during the capture is freed after it: nobody may wait for the device meanwhile.
    ///
    /// # Errors
    ///
    /// The submission's own. `CUDA_ERROR_STREAM_CAPTURE_UNJOINED` (904) when the work of a stream does not lead back to this one.
    /// Codes from 900 to 906 for what is not allowed in a capture: to wait for the device, to allocate, to use the legacy default
    /// stream beside blocking ones. [`Error::ForeignInCapture`].
    #[track_caller]
    pub fn capture(&self, submit: impl FnOnce() -> Result<(), Error>) -> Result<Graph<'c>, Error> {
        self.context.bind()?;
        floor::stream_begin_capture(&self.raw).doing(|| format!("capture `{}`", self.name))?;
        self.context.begin_capture(self.id);
        let mut under_way = Capture { stream: self, is_over: false };
        let submitted = submit();
        let graph = under_way.end(Location::caller());
        // What went wrong first says more than that the capture was spoilt by it.
        submitted?;
        graph.doing(|| format!("end the capture of `{}`", self.name))
    }

    /// Launches a graph (`cuGraphLaunch`). The log has its nodes, each with the line that was captured.
    ///
    /// *Host*: returns when the launch is queued. *Device*: ordered in this stream as one operation, and after the launch of the
    /// same graph before it.
    ///
    /// # Errors
    ///
    /// [`Error::OtherContext`]; any error of the call, or of earlier work.
    #[track_caller]
    pub fn launch_graph(&self, graph: &GraphExec<'_>) -> Result<(), Error> {
        let what = || format!("launch a graph on `{}`", self.name);
        self.context.expect_own(graph.id(), || "the graph".to_owned(), what)?;
        self.context.bind()?;
        floor::graph_launch(graph.raw(), &self.raw).doing(what)?;
        graph.note_launch(self.id);
        Ok(())
    }

    /// Waits on the host until everything in this stream is done (`cuStreamSynchronize`).
    ///
    /// # Errors
    ///
    /// An error of work submitted earlier comes out here.
    #[track_caller]
    pub fn synchronize(&self) -> Result<(), Error> {
        self.context.bind()?;
        floor::stream_synchronize(&self.raw).doing(|| format!("wait for `{}`", self.name))?;
        self.note_done();
        Ok(())
    }

    /// Returns whether everything in this stream is done (`cuStreamQuery`).
    ///
    /// *Host*: returns at once. `true` orders like [`Stream::synchronize`].
    ///
    /// # Errors
    ///
    /// An error of work submitted earlier comes out here.
    #[track_caller]
    pub fn query(&self) -> Result<bool, Error> {
        self.context.bind()?;
        let complete = floor::stream_query(&self.raw).asking(|| format!("ask for `{}`", self.name))?;
        if complete {
            self.note_done();
        }
        Ok(complete)
    }

    #[track_caller]
    fn note_done(&self) {
        in_flight::done(self.id);
        self.context.note(|| Action::SynchronizeStream { stream: self.id });
    }

    fn copying(&self, from: &str, to: &str) -> String {
        format!("copy `{from}` to `{to}` on `{}`", self.name)
    }

    /// Refuses a buffer of another context.
    #[track_caller]
    fn expect_own(&self, buffer: u64, what: impl FnOnce() -> String) -> Result<(), Error> {
        self.context.expect_own(buffer, || self.context.buffer_name(buffer), what)
    }

    /// Refuses device memory of another context, and memory in a capture that the graph could not keep.
    #[track_caller]
    fn expect_memory(
        &self,
        at: &DeviceLocation,
        what: impl FnOnce() -> String + std::marker::Copy,
    ) -> Result<(), Error> {
        self.expect_own(at.buffer, what)?;
        if at.buffer == DeviceLocation::FOREIGN && self.context.is_capturing() {
            return Err(Error::ForeignInCapture {
                kernel: what(),
                parameter: "memory",
                at: Location::caller(),
            });
        }
        Ok(())
    }
}

/// A capture under way. A panic in the submission ends it, and with it what was captured.
struct Capture<'s, 'c> {
    stream: &'s Stream<'c>,
    is_over: bool,
}

impl<'c> Capture<'_, 'c> {
    /// Ends the capture. Its graph gets the claims on the memory that its nodes use.
    fn end(&mut self, at: &'static Location<'static>) -> floor::Result<Graph<'c>> {
        self.is_over = true;
        let Stream { context, raw, .. } = self.stream;
        let answer = floor::stream_end_capture(raw);
        let captured = context.end_capture();
        match answer {
            Ok(raw) => Ok(Graph::new(context, raw, captured, at)),
            Err(failed) => {
                captured.memory.into_iter().for_each(|id| context.unclaim(id));
                Err(failed)
            }
        }
    }
}

impl Drop for Capture<'_, '_> {
    fn drop(&mut self) {
        if !self.is_over {
            _ = self.end(self.stream.made_at);
        }
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        if !is_default(self.kind) {
            _ = self.context.bind();
            let answer = floor::stream_destroy(&mut self.raw);
            self.context.note(|| Action::DestroyStream { stream: self.id });
            self.context.park(answer, &format!("stream `{}`", self.name), self.made_at);
        }
    }
}

fn is_default(kind: StreamKind) -> bool {
    matches!(kind, StreamKind::Legacy | StreamKind::PerThread)
}

/// The flags that such a stream is made with.
fn flags(kind: StreamKind) -> u32 {
    match kind {
        StreamKind::NonBlocking => CUstreamFlags::NON_BLOCKING.0,
        _ => CUstreamFlags::BLOCKING.0,
    }
}
