//! Capture and graphs.
#![allow(non_snake_case, reason = "the names are the driver's")]

use super::{Out, call};
use crate::driver::Answer;
use cuda_driver::{
    CUgraph, CUgraphExec, CUgraphNode, CUgraphNodeType, CUstream, CUstreamCaptureMode, CUstreamCaptureStatus,
    CuResult,
};
use std::ffi::c_ulonglong;
use std::ptr;

/// Room for several results: where, and how many.
#[repr(transparent)]
pub struct Several<T>(*mut T);

impl<T: Copy> Several<T> {
    fn is_wanted(&self) -> bool {
        !self.0.is_null()
    }

    /// Writes so many of the results, and `nothing` where there are fewer.
    fn put(self, results: &[T], room: usize, nothing: T) {
        for place in 0..room {
            let result = results.get(place).copied().unwrap_or(nothing);
            // SAFETY: not null, and writable for as many as the count says by the caller's promise.
            unsafe { self.0.add(place).write(result) };
        }
    }
}

/// How many there is room for, and then how many there were.
#[repr(transparent)]
pub struct Count(*mut usize);

impl Count {
    fn get(&self) -> Answer<usize> {
        if self.0.is_null() {
            return Err(CuResult::INVALID_VALUE);
        }
        // SAFETY: not null, and readable by the caller's promise.
        Ok(unsafe { self.0.read() })
    }

    fn set(&self, count: usize) {
        // SAFETY: `get` found that it is not null, and it is writable by the caller's promise.
        unsafe { self.0.write(count) };
    }
}

fn node(raw: usize) -> CUgraphNode {
    CUgraphNode::from_raw(ptr::without_provenance_mut(raw))
}

pub extern "C" fn cuStreamBeginCapture_v2(stream: CUstream, mode: CUstreamCaptureMode) -> CuResult {
    call(|driver| driver.begin_capture(stream.as_raw().addr(), mode))
}

pub extern "C" fn cuStreamEndCapture(stream: CUstream, graph: Out<CUgraph>) -> CuResult {
    call(|driver| {
        let ended = driver.end_capture(stream.as_raw().addr());
        let raw = ended.unwrap_or_default();
        graph.put(|| Ok(CUgraph::from_raw(ptr::without_provenance_mut(raw))))?;
        ended.map(|_| ())
    })
}

pub extern "C" fn cuStreamIsCapturing(stream: CUstream, status: Out<CUstreamCaptureStatus>) -> CuResult {
    call(|driver| status.put(|| driver.capture_status(stream.as_raw().addr())))
}

pub extern "C" fn cuGraphInstantiateWithFlags(
    executable: Out<CUgraphExec>,
    graph: CUgraph,
    flags: c_ulonglong,
) -> CuResult {
    call(|driver| {
        executable.put(|| {
            let raw = driver.instantiate(graph.as_raw().addr(), flags)?;
            Ok(CUgraphExec::from_raw(ptr::without_provenance_mut(raw)))
        })
    })
}

pub extern "C" fn cuGraphLaunch(executable: CUgraphExec, stream: CUstream) -> CuResult {
    call(|driver| driver.launch_graph(executable.as_raw().addr(), stream.as_raw().addr()))
}

pub extern "C" fn cuGraphExecDestroy(executable: CUgraphExec) -> CuResult {
    call(|driver| driver.destroy_executable(executable.as_raw().addr()))
}

pub extern "C" fn cuGraphDestroy(graph: CUgraph) -> CuResult {
    call(|driver| driver.destroy_graph(graph.as_raw().addr()))
}

pub extern "C" fn cuGraphGetNodes(graph: CUgraph, nodes: Several<CUgraphNode>, count: Count) -> CuResult {
    call(|driver| {
        let room = count.get()?;
        let all = driver.graph_nodes(graph.as_raw().addr())?;
        if !nodes.is_wanted() {
            count.set(all.len());
            return Ok(());
        }
        if room == 0 {
            return Err(CuResult::INVALID_VALUE);
        }
        count.set(all.len().min(room));
        nodes.put(&all.into_iter().map(node).collect::<Vec<_>>(), room, CUgraphNode::NULL);
        Ok(())
    })
}

pub extern "C" fn cuGraphGetEdges(
    graph: CUgraph,
    from: Several<CUgraphNode>,
    to: Several<CUgraphNode>,
    count: Count,
) -> CuResult {
    call(|driver| {
        let room = count.get()?;
        let all = driver.graph_edges(graph.as_raw().addr())?;
        match (from.is_wanted(), to.is_wanted()) {
            (false, false) => {
                count.set(all.len());
                return Ok(());
            }
            (true, true) if room > 0 => {}
            _ => return Err(CuResult::INVALID_VALUE),
        }
        count.set(all.len().min(room));
        let (before, after): (Vec<_>, Vec<_>) =
            all.into_iter().map(|(before, after)| (node(before), node(after))).unzip();
        from.put(&before, room, CUgraphNode::NULL);
        to.put(&after, room, CUgraphNode::NULL);
        Ok(())
    })
}

pub extern "C" fn cuGraphNodeGetType(node: CUgraphNode, kind: Out<CUgraphNodeType>) -> CuResult {
    call(|driver| kind.put(|| driver.node_kind(node.as_raw().addr())))
}
