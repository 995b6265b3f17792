//! Programmatic dependent launch: what a kernel with the attribute is after.

use crate::rig::{Case, On, Rig, SHAPE, dependent, with_card};
use cuda_std::call::Call;
use gpu::pdl::{PRODUCE, PROLOGUE, STEPS};
use host::order::missing_edges;
use host::submit::{Buffer, Error, Event, Stream};

/// The second kernel has the attribute and no wait, and reads what the first one writes.
pub const ATTRIBUTE_WITHOUT_WAIT: Case = Case {
    flawed: |rig| {
        let stream = primary(rig)?;
        stream.launch(&dependent(), reads_without_waiting(rig))?; // (2)
        twice_produced(rig)
    },
    missing: &[&[
        "missing edge within `S`",
        "of `mid`",
        "its kernel has no griddepcontrol.wait: nothing makes it wait for (1)",
    ]],
    repaired: &[
        |rig| {
            let stream = primary(rig)?;
            stream.launch(&SHAPE(), reads_without_waiting(rig))?;
            twice_produced(rig)
        },
        |rig| {
            let stream = primary(rig)?;
            stream.launch(&dependent(), reads_behind_its_wait(rig, &rig.out))?;
            Ok(rig.outcome()? / (produced(0.0) + chain(0.0, PROLOGUE)))
        },
    ],
    seen: early,
};

/// The same behind a record, which is no work.
pub const ATTRIBUTE_BEHIND_A_RECORD: Case = Case {
    flawed: |rig| {
        let (stream, between) = (primary(rig)?, rig.event("between")?);
        stream.record(&between)?;
        stream.launch(&dependent(), reads_without_waiting(rig))?; // (2)
        twice_produced(rig)
    },
    missing: ATTRIBUTE_WITHOUT_WAIT.missing,
    repaired: &[|rig| {
        let stream = primary(rig)?;
        stream.zero(&rig.another)?;
        stream.launch(&dependent(), reads_without_waiting(rig))?;
        twice_produced(rig)
    }],
    seen: early,
};

/// A third kernel behind a pair: launched normally it is after both.
pub const NORMAL_AFTER_A_PAIR: Case = Case {
    flawed: |rig| {
        let stream = rig.stream("S")?;
        stream.launch(&SHAPE(), gpu::pdl::produce_stage_early(&rig.zeros, &rig.mid, &rig.other))?;
        stream.launch(&dependent(), reads_behind_its_wait(rig, &rig.another))?; // (1)
        stream.launch(&dependent(), gpu::pdl::produce_stage(&rig.another, &rig.out, &rig.rest))?; // (2)
        thrice_produced(rig)
    },
    missing: &[&[
        "missing edge within `S`",
        "its kernel has no griddepcontrol.wait: nothing makes it wait for (1)",
    ]],
    repaired: &[|rig| {
        let stream = rig.stream("S")?;
        stream.launch(&SHAPE(), gpu::pdl::produce_stage_early(&rig.zeros, &rig.mid, &rig.other))?;
        stream.launch(&dependent(), reads_behind_its_wait(rig, &rig.another))?;
        stream.launch(&SHAPE(), gpu::pdl::produce_stage(&rig.another, &rig.out, &rig.rest))?;
        thrice_produced(rig)
    }],
    // The second has no trigger, so the third is after it, whoever promises it or not.
    seen: |_, flawed, repaired| assert_eq!((flawed, repaired), (1.0, 1.0)),
};

/// Nothing lets the second kernel start before the first has ended: the result is right, and nobody promises it.
pub const ATTRIBUTE_WITHOUT_TRIGGER: Case = Case {
    flawed: |rig| {
        let stream = primary_without_trigger(rig)?;
        stream.launch(&dependent(), reads_without_waiting(rig))?; // (2)
        twice_produced(rig)
    },
    missing: ATTRIBUTE_WITHOUT_WAIT.missing,
    repaired: &[|rig| {
        let stream = primary_without_trigger(rig)?;
        stream.launch(&SHAPE(), reads_without_waiting(rig))?;
        twice_produced(rig)
    }],
    seen: |_, flawed, repaired| assert_eq!((flawed, repaired), (1.0, 1.0)),
};

fn primary_without_trigger<'c>(rig: &Rig<'c>) -> Result<Stream<'c>, Error> {
    rig.context.require("programmatic dependent launch", (9, 0))?;
    let stream = rig.stream("S")?;
    stream.launch(&SHAPE(), gpu::pdl::produce_stage_never(&rig.zeros, &rig.mid, &rig.other))?; // (1)
    Ok(stream)
}

