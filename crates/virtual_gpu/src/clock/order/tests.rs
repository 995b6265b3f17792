//! The rules of order, one test for each sentence.

use super::*;

const HOP: Picos = 7;

struct Rig {
    order: Order,
    legacy: StreamId,
}

impl Rig {
    fn new() -> Self {
        let mut order = Order::new(HOP);
        let legacy = order.add_stream(0, StreamKind::Legacy);
        Rig { order, legacy }
    }

    fn stream(&mut self, kind: StreamKind) -> StreamId {
        self.order.add_stream(0, kind)
    }

    fn put(&mut self, stream: StreamId) -> (OpId, bool) {
        self.wait(stream, &[])
    }

    fn wait(&mut self, stream: StreamId, after: &[OpId]) -> (OpId, bool) {
        let (op, ready) = self.order.submit(stream, 0, after, OpKind::Other, false);
        (op, ready.is_some())
    }

    fn kernel(&mut self, stream: StreamId, kind: OpKind) -> (OpId, bool) {
        let (op, ready) = self.order.submit(stream, 0, &[], kind, false);
        (op, ready.is_some())
    }
}

#[test]
fn a_stream_is_a_queue() {
    let mut rig = Rig::new();
    let stream = rig.stream(StreamKind::NonBlocking);
    let (first, ready) = rig.put(stream);
    assert!(ready);
    let (second, ready) = rig.put(stream);
    assert!(!ready);
    assert_eq!(rig.order.complete(first, 100), [(second, 100)]);
    assert_eq!(rig.order.complete_at(first), Some(100));
}

#[test]
fn streams_are_not_ordered_with_each_other() {
    let mut rig = Rig::new();
    for kind in [StreamKind::Blocking, StreamKind::NonBlocking] {
        let stream = rig.stream(kind);
        assert!(rig.put(stream).1, "{kind:?}");
    }
}

#[test]
fn the_legacy_stream_and_a_blocking_one_wait_for_each_other() {
    let mut rig = Rig::new();
    let stream = rig.stream(StreamKind::Blocking);
    let (first, _) = rig.put(stream);
    let (legacy, ready) = rig.put(rig.legacy);
    assert!(!ready);
    let (last, ready) = rig.put(stream);
    assert!(!ready);
    assert_eq!(rig.order.complete(first, 100), [(legacy, 100 + HOP)]);
    assert_eq!(rig.order.complete(legacy, 200), [(last, 200 + HOP)]);
}

#[test]
fn the_legacy_stream_and_a_non_blocking_one_do_not() {
    let mut rig = Rig::new();
    let stream = rig.stream(StreamKind::NonBlocking);
    rig.put(stream);
    assert!(rig.put(rig.legacy).1);
    let other = rig.stream(StreamKind::NonBlocking);
    assert!(rig.put(other).1);
}

#[test]
fn the_legacy_streams_of_two_contexts_do_not_meet() {
    let mut rig = Rig::new();
    let foreign = rig.order.add_stream(1, StreamKind::Blocking);
    rig.put(foreign);
    assert!(rig.put(rig.legacy).1);
}

#[test]
fn a_barrier_also_orders_two_blocking_streams_with_each_other() {
    let mut rig = Rig::new();
    let (one, two) = (rig.stream(StreamKind::Blocking), rig.stream(StreamKind::Blocking));
    let (before, _) = rig.put(one);
    let (barrier, _) = rig.put(rig.legacy);
    let (after, ready) = rig.put(two);
    assert!(!ready);
    assert_eq!(rig.order.needed_for(after), [before, barrier, after]);
}

#[test]
fn a_wait_takes_the_record_it_is_given_and_a_later_one_changes_nothing() {
    let mut rig = Rig::new();
    let (one, two) = (rig.stream(StreamKind::NonBlocking), rig.stream(StreamKind::NonBlocking));
    let (record, _) = rig.put(one);
    let (wait, ready) = rig.wait(two, &[record]);
    assert!(!ready);
    let (later, _) = rig.put(one);
    assert_eq!(rig.order.complete(record, 50), [(wait, 50 + HOP), (later, 50)]);
}

#[test]
fn an_event_that_was_never_recorded_is_nothing_to_wait_for() {
    let mut rig = Rig::new();
    let stream = rig.stream(StreamKind::NonBlocking);
    assert!(rig.wait(stream, &[]).1);
}

#[test]
fn what_is_complete_delays_only_by_its_hop() {
    let mut rig = Rig::new();
    let (one, two) = (rig.stream(StreamKind::NonBlocking), rig.stream(StreamKind::NonBlocking));
    let (record, _) = rig.put(one);
    rig.order.complete(record, 50);
    assert_eq!(rig.order.submit(two, 10, &[record], OpKind::Other, false).1.unwrap().1, 50 + HOP);
    assert_eq!(rig.order.submit(one, 10, &[], OpKind::Other, false).1.unwrap().1, 50);
}

