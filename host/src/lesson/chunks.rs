//! The pipeline lesson's memory, and its orders of submission: the same copies and kernels on one stream, on several, and
//! with a stream for each stage.

use std::ops::Range as Elements;

use crate::args;
use crate::submit::{Buffer, Context, Error, Event, Launch, Pinned, Range, Stream, StreamKind};

/// Threads of a block.
pub const THREADS: u32 = 256;
/// Elements that a thread takes at a time.
const ELEMS_OF_THREAD: usize = 4;
/// Waves of resident blocks in a kernel at most: it fills the card, and blocks end all the while, so that the readings of the
/// clock around other streams' copies find room.
const WAVES: u32 = 4;

/// Host memory, device memory and streams for work in chunks.
pub struct Chunks<'c> {
    context: &'c Context,
    streams: Vec<Stream<'c>>,
    host_a: Pinned<'c, f32>,
    host_b: Pinned<'c, f32>,
    host_out: Pinned<'c, f32>,
    a: Buffer<'c, f32>,
    b: Buffer<'c, f32>,
    out: Buffer<'c, f32>,
    /// Blocks of a kernel at most.
    most_blocks: u32,
    steps: u32,
}

/// A stage of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Both inputs to the device.
    CopyIn,
    /// The kernel.
    Compute,
    /// The output to the host.
    CopyOut,
}

impl Stage {
    /// In the order of a chunk.
    pub const ALL: [Stage; 3] = [Stage::CopyIn, Stage::Compute, Stage::CopyOut];
}

