//! What a host needs to know of a kernel and of a compiled module, and the one place that says how parameters travel.
//!
//! A kernel's parameters become the parameters of a PTX entry of the same name, in order:
//!
//! | in Rust | in PTX | the launch passes |
//! |---|---|---|
//! | `&[T]` | `.u64` address, `.u64` length in elements | a device buffer, read |
//! | `&mut [T]` | `.u64` address, `.u64` length in elements | a device buffer, written |
//! | `*const T` | `.u64` address | a device buffer, read |
//! | `*mut T` | `.u64` address | a device buffer, written |
//! | a number or `bool` | one of its own size | the value |
//!
//! In a kernel with `equal_lengths` the first slice travels so, and every further slice as its address alone: the length is
//! the first one's, and the host refuses a launch with others. The traced twin of a kernel takes one more `.u64` at the end,
//! the address of its records ([`trace`](crate::trace)).
//!
//! A slice's address is never null, not even for an empty one. `&[T]` promises that nobody writes the elements while
//! the kernel runs, and is loaded through the read-only path (`ld.global.nc`), like a `const __restrict__` pointer in
//! CUDA C++; `*const T` promises nothing. In `&mut [T]` each thread touches only elements that no other thread of the
//! launch touches.

/// Parameter slots (PTX parameters) of one kernel, at most. Its traced twin has one more.
pub const MAX_SLOTS: usize = 32;

/// Whether a kernel reads a buffer or writes it. A written buffer may be read too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// `&[T]` and `*const T`.
    Read,
    /// `&mut [T]` and `*mut T`.
    Write,
}

/// How a parameter travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// Address and length of a buffer; `element_bytes` is the size of one element.
    Slice {
        /// What the kernel does with it.
        access: Access,
        /// Size of one element, bytes.
        element_bytes: usize,
    },
    /// The address of a buffer alone.
    Pointer {
        /// What the kernel does with it.
        access: Access,
        /// Size of one element, bytes.
        element_bytes: usize,
    },
    /// A value of `bytes` bytes.
    Scalar {
        /// Size of the value, bytes.
        bytes: usize,
    },
}

/// One parameter of a kernel, as its author wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name in the source.
    pub name: &'static str,
    /// Its type in the source, as text.
    pub type_name: &'static str,
    /// How it travels.
    pub kind: ParameterKind,
}

/// A kernel's descriptor, made by `#[kernel]` on the host: `my_kernel::KERNEL`.
#[derive(Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Name in the source, in the PTX, and so in a profile.
    pub name: &'static str,
    /// Name of its traced twin ([`trace`](crate::trace)); empty if it was made `untraced` and has none.
    pub traced_name: &'static str,
    /// The parameters in order.
    pub parameters: &'static [Parameter],
    /// The least architecture whose PTX has the kernel, as 10 x compute capability (90 for `sm_90`); 0 for every one.
    pub since_sm: u32,
    /// Whether its slices share one length: whoever launches it checks
    /// [`Call::lengths_fit`](crate::call::Call::lengths_fit).
    pub equal_lengths: bool,
    /// Whether its author wrote `unsafe fn`: whoever calls it answers for what its `# Safety` section asks.
    pub is_unsafe: bool,
    /// The source file that defines it.
    pub file: &'static str,
    /// The line in that file.
    pub line: u32,
}

impl Kernel {
    /// Sizes of the entry's PTX parameters in order, bytes.
    pub fn slots(&self) -> impl Iterator<Item = usize> {
        self.travels().flat_map(|(_, bytes, count)| core::iter::repeat_n(bytes, count))
    }

    /// The buffers among the parameters, each with the place that its address has among the PTX parameters.
    pub fn addresses(&self) -> impl Iterator<Item = (usize, &'static Parameter)> {
        let mut next = 0;
        self.travels().filter_map(move |(parameter, _, count)| {
            let place = next;
            next += count;
            let is_buffer = !matches!(parameter.kind, ParameterKind::Scalar { .. });
            is_buffer.then_some((place, parameter))
        })
    }

    /// Each parameter, with the size of its PTX parameters in bytes and how many they are.
    fn travels(&self) -> impl Iterator<Item = (&'static Parameter, usize, usize)> {
        let mut slices = 0;
        self.parameters.iter().map(move |parameter| match parameter.kind {
            ParameterKind::Slice { .. } => {
                slices += 1;
                (parameter, 8, if self.equal_lengths && slices > 1 { 1 } else { 2 })
            }
            ParameterKind::Pointer { .. } => (parameter, 8, 1),
            ParameterKind::Scalar { bytes } => (parameter, bytes, 1),
        })
    }
}

/// A crate's kernels, compiled for one architecture.
///
/// `cuda_builder` writes one for each architecture, oldest first, into the source that a host crate includes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Image {
    /// The architecture as rustc names it, for example `sm_75`.
    pub arch: &'static str,
    /// The compute capability that the module needs, as (major, minor).
    pub capability: (u32, u32),
    /// The PTX version that the driver must know, as (major, minor).
    pub ptx_version: (u32, u32),
    /// The names of the entries, in the order of the text.
    pub kernels: &'static [&'static str],
    /// The PTX.
    pub text: &'static str,
}
