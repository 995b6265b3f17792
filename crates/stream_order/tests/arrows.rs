//! The edges that a timeline draws for events.

mod support;

use stream_order::{Arrow, arrows};

#[test]
fn an_arrow_leaves_the_last_work_that_was_captured_and_ends_at_the_first_that_waits() {
    let program = support::program(
        "arrows",
        "streams: default legacy, s1 blocking, s2 nonblocking, s3 nonblocking\n\
         s1: launch one\n\
         s2: launch two\n\
         s1: record done\n\
         s3: wait done\n\
         s3: launch three\n\
         host: wait event done\n\
         s3: wait never\n\
         default: record all\n\
         s2: wait all\n\
         default: launch four\n\
         s1: record done\n\
         s2: wait done\n\
         s2: launch five\n",
    );
    let arrow = |wait, record, from, to| Arrow { wait, record, from, to };
    assert_eq!(
        arrows(&program),
        [
            // One thread launched on s1, then on s2, and recorded on s1: the arrow leaves s1's kernel.
            arrow(3, Some(2), Some(0), Some(4)),
            arrow(5, Some(2), Some(0), None),
            arrow(6, None, None, None),
            // Through the legacy stream's barrier, from a blocking stream and to one.
            arrow(8, Some(7), Some(0), Some(12)),
            arrow(11, Some(10), Some(9), Some(12)),
        ]
    );
}
