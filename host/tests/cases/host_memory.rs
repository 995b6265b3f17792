//! Page-locked memory, which the host and the card both reach.

use crate::rig::{Case, ELEMS, Rig};
use host::submit::{Error, Pinned, Stream};

const FIRST: [f32; ELEMS] = [1.0; ELEMS];
const SECOND: [f32; ELEMS] = [2.0; ELEMS];

/// The host refills a staging buffer while the copy from it is under way.
pub const STAGING_REFILLED: Case = Case {
    flawed: |rig| {
        let (stream, staging) = held_up(rig)?;
        staging.write(&FIRST);
        stream.copy_to_device(&staging, &rig.mid)?; // (1)
        staging.write(&SECOND); // (2)
        stream.copy_to_device(&staging, &rig.another)?;
        rig.quick(&stream, &rig.mid, &rig.out)?;
        rig.outcome()
    },
    missing: &[&[
        "missing edge from `S` to the host",
        "of `staging`",
        "the copy on `S` reads them",
        "the host writes them",
        "the host did not wait for (1)",
    ]],
    repaired: &[
        |rig| {
            let (stream, staging) = held_up(rig)?;
            let next = Pinned::new(rig.context, "next", ELEMS)?;
            staging.write(&FIRST);
            stream.copy_to_device(&staging, &rig.mid)?;
            next.write(&SECOND);
            stream.copy_to_device(&next, &rig.another)?;
            rig.quick(&stream, &rig.mid, &rig.out)?;
            rig.outcome()
        },
        |rig| {
            let ((stream, staging), copied) = (held_up(rig)?, rig.event("copied")?);
            staging.write(&FIRST);
            stream.copy_to_device(&staging, &rig.mid)?;
            stream.record(&copied)?;
            copied.synchronize()?;
            staging.write(&SECOND);
            stream.copy_to_device(&staging, &rig.another)?;
            rig.quick(&stream, &rig.mid, &rig.out)?;
            rig.outcome()
        },
        // A query that says "complete" is as good as a wait.
        |rig| {
            let (stream, staging) = held_up(rig)?;
            staging.write(&FIRST);
            stream.copy_to_device(&staging, &rig.mid)?;
            while !stream.query()? {}
            staging.write(&SECOND);
            stream.copy_to_device(&staging, &rig.another)?;
            rig.quick(&stream, &rig.mid, &rig.out)?;
            rig.outcome()
        },
    ],
    // Twice what the host wrote second, and first.
    seen: |_, flawed, repaired| assert_eq!((flawed, repaired), (4.0, 2.0)),
};

/// The host reads what a copy is still to bring.
pub const RESULT_READ_TOO_EARLY: Case = Case {
    flawed: |rig| {
        let (stream, result) = held_up(rig)?;
        stream.copy_to_host(&rig.other, &result)?; // (1)
        let read = result.read(); // (2)
        Ok(read[0])
    },
    missing: &[&[
        "missing edge from `S` to the host",
        "the copy on `S` writes them",
        "the host reads them",
        "before (2), synchronize `S`",
    ]],
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

/// A stream with a slow kernel in it, which writes `other`, and page-locked memory.
fn held_up<'c>(rig: &Rig<'c>) -> Result<(Stream<'c>, Pinned<'c, f32>), Error> {
    let (stream, staging) = (rig.stream("S")?, Pinned::new(rig.context, "staging", ELEMS)?);
    rig.slow(&stream, &rig.other)?;
    Ok((stream, staging))
}
