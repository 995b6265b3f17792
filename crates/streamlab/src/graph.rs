//! Graphs: what streams were given while they were captured, to be launched again and again. [`Stream`](crate::Stream) captures
//! and launches them. A graph has a claim on the memory that its nodes use.

use std::panic::Location;
use std::rc::Rc;

use cuda_driver::CUgraphNodeType;
use stream_order::program::StreamId;

use crate::context::Context;
use crate::error::{Doing, Error};
use crate::floor::{self, RawGraph, RawGraphExec};
use crate::record::Captured;

/// A graph as it was captured.
#[derive(Debug)]
pub struct Graph<'c> {
    raw: RawGraph,
    memory: Claims<'c>,
    made_at: &'static Location<'static>,
}

/// A graph that can be launched. Destroying it lets a launch in flight finish.
#[derive(Debug)]
pub struct GraphExec<'c> {
    raw: RawGraphExec,
    memory: Claims<'c>,
    id: u64,
    made_at: &'static Location<'static>,
}

/// Claims on the memory that nodes use: it is freed only when they are gone too.
#[derive(Debug)]
struct Claims<'c> {
    context: &'c Context,
    captured: Rc<Captured>,
}

impl Clone for Claims<'_> {
    fn clone(&self) -> Self {
        self.captured.memory.iter().for_each(|&id| self.context.claim(id));
        Claims { context: self.context, captured: Rc::clone(&self.captured) }
    }
}

impl Drop for Claims<'_> {
    fn drop(&mut self) {
        self.captured.memory.iter().for_each(|&id| self.context.unclaim(id));
    }
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphNode {
    /// Runs a kernel.
    Kernel,
    /// Copies.
    Memcpy,
    /// Sets memory.
    Memset,
    /// Anything else.
    Other,
}

/// Nodes, and edges between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphTopology {
    /// The nodes in the driver's order, which for a captured graph is that of the calls.
    pub nodes: Vec<GraphNode>,
    /// Of each edge the node before and the node after, as indices.
    pub edges: Vec<(usize, usize)>,
}

impl<'c> Graph<'c> {
    /// Wraps a captured graph, with claims on its memory that the context has counted.
    pub(crate) fn new(
        context: &'c Context,
        raw: RawGraph,
        captured: Captured,
        made_at: &'static Location<'static>,
    ) -> Self {
        Graph { raw, memory: Claims { context, captured: Rc::new(captured) }, made_at }
    }

    /// Returns the graph's nodes and edges (`cuGraphGetNodes`, `cuGraphGetEdges`).
    ///
    /// # Errors
    ///
    /// Any error of the calls.
    #[track_caller]
    pub fn topology(&self) -> Result<GraphTopology, Error> {
        let (nodes, edges) = floor::graph_topology(&self.raw).doing(|| "read a graph".to_owned())?;
        let node = |kind: CUgraphNodeType| match kind {
            CUgraphNodeType::KERNEL => GraphNode::Kernel,
            CUgraphNodeType::MEMCPY => GraphNode::Memcpy,
            CUgraphNodeType::MEMSET => GraphNode::Memset,
            _ => GraphNode::Other,
        };
        Ok(GraphTopology { nodes: nodes.into_iter().map(node).collect(), edges })
    }

    /// Makes a graph that can be launched (`cuGraphInstantiateWithFlags`).
    ///
    /// # Errors
    ///
    /// Any error of the call.
    #[track_caller]
    pub fn instantiate(&self) -> Result<GraphExec<'c>, Error> {
        let context = self.memory.context;
        context.bind()?;
        let raw = floor::graph_instantiate(&self.raw).doing(|| "instantiate a graph".into())?;
        let (memory, id) = (self.memory.clone(), context.anonymous().0);
        Ok(GraphExec { raw, memory, id, made_at: Location::caller() })
    }
}

impl GraphExec<'_> {
    pub(crate) fn raw(&self) -> &RawGraphExec {
        &self.raw
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Notes a launch in this stream.
    #[track_caller]
    pub(crate) fn note_launch(&self, stream: StreamId) {
        self.memory.context.note_graph(self.id, &self.memory.captured, stream);
    }
}

impl Drop for Graph<'_> {
    fn drop(&mut self) {
        let answer = floor::graph_destroy(&mut self.raw);
        self.memory.context.park(answer, "a graph", self.made_at);
    }
}

impl Drop for GraphExec<'_> {
    fn drop(&mut self) {
        let answer = floor::graph_exec_destroy(&mut self.raw);
        self.memory.context.park(answer, "a graph", self.made_at);
    }
}
