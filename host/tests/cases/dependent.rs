//! Programmatic dependent launch: what a kernel with the attribute is ordered after.

use cuda_std::call::Call;
use gpu::pdl::{
    EPILOGUE, PRODUCE, PROLOGUE, STEPS, combine_stage, produce_stage, produce_stage_early,
    produce_stage_never,
};
use streamlab::{DeviceBuffer, Error, LaunchConfig, Stream, Trace};

use crate::rig::{Case, On, Rig, with_device};

/// One full block.
const PLAIN: LaunchConfig = LaunchConfig::new(1, 1024);
/// The block with the attribute: the secondary kernel of a pair.
const DEPENDENT: LaunchConfig = PLAIN.programmatic();

/// The secondary kernel has the attribute and no wait, and reads what the primary writes.
pub const ATTRIBUTE_WITHOUT_WAIT: Case = Case {
    flawed: |rig| {
        let stream = primary(rig)?;
        stream.launch(DEPENDENT, reads_without_waiting(rig))?; // (2)
        out_of_mid(rig)
    },
    missing: &[&["within `S`", "of `mid`", "no griddepcontrol.wait"]],
    repaired: &[
        |rig| {
            let stream = primary(rig)?;
            stream.launch(PLAIN, reads_without_waiting(rig))?;
            out_of_mid(rig)
        },
        |rig| {
            let stream = primary(rig)?;
            stream.launch(DEPENDENT, reads_after_its_wait(rig, &rig.large.out))?;
            Ok(outcome(rig)? / combined())
        },
    ],
    seen: early,
};

/// A record between the two, which is no work, changes nothing.
pub const ATTRIBUTE_AFTER_A_RECORD: Case = Case {
    flawed: |rig| {
        let (stream, between) = (primary(rig)?, rig.event("between")?);
        stream.record(&between)?;
        stream.launch(DEPENDENT, reads_without_waiting(rig))?; // (2)
        out_of_mid(rig)
    },
    missing: ATTRIBUTE_WITHOUT_WAIT.missing,
    repaired: &[|rig| {
        let stream = primary(rig)?;
        stream.memset_zeros(&rig.large.another)?;
        stream.launch(DEPENDENT, reads_without_waiting(rig))?;
        out_of_mid(rig)
    }],
    seen: early,
};

/// A third kernel after a pair: launched normally it is after both.
pub const NORMAL_AFTER_A_PAIR: Case = Case {
    flawed: |rig| {
        let stream = held_up(rig)?;
        stream.launch(PLAIN, produce_stage_early(&rig.large.zeros, &rig.large.other, &rig.large.mid))?;
        stream.launch(DEPENDENT, reads_after_its_wait(rig, &rig.large.another))?; // (1)
        stream.launch(DEPENDENT, produce_stage(&rig.large.another, &rig.large.out, &rig.large.rest))?; // (2)
        Ok(outcome(rig)? / chain(combined(), PRODUCE))
    },
    missing: &[&["within `S`", "no griddepcontrol.wait"]],
    repaired: &[|rig| {
        let stream = held_up(rig)?;
        stream.launch(PLAIN, produce_stage_early(&rig.large.zeros, &rig.large.other, &rig.large.mid))?;
        stream.launch(DEPENDENT, reads_after_its_wait(rig, &rig.large.another))?;
        stream.launch(PLAIN, produce_stage(&rig.large.another, &rig.large.out, &rig.large.rest))?;
        Ok(outcome(rig)? / chain(combined(), PRODUCE))
    }],
    // The second has no trigger, so the third is after it, whoever promises it or not.
    seen: |_, flawed, repaired| assert_eq!((flawed, repaired), (1.0, 1.0)),
};

/// Nothing lets the secondary kernel start before the primary has ended: the result is right, and nobody promises it.
pub const ATTRIBUTE_WITHOUT_TRIGGER: Case = Case {
    flawed: |rig| {
        let stream = primary_without_trigger(rig)?;
        stream.launch(DEPENDENT, reads_without_waiting(rig))?; // (2)
        out_of_mid(rig)
    },
    missing: ATTRIBUTE_WITHOUT_WAIT.missing,
    repaired: &[|rig| {
        let stream = primary_without_trigger(rig)?;
        stream.launch(PLAIN, reads_without_waiting(rig))?;
        out_of_mid(rig)
    }],
    seen: |_, flawed, repaired| assert_eq!((flawed, repaired), (1.0, 1.0)),
};

