//! Instructions that the learner's kernels do not reach: written by hand, each with the result that the PTX ISA gives it.

mod support;

use support::{Argument, Card};

/// Runs a body for one warp's threads; each stores `%o` (64 bits) for itself. `%r1` is the thread's index, `%d1` the
/// buffer's address.
fn run_with(body: &str, threads: u32, declarations: &str) -> Vec<u64> {
    run_on(false, body, threads, declarations)
}

/// The same; on the virtual card, whatever the tests run on, where a real one has values or rules of its own.
fn run_on(ours: bool, body: &str, threads: u32, declarations: &str) -> Vec<u64> {
    let text = format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n{declarations}\n.visible .entry k(.param .u64 p)\n{{\n\
         .reg .pred %p<9>; .reg .b16 %h<20>; .reg .b32 %r<30>; .reg .b64 %d<30>; .reg .b64 %o;\n\
         ld.param.u64 %d1, [p];\nmov.u32 %r1, %tid.x;\nmov.u64 %o, 0;\n{body}\n\
         mul.wide.u32 %d2, %r1, 8; add.s64 %d2, %d1, %d2; st.global.b64 [%d2], %o; ret;\n}}\n"
    );
    let mut card = if ours { Card::virtual_only(&text) } else { Card::new(&text) };
    let out = card.upload(&vec![0_u64; threads as usize]);
    let Argument::Slice(address, _) = out else { unreachable!() };
    card.run("k", [1, 1, 1], [threads, 1, 1], &[&Argument::Address(address)])
        .unwrap_or_else(|error| panic!("{body}: {error}"));
    card.download(&out)
}

fn run(body: &str) -> Vec<u64> {
    run_with(body, 32, "")
}

/// Whether the first thread, from constants, and all threads, from values that only seem to vary, get the same result.
fn check(body: &str, want: u64) {
    // `%r20` is zero, but nobody can know: what is added to it is computed lane by lane.
    let varying = "shr.u32 %r20, %r1, 9; cvt.u64.u32 %d20, %r20; cvt.u16.u32 %h19, %r20;";
    let lanes = body.replace("/*w*/", "%r20").replace("/*d*/", "%d20").replace("/*h*/", "%h19");
    let constant = body.replace("/*w*/", "0").replace("/*d*/", "0").replace("/*h*/", "0");
    assert_eq!(run(&constant)[0], want, "{constant}");
    assert_eq!(run(&format!("{varying} {lanes}")), [want; 32], "{lanes}");
}

/// An instruction on words: operands in `%r2` to `%r5`, result in `%r10`.
fn words(instruction: &str, operands: &[u32], want: u32) {
    let set: String = operands
        .iter()
        .enumerate()
        .map(|(k, value)| format!("add.u32 %r{}, {value}, /*w*/; ", k + 2))
        .collect();
    check(&format!("{set}{instruction}; cvt.u64.u32 %o, %r10;"), want.into());
}

/// The same on double words in `%d3` to `%d5`, with counts as words in `%r2`, `%r3`; result in `%o`.
fn doubles(instruction: &str, operands: &[u64], counts: &[u32], want: u64) {
    let wide = operands.iter().enumerate().map(|(k, value)| format!("add.u64 %d{}, {value}, /*d*/; ", k + 3));
    let narrow = counts.iter().enumerate().map(|(k, value)| format!("add.u32 %r{}, {value}, /*w*/; ", k + 2));
    let set: String = wide.chain(narrow).collect();
    check(&format!("{set}{instruction};"), want);
}

