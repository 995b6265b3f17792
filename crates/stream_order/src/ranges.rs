//! What was last done to each byte of one buffer. It knows no rule of order: whoever asks says what it can see.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::program::Mode;

/// Who did something to some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The operation's index in the program.
    pub operation: usize,
    /// The lane that it is in.
    pub lane: usize,
    /// Which one it is of its lane's operations, from 1.
    pub epoch: u32,
    pub mode: Mode,
}

/// The marks of one buffer.
///
/// Invariant: the pieces do not overlap, none is empty, and a byte in no piece was never touched. A piece has no mark that
/// another one of it hides: who sees the later sees the earlier, and conflicts with the later when with the earlier.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    /// By where they begin.
    pieces: BTreeMap<u64, Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    end: u64,
    marks: Vec<Mark>,
}

impl Ranges {
    /// Calls `found` with every mark that conflicts with an access of this mode to `bytes`, and the bytes they share.
    pub fn conflicts(&self, bytes: &Range<u64>, mode: Mode, mut found: impl FnMut(&Mark, Range<u64>)) {
        if bytes.is_empty() {
            return;
        }
        let before = self.pieces.range(..bytes.start).next_back();
        let inside = self.pieces.range(bytes.start..bytes.end);
        for (&start, piece) in before.filter(|(_, piece)| piece.end > bytes.start).into_iter().chain(inside) {
            for mark in piece.marks.iter().filter(|mark| mode == Mode::Write || mark.mode == Mode::Write) {
                found(mark, start.max(bytes.start)..piece.end.min(bytes.end));
            }
        }
    }

    /// Notes an access. `sees` says which marks are complete before it.
    pub fn note(&mut self, bytes: &Range<u64>, new: Mark, sees: impl Fn(&Mark) -> bool) {
        if bytes.is_empty() {
            return;
        }
        if let Some(piece) = self.pieces.get_mut(&bytes.start).filter(|piece| piece.end == bytes.end) {
            piece.add(new, &sees);
            return;
        }
        self.split(bytes.start);
        self.split(bytes.end);
        // Taken out and put back, because neighbours that are equal now become one: a buffer that was cut into pieces
        // is whole again once something writes all of it.
        let starts: Vec<u64> = self.pieces.range(bytes.start..bytes.end).map(|(&start, _)| start).collect();
        let mut rest = bytes.start;
        let mut last: Option<(u64, Piece)> = None;
        for start in starts {
            let Some(mut piece) = self.pieces.remove(&start) else { continue };
            if rest < start {
                self.append(&mut last, rest, Piece { end: start, marks: vec![new] });
            }
            rest = piece.end;
            piece.add(new, &sees);
            self.append(&mut last, start, piece);
        }
        if rest < bytes.end {
            self.append(&mut last, rest, Piece { end: bytes.end, marks: vec![new] });
        }
        self.pieces.extend(last);
    }

    /// Makes `at` a border, if it is inside a piece.
    fn split(&mut self, at: u64) {
        if let Some((_, piece)) = self.pieces.range_mut(..at).next_back()
            && piece.end > at
        {
            let right = piece.clone();
            piece.end = at;
            self.pieces.insert(at, right);
        }
    }

    /// Puts a piece behind `last`: as a part of it, or in its place.
    fn append(&mut self, last: &mut Option<(u64, Piece)>, start: u64, piece: Piece) {
        match last {
            Some((_, previous)) if previous.end == start && previous.marks == piece.marks => {
                previous.end = piece.end;
            }
            _ => self.pieces.extend(last.replace((start, piece))),
        }
    }
}

impl Piece {
    /// Adds a mark and drops those that it hides.
    fn add(&mut self, new: Mark, sees: impl Fn(&Mark) -> bool) {
        let hides = |old: &Mark| new.mode == Mode::Write || old.mode == Mode::Read;
        // Of one lane the latest that the new one does not see hides the earlier: who sees neither is told of the latest,
        // and who sees the latest was ordered after the whole lane up to it. (A kernel that never waits is not.)
        let latest_unseen = self
            .marks
            .iter()
            .filter(|old| old.lane == new.lane && old.mode == new.mode && !sees(old))
            .map(|old| old.epoch)
            .max();
        self.marks.retain(|old| {
            let hidden = old.operation == new.operation || sees(old);
            let outdone = old.lane == new.lane
                && old.mode == new.mode
                && latest_unseen.is_some_and(|latest| old.epoch < latest);
            !(hides(old) && (hidden || outdone))
        });
        self.marks.push(new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(operation: usize, mode: Mode) -> Mark {
        Mark { operation, lane: operation, epoch: 1, mode }
    }

    fn pieces(ranges: &Ranges) -> Vec<(Range<u64>, Vec<usize>)> {
        let piece = |(&start, piece): (&u64, &Piece)| {
            (start..piece.end, piece.marks.iter().map(|mark| mark.operation).collect())
        };
        ranges.pieces.iter().map(piece).collect()
    }

    #[test]
    fn an_access_touches_its_bytes_and_no_other() {
        let mut ranges = Ranges::default();
        ranges.note(&(10..20), mark(1, Mode::Write), |_| false);
        ranges.note(&(15..30), mark(2, Mode::Write), |_| false);
        assert_eq!(pieces(&ranges), [(10..15, vec![1]), (15..20, vec![1, 2]), (20..30, vec![2])]);
        for (bytes, found) in
            [(0..10, vec![]), (19..20, vec![1, 2]), (14..21, vec![1, 1, 2, 2]), (30..40, vec![])]
        {
            let mut seen = Vec::new();
            ranges.conflicts(&bytes, Mode::Read, |mark, shared| {
                assert!(bytes.start <= shared.start && shared.end <= bytes.end && !shared.is_empty());
                seen.push(mark.operation);
            });
            assert_eq!(seen, found, "{bytes:?}");
        }
    }

    #[test]
    fn no_bytes_are_touched_by_an_empty_or_a_reversed_range() {
        let mut ranges = Ranges::default();
        #[expect(clippy::reversed_empty_ranges, reason = "the input may hold one")]
        for bytes in [5..5, 9..3, u64::MAX..u64::MAX, u64::MAX..0] {
            ranges.note(&bytes, mark(1, Mode::Write), |_| false);
            assert_eq!(pieces(&ranges), []);
            ranges.conflicts(&bytes, Mode::Write, |_, _| panic!("no byte is shared"));
        }
    }

    #[test]
    fn a_write_that_follows_everything_makes_the_buffer_whole_again() {
        let mut ranges = Ranges::default();
        for i in 0..10 {
            ranges.note(&(i * 10..i * 10 + 7), mark(i as usize, Mode::Write), |_| false);
        }
        ranges.note(&(0..100), mark(10, Mode::Write), |_| true);
        assert_eq!(pieces(&ranges), [(0..100, vec![10])]);
    }

    #[test]
    fn a_read_hides_reads_that_it_sees_and_no_write() {
        let mut ranges = Ranges::default();
        ranges.note(&(0..8), mark(1, Mode::Write), |_| true);
        ranges.note(&(0..8), mark(2, Mode::Read), |_| true);
        ranges.note(&(0..8), mark(3, Mode::Read), |_| true);
        ranges.note(&(0..8), mark(4, Mode::Read), |_| false);
        assert_eq!(pieces(&ranges), [(0..8, vec![1, 3, 4])]);
    }
}
