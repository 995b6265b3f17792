//! The way of an edge through a band: in the gaps between rows and past the ends of bars, across as few bars as may be.

use super::text::number;

/// A point of the page.
pub(super) type Point = (f64, f64);

/// How far an edge goes on before it turns, at most.
const CORNER: f64 = 5.0;

/// A row as an edge meets it.
pub(super) struct Lane {
    /// Its upper edge.
    pub top: f64,
    /// Its height.
    pub height: f64,
    /// Its bars from left to right.
    pub bars: Vec<(f64, f64)>,
}

impl Lane {
    /// Its middle.
    pub fn middle(&self) -> f64 {
        self.top + self.height / 2.0
    }

    /// Bars that lie strictly between two coordinates.
    fn bars_between(&self, left: f64, right: f64) -> usize {
        let first = self.bars.partition_point(|bar| bar.1 <= left + 0.01);
        let end = self.bars.partition_point(|bar| bar.0 < right - 0.01);
        end.saturating_sub(first)
    }
}

/// Where an edge leaves or arrives.
#[derive(Clone, Copy)]
pub(super) struct Stop {
    /// The row's index.
    pub row: usize,
    /// Where.
    pub at: Point,
    /// Where it turns.
    pub turn: f64,
}

/// The corners of the best way from one stop to another. `aside` is how far from the middle of a gap it runs along it.
pub(super) fn way(lanes: &[Lane], gaps: &[f64], from: Stop, to: Stop, aside: f64) -> Vec<Point> {
    let down = to.row >= from.row;
    let near_from = gaps[if down { from.row + 1 } else { from.row }] + aside;
    let near_to = gaps[if to.row > from.row { to.row } else { to.row + 1 }] + aside;
    let bend = |x| vec![from.at, (x, from.at.1), (x, to.at.1), to.at];
    let mut ways = Vec::new();
    if to.turn > from.at.0 {
        ways.push(bend(to.turn));
    }
    if from.row != to.row && from.turn < to.at.0 - CORNER {
        ways.push(bend(from.turn));
    }
    // Out at the corner of the bar, back along the gap beside it, and in from the left.
    let lane = &lanes[from.row];
    let corner = (from.at.0 - 1.5, if down { lane.top + lane.height } else { lane.top });
    ways.push(vec![corner, (corner.0, near_from), (to.turn, near_from), (to.turn, to.at.1), to.at]);
    let turns = [(from.turn, from.at.1), (from.turn, near_to), (to.turn, near_to), (to.turn, to.at.1)];
    ways.push([&[from.at], &turns[..], &[to.at]].concat());
    ways.into_iter().min_by_key(|way| crossed(lanes, way)).unwrap_or_default()
}

/// How many bars a way crosses.
fn crossed(lanes: &[Lane], way: &[Point]) -> usize {
    let segments = way.iter().zip(way.iter().skip(1));
    let crossed = segments.map(|(&(x1, y1), &(x2, y2))| {
        let (left, right) = (x1.min(x2), x1.max(x2));
        let (top, bottom) = (y1.min(y2), y1.max(y2));
        let first = lanes.partition_point(|lane| lane.top + lane.height <= top);
        let met = lanes[first..].iter().take_while(|lane| lane.top < bottom.max(top + 0.01));
        // A vertical line has no width of its own.
        met.map(|lane| lane.bars_between(left.min(right - 0.04), right.max(left + 0.04))).sum::<usize>()
    });
    crossed.sum()
}

/// The way as a path with rounded corners.
pub(super) fn path(way: &[Point]) -> String {
    let pair = |(x, y): Point| format!("{} {}", number(x), number(y));
    let Some((&first, rest)) = way.split_first() else { return String::new() };
    let mut out = format!("M{}", pair(first));
    let mut before = first;
    for (index, &corner) in rest.iter().enumerate() {
        let Some(&after) = rest.get(index + 1) else {
            out += &format!("L{}", pair(corner));
            break;
        };
        let (arrives, leaves) = (towards(corner, before), towards(corner, after));
        out += &format!("L{}Q{} {}", pair(arrives), pair(corner), pair(leaves));
        before = corner;
    }
    out
}

/// The point on the way from `corner` to its neighbour where a rounded corner begins.
fn towards(corner: Point, neighbour: Point) -> Point {
    let (x, y) = (neighbour.0 - corner.0, neighbour.1 - corner.1);
    let length = x.hypot(y);
    if length == 0.0 {
        return corner;
    }
    let part = CORNER.min(length / 2.0) / length;
    (corner.0 + x * part, corner.1 + y * part)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three rows, 20 high with gaps of 10, with these bars.
    fn lanes(bars: [&[(f64, f64)]; 3]) -> (Vec<Lane>, Vec<f64>) {
        let tops = [10.0, 40.0, 70.0];
        let lanes = tops.iter().zip(bars).map(|(&top, bars)| Lane { top, height: 20.0, bars: bars.to_vec() });
        (lanes.collect(), vec![5.0, 35.0, 65.0, 95.0])
    }

    fn stop(row: usize, x: f64, turn: f64) -> Stop {
        Stop { row, at: (x, 20.0 + 30.0 * row as f64), turn }
    }

    #[test]
    fn an_edge_goes_round_the_bars_in_between() {
        let (lanes, gaps) = lanes([&[(0.0, 100.0)], &[(110.0, 400.0)], &[(500.0, 600.0)]]);
        let way = way(&lanes, &gaps, stop(0, 100.0, 105.0), stop(2, 500.0, 490.0), 0.0);
        assert_eq!(way, [(100.0, 20.0), (490.0, 20.0), (490.0, 80.0), (500.0, 80.0)]);
        let (lanes, gaps) =
            self::lanes([&[(0.0, 100.0), (120.0, 600.0)], &[(110.0, 600.0)], &[(500.0, 600.0)]]);
        let way = self::way(&lanes, &gaps, stop(0, 100.0, 105.0), stop(2, 500.0, 490.0), 0.0);
        assert_eq!(way, [(100.0, 20.0), (105.0, 20.0), (105.0, 80.0), (500.0, 80.0)]);
    }

    #[test]
    fn an_edge_back_in_time_runs_in_a_gap() {
        let (lanes, gaps) = lanes([&[(50.0, 300.0)], &[(60.0, 300.0)], &[(60.0, 300.0)]]);
        let way = way(&lanes, &gaps, stop(0, 300.0, 310.0), stop(2, 60.0, 40.0), 0.0);
        assert_eq!(way, [(298.5, 30.0), (298.5, 35.0), (40.0, 35.0), (40.0, 80.0), (60.0, 80.0)]);
        assert_eq!(crossed(&lanes, &way), 0);
    }

    #[test]
    fn what_a_line_crosses_is_counted_once_for_each_bar() {
        let (lanes, _) = lanes([&[(0.0, 10.0), (20.0, 30.0)], &[(0.0, 50.0)], &[(0.0, 50.0)]]);
        assert_eq!(crossed(&lanes, &[(-5.0, 20.0), (60.0, 20.0)]), 2);
        assert_eq!(crossed(&lanes, &[(25.0, 0.0), (25.0, 100.0)]), 3);
        assert_eq!(crossed(&lanes, &[(15.0, 35.0), (60.0, 35.0)]), 0);
        assert_eq!(crossed(&lanes, &[(10.0, 20.0), (20.0, 20.0)]), 0);
    }
}
