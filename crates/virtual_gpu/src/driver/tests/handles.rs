//! Contexts and handles: what may be used when.

use super::*;
use cuda_driver::{CUdeviceAttribute, CUfunctionAttribute as Ask, Symbol};

#[test]
fn before_init_nothing_works() {
    let mut driver = Driver::new(H200, Options::default());
    assert_eq!(driver.retain_primary(), Err(CuResult::NOT_INITIALIZED));
    assert_eq!(driver.create_stream(0, 0), Err(CuResult::NOT_INITIALIZED));
    assert_eq!(driver.init(1), Err(CuResult::INVALID_VALUE));
}

#[test]
fn without_a_context_nothing_that_needs_one_works() {
    let mut driver = Driver::new(H200, Options::default());
    driver.init(0).unwrap();
    assert_eq!(driver.create_stream(0, 0), Err(CuResult::INVALID_CONTEXT));
    assert_eq!(driver.allocate(4), Err(CuResult::INVALID_CONTEXT));
    assert_eq!(driver.set_current_context(Some(0x1234)), Err(CuResult::INVALID_CONTEXT));
    assert_eq!(driver.pop_context(), Err(CuResult::INVALID_CONTEXT));
}

#[test]
fn the_primary_context_lives_until_its_last_user_has_released_it() {
    let mut rig = Rig::new();
    let first = rig.driver.current_context();
    assert_eq!(rig.driver.retain_primary().ok(), first);
    rig.driver.release_primary().unwrap();
    assert_eq!(rig.driver.primary_state(), Ok((0, true)));
    rig.stream(BLOCKING);
    rig.driver.release_primary().unwrap();
    assert_eq!(rig.driver.primary_state(), Ok((0, false)));
    assert_eq!(rig.driver.create_stream(0, 0), Err(CuResult::CONTEXT_IS_DESTROYED));
    assert_eq!(rig.driver.release_primary(), Err(CuResult::INVALID_CONTEXT));
}

#[test]
fn what_a_context_owned_is_gone_with_it() {
    let mut rig = Rig::new();
    let (before, _) = rig.driver.memory_info().unwrap();
    let other = rig.driver.create_context(0).unwrap();
    rig.driver.allocate(1 << 20).unwrap();
    let stream = rig.stream(BLOCKING);
    let event = rig.event(TIMING);
    rig.driver.destroy_context(other).unwrap();
    assert_eq!(rig.driver.memory_info().unwrap().0, before);
    assert_eq!(rig.driver.synchronize_stream(stream), Err(CuResult::INVALID_HANDLE));
    assert_eq!(rig.driver.query_event(event), Err(CuResult::INVALID_HANDLE));
}

#[test]
fn a_handle_that_was_destroyed_is_invalid() {
    let mut rig = Rig::new();
    let (stream, event) = (rig.stream(BLOCKING), rig.event(TIMING));
    rig.driver.destroy_stream(stream).unwrap();
    rig.driver.destroy_event(event).unwrap();
    assert_eq!(rig.driver.destroy_stream(stream), Err(CuResult::INVALID_HANDLE));
    assert_eq!(rig.driver.record_event(event, 0), Err(CuResult::INVALID_HANDLE));
    assert_eq!(rig.launch("empty", 1, stream, &[]), Err(CuResult::INVALID_HANDLE));
    let (function, module) = (rig.function("empty"), rig.module);
    rig.driver.unload_module(module).unwrap();
    assert_eq!(rig.driver.function_attribute(function, Ask::NUM_REGS), Err(CuResult::INVALID_HANDLE));
    assert_eq!(rig.driver.function(module, "empty"), Err(CuResult::INVALID_HANDLE));
}

#[test]
fn handles_of_another_context_are_invalid_in_this_one() {
    let mut rig = Rig::new();
    let stream = rig.stream(BLOCKING);
    let event = rig.event(TIMING);
    rig.driver.create_context(0).unwrap();
    assert_eq!(rig.driver.synchronize_stream(stream), Err(CuResult::INVALID_HANDLE));
    assert_eq!(rig.driver.record_event(event, 0), Err(CuResult::INVALID_HANDLE));
}

#[test]
fn an_unknown_kernel_is_not_found() {
    let mut rig = Rig::new();
    let module = rig.module;
    assert_eq!(rig.driver.function(module, "nobody"), Err(CuResult::NOT_FOUND));
    assert_eq!(rig.driver.global(module, "nothing"), Err(CuResult::NOT_FOUND));
}

#[test]
fn streams_say_how_they_were_made() {
    let mut rig = Rig::new();
    let stream = rig.driver.create_stream(NON_BLOCKING, -99).unwrap();
    assert_eq!(rig.driver.stream_flags(stream), Ok(1));
    assert_eq!(rig.driver.stream_priority(stream), Ok(-5));
    assert_eq!(rig.driver.stream_priority(LEGACY), Ok(0));
    assert_eq!(rig.driver.create_stream(2, 0), Err(CuResult::INVALID_VALUE));
    assert_eq!(rig.driver.create_event(8), Err(CuResult::INVALID_VALUE));
    assert_eq!(rig.driver.create_event(4 | 2), Err(CuResult::NOT_SUPPORTED));
}

#[test]
fn a_kernel_says_what_it_needs_and_how_many_blocks_fit() {
    let mut rig = Rig::new();
    let function = rig.function("put");
    let ask = |rig: &mut Rig, ask| rig.driver.function_attribute(function, ask).unwrap();
    assert!((1..=32).contains(&ask(&mut rig, Ask::NUM_REGS)));
    assert_eq!(ask(&mut rig, Ask::MAX_THREADS_PER_BLOCK), 1024);
    assert_eq!(ask(&mut rig, Ask::BINARY_VERSION), 90);
    assert_eq!(ask(&mut rig, Ask::PTX_VERSION), 75);
    assert_eq!(ask(&mut rig, Ask::MAX_DYNAMIC_SHARED_SIZE_BYTES), 48 << 10);
    assert_eq!(rig.driver.blocks_per_multiprocessor(function, 256, 0), Ok(8));
    assert_eq!(rig.driver.blocks_per_multiprocessor(function, 1025, 0), Ok(0));
    assert_eq!(rig.driver.best_block(function, |_| 0, 0), Ok((2 * 132, 1024)));
    assert_eq!(rig.driver.shared_for_blocks(function, 2, 256), Ok(113 << 10));
}

#[test]
fn each_symbol_has_a_function_and_an_unsupported_one_says_its_name() {
    for &symbol in Symbol::ALL {
        assert!(resolve(symbol).is_some());
    }
    let function = resolve(Symbol::cuMemAllocManaged).unwrap();
    // SAFETY: what stands for an unsupported function reads no argument.
    let function: extern "C" fn() -> CuResult = unsafe { std::mem::transmute(function.as_ptr()) };
    assert_eq!(function(), CuResult::NOT_SUPPORTED);
    assert_eq!(take_unsupported(), Some(Symbol::cuMemAllocManaged));
    assert_eq!(take_unsupported(), None);
}

#[test]
fn the_card_is_the_one_that_was_asked_for() {
    let rig = Rig::with(T4, Schedule::Card);
    let sms = device::attribute(rig.driver.card(), CUdeviceAttribute::MULTIPROCESSOR_COUNT);
    assert_eq!(sms, Ok(40));
}