fn primary_without_trigger<'c>(rig: &Rig<'c>) -> Result<Stream<'c>, Error> {
    let stream = held_up(rig)?;
    stream.launch(PLAIN, produce_stage_never(&rig.large.zeros, &rig.large.other, &rig.large.mid))?; // (1)
    Ok(stream)
}

/// A stream with a slow kernel in it, so that the launches of a pair queue up: a pair is shorter than a call.
fn held_up<'c>(rig: &Rig<'c>) -> Result<Stream<'c>, Error> {
    rig.context.device().require("programmatic dependent launch", (9, 0))?;
    let stream = rig.stream("S")?;
    rig.slow(&stream, &rig.large.rest)?;
    Ok(stream)
}

/// The primary of a pair, which lets the secondary start before it has written `mid`, the last thing that it writes.
fn primary<'c>(rig: &Rig<'c>) -> Result<Stream<'c>, Error> {
    let stream = held_up(rig)?;
    stream.launch(PLAIN, produce_stage_early(&rig.large.zeros, &rig.large.other, &rig.large.mid))?; // (1)
    Ok(stream)
}

fn reads_without_waiting<'a>(rig: &'a Rig<'_>) -> Call<'a> {
    produce_stage_never(&rig.large.mid, &rig.large.out, &rig.large.another)
}

fn reads_after_its_wait<'a>(rig: &'a Rig<'_>, to: &'a DeviceBuffer<'_, f32>) -> Call<'a> {
    // SAFETY: all buffers of `large` have as many elements, so `mid` has those of `to`.
    unsafe { combine_stage(&rig.large.mid, &rig.large.zeros, to) }
}

/// What came out, as a part of what comes of `mid`.
fn out_of_mid(rig: &Rig<'_>) -> Result<f32, Error> {
    Ok(outcome(rig)? / chain(mid(), PRODUCE))
}

/// Waits for everything, and returns the first element of `out`.
fn outcome(rig: &Rig<'_>) -> Result<f32, Error> {
    rig.context.synchronize()?;
    rig.large.result()
}

/// What the primary of a pair leaves in `mid`.
fn mid() -> f32 {
    chain(0.0, EPILOGUE)
}

/// What the secondary, which waits, makes of it.
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
    rig.slow(stream, &rig.large.rest)?;
    let first = match pair {
        Pair::AndTrigger => produce_stage_early(&rig.large.zeros, &rig.large.other, &rig.large.mid),
        _ => produce_stage_never(&rig.large.zeros, &rig.large.other, &rig.large.mid),
    };
    stream.launch(PLAIN, first)?;
    let config = if pair == Pair::Plain { PLAIN } else { DEPENDENT };
    let waits = pair >= Pair::AndWait;
    stream.launch(
        config,
        if waits { reads_after_its_wait(rig, &rig.large.out) } else { reads_without_waiting(rig) },
    )
}

/// By the device's clock, as each warp read it.
fn only_with_all_three_the_second_starts_before_the_first_has_ended(on: On) {
    with_device(on, |rig| {
        let stream = held_up(rig)?;
        for pair in [Pair::Plain, Pair::Attribute, Pair::AndWait, Pair::AndTrigger] {
            let trace = Trace::of(rig.context, 1, || submit(rig, &stream, pair))?;
            let end = trace.launches[1].warps.iter().map(|warp| warp.end_ns).max();
            let start = trace.launches[2].warps.iter().map(|warp| warp.start_ns).min();
            assert_eq!(start < end, pair == Pair::AndTrigger, "{pair:?}: {start:?} {end:?}");
            let is_a_race = pair == Pair::Attribute;
            assert_eq!(trace.log.missing_edges().len(), usize::from(is_a_race), "{pair:?}");
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
