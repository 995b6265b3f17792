//! What a kernel can do before its wait: by hand, for each branch of the rule.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fmt::Write;

use ptx::{Dependence, Module};

const HEAD: &str = ".version 7.8\n.target sm_90\n.address_size 64\n";

/// Returns a kernel's dependence in words: what is read and what is written before a wait, and whether there is one.
fn words(dependence: &Dependence) -> String {
    let mut words = String::new();
    for (parameter, touches) in dependence.before_wait.iter().enumerate() {
        for (holds, verb) in [(touches.reads, "reads"), (touches.writes, "writes")] {
            if holds {
                write!(words, "{verb} {parameter}, ").unwrap();
            }
        }
    }
    words + if dependence.waits { "waits" } else { "never waits" }
}

/// Returns the words for a kernel with the pointers 0 and 1 in `%d0` and `%d1`, the number 2 in `%r2`, and the predicate
/// `%p`. Beside it stand `functions`.
fn of(functions: &str, body: &str) -> String {
    let text = format!(
        "{HEAD}.global .u32 counter;\n{functions}\n\
         .visible .entry k(.param .u64 a, .param .u64 b, .param .u32 n)\n{{\n\
         .local .align 8 .b8 spilled[16]; .shared .align 8 .b8 tile[256];\n\
         .reg .pred %p, %q; .reg .b32 %r<9>; .reg .b64 %d<9>;\n\
         ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u32 %r2, [n]; mov.u32 %r0, %tid.x;\n\
         setp.lt.u32 %p, %r0, %r2;\n{body}\nret;\n}}\n"
    );
    let module = Module::parse(&text).unwrap_or_else(|error| panic!("{body}: {error}"));
    words(&module.dependence("k").unwrap())
}

#[track_caller]
fn check(body: &str, want: &str) {
    assert_eq!(of("", body), want, "{body}");
}

const WAIT: &str = "griddepcontrol.wait;";

#[test]
fn what_stands_before_the_wait_is_early_and_what_stands_behind_it_is_not() {
    let access = "ld.global.u32 %r1, [%d0];";
    check(&format!("{access} {WAIT}"), "reads 0, waits");
    check(&format!("{WAIT} {access}"), "waits");
    check(&format!("{access} {WAIT} st.global.u32 [%d1], %r1;"), "reads 0, waits");
    check(access, "reads 0, never waits");
    check(&format!("griddepcontrol.launch_dependents; {access} {WAIT}"), "reads 0, waits");
    check("ret;", "never waits");
    // What no path leads to is not there.
    check(&format!("bra OUT; {WAIT} {access} OUT:"), "never waits");
    check(&format!("exit; {WAIT}"), "never waits");
    check(&format!("trap; {access}"), "never waits");
}

#[test]
fn loads_read_stores_write_and_atomics_do_both() {
    for (access, want) in [
        ("ld.global.nc.v2.u32 {%r1, %r3}, [%d0+8];", "reads 0, waits"),
        ("st.global.u32 [%d1], %r0;", "writes 1, waits"),
        ("@%p st.global.u32 [%d1], %r0;", "writes 1, waits"),
        ("atom.global.add.u32 %r1, [%d0], 1;", "reads 0, writes 0, waits"),
        ("red.global.add.u32 [%d0], 1;", "reads 0, writes 0, waits"),
        // A generic address of a buffer.
        ("ld.u32 %r1, [%d0];", "reads 0, waits"),
        ("st.u32 [%d1], %r0;", "writes 1, waits"),
    ] {
        check(&format!("{access} {WAIT}"), want);
        check(&format!("{WAIT} {access}"), "waits");
    }
}

