//! Kernels that fail, and images that are refused.

use super::*;

const ILLEGAL: CuResult = CuResult::ILLEGAL_ADDRESS;

#[test]
fn a_null_store_is_told_by_the_first_call_that_waits_and_by_every_one_after() {
    let mut rig = Rig::new();
    let stream = rig.stream(NON_BLOCKING);
    let event = rig.event(TIMING);
    let buffer = rig.words(4);
    rig.put(stream, 0, 7);
    assert_eq!(rig.driver.synchronize_stream(stream), Err(ILLEGAL));
    assert_eq!(rig.driver.synchronize(), Err(ILLEGAL));
    assert_eq!(rig.driver.allocate(4), Err(ILLEGAL));
    assert_eq!(rig.driver.free(buffer), Err(ILLEGAL));
    assert_eq!(rig.driver.record_event(event, stream), Err(ILLEGAL));
    assert_eq!(rig.driver.destroy_stream(stream), Err(ILLEGAL));
    assert_eq!(rig.launch("empty", 1, 0, &[]), Err(ILLEGAL));
    let module = rig.module;
    assert_eq!(rig.driver.unload_module(module), Err(ILLEGAL));
    let fault = rig.driver.fault.clone().unwrap();
    assert_eq!((fault.kernel.as_str(), fault.block), ("put", [0, 0, 0]));
    assert!(fault.to_string().contains("put"), "{fault}");
}

#[test]
fn with_a_new_context_the_card_works_again() {
    let mut rig = Rig::new();
    rig.put(0, 0, 7);
    assert_eq!(rig.driver.synchronize(), Err(ILLEGAL));
    rig.driver.release_primary().unwrap();
    let context = rig.driver.retain_primary().unwrap();
    rig.driver.set_current_context(Some(context)).unwrap();
    rig.module = rig.driver.load_module(PTX.as_bytes()).unwrap();
    let buffer = rig.words(1);
    rig.put(0, buffer, 7);
    rig.driver.synchronize().unwrap();
    assert_eq!(rig.word(buffer), 7);
}

#[test]
fn a_store_past_the_end_names_the_block_and_the_allocation() {
    let mut rig = Rig::new();
    let buffer = rig.words(4);
    rig.launch("put", 5, 0, &put(buffer, 1)).unwrap();
    assert_eq!(rig.driver.synchronize(), Err(ILLEGAL));
    let fault = rig.driver.fault.clone().unwrap();
    assert_eq!(fault.block, [4, 0, 0]);
    assert!(fault.to_string().contains("allocation 1"), "{fault}");
}

#[track_caller]
fn refused(card: Card, image: &str, code: CuResult, log: &[&str]) {
    let mut rig = Rig::with(card, Schedule::Card);
    let refusal = rig.driver.load_module(image.as_bytes()).unwrap_err();
    assert_eq!(refusal.code, code, "{}", refusal.log);
    for word in log {
        assert!(refusal.log.contains(word), "`{}` does not say {word}", refusal.log);
    }
    assert!(!refusal.log.contains('\n'));
}

#[test]
fn ptx_that_is_too_new_is_refused_with_both_versions() {
    let image = PTX.replace(".version 7.8", ".version 9.9");
    refused(H200, &image, CuResult::UNSUPPORTED_PTX_VERSION, &["9.9", "9.0"]);
}

#[test]
fn ptx_for_a_newer_card_is_refused_with_both_architectures() {
    let image = PTX.replace(".target sm_75", ".target sm_120");
    refused(H200, &image, CuResult::INVALID_PTX, &["sm_120", "sm_90"]);
    let image = PTX.replace(".target sm_75", ".target sm_90");
    refused(T4, &image, CuResult::INVALID_PTX, &["sm_90", "sm_75"]);
}

#[test]
fn an_unknown_instruction_is_refused_with_its_line() {
    let image = PTX.replace("add.s32 %r1, %r1, -1", "frobnicate.s32 %r1, %r1, -1");
    let line = image.lines().position(|line| line.contains("frobnicate")).unwrap() + 1;
    refused(H200, &image, CuResult::INVALID_PTX, &["frobnicate", &line.to_string()]);
}

#[test]
fn what_is_no_ptx_is_no_image() {
    refused(H200, "Lorem ipsum", CuResult::INVALID_IMAGE, &[]);
    refused(H200, "\x7fELF", CuResult::NO_BINARY_FOR_GPU, &["PTX"]);
}
