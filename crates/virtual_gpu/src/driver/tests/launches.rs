//! Launches: what is refused, and that the next good one works.

use super::*;
use cuda_driver::{CUfunctionAttribute, CUlaunchAttribute};

#[track_caller]
fn refused(shape: LaunchShape) {
    let mut rig = Rig::new();
    let function = rig.function("empty");
    assert_eq!(rig.driver.launch(function, shape, 0, Vec::new(), &[]), Err(CuResult::INVALID_VALUE));
    rig.launch("empty", 1, 0, &[]).unwrap();
    rig.driver.synchronize().unwrap();
}

#[test]
fn a_launch_beyond_the_cards_limits_is_refused_at_the_call() {
    let good = LaunchShape { grid: [1; 3], block: [1; 3], shared_bytes: 0 };
    refused(LaunchShape { block: [1025, 1, 1], ..good });
    refused(LaunchShape { block: [33, 32, 1], ..good });
    refused(LaunchShape { block: [1, 1, 65], ..good });
    refused(LaunchShape { grid: [1, 65_536, 1], ..good });
    refused(LaunchShape { grid: [0, 1, 1], ..good });
    refused(LaunchShape { shared_bytes: 50 << 10, ..good });
    refused(LaunchShape { shared_bytes: 300 << 10, ..good });
}

#[test]
fn more_shared_memory_must_be_asked_for_first() {
    let mut rig = Rig::new();
    let function = rig.function("empty");
    let limit = CUfunctionAttribute::MAX_DYNAMIC_SHARED_SIZE_BYTES;
    assert_eq!(rig.driver.set_function_attribute(function, limit, 228 << 10), Err(CuResult::INVALID_VALUE));
    rig.driver.set_function_attribute(function, limit, 227 << 10).unwrap();
    let shape = LaunchShape { grid: [4; 3], block: [32, 1, 1], shared_bytes: 227 << 10 };
    rig.driver.launch(function, shape, 0, Vec::new(), &[]).unwrap();
    rig.driver.synchronize().unwrap();
}

#[test]
fn every_block_of_a_grid_runs_once() {
    let mut rig = Rig::new();
    let buffer = rig.words(3000);
    rig.launch("put", 3000, 0, &put(buffer, 9)).unwrap();
    rig.driver.synchronize().unwrap();
    assert!((0..3000).all(|i| rig.word(buffer + 4 * i) == 9));
}

#[test]
fn programmatic_launch_needs_a_card_that_has_it() {
    let early = [CUlaunchAttribute::programmatic_stream_serialization(true)];
    let off = [CUlaunchAttribute::programmatic_stream_serialization(false), CUlaunchAttribute::priority(-3)];
    let shape = LaunchShape { grid: [1; 3], block: [1; 3], shared_bytes: 0 };
    for (card, answer) in [(H200, Ok(())), (T4, Err(CuResult::NOT_SUPPORTED))] {
        let mut rig = Rig::with(card, Schedule::Card);
        let function = rig.function("empty");
        assert_eq!(rig.driver.launch(function, shape, 0, Vec::new(), &early), answer);
        assert_eq!(rig.driver.launch(function, shape, 0, Vec::new(), &off), Ok(()));
    }
}

#[test]
fn a_kernels_first_use_can_wait_for_what_runs() {
    let mut rig = Rig::new();
    let (busy, other) = (rig.stream(NON_BLOCKING), rig.stream(NON_BLOCKING));
    rig.slow(busy);
    let module = rig.driver.load_module(PTX.as_bytes()).unwrap();
    rig.module = module;
    assert_eq!(rig.driver.query_stream(busy), Err(CuResult::NOT_READY));
    rig.launch("empty", 1, other, &[]).unwrap();
    assert_eq!(rig.driver.query_stream(busy), Ok(()));
}
