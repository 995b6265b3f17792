//! A traced submission, translated for `timeline`: what ran when and where, and the edges between. It touches no device and
//! draws nothing.

use std::collections::HashMap;

use cuda_std::abi::Access;
use timeline::model::{Band, Block, Edge, EdgeKind, End, Range, Slice, Stream};

use crate::gate::overlap::Interval;
use crate::order::{self, edges};
use crate::report::thousands;
use crate::submit::{Launch, Log, Operation, StreamId, StreamKind, Trace, TracedLaunch, Warp};

/// The band of a submission, without a caption. The edges that are missing in it are looked for when `order` is.
pub fn band(trace: &Trace, name: &str, sms: u32, order: bool) -> Band {
    let mut rows = Rows { log: &trace.log, streams: Vec::new(), slices: HashMap::new() };
    for entry in &trace.log.entries {
        rows.stream_of(&entry.operation);
    }
    let zero_ns = trace.launches.iter().flat_map(|launch| &launch.warps).map(|warp| warp.start_ns).min();
    let mut slices = Vec::new();
    for launch in &trace.launches {
        if let Some(slice) = rows.slice(launch, zero_ns.unwrap_or(0)) {
            rows.slices.insert(launch.operation, slices.len());
            slices.push(slice);
        }
    }
    let mut drawn: Vec<Edge> = edges(&trace.log).iter().filter_map(|edge| rows.edge(edge)).collect();
    if order {
        drawn.extend(order::missing(&trace.log).iter().filter_map(|edge| rows.edge(edge)));
    }
    let ranges = trace.log.ranges.iter().filter_map(|(name, extent)| {
        let mut slices: Vec<_> = extent.clone().filter_map(|at| rows.slices.get(&at).copied()).collect();
        slices.sort_unstable();
        (!slices.is_empty()).then(|| Range { name: name.clone(), slices })
    });
    Band {
        name: name.to_owned(),
        caption: String::new(),
        sms,
        slices,
        edges: drawn,
        ranges: ranges.collect(),
        streams: rows.streams(),
    }
}

/// When each kernel ran, in the order of submission.
pub fn intervals(band: &Band) -> Vec<Interval> {
    let interval = |slice: &Slice| Interval { start_ns: slice.start_ns, end_ns: slice.end_ns };
    band.slices.iter().map(interval).collect()
}

/// When each block ran, in that order.
pub fn block_intervals(band: &Band) -> Vec<Interval> {
    let interval = |block: &Block| Interval { start_ns: block.start_ns, end_ns: block.end_ns };
    band.slices.iter().flat_map(|slice| &slice.blocks).map(interval).collect()
}

/// Where the operations of a log are drawn.
struct Rows<'t> {
    log: &'t Log,
    /// The streams that came up, in that order.
    streams: Vec<StreamId>,
    /// The slice of each launch, by its place in the log.
    slices: HashMap<usize, usize>,
}

impl Rows<'_> {
    /// The row of the stream that an operation was put into; none for what the host does.
    fn stream_of(&mut self, operation: &Operation) -> Option<usize> {
        let id = operation.stream()?;
        Some(self.streams.iter().position(|&known| known == id).unwrap_or_else(|| {
            self.streams.push(id);
            self.streams.len() - 1
        }))
    }

    fn streams(&self) -> Vec<Stream> {
        let kind = |id: StreamId| {
            let known = self.log.streams.iter().find(|(known, _)| *known == id);
            match known.map_or(StreamKind::Blocking, |(_, kind)| *kind) {
                StreamKind::Blocking => "blocking",
                StreamKind::NonBlocking => "non-blocking",
                StreamKind::Legacy => "legacy default",
            }
        };
        let stream =
            |&id: &StreamId| Stream { name: self.log.name(id.0).to_owned(), kind: kind(id).to_owned() };
        self.streams.iter().map(stream).collect()
    }

    fn slice(&mut self, traced: &TracedLaunch, zero_ns: u64) -> Option<Slice> {
        let entry = self.log.entries.get(traced.operation)?;
        let Operation::Launch { kernel, launch, buffers, .. } = &entry.operation else { return None };
        let blocks: Vec<Block> = traced
            .warps
            .chunks(traced.warps_per_block.max(1))
            .filter_map(|warps| block(warps, zero_ns))
            .collect();
        let names = |access: Access| {
            let names: Vec<_> = buffers
                .iter()
                .filter(|one| one.access == access)
                .map(|one| self.log.name(one.buffer))
                .collect();
            names.join(", ")
        };
        let details = [
            ("launch", shape(launch)),
            ("at", entry.place()),
            ("reads", names(Access::Read)),
            ("writes", names(Access::Write)),
        ];
        Some(Slice {
            name: kernel.name.to_owned(),
            start_ns: blocks.iter().map(|block| block.start_ns).min()?,
            end_ns: blocks.iter().map(|block| block.end_ns).max()?,
            details: details
                .into_iter()
                .filter(|(_, answer)| !answer.is_empty())
                .map(|(word, answer)| (word.to_owned(), answer))
                .collect(),
            blocks,
            stream: self.stream_of(&entry.operation)?,
        })
    }

    /// None where an end is not on a stream: the host is not drawn.
    fn edge(&mut self, edge: &order::Edge) -> Option<Edge> {
        let operation = |at: usize| &self.log.entries[at].operation;
        let (to, from) = match edge.wait {
            Some((record, wait)) => (operation(wait), operation(edge.from.or(record).unwrap_or(wait))),
            None => (operation(edge.to?), operation(edge.from?)),
        };
        let name = match (operation(edge.wait.map_or(0, |(_, wait)| wait)), edge.buffer) {
            (_, Some(buffer)) => self.log.name(buffer),
            (Operation::Wait { event, .. }, None) => self.log.name(event.0),
            _ => "",
        };
        let kind = match (edge.wait, edge.from) {
            (None, _) => EdgeKind::Missing,
            (Some(_), None) => EdgeKind::Empty,
            (Some(_), Some(_)) => EdgeKind::Event,
        };
        let name = name.to_owned();
        let mut end = |operation: &Operation, at: Option<usize>| {
            let stream = self.stream_of(operation)?;
            Some(End { stream, slice: at.and_then(|at| self.slices.get(&at).copied()) })
        };
        let (from, to) = (end(from, edge.from)?, end(to, edge.to)?);
        Some(Edge { kind, name, from, to, words: edge.words.clone() })
    }
}

fn block(warps: &[Warp], zero_ns: u64) -> Option<Block> {
    Some(Block {
        sm: warps.first()?.sm,
        start_ns: warps.iter().map(|warp| warp.start_ns).min()?.saturating_sub(zero_ns),
        end_ns: warps.iter().map(|warp| warp.end_ns).max()?.saturating_sub(zero_ns),
    })
}

/// A launch's shape in short, as long as it has one dimension.
fn shape(launch: &Launch) -> String {
    match (launch.grid, launch.block) {
        ((blocks, 1, 1), (threads, 1, 1)) => format!("{} blocks of {threads} threads", thousands(blocks)),
        _ => launch.to_string(),
    }
}
