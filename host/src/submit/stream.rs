//! Streams, and everything that is submitted to one.

use std::ffi::c_void;
use std::panic::Location;
use std::ptr;

use cuda_driver::{CUdeviceptr, CUstream, CUstreamFlags};
use cuda_std::abi::MAX_SLOTS;
use cuda_std::call::{Call, DeviceMemory};

use super::error::{check, check_query};
use super::log::{Operation, StreamId};
use super::{Buffer, Context, Error, Event, Launch};

/// What a stream is ordered with beside itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// Ordered with the legacy default stream, in both directions.
    Blocking,
    /// Ordered with no other stream.
    NonBlocking,
    /// The legacy default stream: a barrier among the blocking streams of its context.
    Legacy,
}

/// An ordered queue of work on the card.
pub struct Stream<'c> {
    context: &'c Context,
    raw: CUstream,
    id: StreamId,
    name: String,
    kind: StreamKind,
    made_at: &'static Location<'static>,
}

impl<'c> Stream<'c> {
    /// Makes a stream (`cuStreamCreate`), or refers to the legacy default one. `name` is what messages call it.
    ///
    /// # Errors
    ///
    /// Any error of the call.
    #[track_caller]
    pub fn new(context: &'c Context, name: &str, kind: StreamKind) -> Result<Self, Error> {
        let mut raw = CUstream::LEGACY;
        let flags = match kind {
            StreamKind::Legacy => None,
            StreamKind::Blocking => Some(CUstreamFlags::BLOCKING),
            StreamKind::NonBlocking => Some(CUstreamFlags::NON_BLOCKING),
        };
        if let Some(flags) = flags {
            // SAFETY: `raw` is there to be written, and the context is current on this thread.
            let answer = unsafe { cuda_driver::cuStreamCreate(&mut raw, flags.0) };
            check("cuStreamCreate", answer, || format!("make stream `{name}`"))?;
        }
        let id = context.identify_stream(name, kind);
        Ok(Stream { context, raw, id, name: name.to_owned(), kind, made_at: Location::caller() })
    }

    /// The name that messages use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Launches a kernel (`cuLaunchKernel`; with attributes `cuLaunchKernelEx`).
    ///
    /// *Host*: returns when the launch is queued. *Device*: after everything in this stream before it, unless
    /// [`Attributes`](super::Attributes) say otherwise, and after what the stream was told to wait for.
    ///
    /// # Errors
    ///
    /// A grid, block or shared memory that the card does not take is refused here; an error of the kernel itself comes
    /// out of a later call that waits for it. [`Error::UnequalLengths`] when the kernel needs slices of one length and
    /// got others; [`Error::Missing`] when the driver is too old for attributes.
    #[track_caller]
    pub fn launch(&self, launch: &Launch, call: Call<'_>) -> Result<(), Error> {
        if !call.lengths_fit() {
            let kernel = call.kernel().name;
            return Err(Error::UnequalLengths { kernel, at: Location::caller() });
        }
        let call = self.context.to_trace(launch, call);
        self.submit(launch, &call)?;
        self.context.note(|| Operation::Launch {
            stream: self.id,
            kernel: call.kernel(),
            launch: *launch,
            buffers: call.buffers().cloned().collect(),
        });
        Ok(())
    }

    /// Hands a launch to the driver.
    #[track_caller]
    pub(super) fn submit(&self, launch: &Launch, call: &Call<'_>) -> Result<(), Error> {
        let function = self.context.module().function(call.entry())?;
        let slots = call.slots();
        let mut arguments: [*mut c_void; MAX_SLOTS + 1] = std::array::from_fn(|i| {
            slots.get(i).map_or(ptr::null_mut(), |slot| ptr::from_ref(slot).cast_mut().cast())
        });
        let mut attributes: Vec<_> = launch.attributes.list().collect();
        let (name, answer) = if attributes.is_empty() {
            let Launch { grid, block, shared_bytes, .. } = *launch;
            // SAFETY: one pointer for each parameter of the entry, each to eight readable bytes that hold a value of
            // the parameter's type: `#[kernel]` made the entry and the call from one signature. The driver copies the
            // values before it returns. Buffers outlive the work because releasing one waits for the card (`cuMemFree`).
            let answer = unsafe {
                cuda_driver::cuLaunchKernel(
                    function,
                    grid.0,
                    grid.1,
                    grid.2,
                    block.0,
                    block.1,
                    block.2,
                    shared_bytes,
                    self.raw,
                    arguments.as_mut_ptr(),
                    ptr::null_mut(),
                )
            };
            ("cuLaunchKernel", answer)
        } else {
            let config = launch.config(self.raw, &mut attributes);
            // SAFETY: as above; the attributes are as many as the configuration says and live until the call returns.
            let answer = unsafe {
                cuda_driver::cuLaunchKernelEx(&config, function, arguments.as_mut_ptr(), ptr::null_mut())
            };
            ("cuLaunchKernelEx", answer)
        };
        check(name, answer, || format!("launch `{}` on `{}` as {launch}", call.kernel().name, self.name))
    }

