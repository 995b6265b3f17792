//! Timelines to draw: what a lesson's look like, and what none should look like.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use timeline::model::{Band, Block, Edge, EdgeKind, End, Range, Slice, Stream, Timeline};

/// What the fork and join lesson makes on one card: right, serial and broken, and a band of dependent launches.
pub fn lesson() -> Timeline {
    Timeline {
        title: "forkjoin".into(),
        card: "NVIDIA H200 (virtual)".into(),
        is_virtual: true,
        step_ns: 32,
        bands: vec![diamond(), serial(), broken(), pairs(64, 4099)],
    }
}

/// The same without what makes it big.
pub fn lesson_without_blocks() -> Timeline {
    let mut timeline = lesson();
    for slice in timeline.bands.iter_mut().flat_map(|band| &mut band.slices) {
        slice.blocks.clear();
    }
    timeline
}

const SMS: u32 = 132;
const GRIND: u64 = 587_000;

fn diamond() -> Band {
    let mut slices = vec![grind(0, 0, 0)];
    slices.extend((1..=4).map(|branch| grind(branch, GRIND + 1_000 + 32 * branch as u64, branch)));
    slices.push(sum_four(2 * GRIND + 2_200));
    let fork = (1..=4).map(|branch| event("fork", (0, 0), (branch, branch)));
    let join = (1..=4).map(|branch| event(&format!("joined-{branch}"), (branch, branch), (0, 5)));
    Band {
        caption: "The four branches start within 0.1 us of one another, after upstream's end at 587 us."
            .into(),
        edges: fork.chain(join).collect(),
        ranges: phases(),
        ..band("diamond", 5, slices)
    }
}

fn serial() -> Band {
    let mut slices: Vec<_> = (0..5).map(|at| grind(0, at as u64 * (GRIND + 1_500), at)).collect();
    slices.push(sum_four(5 * (GRIND + 1_500)));
    let ranges = vec![range("serial", 0..6)];
    Band {
        caption: "One stream: five grind kernels one after another, 2.95 ms.".into(),
        ranges,
        ..band("serial", 1, slices)
    }
}

fn broken() -> Band {
    let mut slices = vec![grind(0, 0, 0)];
    slices.extend((1..=4).map(|branch| grind(branch, 5_000 * branch as u64, branch)));
    slices.push(sum_four(GRIND + 23_000));
    let mut edges = Vec::new();
    for branch in 1..=4 {
        let to = End { stream: branch, slice: Some(branch) };
        edges.push(Edge {
            kind: EdgeKind::Empty,
            name: "fork-too-early".into(),
            from: End { stream: 0, slice: None },
            to,
            words: "recorded on s0 before anything was submitted to it: the wait is over at once".into(),
        });
        edges.push(Edge {
            kind: EdgeKind::Missing,
            name: "mid".into(),
            from: End { stream: 0, slice: Some(0) },
            to,
            words: format!(
                "missing edge from `s0` to `s{branch}`: bytes 0..4194304 of `mid`\n  (1) host/src/lesson/diamond.rs:131: \
                 kernel `grind_fma` on `s0` writes them\n  (2) host/src/lesson/diamond.rs:137: kernel `grind_fma` on \
                 `s{branch}` reads them\n  cause: `fork-too-early` was recorded on `s0` before (1) was submitted, so the \
                 wait of `s{branch}` does not cover (1)\n  repair: record `fork-too-early` after (1) and before the wait"
            ),
        });
        edges.push(event(&format!("joined-{branch}"), (branch, branch), (0, 5)));
    }
    Band {
        caption:
            "The branches start 582 to 567 us before upstream's end: they race the kernel that feeds them."
                .into(),
        edges,
        ranges: phases(),
        ..band("broken order", 5, slices)
    }
}

/// Pairs of kernels on one stream, of which the second starts while the first one drains.
pub fn pairs(count: usize, blocks: u32) -> Band {
    let mut slices = Vec::new();
    for pair in 0..count as u64 {
        for (name, start, time) in
            [("produce_stage", pair * 30_000, 20_000), ("combine_stage", pair * 30_000 + 14_000, 15_500)]
        {
            slices.push(kernel(name, 0, start, time, blocks));
        }
    }
    Band {
        caption: "Dependent launch: every combine_stage starts 6 us before its produce_stage ends.".into(),
        ..band("dependent launch", 1, slices)
    }
}

fn phases() -> Vec<Range> {
    vec![range("upstream", 0..1), range("fork", 1..5), range("join", 5..6)]
}

fn range(name: &str, slices: std::ops::Range<usize>) -> Range {
    Range { name: name.into(), slices: slices.collect() }
}

pub fn band(name: &str, streams: usize, slices: Vec<Slice>) -> Band {
    let stream = |at| Stream { name: format!("s{at}"), kind: "non-blocking".into() };
    Band {
        name: name.into(),
        caption: String::new(),
        streams: (0..streams).map(stream).collect(),
        sms: SMS,
        slices,
        edges: Vec::new(),
        ranges: Vec::new(),
    }
}

/// Eight blocks, on multiprocessors that no other branch uses.
fn grind(stream: usize, start_ns: u64, branch: usize) -> Slice {
    let block = |at: u32| Block {
        sm: branch as u32 * 8 + at,
        start_ns: start_ns + u64::from(at % 3) * 32,
        end_ns: start_ns + GRIND - u64::from(at % 5) * 640,
    };
    Slice {
        name: "grind_fma".into(),
        stream,
        start_ns,
        end_ns: start_ns + GRIND,
        details: [
            ("launch", "8 x 256"),
            ("caller", "host/src/lesson/diamond.rs:131"),
            ("reads", "src"),
            ("writes", "mid"),
        ]
        .map(|(word, answer)| (word.into(), answer.into()))
        .to_vec(),
        blocks: (0..8).map(block).collect(),
    }
}

fn sum_four(start_ns: u64) -> Slice {
    kernel("sum_four", 0, start_ns, 4_000, 4096)
}

/// A kernel whose blocks take turns: eight at once on each multiprocessor.
pub fn kernel(name: &str, stream: usize, start_ns: u64, time: u64, blocks: u32) -> Slice {
    let waves = u64::from(blocks.div_ceil(8 * SMS));
    let block = |at: u32| {
        let (wave, place) = (u64::from(at / (8 * SMS)), u64::from(at % (8 * SMS) / SMS));
        let start_ns = start_ns + time * wave / waves + place * time / waves / 40;
        Block {
            sm: at % SMS,
            start_ns,
            end_ns: start_ns + time / waves * 39 / 40 - place * time / waves / 40,
        }
    };
    Slice {
        name: name.into(),
        stream,
        start_ns,
        end_ns: start_ns + time,
        details: vec![("launch".into(), format!("{blocks} x 256"))],
        blocks: (0..blocks).map(block).collect(),
    }
}

pub fn event(name: &str, from: (usize, usize), to: (usize, usize)) -> Edge {
    let end = |(stream, slice)| End { stream, slice: Some(slice) };
    Edge {
        kind: EdgeKind::Event,
        name: name.into(),
        from: end(from),
        to: end(to),
        words: format!("`{name}`: recorded on s{}, waited for by s{}", from.0, to.0),
    }
}
