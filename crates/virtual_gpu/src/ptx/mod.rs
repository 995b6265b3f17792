//! Reads PTX: text in, instructions out. It knows no memory, no clock and no card.
//!
//! [`Module::parse`] is the entry. An instruction is looked up in one table of forms ([`FORMS`]); one that is not in it
//! is refused with its line, never guessed at. Source: PTX ISA 8.8.

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