/// The first kernel of a pair, which lets the second start before it has written `mid`.
fn primary<'c>(rig: &Rig<'c>) -> Result<Stream<'c>, Error> {
    rig.context.require("programmatic dependent launch", (9, 0))?;
    let stream = rig.stream("S")?;
    stream.launch(&SHAPE(), gpu::pdl::produce_stage_early(&rig.zeros, &rig.mid, &rig.other))?; // (1)
    Ok(stream)
}

fn reads_without_waiting<'a>(rig: &'a Rig<'_>) -> Call<'a> {
    gpu::pdl::produce_stage_never(&rig.mid, &rig.out, &rig.another)
}

fn reads_behind_its_wait<'a>(rig: &'a Rig<'_>, to: &'a Buffer<'_, f32>) -> Call<'a> {
    gpu::pdl::combine_stage(&rig.mid, &rig.zeros, to)
}

/// What came out, as a part of what should: each of two kernels adds a phase of [`produced`].
fn twice_produced(rig: &Rig<'_>) -> Result<f32, Error> {
    Ok(rig.outcome()? / produced(produced(0.0)))
}

fn thrice_produced(rig: &Rig<'_>) -> Result<f32, Error> {
    Ok(rig.outcome()? / produced(produced(0.0) + chain(0.0, PROLOGUE)))
}

/// The flawed program computed from the zeros that were there before. On a GPU it is a race: an H200 did so 19 times of 20.
fn early(rig: &Rig<'_>, flawed: f32, repaired: f32) {
    let from_zeros = produced(0.0) / produced(produced(0.0));
    assert_eq!(repaired, 1.0);
    assert!(flawed == from_zeros || flawed == 1.0 && rig.on == On::Gpu, "{flawed}");
}

fn produced(v: f32) -> f32 {
    chain(v, PRODUCE)
}

fn chain(v: f32, (mul, add): (f32, f32)) -> f32 {
    (0..STEPS).fold(v, |v, _| v.mul_add(mul, add))
}

/// The time of ten pairs whose secondary waits, in milliseconds.
fn time_of_pairs(rig: &Rig<'_>, attribute: bool, trigger: bool) -> Result<f32, Error> {
    rig.context.require("programmatic dependent launch", (9, 0))?;
    let (stream, start, stop) = (rig.stream("S")?, rig.stopwatch("start")?, rig.stopwatch("stop")?);
    let secondary = if attribute { dependent() } else { SHAPE() };
    let log = rig.context.logged(|| {
        // Behind it the launches queue up, so that the time is the card's and not the host's.
        rig.slow(&stream, &rig.rest)?;
        stream.record(&start)?;
        for _ in 0..10 {
            let primary = match trigger {
                true => gpu::pdl::produce_stage_early(&rig.zeros, &rig.mid, &rig.other),
                false => gpu::pdl::produce_stage_never(&rig.zeros, &rig.mid, &rig.other),
            };
            stream.launch(&SHAPE(), primary)?;
            stream.launch(&secondary, reads_behind_its_wait(rig, &rig.out))?;
        }
        stream.record(&stop)?;
        stop.synchronize()
    })?;
    assert_eq!(missing_edges(&log).len(), 0);
    Event::elapsed_ms(&start, &stop)
}

/// The attribute alone saves what lies between two kernels, and the trigger alone nothing.
fn only_all_three_overlap(on: On) {
    with_card(on, |rig| {
        let mut times = [[0.0; 2]; 2];
        // Twice, because a kernel's first launch takes longer.
        for _ in 0..2 {
            for (attribute, trigger) in [(false, false), (false, true), (true, false), (true, true)] {
                times[usize::from(attribute)][usize::from(trigger)] = time_of_pairs(rig, attribute, trigger)?;
            }
        }
        let [[neither, trigger], [attribute, both]] = times;
        assert!((0.95..1.05).contains(&(trigger / neither)), "{times:?}");
        assert!((0.8..1.02).contains(&(attribute / neither)), "{times:?}");
        assert!(both < 0.9 * attribute, "{times:?}");
        Ok(())
    });
}

#[test]
fn case_19_of_a_pair_whose_secondary_waits_only_attribute_and_trigger_together_overlap() {
    only_all_three_overlap(On::Virtual);
}

#[test]
#[ignore = "needs a GPU"]
fn case_19_of_a_pair_whose_secondary_waits_only_attribute_and_trigger_together_overlap_on_a_gpu() {
    only_all_three_overlap(On::Gpu);
}
