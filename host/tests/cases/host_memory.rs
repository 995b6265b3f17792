//! Page-locked memory, which the host and the card both reach.

use crate::rig::Case;
use host::lesson::pitfalls::programs::{self, held_up};

/// The host refills a staging buffer while the copy from it is under way.
pub const STAGING_REFILLED: Case = Case {
    flawed: |rig| programs::staging_refilled(rig),
    missing: &[&[
        "missing edge from `S` to the host",
        "of `staging`",
        "the copy on `S` reads them",
        "the host writes them",
        "the host did not wait for (1)",
    ]],
    repaired: &[
        |rig| programs::two_staging_buffers(rig),
        |rig| programs::staging_waited_for(rig),
        |rig| programs::staging_asked_for(rig),
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
