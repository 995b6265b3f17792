//! Which operation waits for which. A stream is no more than the operation that was last put into it: everything that the
//! rules of streams, events and the legacy default stream order is an edge between two operations, drawn when the second
//! is submitted.
//!
//! - A stream is a queue: an operation waits for the one before it in its stream.
//! - The legacy default stream and the blocking streams of its context wait for each other, both ways. A non-blocking
//!   stream has no edges with it.
//! - An event is the operation that recorded it last, as of the call that waits: a later record changes nothing, and one
//!   that was never recorded is no operation, so there is nothing to wait for.
//! - A kernel may be allowed to start once the kernel before it in its stream lets it (programmatic dependent launch).
//!   It is complete only after that one, so that what follows it follows both. A mark between the two, which is no work,
//!   does not keep them apart: the second waits for what the mark waits for, and not for the first to be complete.

use super::time::Picos;
use std::collections::BTreeMap;

/// An operation, in the order of submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpId(u64);

/// A stream. Identities are never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(u64);

/// What a stream is ordered with beside itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// With the legacy default stream of its context.
    Blocking,
    /// With nothing.
    NonBlocking,
    /// The legacy default stream itself.
    Legacy,
}

/// Streams, and the operations in them that are not complete.
#[derive(Debug, Default)]
pub struct Order {
    streams: BTreeMap<StreamId, Stream>,
    next_stream: u64,
    pending: BTreeMap<OpId, Pending>,
    /// When each operation was complete, by its number; `NOT_YET` before.
    complete_at: Vec<Picos>,
    cross_stream: Picos,
}

const NOT_YET: Picos = Picos::MAX;

#[derive(Debug)]
struct Stream {
    context: u32,
    kind: StreamKind,
    last: Option<OpId>,
    destroyed: bool,
}

#[derive(Debug)]
struct Pending {
    kind: OpKind,
    /// The operation before it in its stream.
    previous: Option<OpId>,
    /// The operations that it waits for, complete or not.
    needs: Vec<OpId>,
    /// How many of them are not complete, and one more while it is held back.
    waits: usize,
    held: bool,
    ready_at: Picos,
    followers: Vec<(OpId, Picos)>,
    /// The kernel that lets this one start early.
    primary: Option<OpId>,
    /// The kernel that this one lets start early.
    secondary: Option<OpId>,
    /// Whether it has done so, or would.
    lets_start: bool,
}

/// An operation whose turn has come, and when.
pub type Ready = (OpId, Picos);

impl Order {
    /// No streams. Waiting for another stream takes `cross_stream` beyond the end of what is waited for.
    pub fn new(cross_stream: Picos) -> Self {
        Order { cross_stream, ..Order::default() }
    }

    /// Makes a stream of a context.
    pub fn add_stream(&mut self, context: u32, kind: StreamKind) -> StreamId {
        let id = StreamId(self.next_stream);
        self.next_stream += 1;
        self.streams.insert(id, Stream { context, kind, last: None, destroyed: false });
        id
    }

