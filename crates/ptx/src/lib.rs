//! Reads PTX, and tells what a kernel does with the memory that its parameters point to.
//!
//! [`Module::parse`] turns a text into instructions. An instruction is looked up in one table of forms ([`FORMS`]); one that
//! is not in it is refused with its line, never guessed at. [`Module::dependence`] tells whether a kernel waits for the grids
//! before it, and what it can do to its parameters' memory until then. Source: PTX ISA 8.8.
//!
//! The crate knows no memory, no clock and no device. It depends on nothing of this workspace, opens no files and prints
//! nothing, and it does not panic, whatever the text is.
//!
//! ```
//! use ptx::{Module, Touches};
//!
//! let text = "
//! .version 7.8
//! .target sm_90
//! .address_size 64
//! .visible .entry copy(.param .u64 from, .param .u64 to)
//! {
//!     .reg .b32 %value;
//!     .reg .b64 %from, %to;
//!     ld.param.u64 %from, [from];
//!     ld.param.u64 %to, [to];
//!     ld.global.u32 %value, [%from];
//!     griddepcontrol.wait;
//!     st.global.u32 [%to], %value;
//!     ret;
//! }";
//! let dependence = Module::parse(text)?.dependence("copy").expect("the text has this kernel");
//! assert!(dependence.waits);
//! assert_eq!(dependence.before_wait, [Touches { reads: true, writes: false }, Touches::default()]);
//! # Ok::<(), ptx::Error>(())
//! ```

mod action;
mod body;
mod decode;
mod dependence;
mod error;
mod forms;
mod instruction;
mod lexer;
mod module;
mod number;
pub mod op;
mod operand;
mod scope;

pub use action::{Action, AtomicOp, Call, CallLayout, MemoryType, Reduce, Shuffle, Special, Vote};
pub use dependence::{Dependence, Touches};
pub use error::{Error, Reason};
pub use forms::{FORMS, Form};
pub use instruction::{
    Address, Base, Body, Function, Guard, Instruction, Module, Parameter, Reg, Relocation, Source, Space,
    Target, Variable,
};
