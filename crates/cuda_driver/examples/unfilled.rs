//! Names this crate and calls nothing of it: `cargo run -p cuda_driver --example unfilled`.
//!
//! `cust` links all the same, and each of its calls answers an error instead of ending the process.

#![allow(clippy::print_stdout, reason = "it is what the program is for")]

// First `cust`, then this crate: the linker is then given this crate first, and GNU ld must keep the jumps before
// it has met who wants them.
extern crate cust;

extern crate cuda_driver as _;

fn main() {
    println!("{:?}", cust::init(cust::CudaFlags::empty()));
}
