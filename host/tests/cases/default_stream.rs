//! The legacy default stream: whom it waits for, and who waits for it.

use crate::rig::{Case, On, Rig, with_card};
use host::lesson::pitfalls::programs;
use host::submit::{Error, Event, Stream};

/// The stop event is recorded on a stream that does not follow the work.
pub const STOP_ELSEWHERE: Case = Case {
    flawed: |rig| programs::stop_elsewhere(rig),
    missing: &[&[
        "missing edge from `S` to `default`: the time from `start` to `stop`",
        "where the stop is recorded, does not follow `S`",
    ]],
    repaired: &[
        |rig| programs::stop_behind_a_blocking_stream(rig),
        |rig| programs::stop_on_the_same_stream(rig),
    ],
    seen: |_, flawed, repaired| {
        assert!(flawed < 0.3, "{flawed} of the kernel is in the time");
        assert!((0.9..2.0).contains(&repaired), "{repaired} of the kernel is in the time");
    },
};

/// A memset by the call without a stream, and a kernel elsewhere that counts on it.
pub const MEMSET_THEN_KERNEL: Case = Case {
    flawed: |rig| read_behind_a_memset(rig, &rig.stream("S")?, false),
    missing: &[&[
        "missing edge from `legacy default stream` to `S`",
        "`S` is non-blocking",
        "and the call of (1) returns before the device is done",
    ]],
    repaired: &[
        |rig| read_behind_a_memset(rig, &rig.blocking("S")?, false),
        |rig| read_behind_a_memset(rig, &rig.stream("S")?, true),
    ],
    // Twice the value before the memset, and the memset's.
    seen: |_, flawed, repaired| assert_eq!((flawed, repaired), (4.0, 0.0)),
};

fn read_behind_a_memset(rig: &Rig<'_>, reader: &Stream<'_>, wait: bool) -> Result<f32, Error> {
    let (default, zeroed) = (rig.default_stream()?, rig.event("zeroed")?);
    rig.quick(&default, &rig.ones, &rig.mid)?;
    rig.context.synchronize()?;
    // It holds the default stream up, so that a reader that does not wait is there first.
    rig.slow(&default, &rig.other)?;
    rig.mid.zero()?; // (1)
    if wait {
        default.record(&zeroed)?;
        reader.wait(&zeroed)?;
    }
    rig.quick(reader, &rig.mid, &rig.out)?; // (2)
    rig.outcome()
}

/// Of the two causes that the driver has one code for, the message says which it was.
#[test]
fn pitfall_3_an_event_without_a_time_says_why_it_has_none() {
    with_card(On::Virtual, |rig| {
        let stream = rig.stream("S")?;
        let (start, stop, order) = (rig.stopwatch("start")?, rig.stopwatch("stop")?, rig.event("order")?);
        stream.record(&start)?;
        stream.record(&order)?;
        stream.synchronize()?;
        for (stop, why) in [(&stop, "`stop` was never recorded"), (&order, "`order` was made for ordering")] {
            let Err(Error::Driver(error)) = Event::elapsed_ms(&start, stop) else { panic!("a time") };
            assert_eq!(error.code, 400);
            assert!(error.detail.contains(why), "{error}");
        }
        stream.record(&stop)?;
        stream.synchronize()?;
        assert!(Event::elapsed_ms(&start, &stop)? >= 0.0);
        Ok(())
    });
}
