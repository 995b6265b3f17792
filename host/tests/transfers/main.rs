//! The lessons about time and transfers on the virtual cards, and with `cargo test -p host -- --ignored gpu` on a GPU:
//! `timing`, `copies` and `pipeline`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../support/card.rs"]
mod card;
mod copies;
mod pipeline;
mod rig;
mod timing;
