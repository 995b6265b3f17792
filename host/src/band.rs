//! A traced submission, translated for `timeline`: what ran when and where, and the edges between. It touches no device and
//! draws nothing.
//!
//! A copy is traced from its turn in its stream, and an engine takes the copies of one direction over the bus one after the
//! other. So it is drawn from when the copy before it in its direction had ended, and says how long it waited till then.

use std::collections::HashMap;

use cuda_std::abi::Access;
use timeline::model::{Band, Block, Edge, EdgeKind, End, Range, Slice, Stream};

use crate::gate::overlap::Interval;
use crate::order::{self, edges};
use crate::report::thousands;
use crate::submit::{
    Launch, Log, Operation, StreamId, StreamKind, Trace, TracedLaunch, TracedTransfer, Warp,
};

/// What a slice of a copy from the host is called.
pub const TO_DEVICE: &str = "copy to device";
/// What one of a copy to the host is called.
pub const TO_HOST: &str = "copy to host";

/// The band of a submission, without a caption. The edges that are missing in it are looked for when `order` is.
pub fn band(trace: &Trace, name: &str, sms: u32, order: bool) -> Band {
    let mut rows = Rows { log: &trace.log, streams: Vec::new(), slices: HashMap::new() };
    for entry in &trace.log.entries {
        rows.stream_of(&entry.operation);
    }
    let warps = trace.launches.iter().flat_map(|launch| &launch.warps);
    let starts = warps.map(|warp| warp.start_ns).chain(trace.transfers.iter().map(|copy| copy.start_ns));
    let zero_ns = starts.min().unwrap_or(0);
    let kernels = trace.launches.iter().map(|launch| (launch.operation, rows.slice(launch, zero_ns)));
    let mut ran: Vec<(usize, Option<Slice>)> = kernels.collect();
    for (transfer, waited_ns) in by_engine(trace) {
        ran.push((transfer.operation, rows.transfer(&transfer, waited_ns, zero_ns)));
    }
    ran.sort_by_key(|(operation, _)| *operation);
    let mut slices = Vec::new();
    for (operation, slice) in ran {
        if let Some(slice) = slice {
            rows.slices.insert(operation, slices.len());
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

/// When each kernel, copy and fill ran, in the order of submission.
pub fn intervals(band: &Band) -> Vec<Interval> {
    intervals_of(band, |_| true)
}

/// When each block ran, in that order.
pub fn block_intervals(band: &Band) -> Vec<Interval> {
    let interval = |block: &Block| Interval { start_ns: block.start_ns, end_ns: block.end_ns };
    band.slices.iter().flat_map(|slice| &slice.blocks).map(interval).collect()
}

/// The same for those slices of which `which` says so, by their names.
pub fn intervals_of(band: &Band, which: impl Fn(&str) -> bool) -> Vec<Interval> {
    let of = band.slices.iter().filter(|slice| which(&slice.name));
    of.map(|slice| Interval { start_ns: slice.start_ns, end_ns: slice.end_ns }).collect()
}

/// The copies and fills, each from when its engine was free, with how long it waited for that.
fn by_engine(trace: &Trace) -> Vec<(TracedTransfer, u64)> {
    let mut transfers = trace.transfers.clone();
    transfers.sort_by_key(|transfer| transfer.end_ns);
    let mut free_ns = [0; 2];
    let on_its_engine = |transfer: TracedTransfer| {
        let engine = match trace.log.entries.get(transfer.operation).map(|entry| &entry.operation) {
            Some(Operation::AsyncCopyToDevice { .. }) => &mut free_ns[0],
            Some(Operation::AsyncCopyToHost { .. }) => &mut free_ns[1],
            _ => return (transfer, 0),
        };
        let start_ns = transfer.start_ns.max(*engine).min(transfer.end_ns);
        *engine = transfer.end_ns;
        (TracedTransfer { start_ns, ..transfer }, start_ns - transfer.start_ns)
    };
    transfers.into_iter().map(on_its_engine).collect()
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
                StreamKind::PerThread => "per-thread default",
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
            details: answered(details),
            blocks,
            stream: self.stream_of(&entry.operation)?,
        })
    }

    /// None of an operation that is no copy and no fill.
    fn transfer(&mut self, ran: &TracedTransfer, waited_ns: u64, zero_ns: u64) -> Option<Slice> {
        let entry = self.log.entries.get(ran.operation)?;
        let (name, from, to, bytes) = match &entry.operation {
            Operation::AsyncCopyToDevice { from, to, bytes, .. } => {
                (TO_DEVICE, Some(*from), *to, bytes.end - bytes.start)
            }
            Operation::AsyncCopyToHost { from, to, bytes, .. } => {
                (TO_HOST, Some(*from), *to, bytes.end - bytes.start)
            }
            Operation::Copy { from, to, bytes, .. } => ("copy", Some(*from), *to, *bytes),
            Operation::Fill { buffer, bytes, .. } => ("fill", None, *buffer, *bytes),
            _ => return None,
        };
        let details = [
            ("bytes", thousands(bytes)),
            ("at", entry.place()),
            ("reads", from.map_or_else(String::new, |from| self.log.name(from).to_owned())),
            ("writes", self.log.name(to).to_owned()),
            (
                "waited for its engine",
                match waited_ns {
                    0 => String::new(),
                    waited_ns => format!("{:.1} us", waited_ns as f64 / 1e3),
                },
            ),
        ];
        Some(Slice {
            name: name.to_owned(),
            start_ns: ran.start_ns.saturating_sub(zero_ns),
            end_ns: ran.end_ns.saturating_sub(zero_ns),
            details: answered(details),
            blocks: Vec::new(),
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
            (_, None) if edge.wait.is_none() => "time",
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

/// The details that have an answer.
fn answered<const N: usize>(details: [(&str, String); N]) -> Vec<(String, String)> {
    let answered = details.into_iter().filter(|(_, answer)| !answer.is_empty());
    answered.map(|(word, answer)| (word.to_owned(), answer)).collect()
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
