//! Allocations, copies, fills.

use super::*;

#[test]
fn what_was_allocated_is_missing_until_it_is_freed() {
    let mut rig = Rig::new();
    let (free, total) = rig.driver.memory_info().unwrap();
    assert!(free < total && total == H200.memory.bytes);
    let address = rig.driver.allocate(1 << 20).unwrap();
    assert_eq!(rig.driver.memory_info().unwrap().0, free - (1 << 20));
    rig.driver.free(address).unwrap();
    assert_eq!(rig.driver.memory_info().unwrap().0, free);
    assert_eq!(rig.driver.free(address), Err(CuResult::INVALID_VALUE));
    assert_eq!(rig.driver.allocate(0), Err(CuResult::INVALID_VALUE));
    assert_eq!(rig.driver.allocate(total + 1), Err(CuResult::OUT_OF_MEMORY));
}

#[test]
fn bytes_make_the_round_trip() {
    let mut rig = Rig::new();
    let mut sent: Vec<u32> = (0..100_000).collect();
    let bytes = 4 * sent.len() as u64;
    let (a, b) = (rig.driver.allocate(bytes).unwrap(), rig.driver.allocate(bytes).unwrap());
    rig.driver.copy_to_device(a, host(&mut sent), bytes, 0, Completion::Synchronous).unwrap();
    rig.driver.copy_within(b, a, bytes, 0).unwrap();
    let mut received = vec![0_u32; sent.len()];
    rig.driver.copy_to_host(host(&mut received), b, bytes, 0, Completion::Synchronous).unwrap();
    assert_eq!(received, sent);
}

#[test]
fn fills_write_their_pattern_in_each_width() {
    let mut rig = Rig::new();
    let address = rig.driver.allocate(16).unwrap();
    rig.driver.fill(address, &[0x11], 16, 0).unwrap();
    rig.driver.fill(address + 4, &0x3322_u16.to_le_bytes(), 2, 0).unwrap();
    rig.driver.fill(address + 8, &0x7766_5544_u32.to_le_bytes(), 1, 0).unwrap();
    rig.driver.synchronize().unwrap();
    let words = [0, 4, 8, 12].map(|offset| rig.word(address + offset));
    assert_eq!(words, [0x1111_1111, 0x3322_3322, 0x7766_5544, 0x1111_1111]);
    assert_eq!(rig.driver.fill(address + 2, &[0; 4], 1, 0), Err(CuResult::INVALID_VALUE));
    assert_eq!(rig.driver.fill(address, &[0; 4], u64::MAX, 0), Err(CuResult::INVALID_VALUE));
}

#[test]
fn a_range_that_is_not_in_one_allocation_is_refused() {
    let mut rig = Rig::new();
    let address = rig.driver.allocate(16).unwrap();
    let mut data = [0_u8; 32];
    let to = host(&mut data);
    for (start, bytes) in [(address, 17), (address + 16, 1), (0, 4)] {
        let refused = Err(CuResult::INVALID_VALUE);
        assert_eq!(rig.driver.copy_to_host(to, start, bytes, 0, Completion::Synchronous), refused);
        assert_eq!(rig.driver.copy_to_device(start, to, bytes, 0, Completion::Asynchronous), refused);
        assert_eq!(rig.driver.copy_within(start, address, bytes, 0), refused);
    }
    assert_eq!(rig.driver.copy_to_host(to, 0, 0, 0, Completion::Synchronous), Ok(()));
}

/// A page-locked buffer is refilled while the copy from it is under way; returns what reached the device.
fn refill(schedule: Schedule, wait_between: bool) -> (u32, u32) {
    const WORDS: usize = 1 << 20;
    let mut rig = Rig::with(H200, schedule);
    let stream = rig.stream(NON_BLOCKING);
    let bytes = 4 * WORDS as u64;
    let (first, second) = (rig.words(WORDS as u64), rig.words(WORDS as u64));
    let staging = rig.driver.allocate_host(4 * WORDS).unwrap();
    // SAFETY: allocated with these many bytes, and zeroed.
    let staging = unsafe { std::slice::from_raw_parts_mut(staging.as_ptr().cast::<u32>(), WORDS) };
    staging.fill(1);
    let copy = Completion::Asynchronous;
    rig.driver.copy_to_device(first, host(staging), bytes, stream, copy).unwrap();
    if wait_between {
        rig.driver.synchronize_stream(stream).unwrap();
    }
    staging.fill(2);
    rig.driver.copy_to_device(second, host(staging), bytes, stream, copy).unwrap();
    rig.driver.synchronize().unwrap();
    assert_eq!(rig.word(second), 2);
    (rig.word(first), rig.word(first + bytes - 4))
}

#[test]
fn a_page_locked_buffer_refilled_too_soon_spoils_the_copy() {
    assert_eq!(refill(Schedule::Late, false), (2, 2));
    assert_eq!(refill(Schedule::Card, false).1, 2);
}

#[test]
fn one_that_is_refilled_after_a_wait_does_not() {
    assert_eq!(refill(Schedule::Late, true), (1, 1));
    assert_eq!(refill(Schedule::Card, true), (1, 1));
}

#[test]
fn a_pageable_source_is_read_at_the_call() {
    for schedule in [Schedule::Card, Schedule::Late] {
        let mut rig = Rig::with(H200, schedule);
        let stream = rig.stream(NON_BLOCKING);
        let address = rig.words(4);
        let mut source = [5_u32; 4];
        rig.driver.copy_to_device(address, host(&mut source), 16, stream, Completion::Asynchronous).unwrap();
        source.fill(6);
        rig.driver.synchronize().unwrap();
        assert_eq!(rig.word(address), 5);
    }
}

#[test]
fn page_locked_memory_is_freed_once() {
    let mut rig = Rig::new();
    let start = rig.driver.allocate_host(100).unwrap().as_ptr().addr();
    assert_eq!(start % 4096, 0);
    assert!(rig.driver.allocations.is_page_locked(start + 50, 50));
    assert!(!rig.driver.allocations.is_page_locked(start + 50, 51));
    rig.driver.free_host(start).unwrap();
    assert_eq!(rig.driver.free_host(start), Err(CuResult::INVALID_VALUE));
    assert_eq!(rig.driver.allocate_host(0), Err(CuResult::INVALID_VALUE));
}
