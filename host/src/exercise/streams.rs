//! Two kernels that overlap, and a third that needs both: the legacy default stream in the way.

use super::fork2::grinds;
use super::{Exercise, Part, Prediction, check};
use crate::compare::compare;
use crate::gate::{Gate, correctness};
use crate::lesson::diamond::{A, THREADS};
use crate::reference;
use crate::submit::{Buffer, Context, Error, Event, Launch, Stream, StreamKind};

#[path = "../../../exercises/solutions/streams.rs"]
pub mod solution;
#[path = "../../../exercises/streams.rs"]
pub mod yours;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "streams",
    task: "let the first two kernels run side by side, and the third after both",
    hints: &[
        "The legacy default stream is a barrier among blocking streams: what is put into it waits for them, and they for \
         it. Look at which streams are of which kind.",
        "Two non-blocking streams know nothing of each other: that lets the two kernels overlap, and it lets the third one \
         start before one of them has ended. One event is enough to prevent that.",
        "The order of the lines is: first on `a`, record `done` on `a`, second on `b`, wait for `done` on `b`, both on `b`.",
    ],
    solution: include_str!("../../../exercises/solutions/streams.rs"),
    check: |context, options, report| check::<Lab<'_>>(context, options, report, yours::submit),
};

const ELEMS: usize = 1 << 18;
const BLOCKS: u32 = 8;
const ITERS: u32 = 512;
/// What the two kernels add in each step.
const ADDED: [f32; 2] = [0.25, 0.5];

/// What you have: four streams of three kinds, an event, and three launches.
pub struct Lab<'c> {
    /// The legacy default stream.
    pub legacy: Stream<'c>,
    /// A blocking stream.
    pub blocking: Stream<'c>,
    /// A non-blocking stream.
    pub a: Stream<'c>,
    /// Another non-blocking stream.
    pub b: Stream<'c>,
    /// An event for ordering.
    pub done: Event<'c>,
    input: Buffer<'c, f32>,
    made: [Buffer<'c, f32>; 2],
    zeros: Buffer<'c, f32>,
    out: Buffer<'c, f32>,
    want: Vec<f32>,
}

impl<'c> Lab<'c> {
    /// Launches the first kernel.
    ///
    /// # Errors
    ///
    /// Any error of the launch.
    #[track_caller]
    pub fn first(&self, stream: &Stream<'_>) -> Result<(), Error> {
        self.grind(stream, 0)
    }

    /// Launches the second kernel, which needs nothing of the first.
    ///
    /// # Errors
    ///
    /// Any error of the launch.
    #[track_caller]
    pub fn second(&self, stream: &Stream<'_>) -> Result<(), Error> {
        self.grind(stream, 1)
    }

    /// Launches the kernel that adds up what the first and the second made.
    ///
    /// # Errors
    ///
    /// Any error of the launch.
    #[track_caller]
    pub fn both(&self, stream: &Stream<'_>) -> Result<(), Error> {
        let ([first, second], zeros) = (&self.made, &self.zeros);
        let launch = Launch::new(ELEMS.div_ceil(THREADS as usize) as u32, THREADS);
        stream.launch(&launch, gpu::forkjoin::sum_four(first, second, zeros, zeros, &self.out))
    }

    #[track_caller]
    fn grind(&self, stream: &Stream<'_>, which: usize) -> Result<(), Error> {
        let call = gpu::forkjoin::grind_fma(&self.input, &self.made[which], ITERS, A, ADDED[which]);
        stream.launch(&Launch::new(BLOCKS, THREADS), call)
    }
}

impl<'c> super::Lab<'c> for Lab<'c> {
    fn new(context: &'c Context) -> Result<Self, Error> {
        let input: Vec<f32> = (0..ELEMS).map(|i| (i % 251) as f32 * 0.01).collect();
        let made = ADDED.map(|b| {
            let mut made = vec![0.0; ELEMS];
            reference::grind_fma(&input, &mut made, A, b, ITERS);
            made
        });
        let buffer = |name| Buffer::new(context, name, ELEMS);
        Ok(Lab {
            legacy: Stream::new(context, "legacy", StreamKind::Legacy)?,
            blocking: Stream::new(context, "blocking", StreamKind::Blocking)?,
            a: Stream::new(context, "a", StreamKind::NonBlocking)?,
            b: Stream::new(context, "b", StreamKind::NonBlocking)?,
            done: Event::ordering(context, "done")?,
            input: Buffer::from_slice(context, "input", &input)?,
            made: [buffer("first")?, buffer("second")?],
            zeros: buffer("zeros")?,
            out: buffer("out")?,
            want: made[0].iter().zip(&made[1]).map(|(first, second)| first + second).collect(),
        })
    }

    fn reset(&self) -> Result<(), Error> {
        let [first, second] = &self.made;
        [first, second, &self.zeros, &self.out].iter().try_for_each(|buffer| self.legacy.zero(buffer))?;
        self.legacy.synchronize()
    }

    fn serial(&self) -> Result<(), Error> {
        self.first(&self.a)?;
        self.second(&self.a)?;
        self.both(&self.a)
    }

    fn parts(&self) -> Vec<Part> {
        let [first, second] = &self.made;
        [(first, "first"), (second, "second"), (&self.out, "both")]
            .map(|(memory, call)| Part {
                memory: memory.name().to_owned(),
                times: 1,
                how: format!("lab.{call}(stream)?"),
            })
            .into()
    }

    fn prediction(&self) -> Prediction {
        Prediction { unit: "grind kernels", depth: 1, serial_depth: 2, units: grinds }
    }

    fn result(&self) -> Result<Gate, Error> {
        let mut got = vec![0.0; ELEMS];
        self.out.copy_to(&mut got)?;
        Ok(correctness("the sum", &compare(&got, &self.want, 1e-6)))
    }
}
