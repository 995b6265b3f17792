//! Timelines as the lessons make them.

#![allow(dead_code, reason = "each test file uses its own part of this")]

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Strategy, any};
use proptest::sample::select;
use timeline::model::{Band, Block, Edge, EdgeKind, End, Range, Slice, Stream, Timeline};

/// Streams `s0`, `s1` and so on.
pub fn streams(n: usize) -> Vec<Stream> {
    (0..n).map(|index| Stream { name: format!("s{index}"), kind: "blocking".to_owned() }).collect()
}

pub fn band(name: &str, caption: &str, n_streams: usize, sms: u32) -> Band {
    Band {
        name: name.to_owned(),
        caption: caption.to_owned(),
        streams: streams(n_streams),
        sms,
        slices: Vec::new(),
        edges: Vec::new(),
        ranges: Vec::new(),
    }
}

/// Times in us.
pub fn slice(name: &str, stream: usize, start: u64, end: u64) -> Slice {
    Slice {
        name: name.to_owned(),
        stream,
        start_ns: start * 1000,
        end_ns: end * 1000,
        details: vec![("grid".to_owned(), "264 blocks of 256 threads".to_owned())],
        blocks: Vec::new(),
    }
}

/// With so many blocks in waves: at most `at_once` of them on each multiprocessor.
pub fn with_blocks(mut slice: Slice, n: u32, sms: u32, at_once: u32) -> Slice {
    let waves = n.div_ceil(sms * at_once);
    let length = (slice.end_ns - slice.start_ns) / u64::from(waves);
    let block = |index: u32| {
        let wave = index / (sms * at_once);
        let sm = index % sms;
        // The multiprocessors do not begin and end in step.
        let late = u64::from(sm * 37 % 101) * length / 2000;
        let start_ns = slice.start_ns + u64::from(wave) * length + late;
        Block { sm, start_ns, end_ns: start_ns + length - length / 20 }
    };
    slice.blocks = (0..n).map(block).collect();
    slice
}

pub fn edge(kind: EdgeKind, name: &str, from: (usize, Option<usize>), to: (usize, Option<usize>)) -> Edge {
    let end = |(stream, slice)| End { stream, slice };
    Edge { kind, name: name.to_owned(), from: end(from), to: end(to), words: String::new() }
}

pub fn range(name: &str, slices: &[usize]) -> Range {
    Range { name: name.to_owned(), slices: slices.to_vec() }
}

pub fn timeline(title: &str, bands: Vec<Band>) -> Timeline {
    Timeline {
        title: title.to_owned(),
        card: "virtual H200".to_owned(),
        is_virtual: true,
        step_ns: 32,
        bands,
    }
}

/// The diamond: upstream, `branches` side by side, their sum; `starts` are the branches', us.
fn diamond(name: &str, caption: &str, starts: &[u64], sms: u32, blocks: u32) -> Band {
    let n = starts.len();
    let mut band = band(name, caption, n + 1, sms);
    band.slices.push(with_blocks(slice("grind_fma", 0, 0, 587), blocks * 2, sms, 8));
    for (branch, &start) in starts.iter().enumerate() {
        band.slices.push(with_blocks(slice("grind_fma", branch + 1, start, start + 587), blocks * 2, sms, 8));
    }
    let end = starts.iter().max().map_or(0, |last| last + 588);
    band.slices.push(with_blocks(slice("sum_four", 0, end, end + 4), blocks * 31, sms, 8));
    for branch in 1..=n {
        band.edges.push(edge(
            EdgeKind::Event,
            &format!("done{branch}"),
            (branch, Some(branch)),
            (0, Some(n + 1)),
        ));
    }
    band
}