#[test]
fn shifts_clamp_and_division_by_zero_has_a_value() {
    words("shl.b32 %r10, %r2, %r3", &[0xffff_ffff, 31], 0x8000_0000);
    words("shl.b32 %r10, %r2, %r3", &[0xffff_ffff, 32], 0);
    words("shr.u32 %r10, %r2, %r3", &[0xffff_ffff, 200], 0);
    words("shr.s32 %r10, %r2, %r3", &[0x8000_0000, 200], 0xffff_ffff);
    words("shr.s32 %r10, %r2, %r3", &[0x7000_0000, 40], 0);
    doubles("shl.b64 %o, %d3, %r2", &[u64::MAX], &[64], 0);
    doubles("shr.s64 %o, %d3, %r2", &[1 << 63], &[64], u64::MAX);
    words("div.u32 %r10, %r2, %r3", &[7, 0], u32::MAX);
    words("rem.u32 %r10, %r2, %r3", &[7, 0], u32::MAX);
    words("div.s32 %r10, %r2, %r3", &[0x8000_0000, 0xffff_ffff], 0x8000_0000);
    doubles("rem.s64 %o, %d3, %d4", &[1 << 63, u64::MAX], &[], 0);
}

#[test]
fn bit_fields() {
    words("bfe.u32 %r10, %r2, %r3, %r4", &[0xabcd_1234, 8, 8], 0x12);
    words("bfe.s32 %r10, %r2, %r3, %r4", &[0x0000_8000, 8, 8], 0xffff_ff80);
    words("bfe.u32 %r10, %r2, %r3, %r4", &[0xabcd_1234, 24, 20], 0xab);
    words("bfe.s32 %r10, %r2, %r3, %r4", &[0xabcd_1234, 24, 20], 0xffff_ffab);
    words("bfe.s32 %r10, %r2, %r3, %r4", &[0xabcd_1234, 40, 4], 0xffff_ffff);
    words("bfe.u32 %r10, %r2, %r3, %r4", &[0xabcd_1234, 40, 4], 0);
    words("bfe.s32 %r10, %r2, %r3, %r4", &[0xabcd_1234, 3, 0], 0);
    doubles("bfe.u64 %o, %d3, %r2, %r3", &[0xabcd_1234_5678_9abc], &[32, 16], 0x1234);
    words("bfi.b32 %r10, %r2, %r3, %r4, %r5", &[0xff, 0, 8, 4], 0xf00);
    words("bfi.b32 %r10, %r2, %r3, %r4, %r5", &[0xff, 0x1111_1111, 28, 20], 0xf111_1111);
    words("bfi.b32 %r10, %r2, %r3, %r4, %r5", &[0xff, 0x1111_1111, 32, 4], 0x1111_1111);
    words("bfi.b32 %r10, %r2, %r3, %r4, %r5", &[0xff, 0x1111_1111, 4, 0], 0x1111_1111);
    words("bfi.b32 %r10, %r2, %r3, %r4, %r5", &[0xdead_beef, 0, 0, 32], 0xdead_beef);
    doubles("bfi.b64 %o, %d3, %d4, %r2, %r3", &[0xff, 0], &[60, 8], 0xf << 60);
    words("bfind.u32 %r10, %r2", &[0x0010_0000], 20);
    words("bfind.u32 %r10, %r2", &[0], u32::MAX);
    words("bfind.s32 %r10, %r2", &[0xffff_fff0], 3);
    words("bfind.s32 %r10, %r2", &[0xffff_ffff], u32::MAX);
    words("popc.b32 %r10, %r2", &[0xf0f0], 8);
    words("clz.b32 %r10, %r2", &[0], 32);
    words("brev.b32 %r10, %r2", &[1], 0x8000_0000);
}

