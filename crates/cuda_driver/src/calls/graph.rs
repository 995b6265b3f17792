//! Calls that capture a stream into a graph, look at the graph, and launch it.

use crate::handles::{CUgraph, CUgraphExec, CUgraphNode, CUstream};
use crate::numbers::{CUgraphNodeType, CUstreamCaptureMode, CUstreamCaptureStatus};
use crate::result::CuResult;
use std::ffi::c_ulonglong;

unsafe extern "C" {
    /// Begins a capture: what is enqueued into the stream from here on is noted instead of run. Not for the legacy
    /// default stream.
    pub fn cuStreamBeginCapture_v2(stream: CUstream, mode: CUstreamCaptureMode) -> CuResult;

    /// Ends the capture that began in this stream, and writes the graph, or null when the capture was spoilt.
    pub fn cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph) -> CuResult;

    /// Writes whether the stream is being captured.
    pub fn cuStreamIsCapturing(stream: CUstream, status: *mut CUstreamCaptureStatus) -> CuResult;

    /// Makes a graph that can be launched. `flags` is 0. Later changes of `graph` do not reach it. Since CUDA 11.4.
    pub fn cuGraphInstantiateWithFlags(
        executable: *mut CUgraphExec,
        graph: CUgraph,
        flags: c_ulonglong,
    ) -> CuResult;

    /// Enqueues the graph into a stream. Launches of the same executable graph run one after another.
    pub fn cuGraphLaunch(executable: CUgraphExec, stream: CUstream) -> CuResult;

    /// Destroys an executable graph. A launch that is under way is finished.
    pub fn cuGraphExecDestroy(executable: CUgraphExec) -> CuResult;

    /// Destroys a graph and its nodes. Executable graphs made from it stay.
    pub fn cuGraphDestroy(graph: CUgraph) -> CuResult;

    /// Writes the graph's nodes: at most `*count` of them, and to `*count` how many. With `nodes` null it writes
    /// only how many there are.
    pub fn cuGraphGetNodes(graph: CUgraph, nodes: *mut CUgraphNode, count: *mut usize) -> CuResult;

    /// Writes the graph's edges, of each the node that comes before and the one that comes after: at most `*count`,
    /// and to `*count` how many. With both null it writes only how many there are.
    pub fn cuGraphGetEdges(
        graph: CUgraph,
        from: *mut CUgraphNode,
        to: *mut CUgraphNode,
        count: *mut usize,
    ) -> CuResult;

    /// Writes what the node does.
    pub fn cuGraphNodeGetType(node: CUgraphNode, kind: *mut CUgraphNodeType) -> CuResult;
}
