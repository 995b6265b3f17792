//! What compiles and what does not: each file's name is the claim, and `fail/*.stderr` is the message a person sees.
//!
//! `TRYBUILD=overwrite cargo test -p cuda_std --test compile` writes the messages anew.

#[test]
#[cfg_attr(
    feature = "cust",
    ignore = "the messages list what implements `DeviceMemory`, `cust`'s types among them"
)]
fn kernels_and_launches_compile_or_say_why_not() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/pass/*.rs");
    cases.compile_fail("tests/fail/*.rs");
}
