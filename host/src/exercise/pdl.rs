//! A kernel that starts before the one ahead of it has ended. Needs compute capability 9.0.

use cuda_std::call::Call;
use gpu::pdl::{PRODUCE, PROLOGUE, STEPS};

use super::{Exercise, Part, Prediction, check};
use crate::compare::compare;
use crate::gate::exercise::starts_early;
use crate::gate::overlap::Interval;
use crate::gate::{Gate, correctness};
use crate::reference::grind_fma;
use crate::submit::{Buffer, Context, Error, Launch, Operation, Stream, StreamKind};

#[path = "../../../exercises/solutions/pdl.rs"]
pub mod solution;
#[path = "../../../exercises/pdl.rs"]
pub mod yours;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "pdl",
    task: "let the third kernel start before the second has ended, and be right all the same",
    hints: &[
        "Programmatic dependent launch takes three things: a trigger in the kernel ahead, a wait in the kernel behind, and an \
         attribute of the launch behind. Two of them are in the kernels already; look at gpu/src/pdl.rs for which.",
        "The attribute belongs to the kernel that starts early. Given to a kernel that has no wait, it takes an order away and \
         puts none in its place.",
        "`plain.with(Attributes { programmatic_stream_serialization: Some(true), ..Attributes::default() })` is the launch \
         for `lab.combine()`.",
    ],
    solution: include_str!("../../../exercises/solutions/pdl.rs"),
    check: |context, options, report| check::<Lab<'_>>(context, options, report, yours::submit),
};

const THREADS: u32 = 1024;
/// Few, so that there is room for two kernels.
const BLOCKS: u32 = 8;
const ELEMS: usize = (BLOCKS * THREADS) as usize;
/// Long enough for the host to submit the other two meanwhile.
const PREPARE_STEPS: u32 = 50_000;
/// `x = x * a + b` from 0 stays below `b / (1 - a)`.
const PREPARE: (f32, f32) = (0.999, 0.001);

/// What you have: a stream, a shape, and the calls of three kernels.
pub struct Lab<'c> {
    /// The stream of all three.
    pub stream: Stream<'c>,
    raw: Buffer<'c, f32>,
    x: Buffer<'c, f32>,
    mid: Buffer<'c, f32>,
    aux: Buffer<'c, f32>,
    out: Buffer<'c, f32>,
    want: Vec<f32>,
}

impl<'c> Lab<'c> {
    /// The shape of all three launches, without attributes.
    pub fn plain(&self) -> Launch {
        Launch::new(BLOCKS, THREADS)
    }

    /// `x` from the input. Takes long.
    pub fn prepare(&self) -> Call<'_> {
        let (a, b) = PREPARE;
        gpu::forkjoin::grind_fma(&self.raw, &self.x, PREPARE_STEPS, a, b)
    }

    /// The trigger, then `mid` from `x`, then something that nobody needs.
    pub fn produce(&self) -> Call<'_> {
        gpu::pdl::produce_stage_early(&self.x, &self.mid, &self.aux)
    }

    /// The same without the trigger.
    pub fn produce_without_trigger(&self) -> Call<'_> {
        gpu::pdl::produce_stage_never(&self.x, &self.mid, &self.aux)
    }

    /// A prologue, the wait, then the result from both.
    pub fn combine(&self) -> Call<'_> {
        gpu::pdl::combine_stage(&self.mid, &self.raw, &self.out)
    }
}

impl<'c> super::Lab<'c> for Lab<'c> {
    fn new(context: &'c Context) -> Result<Self, Error> {
        context.require("programmatic dependent launch", (9, 0))?;
        let raw: Vec<f32> = (0..ELEMS).map(|i| (i % 251) as f32 * 0.01).collect();
        let chain = |from: &[f32], (a, b), steps| {
            let mut to = vec![0.0; ELEMS];
            grind_fma(from, &mut to, a, b, steps);
            to
        };
        let x = chain(&raw, PREPARE, PREPARE_STEPS);
        let (mid, prologue) = (chain(&x, PRODUCE, STEPS), chain(&raw, PROLOGUE, STEPS));
        let buffer = |name| Buffer::new(context, name, ELEMS);
        Ok(Lab {
            stream: Stream::new(context, "s", StreamKind::NonBlocking)?,
            raw: Buffer::from_slice(context, "raw", &raw)?,
            x: buffer("x")?,
            mid: buffer("mid")?,
            aux: buffer("aux")?,
            out: buffer("out")?,
            want: mid.iter().zip(&prologue).map(|(mid, prologue)| mid + prologue).collect(),
        })
    }

    fn reset(&self) -> Result<(), Error> {
        let all = [&self.x, &self.mid, &self.aux, &self.out];
        all.iter().try_for_each(|buffer| self.stream.zero(buffer))?;
        self.stream.synchronize()
    }

    fn serial(&self) -> Result<(), Error> {
        self.stream.launch(&self.plain(), self.prepare())?;
        self.stream.launch(&self.plain(), self.produce())?;
        self.stream.launch(&self.plain(), self.combine())
    }

    fn parts(&self) -> Vec<Part> {
        [(&self.x, "prepare"), (&self.mid, "produce"), (&self.out, "combine")]
            .map(|(memory, call)| Part {
                memory: memory.name().to_owned(),
                times: 1,
                how: format!("lab.stream.launch(&launch, lab.{call}())?"),
            })
            .into()
    }

    fn prediction(&self) -> Prediction {
        let units = |operation: &Operation| u64::from(matches!(operation, Operation::Launch { .. }));
        Prediction { unit: "kernels", depth: 3, serial_depth: 3, units }
    }

    fn result(&self) -> Result<Gate, Error> {
        let mut got = vec![0.0; ELEMS];
        self.out.copy_to(&mut got)?;
        Ok(correctness("the result", &compare(&got, &self.want, 1e-6)))
    }

    fn shows(&self, ran: &[Interval]) -> Option<Gate> {
        match ran {
            [_, produce, combine] => Some(starts_early(*combine, *produce)),
            _ => None,
        }
    }
}
