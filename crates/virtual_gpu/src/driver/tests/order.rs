//! Streams, events and the default streams, seen by what has run. `slow` holds a stream up for a millisecond.

use super::*;

#[test]
fn an_event_that_was_never_recorded_is_complete_and_a_wait_for_it_is_none() {
    let mut rig = Rig::new();
    let (one, two) = (rig.stream(NON_BLOCKING), rig.stream(NON_BLOCKING));
    let event = rig.event(ORDERING);
    assert_eq!(rig.driver.query_event(event), Ok(()));
    rig.slow(one);
    rig.driver.wait_event(two, event, 0).unwrap();
    let buffer = rig.words_beside(two);
    rig.put(two, buffer, 1);
    rig.driver.synchronize_stream(two).unwrap();
    assert_eq!(rig.word(buffer), 1);
    assert_eq!(rig.driver.query_stream(one), Err(CuResult::NOT_READY));
}

impl Rig {
    /// A word, allocated without waiting for anything.
    fn words_beside(&mut self, stream: usize) -> u64 {
        let address = self.driver.allocate(4).unwrap();
        self.driver.fill(address, &[0; 4], 1, stream).unwrap();
        address
    }

    /// Puts a one behind whatever `stream` waits for, and returns whether `busy` is done when it is there.
    fn follows(&mut self, stream: usize, busy: usize) -> bool {
        self.launch("empty", 1, stream, &[]).unwrap();
        self.driver.synchronize_stream(stream).unwrap();
        self.driver.query_stream(busy).is_ok()
    }
}

#[test]
fn a_wait_takes_the_latest_record_and_one_record_serves_many_waits() {
    let mut rig = Rig::new();
    let streams = [(); 4].map(|()| rig.stream(NON_BLOCKING));
    let event = rig.event(ORDERING);
    rig.slow(streams[0]);
    rig.driver.record_event(event, streams[0]).unwrap();
    for &stream in &streams[1..] {
        rig.driver.wait_event(stream, event, 0).unwrap();
    }
    rig.driver.destroy_event(event).unwrap();
    assert!(streams[1..].iter().all(|&stream| rig.follows(stream, streams[0])));
}

#[test]
fn recorded_on_two_streams_it_stands_for_the_second() {
    let mut rig = Rig::new();
    let (long, short, reader) =
        (rig.stream(NON_BLOCKING), rig.stream(NON_BLOCKING), rig.stream(NON_BLOCKING));
    let event = rig.event(ORDERING);
    rig.slow(long);
    rig.driver.record_event(event, long).unwrap();
    rig.driver.record_event(event, short).unwrap();
    rig.driver.wait_event(reader, event, 0).unwrap();
    assert!(!rig.follows(reader, long));
}

#[test]
fn a_record_before_the_launch_does_not_cover_it_and_a_wait_before_the_record_waits_for_nothing() {
    let mut rig = Rig::new();
    let (one, two, three) = (rig.stream(NON_BLOCKING), rig.stream(NON_BLOCKING), rig.stream(NON_BLOCKING));
    let event = rig.event(ORDERING);
    rig.driver.wait_event(three, event, 0).unwrap();
    rig.driver.record_event(event, one).unwrap();
    rig.slow(one);
    rig.driver.wait_event(two, event, 0).unwrap();
    assert!(!rig.follows(two, one));
    assert!(!rig.follows(three, one));
}

#[test]
fn the_default_streams_wait_for_blocking_streams_and_not_for_others() {
    for (flags, follows) in [(BLOCKING, true), (NON_BLOCKING, false)] {
        for default in [0, LEGACY] {
            let mut rig = Rig::new();
            let busy = rig.stream(flags);
            rig.slow(busy);
            assert_eq!(rig.follows(default, busy), follows);
        }
        let mut rig = Rig::new();
        let other = rig.stream(flags);
        rig.slow(LEGACY);
        rig.launch("empty", 1, other, &[]).unwrap();
        rig.driver.synchronize_stream(other).unwrap();
        let ms = rig.driver.now / (1_000_000 * NS);
        assert_eq!(ms >= 1, follows, "{ms} ms");
    }
}

#[test]
fn the_per_thread_stream_is_a_blocking_one_of_its_thread() {
    let mut rig = Rig::new();
    rig.slow(PER_THREAD);
    assert!(rig.follows(LEGACY, PER_THREAD));
    rig.slow(PER_THREAD);
    let context = rig.driver.current_context();
    let there = std::thread::scope(|scope| {
        scope
            .spawn(|| {
                rig.driver.set_current_context(context).unwrap();
                rig.driver.query_stream(PER_THREAD)
            })
            .join()
            .unwrap()
    });
    assert_eq!(there, Ok(()));
    assert_eq!(rig.driver.query_stream(PER_THREAD), Err(CuResult::NOT_READY));
}

#[test]
fn a_fill_on_the_default_stream_does_not_order_a_non_blocking_one() {
    for (flags, value) in [(BLOCKING, 1), (NON_BLOCKING, 0)] {
        let mut rig = Rig::new();
        let stream = rig.stream(flags);
        let buffer = rig.words(1);
        // Held up, so that the kernel is there first if it may be.
        rig.slow(LEGACY);
        rig.driver.fill(buffer, &0_u32.to_le_bytes(), 1, LEGACY).unwrap();
        rig.put(stream, buffer, 1);
        rig.driver.synchronize().unwrap();
        assert_eq!(rig.word(buffer), value);
    }
}

#[test]
fn whoever_asks_again_and_again_is_answered_in_both_schedules() {
    for mut rig in [Rig::new(), Rig::late()] {
        let stream = rig.stream(NON_BLOCKING);
        let event = rig.event(ORDERING);
        rig.slow(stream);
        rig.driver.record_event(event, stream).unwrap();
        assert_eq!(rig.driver.query_event(event), Err(CuResult::NOT_READY));
        let asked = (0..100_000).find(|_| rig.driver.query_event(event).is_ok());
        assert!(asked.is_some());
    }
}

#[test]
fn late_only_what_is_waited_for_has_run() {
    let mut rig = Rig::late();
    let (one, two) = (rig.stream(NON_BLOCKING), rig.stream(NON_BLOCKING));
    let (a, b) = (rig.words(1), rig.words(1));
    rig.put(one, a, 1);
    rig.put(two, b, 1);
    rig.driver.synchronize_stream(two).unwrap();
    assert_eq!((rig.word(a), rig.word(b)), (0, 1));
    rig.driver.synchronize().unwrap();
    assert_eq!(rig.word(a), 1);
}

#[test]
fn late_two_writers_that_are_not_ordered_come_in_the_other_order() {
    for (schedule, last) in [(Schedule::Card, 2), (Schedule::Late, 1)] {
        let mut rig = Rig::with(H200, schedule);
        let (one, two) = (rig.stream(NON_BLOCKING), rig.stream(NON_BLOCKING));
        let buffer = rig.words(1);
        rig.put(one, buffer, 1);
        rig.put(two, buffer, 2);
        rig.driver.synchronize().unwrap();
        assert_eq!(rig.word(buffer), last);
    }
}
