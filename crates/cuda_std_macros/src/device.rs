//! The device's half of `#[kernel]`: the PTX entry, with slices lowered to address and length.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::ItemFn;

use crate::signature::{Kind, Parameter, Since};

/// The entry, compiled only for the device, and from the architecture of `since` on.
///
/// A slice's address travels as a reference to an empty array: a thin pointer in the PTX, yet one that LLVM knows to be
/// unaliased (and read-only, when shared), so that `&[T]` is loaded through the read-only path.
pub fn half(function: &ItemFn, parameters: &[Parameter], since: &Since) -> TokenStream {
    let name = &function.sig.ident;
    let inputs = &function.sig.inputs;
    let block = &function.block;
    let (docs, attributes): (Vec<_>, Vec<_>) =
        function.attrs.iter().partition(|attribute| attribute.path().is_ident("doc"));
    let safety = &function.sig.safety;
    let feature = since.0.iter();
    let entry_parameters = parameters.iter().map(|Parameter { name, written, kind }| match kind {
        Kind::Slice { element, writes } => {
            let length = length_of(name);
            let mutable = writes.then(|| quote!(mut));
            quote!(#name: &#mutable [#element; 0], #length: usize)
        }
        Kind::Pointer { .. } | Kind::Scalar => quote!(#name: #written),
    });
    let arguments = parameters.iter().map(|Parameter { name, kind, .. }| match kind {
        Kind::Slice { writes, .. } => {
            let length = length_of(name);
            if *writes {
                quote!(::core::slice::from_raw_parts_mut(#name.as_mut_ptr(), #length))
            } else {
                quote!(::core::slice::from_raw_parts(#name.as_ptr(), #length))
            }
        }
        Kind::Pointer { .. } | Kind::Scalar => quote!(#name),
    });
    quote! {
        #(#docs)*
        #[cfg(target_arch = "nvptx64")]
        #(#[cfg(target_feature = #feature)])*
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn #name(#(#entry_parameters),*) {
            #(#attributes)*
            #[inline(always)]
            #safety fn body(#inputs) #block
            // SAFETY: the host's half passes the address and the length of one device buffer for each slice, and keeps
            // the promises that `cuda_std::abi` lists.
            unsafe { body(#(#arguments),*) }
        }
    }
}

fn length_of(name: &syn::Ident) -> syn::Ident {
    format_ident!("__{}_length", name)
}