#[test]
fn bytes_and_tables() {
    words("prmt.b32 %r10, %r2, %r3, %r4", &[0x3322_1100, 0x7766_5544, 0x7531], 0x7755_3311);
    words("prmt.b32 %r10, %r2, %r3, %r4", &[0x0000_80ff, 0, 0x9988], 0xffff_ffff);
    words("prmt.b32.f4e %r10, %r2, %r3, %r4", &[0x3322_1100, 0x7766_5544, 1], 0x4433_2211);
    words("prmt.b32.b4e %r10, %r2, %r3, %r4", &[0x3322_1100, 0x7766_5544, 1], 0x6677_0011);
    words("prmt.b32.rc8 %r10, %r2, %r3, %r4", &[0x3322_1100, 0, 2], 0x2222_2222);
    words("prmt.b32.ecl %r10, %r2, %r3, %r4", &[0x3322_1100, 0, 2], 0x3322_2222);
    words("prmt.b32.ecr %r10, %r2, %r3, %r4", &[0x3322_1100, 0, 2], 0x2222_1100);
    words("prmt.b32.rc16 %r10, %r2, %r3, %r4", &[0x3322_1100, 0, 1], 0x3322_3322);
    words("lop3.b32 %r10, %r2, %r3, %r4, 0x80", &[0xff, 0x0f, 0x3c], 0x0c);
    words("lop3.b32 %r10, %r2, %r3, %r4, 0x96", &[0xff, 0x0f, 0x3c], 0xff ^ 0x0f ^ 0x3c);
    words("lop3.b32 %r10, %r2, %r3, %r4, 0xe8", &[0xf0, 0xcc, 0xaa], 0xe8);
    words("shf.l.wrap.b32 %r10, %r2, %r3, %r4", &[0x8000_0001, 0x1111_1111, 36], 0x1111_1118);
    words("shf.l.clamp.b32 %r10, %r2, %r3, %r4", &[0x8000_0001, 0x1111_1111, 36], 0x8000_0001);
    words("shf.r.wrap.b32 %r10, %r2, %r3, %r4", &[0x8000_0001, 0x1111_111f, 36], 0xf800_0000);
    words("shf.r.clamp.b32 %r10, %r2, %r3, %r4", &[0x8000_0001, 0x1111_111f, 36], 0x1111_111f);
    doubles(
        "mov.b64 {%r10, %r11}, %d3; mov.b64 %o, {%r11, %r10}",
        &[0x1111_2222_3333_4444],
        &[],
        0x3333_4444_1111_2222,
    );
    doubles(
        "mov.b64 {%h1, %h2, %h3, %h4}, %d3; mov.b64 %o, {%h4, %h3, %h2, %h1}",
        &[0x1111_2222_3333_4444],
        &[],
        0x4444_3333_2222_1111,
    );
    words("mov.b32 {%h1, %h2}, %r2; mov.b32 %r10, {%h2, %h1}", &[0x1234_5678], 0x5678_1234);
}

#[test]
fn carries_and_wide_products() {
    doubles("add.cc.u64 %d6, %d3, %d4; addc.u64 %o, %d5, 0", &[u64::MAX, 1, 41], &[], 42);
    doubles(
        "add.cc.u64 %d3, %d3, %d3; addc.cc.u64 %d4, %d4, %d4; addc.u64 %o, 0, 0",
        &[1 << 63, u64::MAX],
        &[],
        1,
    );
    doubles("sub.cc.u64 %d6, %d3, %d4; subc.u64 %o, %d5, 0", &[0, 1, 10], &[], 9);
    words("add.cc.u32 %r3, %r2, %r2; addc.u32 %r10, %r4, %r4", &[0x8000_0000, 0, 3], 7);
    words("mul.hi.s32 %r10, %r2, %r3", &[0xffff_ffff, 2], 0xffff_ffff);
    words("mad.hi.u32 %r10, %r2, %r3, %r4", &[0xffff_ffff, 0xffff_ffff, 5], 3);
    doubles("mul.hi.u64 %o, %d3, %d4", &[u64::MAX, u64::MAX], &[], u64::MAX - 1);
    check("add.u32 %r2, 0xffffffff, /*w*/; mad.wide.s32 %o, %r2, 7, 10;", 3);
    check("add.u32 %r2, 0xffffffff, /*w*/; mul.wide.u32 %o, %r2, 7;", 0xffff_ffff * 7);
    check("add.u16 %h1, 0xffff, /*h*/; mul.wide.s16 %r10, %h1, 3; cvt.u64.u32 %o, %r10;", 0xffff_fffd);
    check("add.u16 %h1, 0xffff, /*h*/; mul.hi.u16 %h2, %h1, %h1; cvt.u64.u16 %o, %h2;", 0xfffe);
}

