//! Pinned memory, which the host and the device both reach.

use host::lessons::pitfalls::programs::{self, ELEMS};
use streamlab::{Error, PinnedBuffer, Stream};

use crate::rig::{Case, Rig};

const FIRST: [f32; ELEMS] = [1.0; ELEMS];
const SECOND: [f32; ELEMS] = [2.0; ELEMS];

/// A stream with a slow kernel in it, which writes `other`, and pinned memory.
fn held_up<'c>(rig: &Rig<'c>) -> Result<(Stream<'c>, PinnedBuffer<'c, f32>), Error> {
    let (stream, staging) = (rig.stream("S")?, PinnedBuffer::new(rig.context, "staging", ELEMS)?);
    rig.slow(&stream, &rig.other)?;
    Ok((stream, staging))
}

/// The host refills a staging buffer before the copy from it is done.
pub const STAGING_REFILLED: Case = Case {
    flawed: |rig| programs::staging_refilled(rig),
    missing: &[&[
        "from `S` to the host",
        "of `staging`",
        "the copy on `S` reads",
        "the host writes",
        "did not wait for (1)",
    ]],
    repaired: &[
        |rig| programs::two_staging_buffers(rig),
        |rig| {
            let ((stream, staging), copied) = (held_up(rig)?, rig.event("copied")?);
            staging.write(&FIRST);
            stream.copy_to_device(&staging, &rig.mid)?;
            stream.record(&copied)?;
            copied.synchronize()?;
            refill(rig, &stream, &staging)
        },
        // The host asks until the copy is complete: `true` is as good as a wait.
        |rig| {
            let (stream, staging) = held_up(rig)?;
            staging.write(&FIRST);
            stream.copy_to_device(&staging, &rig.mid)?;
            while !stream.query()? {}
            refill(rig, &stream, &staging)
        },
    ],
    // Twice what the host wrote second, and first.
    seen: |_, flawed, repaired| assert_eq!((flawed, repaired), (4.0, 2.0)),
};

/// Refills the buffer, copies from it, and returns twice what the copy before this one brought.
fn refill(rig: &Rig<'_>, stream: &Stream<'_>, staging: &PinnedBuffer<'_, f32>) -> Result<f32, Error> {
    staging.write(&SECOND);
    stream.copy_to_device(staging, &rig.another)?;
    rig.quick(stream, &rig.mid, &rig.out)?;
    rig.outcome()
}

/// The host reads what a copy is still to bring.
pub const RESULT_READ_TOO_EARLY: Case = Case {
    flawed: |rig| {
        let (stream, result) = held_up(rig)?;
        stream.copy_to_host(&rig.other, &result)?; // (1)
        let read = result.read(); // (2)
        Ok(read[0])
    },
    missing: &[&["from `S` to the host", "the copy on `S` writes", "the host reads", "synchronize `S`"]],
    repaired: &[
        |rig| {
            let (stream, result) = held_up(rig)?;
            stream.copy_to_host(&rig.other, &result)?;
            stream.synchronize()?;
            Ok(result.read()[0])
        },
        |rig| {
            let ((stream, result), fetched) = (held_up(rig)?, rig.event("fetched")?);
            stream.copy_to_host(&rig.other, &result)?;
            stream.record(&fetched)?;
            while !fetched.query()? {}
            Ok(result.read()[0])
        },
    ],
    seen: |rig, flawed, repaired| assert_eq!((flawed, repaired), (0.0, rig.slow_value())),
};
