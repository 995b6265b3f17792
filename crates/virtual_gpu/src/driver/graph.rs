//! Graphs: what was captured, and its launches. Between two nodes there is the order of the graph's edges and no other, and a
//! launch is in its stream as one operation would be.

use super::{Answer, Driver};
use crate::clock::{OpId, Part, Route, StreamId, StreamKind, Transfer, Work};
use crate::machine::{Kernel, KernelLaunch};
use cuda_driver::{CUgraphNodeType, CuResult};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A graph.
#[derive(Clone)]
pub struct Graph {
    /// The handle of its context.
    pub context: usize,
    /// Its nodes, each behind those that it comes after.
    pub nodes: Vec<Node>,
}

/// A node.
#[derive(Clone)]
pub struct Node {
    /// Its handle.
    pub handle: usize,
    /// What it does.
    pub task: Task,
    /// The nodes that it comes after, by their places.
    pub after: BTreeSet<usize>,
}

/// What a node does.
#[derive(Clone)]
pub enum Task {
    /// Runs a kernel.
    Kernel(Kernel, KernelLaunch),
    /// Copies or fills.
    Transfer(Movement),
}

/// A copy or a fill that can be done again and again.
#[derive(Clone)]
pub struct Movement {
    /// Who does it.
    pub route: Route,
    /// Bytes.
    pub bytes: u64,
    /// Makes what moves the bytes of its parts.
    pub make: Arc<dyn Fn() -> Part + Send + Sync>,
}

/// A graph that can be launched.
pub struct Executable {
    graph: Graph,
    /// A stream of the clock for each node.
    streams: Vec<StreamId>,
    /// The end of its latest launch.
    last: Option<OpId>,
}

impl Movement {
    /// The work of doing it once.
    pub fn work(&self) -> Work {
        Work::Transfer(Transfer { route: self.route, bytes: self.bytes, part: (self.make)() })
    }
}

impl Graph {
    /// These nodes, and all that they come after.
    pub fn up_to(&self, last: &BTreeSet<usize>) -> BTreeSet<usize> {
        let mut all = BTreeSet::new();
        let mut next: Vec<usize> = last.iter().copied().collect();
        while let Some(node) = next.pop() {
            if all.insert(node) {
                next.extend(&self.nodes[node].after);
            }
        }
        all
    }

    fn edges(&self) -> Vec<(usize, usize)> {
        let edges = self
            .nodes
            .iter()
            .flat_map(|node| node.after.iter().map(|&before| (self.nodes[before].handle, node.handle)));
        edges.collect()
    }
}

impl Task {
    fn kind(&self) -> CUgraphNodeType {
        match self {
            Task::Kernel(..) => CUgraphNodeType::KERNEL,
            Task::Transfer(Movement { route: Route::Within { from: None, .. }, .. }) => {
                CUgraphNodeType::MEMSET
            }
            Task::Transfer(_) => CUgraphNodeType::MEMCPY,
        }
    }
}

impl Driver {
    /// `cuGraphGetNodes`: the handles of the nodes, in the order in which they were captured.
    ///
    /// # Errors
    ///
    /// `INVALID_VALUE` for a handle that is none.
    pub fn graph_nodes(&mut self, graph: usize) -> Answer<Vec<usize>> {
        Ok(self.graph(graph)?.nodes.iter().map(|node| node.handle).collect())
    }

    /// `cuGraphGetEdges`: of each edge the node before and the node after.
    ///
    /// # Errors
    ///
    /// As [`Driver::graph_nodes`].
    pub fn graph_edges(&mut self, graph: usize) -> Answer<Vec<(usize, usize)>> {
        Ok(self.graph(graph)?.edges())
    }

    /// `cuGraphNodeGetType`.
    ///
    /// # Errors
    ///
    /// As [`Driver::graph_nodes`].
    pub fn node_kind(&mut self, node: usize) -> Answer<CUgraphNodeType> {
        let found = self.graphs.all().flat_map(|graph| &graph.nodes).find(|one| one.handle == node);
        found.map(|node| node.task.kind()).ok_or(CuResult::INVALID_VALUE)
    }

