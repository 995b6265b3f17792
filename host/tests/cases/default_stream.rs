//! The legacy default stream: which streams it waits for, and which wait for it.

use host::lessons::pitfalls::programs;
use streamlab::{Error, Event, Stream};

use crate::rig::{Case, On, Rig, with_device};

/// The stop event is recorded on a stream that does not follow the work.
pub const STOP_ELSEWHERE: Case = Case {
    flawed: |rig| programs::stop_elsewhere(rig),
    missing: &[&["from `S` to `default`", "the time from `start` to `stop`", "does not follow `S`"]],
    repaired: &[|rig| programs::stop_on_the_same_stream(rig), stop_after_a_blocking_stream],
    seen: |_, flawed, repaired| {
        assert!(flawed < 0.3, "{flawed} of the kernel is in the time");
        assert!((0.9..2.0).contains(&repaired), "{repaired} of the kernel is in the time");
    },
};

/// The kernel is on a blocking stream, which the default stream follows.
fn stop_after_a_blocking_stream(rig: &Rig<'_>) -> Result<f32, Error> {
    let (stream, default) = (rig.blocking("S")?, rig.default_stream()?);
    let (start, stop) = (rig.timing("start")?, rig.timing("stop")?);
    let (begin, end) = (rig.timing("begin")?, rig.timing("end")?);
    default.record(&start)?;
    stream.record(&begin)?;
    rig.slow(&stream, &rig.mid)?;
    stream.record(&end)?;
    default.record(&stop)?;
    rig.context.synchronize()?;
    Ok(Event::elapsed_ms(&start, &stop)? / Event::elapsed_ms(&begin, &end)?)
}

/// A memset by the call without a stream, and a kernel elsewhere that counts on it.
pub const MEMSET_THEN_KERNEL: Case = Case {
    flawed: |rig| read_after_a_memset(rig, &rig.stream("S")?, false),
    missing: &[&[
        "from `legacy default stream` to `S`",
        "`S` is non-blocking",
        "the call of (1) returns before the device is done",
    ]],
    repaired: &[
        |rig| read_after_a_memset(rig, &rig.blocking("S")?, false),
        |rig| read_after_a_memset(rig, &rig.stream("S")?, true),
    ],
    // Twice the value before the memset, and the memset's.
    seen: |_, flawed, repaired| assert_eq!((flawed, repaired), (4.0, 0.0)),
};

fn read_after_a_memset(rig: &Rig<'_>, reader: &Stream<'_>, wait: bool) -> Result<f32, Error> {
    let (default, zeroed) = (rig.default_stream()?, rig.event("zeroed")?);
    rig.quick(&default, &rig.ones, &rig.mid)?;
    rig.context.synchronize()?;
    // It holds the default stream up, so that a reader that does not wait is there first.
    rig.slow(&default, &rig.other)?;
    rig.mid.memset_zeros()?; // (1)
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
    with_device(On::Virtual, |rig| {
        let stream = rig.stream("S")?;
        let (start, stop, order) = (rig.timing("start")?, rig.timing("stop")?, rig.event("order")?);
        stream.record(&start)?;
        stream.record(&order)?;
        stream.synchronize()?;
        for (stop, why) in [(&stop, ["`stop`", "never recorded"]), (&order, ["`order`", "no timestamp"])] {
            let Err(Error::Driver(error)) = Event::elapsed_ms(&start, stop) else { panic!("a time") };
            assert_eq!(error.code, 400);
            assert!(why.iter().all(|why| error.detail.contains(why)), "{error}");
        }
        stream.record(&stop)?;
        stream.synchronize()?;
        assert!(Event::elapsed_ms(&start, &stop)? >= 0.0);
        Ok(())
    });
}
