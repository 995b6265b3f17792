//! The `#[kernel]` attribute of `cuda_std`: one function in, two halves out.
//!
//! For the device it writes the PTX entry, for the host the typed descriptor and the function that packs arguments. It
//! reads the tokens it is given and nothing else: no files, no environment. Names and layouts come from
//! `cuda_std::abi`.

mod device;
mod host;
mod signature;

use proc_macro::TokenStream;
use quote::quote;
use syn::{ItemFn, parse_macro_input};

/// Makes a function a GPU kernel.
///
/// On the device it becomes a PTX entry of the same name. On the host it becomes a function of the same name that takes
/// device buffers for slices and pointers, and values for numbers, and returns a `cuda_std::call::Call` to launch; the
/// type `NAME` carries the descriptor `NAME::KERNEL`.
///
/// Parameters: `&[T]`, `&mut [T]`, `*const T`, `*mut T`, numbers and `bool` (see `cuda_std::abi`). A kernel returns
/// nothing, and is neither generic, `async`, `const` nor `extern`.
///
/// `#[kernel(since = "sm_90")]` leaves the entry out of PTX for older architectures.
///
/// `#[kernel(equal_lengths)]` says that all slices are of the same length. The host checks it at the launch, and the entry
/// takes one length for all: an index that is below one slice's length is below all, and costs one bounds check.
///
/// `#[kernel(untraced)]` leaves the traced twin (`cuda_std::trace`) out; a traced run then launches the kernel itself.
///
/// An `unsafe fn` kernel is an `unsafe fn` on the host too: until the launch is done, its caller keeps what the kernel's
/// `# Safety` section asks. A kernel with a pointer parameter must be one, since nothing bounds what it reaches.
#[proc_macro_attribute]
pub fn kernel(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(arguments as signature::Options);
    let function = parse_macro_input!(item as ItemFn);
    match signature::read(&function) {
        Ok(parameters) => {
            let device = device::half(&function, &parameters, &options);
            let host = host::half(&function, &parameters, &options);
            quote! { #device #host }.into()
        }
        Err(refusal) => refusal.to_compile_error().into(),
    }
}
