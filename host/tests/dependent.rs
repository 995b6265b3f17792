//! Programmatic dependent launch, checked: what a kernel that starts early may not touch before its wait is read from its PTX.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod support;

use cuda_std::call::Call;
use gpu::pdl::{combine_stage, produce_stage, produce_stage_early};
use stream_order::{Cause, Clash};
use streamlab::{Attributes, Context, Device, DeviceBuffer, Error, LaunchConfig, Model, Stream, StreamKind};

const ELEMS: usize = 512;
const SHAPE: LaunchConfig = LaunchConfig::for_elements(ELEMS, 256);
const NORMAL: LaunchConfig =
    SHAPE.with(Attributes { programmatic_stream_serialization: Some(false), priority: None });
const EARLY: LaunchConfig = SHAPE.programmatic();

/// One stream, and buffers whose names the kernels' parameters have in the lesson; `more` and `rest` are for a third kernel.
struct Bench<'c> {
    stream: Stream<'c>,
    x: DeviceBuffer<'c, f32>,
    y: DeviceBuffer<'c, f32>,
    mid: DeviceBuffer<'c, f32>,
    aux: DeviceBuffer<'c, f32>,
    out: DeviceBuffer<'c, f32>,
    more: DeviceBuffer<'c, f32>,
    rest: DeviceBuffer<'c, f32>,
}

impl<'c> Bench<'c> {
    fn new(context: &'c Context) -> Result<Self, Error> {
        let buffer = |name| DeviceBuffer::from_slice(context, name, &[0.5; ELEMS]);
        Ok(Bench {
            stream: Stream::new(context, "s", StreamKind::NonBlocking)?,
            x: buffer("x")?,
            y: buffer("y")?,
            mid: buffer("mid")?,
            aux: buffer("aux")?,
            out: buffer("out")?,
            more: buffer("more")?,
            rest: buffer("rest")?,
        })
    }

    /// The primary, which lets the next kernel start at once.
    fn primary(&self) -> Result<(), Error> {
        self.stream.launch(NORMAL, produce_stage_early(&self.x, &self.mid, &self.aux))
    }

    /// The call of the kernel that waits, with these for its parameters.
    fn combine<'b>(
        mid: &'b DeviceBuffer<'_, f32>,
        y: &'b DeviceBuffer<'_, f32>,
        out: &'b DeviceBuffer<'_, f32>,
    ) -> Call<'b> {
        // SAFETY: all buffers are of one length and apart. Where the kernel reads early what another writes, the test is about the
        // report: the values are used by nobody.
        unsafe { combine_stage(mid, y, out) }
    }
}

/// A missing edge: the two kernels, the buffer with the bytes, whether they are touched before the wait, and the cause.
type Edge = ([String; 2], String, std::ops::Range<u64>, bool, Cause);

/// Returns the missing edges of a submission.
fn edges(submit: impl Fn(&Bench<'_>) -> Result<(), Error>) -> Vec<Edge> {
    support::on_device(Device::Virtual(Model::H200), |context| {
        let bench = Bench::new(context).unwrap();
        let log = streamlab::check(context, || submit(&bench)).unwrap();
        context.synchronize().unwrap();
        let edge = |finding: &stream_order::Finding| {
            let Clash::Memory { buffer, bytes, before_wait } = &finding.race.clash else {
                panic!("{finding:?}")
            };
            let kernels = [finding.race.first, finding.race.second];
            let kernels = kernels.map(|at| log.program.operations[at].name.to_string());
            (kernels, log.buffer_name(*buffer).to_owned(), bytes.clone(), *before_wait, finding.cause)
        };
        log.findings().iter().map(edge).collect()
    })
}

/// The one edge from the primary's `mid` to `second`.
fn mid_to(second: &str, before_wait: bool, cause: Cause) -> Vec<Edge> {
    vec![(
        ["produce_stage_early".to_owned(), second.to_owned()],
        "mid".to_owned(),
        0..2048,
        before_wait,
        cause,
    )]
}

#[test]
fn a_kernel_without_a_wait_that_starts_early_misses_the_edge_from_the_kernel_before_it() {
    let pair = |config| {
        edges(|b| {
            b.primary()?;
            b.stream.launch(config, produce_stage(&b.mid, &b.more, &b.rest))
        })
    };
    assert_eq!(pair(EARLY), mid_to("produce_stage", false, Cause::DependentNeverWaits));
    assert_eq!(pair(NORMAL), []);
}

#[test]
fn a_kernel_that_waits_misses_the_edge_for_what_it_reads_before() {
    // What the primary writes, passed for the input of the prologue: that is read before the wait.
    let pair = |config| {
        edges(|b| {
            b.primary()?;
            b.stream.launch(config, Bench::combine(&b.more, &b.mid, &b.out))
        })
    };
    assert_eq!(pair(EARLY), mid_to("combine_stage", true, Cause::DependentTooEarly));
    assert_eq!(pair(NORMAL), []);
    // Passed for what it is meant for, it is read after the wait, and the output is written there.
    let right = |b: &Bench<'_>| {
        b.primary()?;
        b.stream.launch(EARLY, Bench::combine(&b.mid, &b.y, &b.aux))
    };
    assert_eq!(edges(right), []);
}

#[test]
fn the_third_of_a_chain_is_not_ordered_after_the_first_by_a_second_that_never_waits() {
    let chain = |config| {
        edges(|b| {
            b.primary()?;
            b.stream.launch(config, produce_stage(&b.x, &b.more, &b.rest))?;
            b.stream.launch(EARLY, Bench::combine(&b.mid, &b.y, &b.out))
        })
    };
    assert_eq!(chain(EARLY), mid_to("combine_stage", false, Cause::ChainBroken { middle: 1 }));
    assert_eq!(chain(NORMAL), []);
}

#[test]
fn a_normal_launch_after_a_pair_is_ordered_after_both() {
    let after = |secondary: fn(&Bench<'_>) -> Result<(), Error>| {
        edges(|b| {
            b.primary()?;
            secondary(b)?;
            b.stream.launch(NORMAL, produce_stage(&b.mid, &b.aux, &b.out))
        })
    };
    assert_eq!(after(|b| b.stream.launch(EARLY, Bench::combine(&b.mid, &b.y, &b.out))), []);
    // A secondary that never waits, and touches nothing of the primary's.
    assert_eq!(after(|b| b.stream.launch(EARLY, produce_stage(&b.x, &b.out, &b.more))), []);
}
