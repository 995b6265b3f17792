//! Where things lie: rows and lanes, the axis's ticks, what each multiprocessor held. Pure numbers; it draws nothing.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::iter;

use crate::model::{Band, Block};

/// A row of bars that do not overlap: a stream, or one lane of a stream whose slices do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// An index in [`Band::streams`].
    pub stream: usize,
    /// Which of the stream's lanes it is, from 0.
    pub lane: usize,
    /// Indices in [`Band::slices`], in the order of their starts.
    pub slices: Vec<usize>,
}

/// The band's rows from top to bottom. Every stream has at least one, so that an idle stream is seen to be idle.
pub(crate) fn rows(band: &Band) -> Vec<Row> {
    let mut of_stream = vec![Vec::new(); band.streams.len()];
    for (index, slice) in band.slices.iter().enumerate() {
        if let Some(slices) = of_stream.get_mut(slice.stream) {
            slices.push(index);
        }
    }
    let mut rows = Vec::new();
    for (stream, mut slices) in of_stream.into_iter().enumerate() {
        slices.sort_by_key(|&index| (band.slices[index].start_ns, index));
        let first = rows.len();
        rows.push(Row { stream, lane: 0, slices: Vec::new() });
        let mut lanes = Lanes::default();
        for index in slices {
            let slice = &band.slices[index];
            let lane = lanes.place(slice.start_ns, after(slice.start_ns, slice.end_ns));
            if rows.len() == first + lane {
                rows.push(Row { stream, lane, slices: Vec::new() });
            }
            rows[first + lane].slices.push(index);
        }
    }
    rows
}

/// Where something ends that takes room even if it took no time.
fn after(start_ns: u64, end_ns: u64) -> u64 {
    end_ns.max(start_ns.saturating_add(1))
}

/// Puts intervals that come in the order of their starts side by side where they overlap.
pub(crate) struct Lanes<T> {
    ends: Vec<T>,
}

impl<T> Default for Lanes<T> {
    fn default() -> Self {
        Lanes { ends: Vec::new() }
    }
}

impl<T: PartialOrd> Lanes<T> {
    /// The first lane that is free at `start`; it is taken until `end`.
    pub fn place(&mut self, start: T, end: T) -> usize {
        let free = self.ends.iter().position(|taken| *taken <= start);
        let lane = free.unwrap_or(self.ends.len());
        match self.ends.get_mut(lane) {
            Some(taken) => *taken = end,
            None => self.ends.push(end),
        }
        lane
    }

    /// Lanes that were needed so far.
    pub fn len(&self) -> usize {
        self.ends.len()
    }
}

/// Distance between the axis's ticks, ns: 1, 2 or 5 times a power of ten, and so long that there are at most `most` after
/// the one at 0.
pub(crate) fn tick_ns(end_ns: u64, most: u64) -> u64 {
    let powers = iter::successors(Some(1_u64), |power| power.checked_mul(10));
    let steps = powers.flat_map(|power| [1, 2, 5].map(|digit| power.saturating_mul(digit)));
    steps.into_iter().find(|step| end_ns / step <= most).unwrap_or(u64::MAX)
}

/// The ticks from 0 to the axis's end, ns, at most `most` after the first.
pub(crate) fn ticks_ns(end_ns: u64, most: u64) -> impl Iterator<Item = u64> {
    let step = tick_ns(end_ns, most);
    (0..=end_ns / step).map(move |tick| tick * step)
}

/// Widens what is too narrow to see to `least`, as far as there is room up to its neighbours and up to `end`. `bars` do
/// not overlap and are in order; neither do and are those that come back.
pub(crate) fn widened(bars: &[(f64, f64)], least: f64, end: f64) -> Vec<(f64, f64)> {
    let mut taken = f64::NEG_INFINITY;
    let next = bars.iter().skip(1).map(|bar| bar.0).chain([end]);
    let widen = |(&(left, right), next): (&(f64, f64), f64)| {
        let right = right.max((left + least).min(next));
        let left = left.min((right - least).max(taken));
        taken = right;
        (left, right)
    };
    bars.iter().zip(next).map(widen).collect()
}

/// For as long as at least one of a slice's blocks was resident on a multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stay {
    /// The multiprocessor.
    pub sm: u32,
    /// An index in [`Band::slices`].
    pub slice: usize,
    /// From the band's start, ns.
    pub start_ns: u64,
    /// The same.
    pub end_ns: u64,
    /// Blocks that were resident meanwhile.
    pub blocks: usize,
    /// The greatest number of them at once.
    pub most: usize,
    /// Its part of the multiprocessor's row, from 0.
    pub lane: usize,
    /// Into how many parts the row is divided meanwhile: more than one where several slices are resident at once.
    pub lanes: usize,
}

