//! What a drawing says in words: times, edges in brief, and all of it for a reader who cannot see it.

use crate::model::{Band, Edge, EdgeKind, Slice, Timeline};

/// Slices of one stream that are told one by one.
const TOLD: usize = 8;

/// A time in microseconds, without the zeros that say nothing.
pub(crate) fn us(ns: u64) -> String {
    let text = format!("{}.{:03}", ns / 1000, ns % 1000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A stream's name; an index that has none is said as a number.
pub(crate) fn stream(band: &Band, index: usize) -> String {
    band.streams.get(index).map_or_else(|| format!("stream {index}"), |stream| stream.name.clone())
}

/// The edges of a kind, those that are alike merged: `s0 -> s1 s2 by fork`, `s1 s2 -> s0 by done1 done2`; of missing ones
/// `s0 -> s1 s2 (mid)`.
pub(crate) fn edges(band: &Band, kind: EdgeKind) -> Vec<String> {
    // From which streams, to which, by which names. Edges that leave one stream by one name are one; then those that arrive
    // at the same streams are.
    let mut merged: Vec<[Vec<String>; 3]> = Vec::new();
    for edge in band.edges.iter().filter(|edge| edge.kind == kind) {
        let from = vec![stream(band, edge.from.stream)];
        let to = stream(band, edge.to.stream);
        let by = vec![edge.name.clone()];
        match merged.iter_mut().find(|[its_from, _, its_by]| *its_from == from && *its_by == by) {
            Some([_, its_to, _]) => add(its_to, to),
            None => merged.push([from, vec![to], by]),
        }
    }
    let mut groups: Vec<[Vec<String>; 3]> = Vec::new();
    for [from, to, by] in merged {
        match groups.iter_mut().find(|[_, its_to, _]| *its_to == to) {
            Some([its_from, _, its_by]) => {
                from.into_iter().for_each(|name| add(its_from, name));
                by.into_iter().for_each(|name| add(its_by, name));
            }
            None => groups.push([from, to, by]),
        }
    }
    let say = |[from, to, by]: [Vec<String>; 3]| {
        let [from, to, by] = [from, to, by].map(|names| names.join(" "));
        if kind == EdgeKind::Missing {
            format!("{from} -> {to} ({by})")
        } else {
            format!("{from} -> {to} by {by}")
        }
    };
    groups.into_iter().map(say).collect()
}

fn add(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}

/// A slice in one line: `grind_fma on s1, 588 to 1175 us`.
pub(crate) fn slice(band: &Band, slice: &Slice) -> String {
    let (start, end) = (us(slice.start_ns), us(slice.end_ns));
    format!("{} on {}, {start} to {end} us", slice.name, stream(band, slice.stream))
}

/// An edge in one line: `missing edge mid: s0 to s1`.
pub(crate) fn edge(band: &Band, edge: &Edge) -> String {
    let what = match edge.kind {
        EdgeKind::Event => "event",
        EdgeKind::Empty => "wait that orders nothing",
        EdgeKind::Missing => "missing edge",
    };
    format!("{what} {}: {} to {}", edge.name, stream(band, edge.from.stream), stream(band, edge.to.stream))
}

/// The greatest number of slices that ran at once, and from when to when they first did, ns.
fn most_at_once(band: &Band) -> (usize, u64, u64) {
    let mut changes = Vec::new();
    for slice in band.slices.iter().filter(|slice| slice.start_ns < slice.end_ns) {
        // An end sorts before a start of the same time: what only touches does not overlap.
        changes.extend([(slice.start_ns, true), (slice.end_ns, false)]);
    }
    changes.sort_by_key(|&(at, starts)| (at, starts));
    let (mut running, mut most) = (0_usize, (0, 0, 0));
    for (&(at, starts), next) in changes.iter().zip(changes.iter().skip(1)) {
        running = if starts { running + 1 } else { running.saturating_sub(1) };
        if running > most.0 {
            most = (running, at, next.0);
        }
    }
    most
}

/// The whole timeline in sentences.
pub(crate) fn whole(timeline: &Timeline) -> String {
    let times = if timeline.is_virtual { "Virtual times" } else { "Times" };
    let mut text = format!("{times} of {} in microseconds. ", timeline.card);
    for band in &timeline.bands {
        text += &self::band(band);
    }
    text.trim_end().to_owned()
}

fn band(band: &Band) -> String {
    let mut text = format!("{}: {} ", band.name, band.caption);
    for (index, stream) in band.streams.iter().enumerate() {
        let slices: Vec<_> = band.slices.iter().filter(|slice| slice.stream == index).collect();
        let told = slices.iter().take(TOLD);
        let told = told.map(|slice| format!("{} {} to {}", slice.name, us(slice.start_ns), us(slice.end_ns)));
        let mut told = told.collect::<Vec<_>>().join(", ");
        if slices.is_empty() {
            told = "nothing".to_owned();
        } else if slices.len() > TOLD {
            told += &format!(" and {} more", slices.len() - TOLD);
        }
        text += &format!("Stream {}: {told}. ", stream.name);
    }
    let (most, from, to) = most_at_once(band);
    if most > 1 {
        text += &format!("At most {most} kernels at once, first from {} to {}. ", us(from), us(to));
    } else if most == 1 {
        text += "No two kernels at once. ";
    }
    for (kind, what) in [
        (EdgeKind::Event, "Edges"),
        (EdgeKind::Empty, "Waits that order nothing"),
        (EdgeKind::Missing, "Missing"),
    ] {
        let edges = edges(band, kind);
        if !edges.is_empty() {
            text += &format!("{what}: {}. ", edges.join("; "));
        }
    }
    text
}

/// `text` in lines of at most `columns` characters, broken between words, and within a word that is longer than a line.
pub(crate) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines: Vec<String> = Vec::new();
    let mut room = 0;
    for word in text.split_whitespace() {
        let mut letters: Vec<char> = word.chars().collect();
        if let Some(line) = lines.last_mut().filter(|_| letters.len() < room) {
            line.push(' ');
            line.push_str(word);
            room -= letters.len() + 1;
            continue;
        }
        while letters.len() > columns {
            lines.push(letters.drain(..columns).collect());
        }
        room = columns - letters.len();
        lines.push(letters.into_iter().collect());
    }
    lines
}

/// `text` if it is at most `room` wide, else its beginning with an ellipsis.
pub(crate) fn clipped(text: &str, room: usize, width: impl Fn(char) -> usize) -> String {
    const ELLIPSIS: char = '…';
    if text.chars().map(&width).sum::<usize>() <= room {
        return text.to_owned();
    }
    let Some(mut left) = room.checked_sub(width(ELLIPSIS)) else { return String::new() };
    let fits = |letter: &char| {
        let rest = left.checked_sub(width(*letter));
        left = rest.unwrap_or(0);
        rest.is_some()
    };
    let mut text: String = text.chars().take_while(fits).collect();
    text.push(ELLIPSIS);
    text
}
