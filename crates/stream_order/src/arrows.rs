//! The edges that events and host waits did make, for whoever draws them. It judges nothing.

use crate::index::{Index, LEGACY, Lane};
use crate::program::{Action, Operation, Program, StreamKind};

/// A wait for an event, and what it connects. Operations are indices in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// The wait of a stream or of the host.
    pub wait: usize,
    /// The record that it took; none when the event had not been recorded, and the wait orders nothing.
    pub record: Option<usize>,
    /// The last work before the record in its stream or through the legacy stream's barrier: where the arrow leaves. None
    /// when the stream was empty.
    pub from: Option<usize>,
    /// The first work of the waiting stream after the wait: where the arrow ends. None when there is none, and for a wait
    /// of the host.
    pub to: Option<usize>,
}

/// An arrow for each wait for an event, in the order of the waits.
pub fn arrows(program: &Program) -> Vec<Arrow> {
    let index = Index::of(program);
    // The last work of each lane, and of all blocking ones.
    let mut last = vec![None; index.lanes.len()];
    let mut last_blocking = None;
    let mut captured = vec![(None, None); index.n_events()];
    // For each lane the arrows that no work followed yet.
    let mut open: Vec<Vec<usize>> = vec![Vec::new(); index.lanes.len()];
    let mut arrows = Vec::new();
    for (at, Operation { action, thread, .. }) in program.operations.iter().enumerate() {
        match action {
            Action::Launch(_) | Action::Copy(_) | Action::Memset(_) => {
                let Some(lane) = action.stream().map(|stream| index.stream(stream, *thread)) else {
                    continue;
                };
                last[lane] = Some(at);
                if index.lanes[lane].is_blocking() {
                    last_blocking = Some(at);
                }
                for arrow in open[lane].drain(..) {
                    let arrow: &mut Arrow = &mut arrows[arrow];
                    arrow.to = Some(at);
                }
            }
            Action::Record { event, stream } => {
                let lane = index.stream(*stream, *thread);
                let through_the_barrier = match index.lanes[lane] {
                    Lane::Stream(StreamKind::Legacy) => last_blocking,
                    kind if kind.is_blocking() => last[LEGACY],
                    _ => None,
                };
                captured[index.event(*event)] = (Some(at), last[lane].max(through_the_barrier));
            }
            Action::Wait { event, stream } => {
                let (record, from) = captured[index.event(*event)];
                open[index.stream(*stream, *thread)].push(arrows.len());
                arrows.push(Arrow { wait: at, record, from, to: None });
            }
            Action::SynchronizeEvent { event } => {
                let (record, from) = captured[index.event(*event)];
                arrows.push(Arrow { wait: at, record, from, to: None });
            }
            _ => {}
        }
    }
    arrows
}
