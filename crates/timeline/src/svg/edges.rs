//! A band's edges as arrows, each from the end of what it covers to the start of what waits.

use std::collections::BTreeMap;

use super::band::Field;
use super::route::{self, Point, Stop};
use super::text::{clipped, escaped, number, width};
use super::{Axis, BEFORE, LEFT, Page, WIDTH};
use crate::model::{Edge, EdgeKind, End};
use crate::words;

/// How near bars start or end for their edges to turn on one line.
const TOGETHER: f64 = 24.0;
/// Size of the word at a missing edge.
const SIZE: f64 = 13.0;

/// The class and the arrowhead of a kind of edge.
pub(super) fn class(kind: EdgeKind) -> &'static str {
    match kind {
        EdgeKind::Event => "event",
        EdgeKind::Empty => "empty",
        EdgeKind::Missing => "missing",
    }
}

/// Draws them over the bars.
pub(super) fn draw(page: &mut Page, axis: &Axis, field: &Field<'_>) {
    let all: Vec<_> = field.band.edges.iter().filter_map(|edge| Ends::of(axis, field, edge)).collect();
    let mut common = Common::of(&all);
    let mut halos = String::new();
    let mut arrows = String::new();
    let mut missing = Labels::default();
    for ends in &all {
        let (edge, class) = (ends.edge, class(ends.edge.kind));
        let way = ends.way(field, &mut common);
        let path = route::path(&way);
        halos += &path;
        let (x, y) = way.first().map_or((0.0, 0.0), |&first| first);
        let dot =
            format!("<circle class=\"{class}-head\" cx=\"{}\" cy=\"{}\" r=\"2.5\"/>", number(x), number(y));
        let words = if edge.words.is_empty() { words::edge(field.band, edge) } else { edge.words.clone() };
        arrows += &format!(
            "<g><title>{}</title>{}<path class=\"edge {class}\" d=\"{path}\" marker-end=\"url(#{class})\"/></g>\n",
            escaped(&words),
            if edge.from.slice.is_none() { &dot } else { "" },
        );
        if edge.kind == EdgeKind::Missing {
            missing.add(&way, &edge.name);
        }
    }
    if !all.is_empty() {
        page.put(&format!("<path class=\"halo\" d=\"{halos}\"/>\n{arrows}"));
    }
    missing.draw(page);
}

/// An edge, its rows, and where it leaves and arrives.
struct Ends<'b> {
    edge: &'b Edge,
    from_row: usize,
    to_row: usize,
    leaves: f64,
    arrives: f64,
}

impl<'b> Ends<'b> {
    fn of(axis: &Axis, field: &Field<'_>, edge: &'b Edge) -> Option<Self> {
        let (from_row, to_row) = (field.row_of(edge.from)?, field.row_of(edge.to)?);
        let leaves = field.bar_of(edge.from).map_or(axis.left - BEFORE + 6.0, |bar| bar.1);
        let arrives = field.bar_of(edge.to).map_or_else(|| axis.x(field.band.end_ns()), |bar| bar.0);
        Some(Ends { edge, from_row, to_row, leaves, arrives })
    }

    /// The corners of its way.
    fn way(&self, field: &Field<'_>, common: &mut Common) -> Vec<Point> {
        let Ends { edge, leaves, arrives, .. } = *self;
        // How far before a bar the kind turns at least, at which part of the bar's height, and where in a gap.
        let (nearest, share, in_gap) = match edge.kind {
            EdgeKind::Event => (12.0, 0.0, -2.0),
            EdgeKind::Missing => (15.0, 0.25, 7.0),
            EdgeKind::Empty => (20.0, -0.25, -2.0),
        };
        // What has an end in common turns on one line, unless its other ends are far apart.
        let forks = common.arrive.get(&(class(edge.kind), edge.from)).map_or(&[][..], Vec::as_slice);
        let joins = common.leave.get(&(class(edge.kind), edge.to)).map_or(&[][..], Vec::as_slice);
        let first = forks.iter().copied().filter(|x| *x > arrives - TOGETHER).fold(arrives, f64::min);
        let last = joins.iter().copied().filter(|x| *x < leaves + TOGETHER).fold(leaves, f64::max);
        let is_fork = forks.len() >= joins.len();
        let turn = nearest + common.aside(edge.kind, is_fork, if is_fork { edge.from } else { edge.to });
        let out = if edge.from.slice.is_none() { leaves + 6.0 } else { last + turn };
        let into = first - turn;
        let height = |row: usize| field.lanes[row].middle() + share * field.lanes[row].height;
        let from = Stop { row: self.from_row, at: (leaves, height(self.from_row)), turn: out };
        let to = Stop { row: self.to_row, at: (arrives, height(self.to_row)), turn: into };
        route::way(&field.lanes, &field.gaps, from, to, in_gap)
    }
}

/// What edges of one kind have in common.
#[derive(Default)]
struct Common {
    /// Where those arrive that leave at an end.
    arrive: BTreeMap<(&'static str, End), Vec<f64>>,
    /// Where those leave that arrive at an end.
    leave: BTreeMap<(&'static str, End), Vec<f64>>,
    /// The ends that have lines of their own so far, each with the number of its line, and how many lines a kind has.
    lines: BTreeMap<(&'static str, bool, End), usize>,
    n_lines: BTreeMap<&'static str, usize>,
}

impl Common {
    fn of(all: &[Ends<'_>]) -> Self {
        let mut common = Common::default();
        for Ends { edge, leaves, arrives, .. } in all {
            common.arrive.entry((class(edge.kind), edge.from)).or_default().push(*arrives);
            common.leave.entry((class(edge.kind), edge.to)).or_default().push(*leaves);
        }
        common
    }

    /// How much further from the bars the edges of an end turn than others of their kind do, which have no end in common with
    /// them. Without it their lines would fall together.
    fn aside(&mut self, kind: EdgeKind, is_fork: bool, end: End) -> f64 {
        let n_lines = self.n_lines.entry(class(kind)).or_default();
        let line = *self.lines.entry((class(kind), is_fork, end)).or_insert_with(|| {
            *n_lines += 1;
            *n_lines - 1
        });
        3.0 * (line % 4) as f64
    }
}

/// The names at missing edges. Edges that leave on one line have one label.
#[derive(Default)]
struct Labels<'b> {
    labels: Vec<(Point, Vec<&'b str>)>,
}

impl<'b> Labels<'b> {
    fn add(&mut self, way: &[Point], name: &'b str) {
        let runs = way.iter().zip(way.iter().skip(1)).filter(|(one, next)| one.1 == next.1);
        let longest =
            runs.max_by(|one, other| (one.0.0 - one.1.0).abs().total_cmp(&(other.0.0 - other.1.0).abs()));
        let at = longest.map_or((0.0, 0.0), |(one, next)| (one.0.max(next.0), one.1));
        match self.labels.iter_mut().find(|(its, _)| *its == at) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => self.labels.push((at, vec![name])),
        }
    }

    fn draw(self, page: &mut Page) {
        for ((x, y), names) in self.labels {
            let text = clipped(&format!("missing: {}", names.join(", ")), SIZE, WIDTH / 2.0);
            page.put(&format!(
                "<text class=\"missing-name\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                number((x - 8.0).max(LEFT + width(&text, SIZE))),
                number(y - 5.0),
                escaped(&text)
            ));
        }
    }
}
