//! Contexts: what a process owns on the card, and which of them a thread works in.

use super::{Answer, Driver};
use crate::clock::{StreamId, StreamKind};
use cuda_driver::CuResult;
use std::collections::HashMap;
use std::thread::{self, ThreadId};

/// Contexts, by their handles, and the stack of them that each thread has.
#[derive(Debug, Default)]
pub struct Contexts {
    all: Vec<(usize, Context)>,
    count: u32,
    stacks: HashMap<ThreadId, Vec<usize>>,
    primary: Option<usize>,
    primary_users: u32,
    primary_flags: u32,
}

/// A context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Context {
    /// Its number on the card.
    pub number: u32,
    /// Its legacy default stream.
    pub legacy: StreamId,
    /// The flags that it was made with.
    pub flags: u32,
    /// Each thread's own default stream, for those that have used theirs.
    pub per_thread: Vec<(ThreadId, StreamId)>,
}

impl Contexts {
    fn find(&self, handle: usize) -> Option<&Context> {
        self.all.iter().find(|(other, _)| *other == handle).map(|(_, context)| context)
    }

    fn find_mut(&mut self, handle: usize) -> Option<&mut Context> {
        self.all.iter_mut().find(|(other, _)| *other == handle).map(|(_, context)| context)
    }

    fn stack(&mut self) -> &mut Vec<usize> {
        self.stacks.entry(thread::current().id()).or_default()
    }
}

impl Driver {
    /// The context that the calling thread works in.
    ///
    /// # Errors
    ///
    /// The sticky error of a lost card; `INVALID_CONTEXT` when there is none; `CONTEXT_IS_DESTROYED` when it is no more.
    pub(super) fn context(&mut self) -> Answer<Context> {
        self.need_init()?;
        let handle = self.current_context().ok_or(CuResult::INVALID_CONTEXT)?;
        let context = self.contexts.find(handle).cloned().ok_or(CuResult::CONTEXT_IS_DESTROYED)?;
        self.lost.map_or(Ok(context), Err)
    }

    /// `cuCtxGetCurrent`: the handle of the calling thread's context.
    pub fn current_context(&mut self) -> Option<usize> {
        self.contexts.stack().last().copied()
    }

    /// The same, where one is needed.
    pub(super) fn context_handle(&mut self) -> Answer<usize> {
        self.context()?;
        self.current_context().ok_or(CuResult::INVALID_CONTEXT)
    }

    /// `cuCtxSetCurrent`: replaces the calling thread's context; with none, leaves it.
    ///
    /// # Errors
    ///
    /// `INVALID_CONTEXT` for a handle that is none.
    pub fn set_current_context(&mut self, handle: Option<usize>) -> Answer<()> {
        self.need_init()?;
        if handle.is_some_and(|handle| self.contexts.find(handle).is_none()) {
            return Err(CuResult::INVALID_CONTEXT);
        }
        let stack = self.contexts.stack();
        stack.pop();
        stack.extend(handle);
        Ok(())
    }

    /// `cuCtxPushCurrent`.
    ///
    /// # Errors
    ///
    /// `INVALID_CONTEXT` for a handle that is none.
    pub fn push_context(&mut self, handle: usize) -> Answer<()> {
        self.need_init()?;
        self.contexts.find(handle).ok_or(CuResult::INVALID_CONTEXT)?;
        self.contexts.stack().push(handle);
        Ok(())
    }

    /// `cuCtxPopCurrent`.
    ///
    /// # Errors
    ///
    /// `INVALID_CONTEXT` when the thread has none.
    pub fn pop_context(&mut self) -> Answer<usize> {
        self.need_init()?;
        self.contexts.stack().pop().ok_or(CuResult::INVALID_CONTEXT)
    }

    fn make_context(&mut self, flags: u32) -> usize {
        let handle = self.names.give();
        let number = self.contexts.count;
        self.contexts.count += 1;
        let legacy = self.machine.add_stream(number, StreamKind::Legacy);
        let context = Context { number, legacy, flags, per_thread: Vec::new() };
        self.contexts.all.push((handle, context));
        handle
    }

    /// `cuCtxCreate`: makes a context and makes it current.
    ///
    /// # Errors
    ///
    /// `NOT_INITIALIZED`.
    pub fn create_context(&mut self, flags: u32) -> Answer<usize> {
        self.need_init()?;
        let handle = self.make_context(flags);
        self.contexts.stack().push(handle);
        Ok(handle)
    }

