//! A band: a row for each stream, its kernels as bars, its edges as arrows, its ranges as brackets above.

use super::edges;
use super::route::Lane;
use super::text::{clipped, escaped, number, width, wrapped};
use super::{Axis, BEFORE, LEFT, NAMES, Page, WIDTH, style};
use crate::layout::{self, Lanes, Row};
use crate::model::{Band, EdgeKind, End, Kinds};
use crate::words;

/// A band with more rows than this has lower ones.
const MANY: usize = 10;
/// The narrowest bar.
const LEAST: f64 = 2.5;
/// Size of the text in and beside bars.
const SMALL: f64 = 12.0;

/// Draws it below what the page has.
pub(super) fn draw(page: &mut Page, axis: &Axis, band: &Band) {
    page.down(44.0);
    page.text("band", LEFT, &band.name);
    for line in wrapped(&band.caption, 13.0, WIDTH - 2.0 * LEFT) {
        page.down(19.0);
        page.text("", LEFT, &line);
    }
    page.down(8.0);
    ranges(page, axis, band);
    let field = Field::new(axis, band, page.y);
    field.streams(page, axis);
    field.bars(page);
    edges::draw(page, axis, &field);
    field.names(page);
    page.y = field.bottom();
    axis.labels(page);
}

/// Brackets over the work of each range.
fn ranges(page: &mut Page, axis: &Axis, band: &Band) {
    const SIZE: f64 = 11.0;
    const LEVEL: f64 = 26.0;
    let mut brackets: Vec<_> = band
        .ranges
        .iter()
        .map(|range| {
            let (start, end) = band.extent_ns(range);
            let (left, right) = axis.span(start, end, LEAST);
            (left, right, clipped(&range.name, SIZE, WIDTH - LEFT - left), &range.name)
        })
        .collect();
    brackets.sort_by(|one, other| one.0.total_cmp(&other.0).then(other.1.total_cmp(&one.1)));
    let mut levels = Lanes::default();
    let top = page.y;
    for (left, right, name, whole) in brackets {
        let level = levels.place(left, right.max(left + width(&name, SIZE) + 8.0));
        let y = top + level as f64 * LEVEL;
        let (left, right) = (number(left), number(right));
        page.put(&format!(
            "<g><title>{}</title><text class=\"tick\" x=\"{left}\" y=\"{}\">{}</text><path class=\"range\" \
             d=\"M{left} {bottom}v-5H{right}v5\"/></g>\n",
            escaped(whole),
            number(y + 12.0),
            escaped(&name),
            bottom = number(y + 21.0),
        ));
    }
    page.down(levels.len() as f64 * LEVEL);
}

/// Where a band's rows are.
pub(super) struct Field<'b> {
    /// The band.
    pub band: &'b Band,
    rows: Vec<Row>,
    /// The rows on the page.
    pub lanes: Vec<Lane>,
    /// The middle of the gap above each row, and of the one below the last.
    pub gaps: Vec<f64>,
    /// For each slice its row and its place there.
    places: Vec<Option<(usize, usize)>>,
    kinds: Kinds<'b>,
}

impl<'b> Field<'b> {
    fn new(axis: &Axis, band: &'b Band, top: f64) -> Self {
        let rows = layout::rows(band);
        let mut places = vec![None; band.slices.len()];
        for (index, row) in rows.iter().enumerate() {
            row.slices.iter().enumerate().for_each(|(place, &slice)| places[slice] = Some((index, place)));
        }
        let mut field =
            Field { band, rows, lanes: Vec::new(), gaps: Vec::new(), places, kinds: band.kinds() };
        let (height, gap) = if field.rows.len() > MANY { (18.0, 9.0) } else { (28.0, 15.0) };
        let mut gaps: Vec<f64> = field.rows.iter().map(|row| if row.lane > 0 { 5.0 } else { gap }).collect();
        gaps.push(gap);
        for edge in band.edges.iter().filter(|edge| edge.kind == EdgeKind::Missing) {
            // A missing edge carries its name in the gap beside the row that it leaves.
            if let Some((from, to)) = field.row_of(edge.from).zip(field.row_of(edge.to)) {
                gaps[from + usize::from(to >= from)] = 26.0;
            }
        }
        let mut y = top;
        for (row, gap) in field.rows.iter().zip(&gaps) {
            let slices = row.slices.iter().map(|&slice| &band.slices[slice]);
            let bars: Vec<_> = slices.map(|slice| (axis.x(slice.start_ns), axis.x(slice.end_ns))).collect();
            field.gaps.push(y + gap / 2.0);
            y += gap;
            field.lanes.push(Lane { top: y, height, bars: layout::widened(&bars, LEAST, axis.right()) });
            y += height;
        }
        field.gaps.extend(gaps.last().map(|gap| y + gap / 2.0));
        field
    }

