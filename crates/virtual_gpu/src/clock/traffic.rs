//! What an access to device memory takes: the L2, the memory behind it, and how busy both are.
//!
//! Each level has a latency and a rate. Alone, an access takes the latency. With `q` bytes under way it takes the root of
//! `latency^2 + (q / rate)^2`: near the latency while little is under way, near `q / rate` once the level is saturated, and
//! between the two what streams on a real card show (H200: a stream of reads with one load of each thread under way takes
//! 109 us for 256 MiB, and 104 us so; a stream of reads and writes 181 and 157).

use super::l2::{L2, LINE};
use super::time::{Picos, of_bytes, of_cycles};
use crate::card::Card;
use crate::segment::{Touch, TouchKind};
use std::collections::VecDeque;

/// Bytes of a sector, the least that moves.
const SECTOR: u64 = 32;

/// The card's caches and memory.
#[derive(Debug)]
pub struct Traffic {
    l2: L2,
    cache: Level,
    memory: Level,
}

/// When the accesses of one moment are through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// What was loaded is there.
    pub loaded: Picos,
    /// What was stored is where everyone can see it.
    pub stored: Picos,
}

impl Traffic {
    /// Nothing is under way, and nothing is in the cache.
    pub fn new(card: &Card) -> Self {
        let (memory, mhz) = (&card.memory, card.sm.clock_mhz);
        Traffic {
            l2: L2::new(memory.l2_bytes),
            cache: Level::new(of_cycles(memory.l2_latency_cycles, mhz), memory.l2_gb_per_s),
            memory: Level::new(of_cycles(memory.latency_cycles, mhz), memory.gb_per_s),
        }
    }

    /// Accesses of one block.
    pub fn access(&mut self, now: Picos, touches: &[Touch]) -> Done {
        let mut done = Done { loaded: now, stored: now };
        for touch in touches {
            let write = match touch.kind {
                TouchKind::None => continue,
                TouchKind::Load => false,
                TouchKind::Store | TouchKind::Atomic => true,
            };
            let through = self.pass(now, touch.start, touch.end, u64::from(touch.sectors) * SECTOR, write);
            if touch.kind != TouchKind::Store {
                done.loaded = done.loaded.max(through);
            }
            if write {
                done.stored = done.stored.max(through);
            }
        }
        done
    }

    /// Moves `bytes`, spread from `start` to `end`, and returns when they are through.
    pub fn pass(&mut self, now: Picos, start: u64, end: u64, bytes: u64, write: bool) -> Picos {
        let touched = self.l2.touch(start, end, bytes.div_ceil(LINE), write);
        let lines = touched.hits + touched.misses;
        let through = self.cache.pass(now, bytes);
        let fetched = if write { 0 } else { bytes * touched.misses / lines };
        match fetched + touched.written_back * LINE {
            0 => through,
            // A load needs its lines from memory; load and store need the lines that they push out to be gone.
            beyond => through.max(self.memory.pass(now, beyond)),
        }
    }
}

/// One level: a cache or a memory.
#[derive(Debug)]
struct Level {
    latency: Picos,
    gb_per_s: u64,
    under_way: u64,
    /// What is under way: when it is through, and its bytes. Sorted by time.
    ends: VecDeque<(Picos, u64)>,
}

impl Level {
    fn new(latency: Picos, gb_per_s: u64) -> Self {
        Level { latency, gb_per_s, under_way: 0, ends: VecDeque::new() }
    }

    fn pass(&mut self, now: Picos, bytes: u64) -> Picos {
        while let Some(&(end, bytes)) = self.ends.front()
            && end <= now
        {
            self.ends.pop_front();
            self.under_way -= bytes;
        }
        self.under_way += bytes;
        let busy = of_bytes(self.under_way, self.gb_per_s);
        let through = now + (self.latency.pow(2) + busy.pow(2)).isqrt();
        // Nearly always it is the last.
        let later = self.ends.iter().rev().take_while(|(end, _)| *end > through).count();
        self.ends.insert(self.ends.len() - later, (through, bytes));
        through
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::card::H200;

    fn load(start: u64, bytes: u64) -> Touch {
        Touch { kind: TouchKind::Load, sectors: (bytes / SECTOR) as u32, start, end: start + bytes }
    }

    #[test]
    fn alone_an_access_takes_the_latency_of_where_the_data_is() {
        let mut traffic = Traffic::new(&H200);
        let cycles = |time| of_cycles(time, H200.sm.clock_mhz);
        let first = traffic.access(0, &[load(4096, 1024)]).loaded;
        assert!((cycles(600)..cycles(602)).contains(&first), "{first}");
        let again = traffic.access(first, &[load(4096, 1024)]).loaded - first;
        assert!((cycles(300)..cycles(302)).contains(&again), "{again}");
    }

    #[test]
    fn together_accesses_reach_the_rate_and_no_more() {
        let mut traffic = Traffic::new(&H200);
        let total = 64 << 20;
        let last = (0..total / 1024).map(|i| traffic.access(0, &[load(i * 1024, 1024)]).loaded).max();
        let rate = total * 1000 / last.unwrap();
        assert!((4200..=4300).contains(&rate), "{rate} GB/s");
    }

    #[test]
    fn nobody_waits_for_a_store_but_its_end_is_known() {
        let mut traffic = Traffic::new(&H200);
        let done = traffic.access(7, &[Touch { kind: TouchKind::Store, ..load(0, 1024) }]);
        assert_eq!(done.loaded, 7);
        assert!(done.stored > 7);
        let none = traffic.access(9, &[Touch { kind: TouchKind::None, ..load(0, 0) }]);
        assert_eq!(none, Done { loaded: 9, stored: 9 });
    }
}
