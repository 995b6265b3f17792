//! host's build script: compiles the kernels of `gpu` to PTX, and leaves them in `OUT_DIR` for host to include.

use std::process::ExitCode;

use cuda_builder::CudaBuilder;

fn main() -> ExitCode {
    CudaBuilder::new("../gpu").embed()
}