/// Every slice's stays on every multiprocessor, in the order of multiprocessors and starts. A pause of at most `pause_ns`
/// between a block and the next does not end a stay: one wave follows another within a moment that nobody can see.
pub(crate) fn stays(band: &Band, pause_ns: u64) -> Vec<Stay> {
    let mut stays = Vec::new();
    for (slice, of) in band.slices.iter().enumerate() {
        let mut blocks: Vec<Block> = of.blocks.iter().filter(|block| block.sm < band.sms).copied().collect();
        blocks.sort_by_key(|block| (block.sm, block.start_ns, block.end_ns));
        stays_of_slice(slice, &blocks, pause_ns, &mut stays);
    }
    stays.sort_by_key(|stay| (stay.sm, stay.start_ns, stay.slice));
    for on_one in stays.chunk_by_mut(|one, next| one.sm == next.sm) {
        share_the_row(on_one);
    }
    stays
}

/// `blocks` are in the order of multiprocessors and starts.
fn stays_of_slice(slice: usize, blocks: &[Block], pause_ns: u64, stays: &mut Vec<Stay>) {
    let mut open: Option<Stay> = None;
    let mut resident = BinaryHeap::new();
    for &Block { sm, start_ns, end_ns } in blocks {
        let goes_on = |stay: &Stay| stay.sm == sm && start_ns <= stay.end_ns.saturating_add(pause_ns);
        if !open.as_ref().is_some_and(goes_on) {
            resident.clear();
            let new = Stay { sm, slice, start_ns, end_ns, blocks: 0, most: 0, lane: 0, lanes: 1 };
            stays.extend(open.replace(new));
        }
        while resident.peek().is_some_and(|&Reverse(end)| end <= start_ns) {
            resident.pop();
        }
        resident.push(Reverse(after(start_ns, end_ns)));
        if let Some(stay) = &mut open {
            stay.end_ns = stay.end_ns.max(end_ns);
            stay.blocks += 1;
            stay.most = stay.most.max(resident.len());
        }
    }
    stays.extend(open);
}

