//! What every drawing is made of. Plain data; it knows no drawing and no rule about order.

use std::collections::HashMap;

use serde::Serialize;

/// What a lesson ran, for one time axis: each band begins at 0.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Timeline {
    /// What it is of, for a heading: `forkjoin`.
    pub title: String,
    /// The card's name.
    pub card: String,
    /// Whether the times are those of a virtual card. A drawing says so.
    pub is_virtual: bool,
    /// Step of the clock that all times were read from, ns.
    pub step_ns: u64,
    /// One for each order of submission, in the order in which they are drawn.
    pub bands: Vec<Band>,
}

/// One submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Band {
    /// Its name: `broken order`.
    pub name: String,
    /// What is to be seen in it, with its numbers, in one sentence.
    pub caption: String,
    /// The streams that something ran on, in the order of their rows.
    pub streams: Vec<Stream>,
    /// The card's multiprocessors.
    pub sms: u32,
    /// What ran, in the order of submission.
    pub slices: Vec<Slice>,
    /// What orders streams, and what should.
    pub edges: Vec<Edge>,
    /// Named ranges of the submission.
    pub ranges: Vec<Range>,
}

/// A stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stream {
    /// Its name.
    pub name: String,
    /// What it is ordered with: `blocking`, `non-blocking`, `legacy default`, `per-thread default`.
    pub kind: String,
}

/// A kernel that ran, from the start of its first warp to the end of its last; or a copy or a fill, which has no blocks, from a
/// reading of the clock before it to one behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Slice {
    /// The kernel's name, or what a copy or a fill does.
    pub name: String,
    /// Where: an index in [`Band::streams`].
    pub stream: usize,
    /// From the band's start, ns.
    pub start_ns: u64,
    /// The same; not before the start.
    pub end_ns: u64,
    /// What a reader may ask of it, as pairs of word and answer: the launch's shape, its caller, what it reads and writes.
    pub details: Vec<(String, String)>,
    /// Its blocks, in the order of their indices.
    pub blocks: Vec<Block>,
}

/// A block, resident on one multiprocessor from its first warp's start to its last warp's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Block {
    /// The multiprocessor, below [`Band::sms`].
    pub sm: u32,
    /// From the band's start, ns.
    pub start_ns: u64,
    /// The same; not before the start.
    pub end_ns: u64,
}

/// What an edge is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    /// A record and a wait for it: what it leads to starts when what it comes from has ended.
    Event,
    /// A wait that orders nothing: the event stood for no work, or was never recorded.
    Empty,
    /// One that should be there and is not.
    Missing,
}

/// An edge between two streams.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Edge {
    /// What it is.
    pub kind: EdgeKind,
    /// The event's name; of a missing edge the name of the buffer that two kernels touch.
    pub name: String,
    /// Where it leaves.
    pub from: End,
    /// Where it arrives.
    pub to: End,
    /// All that is to be said of it, over several lines where it is missing.
    pub words: String,
}

/// One end of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct End {
    /// The row: an index in [`Band::streams`].
    pub stream: usize,
    /// An index in [`Band::slices`]: an edge leaves at this one's end, and arrives at this one's start. None where there is
    /// none: it then leaves at the band's start, and arrives at the band's end.
    pub slice: Option<usize>,
}

/// A named range (NVTX): drawn over what was submitted in it, from the first start to the last end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Range {
    /// Its name.
    pub name: String,
    /// What was submitted in it, as indices in [`Band::slices`]; never empty.
    pub slices: Vec<usize>,
}

/// What ran in a band, told apart by kernel and stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kinds<'b> {
    /// Each kernel's name and its stream, in the order of their first slices.
    pub all: Vec<(&'b str, usize)>,
    /// For each of [`Band::slices`] which of them it is.
    pub of_slices: Vec<usize>,
}

impl Timeline {
    /// The longest band's end, ns: where the time axis ends.
    pub fn end_ns(&self) -> u64 {
        self.bands.iter().map(Band::end_ns).max().unwrap_or(0)
    }
}

impl Band {
    /// The kernels that ran, each with its stream, and which of them each slice is.
    pub fn kinds(&self) -> Kinds<'_> {
        let mut known = HashMap::new();
        let mut all = Vec::new();
        let of_slice = |slice| {
            let Slice { name, stream, .. }: &Slice = slice;
            let kind = (name.as_str(), *stream);
            *known.entry(kind).or_insert_with(|| {
                all.push(kind);
                all.len() - 1
            })
        };
        let of_slices = self.slices.iter().map(of_slice).collect();
        Kinds { all, of_slices }
    }

    /// The last slice's end, ns.
    pub fn end_ns(&self) -> u64 {
        self.slices.iter().map(|slice| slice.end_ns).max().unwrap_or(0)
    }

    /// When the edge leaves, ns.
    pub fn leaves_ns(&self, edge: &Edge) -> u64 {
        edge.from.slice.and_then(|slice| self.slices.get(slice)).map_or(0, |slice| slice.end_ns)
    }

    /// When it arrives, ns.
    pub fn arrives_ns(&self, edge: &Edge) -> u64 {
        let to = edge.to.slice.and_then(|slice| self.slices.get(slice));
        to.map_or_else(|| self.end_ns(), |slice| slice.start_ns)
    }

    /// From when to when the range's work ran, ns.
    pub fn extent_ns(&self, range: &Range) -> (u64, u64) {
        let slices = || range.slices.iter().filter_map(|&slice| self.slices.get(slice));
        (
            slices().map(|slice| slice.start_ns).min().unwrap_or(0),
            slices().map(|slice| slice.end_ns).max().unwrap_or(0),
        )
    }
}
