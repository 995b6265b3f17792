//! What ends a launch: each kind of fault names kernel, block, thread, address and allocation, and has the driver's
//! number.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use support::{Argument, Bytes, Card, KERNELS};
use virtual_gpu::memory::{Fault, FaultKind, Place};

/// A card with one kernel `k(.param .u64 p)` of this body.
fn card(body: &str) -> Card {
    Card::new(&format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %d<20>; .shared .align 8 .b8 tile[64]; .local .align 8 .b8 \
         own[32];\nld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\n{body}\nret;\n}}\n"
    ))
}

/// Runs it with a buffer of 256 bytes, two blocks of 64 threads.
fn fault(body: &str) -> Box<Fault> {
    let mut card = card(body);
    let buffer = card.upload(&[0_u8; 256]);
    let address = buffer.address();
    card.run_with("k", [2, 1, 1], [64, 1, 1], &[&address], |launch| launch.with_budget(100_000)).unwrap_err()
}

#[test]
fn each_fault_has_its_driver_error_and_its_thread() {
    let store_at = "mul.wide.u32 %d2, %r1, 4; add.s64 %d3, %d1, %d2;";
    for (body, code, thread, text) in [
        // 65 elements of 4 bytes: the last thread of the first block and then the next allocation.
        (
            &format!("{store_at} st.global.b32 [%d3+4], %r1;"),
            700,
            63,
            "store of 4 bytes at 0x700000000100 is out of bounds: kernel k, block (0,0,0), thread (63,0,0), PTX line 9; \
             the nearest is allocation 1 (0x700000000000, 256 bytes), which ends before it",
        ),
        (
            &format!("{store_at} ld.global.b32 %r2, [%d3+-4];"),
            700,
            0,
            "load of 4 bytes at 0x6ffffffffffc is out of",
        ),
        (
            &format!("{store_at} ld.global.b64 %d4, [%d3];"),
            716,
            1,
            "load of 8 bytes at 0x700000000004 is not aligned",
        ),
        (&format!("{store_at} ld.global.v4.b32 {{%r2,%r3,%r4,%r5}}, [%d3];"), 716, 1, "load of 16 bytes"),
        (&"st.global.b32 [0], %r1;".to_owned(), 700, 0, "store of 4 bytes at 0x0 is out of bounds"),
        (&"ld.b32 %r2, [%d1+512];".to_owned(), 700, 0, "load of 4 bytes at 0x700000000200"),
        (&format!("{store_at} atom.global.add.u32 %r2, [%d3+8], 1;"), 700, 62, "atomic operation of 4 bytes"),
        (
            &"mul.wide.u32 %d2, %r1, 4; mov.u64 %d3, tile; add.s64 %d4, %d3, %d2; st.shared.b32 [%d4], %r1;"
                .to_owned(),
            700,
            16,
            "store of 4 bytes at 0x40 is out of bounds: kernel k, block (0,0,0), thread (16,0,0), PTX line 9; the block \
             has 64 bytes of shared memory",
        ),
        (&"ld.shared.b32 %r2, [tile+2];".to_owned(), 716, 0, "load of 4 bytes at 0x2 is not aligned"),
        (&"ld.local.b32 %r2, [own+4096];".to_owned(), 700, 0, "bytes of local memory"),
        (&"cvta.param.u64 %d2, p; st.b32 [%d2], 1;".to_owned(), 700, 0, "goes to read-only memory"),
        (&"cvta.shared.u64 %d2, tile; ld.b32 %r2, [%d2+64];".to_owned(), 700, 0, "of shared memory"),
        (
            &"setp.eq.u32 %p1, %r1, 7; @%p1 trap;".to_owned(),
            719,
            7,
            "trap: kernel k, block (0,0,0), thread (7,0,0)",
        ),
        (&"L: bra L;".to_owned(), 702, 0, "the kernel does not end"),
        (&"L: setp.lt.u32 %p1, %r1, 99; @%p1 bra L;".to_owned(), 702, 0, "a block may execute 100000 steps"),
        (
            &"setp.lt.u32 %p1, %r1, 32; @%p1 bra L; bar.sync 0; ret; L: bar.sync 1;".to_owned(),
            719,
            0,
            "deadlock: kernel k",
        ),
        (
            &"setp.lt.u32 %p1, %r1, 7; @%p1 bra L; shfl.sync.idx.b32 %r2, %r1, 0, 31, -1; L: bar.sync 0;"
                .to_owned(),
            719,
            0,
            "deadlock",
        ),
        (
            &"mov.u32 %r3, 9; T: .branchtargets A, B; brx.idx %r3, T; A: B: ret;".to_owned(),
            715,
            0,
            "call of 0x9, which is no function",
        ),
        (
            &"{ .param .b32 a; st.param.b32 [a], 1; P: .callprototype _ (.param .b32 _); call %d1, (a), P; }"
                .to_owned(),
            715,
            0,
            "call of 0x700000000000, which is no function",
        ),
    ] {
        let fault = fault(body);
        assert_eq!(fault.code(), code, "{body}: {fault}");
        assert_eq!(fault.thread, [thread, 0, 0], "{body}: {fault}");
        assert_eq!(fault.block, [0, 0, 0], "{body}: {fault}");
        assert_eq!(fault.line, 9, "{body}: {fault}");
        assert!(fault.to_string().contains(text), "{body}: {fault}");
        assert!(!fault.to_string().contains('\n'), "{fault}");
    }
}

