//! A second host thread, which makes driver calls in its turn: the thread that owns the [`Context`] waits for each of them.
//!
//! So the driver sees two threads, each with a default stream of its own, and still one order of calls, the program's. Only values
//! cross over: the context and its log stay with the thread that owns them.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use cuda_driver::CuResult;
use stream_order::program::ThreadId;

use crate::context::Context;
use crate::error::{Doing, Error};
use crate::floor::{self, Failed};

type DriverCall = Box<dyn FnOnce() -> floor::Result<()> + Send>;

/// A host thread beside the one that opened the context. It ends when it is dropped.
#[derive(Debug)]
pub struct HostThread<'c> {
    context: &'c Context,
    id: ThreadId,
    /// `None` once there will be no more.
    calls: Option<Sender<DriverCall>>,
    answers: Receiver<floor::Result<()>>,
    running: Option<JoinHandle<()>>,
}

impl<'c> HostThread<'c> {
    /// Starts the thread, and makes the context current there (`cuCtxSetCurrent`). [`Stream::launch_from`](crate::Stream::launch_from)
    /// launches from it.
    ///
    /// # Errors
    ///
    /// [`Error::NoThread`], and any error of the driver.
    #[track_caller]
    pub fn new(context: &'c Context) -> Result<Self, Error> {
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
        let current = context.raw();
        thread
            .make(move || floor::context_set_current(current))
            .doing(|| format!("use the context in host thread {}", id.0))?;
        Ok(thread)
    }

    pub(crate) fn id(&self) -> ThreadId {
        self.id
    }

    pub(crate) fn context(&self) -> &'c Context {
        self.context
    }

    /// Lets the thread make a call, and waits for its answer.
    pub(crate) fn make(
        &self,
        call: impl FnOnce() -> floor::Result<()> + Send + 'static,
    ) -> floor::Result<()> {
        let sent = self.calls.as_ref().and_then(|calls| calls.send(Box::new(call)).ok());
        // The thread ends early only when a call panics, which a driver's does not.
        let gone = Err(Failed { call: "a host thread", code: CuResult::UNKNOWN });
        sent.and_then(|()| self.answers.recv().ok()).unwrap_or(gone)
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
