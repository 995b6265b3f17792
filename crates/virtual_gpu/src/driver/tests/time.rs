//! Elapsed time, and what it may be asked of.

use super::*;

#[test]
fn too_early_is_not_ready_and_later_a_value() {
    let mut rig = Rig::new();
    let (start, stop) = (rig.event(TIMING), rig.event(TIMING));
    rig.driver.record_event(start, 0).unwrap();
    rig.slow(0);
    rig.driver.record_event(stop, 0).unwrap();
    assert_eq!(rig.driver.elapsed_ms(start, stop), Err(CuResult::NOT_READY));
    rig.driver.synchronize_event(stop).unwrap();
    let ms = rig.driver.elapsed_ms(start, stop).unwrap();
    assert!((0.9..1.3).contains(&ms), "{ms}");
    assert_eq!(rig.driver.elapsed_ms(stop, start), Ok(-ms));
    assert_eq!(rig.driver.elapsed_ms(start, start), Ok(0.0));
}

#[test]
fn the_wrong_events_all_answer_the_same() {
    let mut rig = Rig::new();
    let (good, ordering) = (rig.event(TIMING), rig.event(ORDERING));
    let (never, never_ordering) = (rig.event(TIMING), rig.event(ORDERING));
    for event in [good, ordering] {
        rig.driver.record_event(event, 0).unwrap();
    }
    rig.driver.synchronize().unwrap();
    for wrong in [ordering, never, never_ordering] {
        assert_eq!(rig.driver.elapsed_ms(good, wrong), Err(CuResult::INVALID_HANDLE));
        assert_eq!(rig.driver.elapsed_ms(wrong, good), Err(CuResult::INVALID_HANDLE));
    }
    rig.driver.create_context(0).unwrap();
    let foreign = rig.event(TIMING);
    rig.driver.record_event(foreign, 0).unwrap();
    rig.driver.synchronize().unwrap();
    assert_eq!(rig.driver.elapsed_ms(good, foreign), Err(CuResult::INVALID_HANDLE));
}

/// A kernel of a millisecond on a stream of this kind, timed on the legacy stream.
fn timed_from_the_legacy_stream(flags: u32) -> f32 {
    let mut rig = Rig::new();
    let stream = rig.stream(flags);
    let (start, stop) = (rig.event(TIMING), rig.event(TIMING));
    rig.driver.record_event(start, LEGACY).unwrap();
    rig.slow(stream);
    rig.driver.record_event(stop, LEGACY).unwrap();
    rig.driver.synchronize().unwrap();
    rig.driver.elapsed_ms(start, stop).unwrap()
}

#[test]
fn the_legacy_stream_times_blocking_streams_and_not_others() {
    assert!(timed_from_the_legacy_stream(BLOCKING) > 0.9);
    assert!(timed_from_the_legacy_stream(NON_BLOCKING) < 0.05);
}

#[test]
fn the_hosts_calls_take_the_time_that_was_measured() {
    let mut rig = Rig::new();
    let before = rig.driver.now;
    for _ in 0..10 {
        rig.launch("empty", 1, 0, &[]).unwrap();
    }
    assert_eq!((rig.driver.now - before) / NS, 10 * H200.host.launch_ns);
    rig.driver.synchronize().unwrap();
    let before = rig.driver.now;
    rig.launch("empty", 1, 0, &[]).unwrap();
    rig.driver.synchronize().unwrap();
    // 9.0 us on the real card.
    let us = (rig.driver.now - before) / NS / 100;
    assert!((80..=95).contains(&us), "{us}");
}
