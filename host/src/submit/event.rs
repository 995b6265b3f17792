//! Events: a snapshot of the work in a stream, for ordering or for timing, not both.

use std::cell::Cell;
use std::panic::Location;

use cuda_driver::{CUevent, CUeventFlags, CuResult};

use super::error::{check, check_query};
use super::log::{EventId, Operation};
use super::{Context, Error};

/// An event. Before its first record it stands for no work at all, and every wait for it is over at once.
pub struct Event<'c> {
    context: &'c Context,
    raw: CUevent,
    id: EventId,
    name: String,
    timing: bool,
    recorded: Cell<bool>,
    made_at: &'static Location<'static>,
}

impl<'c> Event<'c> {
    /// An event without a timestamp (`CU_EVENT_DISABLE_TIMING`): the fast kind for [`Stream::wait`](super::Stream::wait).
    ///
    /// # Errors
    ///
    /// Any error of `cuEventCreate`.
    #[track_caller]
    pub fn ordering(context: &'c Context, name: &str) -> Result<Self, Error> {
        Event::new(context, name, false)
    }

    /// An event with a timestamp, for [`Event::elapsed_ms`].
    ///
    /// # Errors
    ///
    /// Any error of `cuEventCreate`.
    #[track_caller]
    pub fn timing(context: &'c Context, name: &str) -> Result<Self, Error> {
        Event::new(context, name, true)
    }

    #[track_caller]
    fn new(context: &'c Context, name: &str, timing: bool) -> Result<Self, Error> {
        let flags = if timing { CUeventFlags::DEFAULT } else { CUeventFlags::DISABLE_TIMING };
        let mut raw = CUevent::NULL;
        // SAFETY: `raw` is there to be written, and the context is current on this thread.
        let answer = unsafe { cuda_driver::cuEventCreate(&mut raw, flags.0) };
        check("cuEventCreate", answer, || format!("make event `{name}`"))?;
        Ok(Event {
            context,
            raw,
            id: EventId(context.identify(name)),
            name: name.to_owned(),
            timing,
            recorded: Cell::new(false),
            made_at: Location::caller(),
        })
    }

    /// The name that messages use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits on the host until the work that the event stands for is done (`cuEventSynchronize`).
    ///
    /// # Errors
    ///
    /// An error of work submitted earlier comes out here.
    #[track_caller]
    pub fn synchronize(&self) -> Result<(), Error> {
        // SAFETY: the event is alive.
        let answer = unsafe { cuda_driver::cuEventSynchronize(self.raw) };
        check("cuEventSynchronize", answer, || format!("wait for `{}`", self.name))?;
        self.context.note(|| Operation::SynchronizeEvent { event: self.id });
        Ok(())
    }

    /// Whether the work that the event stands for is done (`cuEventQuery`). Of an event that was never recorded it is.
    ///
    /// *Host*: returns at once. An answer of `true` orders like [`Event::synchronize`].
    ///
    /// # Errors
    ///
    /// An error of work submitted earlier comes out here.
    #[track_caller]
    pub fn query(&self) -> Result<bool, Error> {
        // SAFETY: the event is alive.
        let answer = unsafe { cuda_driver::cuEventQuery(self.raw) };
        let complete = check_query("cuEventQuery", answer, || format!("ask for `{}`", self.name))?;
        if complete {
            self.context.note(|| Operation::SynchronizeEvent { event: self.id });
        }
        Ok(complete)
    }

    /// Milliseconds of the card's time from `start` to `stop` (`cuEventElapsedTime`; resolution about half a
    /// microsecond).
    ///
    /// # Errors
    ///
    /// `CUDA_ERROR_INVALID_HANDLE` (400) when one of the two has no timestamp or was never recorded, or when they are of two
    /// contexts: the driver has one code for all of it, and the error says which it was. `CUDA_ERROR_NOT_READY` (600) before the work is done.
    #[track_caller]
    pub fn elapsed_ms(start: &Event<'_>, stop: &Event<'_>) -> Result<f32, Error> {
        let mut ms = 0.0;
        // SAFETY: both are alive, and `ms` is there to be written.
        let answer = unsafe { cuda_driver::cuEventElapsedTime(&mut ms, start.raw, stop.raw) };
        check("cuEventElapsedTime", answer, || {
            format!("read the time from `{}` to `{}`", start.name, stop.name)
        })
        .map_err(|error| error.or_detail(|code| why_no_time(code, start, stop)))?;
        start.context.note(|| Operation::Elapsed { start: start.id, stop: stop.id });
        Ok(ms)
    }

    /// What keeps it from having a time.
    fn faults(&self) -> impl Iterator<Item = String> {
        let untimed =
            (!self.timing).then(|| format!("`{}` was made for ordering and has no timestamp", self.name));
        let unrecorded = (!self.recorded.get()).then(|| format!("`{}` was never recorded", self.name));
        untimed.into_iter().chain(unrecorded)
    }

    pub(super) fn raw(&self) -> CUevent {
        self.raw
    }

    pub(super) fn id(&self) -> EventId {
        self.id
    }

    pub(super) fn mark_recorded(&self) {
        self.recorded.set(true);
    }
}

/// The driver's one code for several faults, told apart.
fn why_no_time(code: CuResult, start: &Event<'_>, stop: &Event<'_>) -> String {
    match code {
        CuResult::INVALID_HANDLE => {
            let other = (start.id != stop.id).then_some(stop);
            let faults: Vec<_> = start.faults().chain(other.into_iter().flat_map(Event::faults)).collect();
            match faults.is_empty() {
                true => format!("`{}` and `{}` are of two contexts", start.name, stop.name),
                false => faults.join(", "),
            }
        }
        CuResult::NOT_READY => {
            format!(
                "the work ahead of `{}` or `{}` is not done yet: wait for both first",
                start.name, stop.name
            )
        }
        _ => String::new(),
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `new`, destroyed once; waits that are still pending keep what they captured.
        let answer = unsafe { cuda_driver::cuEventDestroy_v2(self.raw) };
        self.context.note(|| Operation::DestroyEvent { event: self.id });
        self.context.park("cuEventDestroy", answer, &format!("event `{}`", self.name), self.made_at);
    }
}
