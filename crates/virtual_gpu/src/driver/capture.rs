//! Stream capture: what is put into a capturing stream becomes a node of a graph, and does not run.
//!
//! A capture begins in one stream and spreads to every stream that waits for an event of it. In each of them the next node
//! comes after what the stream stands for: the node before it, and what the events stood for that it waited for. An event that
//! was recorded where nothing stood stands for nothing here as well. What may not be done meanwhile spoils the capture, which
//! then can only be ended.
//!
//! The codes are those of an H200 (driver 580.159), each of which was asked for.

use super::graph::{Graph, Node, Task};
use super::stream::Stream;
use super::{Answer, Driver};
use crate::clock::StreamId;
use cuda_driver::{CUstreamCaptureMode as Mode, CUstreamCaptureStatus as Status, CUstreamFlags, CuResult};
use std::collections::{BTreeMap, BTreeSet};
use std::thread::{self, ThreadId};

/// Nodes of a capture, by their places in its graph.
type Nodes = BTreeSet<usize>;

/// The captures that are under way.
#[derive(Default)]
pub struct Captures {
    begun: u64,
    all: BTreeMap<u64, Capture>,
    members: BTreeMap<StreamId, Member>,
    /// Events whose latest record was captured, with what they stand for. The capture may be over.
    events: BTreeMap<usize, (u64, Nodes)>,
}

struct Capture {
    origin: StreamId,
    mode: Mode,
    thread: ThreadId,
    is_spoilt: bool,
    graph: Graph,
    /// The last nodes of streams that were destroyed.
    left: Nodes,
}

/// A stream of a capture.
struct Member {
    capture: u64,
    context: usize,
    is_blocking: bool,
    /// What the next node comes after.
    last: Nodes,
}

impl Captures {
    fn spoil(&mut self, capture: u64) {
        if let Some(capture) = self.all.get_mut(&capture) {
            capture.is_spoilt = true;
        }
    }

    fn is_spoilt(&self, capture: u64) -> bool {
        self.all.get(&capture).is_some_and(|capture| capture.is_spoilt)
    }

    fn remove(&mut self, id: u64) -> Option<Capture> {
        self.members.retain(|_, member| member.capture != id);
        self.all.remove(&id)
    }

    /// Forgets an event.
    pub fn forget_event(&mut self, event: usize) {
        self.events.remove(&event);
    }

    /// Forgets a stream, and the capture that began in it.
    pub fn forget_stream(&mut self, stream: StreamId) {
        let Some(member) = self.members.remove(&stream) else { return };
        match self.all.get_mut(&member.capture) {
            Some(capture) if capture.origin == stream => _ = self.remove(member.capture),
            Some(capture) => capture.left.extend(member.last),
            None => {}
        }
    }

    /// Forgets all captures of a context.
    pub fn forget_context(&mut self, context: usize) {
        let goes: Vec<u64> =
            self.all.iter().filter(|(_, one)| one.graph.context == context).map(|(&id, _)| id).collect();
        for id in goes {
            self.remove(id);
        }
    }
}

impl Driver {
    /// `cuStreamBeginCapture`.
    ///
    /// # Errors
    ///
    /// `STREAM_CAPTURE_UNSUPPORTED` for the legacy stream, `ILLEGAL_STATE` for a stream that is captured already,
    /// `INVALID_VALUE` for a mode that there is not.
    pub fn begin_capture(&mut self, stream: usize, mode: Mode) -> Answer<()> {
        let stream = self.stream(stream)?;
        if stream.id == self.context()?.legacy {
            return Err(CuResult::STREAM_CAPTURE_UNSUPPORTED);
        }
        if self.captures.members.contains_key(&stream.id) {
            return Err(CuResult::ILLEGAL_STATE);
        }
        if ![Mode::GLOBAL, Mode::THREAD_LOCAL, Mode::RELAXED].contains(&mode) {
            return Err(CuResult::INVALID_VALUE);
        }
        let id = self.captures.begun;
        self.captures.begun += 1;
        let capture = Capture {
            origin: stream.id,
            mode,
            thread: thread::current().id(),
            is_spoilt: false,
            graph: Graph { context: stream.context, nodes: Vec::new() },
            left: Nodes::new(),
        };
        self.captures.all.insert(id, capture);
        self.join(stream, id, Nodes::new());
        self.spend(self.card().host.handle_ns)
    }

    fn join(&mut self, stream: Stream, capture: u64, last: Nodes) {
        let is_blocking = stream.flags == CUstreamFlags::BLOCKING.0;
        let member = Member { capture, context: stream.context, is_blocking, last };
        self.captures.members.insert(stream.id, member);
    }