#[test]
fn comparisons_with_logic_and_both_results() {
    for (a, b, q, both) in [(1, 2, 1, 0b01), (2, 1, 1, 0b10), (1, 2, 0, 0b00), (2, 1, 0, 0b00)] {
        check(
            &format!(
                "add.u32 %r2, {a}, /*w*/; setp.ne.u32 %p3, {q}, /*w*/; setp.lt.and.u32 %p1|%p2, %r2, {b}, %p3; \
                 selp.b64 %d3, 1, 0, %p1; selp.b64 %d4, 2, 0, %p2; or.b64 %o, %d3, %d4;"
            ),
            both,
        );
    }
    check("setp.eq.u32 %p1, 0, /*w*/; setp.lt.xor.s32 %p1, -1, 0, !%p1; selp.b64 %o, 1, 0, %p1;", 1);
    check("add.u32 %r2, -1, /*w*/; setp.lo.u32 %p1, %r2, 1; selp.b64 %o, 1, 0, %p1;", 0);
    check("add.u32 %r2, -1, /*w*/; slct.b32.s32 %r10, 5, 6, %r2; cvt.u64.u32 %o, %r10;", 6);
    check("mov.pred %p1, -1; @!%p1 mov.b64 %o, 5; @%p1 add.u64 %o, %o, 2;", 2);
}

#[test]
fn floats_keep_their_special_values() {
    let f = f32::to_bits;
    let nan = 0x7fff_ffff;
    words("add.f32 %r10, %r2, %r3", &[f(f32::INFINITY), f(f32::NEG_INFINITY)], nan);
    words("mul.f32 %r10, %r2, %r3", &[0x7fc0_1234, f(1.0)], nan);
    words("mul.rn.f32 %r10, %r2, %r3", &[1, f(0.5)], 0);
    words("mul.rn.f32 %r10, %r2, %r3", &[3, f(0.5)], 2);
    words("fma.rn.f32 %r10, %r2, %r3, %r4", &[0x3f80_0800, 0x3f80_0800, f(-1.0)], 0x3a00_0400);
    words("min.f32 %r10, %r2, %r3", &[f(-0.0), f(0.0)], f(-0.0));
    words("min.f32 %r10, %r2, %r3", &[f(0.0), f(-0.0)], f(-0.0));
    words("max.f32 %r10, %r2, %r3", &[f(-0.0), f(0.0)], f(0.0));
    words("min.f32 %r10, %r2, %r3", &[0x7fc0_0001, f(3.0)], f(3.0));
    words("max.f32 %r10, %r2, %r3", &[f(3.0), 0xffc0_0001], f(3.0));
    words("max.f32 %r10, %r2, %r3", &[0x7fc0_0001, 0x7fc0_0002], nan);
    words("max.NaN.f32 %r10, %r2, %r3", &[f(3.0), 0xffc0_0001], nan);
    words("div.rn.f32 %r10, %r2, %r3", &[f(1.0), f(-0.0)], f(f32::NEG_INFINITY));
    words("sqrt.rn.f32 %r10, %r2", &[f(2.0)], f(2.0_f32.sqrt()));
    words("sqrt.rn.f32 %r10, %r2", &[f(-1.0)], nan);
    words("neg.f32 %r10, %r2", &[f(0.0)], f(-0.0));
    words("copysign.f32 %r10, %r2, %r3", &[f(-1.0), f(3.0)], f(-3.0));
    for (test, value, holds) in [
        ("finite", f(1.0), 1),
        ("infinite", f(f32::INFINITY), 1),
        ("number", nan, 0),
        ("notanumber", nan, 1),
        ("normal", 1, 0),
        ("subnormal", 1, 1),
    ] {
        words(&format!("testp.{test}.f32 %p1, %r2; selp.b32 %r10, 1, 0, %p1"), &[value], holds);
    }
    for (comparison, ordered, unordered) in [
        ("lt", 1, 0),
        ("ltu", 1, 1),
        ("ne", 1, 0),
        ("neu", 1, 1),
        ("geu", 0, 1),
        ("num", 1, 0),
        ("nan", 0, 1),
        ("equ", 0, 1),
        ("gtu", 0, 1),
        ("leu", 1, 1),
    ] {
        let test = format!("setp.{comparison}.f32 %p1, %r2, %r3; selp.b32 %r10, 1, 0, %p1");
        words(&test, &[f(1.0), f(2.0)], ordered);
        words(&test, &[f(1.0), nan], unordered);
    }
}

