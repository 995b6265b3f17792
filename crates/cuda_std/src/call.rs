//! The host's half of a kernel: its arguments, packed and ready to launch.
//!
//! `#[kernel]` writes a function of the kernel's name whose parameters follow the kernel's own signature; it packs them
//! into a [`Call`]. What launches a call, and on which stream, is the host's business: nothing here knows a driver.

#[cfg(feature = "cust")]
mod of_cust;

use std::marker::PhantomData;
use std::ops::Range;

use crate::abi::{Access, Kernel, MAX_SLOTS};

/// Device memory that holds elements of type `T` in a row.
///
/// # Safety
///
/// For as long as the value is borrowed, `location().address` is aligned for `T`, not null, and the first of
/// `location().elements` elements of `T` that a kernel may access.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot reach `{Self}` as device memory of `{T}`",
    label = "not a device buffer of `{T}`",
    note = "copy host data to the device first, and pass the device buffer; its element type must be the kernel's"
)]
pub unsafe trait DeviceMemory<T> {
    /// Where the elements are.
    fn location(&self) -> Location;
}

/// A run of elements in device memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The buffer's identity, which is never reused, unlike an address; [`Location::FOREIGN`] where it has none.
    pub buffer: u64,
    /// Address of the first element on the device.
    pub address: u64,
    /// Distance of the first element from the buffer's start, bytes.
    pub offset_bytes: u64,
    /// How many elements.
    pub elements: usize,
}

impl Location {
    /// The `buffer` of memory whose owner gave it no identity: another library's, or a host's own bookkeeping.
    ///
    /// Two locations that have it may be of two allocations or of one. Only their addresses tell, and only while both
    /// are allocated; what happens to such memory from one launch to the next cannot be followed.
    pub const FOREIGN: u64 = u64::MAX;
}

/// A number that a kernel takes by value, at most eight bytes.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot take `{Self}` by value",
    label = "not a number or `bool`",
    note = "pass the parts as numbers, or put them in device memory and pass the buffer"
)]
pub trait Scalar: Copy + sealed::Sealed {
    #[doc(hidden)]
    fn to_slot(self) -> u64;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! scalar {
    ($($type:ty: $value:ident => $bits:expr;)*) => {$(
        impl sealed::Sealed for $type {}
        impl Scalar for $type {
            fn to_slot(self) -> u64 {
                let $value = self;
                u64::from($bits)
            }
        }
    )*};
}

scalar! {
    u8: v => v;
    u16: v => v;
    u32: v => v;
    u64: v => v;
    i8: v => v.cast_unsigned();
    i16: v => v.cast_unsigned();
    i32: v => v.cast_unsigned();
    i64: v => v.cast_unsigned();
    f32: v => v.to_bits();
    f64: v => v.to_bits();
    bool: v => v;
}

impl sealed::Sealed for usize {}
impl Scalar for usize {
    fn to_slot(self) -> u64 {
        self as u64
    }
}

/// What a call does with one buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferUse {
    /// The buffer's identity, or [`Location::FOREIGN`].
    pub buffer: u64,
    /// Device address of the first byte that the kernel can reach.
    pub address: u64,
    /// Read or written.
    pub access: Access,
    /// The bytes that the kernel can reach, from the buffer's start.
    pub bytes: Range<u64>,
    /// The kernel's parameter that it was passed for.
    pub parameter: &'static str,
}

impl BufferUse {
    fn shares_a_byte_with(&self, other: &Self) -> bool {
        let addresses =
            |of: &Self| (of.address, of.address.saturating_add(of.bytes.end.saturating_sub(of.bytes.start)));
        let ((start, end), (other_start, other_end)) = (addresses(self), addresses(other));
        start.max(other_start) < end.min(other_end)
    }
}

/// A kernel with its arguments: what a launch takes beside grid and block.
///
/// It borrows the buffers, so they outlive the launch call. It does not order what is done to their contents: another
/// stream may write them while the kernel reads, wherever no edge between the streams forbids it. A checker of the order
/// reports that; no type prevents it.
///
/// To launch a call of a safe kernel is not `unsafe`, if the host refuses one whose slices do not
/// [fit](Call::lengths_fit) or [overlap](Call::overlap). A call of an `unsafe fn` kernel is made by an `unsafe fn`.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    kernel: &'static Kernel,
    slots: [u64; MAX_SLOTS + 1],
    used: usize,
    is_traced: bool,
    buffers: [Option<BufferUse>; MAX_SLOTS],
    parameters: usize,
    /// The one length, once a slice has given it.
    shared_length: Option<usize>,
    lengths_fit: bool,
    borrowed: PhantomData<&'a ()>,
}

