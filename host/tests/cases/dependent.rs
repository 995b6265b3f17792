//! Programmatic dependent launch: what a kernel with the attribute is after.

use crate::rig::{Case, On, Rig, dependent, shape, with_card};
use cuda_std::call::Call;
use gpu::pdl::{EPILOGUE, PRODUCE, PROLOGUE, STEPS};
use host::order::missing_edges;
use host::submit::{Buffer, Error, Stream};

/// The second kernel has the attribute and no wait, and reads what the first one writes.
pub const ATTRIBUTE_WITHOUT_WAIT: Case = Case {
    flawed: |rig| {
        let stream = primary(rig)?;
        stream.launch(&dependent(), reads_without_waiting(rig))?; // (2)
        out_of_mid(rig)
    },
    missing: &[&[
        "missing edge within `S`",
        "of `mid`",
        "its kernel has no griddepcontrol.wait: nothing makes it wait for (1)",
    ]],
    repaired: &[
        |rig| {
            let stream = primary(rig)?;
            stream.launch(&shape(), reads_without_waiting(rig))?;
            out_of_mid(rig)
        },
        |rig| {
            let stream = primary(rig)?;
            stream.launch(&dependent(), reads_behind_its_wait(rig, &rig.out))?;
            Ok(rig.outcome()? / combined())
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
        out_of_mid(rig)
    },
    missing: ATTRIBUTE_WITHOUT_WAIT.missing,
    repaired: &[|rig| {
        let stream = primary(rig)?;
        stream.zero(&rig.another)?;
        stream.launch(&dependent(), reads_without_waiting(rig))?;
        out_of_mid(rig)
    }],
    seen: early,
};

/// A third kernel behind a pair: launched normally it is after both.
pub const NORMAL_AFTER_A_PAIR: Case = Case {
    flawed: |rig| {
        let stream = held_up(rig)?;
        stream.launch(&shape(), gpu::pdl::produce_stage_early(&rig.zeros, &rig.other, &rig.mid))?;
        stream.launch(&dependent(), reads_behind_its_wait(rig, &rig.another))?; // (1)
        stream.launch(&dependent(), gpu::pdl::produce_stage(&rig.another, &rig.out, &rig.rest))?; // (2)
        Ok(rig.outcome()? / chain(combined(), PRODUCE))
    },
    missing: &[&[
        "missing edge within `S`",
        "its kernel has no griddepcontrol.wait: nothing makes it wait for (1)",
    ]],
    repaired: &[|rig| {
        let stream = held_up(rig)?;
        stream.launch(&shape(), gpu::pdl::produce_stage_early(&rig.zeros, &rig.other, &rig.mid))?;
        stream.launch(&dependent(), reads_behind_its_wait(rig, &rig.another))?;
        stream.launch(&shape(), gpu::pdl::produce_stage(&rig.another, &rig.out, &rig.rest))?;
        Ok(rig.outcome()? / chain(combined(), PRODUCE))
    }],
    // The second has no trigger, so the third is after it, whoever promises it or not.
    seen: |_, flawed, repaired| assert_eq!((flawed, repaired), (1.0, 1.0)),
};

/// Nothing lets the second kernel start before the first has ended: the result is right, and nobody promises it.
pub const ATTRIBUTE_WITHOUT_TRIGGER: Case = Case {
    flawed: |rig| {
        let stream = primary_without_trigger(rig)?;
        stream.launch(&dependent(), reads_without_waiting(rig))?; // (2)
        out_of_mid(rig)
    },
    missing: ATTRIBUTE_WITHOUT_WAIT.missing,
    repaired: &[|rig| {
        let stream = primary_without_trigger(rig)?;
        stream.launch(&shape(), reads_without_waiting(rig))?;
        out_of_mid(rig)
    }],
    seen: |_, flawed, repaired| assert_eq!((flawed, repaired), (1.0, 1.0)),
};

fn primary_without_trigger<'c>(rig: &Rig<'c>) -> Result<Stream<'c>, Error> {
    let stream = held_up(rig)?;
    stream.launch(&shape(), gpu::pdl::produce_stage_never(&rig.zeros, &rig.other, &rig.mid))?; // (1)
    Ok(stream)
}

