//! Elapsed time: when it may be asked for, and of which events.

use cust::context::legacy::{Context as OtherContext, ContextFlags};
use cust::device::Device;
use host::submit::{Error, Event, Stream, StreamKind};

use crate::rig::{On, with_card};

/// The code of a time that there is not, and whether the message says each of these.
#[track_caller]
fn no_time(start: &Event<'_>, stop: &Event<'_>, code: u32, says: &[&str]) {
    let error =
        Event::elapsed_ms(start, stop).map_err(|error| (error.code(), error.to_string())).unwrap_err();
    assert_eq!(error.0, Some(code), "{}", error.1);
    says.iter().for_each(|says| assert!(error.1.contains(says), "`{says}` is not in: {}", error.1));
}

pub fn asked_too_early(on: On) {
    with_card(on, |rig| {
        let (stream, start, stop) = (rig.stream("s")?, rig.stopwatch("start")?, rig.stopwatch("stop")?);
        // What the buffers were filled with is on the card.
        rig.context.synchronize()?;
        stream.record(&start)?;
        rig.slow(&stream, &rig.mid)?;
        stream.record(&stop)?;
        no_time(&start, &stop, 600, &["`start`", "`stop`", "not done yet"]);
        // The context is fine.
        rig.quick(&stream, &rig.ones, &rig.out)?;
        stop.synchronize()?;
        assert!(Event::elapsed_ms(&start, &stop)? > 0.0);
        assert_eq!(rig.outcome()?, 2.0);
        Ok(())
    });
}

pub fn wrong_events(on: On) {
    with_card(on, |rig| {
        let stream = rig.stream("s")?;
        let (good, untimed) = (rig.stopwatch("good")?, rig.event("untimed")?);
        let (unrecorded, neither) = (rig.stopwatch("unrecorded")?, rig.event("neither")?);
        stream.record(&good)?;
        stream.record(&untimed)?;
        stream.synchronize()?;
        let never = |name| format!("`{name}` was never recorded");
        let ordering = |name| format!("`{name}` was made for ordering and has no timestamp");
        let faults = [
            (&untimed, vec![ordering("untimed")]),
            (&unrecorded, vec![never("unrecorded")]),
            (&neither, vec![never("neither"), ordering("neither")]),
        ];
        for (wrong, says) in &faults {
            let says: Vec<_> = says.iter().map(String::as_str).collect();
            no_time(&good, wrong, 400, &says);
            no_time(wrong, &good, 400, &says);
            no_time(wrong, wrong, 400, &says);
        }
        no_time(&untimed, &unrecorded, 400, &[&ordering("untimed"), &never("unrecorded")]);
        // Only what is wrong is named.
        let error = Event::elapsed_ms(&good, &untimed).unwrap_err().to_string();
        assert!(!error.contains("never recorded") && error.matches("`good`").count() == 1, "{error}");
        Ok(())
    });
}

pub fn swapped_events(on: On) {
    with_card(on, |rig| {
        let (stream, start, stop) = (rig.stream("s")?, rig.stopwatch("start")?, rig.stopwatch("stop")?);
        stream.record(&start)?;
        rig.slow(&stream, &rig.mid)?;
        stream.record(&stop)?;
        stream.synchronize()?;
        let ms = Event::elapsed_ms(&start, &stop)?;
        assert!(ms > 0.0);
        assert_eq!(Event::elapsed_ms(&stop, &start)?, -ms);
        assert_eq!(Event::elapsed_ms(&start, &start)?, 0.0);
        Ok(())
    });
}

pub fn two_contexts(on: On) {
    with_card(on, |rig| {
        let (stream, here) = (rig.stream("s")?, rig.stopwatch("here")?);
        stream.record(&here)?;
        stream.synchronize()?;
        let device = Device::get_device(0).unwrap();
        let other = OtherContext::create_and_push(ContextFlags::SCHED_AUTO, device).unwrap();
        let outcome = in_another_context(&here, || {
            Ok((Stream::new(rig.context, "there", StreamKind::NonBlocking)?, rig.stopwatch("there")?))
        });
        OtherContext::drop(other).map_err(|(error, _)| error).unwrap();
        outcome
    });
}

fn in_another_context<'c>(
    here: &Event<'_>,
    make: impl FnOnce() -> Result<(Stream<'c>, Event<'c>), Error>,
) -> Result<(), Error> {
    let (stream, there) = make()?;
    stream.record(&there)?;
    stream.synchronize()?;
    no_time(here, &there, 400, &["`here` and `there` are of two contexts"]);
    no_time(&there, here, 400, &["`there` and `here` are of two contexts"]);
    Ok(())
}
