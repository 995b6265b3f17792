//! Random timelines: names that break formats, intervals that meet in every way.

use proptest::collection::vec;
use proptest::prelude::*;
use timeline::model::{Band, Block, Edge, EdgeKind, End, Range, Slice, Stream, Timeline};

const STREAMS: usize = 3;
const SMS: u32 = 4;

pub fn timelines() -> impl Strategy<Value = Timeline> {
    (names(), names(), any::<bool>(), 1..100u64, vec(bands(), 0..3)).prop_map(
        |(title, card, is_virtual, step_ns, bands)| Timeline { title, card, is_virtual, step_ns, bands },
    )
}

/// Quotes, backslashes, control characters, line separators, what closes a script, and letters of all the world.
pub fn names() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "</script><script>alert(1)</script>",
        "<!--",
        "]]>",
        "\"",
        "'",
        "\\",
        "\u{0}",
        "\n",
        "\u{1f}",
        "\u{7f}",
        "\u{2028}",
        "\u{2029}",
        "זרם",
        "流",
        "🦀",
        "&lt;",
        "grind_fma",
        "$&",
    ];
    let piece = prop_oneof![prop::sample::select(PIECES).prop_map(str::to_owned), any::<String>()];
    vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

/// Short ones close together, so that all ways to meet occur; and some at the end of what a browser counts exactly.
fn intervals() -> impl Strategy<Value = (u64, u64)> {
    let most = 1 << 53;
    prop_oneof![
        8 => (0..20u64, 0..6u64).prop_map(|(start, time)| (start, start + time)),
        1 => (0..most, 0..most).prop_map(|(a, b): (u64, u64)| (a.min(b), a.max(b))),
        1 => (0..3u64).prop_map(move |time| (most - time, most)),
    ]
}

fn bands() -> impl Strategy<Value = Band> {
    vec(slices(), 0..12).prop_flat_map(|slices| {
        let count = slices.len();
        let ranges = match count {
            0 => Just(Vec::new()).boxed(),
            _ => vec((names(), vec(0..count, 1..4)).prop_map(|(name, slices)| Range { name, slices }), 0..4)
                .boxed(),
        };
        let streams = vec((names(), names()).prop_map(|(name, kind)| Stream { name, kind }), STREAMS);
        let of_stream: Vec<_> = slices.iter().map(|slice| slice.stream).collect();
        (names(), names(), streams, Just(slices), vec(edges(of_stream), 0..6), ranges).prop_map(
            |(name, caption, streams, slices, edges, ranges)| Band {
                name,
                caption,
                streams,
                sms: SMS,
                slices,
                edges,
                ranges,
            },
        )
    })
}

fn slices() -> impl Strategy<Value = Slice> {
    let block = (0..SMS, intervals()).prop_map(|(sm, (start_ns, end_ns))| Block { sm, start_ns, end_ns });
    (names(), 0..STREAMS, intervals(), vec((names(), names()), 0..3), vec(block, 0..5)).prop_map(
        |(name, stream, (start_ns, end_ns), details, blocks)| Slice {
            name,
            stream,
            start_ns,
            end_ns,
            details,
            blocks,
        },
    )
}

fn edges(of_stream: Vec<usize>) -> impl Strategy<Value = Edge> {
    let end = move || {
        let of_stream = of_stream.clone();
        (0..STREAMS, proptest::option::of(any::<prop::sample::Index>())).prop_map(move |(stream, slice)| {
            match slice.filter(|_| !of_stream.is_empty()).map(|slice| slice.index(of_stream.len())) {
                Some(slice) => End { stream: of_stream[slice], slice: Some(slice) },
                None => End { stream, slice: None },
            }
        })
    };
    const KINDS: &[EdgeKind] = &[EdgeKind::Event, EdgeKind::Empty, EdgeKind::Missing];
    let kind = prop::sample::select(KINDS);
    (kind, names(), end(), end(), names()).prop_map(|(kind, name, from, to, words)| Edge {
        kind,
        name,
        from,
        to,
        words,
    })
}
