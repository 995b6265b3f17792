//! Events between streams: what a wait orders, and what it does not.

use host::lessons::pitfalls::programs;
use streamlab::Error;

use crate::rig::{Case, On, Rig, stale, with_device};

pub const NEVER_RECORDED: Case = Case {
    flawed: |rig| programs::never_recorded(rig),
    missing: &[&[
        "from `A` to `B`",
        "of `mid`",
        "`B` waited for `done`",
        "never recorded",
        "record `done` on `A`",
    ]],
    repaired: &[|rig| programs::recorded_then_waited(rig)],
    seen: stale,
};

/// One event for a long kernel on one stream and a short one on another.
pub const ONE_EVENT_FOR_TWO: Case = Case {
    flawed: |rig| {
        let (s1, s2, s3) = (rig.stream("S1")?, rig.stream("S2")?, rig.stream("S3")?);
        let done = rig.event("done")?;
        rig.slow(&s1, &rig.mid)?; // (1)
        s1.record(&done)?;
        rig.quick(&s2, &rig.ones, &rig.other)?;
        s2.record(&done)?;
        s3.wait(&done)?;
        rig.quick(&s3, &rig.mid, &rig.out)?; // (2)
        rig.outcome()
    },
    missing: &[&["from `S1` to `S3`", "`done` was recorded after (1)", "again on `S2`", "an event for each"]],
    repaired: &[|rig| {
        let (s1, s2, s3) = (rig.stream("S1")?, rig.stream("S2")?, rig.stream("S3")?);
        let (done1, done2) = (rig.event("done1")?, rig.event("done2")?);
        rig.slow(&s1, &rig.mid)?;
        s1.record(&done1)?;
        rig.quick(&s2, &rig.ones, &rig.other)?;
        s2.record(&done2)?;
        s3.wait(&done1)?;
        s3.wait(&done2)?;
        rig.quick(&s3, &rig.mid, &rig.out)?;
        rig.outcome()
    }],
    seen: stale,
};

/// One event for a short kernel and then a long one: the device comes to the right result by luck.
pub const ONE_EVENT_FOR_TWO_BY_LUCK: Case = Case {
    flawed: |rig| {
        let (s1, s2, s3) = (rig.stream("S1")?, rig.stream("S2")?, rig.stream("S3")?);
        let done = rig.event("done")?;
        rig.quick(&s1, &rig.ones, &rig.mid)?; // (1)
        s1.record(&done)?;
        rig.slow(&s2, &rig.other)?;
        s2.record(&done)?;
        s3.wait(&done)?;
        rig.quick(&s3, &rig.mid, &rig.out)?; // (2)
        rig.outcome()
    },
    missing: ONE_EVENT_FOR_TWO.missing,
    repaired: &[|rig| {
        let (s1, s2, s3) = (rig.stream("S1")?, rig.stream("S2")?, rig.stream("S3")?);
        let done = rig.event("done")?;
        rig.slow(&s2, &rig.other)?;
        s2.record(&done)?;
        rig.quick(&s1, &rig.ones, &rig.mid)?;
        s1.record(&done)?;
        s3.wait(&done)?;
        rig.quick(&s3, &rig.mid, &rig.out)?;
        rig.outcome()
    }],
    seen: |rig, flawed, repaired| {
        assert_eq!(repaired, 4.0);
        assert_eq!(flawed, if rig.on == On::Late { 0.0 } else { 4.0 });
    },
};

pub const RECORDED_TOO_EARLY: Case = Case {
    flawed: |rig| {
        let (a, b, done) = (rig.stream("A")?, rig.stream("B")?, rig.event("done")?);
        a.record(&done)?;
        rig.slow(&a, &rig.mid)?; // (1)
        b.wait(&done)?;
        rig.quick(&b, &rig.mid, &rig.out)?; // (2)
        rig.outcome()
    },
    missing: &[&["from `A` to `B`", "`done` was recorded on `A`", "before (1)", "record `done` after (1)"]],
    repaired: &[|rig| programs::recorded_then_waited(rig)],
    seen: stale,
};