    /// Makes `event` stand for all work that is in this stream now (`cuEventRecord`). Waits that were submitted earlier
    /// keep what the event stood for then.
    ///
    /// *Host*: returns when the record is queued.
    ///
    /// # Errors
    ///
    /// Any error of the call, or of earlier work.
    #[track_caller]
    pub fn record(&self, event: &Event<'_>) -> Result<(), Error> {
        // SAFETY: both are alive, and of one context: an event borrows the context that it was made in.
        let answer = unsafe { cuda_driver::cuEventRecord(event.raw(), self.raw) };
        check("cuEventRecord", answer, || format!("record `{}` on `{}`", event.name(), self.name))?;
        event.mark_recorded();
        self.context.note(|| Operation::Record { event: event.id(), stream: self.id });
        Ok(())
    }

    /// Makes all later work of this stream wait for what `event` stands for now (`cuStreamWaitEvent`). An event that
    /// was never recorded stands for nothing, and the wait orders nothing: no call says so.
    ///
    /// *Host*: returns when the wait is queued.
    ///
    /// # Errors
    ///
    /// Any error of the call, or of earlier work.
    #[track_caller]
    pub fn wait(&self, event: &Event<'_>) -> Result<(), Error> {
        // SAFETY: both are alive; the flags are the default ones.
        let answer = unsafe { cuda_driver::cuStreamWaitEvent(self.raw, event.raw(), 0) };
        check("cuStreamWaitEvent", answer, || format!("make `{}` wait for `{}`", self.name, event.name()))?;
        self.context.note(|| Operation::Wait { stream: self.id, event: event.id() });
        Ok(())
    }

    /// Sets every byte of the buffer to zero (`cuMemsetD8Async`).
    ///
    /// *Host*: returns when the fill is queued. *Device*: ordered in this stream.
    ///
    /// # Errors
    ///
    /// Any error of the call, or of earlier work.
    #[track_caller]
    pub fn zero<T: super::buffer::Element>(&self, buffer: &Buffer<'_, T>) -> Result<(), Error> {
        let location = buffer.location();
        let stamps = self.stamp_start()?;
        // SAFETY: the address and the length are the buffer's own.
        let answer = unsafe {
            cuda_driver::cuMemsetD8Async(CUdeviceptr(location.address), 0, buffer.bytes(), self.raw)
        };
        check("cuMemsetD8Async", answer, || format!("zero `{}` on `{}`", buffer.name(), self.name))?;
        self.context.note(|| Operation::Fill {
            stream: self.id,
            buffer: location.buffer,
            bytes: buffer.bytes() as u64,
        });
        self.stamp_end(stamps)
    }

    /// Copies from one buffer to another on the card (`cuMemcpyDtoDAsync`); as many bytes as the shorter of them has.
    ///
    /// *Host*: returns when the copy is queued. *Device*: ordered in this stream.
    ///
    /// # Errors
    ///
    /// Any error of the call, or of earlier work.
    #[track_caller]
    pub fn copy<T: super::buffer::Element>(
        &self,
        from: &Buffer<'_, T>,
        to: &Buffer<'_, T>,
    ) -> Result<(), Error> {
        let (source, target) = (from.location(), to.location());
        let bytes = from.bytes().min(to.bytes());
        let stamps = self.stamp_start()?;
        // SAFETY: both buffers hold that many bytes.
        let answer = unsafe {
            cuda_driver::cuMemcpyDtoDAsync_v2(
                CUdeviceptr(target.address),
                CUdeviceptr(source.address),
                bytes,
                self.raw,
            )
        };
        check("cuMemcpyDtoDAsync", answer, || {
            format!("copy `{}` to `{}` on `{}`", from.name(), to.name(), self.name)
        })?;
        self.context.note(|| Operation::Copy {
            stream: self.id,
            from: source.buffer,
            to: target.buffer,
            bytes: bytes as u64,
        });
        self.stamp_end(stamps)
    }

    /// Waits on the host until everything in this stream is done (`cuStreamSynchronize`).
    ///
    /// # Errors
    ///
    /// An error of work submitted earlier comes out here.
    #[track_caller]
    pub fn synchronize(&self) -> Result<(), Error> {
        // SAFETY: the stream is alive.
        let answer = unsafe { cuda_driver::cuStreamSynchronize(self.raw) };
        check("cuStreamSynchronize", answer, || format!("wait for `{}`", self.name))?;
        self.context.note(|| Operation::SynchronizeStream { stream: self.id });
        Ok(())
    }

    /// Whether everything in this stream is done (`cuStreamQuery`).
    ///
    /// *Host*: returns at once. An answer of `true` orders like [`Stream::synchronize`].
    ///
    /// # Errors
    ///
    /// An error of work submitted earlier comes out here.
    #[track_caller]
    pub fn query(&self) -> Result<bool, Error> {
        // SAFETY: the stream is alive.
        let answer = unsafe { cuda_driver::cuStreamQuery(self.raw) };
        let complete = check_query("cuStreamQuery", answer, || format!("ask for `{}`", self.name))?;
        if complete {
            self.context.note(|| Operation::SynchronizeStream { stream: self.id });
        }
        Ok(complete)
    }

    pub(super) fn context(&self) -> &'c Context {
        self.context
    }

    pub(super) fn raw(&self) -> CUstream {
        self.raw
    }

    pub(super) fn id(&self) -> StreamId {
        self.id
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        if self.kind != StreamKind::Legacy {
            // SAFETY: made by `new`, destroyed once; the driver lets its pending work finish.
            let answer = unsafe { cuda_driver::cuStreamDestroy_v2(self.raw) };
            self.context.note(|| Operation::DestroyStream { stream: self.id });
            self.context.park("cuStreamDestroy", answer, &format!("stream `{}`", self.name), self.made_at);
        }
    }
}
