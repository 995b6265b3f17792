//! What `#[kernel]` says of a kernel on the host.

use std::marker::PhantomData;

use cuda_std::abi::{Access, Kernel, ParameterKind};
use cuda_std::call::BufferUse;
use cuda_std::kernel;

#[path = "support/buffer.rs"]
mod buffer;
use buffer::DeviceBuffer;

/// Every kind of parameter once.
#[expect(clippy::too_many_arguments, reason = "one of each kind")]
#[kernel(since = "sm_90")]
pub unsafe fn every_kind(
    shared: &[f32],
    unique: &mut [u64],
    read: *const u8,
    written: *mut f64,
    byte: i8,
    flag: bool,
    wide: i64,
    real: f64,
) {
    // SAFETY: never run; the body is here to be type-checked.
    unsafe {
        *written = f64::from(shared[0]) + f64::from(*read) + f64::from(byte) + real;
        unique[0] = u64::from(flag) + wide.cast_unsigned();
    }
}

#[test]
fn the_descriptor_tells_name_parameters_and_place() {
    let kernel = every_kind::KERNEL;
    assert_eq!(kernel.name, "every_kind");
    assert_eq!((kernel.since_sm, kernel.equal_lengths), (90, false));
    assert!(alike::KERNEL.equal_lengths);
    assert!(kernel.file.ends_with("descriptor.rs") && kernel.line > 10);
    let kinds: Vec<_> = kernel.parameters.iter().map(|p| (p.name, p.type_name, p.kind)).collect();
    let (read, write) = (Access::Read, Access::Write);
    assert_eq!(
        kinds,
        [
            ("shared", "&[f32]", ParameterKind::Slice { access: read, element_bytes: 4 }),
            ("unique", "&mut [u64]", ParameterKind::Slice { access: write, element_bytes: 8 }),
            ("read", "*const u8", ParameterKind::Pointer { access: read, element_bytes: 1 }),
            ("written", "*mut f64", ParameterKind::Pointer { access: write, element_bytes: 8 }),
            ("byte", "i8", ParameterKind::Scalar { bytes: 1 }),
            ("flag", "bool", ParameterKind::Scalar { bytes: 1 }),
            ("wide", "i64", ParameterKind::Scalar { bytes: 8 }),
            ("real", "f64", ParameterKind::Scalar { bytes: 8 }),
        ]
    );
    assert_eq!(kernel.slots().collect::<Vec<_>>(), [8, 8, 8, 8, 8, 8, 1, 1, 8, 8]);
    assert_eq!(alike::KERNEL.slots().collect::<Vec<_>>(), [8, 8, 8, 8, 8, 8]);
    let addresses =
        |kernel: &Kernel| kernel.addresses().map(|(place, p)| (place, p.name)).collect::<Vec<_>>();
    assert_eq!(addresses(kernel), [(0, "shared"), (2, "unique"), (4, "read"), (5, "written")]);
    assert_eq!(addresses(alike::KERNEL), [(0, "a"), (3, "b"), (4, "unchecked"), (5, "c")]);
}

/// Slices, a scalar between them, and a pointer, whose length nobody knows.
#[kernel(equal_lengths)]
pub unsafe fn alike(a: &[f32], count: u64, b: &mut [u8], unchecked: *const f32, c: &[f32]) {
    b[0] = (a[0] + c[0]) as u8 + count as u8 + u8::from(unchecked.is_null());
}

#[test]
fn slices_of_different_lengths_fit_only_where_nothing_else_was_promised() {
    let floats = |length| DeviceBuffer::<f32>(1, length, PhantomData);
    let bytes = |length| DeviceBuffer::<u8>(2, length, PhantomData);
    let pointer = floats(99);
    for (lengths, fit) in [((4, 4, 4), true), ((3, 4, 4), false), ((4, 3, 4), false), ((4, 4, 3), false)] {
        let (a, b, c) = (floats(lengths.0), bytes(lengths.1), floats(lengths.2));
        let call = alike(&a, 7, &b, &pointer, &c);
        assert_eq!(call.lengths_fit(), fit, "{lengths:?}");
        assert_eq!(call.slots(), [0x7001, lengths.0 as u64, 7, 0x7002, 0x7001, 0x7001]);
    }
    let (one, two) = (floats(1), DeviceBuffer::<u64>(2, 2, PhantomData));
    let (three, four) = (bytes(3), DeviceBuffer::<f64>(4, 4, PhantomData));
    assert!(every_kind(&one, &two, &three, &four, 0, false, 0, 0.0).lengths_fit());
}

#[test]
fn a_call_packs_arguments_in_order_and_tells_what_it_reaches() {
    let floats = DeviceBuffer::<f32>(1, 10, PhantomData);
    let words = DeviceBuffer::<u64>(2, 3, PhantomData);
    let bytes = DeviceBuffer::<u8>(3, 5, PhantomData);
    let doubles = DeviceBuffer::<f64>(4, 1, PhantomData);
    let call = every_kind(&floats, &words, &bytes, &doubles, -1, true, -2, -0.5);
    assert_eq!(
        call.slots(),
        [0x7001, 10, 0x7002, 3, 0x7003, 0x7004, 0xff, 1, (-2_i64).cast_unsigned(), (-0.5_f64).to_bits()]
    );
    let uses: Vec<_> = call.buffers().cloned().collect();
    let of = |buffer, access, bytes, parameter| BufferUse { buffer, access, bytes, parameter };
    assert_eq!(
        uses,
        [
            of(1, Access::Read, 0..40, "shared"),
            of(2, Access::Write, 0..24, "unique"),
            of(3, Access::Read, 0..5, "read"),
            of(4, Access::Write, 0..8, "written"),
        ]
    );
}