#[test]
fn conversions_round_and_saturate() {
    let f = f32::to_bits;
    for (rounding, values) in [
        ("rni", [2, 2, 4, 0xffff_fffe]),
        ("rzi", [1, 2, 3, 0xffff_ffff]),
        ("rmi", [1, 2, 3, 0xffff_fffe]),
        ("rpi", [2, 3, 4, 0xffff_ffff]),
    ] {
        for (value, want) in [1.5_f32, 2.5, 3.5, -1.5].into_iter().zip(values) {
            words(&format!("cvt.{rounding}.s32.f32 %r10, %r2"), &[f(value)], want);
            words(&format!("cvt.{rounding}.f32.f32 %r10, %r2"), &[f(value)], f(want as i32 as f32));
        }
    }
    words("cvt.rzi.s32.f32 %r10, %r2", &[f(1e10)], i32::MAX as u32);
    words("cvt.rzi.u32.f32 %r10, %r2", &[f(-5.0)], 0);
    words("cvt.rzi.s32.f32 %r10, %r2", &[f(f32::NAN)], 0);
    words("cvt.rzi.s8.f32 %h1, %r2; cvt.u32.u16 %r10, %h1", &[f(-200.0)], 0xff80);
    words("cvt.sat.s8.s32 %r10, %r2", &[200], 127);
    words("cvt.sat.u8.s32 %r10, %r2", &[0xffff_fff0], 0);
    words("cvt.s8.s32 %r10, %r2", &[200], 0xffff_ffc8);
    words("cvt.u8.u32 %r10, %r2", &[0x1234], 0x34);
    words("cvt.s32.s16 %r10, %r2", &[0x1_8000], 0xffff_8000);
    for (half, single) in [
        (0x3c00, 1.0),
        (0xc000, -2.0),
        (0x0001, 5.960_464_5e-8),
        (0x7c00, f32::INFINITY),
        (0x03ff, 6.097_555e-5),
    ] {
        words("cvt.u16.u32 %h1, %r2; cvt.f32.f16 %r10, %h1", &[half], f(single));
        words("cvt.rn.f16.f32 %h1, %r2; cvt.u32.u16 %r10, %h1", &[f(single)], half);
    }
    words("cvt.rn.f16.f32 %h1, %r2; cvt.u32.u16 %r10, %h1", &[f(65520.0)], 0x7c00);
    words("cvt.rn.f16.f32 %h1, %r2; cvt.u32.u16 %r10, %h1", &[f(1.000_488_3)], 0x3c00);
    words("cvt.rn.f16.f32 %h1, %r2; cvt.u32.u16 %r10, %h1", &[f(1.001_464_8)], 0x3c02);
    for (rounding, want) in [("rn", 0.1_f32), ("rz", 0.099_999_994), ("rm", 0.099_999_994), ("rp", 0.1)] {
        doubles(
            &format!("cvt.{rounding}.f32.f64 %r10, %d3; cvt.u64.u32 %o, %r10"),
            &[0.1_f64.to_bits()],
            &[],
            f(want).into(),
        );
    }
    doubles(
        "cvt.rz.f32.f64 %r10, %d3; cvt.u64.u32 %o, %r10",
        &[1e300_f64.to_bits()],
        &[],
        f(f32::MAX).into(),
    );
    doubles("cvt.rn.f64.u64 %o, %d3", &[u64::MAX], &[], 18446744073709551615.0_f64.to_bits());
}