impl<'a> Call<'a> {
    /// The kernel to launch.
    pub fn kernel(&self) -> &'static Kernel {
        self.kernel
    }

    /// The entry to launch: the kernel's own, or its traced twin's.
    pub fn entry(&self) -> &'static str {
        if self.is_traced { self.kernel.traced_name } else { self.kernel.name }
    }

    /// Makes it a call of the kernel's traced twin, or leaves it as it is if there is none. `records` is the device address
    /// of as many [records](crate::trace::records) as the launch has warps.
    pub fn traced(mut self, records: u64) -> Self {
        if !self.is_traced && !self.kernel.traced_name.is_empty() {
            self.push(records);
            self.is_traced = true;
        }
        self
    }

    /// The values of the entry's PTX parameters in order, each in the low bytes of its slot.
    pub fn slots(&self) -> &[u64] {
        &self.slots[..self.used]
    }

    /// The buffers that the kernel reads and writes, in the order of its parameters.
    pub fn buffers(&self) -> impl Iterator<Item = &BufferUse> {
        self.buffers[..self.parameters].iter().flatten()
    }

    /// Whether the slices' lengths are what the kernel needs: a launch of a call for which they are not is refused.
    pub fn lengths_fit(&self) -> bool {
        self.lengths_fit
    }

    /// Whether the host half of an `unsafe fn` kernel made the call: its caller then answers for what the kernel's
    /// `# Safety` section asks, aliasing included.
    pub fn is_unsafe(&self) -> bool {
        self.kernel.is_unsafe
    }

    /// Returns the names of two parameters that share a byte of device memory, of which the kernel writes the first;
    /// none where there are no such two.
    ///
    /// In a kernel's body a `&mut [T]` is the only way to its elements. A host that launches a safe kernel refuses a call
    /// for which this returns names.
    pub fn overlap(&self) -> Option<(&'static str, &'static str)> {
        let written = self.buffers().filter(|one| one.access == Access::Write);
        written
            .flat_map(|one| self.buffers().map(move |other| (one, other)))
            .find(|(one, other)| one.parameter != other.parameter && one.shares_a_byte_with(other))
            .map(|(one, other)| (one.parameter, other.parameter))
    }

    /// An empty call; the code that `#[kernel]` writes fills it.
    #[doc(hidden)]
    pub fn new(kernel: &'static Kernel) -> Self {
        Call {
            kernel,
            slots: [0; MAX_SLOTS + 1],
            used: 0,
            is_traced: false,
            buffers: [const { None }; MAX_SLOTS],
            parameters: 0,
            shared_length: None,
            lengths_fit: true,
            borrowed: PhantomData,
        }
    }

    #[doc(hidden)]
    pub fn slice<T>(mut self, access: Access, memory: &'a impl DeviceMemory<T>) -> Self {
        let location = memory.location();
        self.push(location.address);
        match self.shared_length {
            Some(length) => self.lengths_fit &= length == location.elements,
            None => self.push(location.elements as u64),
        }
        if self.kernel.equal_lengths {
            self.shared_length.get_or_insert(location.elements);
        }
        self.note::<T>(access, location);
        self
    }

    #[doc(hidden)]
    pub fn pointer<T>(mut self, access: Access, memory: &'a impl DeviceMemory<T>) -> Self {
        let location = memory.location();
        self.push(location.address);
        self.note::<T>(access, location);
        self
    }

    #[doc(hidden)]
    pub fn scalar(mut self, value: impl Scalar) -> Self {
        self.push(value.to_slot());
        self.parameters += 1;
        self
    }

    fn push(&mut self, slot: u64) {
        self.slots[self.used] = slot;
        self.used += 1;
    }

    fn note<T>(&mut self, access: Access, location: Location) {
        let start = location.offset_bytes;
        self.buffers[self.parameters] = Some(BufferUse {
            buffer: location.buffer,
            address: location.address,
            access,
            bytes: start..start + (location.elements * size_of::<T>()) as u64,
            parameter: self.kernel.parameters[self.parameters].name,
        });
        self.parameters += 1;
    }
}
