//! What `#[kernel]` says of a kernel on the host.

use std::marker::PhantomData;

use cuda_std::abi::{Access, Kernel, ParameterKind};
use cuda_std::call::{BufferUse, DeviceMemory, Location};
use cuda_std::kernel;

#[path = "support/buffer.rs"]
mod buffer;
use buffer::DeviceBuffer;

/// Takes every kind of parameter once.
///
/// # Safety
///
/// Until the launch is done, each pointer is the address of one element.
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
    // SAFETY: it is never run; the body is here to be type-checked.
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
    assert!(alike::KERNEL.equal_lengths && every_kind::KERNEL.is_unsafe && !two_written::KERNEL.is_unsafe);
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
        // SAFETY: the call is not launched.
        let call = unsafe { alike(&a, 7, &b, &pointer, &c) };
        assert!(call.is_unsafe());
        assert_eq!(call.lengths_fit(), fit, "{lengths:?}");
        assert_eq!(call.slots(), [0x7001, lengths.0 as u64, 7, 0x7002, 0x7001, 0x7001]);
    }
    let (one, two) = (floats(1), DeviceBuffer::<u64>(2, 2, PhantomData));
    let (three, four) = (bytes(3), DeviceBuffer::<f64>(4, 4, PhantomData));
    // SAFETY: the call is not launched.
    assert!(unsafe { every_kind(&one, &two, &three, &four, 0, false, 0, 0.0) }.lengths_fit());
}

#[test]
fn a_call_packs_arguments_in_order_and_tells_what_it_reaches() {
    let floats = DeviceBuffer::<f32>(1, 10, PhantomData);
    let words = DeviceBuffer::<u64>(2, 3, PhantomData);
    let bytes = DeviceBuffer::<u8>(3, 5, PhantomData);
    let doubles = DeviceBuffer::<f64>(4, 1, PhantomData);
    // SAFETY: the call is not launched.
    let call = unsafe { every_kind(&floats, &words, &bytes, &doubles, -1, true, -2, -0.5) };
    assert_eq!(
        call.slots(),
        [0x7001, 10, 0x7002, 3, 0x7003, 0x7004, 0xff, 1, (-2_i64).cast_unsigned(), (-0.5_f64).to_bits()]
    );
    let uses: Vec<_> = call.buffers().cloned().collect();
    let of = |buffer, access, bytes, parameter| BufferUse {
        buffer,
        address: 0x7000 + buffer,
        access,
        bytes,
        parameter,
    };
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

/// A slice that is read and two that are written.
#[kernel]
pub fn two_written(input: &[f32], first: &mut [f32], second: &mut [f32]) {
    first[0] = input[0];
    second[0] = input[0];
}

/// Elements at an address.
struct Run {
    address: u64,
    elements: usize,
}

// SAFETY: no launch is made here, so no kernel accesses the address.
unsafe impl DeviceMemory<f32> for Run {
    fn location(&self) -> Location {
        let Run { address, elements } = *self;
        Location { buffer: Location::FOREIGN, address, offset_bytes: 64, elements }
    }
}

#[test]
fn two_parameters_that_share_a_written_byte_are_named_and_no_others() {
    let run = |address, elements| Run { address, elements };
    for (input, first, second, want) in [
        // One behind the other, and one before the other.
        (run(0x1000, 4), run(0x1010, 4), run(0xff0, 4), None),
        (run(0x1000, 4), run(0x100c, 4), run(0x9000, 4), Some(("first", "input"))),
        (run(0x1000, 4), run(0xff4, 4), run(0x8000, 4), Some(("first", "input"))),
        // One inside the other.
        (run(0x8000, 1), run(0x1000, 4), run(0x1004, 1), Some(("first", "second"))),
        (run(0x1004, 1), run(0x8000, 1), run(0x1000, 4), Some(("second", "input"))),
        // An empty one shares nothing, wherever it lies.
        (run(0x1004, 0), run(0x1000, 4), run(0x1008, 0), None),
        (run(u64::MAX, 4), run(0x1000, 4), run(0x2000, 4), None),
    ] {
        let call = two_written(&input, &first, &second);
        assert_eq!(call.overlap(), want, "{:x?}", call.slots());
        assert!(!call.is_unsafe());
    }
    // Two that are only read may be one.
    let (same, other) = (run(0x1000, 4), run(0x2000, 4));
    assert_eq!(both_read(&same, &same, &other).overlap(), None);
}

/// Two slices that are read.
#[kernel]
pub fn both_read(a: &[f32], b: &[f32], out: &mut [f32]) {
    out[0] = a[0] + b[0];
}