#[test]
fn lanes_exchange_values() {
    let shuffle =
        |text: &str| run(&format!("shfl.sync.{text}, -1; cvt.u64.u32 %o, %r10; @%p1 add.u64 %o, %o, 100;"));
    let expect = |f: &dyn Fn(u64) -> u64| (0..32).map(f).collect::<Vec<u64>>();
    assert_eq!(shuffle("up.b32 %r10|%p1, %r1, 3, 0"), expect(&|k| if k >= 3 { k - 3 + 100 } else { k }));
    assert_eq!(
        shuffle("down.b32 %r10|%p1, %r1, 3, 31"),
        expect(&|k| if k + 3 < 32 { k + 3 + 100 } else { k })
    );
    assert_eq!(shuffle("bfly.b32 %r10|%p1, %r1, 5, 31"), expect(&|k| (k ^ 5) + 100));
    assert_eq!(shuffle("idx.b32 %r10|%p1, %r1, 6, 31"), expect(&|_| 106));
    // Segments of eight lanes.
    assert_eq!(shuffle("idx.b32 %r10|%p1, %r1, 6, 0x181f"), expect(&|k| k / 8 * 8 + 6 + 100));
    assert_eq!(
        shuffle("down.b32 %r10|%p1, %r1, 6, 0x181f"),
        expect(&|k| if k % 8 < 2 { k + 6 + 100 } else { k })
    );
    let vote = |text: &str| run(&format!("setp.lt.u32 %p2, %r1, 5; vote.sync.{text}"));
    assert_eq!(vote("ballot.b32 %r10, %p2, -1; cvt.u64.u32 %o, %r10;"), [31; 32]);
    assert_eq!(vote("ballot.b32 %r10, !%p2, -1; cvt.u64.u32 %o, %r10;"), [0xffff_ffe0; 32]);
    assert_eq!(vote("any.pred %p3, %p2, -1; selp.b64 %o, 1, 0, %p3;"), [1; 32]);
    assert_eq!(vote("all.pred %p3, %p2, -1; selp.b64 %o, 1, 0, %p3;"), [0; 32]);
    assert_eq!(vote("uni.pred %p3, %p2, -1; selp.b64 %o, 1, 0, %p3;"), [0; 32]);
    let active = run("setp.lt.u32 %p2, %r1, 5; @!%p2 bra E; activemask.b32 %r10; cvt.u64.u32 %o, %r10; E:");
    assert_eq!(active, expect(&|k| if k < 5 { 31 } else { 0 }));
}

#[test]
fn diverged_lanes_come_together_for_a_shuffle() {
    let got =
        run("and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; mov.u32 %r3, 7; @%p1 bra A; mov.u32 %r3, 9; A: \
         bar.warp.sync -1; shfl.sync.bfly.b32 %r10, %r3, 1, 31, -1; cvt.u64.u32 %o, %r10;");
    assert_eq!(got, (0..32).map(|k| if k % 2 == 0 { 9 } else { 7 }).collect::<Vec<u64>>());
}

