//! Graphs: what a stream, and those that follow it, were given while they were captured, to be launched again and again.

use std::cell::RefCell;
use std::collections::HashSet;
use std::panic::Location;
use std::ptr;

use cuda_driver::{CUgraph, CUgraphExec, CUgraphNode, CUgraphNodeType, CUstreamCaptureMode, CuResult};

use super::error::{check, failure};
use super::trace::Tracer;
use super::{Context, Error, Stream};

/// A graph, as it was captured.
pub struct Graph<'c> {
    context: &'c Context,
    raw: CUgraph,
    /// What its nodes use.
    memory: Vec<u64>,
    made_at: &'static Location<'static>,
}

/// A graph that can be launched. Destroying it lets a launch that is under way finish.
pub struct Executable<'c> {
    context: &'c Context,
    raw: CUgraphExec,
    memory: Vec<u64>,
    made_at: &'static Location<'static>,
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// Runs a kernel.
    Kernel,
    /// Copies.
    Copy,
    /// Fills memory.
    Fill,
    /// Anything else.
    Other,
}

/// Nodes, and edges between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The nodes in the driver's order, which for what was captured is that of the calls.
    pub nodes: Vec<Node>,
    /// Of each edge the node before and the node after, by their places.
    pub edges: Vec<(usize, usize)>,
}

impl<'c> Stream<'c> {
    /// Captures what `submit` puts into this stream, and into those that come to wait for events of it
    /// (`cuStreamBeginCapture`, `cuStreamEndCapture`). Nothing of it runs. The log notes it as if it did.
    ///
    /// # Errors
    ///
    /// The submission's own. `CUDA_ERROR_STREAM_CAPTURE_UNJOINED` (904) when the work of a stream does not lead back to this
    /// one. Codes from 900 to 906 for what may not be done in a capture: to wait for the card, to allocate, to use the legacy
    /// default stream beside blocking ones.
    #[track_caller]
    pub fn capture(&self, submit: impl FnOnce() -> Result<(), Error>) -> Result<Graph<'c>, Error> {
        // SAFETY: the stream is alive.
        let answer = unsafe { cuda_driver::cuStreamBeginCapture_v2(self.raw(), CUstreamCaptureMode::GLOBAL) };
        check("cuStreamBeginCapture", answer, || format!("capture `{}`", self.name()))?;
        let (submitted, memory) = self.context().noting_memory(submit);
        let mut graph =
            Graph { context: self.context(), raw: CUgraph::NULL, memory, made_at: Location::caller() };
        // SAFETY: the stream is alive, and the graph is there to be written.
        let answer = unsafe { cuda_driver::cuStreamEndCapture(self.raw(), &mut graph.raw) };
        // What went wrong first says more than that the capture was spoilt by it.
        submitted?;
        check("cuStreamEndCapture", answer, || format!("end the capture of `{}`", self.name()))?;
        Ok(graph)
    }

    /// Launches a graph (`cuGraphLaunch`). The log does not note it.
    ///
    /// *Host*: returns when the launch is queued. *Device*: ordered in this stream as one operation, and after the launch of
    /// the same graph before it.
    ///
    /// # Errors
    ///
    /// [`Error::Released`] when memory that the graph uses is no more; any error of the call, or of earlier work.
    #[track_caller]
    pub fn launch_graph(&self, graph: &Executable<'_>) -> Result<(), Error> {
        self.context().still_has(&graph.memory)?;
        // SAFETY: both are alive; the memory that the nodes use is, and releasing it waits for the card.
        let answer = unsafe { cuda_driver::cuGraphLaunch(graph.raw, self.raw()) };
        check("cuGraphLaunch", answer, || format!("launch a graph on `{}`", self.name()))
    }
}

impl<'c> Graph<'c> {
    /// Its nodes and edges (`cuGraphGetNodes`, `cuGraphGetEdges`).
    ///
    /// # Errors
    ///
    /// Any error of the calls.
    #[track_caller]
    pub fn shape(&self) -> Result<Shape, Error> {
        let what = || "look at a graph".to_owned();
        let mut count = 0;
        // SAFETY: the graph is alive, and without room for nodes only the count is written.
        let answer = unsafe { cuda_driver::cuGraphGetNodes(self.raw, ptr::null_mut(), &mut count) };
        check("cuGraphGetNodes", answer, what)?;
        let mut nodes = vec![CUgraphNode::NULL; count];
        if count > 0 {
            // SAFETY: as above; there is room for as many as the count says.
            let answer = unsafe { cuda_driver::cuGraphGetNodes(self.raw, nodes.as_mut_ptr(), &mut count) };
            check("cuGraphGetNodes", answer, what)?;
        }
        // SAFETY: as above.
        let answer =
            unsafe { cuda_driver::cuGraphGetEdges(self.raw, ptr::null_mut(), ptr::null_mut(), &mut count) };
        check("cuGraphGetEdges", answer, what)?;
        let (mut from, mut to) = (vec![CUgraphNode::NULL; count], vec![CUgraphNode::NULL; count]);
        if count > 0 {
            // SAFETY: as above.
            let answer = unsafe {
                cuda_driver::cuGraphGetEdges(self.raw, from.as_mut_ptr(), to.as_mut_ptr(), &mut count)
            };
            check("cuGraphGetEdges", answer, what)?;
        }
        let place = |node: &CUgraphNode| nodes.iter().position(|one| one == node);
        let edges = from.iter().zip(&to).filter_map(|(from, to)| Some((place(from)?, place(to)?)));
        Ok(Shape { edges: edges.collect(), nodes: nodes.iter().map(kind).collect::<Result<_, _>>()? })
    }