#[test]
fn what_reaches_no_buffer_is_no_access() {
    for harmless in [
        "ld.param.u64 %d3, [a];",
        "mov.b64 %d3, a; ld.param.u64 %d4, [%d3];",
        "mov.b64 %d3, a; cvta.param.u64 %d4, %d3; ld.u64 %d5, [%d4];",
        "st.shared.u32 [tile], %r0; ld.shared.u32 %r1, [tile+4];",
        "st.local.u32 [spilled], %r0; ld.local.u32 %r1, [spilled];",
        // A generic address.
        "cvta.local.u64 %d3, spilled; cvt.u64.u32 %d4, %r0; add.u64 %d3, %d3, %d4; ld.u32 %r1, [%d3];",
        "red.global.add.u32 [counter], 1;",
        "mov.u64 %d3, %d0; add.u64 %d3, %d3, 8;",
        "bar.sync 0; membar.gl; shfl.sync.idx.b32 %r1, %r0, 0, 31, -1;",
    ] {
        check(&format!("{harmless} {WAIT}"), "waits");
    }
}

#[test]
fn an_address_belongs_to_every_parameter_that_its_value_is_made_of() {
    for (address, want) in [
        ("mov.u64 %d3, %d0;", "reads 0, waits"),
        ("add.s64 %d3, %d0, 8;", "reads 0, waits"),
        ("cvta.to.global.u64 %d3, %d0;", "reads 0, waits"),
        ("mul.wide.u32 %d4, %r0, 4; add.s64 %d3, %d1, %d4;", "reads 1, waits"),
        ("mad.wide.u32 %d3, %r0, 4, %d1;", "reads 1, waits"),
        ("mad.wide.u32 %d3, %r2, 4, %d1;", "reads 1, reads 2, waits"),
        ("selp.b64 %d3, %d0, %d1, %p;", "reads 0, reads 1, waits"),
        ("mov.u64 %d3, %d0; @%p mov.u64 %d3, %d1;", "reads 0, reads 1, waits"),
        ("mov.u64 %d3, %d0; mov.u64 %d3, %d1;", "reads 1, waits"),
        ("mov.b64 {%r3, %r4}, %d0; mov.b64 %d3, {%r3, %r4};", "reads 0, waits"),
        (
            "mov.b64 {%r3, %r4}, %d0; add.cc.u32 %r3, %r3, 4; addc.u32 %r4, %r4, 0; mov.b64 %d3, {%r3, %r4};",
            "reads 0, waits",
        ),
        ("mov.b64 %d4, b; cvta.param.u64 %d4, %d4; ld.u64 %d3, [%d4];", "reads 1, waits"),
        // What a choice goes by is no part of what is chosen.
        ("setp.eq.u64 %q, %d1, 0; selp.b64 %d3, %d0, 0, %q;", "reads 0, waits"),
        ("slct.b64.s32 %d3, %d0, %d0, %r2;", "reads 0, waits"),
    ] {
        check(&format!("{address} ld.global.u32 %r1, [%d3]; {WAIT}"), want);
    }
}

#[test]
fn an_address_is_followed_through_the_threads_own_memory_and_not_through_the_devices() {
    let read = "ld.global.u32 %r1, [%d3];";
    for (way, want) in [
        ("st.local.u64 [spilled], %d0; ld.local.u64 %d3, [spilled];", "reads 0, waits"),
        ("cvta.local.u64 %d4, spilled; st.u64 [%d4+8], %d1; ld.u64 %d3, [%d4+8];", "reads 1, waits"),
        ("st.shared.u64 [tile], %d0; bar.sync 0; ld.shared.u64 %d3, [tile];", "reads 0, waits"),
        // The address of a parameter, put away.
        (
            "mov.b64 %d4, b; cvta.param.u64 %d4, %d4; st.local.u64 [spilled], %d4; ld.local.u64 %d5, [spilled]; \
             ld.u64 %d3, [%d5];",
            "reads 1, waits",
        ),
        // A table of indices: only the table is read, and what they lead to.
        ("ld.global.u64 %d4, [%d1]; add.u64 %d3, %d0, %d4;", "reads 0, reads 1, waits"),
        ("ld.global.u64 %d3, [%d1];", "reads 1, waits"),
        ("st.local.u64 [spilled], %d0; ld.global.u64 %d3, [%d1];", "reads 1, waits"),
        ("st.global.u64 [%d1], %d0; ld.local.u64 %d3, [spilled];", "writes 1, waits"),
    ] {
        check(&format!("{way} {read} {WAIT}"), want);
    }
}

