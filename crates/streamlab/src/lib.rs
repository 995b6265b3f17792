//! CUDA streams, events, typed kernel launches and graphs in Rust, and a checker that names the ordering edge that is missing.
//!
//! Every CUDA call of a program whose order is broken succeeds. This library notes what a program submits and says which edge is
//! missing, at which lines ([`check`]), and when everything ran ([`trace()`]). It runs on a GPU, or, where there is none, on a
//! virtual device that executes the same PTX.
//!
//! ```no_run
//! # mod kernels { pub static IMAGES: &[cuda_std::abi::Image] = &[]; }
//! use streamlab::{Context, Device, DeviceBuffer, Event, Stream, StreamKind};
//!
//! # fn main() -> Result<(), streamlab::Error> {
//! let context = Context::open(Device::Auto, kernels::IMAGES)?;
//! let a = Stream::new(&context, "a", StreamKind::NonBlocking)?;
//! let b = Stream::new(&context, "b", StreamKind::NonBlocking)?;
//! let done = Event::ordering(&context, "done")?;
//! let data = DeviceBuffer::from_slice(&context, "data", &[0.0_f32; 1024])?;
//!
//! let log = streamlab::check(&context, || {
//!     a.memset_zeros(&data)?;
//!     a.record(&done)?;
//!     b.wait(&done)?; // without this line an edge is missing, and the report names both memsets
//!     b.memset_zeros(&data)
//! })?;
//! println!("{}", log.missing_edges());
//! # Ok(())
//! # }
//! ```
//!
//! # What safe code cannot do
//!
//! - Use a driver that is gone. A process uses one driver at a time; while a context is open, [`Context::open`] refuses another.
//! - Free memory that queued work uses. The [`Context`] owns all memory; buffers and graphs are claims on it. It frees memory when
//!   the last claim is gone, after waiting for all work, and never during a capture. Memory of `cust` is freed through the driver's
//!   table, where the same wait comes first.
//! - Mix contexts. What another context made is refused before the driver sees it ([`Error::OtherContext`]).
//! - Launch an `unsafe fn` kernel, or one whose written argument overlaps another ([`Error::Overlap`]).
//! - Take a reference into host memory that a copy may write: [`HostBuffer`] is read and written by copying.
//!
//! # What is reported instead
//!
//! Host code may write a [`PinnedBuffer`] or a [`PageableBuffer`] while a copy from it is in flight, and two streams may touch one
//! buffer without an order. Neither can spoil memory that the program does not own; both give wrong data, and [`check`] names
//! the line.
//!
//! A constructor that returns has finished: [`DeviceBuffer::from_slice`] and [`DeviceBuffer::zeroed`] wait until the device has
//! the data.
//!
//! # Moving over from `cust`
//!
//! A `cust::memory::DeviceBuffer` is accepted as a kernel argument and as either end of a copy on a [`Stream`], and
//! [`DeviceBuffer::as_device_ptr`] goes into `cust`'s `launch!`. What `cust` submits is in no log, and its memory has no name in a
//! report.

#![doc(test(attr(deny(warnings))))]

mod clock;
mod context;
mod device;
mod error;
mod event;
mod floor;
mod graph;
mod in_flight;
mod launch;
mod limits;
mod log;
mod memory;
mod module;
mod record;
mod stream;
mod thread;
mod trace;
mod tracer;

pub use bytemuck;
pub use clock::HostClock;
pub use context::{Context, LaunchBlocking, NvtxRange, StartupTimes};
pub use device::{
    Device, DeviceProperties, InstalledDriver, Loading, Model, Options, PriorityRange, Schedule,
};
pub use error::{DriverError, Error, LastError};
pub use event::Event;
pub use graph::{Graph, GraphExec, GraphNode, GraphTopology};
pub use launch::{Attributes, LaunchConfig};
pub use log::{Log, MissingEdge, MissingEdges};
pub use memory::{
    DeviceBuffer, DeviceSlice, HostBuffer, HostMemory, HostSlice, PageableBuffer, PinnedBuffer,
};
pub use module::{LoadingMode, Module};
pub use stream::Stream;
pub use stream_order::program::StreamKind;
pub use thread::HostThread;
pub use trace::{COPY_TO_DEVICE, COPY_TO_HOST, Run, Trace, clock_step_ns};
pub use tracer::{TracedLaunch, TracedTransfer, Warp};

/// Runs `submission` and returns what it submitted, in order: [`Log::missing_edges`] says what is not ordered in it.
///
/// It does not wait for the work. What the host does with [`PinnedBuffer`]s and in waits is noted too, so a submission that reads
/// its results belongs here with the reading.
///
/// # Errors
///
/// The submission's own.
pub fn check(context: &Context, submission: impl FnOnce() -> Result<(), Error>) -> Result<Log, Error> {
    let (outcome, log) = context.recorded(submission);
    outcome.map(|()| log)
}

/// Runs `submission` with instrumented kernels, waits for it, and returns what it submitted and when that ran.
///
/// It runs twice where there was too little room for the records of its warps.
///
/// # Errors
///
/// The submission's own, and any error of the work.
#[track_caller]
pub fn trace(context: &Context, submission: impl Fn() -> Result<(), Error>) -> Result<Run, Error> {
    Run::of(context, submission)
}