#[test]
fn a_destroyed_stream_still_counts_for_the_legacy_stream() {
    let mut rig = Rig::new();
    let stream = rig.stream(StreamKind::Blocking);
    let (pending, _) = rig.put(stream);
    rig.order.remove_stream(stream);
    let (barrier, ready) = rig.put(rig.legacy);
    assert!(!ready);
    assert_eq!(rig.order.complete(pending, 9), [(barrier, 9 + HOP)]);
}

#[test]
fn a_kernel_may_start_early_after_a_kernel_only() {
    let mut rig = Rig::new();
    let stream = rig.stream(StreamKind::NonBlocking);
    let (first, _) = rig.kernel(stream, OpKind::Kernel);
    let (second, ready) = rig.kernel(stream, OpKind::EarlyKernel);
    assert!(!ready);
    assert_eq!(rig.order.let_secondary_start(first, 30), Some((second, 30)));
    assert_eq!(rig.order.primary(second), Some(first));
    assert_eq!(rig.order.complete(first, 80), []);
    assert_eq!(rig.order.primary(second), None);

    rig.order.let_secondary_start(second, 81);
    assert!(
        rig.kernel(stream, OpKind::EarlyKernel).1,
        "the kernel before it let it start before it was there"
    );

    rig.put(stream);
    let copy = rig.order.last(stream).unwrap();
    rig.kernel(stream, OpKind::EarlyKernel);
    assert_eq!(rig.order.let_secondary_start(copy, 90), None);
}

#[test]
fn a_mark_between_two_kernels_does_not_keep_them_apart_and_what_it_waits_for_does() {
    let mut rig = Rig::new();
    let (stream, other) = (rig.stream(StreamKind::NonBlocking), rig.stream(StreamKind::NonBlocking));
    let (foreign, _) = rig.put(other);
    let (first, _) = rig.kernel(stream, OpKind::Kernel);
    let (record, _) = rig.order.submit(stream, 0, &[], OpKind::Mark, false);
    let (wait, _) = rig.order.submit(stream, 0, &[foreign], OpKind::Mark, false);
    let (second, ready) = rig.kernel(stream, OpKind::EarlyKernel);
    assert_eq!((ready, rig.order.secondary(first)), (false, Some(second)));
    assert_eq!(rig.order.let_secondary_start(first, 30), None);
    assert_eq!(rig.order.complete(foreign, 50), [(second, 50 + HOP)], "the wait itself is behind the kernel");
    assert_eq!(rig.order.primary(second), Some(first));
    assert_eq!(rig.order.needed_for(second), [first, record, wait, second]);
    assert_eq!(rig.order.complete(first, 80), [(record, 80)]);
}

#[test]
fn a_mark_with_no_kernel_before_it_lets_nobody_start_early() {
    let mut rig = Rig::new();
    let (stream, other) = (rig.stream(StreamKind::NonBlocking), rig.stream(StreamKind::NonBlocking));
    let (foreign, _) = rig.kernel(other, OpKind::Kernel);
    let (wait, _) = rig.order.submit(stream, 0, &[foreign], OpKind::Mark, false);
    let (kernel, _) = rig.kernel(stream, OpKind::EarlyKernel);
    assert_eq!(rig.order.let_secondary_start(foreign, 10), None);
    assert_eq!(rig.order.complete(foreign, 20), [(wait, 20 + HOP)]);
    assert_eq!(rig.order.complete(wait, 30), [(kernel, 30)]);
}

#[test]
fn a_kernel_whose_primary_never_lets_it_starts_when_that_one_is_complete() {
    let mut rig = Rig::new();
    let stream = rig.stream(StreamKind::NonBlocking);
    let (first, _) = rig.kernel(stream, OpKind::Kernel);
    let (second, _) = rig.kernel(stream, OpKind::EarlyKernel);
    assert_eq!(rig.order.complete(first, 80), [(second, 80)]);
}

#[test]
fn what_is_held_back_waits_for_its_release() {
    let mut rig = Rig::new();
    let stream = rig.stream(StreamKind::NonBlocking);
    let (op, ready) = rig.order.submit(stream, 5, &[], OpKind::Other, true);
    assert_eq!(ready, None);
    assert_eq!(rig.order.release(op, 60), Some((op, 60)));
    assert_eq!(rig.order.release(op, 70), None);
}

#[test]
fn abandoned_operations_count_as_complete() {
    let mut rig = Rig::new();
    let stream = rig.stream(StreamKind::NonBlocking);
    let (op, _) = rig.put(stream);
    rig.order.abandon(40);
    assert_eq!(rig.order.complete_at(op), Some(40));
    assert_eq!(rig.order.last_pending(), None);
}