    fn bottom(&self) -> f64 {
        self.gaps
            .last()
            .map_or(0.0, |gap| 2.0 * gap - self.lanes.last().map_or(*gap, |lane| lane.top + lane.height))
    }

    /// The row in which an edge leaves or arrives: its slice's, else its stream's first.
    pub fn row_of(&self, end: End) -> Option<usize> {
        let of_slice =
            end.slice.and_then(|slice| self.places.get(slice).copied().flatten()).map(|(row, _)| row);
        of_slice.or_else(|| self.rows.iter().position(|row| row.stream == end.stream))
    }

    /// The bar at which an edge leaves or arrives.
    pub fn bar_of(&self, end: End) -> Option<(f64, f64)> {
        let (row, place) = self.places.get(end.slice?).copied().flatten()?;
        self.lanes.get(row)?.bars.get(place).copied()
    }

    /// The rows with the streams' names, and the axis's ticks through them.
    fn streams(&self, page: &mut Page, axis: &Axis) {
        let (left, width) = (number(axis.left - BEFORE), number(axis.width + BEFORE));
        for lane in &self.lanes {
            let (y, height) = (number(lane.top), number(lane.height));
            page.put(&format!(
                "<rect class=\"row\" x=\"{left}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/>\n"
            ));
        }
        axis.grid(page, self.gaps.first().copied().unwrap_or(page.y), self.bottom());
        for (row, lane) in self.rows.iter().zip(&self.lanes).filter(|(row, _)| row.lane == 0) {
            let stream = &self.band.streams[row.stream];
            let whole = format!("{}, {}", stream.name, stream.kind);
            let kind_fits = self.rows.len() <= MANY;
            page.put(&format!(
                "<g><title>{}</title><text x=\"{LEFT}\" y=\"{}\">{}</text>",
                escaped(&whole),
                number(lane.middle() + if kind_fits { -1.0 } else { 4.5 }),
                escaped(&clipped(&stream.name, 13.0, NAMES - 8.0))
            ));
            if kind_fits {
                page.put(&format!(
                    "<text class=\"kind\" x=\"{LEFT}\" y=\"{}\">{}</text>",
                    number(lane.middle() + 11.0),
                    escaped(&clipped(&stream.kind, 10.0, NAMES - 8.0))
                ));
            }
            page.put("</g>\n");
        }
    }

    /// Every slice by its index, with its row's lane and its bar.
    fn each_bar(&self) -> impl Iterator<Item = (usize, &Lane, usize)> {
        self.rows.iter().zip(&self.lanes).flat_map(move |(row, lane)| {
            row.slices.iter().enumerate().map(move |(place, &slice)| (slice, lane, place))
        })
    }

    fn bars(&self, page: &mut Page) {
        for (index, lane, place) in self.each_bar() {
            let slice = &self.band.slices[index];
            let (left, right) = lane.bars[place];
            let mut title = words::slice(self.band, slice);
            for (word, answer) in &slice.details {
                title += &format!("\n{word}: {answer}");
            }
            page.put(&format!(
                "<rect class=\"bar {}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\"><title>{}</title></rect>\n",
                style::fill(self.kinds.of_slices[index]),
                number(left),
                number(lane.top),
                number(seen(right - left)),
                number(lane.height),
                if right - left > 8.0 { "2" } else { "0" },
                escaped(&title)
            ));
        }
    }

    /// The kernels' names: in the bar, or beside it where there is room.
    fn names(&self, page: &mut Page) {
        for (index, lane, place) in self.each_bar() {
            let slice = &self.band.slices[index];
            let (left, right) = lane.bars[place];
            let room = lane.bars.get(place + 1).map_or(WIDTH, |next| next.0) - right;
            let long =
                format!("{} · {} us", slice.name, words::us(slice.end_ns.saturating_sub(slice.start_ns)));
            let inside =
                [&long, &slice.name].into_iter().find(|text| width(text, SMALL) + 14.0 <= right - left);
            let beside = [&long, &slice.name].into_iter().find(|text| width(text, SMALL) + 14.0 <= room);
            let (class, x, text) = match (inside, beside) {
                (Some(text), _) => (style::on_fill(self.kinds.of_slices[index]), left + 7.0, text),
                (None, Some(text)) => ("beside".to_owned(), right + 7.0, text),
                (None, None) => continue,
            };
            let (x, y) = (number(x), number(lane.middle() + 4.2));
            page.put(&format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{}</text>\n", escaped(text)));
        }
    }
}

/// The width of a bar with a seam before the next.
fn seen(width: f64) -> f64 {
    if width > 4.0 { width - 1.0 } else { width }
}
