//! What a kernel may look like: every refusal and its message stand here.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{FnArg, Ident, ItemFn, LitStr, Pat, PointerMutability, ReturnType, Safety, Signature, Type};

/// PTX parameters of one kernel, at most; `cuda_std::abi::MAX_SLOTS`, which the host half compares at compile time.
pub const MAX_SLOTS: usize = 32;

/// Architectures that `since` may name, as rustc's target features know them.
const ARCHITECTURES: [&str; 9] =
    ["sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_120"];

/// The attribute's options.
#[derive(Default)]
pub struct Options {
    /// The first architecture that has the kernel, if not every one.
    pub since: Option<LitStr>,
    /// All slices are of the same length: the host checks it, and the device relies on it.
    pub equal_lengths: bool,
    /// The kernel has no traced twin.
    pub untraced: bool,
}

impl Options {
    /// The number in `sm_NN`, or 0 for every architecture.
    pub fn since_sm(&self) -> u32 {
        let name = self.since.as_ref().map(LitStr::value).unwrap_or_default();
        name.trim_start_matches("sm_").parse().unwrap_or(0)
    }
}

impl Parse for Options {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let mut options = Options::default();
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            match key.to_string().as_str() {
                "since" => options.since = Some(architecture(input)?),
                "equal_lengths" => options.equal_lengths = true,
                "untraced" => options.untraced = true,
                _ => {
                    let known = "a kernel's options are `since = \"sm_NN\"`, `equal_lengths` and `untraced`";
                    return Err(syn::Error::new(key.span(), known));
                }
            }
            if !input.is_empty() {
                input.parse::<syn::Token![,]>()?;
            }
        }
        Ok(options)
    }
}

fn architecture(input: ParseStream) -> syn::Result<LitStr> {
    input.parse::<syn::Token![=]>()?;
    let name: LitStr = input.parse()?;
    if ARCHITECTURES.contains(&name.value().as_str()) {
        return Ok(name);
    }
    let known = ARCHITECTURES.join(", ");
    Err(syn::Error::new(name.span(), format!("no such architecture; known are {known}")))
}

/// One parameter of a kernel.
pub struct Parameter {
    pub name: Ident,
    pub written: Type,
    pub kind: Kind,
}

/// How it travels; the same cases as `cuda_std::abi::ParameterKind`.
pub enum Kind {
    Slice { element: Type, writes: bool },
    Pointer { element: Type, writes: bool },
    Scalar,
}

impl Kind {
    fn slots(&self) -> usize {
        if matches!(self, Kind::Slice { .. }) { 2 } else { 1 }
    }
}

/// Checks the signature and returns the parameters in order.
pub fn read(function: &ItemFn) -> syn::Result<Vec<Parameter>> {
    let signature = &function.sig;
    refuse_if(&signature.constness, "a kernel is launched, not evaluated: it cannot be `const`")?;
    refuse_if(
        &signature.asyncness,
        "a kernel cannot be `async`: the stream that it is launched on is asynchronous",
    )?;
    refuse_if(&signature.abi, "a kernel has its own calling convention: leave `extern` out")?;
    refuse_if(&signature.variadic, "a kernel takes a fixed number of parameters")?;
    let generics = &signature.generics;
    if !generics.params.is_empty() || generics.where_clause.is_some() {
        return Err(syn::Error::new(
            generics.params.span(),
            "a kernel cannot be generic: the entry needs one name and one layout; call a generic function from it",
        ));
    }
    if let ReturnType::Type(_, returned) = &signature.output {
        return Err(syn::Error::new(
            returned.span(),
            "a kernel returns nothing: write the result to a `&mut [T]` or `*mut T` parameter",
        ));
    }
    let parameters = signature.inputs.iter().map(parameter).collect::<syn::Result<Vec<_>>>()?;
    let pointer = parameters.iter().find(|parameter| matches!(parameter.kind, Kind::Pointer { .. }));
    if let Some(pointer) = pointer.filter(|_| !is_unsafe(signature)) {
        return Err(syn::Error::new_spanned(
            &pointer.written,
            "a kernel with a pointer parameter is an `unsafe fn`: nothing bounds what it reaches; take `&[T]` or \
             `&mut [T]`, or write `unsafe fn` and say in `# Safety` how long the memory must be",
        ));
    }
    if parameters.iter().map(|parameter| parameter.kind.slots()).sum::<usize>() > MAX_SLOTS {
        return Err(syn::Error::new(
            signature.inputs.span(),
            format!("a kernel takes at most {MAX_SLOTS} parameters, a slice counting as two"),
        ));
    }
    Ok(parameters)
}

/// Returns whether the function is an `unsafe fn`.
pub fn is_unsafe(signature: &Signature) -> bool {
    matches!(signature.safety, Safety::Unsafe(_))
}

fn refuse_if(part: &Option<impl ToTokens>, reason: &str) -> syn::Result<()> {
    match part {
        Some(tokens) => Err(syn::Error::new(tokens.span(), reason)),
        None => Ok(()),
    }
}

fn parameter(input: &FnArg) -> syn::Result<Parameter> {
    let FnArg::Typed(typed) = input else {
        return Err(syn::Error::new(input.span(), "a kernel is a free function: it has no `self`"));
    };
    let Pat::Ident(pattern) = &*typed.pat else {
        return Err(syn::Error::new(
            typed.pat.span(),
            "name the parameter: a pattern has no name in the PTX",
        ));
    };
    let written = (*typed.ty).clone();
    Ok(Parameter { name: pattern.ident.clone(), kind: kind(&written)?, written })
}

fn kind(written: &Type) -> syn::Result<Kind> {
    match written {
        Type::Reference(reference) => match &*reference.elem {
            Type::Slice(slice) if reference.lifetime.is_none() => {
                Ok(Kind::Slice { element: (*slice.elem).clone(), writes: reference.mutability.is_some() })
            }
            Type::Slice(_) => Err(syn::Error::new(
                reference.lifetime.span(),
                "leave the lifetime out: a kernel's buffers live for the launch",
            )),
            _ => Err(syn::Error::new(
                written.span(),
                "a kernel takes `&[T]` or `&mut [T]`, or a number by value, not a reference to one value",
            )),
        },
        Type::Ptr(pointer) => Ok(Kind::Pointer {
            element: (*pointer.elem).clone(),
            writes: matches!(pointer.mutability, PointerMutability::Mut(_)),
        }),
        Type::Path(_) => Ok(Kind::Scalar),
        _ => Err(syn::Error::new(
            written.span(),
            "a kernel takes `&[T]`, `&mut [T]`, `*const T`, `*mut T`, numbers and `bool`",
        )),
    }
}

/// The name of the kernel's traced twin (`cuda_std::trace`).
pub fn traced(kernel: &Ident) -> Ident {
    format_ident!("{}_traced", kernel)
}

/// The type as its author wrote it, for descriptors and messages: `&mut [f32]`, not `& mut [f32]`.
pub fn text(written: &impl ToTokens) -> String {
    let tokens: TokenStream = written.to_token_stream();
    tokens.to_string().replace("& ", "&").replace("* ", "*").replace(" :: ", "::").replace(" ;", ";")
}
