//! Events: a snapshot of the work in a stream, for ordering or for timing, not both.

use std::cell::Cell;
use std::panic::Location;

use cuda_driver::{CUeventFlags, CuResult};
use stream_order::program::{Action, EventId};

use crate::context::Context;
use crate::error::{Doing, Error};
use crate::floor::{self, RawEvent};

/// An event. Before its first record it captures no work, and every wait for it returns at once.
#[derive(Debug)]
pub struct Event<'c> {
    context: &'c Context,
    raw: RawEvent,
    id: EventId,
    name: String,
    timing: bool,
    recorded: Cell<bool>,
    made_at: &'static Location<'static>,
}

impl<'c> Event<'c> {
    /// Makes an event without a timestamp (`CU_EVENT_DISABLE_TIMING`): the fast kind for [`Stream::wait`](crate::Stream::wait).
    /// `name` is what messages call it.
    ///
    /// # Errors
    ///
    /// Any error of `cuEventCreate`.
    #[track_caller]
    pub fn ordering(context: &'c Context, name: &str) -> Result<Self, Error> {
        Event::new(context, name, false)
    }

    /// Makes an event with a timestamp, for [`Event::elapsed_ms`].
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
        context.bind()?;
        let flags = if timing { CUeventFlags::DEFAULT } else { CUeventFlags::DISABLE_TIMING };
        let raw = floor::event_create(flags.0).doing(|| format!("make event `{name}`"))?;
        let id = context.identify_event(name);
        let (recorded, made_at) = (Cell::new(false), Location::caller());
        Ok(Event { context, raw, id, name: name.to_owned(), timing, recorded, made_at })
    }

    /// Returns the name that messages use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits on the host until the work that the event captured is done (`cuEventSynchronize`).
    ///
    /// # Errors
    ///
    /// An error of work submitted earlier comes out here.
    #[track_caller]
    pub fn synchronize(&self) -> Result<(), Error> {
        self.context.bind()?;
        floor::event_synchronize(&self.raw).doing(|| format!("wait for `{}`", self.name))?;
        self.context.note(|| Action::SynchronizeEvent { event: self.id });
        Ok(())
    }

    /// Returns whether the work that the event captured is done (`cuEventQuery`). An event that was never recorded counts as
    /// done.
    ///
    /// *Host*: returns at once. `true` orders like [`Event::synchronize`].
    ///
    /// # Errors
    ///
    /// An error of work submitted earlier comes out here.
    #[track_caller]
    pub fn query(&self) -> Result<bool, Error> {
        self.context.bind()?;
        let complete = floor::event_query(&self.raw).asking(|| format!("ask for `{}`", self.name))?;
        if complete {
            self.context.note(|| Action::SynchronizeEvent { event: self.id });
        }
        Ok(complete)
    }

    /// Returns the milliseconds of device time from `start` to `stop` (`cuEventElapsedTime`; resolution about half a
    /// microsecond).
    ///
    /// # Errors
    ///
    /// `CUDA_ERROR_INVALID_HANDLE` (400) when one of the two has no timestamp or was never recorded: the driver has one code for
    /// both, and the error says which it was. [`Error::OtherContext`] when they are of two contexts.
    /// `CUDA_ERROR_NOT_READY` (600) before the work is done.
    #[track_caller]
    pub fn elapsed_ms(start: &Event<'_>, stop: &Event<'_>) -> Result<f32, Error> {
        let what = || format!("read the time from `{}` to `{}`", start.name, stop.name);
        start.context.expect_own(stop.id.0, || stop.name.clone(), what)?;
        start.context.bind()?;
        let ms = floor::event_elapsed_ms(&start.raw, &stop.raw)
            .doing(what)
            .map_err(|error| error.or_detail(|code| why_no_time(code, start, stop)))?;
        // Nobody said whether the time is meant to hold the work of other streams too.
        let of_all_work = false;
        start.context.note(|| Action::Elapsed { start: start.id, stop: stop.id, of_all_work });
        Ok(ms)
    }

    /// Says what keeps it from having a time.
    fn faults(&self) -> impl Iterator<Item = String> {
        let untimed = (!self.timing).then(|| {
            format!("`{}` was created with CU_EVENT_DISABLE_TIMING and has no timestamp", self.name)
        });
        let unrecorded = (!self.recorded.get()).then(|| format!("`{}` was never recorded", self.name));
        untimed.into_iter().chain(unrecorded)
    }

    pub(crate) fn raw(&self) -> &RawEvent {
        &self.raw
    }

    pub(crate) fn id(&self) -> EventId {
        self.id
    }

    pub(crate) fn mark_recorded(&self) {
        self.recorded.set(true);
    }
}

/// Tells the faults apart that the driver has one code for.
fn why_no_time(code: CuResult, start: &Event<'_>, stop: &Event<'_>) -> String {
    match code {
        CuResult::INVALID_HANDLE => {
            let other = (start.id != stop.id).then_some(stop);
            let faults: Vec<_> = start.faults().chain(other.into_iter().flat_map(Event::faults)).collect();
            faults.join(", ")
        }
        CuResult::NOT_READY => {
            format!(
                "the work before `{}` or `{}` is not done yet: wait for both first",
                start.name, stop.name
            )
        }
        _ => String::new(),
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        _ = self.context.bind();
        let answer = floor::event_destroy(&mut self.raw);
        self.context.note(|| Action::DestroyEvent { event: self.id });
        self.context.park(answer, &format!("event `{}`", self.name), self.made_at);
    }
}