    /// `cuStreamEndCapture`: the graph's handle.
    ///
    /// # Errors
    ///
    /// `ILLEGAL_STATE` for a stream that is not captured, `STREAM_CAPTURE_UNMATCHED` for one in which the capture did not
    /// begin, `STREAM_CAPTURE_INVALIDATED` when it was spoilt, `STREAM_CAPTURE_WRONG_THREAD`, `STREAM_CAPTURE_UNJOINED` when
    /// the work of a stream does not lead back to this one.
    pub fn end_capture(&mut self, stream: usize) -> Answer<usize> {
        let stream = self.stream(stream)?;
        let id = self.captures.members.get(&stream.id).ok_or(CuResult::ILLEGAL_STATE)?.capture;
        let capture = self.captures.all.get(&id).ok_or(CuResult::ILLEGAL_STATE)?;
        if capture.origin != stream.id {
            self.captures.spoil(id);
            return Err(CuResult::STREAM_CAPTURE_UNMATCHED);
        }
        if capture.is_spoilt {
            self.captures.remove(id);
            return Err(CuResult::STREAM_CAPTURE_INVALIDATED);
        }
        if capture.mode != Mode::RELAXED && capture.thread != thread::current().id() {
            self.captures.remove(id);
            return Err(CuResult::STREAM_CAPTURE_WRONG_THREAD);
        }
        let joined = capture.graph.up_to(&self.captures.members[&stream.id].last);
        let members = self.captures.members.values().filter(|member| member.capture == id);
        let mut ends = members.flat_map(|member| &member.last).chain(&capture.left);
        let all_joined = ends.all(|node| joined.contains(node));
        let capture = self.captures.remove(id).ok_or(CuResult::ILLEGAL_STATE)?;
        if !all_joined {
            return Err(CuResult::STREAM_CAPTURE_UNJOINED);
        }
        let handle = self.names.give();
        self.graphs.put(handle, capture.graph);
        self.spend(self.card().host.handle_ns)?;
        Ok(handle)
    }

    /// `cuStreamIsCapturing`.
    ///
    /// # Errors
    ///
    /// `STREAM_CAPTURE_IMPLICIT` for the legacy stream while a blocking one is captured.
    pub fn capture_status(&mut self, stream: usize) -> Answer<Status> {
        let stream = self.stream(stream)?;
        if !self.captured_behind(stream)?.is_empty() {
            return Err(CuResult::STREAM_CAPTURE_IMPLICIT);
        }
        Ok(match self.captures.members.get(&stream.id) {
            None => Status::NONE,
            Some(member) if self.captures.is_spoilt(member.capture) => Status::INVALIDATED,
            Some(_) => Status::ACTIVE,
        })
    }

    /// The captures that work in this stream would have to wait for: those of blocking streams, if it is the legacy one.
    fn captured_behind(&mut self, stream: Stream) -> Answer<Vec<u64>> {
        if stream.id != self.context()?.legacy {
            return Ok(Vec::new());
        }
        let blocking =
            self.captures.members.values().filter(|one| one.is_blocking && one.context == stream.context);
        Ok(blocking.map(|member| member.capture).collect())
    }

    /// The capture that something which is put into the stream becomes part of.
    ///
    /// # Errors
    ///
    /// `STREAM_CAPTURE_INVALIDATED` when it was spoilt; `STREAM_CAPTURE_IMPLICIT` for the legacy stream while a blocking one
    /// is captured, which spoils that capture.
    pub(super) fn captured(&mut self, stream: Stream) -> Answer<Option<u64>> {
        let behind = self.captured_behind(stream)?;
        if !behind.is_empty() {
            behind.into_iter().for_each(|capture| self.captures.spoil(capture));
            return Err(CuResult::STREAM_CAPTURE_IMPLICIT);
        }
        match self.captures.members.get(&stream.id).map(|member| member.capture) {
            Some(capture) if self.captures.is_spoilt(capture) => Err(CuResult::STREAM_CAPTURE_INVALIDATED),
            capture => Ok(capture),
        }
    }

    /// Notes work of a captured stream as a node.
    pub(super) fn note(&mut self, stream: Stream, task: Task) -> Answer<()> {
        let handle = self.names.give();
        let Captures { all, members, .. } = &mut self.captures;
        let member = members.get_mut(&stream.id).ok_or(CuResult::ILLEGAL_STATE)?;
        let nodes = &mut all.get_mut(&member.capture).ok_or(CuResult::ILLEGAL_STATE)?.graph.nodes;
        let after = std::mem::replace(&mut member.last, Nodes::from([nodes.len()]));
        nodes.push(Node { handle, task, after });
        self.spend(self.card().host.query_ns)
    }

    /// Notes a record in a captured stream.
    pub(super) fn note_record(&mut self, event: usize, stream: Stream, capture: u64) {
        let last = self.captures.members.get(&stream.id).map(|member| member.last.clone());
        self.captures.events.insert(event, (capture, last.unwrap_or_default()));
    }