/// Divides one multiprocessor's row for as long as stays overlap, and no longer. `stays` are in the order of their starts.
fn share_the_row(mut stays: &mut [Stay]) {
    while !stays.is_empty() {
        let mut lanes = Lanes::default();
        let mut end = 0;
        let mut together = 0;
        for stay in stays.iter_mut() {
            if together > 0 && stay.start_ns >= end {
                break;
            }
            let until = after(stay.start_ns, stay.end_ns);
            stay.lane = lanes.place(stay.start_ns, until);
            end = end.max(until);
            together += 1;
        }
        let (done, rest) = stays.split_at_mut(together);
        for stay in done {
            stay.lanes = lanes.len();
        }
        stays = rest;
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::strategy::Strategy;
    use proptest::{prop_assert, prop_assert_eq, proptest};

    use super::*;
    use crate::model::{Slice, Stream};

    fn band(sms: u32, slices: Vec<Slice>) -> Band {
        let stream = |_| Stream { name: String::new(), kind: String::new() };
        let streams = (0..3).map(stream).collect();
        Band {
            name: String::new(),
            caption: String::new(),
            streams,
            sms,
            slices,
            edges: vec![],
            ranges: vec![],
        }
    }

    fn slice(stream: usize, start_ns: u64, end_ns: u64, blocks: Vec<Block>) -> Slice {
        Slice { name: String::new(), stream, start_ns, end_ns, details: vec![], blocks }
    }

    fn blocks() -> impl Strategy<Value = Vec<Block>> {
        let block = (0..3_u32, 0..50_u64, 0..20_u64);
        vec(block.prop_map(|(sm, start_ns, length)| Block { sm, start_ns, end_ns: start_ns + length }), 0..20)
    }

    proptest! {
        #[test]
        fn each_slice_is_in_one_row_of_its_stream_and_overlaps_nothing_there(
            slices in vec((0..3_usize, 0..50_u64, 0..20_u64), 0..30),
        ) {
            let slices = slices.into_iter().map(|(stream, start, length)| slice(stream, start, start + length, vec![]));
            let band = band(1, slices.collect());
            let rows = rows(&band);
            let mut all: Vec<usize> = rows.iter().flat_map(|row| row.slices.iter().copied()).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..band.slices.len()).collect::<Vec<_>>());
            prop_assert!(rows.is_sorted_by_key(|row| (row.stream, row.lane)));
            for row in &rows {
                prop_assert!(row.slices.iter().all(|&slice| band.slices[slice].stream == row.stream));
                for pair in row.slices.windows(2) {
                    let [one, next] = [pair[0], pair[1]].map(|slice| &band.slices[slice]);
                    prop_assert!(one.end_ns <= next.start_ns && one.start_ns < next.start_ns);
                }
            }
        }

        #[test]
        fn ticks_are_round_and_as_many_as_fit(end_ns: u64, most in 1..40_u64) {
            let step = tick_ns(end_ns, most);
            let digits = step.to_string();
            prop_assert!(matches!(digits.trim_end_matches('0'), "1" | "2" | "5"), "{}", step);
            let ticks: Vec<_> = ticks_ns(end_ns, most).collect();
            prop_assert!(ticks[0] == 0 && ticks.len() as u64 <= most + 1 && ticks.iter().all(|tick| *tick <= end_ns));
            prop_assert!(step == 1 || ticks.len() as u64 > most / 3, "{} of {}", ticks.len(), most);
        }

        #[test]
        fn what_is_widened_stays_in_order(
            bars in vec((0..10_u32, 0..10_u32), 0..20), least in 0..9_u32,
        ) {
            let mut at = 0;
            let bars: Vec<_> = bars.into_iter().map(|(pause, length)| {
                let left = at + pause;
                at = left + length;
                (f64::from(left), f64::from(at))
            }).collect();
            let end = f64::from(at);
            let wide = widened(&bars, f64::from(least), end);
            for (bar, wide) in bars.iter().zip(&wide) {
                prop_assert!(wide.0 <= bar.0 && bar.1 <= wide.1 && wide.1 <= end);
            }
            prop_assert!(wide.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{:?}", wide);
        }

        #[test]
        fn stays_cover_the_blocks_and_nothing_else(one in blocks(), two in blocks(), pause in 0..5_u64) {
            let band = band(3, vec![slice(0, 0, 70, one), slice(1, 0, 70, two)]);
            let stays = stays(&band, pause);
            for (index, slice) in band.slices.iter().enumerate() {
                for block in &slice.blocks {
                    let covers = |stay: &&Stay| stay.slice == index && stay.sm == block.sm
                        && stay.start_ns <= block.start_ns && block.end_ns <= stay.end_ns;
                    prop_assert_eq!(stays.iter().filter(covers).count(), 1);
                }
            }
            for stay in &stays {
                let of = band.slices[stay.slice].blocks.iter().filter(|block| {
                    block.sm == stay.sm && stay.start_ns <= block.start_ns && block.end_ns <= stay.end_ns
                });
                let of: Vec<_> = of.collect();
                prop_assert_eq!(of.len(), stay.blocks);
                prop_assert_eq!(of.iter().map(|block| block.start_ns).min(), Some(stay.start_ns));
                prop_assert_eq!(of.iter().map(|block| block.end_ns).max(), Some(stay.end_ns));
                let at_once = |at: u64| of.iter().filter(move |block| block.start_ns <= at && at < after(block.start_ns, block.end_ns));
                prop_assert_eq!((0..80).map(|at| at_once(at).count()).max(), Some(stay.most));
                let hides = |other: &&Stay| other.sm == stay.sm && other.start_ns < after(stay.start_ns, stay.end_ns)
                    && stay.start_ns < after(other.start_ns, other.end_ns);
                for other in stays.iter().filter(hides).filter(|other| *other != stay) {
                    prop_assert!(other.lane != stay.lane && other.lanes == stay.lanes && stay.lane < stay.lanes);
                }
            }
        }
    }

    #[test]
    fn a_row_is_divided_only_while_it_is_shared() {
        let block = |start_ns, end_ns| vec![Block { sm: 0, start_ns, end_ns }];
        let slices = [(0, 10), (10, 20), (15, 25), (25, 30)]
            .map(|(start, end)| slice(0, start, end, block(start, end)));
        let lanes = stays(&band(1, slices.to_vec()), 0)
            .iter()
            .map(|stay| (stay.lane, stay.lanes))
            .collect::<Vec<_>>();
        assert_eq!(lanes, [(0, 1), (0, 2), (1, 2), (0, 1)]);
    }
}