#[test]
fn a_register_that_is_used_again_for_another_pointer_is_followed_along_the_path() {
    check(
        &format!(
            "mov.u64 %d3, %d0; ld.global.u32 %r1, [%d3]; mov.u64 %d3, %d1; {WAIT} st.global.u32 [%d3], 1;"
        ),
        "reads 0, waits",
    );
}

#[test]
fn a_wait_counts_on_the_paths_that_pass_it() {
    let late = "st.global.u32 [%d1], %r0;";
    // In one arm: the other arm comes to the store without it.
    check(&format!("@%p bra ELSE; {WAIT} ELSE: {late}"), "writes 1, waits");
    check(&format!("@%p {WAIT} {late}"), "writes 1, waits");
    // In both arms.
    check(&format!("@%p bra ELSE; {WAIT} bra JOIN; ELSE: {WAIT} JOIN: {late}"), "waits");
    // The threads that have nothing to do return first.
    check(&format!("@%p ret; {WAIT} {late}"), "waits");
    check(&format!("@%p exit; {WAIT} {late}"), "waits");
    // Where paths meet, every register is what it was on either.
    let either = "mov.u64 %d3, 0; mov.u64 %d4, 0; @%p bra JOIN; mov.u64 %d3, %d0; mov.u64 %d4, %d1; JOIN:";
    check(
        &format!("{either} ld.global.u32 %r1, [%d3]; ld.global.u32 %r1, [%d4]; {WAIT}"),
        "reads 0, reads 1, waits",
    );
    // A jump by a table.
    let table = "T: .branchtargets ONE, TWO; brx.idx %r0, T;";
    check(
        &format!("{table} ONE: {WAIT} bra OUT; TWO: ld.global.u32 %r1, [%d0]; OUT: {late}"),
        "reads 0, writes 1, waits",
    );
    check(&format!("{table} ONE: {WAIT} bra OUT; TWO: {WAIT} OUT: {late}"), "waits");
}

#[test]
fn loops_are_followed_until_nothing_changes() {
    // The prologue's loop is early, the rest is not.
    let turn = "add.u32 %r0, %r0, 1; setp.lt.u32 %q, %r0, 9;";
    check(
        &format!("L: ld.global.u32 %r1, [%d0]; {turn} @%q bra L; {WAIT} st.global.u32 [%d1], %r1;"),
        "reads 0, waits",
    );
    // A wait inside the loop: the body's end comes behind it in every turn, its beginning before it in the first.
    check(
        &format!("L: ld.global.u32 %r1, [%d0]; {WAIT} st.global.u32 [%d1], %r1; {turn} @%q bra L;"),
        "reads 0, waits",
    );
    // The pointer is another one from the second turn on, and from the third a third one.
    check(
        &format!(
            "mov.u64 %d3, 0; mov.u64 %d4, %d0; L: ld.global.u32 %r1, [%d3]; mov.u64 %d3, %d4; mov.u64 %d4, %d1; \
             {turn} @%q bra L; {WAIT}"
        ),
        "reads 0, reads 1, waits",
    );
    // No way out.
    check(&format!("L: ld.global.u32 %r1, [%d0]; bra L; {WAIT}"), "reads 0, never waits");
}

/// Calls `f` with `%d0` and gets `%d3` back.
const CALL: &str =
    "{ .param .b64 x; .param .b64 y; st.param.b64 [x], %d0; call.uni (y), f, (x); ld.param.b64 %d3, [y]; }";

fn function(body: &str) -> String {
    format!(
        ".func (.param .b64 out) f(.param .b64 in)\n{{\n.reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<9>;\nld.param.b64 %d0, [in];\n{body}\nret;\n}}"
    )
}

