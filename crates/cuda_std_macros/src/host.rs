//! The host's half of `#[kernel]`: the descriptor, the function that packs arguments, and the body once more, so that
//! the host's compiler checks it too and an editor understands it.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, ItemFn};

use crate::signature::{self, Kind, MAX_SLOTS, Options, Parameter};

/// Everything the host sees of a kernel.
pub fn half(function: &ItemFn, parameters: &[Parameter], options: &Options) -> TokenStream {
    let name = &function.sig.ident;
    let text = name.to_string();
    let traced_text = if options.untraced { String::new() } else { signature::traced(name).to_string() };
    let traced_bytes = quote!(#name::KERNEL.traced_name.len());
    let visibility = &function.vis;
    let docs: Vec<&Attribute> =
        function.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")).collect();
    let since_sm = options.since_sm();
    let equal_lengths = options.equal_lengths;
    let safety = &function.sig.safety;
    let is_unsafe = signature::is_unsafe(&function.sig);
    let contract = (is_unsafe && !says_safety(&docs)).then(|| {
        let contract =
            "# Safety\n\nUntil the launch is done, the caller keeps what the kernel's own contract asks.";
        quote! {
            #[doc = ""]
            #[doc = #contract]
        }
    });
    let descriptors = parameters.iter().map(descriptor);
    let takes = parameters.iter().map(|Parameter { name, written, kind }| match kind {
        Kind::Slice { element, .. } | Kind::Pointer { element, .. } => {
            quote!(#name: &'call impl ::cuda_std::call::DeviceMemory<#element>)
        }
        Kind::Scalar => quote!(#name: #written),
    });
    let packs = parameters.iter().map(|Parameter { name, kind, .. }| match kind {
        Kind::Slice { element, writes } => {
            let access = access(*writes);
            quote!(.slice::<#element>(#access, #name))
        }
        Kind::Pointer { element, writes } => {
            let access = access(*writes);
            quote!(.pointer::<#element>(#access, #name))
        }
        Kind::Scalar => quote!(.scalar(#name)),
    });
    quote! {
        #(#docs)*
        #contract
        #[cfg(not(target_arch = "nvptx64"))]
        #[allow(clippy::too_many_arguments)]
        #visibility #safety fn #name<'call>(#(#takes),*) -> ::cuda_std::call::Call<'call> {
            ::cuda_std::call::Call::new(#name::KERNEL) #(#packs)*
        }

        #[cfg(not(target_arch = "nvptx64"))]
        #[doc = concat!("The descriptor of the kernel [`", #text, "`](fn@", #text, ").")]
        #[allow(non_camel_case_types)]
        #visibility enum #name {}

        #[cfg(not(target_arch = "nvptx64"))]
        impl #name {
            #[doc = "Name, parameters and place in the source."]
            pub const KERNEL: &'static ::cuda_std::abi::Kernel = &::cuda_std::abi::Kernel {
                name: #text,
                traced_name: #traced_text,
                parameters: &[#(#descriptors),*],
                since_sm: #since_sm,
                equal_lengths: #equal_lengths,
                is_unsafe: #is_unsafe,
                file: file!(),
                line: line!(),
            };
        }

        #[cfg(not(target_arch = "nvptx64"))]
        const _: () = {
            assert!(::cuda_std::abi::MAX_SLOTS == #MAX_SLOTS);
            assert!(#traced_bytes == 0 || #traced_bytes == #name::KERNEL.name.len() + ::cuda_std::trace::SUFFIX.len());
            #[allow(dead_code)]
            #function
        };
    }
}

/// Returns whether the kernel's docs have a section on safety.
fn says_safety(docs: &[&Attribute]) -> bool {
    docs.iter().any(|doc| doc.to_token_stream().to_string().contains("# Safety"))
}

fn descriptor(parameter: &Parameter) -> TokenStream {
    let name = parameter.name.to_string();
    let written = &parameter.written;
    let type_name = signature::text(written);
    let kind = match &parameter.kind {
        Kind::Slice { element, writes } => {
            let access = access(*writes);
            quote!(Slice { access: #access, element_bytes: size_of::<#element>() })
        }
        Kind::Pointer { element, writes } => {
            let access = access(*writes);
            quote!(Pointer { access: #access, element_bytes: size_of::<#element>() })
        }
        Kind::Scalar => quote!(Scalar { bytes: size_of::<#written>() }),
    };
    quote! {
        ::cuda_std::abi::Parameter {
            name: #name,
            type_name: #type_name,
            kind: ::cuda_std::abi::ParameterKind::#kind,
        }
    }
}

fn access(writes: bool) -> TokenStream {
    if writes { quote!(::cuda_std::abi::Access::Write) } else { quote!(::cuda_std::abi::Access::Read) }
}