#[test]
fn barriers_count_and_answer() {
    let got = run_with(
        "setp.lt.u32 %p1, %r1, 40; bar.red.popc.u32 %r10, 0, %p1; cvt.u64.u32 %o, %r10; \
         bar.red.or.pred %p2, 0, %p1; bar.red.and.pred %p3, 0, !%p1; @%p2 add.u64 %o, %o, 1000; @%p3 add.u64 %o, %o, 5000;",
        96,
        "",
    );
    assert_eq!(got, [1040; 96]);
    // A producer arrives and goes on; a consumer waits for it.
    let got = run_with(
        "mov.u64 %d3, box; setp.ge.u32 %p1, %r1, 32; @%p1 bra C; mul.lo.u32 %r2, %r1, 3; mul.wide.u32 %d4, %r1, 4; \
         add.u64 %d4, %d3, %d4; st.shared.b32 [%d4], %r2; bar.arrive 1, 64; bra E; C: bar.sync 1, 64; sub.u32 %r3, %r1, \
         32; mul.wide.u32 %d4, %r3, 4; add.u64 %d4, %d3, %d4; ld.shared.b32 %r4, [%d4]; cvt.u64.u32 %o, %r4; E:",
        64,
        ".shared .align 4 .b8 box[128];",
    );
    assert_eq!(got, (0..64).map(|k| if k < 32 { 0 } else { (k - 32) * 3 }).collect::<Vec<u64>>());
}

#[test]
fn special_registers() {
    let one = |name: &str| run_on(true, &format!("mov.u32 %r10, {name}; cvt.u64.u32 %o, %r10;"), 64, "");
    for (name, value) in [
        ("%ntid.x", 64),
        ("%ntid.y", 1),
        ("%ctaid.z", 0),
        ("%nctaid.x", 1),
        ("%smid", 0),
        ("%nsmid", 132),
        ("%nwarpid", 2),
    ] {
        assert_eq!(one(name), [value; 64], "{name}");
    }
    let lanes = |f: &dyn Fn(u64) -> u64| (0..64).map(f).collect::<Vec<u64>>();
    assert_eq!(one("%laneid"), lanes(&|k| k % 32));
    assert_eq!(one("%warpid"), lanes(&|k| k / 32));
    assert_eq!(one("%lanemask_eq"), lanes(&|k| 1 << (k % 32)));
    assert_eq!(one("%lanemask_lt"), lanes(&|k| (1 << (k % 32)) - 1));
    assert_eq!(one("%lanemask_le"), lanes(&|k| (2 << (k % 32)) - 1));
    assert_eq!(one("%lanemask_gt"), lanes(&|k| 0xffff_ffff & !((2 << (k % 32)) - 1)));
    assert_eq!(one("%lanemask_ge"), lanes(&|k| 0xffff_ffff & !((1 << (k % 32)) - 1)));
    let clock = run_on(
        true,
        "mov.u64 %d3, %clock64; mov.u64 %d4, %globaltimer; mov.u32 %r3, %clock; shr.u64 %d5, %d3, 1; sub.u64 %o, %d4, %d5;",
        32,
        "",
    );
    // The test's card shows half as many nanoseconds as cycles, and each reading is a moment of its own.
    assert!(clock.iter().all(|&gap| gap == clock[0] && gap > 0 && gap.is_multiple_of(32)), "{clock:?}");
}

#[test]
fn every_width_of_memory() {
    for (kind, written, back) in [
        ("u8", 0x1ff_u64, 0xff_u64),
        ("s8", 0xff, u64::MAX),
        ("u16", 0x1_8000, 0x8000),
        ("s16", 0x8000, 0xffff_ffff_ffff_8000),
        ("b32", 0x8000_0000, 0x8000_0000),
        ("s32", 0x8000_0000, 0xffff_ffff_8000_0000),
        ("b64", 1 << 63, 1 << 63),
    ] {
        for (space, base, index) in [
            ("shared", "mov.u64 %d3, box;", "%r1"),
            ("local", "mov.u64 %d3, own;", "0"),
            ("global", "mov.u64 %d3, far;", "%r1"),
        ] {
            for (suffix, address) in [(format!(".{space}"), "%d3"), (String::new(), "%d4")] {
                let got = run_with(
                    &format!(
                        ".local .align 8 .b8 own[64]; {base} mul.wide.u32 %d5, {index}, 8; add.u64 %d3, %d3, %d5; \
                         cvta.{space}.u64 %d4, %d3; add.u64 %d6, {written}, 0; st{suffix}.{kind} [{address}], %d6; \
                         ld{suffix}.{kind} %o, [{address}];"
                    ),
                    40,
                    ".shared .align 8 .b8 box[512]; .global .align 8 .b8 far[512];",
                );
                assert_eq!(got, [back; 40], "{kind} {space} {suffix}");
            }
        }
    }
}

