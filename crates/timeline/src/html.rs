//! One page for a browser: to zoom, to pan and to ask. It needs no network and no other file, and it knows no other drawing.
//!
//! What the page does is in `page.html`, `page.css`, `page.js` (what is there, and what a person does with it) and
//! `page_draw.js` (the canvases). Here they are put together with the data.

use serde::Serialize;

use crate::model::{Band, Edge, EdgeKind, End, Range, Slice, Stream, Timeline};

const PAGE: &str = include_str!("page.html");
const PARTS: [(&str, &str); 3] = [
    ("/* page.css */", include_str!("page.css")),
    ("/* page_draw.js */", include_str!("page_draw.js")),
    ("/* page.js */", include_str!("page.js")),
];

/// The timeline as a page.
pub fn page(timeline: &Timeline) -> String {
    let title = text(&format!("{} on {}", timeline.title, timeline.card));
    let data = json(&Data::of(timeline));
    let mut parts = vec![("<!-- title -->", title.as_str()), ("/* data */", data.as_str())];
    parts.extend(PARTS);
    // Only the page's own text is searched: what was put in may contain anything.
    let mut page = String::new();
    let mut rest = PAGE;
    while let Some((at, marker, part)) =
        parts.iter().filter_map(|(marker, part)| Some((rest.find(marker)?, *marker, *part))).min()
    {
        page.push_str(&rest[..at]);
        page.push_str(part);
        rest = &rest[at + marker.len()..];
    }
    page + rest
}

/// Text for an element's content.
fn text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

/// JSON that cannot end the script element that it is in, nor begin a comment there.
fn json(data: &impl Serialize) -> String {
    // Plain data with text as keys always has a JSON form.
    let json = serde_json::to_string(data).unwrap_or_default();
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

/// The model as the page reads it: what the model computes is computed, and blocks, of which there are many, are bare
/// numbers.
#[derive(Serialize)]
struct Data<'a> {
    title: &'a str,
    card: &'a str,
    is_virtual: bool,
    step_ns: u64,
    end_ns: u64,
    bands: Vec<BandData<'a>>,
}

#[derive(Serialize)]
struct BandData<'a> {
    name: &'a str,
    caption: &'a str,
    streams: &'a [Stream],
    sms: u32,
    slices: Vec<SliceData<'a>>,
    edges: Vec<EdgeData<'a>>,
    ranges: Vec<RangeData<'a>>,
}

#[derive(Serialize)]
struct SliceData<'a> {
    name: &'a str,
    stream: usize,
    start: u64,
    end: u64,
    details: &'a [(String, String)],
    /// Multiprocessor, start and end of each block, one after another.
    blocks: Vec<u64>,
}

#[derive(Serialize)]
struct EdgeData<'a> {
    kind: EdgeKind,
    name: &'a str,
    from: EndData,
    to: EndData,
    words: &'a str,
}

#[derive(Serialize)]
struct EndData {
    stream: usize,
    slice: Option<usize>,
    at: u64,
}

#[derive(Serialize)]
struct RangeData<'a> {
    name: &'a str,
    start: u64,
    end: u64,
}

impl<'a> Data<'a> {
    fn of(timeline: &'a Timeline) -> Self {
        Data {
            title: &timeline.title,
            card: &timeline.card,
            is_virtual: timeline.is_virtual,
            step_ns: timeline.step_ns,
            end_ns: timeline.end_ns(),
            bands: timeline.bands.iter().map(BandData::of).collect(),
        }
    }
}

impl<'a> BandData<'a> {
    fn of(band: &'a Band) -> Self {
        BandData {
            name: &band.name,
            caption: &band.caption,
            streams: &band.streams,
            sms: band
                .slices
                .iter()
                .flat_map(|slice| &slice.blocks)
                .map(|block| block.sm + 1)
                .fold(band.sms, u32::max),
            slices: band.slices.iter().map(SliceData::of).collect(),
            edges: band.edges.iter().map(|edge| EdgeData::of(band, edge)).collect(),
            ranges: band.ranges.iter().map(|range| RangeData::of(band, range)).collect(),
        }
    }
}

impl<'a> SliceData<'a> {
    fn of(slice: &'a Slice) -> Self {
        let blocks = slice.blocks.iter();
        SliceData {
            name: &slice.name,
            stream: slice.stream,
            start: slice.start_ns,
            end: slice.end_ns,
            details: &slice.details,
            blocks: blocks.flat_map(|block| [u64::from(block.sm), block.start_ns, block.end_ns]).collect(),
        }
    }
}

impl<'a> EdgeData<'a> {
    fn of(band: &Band, edge: &'a Edge) -> Self {
        let end = |end: End, at| EndData { stream: end.stream, slice: end.slice, at };
        EdgeData {
            kind: edge.kind,
            name: &edge.name,
            from: end(edge.from, band.leaves_ns(edge)),
            to: end(edge.to, band.arrives_ns(edge)),
            words: &edge.words,
        }
    }
}

impl<'a> RangeData<'a> {
    fn of(band: &Band, range: &'a Range) -> Self {
        let (start, end) = band.extent_ns(range);
        RangeData { name: &range.name, start, end }
    }
}
