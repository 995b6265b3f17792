//! The device's half of `#[kernel]`: the PTX entry, with slices lowered to address and length, and its traced twin.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Ident, ItemFn};

use crate::signature::{self, Kind, Options, Parameter};

/// Writes the entry and its traced twin, compiled only for the device, and from the architecture of `since` on.
///
/// A slice's address travels as a reference to an empty array: a thin pointer in the PTX, yet one that LLVM knows to be
/// unaliased (and read-only, when shared), so that `&[T]` is loaded through the read-only path.
pub fn half(function: &ItemFn, parameters: &[Parameter], options: &Options) -> TokenStream {
    let name = &function.sig.ident;
    let inputs = &function.sig.inputs;
    let block = &function.block;
    let (docs, attributes): (Vec<_>, Vec<_>) =
        function.attrs.iter().partition(|attribute| attribute.path().is_ident("doc"));
    let safety = &function.sig.safety;
    let feature: Vec<_> = options.since.iter().collect();
    let mut lengths = Lengths { shared: options.equal_lengths, given: None };
    let (mut entry_parameters, mut arguments) = (Vec::new(), Vec::new());
    for Parameter { name, written, kind } in parameters {
        match kind {
            Kind::Slice { element, writes } => {
                let (length, is_new) = lengths.of(name);
                let length_parameter = is_new.then(|| quote!(, #length: usize));
                if *writes {
                    entry_parameters.push(quote!(#name: &mut [#element; 0] #length_parameter));
                    arguments.push(quote!(::core::slice::from_raw_parts_mut(#name.as_mut_ptr(), #length)));
                } else {
                    entry_parameters.push(quote!(#name: &[#element; 0] #length_parameter));
                    arguments.push(quote!(::core::slice::from_raw_parts(#name.as_ptr(), #length)));
                }
            }
            Kind::Pointer { .. } | Kind::Scalar => {
                entry_parameters.push(quote!(#name: #written));
                arguments.push(quote!(#name));
            }
        }
    }
    let traced_name = signature::traced(name);
    let traced_docs = format!("The traced twin of [`{name}`].");
    let entry = |docs: TokenStream, name: &Ident, parameters: &[TokenStream], before, after| {
        quote! {
            #docs
            #[cfg(target_arch = "nvptx64")]
            #(#[cfg(target_feature = #feature)])*
            #[unsafe(no_mangle)]
            pub unsafe extern "ptx-kernel" fn #name(#(#parameters),*) {
                #(#attributes)*
                #[inline(always)]
                #safety fn body(#inputs) #block
                #before
                // SAFETY: for each slice the host's half passes the address and the length of device memory that
                // `DeviceMemory` vouches for. Before it launches, the host checks that lengths which are to be equal are
                // (`Call::lengths_fit`), and, for a safe kernel, that no written slice overlaps another argument
                // (`Call::overlap`); for an `unsafe fn` kernel, whoever made the call answers for that. What other streams
                // do to the memory at the same time is not prevented: a checker of their order reports it.
                unsafe { body(#(#arguments),*) }
                #after
            }
        }
    };
    let own = entry(quote!(#(#docs)*), name, &entry_parameters, None, None);
    if options.untraced {
        return own;
    }
    entry_parameters.push(quote!(__records: *mut u64));
    // SAFETY of both calls, in the code that is written: the host launches a twin through `Call::traced`, which it gives
    // the address of as many records as the launch has warps.
    let begin = quote!(unsafe { ::cuda_std::trace::begin(__records) });
    let end = quote!(unsafe { ::cuda_std::trace::end(__records) });
    let traced = entry(
        quote!(#[doc = #traced_docs]),
        &traced_name,
        &entry_parameters,
        Some(quote!(#begin;)),
        Some(quote!(#end)),
    );
    quote! { #own #traced }
}

/// The entry's length parameters: one for each slice, or the first one's for all.
struct Lengths {
    shared: bool,
    given: Option<Ident>,
}

impl Lengths {
    /// The name of the slice's length, and whether that is a parameter of its own.
    fn of(&mut self, slice: &Ident) -> (Ident, bool) {
        match &self.given {
            Some(length) if self.shared => (length.clone(), false),
            _ => {
                let length = format_ident!("__{}_length", slice);
                self.given = Some(length.clone());
                (length, true)
            }
        }
    }
}