    fn graph(&mut self, graph: usize) -> Answer<&Graph> {
        self.need_init()?;
        self.graphs.get(graph).map_err(|_| CuResult::INVALID_VALUE)
    }

    /// `cuGraphDestroy`. What was made of it stays.
    ///
    /// # Errors
    ///
    /// As [`Driver::graph_nodes`].
    pub fn destroy_graph(&mut self, graph: usize) -> Answer<()> {
        self.need_init()?;
        self.graphs.take(graph).map(|_| ()).map_err(|_| CuResult::INVALID_VALUE)
    }

    /// `cuGraphInstantiateWithFlags`.
    ///
    /// # Errors
    ///
    /// As [`Driver::graph_nodes`]; `NOT_SUPPORTED` for flags; those of a capture.
    pub fn instantiate(&mut self, graph: usize, flags: u64) -> Answer<usize> {
        let number = self.context()?.number;
        if flags != 0 {
            return Err(CuResult::NOT_SUPPORTED);
        }
        self.refuse_in_capture()?;
        let graph = self.graph(graph)?.clone();
        let streams = graph.nodes.iter().map(|_| self.machine.add_stream(number, StreamKind::NonBlocking));
        let executable = Executable { streams: streams.collect(), graph, last: None };
        let nodes = executable.streams.len() as u64;
        let handle = self.names.give();
        self.executables.put(handle, executable);
        self.spend(self.card().host.handle_ns * (1 + nodes))?;
        Ok(handle)
    }

    /// `cuGraphLaunch`. It follows what is in the stream and the graph's launch before it.
    ///
    /// # Errors
    ///
    /// `INVALID_VALUE` for a handle that is none, `INVALID_HANDLE` for a stream of another context, those of a capture,
    /// of which a graph cannot be a part here; the error of a kernel.
    pub fn launch_graph(&mut self, executable: usize, stream: usize) -> Answer<()> {
        let stream = self.stream(stream)?;
        let Executable { graph, streams, last } =
            self.executables.get(executable).map_err(|_| CuResult::INVALID_VALUE)?;
        if graph.context != stream.context {
            return Err(CuResult::INVALID_HANDLE);
        }
        let (nodes, streams, last) = (graph.nodes.clone(), streams.clone(), *last);
        if self.captured(stream)?.is_some() {
            return self.refuse_waiting(stream);
        }
        let host = &self.card().host;
        self.spend(host.graph_launch_ns + host.graph_node_ns * nodes.len() as u64)?;
        let arrival = self.arrival();
        let begin = self.machine.submit(stream.id, arrival, last.as_slice(), Work::Nothing);
        let mut ops: Vec<OpId> = Vec::new();
        for (Node { task, after, .. }, own) in nodes.into_iter().zip(streams) {
            let after: Vec<OpId> = [begin].into_iter().chain(after.iter().map(|&node| ops[node])).collect();
            ops.push(match task {
                Task::Kernel(kernel, launch) => {
                    let launched = self.machine.launch(own, arrival, &after, &kernel, launch);
                    launched.map_err(|_| CuResult::INVALID_VALUE)?
                }
                Task::Transfer(movement) => self.machine.submit(own, arrival, &after, movement.work()),
            });
        }
        let end = self.machine.submit(stream.id, arrival, &ops, Work::Nothing);
        self.executables.get_mut(executable)?.last = Some(end);
        Ok(())
    }

    /// `cuGraphExecDestroy`. A launch that is under way is finished.
    ///
    /// # Errors
    ///
    /// As [`Driver::graph_nodes`].
    pub fn destroy_executable(&mut self, executable: usize) -> Answer<()> {
        self.need_init()?;
        let executable = self.executables.take(executable).map_err(|_| CuResult::INVALID_VALUE)?;
        executable.streams.into_iter().for_each(|stream| self.machine.remove_stream(stream));
        Ok(())
    }

    /// Forgets everything of a context. Nothing of it is under way.
    pub(super) fn forget_graphs(&mut self, context: usize) {
        self.captures.forget_context(context);
        self.graphs.take_all(|graph| graph.context == context);
        for executable in self.executables.take_all(|executable| executable.graph.context == context) {
            executable.streams.into_iter().for_each(|stream| self.machine.remove_stream(stream));
        }
    }
}
