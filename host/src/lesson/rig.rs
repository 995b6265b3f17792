//! A bench for small programs: a context, a few buffers, a kernel that takes long and one that takes next to no time. What
//! nothing orders comes apart on it: whoever does not wait for the slow kernel is done before it.

use crate::submit::{Buffer, Context, Error, Event, Launch, Stream, StreamKind};

/// Elements of each buffer: a full block.
pub const ELEMS: usize = 1024;
/// Elements that the slow kernel writes: few, because all its steps are executed.
const SLOW_ELEMS: usize = 64;

/// Submits, waits, and returns what came out.
pub type Program = fn(&Rig<'_>) -> Result<f32, Error>;

/// The shape of every launch: one block.
pub fn shape() -> Launch {
    Launch::new(1, ELEMS as u32)
}

/// A context with a few buffers, all zero when a program begins but for `ones`.
#[expect(missing_docs, reason = "the names of the buffers are all that there is to say of them")]
pub struct Rig<'c> {
    pub context: &'c Context,
    pub zeros: Buffer<'c, f32>,
    pub ones: Buffer<'c, f32>,
    pub mid: Buffer<'c, f32>,
    pub other: Buffer<'c, f32>,
    pub another: Buffer<'c, f32>,
    pub rest: Buffer<'c, f32>,
    pub out: Buffer<'c, f32>,
    steps: u32,
}

impl<'c> Rig<'c> {
    /// Allocates. The slow kernel takes `steps` steps, at most 2^24; a step takes some 2 ns.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn new(context: &'c Context, steps: u32) -> Result<Self, Error> {
        let buffer = |name| Buffer::new(context, name, ELEMS);
        Ok(Rig {
            context,
            zeros: buffer("zeros")?,
            ones: Buffer::from_slice(context, "ones", &[1.0; ELEMS])?,
            mid: buffer("mid")?,
            other: buffer("other")?,
            another: buffer("another")?,
            rest: buffer("rest")?,
            out: buffer("out")?,
            steps,
        })
    }

    /// Zeroes what a program before this one has written, and waits for that.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn clear(&self) -> Result<(), Error> {
        for buffer in [&self.zeros, &self.mid, &self.other, &self.another, &self.rest, &self.out] {
            buffer.zero()?;
        }
        self.context.synchronize()
    }

    /// Makes a non-blocking stream.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn stream(&self, name: &str) -> Result<Stream<'c>, Error> {
        Stream::new(self.context, name, StreamKind::NonBlocking)
    }

    /// Makes a blocking stream.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn blocking(&self, name: &str) -> Result<Stream<'c>, Error> {
        Stream::new(self.context, name, StreamKind::Blocking)
    }

    /// The legacy default stream.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn default_stream(&self) -> Result<Stream<'c>, Error> {
        Stream::new(self.context, "default", StreamKind::Legacy)
    }

    /// Makes an event for ordering.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn event(&self, name: &str) -> Result<Event<'c>, Error> {
        Event::ordering(self.context, name)
    }

    /// Makes an event for timing.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    pub fn stopwatch(&self, name: &str) -> Result<Event<'c>, Error> {
        Event::timing(self.context, name)
    }

    /// Launches a kernel that takes long, and at its end writes [`Rig::slow_value`].
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    #[track_caller]
    pub fn slow(&self, stream: &Stream<'_>, to: &Buffer<'_, f32>) -> Result<(), Error> {
        let (from, to) = (self.zeros.first(SLOW_ELEMS), to.first(SLOW_ELEMS));
        let call = gpu::forkjoin::grind_fma(&from, &to, self.steps, 1.0, 1.0);
        stream.launch(&Launch::new(1, SLOW_ELEMS as u32), call)
    }

    /// What the slow kernel writes.
    pub fn slow_value(&self) -> f32 {
        self.steps as f32
    }

    /// Launches a kernel that writes twice what it reads, at once.
    ///
    /// # Errors
    ///
    /// Any error of the submission layer.
    #[track_caller]
    pub fn quick(
        &self,
        stream: &Stream<'_>,
        from: &Buffer<'_, f32>,
        to: &Buffer<'_, f32>,
    ) -> Result<(), Error> {
        stream.launch(&shape(), gpu::streams::sweep_scale(from, to))
    }

    /// Waits for everything, and returns the first element of `out`.
    ///
    /// # Errors
    ///
    /// Whatever went wrong on the card.
    pub fn outcome(&self) -> Result<f32, Error> {
        self.context.synchronize()?;
        let mut out = [0.0; ELEMS];
        self.out.copy_to(&mut out)?;
        Ok(out[0])
    }
}
