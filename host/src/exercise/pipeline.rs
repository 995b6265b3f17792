//! Copies and kernels of several chunks on two streams.

use super::{Exercise, Part, Prediction, check};
use crate::compare::compare;
use crate::gate::{Gate, correctness};
use crate::lesson::diamond::{A, THREADS};
use crate::reference;
use crate::submit::{Buffer, Context, Error, Launch, Operation, Pinned, Stream, StreamKind};

#[path = "../../../exercises/solutions/pipeline.rs"]
pub mod solution;
#[path = "../../../exercises/pipeline.rs"]
pub mod yours;

/// The exercise.
pub const EXERCISE: Exercise = Exercise {
    name: "pipeline",
    task: "let copies and kernels of the chunks overlap on two streams",
    hints: &[
        "Within a chunk the three steps need each other, and one stream keeps them in order. Between chunks nothing is needed, \
         but for one thing: chunks 0 and 2 share their memory on the card, and so do 1 and 3.",
        "A chunk may only be copied over the one before it in the same memory when that one is out again. On the same \
         stream it is, without an event.",
        "Chunk `i` goes to `&lab.streams[i % 2]`, all its three steps.",
    ],
    solution: include_str!("../../../exercises/solutions/pipeline.rs"),
    check: |context, options, report| check::<Lab<'_>>(context, options, report, yours::submit),
};

/// Chunks.
pub const CHUNKS: usize = 4;
/// Streams, and chunks that are on the card at once.
const SLOTS: usize = 2;
/// Elements of a chunk but the last: 4 MiB.
const ELEMS: usize = 1 << 20;
/// The last chunk is shorter: 10 elements are no multiple of anything.
const LAST_ELEMS: usize = ELEMS - 10;
const BLOCKS: u32 = 64;
const ITERS: u32 = 256;
const B: f32 = 0.25;

/// What you have: two streams, and three steps for each of [`CHUNKS`] chunks.
pub struct Lab<'c> {
    /// Two non-blocking streams.
    pub streams: [Stream<'c>; SLOTS],
    input: Vec<Pinned<'c, f32>>,
    result: Vec<Pinned<'c, f32>>,
    arrived: [Buffer<'c, f32>; SLOTS],
    computed: [Buffer<'c, f32>; SLOTS],
    want: Vec<Vec<f32>>,
}

impl<'c> Lab<'c> {
    /// Copies a chunk to the card: chunks 0 and 2 to the same memory, 1 and 3 to other memory.
    ///
    /// # Errors
    ///
    /// Any error of the copy.
    ///
    /// # Panics
    ///
    /// When there is no such chunk.
    #[track_caller]
    pub fn copy_in(&self, chunk: usize, stream: &Stream<'_>) -> Result<(), Error> {
        stream.copy_to_device(&self.input[chunk], &self.arrived[chunk % SLOTS])
    }

    /// Computes a chunk.
    ///
    /// # Errors
    ///
    /// Any error of the launch.
    ///
    /// # Panics
    ///
    /// When there is no such chunk.
    #[track_caller]
    pub fn compute(&self, chunk: usize, stream: &Stream<'_>) -> Result<(), Error> {
        let (slot, elems) = (chunk % SLOTS, self.input[chunk].len());
        let (from, to) = (self.arrived[slot].first(elems), self.computed[slot].first(elems));
        stream.launch(&Launch::new(BLOCKS, THREADS), gpu::forkjoin::grind_fma(&from, &to, ITERS, A, B))
    }

    /// Copies what was computed of a chunk to the host.
    ///
    /// # Errors
    ///
    /// Any error of the copy.
    ///
    /// # Panics
    ///
    /// When there is no such chunk.
    #[track_caller]
    pub fn copy_out(&self, chunk: usize, stream: &Stream<'_>) -> Result<(), Error> {
        stream.copy_to_host(&self.computed[chunk % SLOTS], &self.result[chunk])
    }

    fn wait(&self) -> Result<(), Error> {
        self.streams.iter().try_for_each(Stream::synchronize)
    }
}

impl<'c> super::Lab<'c> for Lab<'c> {
    fn new(context: &'c Context) -> Result<Self, Error> {
        let stream = |name| Stream::new(context, name, StreamKind::NonBlocking);
        let buffer = |name| Buffer::new(context, name, ELEMS);
        let mut lab = Lab {
            streams: [stream("even")?, stream("odd")?],
            input: Vec::new(),
            result: Vec::new(),
            arrived: [buffer("arrived0")?, buffer("arrived1")?],
            computed: [buffer("computed0")?, buffer("computed1")?],
            want: Vec::new(),
        };
        for chunk in 0..CHUNKS {
            let elems = if chunk + 1 == CHUNKS { LAST_ELEMS } else { ELEMS };
            let data: Vec<f32> = (0..elems).map(|i| ((chunk + i) % 251) as f32 * 0.01).collect();
            let input = Pinned::new(context, &format!("input{chunk}"), elems)?;
            input.write(&data);
            let mut want = vec![0.0; elems];
            reference::grind_fma(&data, &mut want, A, B, ITERS);
            lab.input.push(input);
            lab.result.push(Pinned::new(context, &format!("result{chunk}"), elems)?);
            lab.want.push(want);
        }
        Ok(lab)
    }

    fn reset(&self) -> Result<(), Error> {
        for buffer in self.arrived.iter().chain(&self.computed) {
            self.streams[0].zero(buffer)?;
        }
        self.wait()?;
        self.result.iter().for_each(|result| result.write(&vec![0.0; result.len()]));
        Ok(())
    }

    fn serial(&self) -> Result<(), Error> {
        let stream = &self.streams[0];
        (0..CHUNKS).try_for_each(|chunk| {
            self.copy_in(chunk, stream)?;
            self.compute(chunk, stream)?;
            self.copy_out(chunk, stream)
        })
    }

    fn parts(&self) -> Vec<Part> {
        let part = |memory: &str, times, call: &str| Part {
            memory: memory.to_owned(),
            times,
            how: format!("lab.{call}(chunk, stream)?"),
        };
        let in_slots = |slots: &[Buffer<'_, f32>], call: &str| -> Vec<Part> {
            slots.iter().map(|slot| part(slot.name(), CHUNKS / SLOTS, call)).collect()
        };
        let results = self.result.iter().map(|result| part(result.name(), 1, "copy_out"));
        let mut parts = in_slots(&self.arrived, "copy_in");
        parts.extend(in_slots(&self.computed, "compute"));
        parts.extend(results);
        parts
    }

    fn prediction(&self) -> Prediction {
        let units = |operation: &Operation| {
            use Operation::{AsyncCopyToDevice, AsyncCopyToHost, Launch};
            u64::from(matches!(operation, Launch { .. } | AsyncCopyToDevice { .. } | AsyncCopyToHost { .. }))
        };
        let serial_depth = 3 * CHUNKS as u64;
        Prediction { unit: "copies and kernels", depth: serial_depth / SLOTS as u64, serial_depth, units }
    }

    fn result(&self) -> Result<Gate, Error> {
        self.wait()?;
        let got: Vec<f32> = self.result.iter().flat_map(Pinned::read).collect();
        Ok(correctness("the result", &compare(&got, &self.want.concat(), 1e-6)))
    }
}