#[test]
fn vectors_go_through_every_space() {
    for (space, name) in [("shared", "box"), ("local", "own"), ("global", "far")] {
        let got = run_with(
            &format!(
                ".local .align 16 .b8 own[64]; mov.u64 %d3, {name}; add.u32 %r2, %r1, 1; add.u32 %r3, %r1, 2; \
                 mov.u32 %r4, 7; st.{space}.v4.b32 [%d3+16], {{%r1, %r2, %r3, %r4}}; \
                 ld.{space}.v2.b64 {{%d6, %d7}}, [%d3+16]; ld.{space}.v4.u8 {{%h1, _, %h2, %h3}}, [%d3+20]; \
                 cvt.u64.u16 %d8, %h1; add.u64 %o, %d7, %d8; add.u64 %o, %o, %d6;"
            ),
            1,
            ".shared .align 16 .b8 box[64]; .global .align 16 .b8 far[64];",
        );
        assert_eq!(got, [(7 << 32 | 2) + 1 + (1 << 32)], "{space}");
    }
}

#[test]
fn debug_information_and_odd_directives_are_passed_over() {
    let got = run_on(
        true,
        ".loc 1 7 3\n.loc 1 8 3, function_name $L__info, inlined_at 1 9 3\n.pragma \"nounroll\";\n mov.u64 %o, 5;",
        32,
        ".file 1 \"/a/b.rs\"\n.weak .global .align 4 .b8 odd[4] = {1, 2};\n.section .debug_abbrev\n{\n.b8 1\n.b32 \
         .debug_loc + 4\n}\n",
    );
    assert_eq!(got, [5; 32]);
}

#[test]
fn variables_begin_with_their_values() {
    let got = run_with(
        "ld.global.u64 %d3, [chain+8]; ld.u32 %r3, [%d3]; cvt.u64.u32 %o, %r3; ld.const.u16 %h1, [small+2]; cvt.u64.u16 \
         %d4, %h1; add.u64 %o, %o, %d4;",
        32,
        ".global .align 4 .u32 numbers[3] = {10, 20, 30};\n.const .u16 small[2] = {1, 300};\n.global .align 8 .u64 \
         chain[2] = {0, generic(numbers)+8};",
    );
    assert_eq!(got, [330; 32]);
}

#[test]
fn dynamic_shared_memory_comes_after_the_static() {
    let text = ".version 7.8\n.target sm_90\n.extern .shared .align 16 .b8 more[];\n.visible .entry k(.param .u64 p)\n\
                { .reg .b32 %r<9>; .reg .b64 %d<9>; .shared .align 4 .b8 tile[20];\nld.param.u64 %d1, [p];\n\
                mov.u32 %r1, more; mov.u32 %r2, tile; mov.u32 %r3, %dynamic_smem_size; mov.u32 %r4, %total_smem_size;\n\
                st.global.v4.b32 [%d1], {%r1, %r2, %r3, %r4};\nret; }\n";
    let card = Card::virtual_only(text);
    assert_eq!(
        card.image.kernel("k").map(|kernel| {
            virtual_gpu::exec::Program::new(&card.image, kernel, &support::costs()).unwrap().shared_bytes()
        }),
        Some(20)
    );
    let mut card = Card::virtual_only(text);
    let out = card.upload(&[0_u32; 4]);
    let Argument::Slice(address, _) = out else { unreachable!() };
    card.run("k", [1, 1, 1], [1, 1, 1], &[&Argument::Address(address)]).unwrap();
    assert_eq!(card.download::<u32>(&out), [32, 0, 0, 128]);
}