    /// What a wait of the stream has to do with captures: whether it is one for them and over with.
    ///
    /// # Errors
    ///
    /// `STREAM_CAPTURE_ISOLATION` for a captured stream and an event of outside, `STREAM_CAPTURE_MERGE` for an event of
    /// another capture, `INVALID_VALUE` for one of a capture that has ended or was spoilt; each spoils what it is about. An event that was
    /// never recorded stands for nothing.
    pub(super) fn note_wait(&mut self, stream: Stream, event: usize, is_recorded: bool) -> Answer<bool> {
        let own = self.captured(stream)?;
        let of_event = self.captures.events.get(&event).cloned();
        match (own, of_event) {
            (None, None) => Ok(false),
            (Some(_), None) if !is_recorded => Ok(true),
            (Some(own), None) => {
                self.captures.spoil(own);
                Err(CuResult::STREAM_CAPTURE_ISOLATION)
            }
            (own, Some((of_event, _))) if !self.captures.all.contains_key(&of_event) => {
                own.into_iter().for_each(|own| self.captures.spoil(own));
                Err(CuResult::INVALID_VALUE)
            }
            (_, Some((of_event, _))) if self.captures.is_spoilt(of_event) => Err(CuResult::INVALID_VALUE),
            (Some(own), Some((of_event, _))) if own != of_event => {
                [own, of_event].into_iter().for_each(|capture| self.captures.spoil(capture));
                Err(CuResult::STREAM_CAPTURE_MERGE)
            }
            (None, Some((of_event, _))) if stream.id == self.context()?.legacy => {
                self.captures.spoil(of_event);
                Err(CuResult::STREAM_CAPTURE_IMPLICIT)
            }
            (None, Some((of_event, nodes))) => {
                self.join(stream, of_event, nodes);
                Ok(true)
            }
            (Some(_), Some((_, nodes))) => {
                if let Some(member) = self.captures.members.get_mut(&stream.id) {
                    member.last.extend(nodes);
                }
                Ok(true)
            }
        }
    }

    /// Refuses to wait for a stream, or to ask about it: of a captured one always, of others where the mode forbids it.
    ///
    /// # Errors
    ///
    /// `STREAM_CAPTURE_UNSUPPORTED`; `STREAM_CAPTURE_IMPLICIT` for the legacy stream while a blocking one is captured. The
    /// capture is spoilt.
    pub(super) fn refuse_waiting(&mut self, stream: Stream) -> Answer<()> {
        match self.captured(stream) {
            Ok(None) => self.refuse_in_capture(),
            Err(CuResult::STREAM_CAPTURE_IMPLICIT) => Err(CuResult::STREAM_CAPTURE_IMPLICIT),
            Err(CuResult::STREAM_CAPTURE_INVALIDATED) => Err(CuResult::STREAM_CAPTURE_UNSUPPORTED),
            Ok(Some(capture)) => {
                self.captures.spoil(capture);
                Err(CuResult::STREAM_CAPTURE_UNSUPPORTED)
            }
            Err(other) => Err(other),
        }
    }

    /// Refuses what asks about a captured event; `spoils` when it waits, too.
    ///
    /// # Errors
    ///
    /// `CAPTURED_EVENT` during the capture, `INVALID_VALUE` after it.
    pub(super) fn refuse_captured_event(&mut self, event: usize, spoils: bool) -> Answer<()> {
        match self.captures.events.get(&event).map(|(capture, _)| *capture) {
            None => Ok(()),
            Some(capture) if self.captures.all.contains_key(&capture) => {
                if spoils {
                    self.captures.spoil(capture);
                }
                Err(CuResult::CAPTURED_EVENT)
            }
            Some(_) => Err(CuResult::INVALID_VALUE),
        }
    }

    /// Refuses what the mode of a capture under way does not allow: to allocate, to free, to ask for events, to wait for the
    /// context.
    ///
    /// # Errors
    ///
    /// `STREAM_CAPTURE_UNSUPPORTED`, and the captures that forbid it are spoilt.
    pub(super) fn refuse_in_capture(&mut self) -> Answer<()> {
        let this = thread::current().id();
        let mut refused = false;
        for capture in self.captures.all.values_mut() {
            let forbids = match capture.mode {
                Mode::GLOBAL => true,
                Mode::THREAD_LOCAL => capture.thread == this,
                _ => false,
            };
            capture.is_spoilt |= forbids;
            refused |= forbids;
        }
        if refused { Err(CuResult::STREAM_CAPTURE_UNSUPPORTED) } else { Ok(()) }
    }

    /// Refuses to wait for the context while a stream of it is captured, whatever the mode.
    ///
    /// # Errors
    ///
    /// `STREAM_CAPTURE_UNSUPPORTED`, and the captures are spoilt.
    pub(super) fn refuse_captured_context(&mut self) -> Answer<()> {
        let context = self.context_handle()?;
        let mut refused = false;
        for capture in self.captures.all.values_mut().filter(|one| one.graph.context == context) {
            capture.is_spoilt = true;
            refused = true;
        }
        if refused { Err(CuResult::STREAM_CAPTURE_UNSUPPORTED) } else { Ok(()) }
    }
}