    /// `cuCtxDestroy`: destroys a context and all that it owns.
    ///
    /// # Errors
    ///
    /// `INVALID_CONTEXT` for a handle that is none, or the primary context's.
    pub fn destroy_context(&mut self, handle: usize) -> Answer<()> {
        self.need_init()?;
        if self.contexts.find(handle).is_none() || self.contexts.primary == Some(handle) {
            return Err(CuResult::INVALID_CONTEXT);
        }
        self.end_context(handle);
        let stack = self.contexts.stack();
        if stack.last() == Some(&handle) {
            stack.pop();
        }
        Ok(())
    }

    /// Frees all that a context owns; its pending work is finished first, unless the card is lost.
    fn end_context(&mut self, handle: usize) {
        if self.lost.is_none() {
            // A fault that comes out here has nobody left to be told.
            _ = self.wait_for_all();
        }
        for stream in self.streams.take_all(|stream| stream.context == handle) {
            self.machine.remove_stream(stream.id);
        }
        self.forget_graphs(handle);
        self.events.take_all(|event| event.context == handle);
        self.functions.take_all(|function| function.context == handle);
        for module in self.modules.take_all(|module| module.context == handle) {
            self.machine.unload(&module.program);
        }
        self.free_all(handle);
        if let Some(context) = self.contexts.find(handle) {
            self.machine.remove_stream(context.legacy);
            context.per_thread.iter().for_each(|&(_, stream)| self.machine.remove_stream(stream));
        }
        self.contexts.all.retain(|(other, _)| *other != handle);
        if self.contexts.all.is_empty() {
            self.lost = None;
        }
    }

    /// `cuDevicePrimaryCtxRetain`.
    ///
    /// # Errors
    ///
    /// `NOT_INITIALIZED`.
    pub fn retain_primary(&mut self) -> Answer<usize> {
        self.need_init()?;
        let handle = match self.contexts.primary {
            Some(handle) => handle,
            None => self.make_context(self.contexts.primary_flags),
        };
        self.contexts.primary = Some(handle);
        self.contexts.primary_users += 1;
        Ok(handle)
    }

    /// `cuDevicePrimaryCtxRelease`: the last user's release destroys it.
    ///
    /// # Errors
    ///
    /// `INVALID_CONTEXT` when nobody has retained it.
    pub fn release_primary(&mut self) -> Answer<()> {
        self.need_init()?;
        let users = self.contexts.primary_users.checked_sub(1).ok_or(CuResult::INVALID_CONTEXT)?;
        match users {
            0 => self.reset_primary(),
            _ => {
                self.contexts.primary_users = users;
                Ok(())
            }
        }
    }

    /// `cuDevicePrimaryCtxReset`: destroys it, whoever uses it.
    ///
    /// # Errors
    ///
    /// `NOT_INITIALIZED`.
    pub fn reset_primary(&mut self) -> Answer<()> {
        self.need_init()?;
        if let Some(handle) = self.contexts.primary.take() {
            self.end_context(handle);
        }
        self.contexts.primary_users = 0;
        Ok(())
    }

    /// `cuDevicePrimaryCtxGetState`: its flags, and whether it is active.
    ///
    /// # Errors
    ///
    /// `NOT_INITIALIZED`.
    pub fn primary_state(&self) -> Answer<(u32, bool)> {
        self.need_init()?;
        Ok((self.contexts.primary_flags, self.contexts.primary.is_some()))
    }

    /// `cuDevicePrimaryCtxSetFlags`.
    ///
    /// # Errors
    ///
    /// `INVALID_VALUE` for flags that are none.
    pub fn set_primary_flags(&mut self, flags: u32) -> Answer<()> {
        self.need_init()?;
        if flags & !0x1f != 0 {
            return Err(CuResult::INVALID_VALUE);
        }
        self.contexts.primary_flags = flags;
        Ok(())
    }

    /// `cuCtxSynchronize`.
    ///
    /// # Errors
    ///
    /// The error of a kernel.
    pub fn synchronize(&mut self) -> Answer<()> {
        self.refuse_captured_context()?;
        self.wait_for_all()
    }

    /// The calling thread's own default stream in its context.
    pub(super) fn per_thread_stream(&mut self) -> Answer<StreamId> {
        let context = self.context()?;
        let thread = thread::current().id();
        if let Some(&(_, stream)) = context.per_thread.iter().find(|(other, _)| *other == thread) {
            return Ok(stream);
        }
        let handle = self.context_handle()?;
        let stream = self.machine.add_stream(context.number, StreamKind::Blocking);
        let context = self.contexts.find_mut(handle).ok_or(CuResult::INVALID_CONTEXT)?;
        context.per_thread.push((thread, stream));
        Ok(stream)
    }
}
