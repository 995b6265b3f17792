//! The kernels' PTX, compiled from the crate `gpu` by the build script and embedded in the program.

include!(concat!(env!("OUT_DIR"), "/ptx.rs"));