/// All of them, with the names of their files.
pub fn all() -> [(&'static str, Timeline); 3] {
    [("forkjoin", forkjoin(8)), ("pdl", pdl(4)), ("fan", twenty())]
}

/// `forkjoin` with its three orders.
pub fn forkjoin(sms: u32) -> Timeline {
    let blocks = sms;
    let mut right = diamond(
        "diamond",
        "The four branches start 1 us after upstream's end and overlap for 587 of 587 us.",
        &[588, 588, 588, 588],
        sms,
        blocks,
    );
    for branch in 1..=4 {
        right.edges.push(edge(EdgeKind::Event, "fork", (0, Some(0)), (branch, Some(branch))));
    }
    right.ranges = vec![range("upstream", &[0]), range("fork", &[1, 2, 3, 4]), range("join", &[5])];
    let mut serial = band("serial", "The same launches in one stream: nothing overlaps, 2.95 ms.", 1, sms);
    for at in 0..5 {
        serial.slices.push(with_blocks(slice("grind_fma", 0, at * 589, at * 589 + 588), blocks * 2, sms, 8));
    }
    serial.slices.push(with_blocks(slice("sum_four", 0, 2945, 2949), blocks * 31, sms, 8));
    serial.ranges = vec![range("serial", &[0, 1, 2, 3, 4, 5])];
    let mut broken = diamond(
        "broken order",
        "The record stands before the launch that it should cover: the branches start 5 to 20 us after upstream's start \
         and race it. Every call returned success.",
        &[5, 10, 15, 20],
        sms,
        blocks,
    );
    for branch in 1..=4 {
        broken.edges.push(edge(EdgeKind::Empty, "fork-too-early", (0, None), (branch, Some(branch))));
        let mut missing = edge(EdgeKind::Missing, "mid", (0, Some(0)), (branch, Some(branch)));
        missing.words =
            format!("missing edge s0 -> s{branch}: bytes 0..4194304 of mid\n  cause: recorded too early");
        broken.edges.push(missing);
    }
    broken.ranges = vec![range("broken-order", &[0, 1, 2, 3, 4, 5])];
    timeline("forkjoin", vec![right, serial, broken])
}

/// 64 pairs of a primary and a secondary on one stream; a secondary starts before its primary's end.
pub fn pdl(sms: u32) -> Timeline {
    let mut pdl = band("pdl", "64 pairs; every secondary starts before its primary has ended.", 1, sms);
    for pair in 0..64 {
        let at = pair * 30;
        pdl.slices.push(with_blocks(slice("produce_stage", 0, at + 1, at + 16), 2 * sms, sms, 2));
        pdl.slices.push(with_blocks(slice("combine_stage", 0, at + 12, at + 30), 2 * sms, sms, 2));
    }
    let mut few = band("pdl, two pairs and a missing wait", "The second secondary never waits.", 1, 4);
    few.slices = vec![
        slice("produce_stage", 0, 0, 500),
        slice("combine_stage", 0, 420, 960),
        slice("produce_stage", 0, 960, 1400),
        slice("combine_stage", 0, 1300, 1900),
    ];
    few.edges.push(edge(EdgeKind::Missing, "mid", (0, Some(2)), (0, Some(3))));
    timeline("pdl", vec![pdl, few])
}

/// Twenty streams that fan out and in.
pub fn twenty() -> Timeline {
    let mut band = band("fan", "Nineteen streams wait for one, and one for nineteen.", 20, 16);
    band.slices.push(with_blocks(slice("first", 0, 0, 100), 64, 16, 2));
    for stream in 1..20_usize {
        let at = 101 + stream as u64 * 13;
        band.slices.push(with_blocks(slice("work", stream, at, at + 200), 32, 16, 1));
        band.edges.push(edge(EdgeKind::Event, "go", (0, Some(0)), (stream, Some(stream))));
    }
    band.slices.push(with_blocks(slice("last", 0, 560, 700), 64, 16, 2));
    for stream in 1..20 {
        band.edges.push(edge(
            EdgeKind::Event,
            &format!("done{stream}"),
            (stream, Some(stream)),
            (0, Some(20)),
        ));
    }
    timeline("fan", vec![band])
}

/// Any timeline, with names that break what does not escape them, and times from nothing to the end of a clock.
pub fn any_timeline() -> impl Strategy<Value = Timeline> {
    (name(), vec(any_band(), 0..3), any::<bool>()).prop_map(|(title, bands, is_virtual)| Timeline {
        card: title.clone(),
        title,
        is_virtual,
        step_ns: 32,
        bands,
    })
}

fn name() -> impl Strategy<Value = String> {
    let names = [
        "grind_fma",
        "",
        "<&\"'>]]>--",
        "\u{1b}[31mred\u{1b}[0m",
        "\u{0}\u{ffff}\r\n\t",
        "größe·核函数",
        "a_name_that_is_longer_than_any_row_is_wide_and_has_no_space_in_it_at_all_so_that_it_can_not_be_broken",
        "two words",
    ];
    select(names.to_vec()).prop_map(str::to_owned)
}

fn any_band() -> impl Strategy<Value = Band> {
    let scale = select(vec![1_u64, 1000, 1_000_000, u64::MAX / 4_000]);
    let scene = (1..21_usize, 0..30_usize, 1..9_u32, scale);
    scene.prop_flat_map(|(n_streams, n_slices, sms, scale)| {
        let time = move || {
            (0..2000_u64, 0..2000_u64).prop_map(move |(start, length)| (start * scale, length * scale))
        };
        let block = (0..sms, time()).prop_map(|(sm, (start_ns, length))| Block {
            sm,
            start_ns,
            end_ns: start_ns + length,
        });
        let slice = (name(), 0..n_streams, time(), vec(block, 0..20)).prop_map(
            |(name, stream, (start_ns, length), blocks)| {
                let details = vec![(name.clone(), name.clone())];
                Slice { name, stream, start_ns, end_ns: start_ns + length, details, blocks }
            },
        );
        let kind = select(vec![EdgeKind::Event, EdgeKind::Empty, EdgeKind::Missing]);
        let end = move || (0..n_streams, option::of(0..n_slices.max(1)));
        let edges = vec((kind, name(), end(), end(), name()), 0..20);
        let ranges = vec((name(), vec(0..n_slices.max(1), 1..4)), 0..4);
        (name(), vec(name(), n_streams), vec(slice, n_slices), edges, ranges).prop_map(
            move |(name, streams, slices, edges, ranges)| Band {
                caption: format!("{name} and {name}"),
                name,
                streams: streams.into_iter().map(|name| Stream { kind: name.clone(), name }).collect(),
                sms,
                edges: edges
                    .into_iter()
                    .map(|(kind, name, from, to, words)| Edge {
                        words,
                        ..edge(kind, &name, at(from, &slices), at(to, &slices))
                    })
                    .collect(),
                ranges: if slices.is_empty() {
                    Vec::new()
                } else {
                    ranges.into_iter().map(|(name, slices)| Range { name, slices }).collect()
                },
                slices,
            },
        )
    })
}

/// An end at a slice is on that slice's stream.
fn at((stream, slice): (usize, Option<usize>), slices: &[Slice]) -> (usize, Option<usize>) {
    match slice.filter(|&slice| slice < slices.len()) {
        Some(slice) => (slices[slice].stream, Some(slice)),
        None => (stream, None),
    }
}
