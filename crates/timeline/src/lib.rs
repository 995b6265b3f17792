//! What ran when on a card, drawn.
//!
//! [`model`] is the input: bands of kernels on streams, the blocks that were resident on each multiprocessor, the edges that
//! events made, and those that are missing. Every drawing is a pure function from it to text. Nothing here reads a clock,
//! a file or a device.

pub mod chrome;
pub mod html;
mod layout;
pub mod model;
pub mod svg;
pub mod terminal;
mod words;
