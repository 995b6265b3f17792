//! A multiprocessor: what is resident, and what runs.

use super::issue::Issue;
use super::residency::Room;
use super::time::Picos;
use crate::card;

/// A multiprocessor.
#[derive(Debug)]
pub struct Sm {
    room: Room,
    /// The stretches that run on it.
    pub issue: Issue,
    /// Counts the announcements of a stretch's end: only the latest holds.
    pub announced: u64,
}

/// The card's multiprocessors.
#[derive(Debug)]
pub struct Sms {
    limits: card::Sm,
    all: Vec<Sm>,
}

impl Sms {
    /// All empty.
    pub fn new(card: &card::Card) -> Self {
        let one = || Sm { room: Room::of(&card.sm), issue: Issue::new(card.sm.schedulers), announced: 0 };
        Sms { limits: card.sm.clone(), all: (0..card.sms).map(|_| one()).collect() }
    }

    /// Makes room for a block that takes `one` on the multiprocessor that has the fewest threads, of those the lowest, and
    /// returns which. (A real card fills the two of a pair first, and pairs in an order of its own.)
    pub fn place(&mut self, one: &Room) -> Option<usize> {
        let fitting = self.all.iter().enumerate().filter(|(_, sm)| sm.room.fits(one));
        let (number, _) = fitting.min_by_key(|(_, sm)| std::cmp::Reverse(sm.room.threads()))?;
        self.all[number].room.take(one);
        Some(number)
    }

    /// Gives a block's room back.
    pub fn leave(&mut self, number: usize, one: &Room) {
        self.all[number].room.give(one);
    }

    /// One of them.
    pub fn get(&mut self, number: usize) -> &mut Sm {
        &mut self.all[number]
    }

    /// Announces when the next stretch of a multiprocessor ends: the time, and the number of this announcement.
    pub fn announce(&mut self, number: usize) -> Option<(Picos, u64)> {
        let sm = &mut self.all[number];
        sm.announced += 1;
        sm.issue.next_end().map(|end| (end, sm.announced))
    }

    /// Empties all of them.
    pub fn clear(&mut self) {
        for sm in &mut self.all {
            sm.room = Room::of(&self.limits);
            sm.issue.clear();
            sm.announced += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::H200;
    use crate::clock::Footprint;

    #[test]
    fn blocks_are_spread_before_they_are_stacked() {
        let mut sms = Sms::new(&H200);
        let block = Footprint { threads: 256, registers_per_thread: 16, shared_bytes: 0 }.room(&H200.sm);
        let placed: Vec<_> = (0..134).filter_map(|_| sms.place(&block)).collect();
        assert_eq!(placed[..132], (0..132).collect::<Vec<_>>());
        assert_eq!(placed[132..], [0, 1]);
        let full = (0..).take_while(|_| sms.place(&block).is_some()).count();
        assert_eq!(134 + full, 132 * 8);
        sms.leave(77, &block);
        assert_eq!(sms.place(&block), Some(77));
        sms.clear();
        assert_eq!(sms.place(&block), Some(0));
    }
}