    /// Makes a graph that can be launched (`cuGraphInstantiateWithFlags`).
    ///
    /// # Errors
    ///
    /// Any error of the call.
    #[track_caller]
    pub fn instantiate(&self) -> Result<Executable<'c>, Error> {
        let mut raw = CUgraphExec::NULL;
        // SAFETY: the graph is alive, and `raw` is there to be written.
        let answer = unsafe { cuda_driver::cuGraphInstantiateWithFlags(&mut raw, self.raw, 0) };
        check("cuGraphInstantiate", answer, || "make a graph that can be launched".into())?;
        let memory = self.memory.clone();
        Ok(Executable { context: self.context, raw, memory, made_at: Location::caller() })
    }
}

#[track_caller]
fn kind(node: &CUgraphNode) -> Result<Node, Error> {
    let mut kind = CUgraphNodeType::EMPTY;
    // SAFETY: the node is one of a graph that is alive, and `kind` is there to be written.
    match unsafe { cuda_driver::cuGraphNodeGetType(*node, &mut kind) } {
        CuResult::SUCCESS => Ok(match kind {
            CUgraphNodeType::KERNEL => Node::Kernel,
            CUgraphNodeType::MEMCPY => Node::Copy,
            CUgraphNodeType::MEMSET => Node::Fill,
            _ => Node::Other,
        }),
        answer => {
            Err(failure("cuGraphNodeGetType", answer, "ask what a node does".into(), Location::caller()))
        }
    }
}

impl Drop for Graph<'_> {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: ended with success, destroyed once.
            let answer = unsafe { cuda_driver::cuGraphDestroy(self.raw) };
            self.context.park("cuGraphDestroy", answer, "a graph", self.made_at);
        }
    }
}

impl Drop for Executable<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `instantiate`, destroyed once; the driver lets a launch that is under way finish.
        let answer = unsafe { cuda_driver::cuGraphExecDestroy(self.raw) };
        self.context.park("cuGraphExecDestroy", answer, "a graph", self.made_at);
    }
}

/// Which memory the graphs use that are being captured, and which is no more. A graph holds addresses and borrows nothing.
#[derive(Default)]
pub(super) struct Memory {
    noted: RefCell<Option<Vec<u64>>>,
    released: RefCell<HashSet<u64>>,
}

impl Memory {
    /// Whether a capture is under way.
    pub(super) fn is_noted(&self) -> bool {
        self.noted.borrow().is_some()
    }

    /// Notes memory of a captured operation.
    pub(super) fn note(&self, memory: Vec<u64>) {
        if let Some(noted) = self.noted.borrow_mut().as_mut() {
            noted.extend(memory);
        }
    }

    /// Says that it is no more.
    pub(super) fn release(&self, memory: u64) {
        self.released.borrow_mut().insert(memory);
    }
}

impl Context {
    /// Runs a submission, and returns the memory that it uses beside its outcome.
    fn noting_memory(&self, submit: impl FnOnce() -> Result<(), Error>) -> (Result<(), Error>, Vec<u64>) {
        let outer = self.memory.noted.replace(Some(Vec::new()));
        let outcome = submit();
        let mut memory = self.memory.noted.replace(outer).unwrap_or_default();
        // A traced twin writes there too.
        memory.extend(self.tracer.borrow().as_ref().map(Tracer::memory));
        self.memory.note(memory.clone());
        (outcome, memory)
    }

    #[track_caller]
    fn still_has(&self, memory: &[u64]) -> Result<(), Error> {
        let released = self.memory.released.borrow();
        match memory.iter().find(|memory| released.contains(memory)) {
            None => Ok(()),
            Some(&memory) => Err(Error::Released { memory: self.name(memory), at: Location::caller() }),
        }
    }
}