pub const WAITED_TOO_EARLY: Case = Case {
    flawed: |rig| programs::waited_too_early(rig),
    missing: &[&["from `A` to `B`", "`B` waited for `done`", "before it was recorded", "a later record"]],
    repaired: &[|rig| programs::recorded_then_waited(rig)],
    seen: stale,
};

/// One event for two iterations that are both in flight.
pub const ONE_EVENT_FOR_TWO_ITERATIONS: Case = Case {
    flawed: |rig| programs::one_event_for_two_iterations(rig),
    missing: &[&[
        "from `A` to `B`",
        "`B` waited for `done`",
        "before it was recorded",
        "record `done` after (1)",
    ]],
    repaired: &[|rig| programs::one_event_in_turn(rig), an_event_for_each_iteration],
    seen: stale,
};

/// An event for each iteration, both recorded before the first wait.
fn an_event_for_each_iteration(rig: &Rig<'_>) -> Result<f32, Error> {
    let (a, b) = (rig.stream("A")?, rig.stream("B")?);
    let done = [rig.event("done0")?, rig.event("done1")?];
    let made = [(&rig.other, &rig.another), (&rig.mid, &rig.out)];
    for ((made, _), done) in made.iter().zip(&done) {
        rig.slow(&a, made)?;
        a.record(done)?;
    }
    for ((made, used), done) in made.iter().zip(&done) {
        b.wait(done)?;
        rig.quick(&b, made, used)?;
    }
    rig.outcome()
}

/// Three streams after one record, of which one forgets to wait.
pub const FAN_OUT: Case = Case {
    flawed: |rig| {
        let (s0, fork) = (rig.stream("s0")?, rig.event("fork")?);
        let (s1, s2, s3) = (rig.stream("s1")?, rig.stream("s2")?, rig.stream("s3")?);
        rig.slow(&s0, &rig.mid)?; // (1)
        s0.record(&fork)?;
        for (stream, to) in [(&s1, &rig.other), (&s2, &rig.another)] {
            stream.wait(&fork)?;
            rig.quick(stream, &rig.mid, to)?;
        }
        rig.quick(&s3, &rig.mid, &rig.out)?; // (2)
        rig.outcome()
    },
    missing: &[&["from `s0` to `s3`", "no event leads from `s0` to `s3`"]],
    repaired: &[|rig| {
        let (s0, fork) = (rig.stream("s0")?, rig.event("fork")?);
        let (s1, s2, s3) = (rig.stream("s1")?, rig.stream("s2")?, rig.stream("s3")?);
        rig.slow(&s0, &rig.mid)?;
        s0.record(&fork)?;
        for (stream, to) in [(&s1, &rig.other), (&s2, &rig.another), (&s3, &rig.out)] {
            stream.wait(&fork)?;
            rig.quick(stream, &rig.mid, to)?;
        }
        drop(fork);
        rig.outcome()
    }],
    seen: stale,
};

/// A stream is destroyed with work in it, and the next one may get its address.
pub const HANDLE_REUSED: Case = Case {
    flawed: |rig| {
        let first = rig.stream("S1")?;
        rig.slow(&first, &rig.mid)?; // (1)
        drop(first);
        let second = rig.stream("S2")?;
        rig.quick(&second, &rig.mid, &rig.out)?; // (2)
        rig.outcome()
    },
    missing: &[&["from `S1` to `S2`", "no event leads from `S1` to `S2`"]],
    repaired: &[|rig| {
        let (first, done) = (rig.stream("S1")?, rig.event("done")?);
        rig.slow(&first, &rig.mid)?;
        first.record(&done)?;
        drop(first);
        let second = rig.stream("S2")?;
        second.wait(&done)?;
        rig.quick(&second, &rig.mid, &rig.out)?;
        rig.outcome()
    }],
    seen: stale,
};