#[test]
fn calls_are_followed_with_what_they_pass_and_return() {
    let late = "st.global.u32 [%d1], %r0;";
    for (body, then, want) in [
        ("ld.global.u32 %r1, [%d0];", WAIT, "reads 0, waits"),
        // What comes back is made of what was passed.
        (
            "add.u64 %d1, %d0, 8; st.param.b64 [out], %d1;",
            "st.global.u32 [%d3], 1; griddepcontrol.wait;",
            "writes 0, waits",
        ),
        ("st.param.b64 [out], 0;", "st.global.u32 [%d3], 1; griddepcontrol.wait;", "waits"),
        // The wait is in the function, on every way through it or on one.
        (WAIT, late, "waits"),
        ("setp.eq.u64 %p, %d0, 0; @%p ret; griddepcontrol.wait;", late, "writes 1, waits"),
        ("trap;", late, "never waits"),
    ] {
        assert_eq!(of(&function(body), &format!("{CALL} {then}")), want, "{body} {then}");
    }
    // Behind the wait a function may touch what it likes.
    assert_eq!(of(&function("ld.global.u32 %r1, [%d0];"), &format!("{WAIT} {CALL}")), "waits");
}

#[test]
fn recursion_and_calls_through_a_pointer_are_followed_too() {
    let deeper = "{ .param .b64 x; .param .b64 y; add.u64 %d0, %d0, 8; st.param.b64 [x], %d0; call.uni (y), f, (x); \
                  ld.param.b64 %d1, [y]; st.param.b64 [out], %d1; }";
    let recursive = function(&format!(
        "setp.eq.u64 %p, %d0, 0; st.param.b64 [out], %d0; @%p ret; ld.global.u32 %r1, [%d0]; {deeper}"
    ));
    assert_eq!(of(&recursive, &format!("{CALL} st.global.u32 [%d3], 1; {WAIT}")), "reads 0, writes 0, waits");
    let endless = function(deeper);
    assert_eq!(of(&endless, &format!("{CALL} {WAIT} st.global.u32 [%d1], 1;")), "never waits");

    let by_pointer = "P: .callprototype (.param .b64 _) _ (.param .b64 _);\n{ .param .b64 x; .param .b64 y; \
                      mov.u64 %d5, f; st.param.b64 [x], %d1; call (y), %d5, (x), P; ld.param.b64 %d3, [y]; }";
    assert_eq!(of(&function("ld.global.u32 %r1, [%d0];"), &format!("{by_pointer} {WAIT}")), "reads 1, waits");
    // Not to a function that takes as much and returns nothing.
    let other =
        ".func g(.param .b64 in) { .reg .b64 %d; ld.param.b64 %d, [in]; st.global.u32 [%d], 1; ret; }";
    assert_eq!(of(&format!("{other} {}", function("")), &format!("{by_pointer} {WAIT}")), "waits");
    assert_eq!(of(&function(WAIT), &format!("{by_pointer} st.global.u32 [%d1], 1;")), "waits");
}

#[test]
fn the_last_parameters_of_many_share_one_answer_and_the_others_have_their_own() {
    let declared: Vec<_> = (0..70).map(|n| format!(".param .u64 p{n}")).collect();
    let of = |read: u32| {
        let text = format!(
            "{HEAD}.visible .entry k({}) {{ .reg .b32 %r; .reg .b64 %d; ld.param.u64 %d, [p{read}]; ld.global.u32 %r, [%d]; ret; }}",
            declared.join(", ")
        );
        let dependence = Module::parse(&text).unwrap().dependence("k").unwrap();
        (0..70).filter(|&parameter| dependence.before_wait[parameter].reads).collect::<Vec<_>>()
    };
    assert_eq!(of(62), [62]);
    assert_eq!(of(69), (63..70).collect::<Vec<_>>());
}

#[test]
fn what_is_no_kernel_has_no_dependence() {
    let module = Module::parse(&format!("{HEAD}{}", function(""))).unwrap();
    assert_eq!((module.dependence("f"), module.dependence("nothing")), (None, None));
}
