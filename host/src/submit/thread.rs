//! A second host thread, which makes driver calls in its turn: the thread that owns the [`Context`] waits for each of them.
//!
//! So the driver sees two threads, each with a default stream of its own, and still one order of calls, the program's.
//! Only values cross over: what the context and its streams keep, the log among it, stays with the thread that owns them.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use cuda_driver::{CUcontext, CuResult};
use cuda_std::call::Call;

use super::error::check;
use super::log::{Operation, ThreadId};
use super::{Context, Error, Launch, Stream};

type DriverCall = Box<dyn FnOnce() -> CuResult + Send>;

/// A host thread beside the one that opened the context. It ends when it is dropped.
pub struct HostThread<'c> {
    context: &'c Context,
    id: ThreadId,
    /// None once there will be no more.
    calls: Option<Sender<DriverCall>>,
    answers: Receiver<CuResult>,
    running: Option<JoinHandle<()>>,
}

impl<'c> HostThread<'c> {
    /// Starts the thread, and makes the context current there (`cuCtxSetCurrent`).
    ///
    /// # Errors
    ///
    /// [`Error::NoThread`], and any error of the driver.
    #[track_caller]
    pub fn new(context: &'c Context) -> Result<Self, Error> {
        let mut current = CUcontext::NULL;
        // SAFETY: `current` is there to be written.
        let answer = unsafe { cuda_driver::cuCtxGetCurrent(&mut current) };
        check("cuCtxGetCurrent", answer, || "find this thread's context".into())?;
        let (calls, waiting) = channel::<DriverCall>();
        let (answer, answers) = channel();
        let work = move || {
            for call in waiting {
                // Nobody listens any more only when no call can come either.
                _ = answer.send(call());
            }
        };
        let running = Builder::new().spawn(work).map_err(Error::NoThread)?;
        let id = context.identify_thread();
        let thread = HostThread { context, id, calls: Some(calls), answers, running: Some(running) };
        // SAFETY: the context is alive, and outlives the thread, which borrows it.
        let answer = thread.make(move || unsafe { cuda_driver::cuCtxSetCurrent(current) });
        check("cuCtxSetCurrent", answer, || format!("use the context in host thread {}", id.0))?;
        Ok(thread)
    }

    /// [`Stream::launch`] by this thread: a stream of kind [`PerThread`](super::StreamKind::PerThread) is then this thread's.
    ///
    /// # Errors
    ///
    /// Those of [`Stream::launch`].
    #[track_caller]
    pub fn launch(&self, stream: &Stream<'_>, launch: &Launch, call: Call<'_>) -> Result<(), Error> {
        self.context.note(|| Operation::HandOver { to: self.id });
        stream.launch_from(Some(self), launch, call)?;
        self.context.note_by(self.id, || Operation::HandOver { to: ThreadId::default() });
        Ok(())
    }

    pub(super) fn id(&self) -> ThreadId {
        self.id
    }

    /// Lets the thread make a call, and waits for its answer.
    pub(super) fn make(&self, call: impl FnOnce() -> CuResult + Send + 'static) -> CuResult {
        let sent = self.calls.as_ref().and_then(|calls| calls.send(Box::new(call)).ok());
        // The thread ends early only when a call panics, which a driver's does not.
        sent.and_then(|()| self.answers.recv().ok()).unwrap_or(CuResult::UNKNOWN)
    }
}

impl Drop for HostThread<'_> {
    fn drop(&mut self) {
        self.calls = None;
        if let Some(running) = self.running.take() {
            _ = running.join();
        }
    }
}
