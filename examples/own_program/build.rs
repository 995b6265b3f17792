//! Compiles the kernels to PTX and leaves them in `OUT_DIR` for `main.rs` to include.

fn main() -> std::process::ExitCode {
    cuda_builder::CudaBuilder::new("kernels").embed()
}
