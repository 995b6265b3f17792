//! Elapsed time: when it may be asked for, and of which events.

use host::kernels::IMAGES;
use streamlab::{Context, Error, Event, Stream, StreamKind};

use crate::rig::{On, with_device};

/// There is no time: the error has this code, and these words.
#[track_caller]
fn no_time(start: &Event<'_>, stop: &Event<'_>, code: u32, says: &[String]) {
    let error = Event::elapsed_ms(start, stop).unwrap_err();
    assert_eq!(error.code(), Some(code), "{error}");
    let text = error.to_string();
    says.iter().for_each(|says| assert!(text.contains(says), "`{says}` is not in: {text}"));
}

pub fn asked_too_early(on: On) {
    with_device(on, |rig| {
        let (stream, start, stop) = (rig.stream("s")?, rig.timing("start")?, rig.timing("stop")?);
        stream.record(&start)?;
        rig.slow(&stream, &rig.mid)?;
        stream.record(&stop)?;
        no_time(&start, &stop, 600, &["`start`", "`stop`", "not done yet"].map(str::to_owned));
        // The context is fine.
        rig.quick(&stream, &rig.ones, &rig.out)?;
        stop.synchronize()?;
        assert!(Event::elapsed_ms(&start, &stop)? > 0.0);
        assert_eq!(rig.outcome()?, 2.0);
        Ok(())
    });
}

pub fn wrong_events(on: On) {
    with_device(on, |rig| {
        let stream = rig.stream("s")?;
        let (good, untimed) = (rig.timing("good")?, rig.event("untimed")?);
        let (unrecorded, neither) = (rig.timing("unrecorded")?, rig.event("neither")?);
        stream.record(&good)?;
        stream.record(&untimed)?;
        stream.synchronize()?;
        let never = |name| format!("`{name}` was never recorded");
        let ordering = |name| format!("`{name}` was created with CU_EVENT_DISABLE_TIMING");
        for (wrong, says) in [
            (&untimed, vec![ordering("untimed")]),
            (&unrecorded, vec![never("unrecorded")]),
            (&neither, vec![never("neither"), ordering("neither")]),
        ] {
            no_time(&good, wrong, 400, &says);
            no_time(wrong, &good, 400, &says);
            no_time(wrong, wrong, 400, &says);
        }
        no_time(&untimed, &unrecorded, 400, &[ordering("untimed"), never("unrecorded")]);
        // Only what is wrong is named.
        let error = Event::elapsed_ms(&good, &untimed).unwrap_err().to_string();
        assert!(!error.contains("never recorded") && error.matches("`good`").count() == 1, "{error}");
        Ok(())
    });
}

pub fn swapped_events(on: On) {
    with_device(on, |rig| {
        let (stream, start, stop) = (rig.stream("s")?, rig.timing("start")?, rig.timing("stop")?);
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
    with_device(on, |rig| {
        let (stream, here) = (rig.stream("s")?, rig.timing("here")?);
        stream.record(&here)?;
        stream.synchronize()?;
        let other = Context::open(on.options(), IMAGES)?;
        let (stream, there) =
            (Stream::new(&other, "s", StreamKind::NonBlocking)?, Event::timing(&other, "there")?);
        stream.record(&there)?;
        stream.synchronize()?;
        for (start, stop) in [(&here, &there), (&there, &here)] {
            let error = Event::elapsed_ms(start, stop).unwrap_err();
            assert!(matches!(&error, Error::OtherContext { name, .. } if name == stop.name()), "{error}");
        }
        // Both contexts are fine.
        assert!(Event::elapsed_ms(&here, &here)? == 0.0 && Event::elapsed_ms(&there, &there)? == 0.0);
        drop((stream, there));
        assert!(other.finish().is_empty());
        Ok(())
    });
}