/// One host thread launches on S1, then on S2, and records on S1: the event captures S1's kernel alone.
pub const ARROW: Case = Case {
    flawed: |rig| {
        let (s1, s2, s3) = (rig.stream("S1")?, rig.stream("S2")?, rig.stream("S3")?);
        let done = rig.event("done")?;
        rig.quick(&s1, &rig.ones, &rig.other)?;
        rig.slow(&s2, &rig.mid)?; // (1)
        s1.record(&done)?;
        s3.wait(&done)?;
        rig.quick(&s3, &rig.mid, &rig.out)?; // (2)
        rig.outcome()
    },
    missing: &[&["from `S2` to `S3`", "no event leads from `S2` to `S3`"]],
    repaired: &[|rig| {
        let (s1, s2, s3) = (rig.stream("S1")?, rig.stream("S2")?, rig.stream("S3")?);
        let done = rig.event("done")?;
        rig.quick(&s1, &rig.ones, &rig.other)?;
        rig.slow(&s2, &rig.mid)?;
        s2.record(&done)?;
        s3.wait(&done)?;
        rig.quick(&s3, &rig.mid, &rig.out)?;
        rig.outcome()
    }],
    seen: stale,
};

/// The host thread waits between two kernels, for another than the one that matters.
pub const ORDERED_BY_THE_HOST: Case = Case {
    flawed: |rig| {
        let (a, b, c) = (rig.stream("A")?, rig.stream("B")?, rig.stream("C")?);
        let done = rig.event("done")?;
        rig.slow(&a, &rig.mid)?; // (1)
        rig.quick(&c, &rig.ones, &rig.other)?;
        c.record(&done)?;
        done.synchronize()?;
        rig.quick(&b, &rig.mid, &rig.out)?; // (2)
        rig.outcome()
    },
    missing: &[&["from `A` to `B`", "no event leads from `A` to `B`"]],
    repaired: &[|rig| programs::host_parked(rig), |rig| programs::recorded_then_waited(rig)],
    seen: stale,
};

#[test]
fn an_event_is_complete_before_its_first_record_and_not_while_what_it_captured_runs() {
    with_device(On::Virtual, |rig| {
        let (a, done) = (rig.stream("A")?, rig.event("done")?);
        rig.slow(&a, &rig.mid)?;
        assert!(done.query()?);
        a.record(&done)?;
        assert!(!done.query()?, "the kernel takes longer than the calls");
        rig.context.synchronize()
    });
}

#[test]
fn case_21_the_arrow_of_an_event_leaves_the_kernel_of_the_stream_that_it_was_recorded_on() {
    with_device(On::Virtual, |rig| {
        let (_, log) = rig.run(ARROW.flawed)?;
        let stream =
            |at: Option<usize>| log.stream_name(log.program.operations[at.unwrap()].action.stream().unwrap());
        let arrows = stream_order::arrows(&log.program);
        let streams: Vec<_> = arrows.iter().map(|arrow| [arrow.from, arrow.to].map(stream)).collect();
        assert_eq!(streams, [["S1", "S3"]]);
        Ok(())
    });
}

/// Were a kernel brought to the device at its first launch, that launch could wait for the kernels that run.
fn a_kernel_that_was_never_launched_overlaps_another(on: On) {
    with_device(on, |rig| {
        let (a, b) = (rig.stream("A")?, rig.stream("B")?);
        rig.slow(&a, &rig.mid)?;
        rig.quick(&b, &rig.ones, &rig.out)?;
        b.synchronize()?;
        assert!(!a.query()?, "the slow kernel is over");
        rig.context.synchronize()
    });
}

#[test]
fn case_18_a_kernel_that_was_never_launched_overlaps_another_on_the_virtual_device() {
    a_kernel_that_was_never_launched_overlaps_another(On::Virtual);
}

#[test]
#[ignore = "needs a GPU"]
fn case_18_a_kernel_that_was_never_launched_overlaps_another_on_a_gpu() {
    a_kernel_that_was_never_launched_overlaps_another(On::Gpu);
}