impl<'c> Chunks<'c> {
    /// Allocates, and writes the inputs to host memory. `streams` is how many there are at most.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn new(
        context: &'c Context,
        options: &args::Pipeline,
        streams: u32,
        [a, b]: [&[f32]; 2],
    ) -> Result<Self, Error> {
        let elems = a.len();
        let stream = |number| Stream::new(context, &format!("s{number}"), StreamKind::NonBlocking);
        let host = |name| Pinned::new(context, name, elems);
        let device = |name| Buffer::new(context, name, elems);
        let resident = context.resident_blocks(gpu::pipeline::add_chain::KERNEL, THREADS)?;
        let chunks = Chunks {
            context,
            streams: (0..streams).map(stream).collect::<Result<_, _>>()?,
            host_a: host("host a")?,
            host_b: host("host b")?,
            host_out: host("host out")?,
            a: device("a")?,
            b: device("b")?,
            out: device("out")?,
            most_blocks: WAVES * resident,
            steps: options.steps,
        };
        chunks.host_a.write(a);
        chunks.host_b.write(b);
        for buffer in [&chunks.a, &chunks.b, &chunks.out] {
            chunks.streams[0].zero(buffer)?;
        }
        context.synchronize()?;
        Ok(chunks)
    }

    /// One stage of a chunk.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    #[track_caller]
    fn stage(&self, stage: Stage, stream: &Stream<'_>, chunk: &Elements<usize>) -> Result<(), Error> {
        match stage {
            Stage::CopyIn => {
                stream.copy_part_to_device(&self.host_a, &self.a, chunk.clone())?;
                stream.copy_part_to_device(&self.host_b, &self.b, chunk.clone())
            }
            Stage::Compute => {
                let [a, b, out] = [&self.a, &self.b, &self.out].map(|buffer| buffer.part(chunk.clone()));
                let needed = chunk.len().div_ceil(ELEMS_OF_THREAD * THREADS as usize);
                let launch = Launch::new(self.most_blocks.min(needed as u32), THREADS);
                stream.launch(&launch, gpu::pipeline::add_chain(&a, &b, &out, self.steps))
            }
            Stage::CopyOut => stream.copy_part_to_host(&self.out, &self.host_out, chunk.clone()),
        }
    }

    /// Every chunk's stages one after the other, the chunks on `streams` streams in turn. With one stream nothing overlaps.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn submit(&self, chunks: u32, streams: u32) -> Result<(), Error> {
        let _range = Range::new(self.context, if streams == 1 { "serial" } else { "pipeline" });
        let turns = self.streams.iter().take(streams as usize).cycle();
        for (chunk, stream) in cut(self.a.len(), chunks).zip(turns) {
            for stage in Stage::ALL {
                self.stage(stage, stream, &chunk)?;
            }
        }
        Ok(())
    }

    /// Some stages alone, each on a stream of its own, and in no order with one another.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn submit_alone(&self, stages: &[Stage], chunks: u32) -> Result<(), Error> {
        for chunk in cut(self.a.len(), chunks) {
            for (&stage, stream) in stages.iter().zip(&self.streams) {
                self.stage(stage, stream, &chunk)?;
            }
        }
        Ok(())
    }

    /// A stream for each stage. A chunk's stages are then in three streams, so each hand-over needs an event.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn submit_by_stage(&self, chunks: u32) -> Result<(), Error> {
        let _range = Range::new(self.context, "by-stage");
        let [copy_in, compute, copy_out, ..] = &self.streams[..] else { return Ok(()) };
        for chunk in cut(self.a.len(), chunks) {
            let (arrived, computed) =
                (Event::ordering(self.context, "arrived")?, Event::ordering(self.context, "computed")?);
            self.stage(Stage::CopyIn, copy_in, &chunk)?;
            copy_in.record(&arrived)?;
            compute.wait(&arrived)?;
            self.stage(Stage::Compute, compute, &chunk)?;
            compute.record(&computed)?;
            copy_out.wait(&computed)?;
            self.stage(Stage::CopyOut, copy_out, &chunk)?;
        }
        Ok(())
    }

    /// The same without the events: the order of the host's lines, and no other.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn submit_broken(&self, chunks: u32) -> Result<(), Error> {
        let _range = Range::new(self.context, "broken-order");
        let [copy_in, compute, copy_out, ..] = &self.streams[..] else { return Ok(()) };
        for chunk in cut(self.a.len(), chunks) {
            self.stage(Stage::CopyIn, copy_in, &chunk)?;
            self.stage(Stage::Compute, compute, &chunk)?;
            self.stage(Stage::CopyOut, copy_out, &chunk)?;
        }
        Ok(())
    }

    /// Waits for everything, and returns what is in host memory.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn result(&self) -> Result<Vec<f32>, Error> {
        self.context.synchronize()?;
        Ok(self.host_out.read())
    }

    /// Forgets every result, and what is on the device.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn forget(&self) -> Result<(), Error> {
        for buffer in [&self.a, &self.b, &self.out] {
            self.streams[0].zero(buffer)?;
        }
        self.context.synchronize()?;
        self.host_out.write(&vec![0.0; self.host_out.len()]);
        Ok(())
    }
}

/// The elements of each chunk: equal ones, each a multiple of sixteen bytes, and what is left as the last.
pub fn cut(elems: usize, chunks: u32) -> impl Iterator<Item = Elements<usize>> {
    let chunk = elems.div_ceil(chunks.max(1) as usize).next_multiple_of(4).max(4);
    (0..elems).step_by(chunk).map(move |start| start..elems.min(start + chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_every_element_once_and_the_last_is_what_is_left() {
        for (elems, chunks, lengths) in [
            (16, 4, vec![4, 4, 4, 4]),
            (17, 4, vec![8, 8, 1]),
            (1000, 3, vec![336, 336, 328]),
            (3, 4, vec![3]),
            (5, 1, vec![5]),
        ] {
            let cut: Vec<_> = cut(elems, chunks).collect();
            assert_eq!(
                cut.iter().map(|chunk| chunk.len()).collect::<Vec<_>>(),
                lengths,
                "{elems} in {chunks}"
            );
            let mut next = 0;
            for chunk in &cut {
                assert_eq!(chunk.start, next);
                next = chunk.end;
            }
            assert_eq!(next, elems);
        }
    }
}
