//! The launch with attributes: the structures of `cuLaunchKernelEx`, laid out as in `cuda.h` of CUDA 11.8 to 13.

use crate::handles::CUstream;

/// What a launch is given besides the kernel and its arguments. (`CUlaunchConfig`)
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct CUlaunchConfig {
    /// Blocks along x.
    pub grid_dim_x: u32,
    /// Blocks along y.
    pub grid_dim_y: u32,
    /// Blocks along z.
    pub grid_dim_z: u32,
    /// Threads of a block along x.
    pub block_dim_x: u32,
    /// Threads of a block along y.
    pub block_dim_y: u32,
    /// Threads of a block along z.
    pub block_dim_z: u32,
    /// Dynamic shared memory of a block, bytes.
    pub shared_mem_bytes: u32,
    /// The stream.
    pub stream: CUstream,
    /// The attributes: `num_attrs` of them; may be null when there are none.
    pub attrs: *mut CUlaunchAttribute,
    /// How many attributes there are.
    pub num_attrs: u32,
}

/// Which attribute a [`CUlaunchAttribute`] is. (`CUlaunchAttributeID`)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct CUlaunchAttributeId(
    /// The header's number.
    pub u32,
);

impl CUlaunchAttributeId {
    /// No attribute: the entry is skipped.
    pub const IGNORE: Self = Self(0);
    /// The kernel may start before the one ahead of it in the stream has ended. Needs compute capability 9.0.
    pub const PROGRAMMATIC_STREAM_SERIALIZATION: Self = Self(6);
    /// The priority of the launch: lower numbers go first.
    pub const PRIORITY: Self = Self(8);
}

/// One attribute of a launch. (`CUlaunchAttribute`)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct CUlaunchAttribute {
    id: CUlaunchAttributeId,
    padding: [u8; 4],
    value: CUlaunchAttributeValue,
}

/// The header's union of values: every member of it starts at its first byte. (`CUlaunchAttributeValue`)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(8))]
struct CUlaunchAttributeValue([u8; 64]);

impl CUlaunchAttribute {
    /// Whether the kernel may start before the one ahead of it in the stream has ended.
    ///
    /// It must then wait for that kernel's writes itself, with `griddepcontrol.wait`.
    pub const fn programmatic_stream_serialization(allowed: bool) -> Self {
        Self::of_int(CUlaunchAttributeId::PROGRAMMATIC_STREAM_SERIALIZATION, allowed as i32)
    }

    /// The priority of the launch, in the range that `cuCtxGetStreamPriorityRange` gives; lower numbers go first.
    pub const fn priority(priority: i32) -> Self {
        Self::of_int(CUlaunchAttributeId::PRIORITY, priority)
    }

    const fn of_int(id: CUlaunchAttributeId, value: i32) -> Self {
        let mut bytes = [0; 64];
        let [first, second, third, fourth] = value.to_ne_bytes();
        (bytes[0], bytes[1], bytes[2], bytes[3]) = (first, second, third, fourth);
        CUlaunchAttribute { id, padding: [0; 4], value: CUlaunchAttributeValue(bytes) }
    }

    /// Which attribute this is.
    pub const fn id(&self) -> CUlaunchAttributeId {
        self.id
    }

    /// The value, for an attribute whose value is an `int`, as it is for those this crate can make.
    pub const fn as_int(&self) -> i32 {
        let [first, second, third, fourth, ..] = self.value.0;
        i32::from_ne_bytes([first, second, third, fourth])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn an_attribute_is_laid_out_as_in_the_header() {
        assert_eq!(size_of::<CUlaunchAttribute>(), 72);
        assert_eq!(align_of::<CUlaunchAttribute>(), 8);
        assert_eq!(offset_of!(CUlaunchAttribute, id), 0);
        assert_eq!(offset_of!(CUlaunchAttribute, value), 8);
        assert_eq!(size_of::<CUlaunchAttributeValue>(), 64);
        assert_eq!(size_of::<CUlaunchAttributeId>(), 4);
    }

    #[test]
    fn a_launch_is_laid_out_as_in_the_header() {
        assert_eq!(size_of::<CUlaunchConfig>(), 56);
        assert_eq!(align_of::<CUlaunchConfig>(), 8);
        assert_eq!(offset_of!(CUlaunchConfig, grid_dim_x), 0);
        assert_eq!(offset_of!(CUlaunchConfig, grid_dim_z), 8);
        assert_eq!(offset_of!(CUlaunchConfig, block_dim_x), 12);
        assert_eq!(offset_of!(CUlaunchConfig, block_dim_z), 20);
        assert_eq!(offset_of!(CUlaunchConfig, shared_mem_bytes), 24);
        assert_eq!(offset_of!(CUlaunchConfig, stream), 32);
        assert_eq!(offset_of!(CUlaunchConfig, attrs), 40);
        assert_eq!(offset_of!(CUlaunchConfig, num_attrs), 48);
    }

    #[test]
    fn an_int_value_fills_the_first_four_bytes() {
        let attribute = CUlaunchAttribute::priority(-5);
        assert_eq!(attribute.id(), CUlaunchAttributeId(8));
        assert_eq!(attribute.as_int(), -5);
        assert_eq!(attribute.value.0[..4], (-5_i32).to_ne_bytes());
        assert_eq!(attribute.value.0[4..], [0; 60]);
        let serialization = CUlaunchAttribute::programmatic_stream_serialization(true);
        assert_eq!((serialization.id(), serialization.as_int()), (CUlaunchAttributeId(6), 1));
    }
}
