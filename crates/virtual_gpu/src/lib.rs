//! A GPU in software: it executes the very PTX that the compiler wrote, and its clock decides what overlaps.
//!
//! Crate [`ptx`] reads the text. In reading order: [`memory`] (what a device address means), [`segment`] (what the
//! clock knows of a running block), [`exec`] (runs a block's lanes), [`card`] (what a card is), [`clock`] (what happens
//! when), [`machine`] (the two together), [`driver`] (the `cu*` calls).

pub mod card;
pub mod clock;
pub mod driver;
pub mod exec;
pub mod machine;
pub mod memory;
pub mod segment;
