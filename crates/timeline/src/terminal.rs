//! A timeline in a terminal: text of a given width, with colour only where it is asked for.

use crate::layout::{self, Row};
use crate::model::{Band, EdgeKind, Slice, Timeline};
use crate::words;

/// Narrower than this it is not drawn.
const NARROWEST: usize = 20;
/// The streams' colours, as the numbers of ANSI escapes. Red is for what is missing.
const STREAMS: [u8; 10] = [34, 33, 32, 35, 36, 94, 93, 92, 95, 96];
const RED: u8 = 31;

/// A cell of a bar.
const FULL: char = '█';
/// A bar's last cell, so that it is seen to end.
const LAST: char = '▌';
/// A cell that several bars share.
const SHARED: char = '▓';

/// Draws it as lines of at most `columns` characters, of 20 if it is fewer. Without `colour` there are no escapes in it.
pub fn draw(timeline: &Timeline, columns: usize, colour: bool) -> String {
    let columns = columns.max(NARROWEST);
    let mut page = Page { out: String::new(), columns, colour };
    let times = if timeline.is_virtual { "virtual time" } else { "measured" };
    let (title, card, step) = (&timeline.title, &timeline.card, timeline.step_ns);
    page.paragraph("", &format!("{title} on {card}, {times}, from a clock with steps of {step} ns"), None);
    let streams = timeline.bands.iter().flat_map(|band| &band.streams);
    let names = streams.map(|stream| stream.name.chars().count()).max().unwrap_or(0).clamp(2, columns / 4);
    for band in &timeline.bands {
        page.out.push('\n');
        page.band(band, names, timeline.end_ns());
    }
    page.out
}

/// What was drawn so far.
struct Page {
    out: String,
    columns: usize,
    colour: bool,
}

/// What stands in a cell: a character, and whose it is.
#[derive(Clone, Copy)]
struct Cell {
    letter: char,
    stream: Option<usize>,
    is_name: bool,
}

const BLANK: Cell = Cell { letter: ' ', stream: None, is_name: false };

impl Page {
    /// `text` in lines of their own, all but the first behind `indent`.
    fn paragraph(&mut self, indent: &str, text: &str, colour: Option<u8>) {
        let room = self.columns - indent.len();
        for (index, line) in words::wrapped(&plain(text), room).iter().enumerate() {
            if index > 0 {
                self.out += indent;
            }
            self.coloured(line, colour);
            self.out.push('\n');
        }
    }

    fn coloured(&mut self, text: &str, colour: Option<u8>) {
        match colour.filter(|_| self.colour) {
            Some(colour) => self.out += &format!("\x1b[{colour}m{text}\x1b[0m"),
            None => self.out += text,
        }
    }

    /// `names` is the width of the streams' names.
    fn band(&mut self, band: &Band, names: usize, end_ns: u64) {
        let cells = self.columns - names - 1;
        self.paragraph("", &format!("{}: {}", band.name, band.caption), None);
        self.line(names, "us", ticks(end_ns, cells).trim_end());
        let mut is_shared = false;
        for row in layout::rows(band) {
            let drawn = draw_row(band, &row, end_ns, cells);
            is_shared |= drawn.iter().any(|cell| cell.letter == SHARED);
            let name = if row.lane == 0 { words::stream(band, row.stream) } else { String::new() };
            let bars = self.cells(&drawn);
            self.line(names, &plain(&name), &bars);
        }
        if is_shared {
            self.paragraph("  ", &format!("{SHARED} several kernels"), None);
        }
        for (kind, what, colour) in [
            (EdgeKind::Event, "", None),
            (EdgeKind::Empty, "orders nothing: ", None),
            (EdgeKind::Missing, "missing: ", Some(RED)),
        ] {
            for edge in words::edges(band, kind) {
                self.paragraph("  ", &format!("{what}{edge}"), colour);
            }
        }
    }

    /// A line with something at the left and something on the axis.
    fn line(&mut self, names: usize, left: &str, right: &str) {
        let left = words::clipped(left, names, |_| 1);
        let line = format!("{left:names$} {right}");
        self.out += line.trim_end();
        self.out.push('\n');
    }

    /// Cells as text; with colour a name stands on its bar's colour.
    fn cells(&self, cells: &[Cell]) -> String {
        let mut out = String::new();
        for alike in cells.chunk_by(|one, next| (one.stream, one.is_name) == (next.stream, next.is_name)) {
            let text: String = alike.iter().map(|cell| cell.letter).collect();
            let stream = alike.first().and_then(|cell| cell.stream).filter(|_| self.colour);
            let is_name = alike.first().is_some_and(|cell| cell.is_name);
            out += &match stream {
                Some(stream) => {
                    let reverse = if is_name { ";7" } else { "" };
                    format!("\x1b[{}{reverse}m{text}\x1b[0m", STREAMS[stream % STREAMS.len()])
                }
                None => text,
            };
        }
        out
    }
}