#[test]
fn what_was_freed_is_named() {
    let mut card = card("ld.global.b32 %r2, [%d1+12];");
    let kept = card.upload(&[0_u8; 64]);
    let freed = card.upload(&[0_u8; 64]);
    let Argument::Slice(start, _) = freed else { unreachable!() };
    card.memory.free(start).unwrap();
    let error = card.run("k", [1, 1, 1], [32, 1, 1], &[&Argument::Address(start)]).unwrap_err();
    assert!(
        matches!(&error.kind, FaultKind::OutOfBounds { place: Place::Freed(area), .. } if area.start == start)
    );
    assert!(error.to_string().contains("it was freed: allocation 2"), "{error}");
    card.run("k", [1, 1, 1], [32, 1, 1], &[&kept.address()]).unwrap();
}

#[test]
fn constants_cannot_be_written() {
    let mut card = Card::new(
        ".version 7.8\n.target sm_90\n.const .align 4 .u32 limit = 7;\n.visible .entry k()\n{ .reg .b64 %d; .reg .b32 %r;\n\
         cvta.const.u64 %d, limit;\nld.const.u32 %r, [limit];\nst.b32 [%d], %r; ret; }\n",
    );
    let error = card.run("k", [1, 1, 1], [1, 1, 1], &[]).unwrap_err();
    assert_eq!((error.code(), error.line), (700, 8));
    assert!(matches!(error.kind, FaultKind::ReadOnly { .. }), "{error}");
}

#[test]
fn a_failed_bounds_check_is_a_rust_panic_with_its_source() {
    let mut card = Card::new(&KERNELS);
    let indices: Vec<u32> = (0..200).map(|k| if k == 130 { 100 } else { k % 100 }).collect();
    let indices = card.upload(&indices);
    let (input, out) = (card.upload(&[0.5_f32; 100]), card.upload(&[0.0_f32; 200]));
    let error = card.run("gather", [7, 1, 1], [32, 1, 1], &[&indices, &input, &out]).unwrap_err();
    assert_eq!((error.code(), error.block, error.thread), (719, [4, 0, 0], [2, 0, 0]), "{error}");
    let FaultKind::Panic { message } = &error.kind else { panic!("{error}") };
    assert!(
        message.starts_with("index out of bounds: the length is 100 but the index is 100, at src/memory.rs:")
    );
    assert!(
        error.to_string().starts_with("Rust panic: kernel gather, block (4,0,0), thread (2,0,0), PTX line ")
    );
}

#[test]
fn a_slice_of_the_wrong_length_is_a_rust_panic() {
    let mut card = Card::new(&KERNELS);
    let (input, out) = (card.upload(&[1_i32; 40]), card.upload(&[0_i32; 10]));
    let error = card.run("local_sort", [1, 1, 1], [32, 1, 1], &[&input, &out]).unwrap_err();
    assert!(matches!(error.kind, FaultKind::Panic { .. }), "{error}");
    assert_eq!(error.code(), 719);
}

#[test]
fn recursion_without_end_overflows_the_stack() {
    let mut card = Card::new(
        ".version 7.8\n.target sm_90\n.func f(.param .b32 f_0)\n{ .local .b8 own[1024]; .reg .b32 %r;\n\
         { .param .b32 a; st.param.b32 [a], 1;\ncall f, (a); }\nret; }\n\
         .visible .entry k() { { .param .b32 a; st.param.b32 [a], 1; call f, (a); } ret; }\n",
    );
    let error = card.run("k", [1, 1, 1], [64, 1, 1], &[]).unwrap_err();
    assert!(matches!(error.kind, FaultKind::StackOverflow { .. }), "{error}");
    assert_eq!((error.code(), error.line), (700, 6));
}

#[test]
fn a_launch_that_is_none_is_refused() {
    use std::sync::Arc;
    use virtual_gpu::exec::{Launch, Program};
    let card = card("");
    let kernel = card.image.kernel("k").unwrap();
    let program = Arc::new(Program::new(&card.image, kernel, &support::costs()).unwrap());
    let parameters = 5_u64.to_bytes();
    for (grid, block) in
        [([1, 1, 1], [1025, 1, 1]), ([1, 1, 1], [32, 33, 1]), ([0, 1, 1], [1, 1, 1]), ([1, 1, 1], [1, 1, 0])]
    {
        let error = Launch::new(program.clone(), grid, block, parameters.clone(), 0).unwrap_err();
        assert!(error.to_string().contains("kernel k"), "{error}");
    }
    let error = Launch::new(program.clone(), [1, 1, 1], [1, 1, 1], vec![0; 7], 0).unwrap_err();
    assert_eq!(error.to_string().split(':').next(), Some("7 bytes of arguments where 8 belong"));
    assert!(Launch::new(program, [1, 1, 1], [1024, 1, 1], parameters, 0).is_ok());
}
