//! The driver calls that a submission layer makes, declared. Each is a jump through the table; none is wrapped here.
//!
//! Names and meanings are those of the CUDA driver API; the suffix `_v2` is part of the name that the driver's
//! library exports. For all of them:
//!
//! - A call made before [`fill`](crate::fill), or one that the driver does not have, does nothing and answers
//!   [`CuResult::STUB_LIBRARY`](crate::CuResult::STUB_LIBRARY); [`take_missing`](crate::take_missing) says which.
//! - Any call may also answer the error of an earlier piece of asynchronous work.
//! - `cuInit` comes first; calls that take no device, and no handle that knows one, work on the calling thread's
//!   current context.
//! - A pointer to a result must be writable for its type. The driver writes it when the call succeeds, and then only.
//!
//! # Safety
//!
//! The caller's duty in every call: each handle is alive and of the driver that the table was filled from; each host
//! pointer is valid for what the call reads or writes through it, for an asynchronous call until the device is
//! done with it; and memory that the device reads or writes is not in use elsewhere at that time.

mod device;
mod graph;
mod memory;
mod module;
mod stream;

pub use device::*;
pub use graph::*;
pub use memory::*;
pub use module::*;
pub use stream::*;
