//! The trace file, read back by the format's rules as a viewer does, without the writer's help.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "support/random.rs"]
mod random;
#[path = "support/lesson.rs"]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use timeline::chrome::trace;
use timeline::model::{Band, Edge, EdgeKind, End, Range, Timeline};

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow, rename = "traceEvents")]
    events: Vec<Raw<'a>>,
    #[serde(rename = "displayTimeUnit")]
    unit: String,
    #[serde(rename = "otherData")]
    about: Value,
}

#[derive(Deserialize)]
struct Raw<'a> {
    ph: String,
    pid: u64,
    tid: u64,
    name: String,
    args: Value,
    #[serde(default)]
    cat: String,
    #[serde(borrow)]
    ts: &'a RawValue,
    #[serde(borrow)]
    dur: Option<&'a RawValue>,
    id: Option<u64>,
    bp: Option<String>,
}

type Track = (u64, u64);

#[derive(Clone, Debug, PartialEq)]
struct Slice {
    track: Track,
    category: String,
    name: String,
    start: u64,
    end: u64,
    args: Value,
}

/// What a viewer knows after it has read the file.
#[derive(Default)]
struct View {
    processes: BTreeMap<u64, String>,
    threads: BTreeMap<Track, String>,
    slices: Vec<Slice>,
    instants: Vec<Slice>,
    /// From which slice to which, with category, name and words.
    flows: Vec<(usize, usize, [String; 3])>,
}

/// Nanoseconds, from the digits: a double has too few for the last of them.
fn ns(micros: &RawValue) -> u64 {
    let text = micros.get();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    assert!(fraction.len() <= 3 && !text.starts_with('-'), "{text}");
    whole.parse::<u64>().unwrap() * 1000 + format!("{fraction:0<3}").parse::<u64>().unwrap()
}

impl View {
    fn of(text: &str) -> Self {
        let mut file: File<'_> = serde_json::from_str(text).unwrap();
        assert_eq!(file.unit, "ns");
        // A viewer sorts by time, and keeps the file's order within a moment.
        file.events.sort_by_key(|event| ns(event.ts));
        let mut view = View::default();
        let mut open: BTreeMap<Track, Vec<usize>> = BTreeMap::new();
        let mut started = BTreeMap::new();
        for Raw { ph, pid, tid, name, args, cat, ts, dur, id, bp } in file.events {
            let (track, at) = ((pid, tid), ns(ts));
            let stack = open.entry(track).or_default();
            match ph.as_str() {
                "M" if name == "process_name" => {
                    let new = view.processes.insert(pid, args["name"].as_str().unwrap().to_owned());
                    assert_eq!(new, None);
                }
                "M" if name == "thread_name" => {
                    let new = view.threads.insert(track, args["name"].as_str().unwrap().to_owned());
                    assert_eq!(new, None);
                }
                "M" => {}
                "i" => view.instants.push(Slice { track, category: cat, name, start: at, end: at, args }),
                "X" => {
                    let end = at + ns(dur.unwrap());
                    stack.retain(|&slice| view.slices[slice].end > at);
                    if let Some(&outer) = stack.last() {
                        assert!(end <= view.slices[outer].end, "a viewer drops {name:?}: it only overlaps");
                    }
                    stack.push(view.slices.len());
                    view.slices.push(Slice { track, category: cat, name, start: at, end, args });
                }
                "s" | "f" => {
                    let slice = *stack.last().unwrap();
                    let Slice { start, end, .. } = view.slices[slice];
                    assert!(at == start || (start..end).contains(&at), "{at} is not in {start}..{end}");
                    if ph == "s" {
                        assert_eq!(started.insert(id.unwrap(), slice), None, "an identity is used twice");
                    } else {
                        assert_eq!(bp.as_deref(), Some("e"));
                        let from = started
                            .get(&id.unwrap())
                            .expect("a flow ends before it starts: a viewer drops it");
                        view.flows.push((
                            *from,
                            slice,
                            [cat, name, args["words"].as_str().unwrap().to_owned()],
                        ));
                    }
                }
                other => panic!("{other} is not used"),
            }
        }
        assert_eq!(started.len(), view.flows.len(), "a flow that does not end");
        let tids: BTreeSet<_> = view.threads.keys().map(|(_, tid)| tid).collect();
        assert_eq!(tids.len(), view.threads.len(), "a number for two threads");
        assert!(
            view.threads.keys().all(|(pid, tid)| *tid > 0 && !view.processes.contains_key(tid) && *pid > 0)
        );
        assert!(
            view.slices.iter().all(|slice| view.threads.contains_key(&slice.track)),
            "a track without a name"
        );
        view
    }

    /// Slices of this category in this process, as (row, name, start, end).
    fn rows(&self, pid: u64, category: &str) -> Vec<(String, String, u64, u64)> {
        let mut rows: Vec<_> = self
            .slices
            .iter()
            .filter(|slice| slice.track.0 == pid && slice.category == category)
            .map(|slice| (self.row(slice.track), slice.name.clone(), slice.start, slice.end))
            .collect();
        rows.sort();
        rows
    }