/// Text without the characters that a terminal obeys.
fn plain(text: &str) -> String {
    let printed = |letter: char| match letter {
        '\n' | '\t' => ' ',
        _ if letter.is_control() => char::REPLACEMENT_CHARACTER,
        _ => letter,
    };
    text.chars().map(printed).collect()
}

/// The axis: each tick's number behind a mark in its cell.
fn ticks(end_ns: u64, cells: usize) -> String {
    let most = cells / (words::us(end_ns).len() + 3);
    let mut out = String::new();
    let mut taken = 0;
    for ns in layout::ticks_ns(end_ns, most.max(1) as u64) {
        let (at, label) = (cell(ns, end_ns, cells), format!("|{}", words::us(ns)));
        if at >= taken && at + label.len() <= cells {
            out += &format!("{:1$}{label}", "", at - out.len());
            taken = out.len() + 1;
        }
    }
    out
}

/// The boundary between cells that is nearest to a time.
fn cell(ns: u64, end_ns: u64, cells: usize) -> usize {
    part(ns, end_ns, 2 * cells, u128::div_euclid).div_ceil(2)
}

/// How many of `n` parts of the axis a time is, as the division rounds.
fn part(ns: u64, end_ns: u64, n: usize, divide: fn(u128, u128) -> u128) -> usize {
    usize::try_from(divide(u128::from(ns) * n as u128, u128::from(end_ns.max(1)))).unwrap_or(0)
}

/// A row's bars in cells, each with its kernel's name where that fits in it or beside it.
fn draw_row(band: &Band, row: &Row, end_ns: u64, n: usize) -> Vec<Cell> {
    let ideal = ideal(band, row, end_ns, n);
    let mut cells = vec![BLANK; n];
    let Some(bars) = apart(&ideal, n) else {
        for slice in row.slices.iter().map(|&slice| &band.slices[slice]) {
            let start = part(slice.start_ns, end_ns, n, u128::div_euclid).min(n - 1);
            let end = part(slice.end_ns, end_ns, n, u128::div_ceil).clamp(start + 1, n);
            for cell in &mut cells[start..end] {
                let letter = if cell.stream.is_some() { SHARED } else { FULL };
                *cell = Cell { letter, stream: Some(row.stream), is_name: false };
            }
        }
        return cells;
    };
    for (index, (&slice, &[start, end])) in row.slices.iter().zip(&bars).enumerate() {
        let bar = Cell { letter: FULL, stream: Some(row.stream), is_name: false };
        cells[start..end].fill(bar);
        cells[end - 1].letter = LAST;
        let name = plain(&band.slices[slice].name);
        let length = name.chars().count();
        let next = bars.get(index + 1).map_or(n, |bar| bar[0]);
        let (at, look) = if length + 2 <= end - start {
            (start + 1, Cell { is_name: true, ..bar })
        } else if end + 1 + length < next || (next == n && end + 1 + length == n) {
            (end + 1, BLANK)
        } else {
            continue;
        };
        for (cell, letter) in cells[at..].iter_mut().zip(name.chars()) {
            *cell = Cell { letter, ..look };
        }
    }
    cells
}

/// Where a row's bars should begin and end. A pause shorter than a cell is not drawn: if it were, rounding would show one in
/// some places and none in others.
fn ideal(band: &Band, row: &Row, end_ns: u64, n: usize) -> Vec<[usize; 2]> {
    let slices: Vec<_> = row.slices.iter().map(|&slice| &band.slices[slice]).collect();
    let bar = |(index, slice): (usize, &&Slice)| {
        let next_ns = slices.get(index + 1).map_or(u64::MAX, |next| next.start_ns);
        let pause_ns = u128::from(next_ns.saturating_sub(slice.end_ns));
        let is_short = pause_ns * (n as u128) < u128::from(end_ns);
        [slice.start_ns, if is_short { next_ns.min(end_ns) } else { slice.end_ns }]
            .map(|ns| cell(ns, end_ns, n))
    };
    slices.iter().enumerate().map(bar).collect()
}

/// Bars that each have a cell at least and none in common, none further than one cell from where it should begin. None if
/// that cannot be.
fn apart(ideal: &[[usize; 2]], n: usize) -> Option<Vec<[usize; 2]>> {
    let mut taken = 0;
    let forward = ideal.iter().map(|&[start, end]| {
        let start = start.max(taken);
        taken = end.max(start + 1);
        [start, taken]
    });
    let mut bars: Vec<_> = forward.collect();
    let mut next = n;
    for [start, end] in bars.iter_mut().rev() {
        *end = (*end).min(next);
        *start = (*start).min(end.checked_sub(1)?);
        next = *start;
    }
    let is_near = bars.iter().zip(ideal).all(|(bar, ideal)| bar[0].abs_diff(ideal[0]) <= 1);
    is_near.then_some(bars)
}