    /// Forgets a stream. What is in it stays in order, and the legacy stream keeps waiting for it.
    pub fn remove_stream(&mut self, id: StreamId) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.destroyed = true;
        }
        let complete_at = &self.complete_at;
        let is_complete = |op: OpId| complete_at[op.0 as usize] != NOT_YET;
        self.streams.retain(|_, stream| !stream.destroyed || !stream.last.is_none_or(is_complete));
    }

    /// The operation that was last put into the stream.
    pub fn last(&self, stream: StreamId) -> Option<OpId> {
        self.streams.get(&stream)?.last
    }

    /// Puts an operation into a stream; it reaches the card at `arrival`. `after` are operations that it waits for beside
    /// those that its stream implies. With `early` it may start when the kernel before it in its stream lets it. `held`:
    /// not before [`Order::release`].
    pub fn submit(
        &mut self,
        stream: StreamId,
        arrival: Picos,
        after: &[OpId],
        kind: OpKind,
        held: bool,
    ) -> (OpId, Option<Ready>) {
        let id = OpId(self.complete_at.len() as u64);
        self.complete_at.push(NOT_YET);
        let previous = self.last(stream);
        let early = previous.filter(|_| kind == OpKind::EarlyKernel);
        let (primary, marks_need) = early.and_then(|previous| self.primary_behind(previous)).unzip();
        let mut needs: Vec<OpId> = previous.into_iter().chain(after.iter().copied()).collect();
        needs.extend(marks_need.into_iter().flatten());
        needs.extend(self.legacy_edges(stream));
        let mut pending = Pending {
            kind,
            previous,
            needs: Vec::new(),
            waits: usize::from(held),
            held,
            ready_at: arrival,
            followers: Vec::new(),
            primary,
            secondary: None,
            lets_start: false,
        };
        if let Some(first) = primary.and_then(|primary| self.pending.get_mut(&primary)) {
            first.secondary = Some(id);
            pending.waits += usize::from(!first.lets_start);
        }
        for &need in &needs {
            let ends_elsewhere = Some(need) != previous;
            if primary.is_some() && !ends_elsewhere {
                continue;
            }
            let delay = if ends_elsewhere { self.cross_stream } else { 0 };
            match self.pending.get_mut(&need) {
                Some(first) => {
                    first.followers.push((id, delay));
                    pending.waits += 1;
                }
                None => pending.ready_at = pending.ready_at.max(self.complete_at[need.0 as usize] + delay),
            }
        }
        pending.needs = needs;
        let ready = (pending.waits == 0).then_some((id, pending.ready_at));
        self.pending.insert(id, pending);
        if let Some(stream) = self.streams.get_mut(&stream) {
            stream.last = Some(id);
        }
        (id, ready)
    }

    /// The kernel that one behind `op` may start early after, and what the marks between the two wait for beside it.
    fn primary_behind(&self, mut op: OpId) -> Option<(OpId, Vec<OpId>)> {
        let mut marks_need = Vec::new();
        loop {
            let Pending { kind, previous, needs, .. } = self.pending.get(&op)?;
            match kind {
                OpKind::Kernel | OpKind::EarlyKernel => return Some((op, marks_need)),
                OpKind::Mark => marks_need.extend(needs.iter().filter(|&need| Some(*need) != *previous)),
                OpKind::Other => return None,
            }
            op = (*previous)?;
        }
    }

    /// What the rule of the legacy default stream adds: it waits for every blocking stream of its context, and they for it.
    fn legacy_edges(&self, stream: StreamId) -> Vec<OpId> {
        let Some(&Stream { context, kind, .. }) = self.streams.get(&stream) else { return Vec::new() };
        let partner = match kind {
            StreamKind::Blocking => StreamKind::Legacy,
            StreamKind::Legacy => StreamKind::Blocking,
            StreamKind::NonBlocking => return Vec::new(),
        };
        let partners =
            self.streams.values().filter(|other| other.context == context && other.kind == partner);
        partners.filter_map(|other| other.last).filter(|&last| !self.is_complete(last)).collect()
    }

    /// Lets an operation that was held back go, not before `now`.
    pub fn release(&mut self, op: OpId, now: Picos) -> Option<Ready> {
        let pending = self.pending.get_mut(&op).filter(|pending| pending.held)?;
        pending.held = false;
        pending.ready_at = pending.ready_at.max(now);
        pending.waits -= 1;
        (pending.waits == 0).then_some((op, pending.ready_at))
    }

    /// Whether the operation is complete.
    pub fn is_complete(&self, op: OpId) -> bool {
        self.complete_at(op).is_some()
    }

    /// When the operation was complete.
    pub fn complete_at(&self, op: OpId) -> Option<Picos> {
        self.complete_at.get(op.0 as usize).copied().filter(|&at| at != NOT_YET)
    }

    /// The kernel that let this one start early, while that one is not complete.
    pub fn primary(&self, op: OpId) -> Option<OpId> {
        self.pending.get(&op)?.primary.filter(|&primary| !self.is_complete(primary))
    }

    /// The kernel that this one lets start early, or would.
    pub fn secondary(&self, op: OpId) -> Option<OpId> {
        self.pending.get(&op)?.secondary
    }

    /// Lets the kernel after this one start, if it may start early; one that is submitted later may start at once.
    pub fn let_secondary_start(&mut self, primary: OpId, now: Picos) -> Option<Ready> {
        let pending = self.pending.get_mut(&primary).filter(|pending| !pending.lets_start)?;
        pending.lets_start = true;
        let secondary = pending.secondary?;
        self.satisfy(secondary, now)
    }

    /// Notes that an operation is complete, and returns what can now start.
    pub fn complete(&mut self, op: OpId, now: Picos) -> Vec<Ready> {
        self.complete_at[op.0 as usize] = now;
        let Some(pending) = self.pending.remove(&op) else { return Vec::new() };
        let early = pending.secondary.filter(|_| !pending.lets_start).map(|secondary| (secondary, 0));
        let followers = pending.followers.into_iter().chain(early);
        followers.filter_map(|(follower, delay)| self.satisfy(follower, now + delay)).collect()
    }

    fn satisfy(&mut self, op: OpId, at: Picos) -> Option<Ready> {
        let pending = self.pending.get_mut(&op)?;
        pending.ready_at = pending.ready_at.max(at);
        pending.waits -= 1;
        (pending.waits == 0).then_some((op, pending.ready_at))
    }

    /// Every operation that must be complete for `op` to be, `op` last, each after those that it waits for.
    pub fn needed_for(&self, op: OpId) -> Vec<OpId> {
        let mut needed = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        let mut path = vec![(op, false)];
        while let Some((op, its_needs_are_in)) = path.pop() {
            if its_needs_are_in {
                needed.push(op);
            } else if let Some(pending) = self.pending.get(&op).filter(|_| seen.insert(op)) {
                path.push((op, true));
                path.extend(pending.needs.iter().map(|&need| (need, false)));
            }
        }
        needed
    }

    /// Of the operations that are not complete, the one that was submitted last.
    pub fn last_pending(&self) -> Option<OpId> {
        self.pending.last_key_value().map(|(&op, _)| op)
    }

    /// Gives all operations up, as if they were complete.
    pub fn abandon(&mut self, now: Picos) {
        for op in std::mem::take(&mut self.pending).into_keys() {
            self.complete_at[op.0 as usize] = now;
        }
    }
}

/// What an operation is, as far as order goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// A copy, a fill, a record or a wait that is no mark.
    Other,
    /// A record or a wait that does not keep a kernel behind it from starting early.
    Mark,
    /// A kernel.
    Kernel,
    /// A kernel that may start when the kernel before it in its stream lets it.
    EarlyKernel,
}

#[cfg(test)]
mod tests;
