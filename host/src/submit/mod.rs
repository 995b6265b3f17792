//! The submission layer: streams, events, buffers and typed launches, over `cust` (context, allocation) and
//! `cuda_driver` (every other call).
//!
//! It is the one room of the host with `unsafe` in it. It prints nothing and knows no lesson. Everything it owns borrows
//! the [`Context`], so nothing outlives it; every failure carries the driver's number, name and text, the call, and the
//! caller's file and line. A failure while something is released is kept for [`Context::finish`].

mod buffer;
mod card;
mod checks;
mod context;
mod dependence;
mod driver;
mod error;
mod event;
mod graph;
mod host_clock;
mod host_memory;
mod last_error;
mod launch;
mod limits;
mod log;
mod module;
mod pending;
mod priority;
mod range;
mod stamp;
mod stream;
mod survey;
mod thread;
mod trace;

pub use buffer::{Buffer, Element, View};
pub use card::Card;
pub use checks::Checks;
pub use context::{Context, Opening};
pub use dependence::Dependence;
pub use driver::{Opened, open_driver};
pub use error::{DriverError, Error};
pub use event::Event;
pub use graph::{Executable, Graph, Node, Shape};
pub use host_clock::HostClock;
pub use host_memory::{HostMemory, Pageable, Pinned};
pub use last_error::LastError;
pub use launch::{Attributes, Launch};
pub use log::{Entry, EventId, Log, Operation, StreamId, ThreadId};
pub use module::{Loading, LoadingMode, Module};
pub use priority::PriorityRange;
pub use range::Range;
pub use stream::{Stream, StreamKind};
pub use survey::{Survey, survey};
pub use thread::HostThread;
pub use trace::{Trace, TracedLaunch, TracedTransfer, Warp};
