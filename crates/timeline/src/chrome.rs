//! The Chrome trace event format, for Perfetto and chrome://tracing. It knows the model and the format, and no other drawing.
//!
//! Every band has two processes of its own, one for its streams and one for its multiprocessors, and all begin at 0: bands
//! are compared, so their bars must stand one above the other, as they cannot when one begins where the last ended.
//!
//! The format's rules that decide the rest:
//! - Complete events of one track nest or are disjoint, and what is nested is drawn as a call. Kernels and blocks call
//!   nothing, so those that overlap get tracks of their own; so do an empty one and its neighbour at the same moment.
//! - A viewer reads events by time, and those of one moment in the file's order. It binds an end of a flow to the slice that
//!   is then open on the track, and drops a flow that finishes before it starts. So a flow's events stand after all slices,
//!   inside the two that they bind, and never in the wrong order of time.
//! - Some viewers name a thread by its number alone, and take the one with its process's number, or 0, for a special one.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Map, Value, json};

use crate::model::{Band, Edge, EdgeKind, End, Slice, Timeline};

/// The timeline as a file for a trace viewer.
pub fn trace(timeline: &Timeline) -> String {
    let time = if timeline.is_virtual { "virtual" } else { "the card's" };
    let about = json!({
        "title": timeline.title, "card": timeline.card, "time": time, "clock_step_ns": timeline.step_ns,
    });
    let mut trace = Trace {
        out: format!("{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":["),
        is_first: true,
        last_id: 2 * timeline.bands.len(),
        last_flow: 0,
    };
    for (at, band) in timeline.bands.iter().enumerate() {
        for (pid, name) in [(2 * at + 1, "streams"), (2 * at + 2, "multiprocessors")] {
            trace.describe(
                Track { pid, tid: pid },
                "process_name",
                &json!({"name": format!("{}: {name}", band.name)}),
            );
            trace.describe(Track { pid, tid: pid }, "process_sort_index", &json!({"sort_index": pid}));
            let label = if timeline.is_virtual { "virtual time" } else { &timeline.card };
            trace.describe(Track { pid, tid: pid }, "process_labels", &json!({"labels": label}));
        }
        trace.ranges(2 * at + 1, band);
        trace.streams(2 * at + 1, band);
        trace.sms(2 * at + 2, band);
    }
    trace.out.push_str("\n]}\n");
    trace.out
}

/// From when to when, ns.
type Interval = (u64, u64);

/// What stands in one row.
type Row<T> = Vec<(Interval, T)>;

#[derive(Clone, Copy)]
struct Track {
    pid: usize,
    tid: usize,
}

/// Where something was put, so that a flow finds it.
#[derive(Clone, Copy)]
struct Place {
    track: Track,
    interval: Interval,
}

impl Place {
    /// Its last moment: an interval does not contain its end, unless it is empty.
    fn last(&self) -> u64 {
        self.interval.1.saturating_sub(1).max(self.interval.0)
    }
}

struct Trace {
    out: String,
    is_first: bool,
    /// The last number that a process or a thread has: no two share one.
    last_id: usize,
    last_flow: usize,
}

impl Trace {
    fn ranges(&mut self, pid: usize, band: &Band) {
        let ranges: Vec<_> = band.ranges.iter().map(|range| (band.extent_ns(range), range)).collect();
        if ranges.is_empty() {
            return;
        }
        for (place, range) in self.row(pid, "ranges", ranges, true) {
            self.complete(place, &range.name, "range", &json!({"submitted": range.slices.len()}));
        }
    }

    /// The streams' slices, and the edges between them.
    fn streams(&mut self, pid: usize, band: &Band) {
        let warnings = band
            .edges
            .iter()
            .any(|edge| edge.kind == EdgeKind::Missing)
            .then(|| self.track(pid, "missing edges"));

        // A flow binds to slices, so an edge that has none at one end gets a mark there: one for all edges of a stream, and
        // a nanosecond long, because half of the viewers do not look into an empty slice.
        let mut rows: BTreeMap<usize, Row<What>> =
            (0..band.streams.len()).map(|stream| (stream, Vec::new())).collect();
        for (index, slice) in band.slices.iter().enumerate() {
            rows.entry(slice.stream).or_default().push(((slice.start_ns, slice.end_ns), What::Slice(index)));
        }
        for edge in &band.edges {
            for (what, end, at) in
                [(leaves(band, edge), edge.from, 0), (arrives(band, edge), edge.to, band.end_ns())]
            {
                let row = rows.entry(end.stream).or_default();
                if !matches!(what, What::Slice(_)) && !row.iter().any(|(_, other)| *other == what) {
                    row.push(((at, at.saturating_add(1)), what));
                }
            }
        }

        let mut places = BTreeMap::new();
        for (stream, row) in rows {
            let name = stream_name(band, stream);
            for (place, what) in self.row(pid, &name, row, false) {
                places.insert(what, place);
                match what {
                    What::Slice(index) => {
                        let slice = &band.slices[index];
                        self.complete(place, &slice.name, "kernel", &slice_args(band, slice));
                    }
                    What::Start(_) => {
                        self.complete(place, "start of the band", "mark", &json!({"stream": name}))
                    }
                    What::End(_) => self.complete(place, "end of the band", "mark", &json!({"stream": name})),
                }
            }
        }
        for edge in &band.edges {
            if let (Some(from), Some(to)) =
                (places.get(&leaves(band, edge)), places.get(&arrives(band, edge)))
            {
                self.flow(band, edge, from, to);
            }
            if let (EdgeKind::Missing, Some(track)) = (edge.kind, warnings) {
                let name = format!(
                    "missing: {}, {} to {}",
                    edge.name,
                    stream_name(band, edge.from.stream),
                    stream_name(band, edge.to.stream)
                );
                let at = format!("\"s\":\"t\",\"ts\":{}", micros(band.arrives_ns(edge)));
                self.event("i", track, &name, &format!("{at},\"cat\":\"missing\""), &edge_args(band, edge));
            }
        }
    }

    fn flow(&mut self, band: &Band, edge: &Edge, from: &Place, to: &Place) {
        // It leaves at the end and arrives at the start where time allows it. Where the two overlap, it does both at the
        // first moment that they share. Where what should come second was over first, only the wrong way round is left.
        let shared = from.interval.0.max(to.interval.0);
        let (start, finish) = if from.last() <= to.interval.0 {
            ((from.track, from.last()), (to.track, to.interval.0))
        } else if shared <= to.last() {
            ((from.track, shared), (to.track, shared))
        } else {
            ((to.track, to.last()), (from.track, shared))
        };
        self.last_flow += 1;
        let category = match edge.kind {
            EdgeKind::Event => "event",
            EdgeKind::Empty => "empty",
            EdgeKind::Missing => "missing",
        };
        for (phase, (track, at), binding) in [("s", start, ""), ("f", finish, ",\"bp\":\"e\"")] {
            let rest =
                format!("\"ts\":{},\"id\":{},\"cat\":\"{category}\"{binding}", micros(at), self.last_flow);
            self.event(phase, track, &edge.name, &rest, &edge_args(band, edge));
        }
    }

    fn sms(&mut self, pid: usize, band: &Band) {
        let mut rows: BTreeMap<u32, Row<(&Slice, usize)>> =
            (0..band.sms).map(|sm| (sm, Vec::new())).collect();
        for slice in &band.slices {
            for (index, block) in slice.blocks.iter().enumerate() {
                rows.entry(block.sm).or_default().push(((block.start_ns, block.end_ns), (slice, index)));
            }
        }
        for (sm, blocks) in rows {
            for (place, (slice, index)) in self.row(pid, &format!("SM {sm}"), blocks, false) {
                let args = json!({"block": index, "stream": stream_name(band, slice.stream)});
                self.complete(place, &slice.name, "block", &args);
            }
        }
    }

    /// Tracks for what stands in one row, at least one: `name`, and `name (2)` and so on for what does not fit. What
    /// comes back is in the order in which it must be written, an outer one before what is in it.
    fn row<T>(&mut self, pid: usize, name: &str, mut row: Row<T>, may_nest: bool) -> Vec<(Place, T)> {
        row.sort_by_key(|(interval, _)| (interval.0, u64::MAX - interval.1));
        let mut tracks = vec![self.track(pid, name)];
        // What is open on each track, outermost first.
        let mut open: Vec<Vec<Interval>> = vec![Vec::new()];
        let mut placed = Vec::new();
        for (interval, what) in row {
            let fits = |open: &mut Vec<Interval>| {
                while open.pop_if(|last| is_over(*last, interval)).is_some() {}
                open.last().is_none_or(|last| may_nest && interval.1 <= last.1)
            };
            let lane = open.iter_mut().position(fits).unwrap_or(open.len());
            if lane == open.len() {
                open.push(Vec::new());
                tracks.push(self.track(pid, &format!("{name} ({})", lane + 1)));
            }
            open[lane].push(interval);
            placed.push((Place { track: tracks[lane], interval }, what));
        }
        placed
    }

    fn track(&mut self, pid: usize, name: &str) -> Track {
        self.last_id += 1;
        let track = Track { pid, tid: self.last_id };
        self.describe(track, "thread_name", &json!({"name": name}));
        self.describe(track, "thread_sort_index", &json!({"sort_index": track.tid}));
        track
    }

    fn describe(&mut self, track: Track, what: &str, args: &Value) {
        self.event("M", track, what, "\"ts\":0", args);
    }

    fn complete(&mut self, place: Place, name: &str, category: &str, args: &Value) {
        let (start, end) = place.interval;
        let (at, dur) = (micros(start), micros(end.saturating_sub(start)));
        let rest = format!("\"ts\":{at},\"dur\":{dur},\"cat\":\"{category}\"");
        self.event("X", place.track, name, &rest, args);
    }

    /// One event, on a line of its own.
    fn event(&mut self, phase: &str, track: Track, name: &str, rest: &str, args: &Value) {
        let comma = if self.is_first { "" } else { "," };
        self.is_first = false;
        let Track { pid, tid } = track;
        let name = Value::from(name);
        // Writing to a string cannot fail.
        _ = write!(
            self.out,
            "{comma}\n{{\"ph\":\"{phase}\",\"pid\":{pid},\"tid\":{tid},{rest},\"name\":{name},\"args\":{args}}}"
        );
    }
}

/// What stands on a stream's tracks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A kernel, by its index.
    Slice(usize),
    /// A mark on this stream where an edge leaves without a kernel.
    Start(usize),
    /// The same where it arrives.
    End(usize),
}

/// Whether an interval is over when one starts that does not start before it. An empty one is not over at its own moment.
fn is_over((start, end): Interval, next: Interval) -> bool {
    end < next.0 || (end == next.0 && start < end && next.0 < next.1)
}

/// Microseconds, the format's unit, with all nanoseconds: a binary fraction would lose them after some weeks.
fn micros(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

fn leaves(band: &Band, edge: &Edge) -> What {
    slice(band, edge.from).map_or(What::Start(edge.from.stream), What::Slice)
}

fn arrives(band: &Band, edge: &Edge) -> What {
    slice(band, edge.to).map_or(What::End(edge.to.stream), What::Slice)
}

fn slice(band: &Band, end: End) -> Option<usize> {
    end.slice.filter(|&slice| slice < band.slices.len())
}

fn stream_name(band: &Band, stream: usize) -> String {
    band.streams.get(stream).map_or_else(|| format!("stream {stream}"), |stream| stream.name.clone())
}

fn slice_args(band: &Band, slice: &Slice) -> Value {
    let mut details = Map::new();
    for (word, answer) in &slice.details {
        match details.get_mut(word) {
            Some(Value::String(before)) => *before = format!("{before}; {answer}"),
            _ => _ = details.insert(word.clone(), answer.as_str().into()),
        }
    }
    let kind = band.streams.get(slice.stream).map(|stream| &stream.kind);
    json!({
        "stream": stream_name(band, slice.stream), "stream kind": kind, "blocks": slice.blocks.len(), "details": details,
    })
}

fn edge_args(band: &Band, edge: &Edge) -> Value {
    json!({
        "from": stream_name(band, edge.from.stream), "to": stream_name(band, edge.to.stream), "words": edge.words,
    })
}