/// A stream with a slow kernel in it, behind which the launches of a pair queue up: a pair is shorter than a call.
fn held_up<'c>(rig: &Rig<'c>) -> Result<Stream<'c>, Error> {
    rig.context.require("programmatic dependent launch", (9, 0))?;
    let stream = rig.stream("S")?;
    rig.slow(&stream, &rig.rest)?;
    Ok(stream)
}

/// The first kernel of a pair, which lets the second start before it has written `mid`, the last thing that it writes.
fn primary<'c>(rig: &Rig<'c>) -> Result<Stream<'c>, Error> {
    let stream = held_up(rig)?;
    stream.launch(&shape(), gpu::pdl::produce_stage_early(&rig.zeros, &rig.other, &rig.mid))?; // (1)
    Ok(stream)
}

fn reads_without_waiting<'a>(rig: &'a Rig<'_>) -> Call<'a> {
    gpu::pdl::produce_stage_never(&rig.mid, &rig.out, &rig.another)
}

fn reads_behind_its_wait<'a>(rig: &'a Rig<'_>, to: &'a Buffer<'_, f32>) -> Call<'a> {
    gpu::pdl::combine_stage(&rig.mid, &rig.zeros, to)
}

/// What came out, as a part of what comes of `mid`.
fn out_of_mid(rig: &Rig<'_>) -> Result<f32, Error> {
    Ok(rig.outcome()? / chain(mid(), PRODUCE))
}

/// What the first kernel of a pair leaves in `mid`.
fn mid() -> f32 {
    chain(0.0, EPILOGUE)
}

/// What the second one, which waits, makes of it.
fn combined() -> f32 {
    mid() + chain(0.0, PROLOGUE)
}

/// The flawed program computed from the zeros that were there before. On a GPU it is a race: an H200 did so 19 times of 20.
fn early(rig: &Rig<'_>, flawed: f32, repaired: f32) {
    let from_zeros = chain(0.0, PRODUCE) / chain(mid(), PRODUCE);
    assert_eq!(repaired, 1.0);
    assert!(flawed == from_zeros || flawed == 1.0 && rig.on == On::Gpu, "{flawed}");
}

fn chain(v: f32, (mul, add): (f32, f32)) -> f32 {
    (0..STEPS).fold(v, |v, _| v.mul_add(mul, add))
}

/// What a pair of kernels has of dependent launch, one thing more than the pair before.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Pair {
    Plain,
    Attribute,
    AndWait,
    AndTrigger,
}

fn submit(rig: &Rig<'_>, stream: &Stream<'_>, pair: Pair) -> Result<(), Error> {
    rig.slow(stream, &rig.rest)?;
    let first = match pair {
        Pair::AndTrigger => gpu::pdl::produce_stage_early(&rig.zeros, &rig.other, &rig.mid),
        _ => gpu::pdl::produce_stage_never(&rig.zeros, &rig.other, &rig.mid),
    };
    stream.launch(&shape(), first)?;
    let launch = if pair == Pair::Plain { shape() } else { dependent() };
    let waits = pair >= Pair::AndWait;
    stream.launch(
        &launch,
        if waits { reads_behind_its_wait(rig, &rig.out) } else { reads_without_waiting(rig) },
    )
}

/// By the card's clock, as each warp read it.
fn only_with_all_three_the_second_starts_before_the_first_has_ended(on: On) {
    with_card(on, |rig| {
        let stream = held_up(rig)?;
        for pair in [Pair::Plain, Pair::Attribute, Pair::AndWait, Pair::AndTrigger] {
            let trace = rig.context.traced(1, || submit(rig, &stream, pair))?;
            let end = trace.launches[1].warps.iter().map(|warp| warp.end_ns).max();
            let start = trace.launches[2].warps.iter().map(|warp| warp.start_ns).min();
            assert_eq!(start < end, pair == Pair::AndTrigger, "{pair:?}: {start:?} {end:?}");
            let is_a_race = pair == Pair::Attribute;
            assert_eq!(missing_edges(&trace.log).len(), usize::from(is_a_race), "{pair:?}");
        }
        Ok(())
    });
}

#[test]
fn case_19_only_with_attribute_wait_and_trigger_a_pair_overlaps() {
    only_with_all_three_the_second_starts_before_the_first_has_ended(On::Virtual);
}

#[test]
#[ignore = "needs a GPU"]
fn case_19_only_with_attribute_wait_and_trigger_a_pair_overlaps_on_a_gpu() {
    only_with_all_three_the_second_starts_before_the_first_has_ended(On::Gpu);
}