    /// A track's name without its number.
    fn row(&self, track: Track) -> String {
        let name = &self.threads[&track];
        name.split_once(" (").map_or(name.as_str(), |(row, _)| row).to_owned()
    }
}

fn is_numbered(name: &str, first: &str) -> bool {
    let number = name.strip_prefix(first).and_then(|rest| rest.strip_prefix(" (")?.strip_suffix(')'));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

fn check(timeline: &Timeline) {
    let text = trace(timeline);
    let view = View::of(&text);
    let names: Vec<_> = view.processes.values().cloned().collect();
    let mut expected = Vec::new();
    for band in &timeline.bands {
        expected.extend([format!("{}: streams", band.name), format!("{}: multiprocessors", band.name)]);
    }
    assert_eq!(names, expected);
    let mut flows = 0;
    let mut warnings = 0;
    for (band, pids) in timeline.bands.iter().zip(view.processes.keys().collect::<Vec<_>>().chunks(2)) {
        check_band(&view, band, *pids[0], *pids[1]);
        flows += band.edges.len();
        warnings += band.edges.iter().filter(|edge| edge.kind == EdgeKind::Missing).count();
    }
    assert_eq!((view.flows.len(), view.instants.len()), (flows, warnings));
}

fn check_band(view: &View, band: &Band, streams: u64, sms: u64) {
    let sorted = |mut rows: Vec<_>| {
        rows.sort();
        rows
    };
    let stream = |index: usize| band.streams[index].name.clone();
    let slices = band
        .slices
        .iter()
        .map(|slice| (stream(slice.stream), slice.name.clone(), slice.start_ns, slice.end_ns));
    let found = view.slices.iter().filter(|slice| slice.track.0 == streams && slice.category == "kernel");
    let found = found.map(|slice| {
        let name = slice.args["stream"].as_str().unwrap().to_owned();
        let track = &view.threads[&slice.track];
        assert!(*track == name || is_numbered(track, &name), "{track:?} is no track of {name:?}");
        (name, slice.name.clone(), slice.start, slice.end)
    });
    assert_eq!(sorted(found.collect()), sorted(slices.collect()));

    let mut blocks = Vec::new();
    for slice in &band.slices {
        blocks.extend(
            slice.blocks.iter().map(|b| (format!("SM {}", b.sm), slice.name.clone(), b.start_ns, b.end_ns)),
        );
    }
    assert_eq!(view.rows(sms, "block"), sorted(blocks));

    let ranges = band.ranges.iter().map(|range| {
        let (start, end) = band.extent_ns(range);
        ("ranges".to_owned(), range.name.clone(), start, end)
    });
    assert_eq!(view.rows(streams, "range"), sorted(ranges.collect()));

    let mut tracks: BTreeMap<Track, Vec<&Slice>> = BTreeMap::new();
    for slice in &view.slices {
        if [streams, sms].contains(&slice.track.0) && slice.category != "range" {
            tracks.entry(slice.track).or_default().push(slice);
        }
    }
    for slices in tracks.values() {
        for two in slices.windows(2) {
            assert!(two[0].end <= two[1].start, "{two:?} overlap on one track");
        }
    }
    check_edges(view, band, streams);
}

/// Each edge is a flow between its slices, in the order of time, and a missing one is an instant with all its words too.
fn check_edges(view: &View, band: &Band, pid: u64) {
    let end = |end: &End, is_start: bool| match end.slice {
        Some(slice) => {
            let slice = &band.slices[slice];
            ("kernel".to_owned(), slice.name.clone(), slice.start_ns, slice.end_ns)
        }
        None if is_start => ("mark".to_owned(), "start of the band".to_owned(), 0, 1),
        None => ("mark".to_owned(), "end of the band".to_owned(), band.end_ns(), band.end_ns() + 1),
    };
    let category = |edge: &Edge| format!("{:?}", edge.kind).to_lowercase();
    let ordered = |mut two: [(String, String, u64, u64); 2], streams: [String; 2]| {
        let is_backwards = two[1].3 <= two[0].2 && two[1].2 < two[0].2;
        let mut streams = streams;
        if is_backwards {
            two.swap(0, 1);
            streams.swap(0, 1);
        }
        (two, streams)
    };
    let mut expected: Vec<_> = band
        .edges
        .iter()
        .map(|edge| {
            let streams = [&edge.from, &edge.to].map(|end| band.streams[end.stream].name.clone());
            let ends = ordered([end(&edge.from, true), end(&edge.to, false)], streams);
            (ends, [category(edge), edge.name.clone(), edge.words.clone()])
        })
        .collect();
    let found = |slice: usize| {
        let slice = &view.slices[slice];
        let stream = slice.args["stream"].as_str().unwrap().to_owned();
        ((slice.category.clone(), slice.name.clone(), slice.start, slice.end), stream)
    };
    let mut flows: Vec<_> = view
        .flows
        .iter()
        .filter(|(from, ..)| view.slices[*from].track.0 == pid)
        .map(|(from, to, about)| {
            let ((from, from_stream), (to, to_stream)) = (found(*from), found(*to));
            (([from, to], [from_stream, to_stream]), about.clone())
        })
        .collect();
    expected.sort();
    flows.sort();
    assert_eq!(flows, expected);

    let missing = band.edges.iter().filter(|edge| edge.kind == EdgeKind::Missing);
    let mut missing: Vec<_> = missing.map(|edge| (band.arrives_ns(edge), edge.words.clone())).collect();
    let instants = view.instants.iter().filter(|instant| instant.track.0 == pid);
    let mut instants: Vec<_> =
        instants.map(|instant| (instant.start, instant.args["words"].as_str().unwrap().to_owned())).collect();
    missing.sort();
    instants.sort();
    assert_eq!(instants, missing);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn every_interval_edge_and_range_is_found_by_the_formats_rules(timeline in random::timelines()) {
        check(&timeline);
    }
}

#[test]
fn a_lesson_is_read_back_whole() {
    let mut timeline = support::lesson();
    timeline.bands.truncate(3);
    timeline.bands.push(support::pairs(8, 200));
    check(&timeline);
}

#[test]
fn kernels_that_overlap_on_one_stream_get_tracks_of_their_own() {
    let timeline = Timeline { bands: vec![support::pairs(3, 1)], ..support::lesson() };
    let view = View::of(&trace(&timeline));
    let names: Vec<_> = view.threads.values().take(2).map(String::as_str).collect();
    assert_eq!(names, ["s0", "s0 (2)"]);
    let on = |row: &str| {
        let slices = view.slices.iter().filter(|slice| view.threads[&slice.track] == row);
        slices.map(|slice| (slice.name.as_str(), slice.end - slice.start)).collect::<Vec<_>>()
    };
    assert_eq!(on("s0"), [("produce_stage", 20_000); 3]);
    assert_eq!(on("s0 (2)"), [("combine_stage", 15_500); 3]);
}

#[test]
fn ranges_that_nest_share_a_track_and_others_do_not() {
    let mut timeline = support::lesson_without_blocks();
    timeline.bands.truncate(2);
    let range = |name: &str, slices: &[usize]| Range { name: name.into(), slices: slices.to_vec() };
    timeline.bands[1].ranges = vec![range("in", &[0]), range("out", &[0, 1, 2]), range("across", &[2, 3])];
    let view = View::of(&trace(&timeline));
    let track = |name: &str| {
        let range = view.slices.iter().find(|slice| slice.category == "range" && slice.name == name).unwrap();
        view.threads[&range.track].as_str()
    };
    assert_eq!(["out", "in", "across"].map(track), ["ranges", "ranges", "ranges (2)"]);
}

#[test]
fn the_head_says_what_the_times_are() {
    for is_virtual in [true, false] {
        let text = trace(&Timeline { is_virtual, ..support::lesson() });
        let file: File<'_> = serde_json::from_str(&text).unwrap();
        assert_eq!(file.about["card"], "NVIDIA H200 (virtual)");
        assert_eq!(file.about["clock_step_ns"], 32);
        assert_eq!(file.about["time"] == "virtual", is_virtual);
    }
}

#[test]
fn details_that_share_a_word_are_all_there() {
    let mut timeline = support::lesson();
    let slice = &mut timeline.bands[0].slices[0];
    slice.details =
        [("reads", "a"), ("reads", "b"), ("stream", "c")].map(|(w, a)| (w.into(), a.into())).to_vec();
    let view = View::of(&trace(&timeline));
    let slice = view.slices.iter().find(|slice| slice.category == "kernel").unwrap();
    assert_eq!(slice.args["details"], serde_json::json!({"reads": "a; b", "stream": "c"}));
    assert_eq!(slice.args["stream"], "s0");
}

#[test]
#[ignore = "needs trace_processor_shell"]
fn trace_processor_counts_the_same() {
    let timeline = support::lesson();
    let folder = std::env::temp_dir().join(format!("timeline-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (file, query) = (folder.join("trace.json"), folder.join("query.sql"));
    std::fs::write(&file, trace(&timeline)).unwrap();
    std::fs::write(
        &query,
        "select (select count(*) from slice where category = 'kernel') || ',' || \
         (select sum(dur) from slice where category = 'kernel') || ',' || \
         (select count(*) from slice where category = 'block') || ',' || (select count(*) from flow) as counted;",
    )
    .unwrap();
    let output = Command::new("trace_processor_shell").arg("-q").arg(&query).arg(&file).output();
    let output = output.expect("trace_processor_shell is on the PATH");
    std::fs::remove_dir_all(&folder).unwrap();
    let slices = || timeline.bands.iter().flat_map(|band| &band.slices);
    let expected = format!(
        "{},{},{},{}",
        slices().count(),
        slices().map(|slice| slice.end_ns - slice.start_ns).sum::<u64>(),
        slices().map(|slice| slice.blocks.len()).sum::<usize>(),
        timeline.bands.iter().map(|band| band.edges.len()).sum::<usize>(),
    );
    let answer = String::from_utf8_lossy(&output.stdout);
    assert!(
        answer.contains(&expected),
        "{expected} is not in {answer}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
