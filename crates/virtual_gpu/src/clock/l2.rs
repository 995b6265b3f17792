//! Which lines the L2 cache holds. Sets of 16 ways, filled round about; a line is 128 bytes.

/// Bytes of a line.
pub const LINE: u64 = 128;
const WAYS: usize = 16;
/// Neighbouring lines that lie in neighbouring sets, so that a block's access is one stretch of the host's memory.
const RUN: u64 = 8;
const EMPTY: u32 = u32::MAX;

/// The L2 cache.
#[derive(Debug)]
pub struct L2 {
    lines: Vec<Lines>,
    states: Vec<State>,
    /// Runs of sets.
    runs: u64,
}

/// The lines of a set: the low bits of their numbers, which tell half a terabyte of lines apart.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Lines([u32; WAYS]);

#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// One bit for each way whose line is newer than what memory holds.
    dirty: u16,
    /// The way that is filled next.
    next: u8,
}

/// What a touch did to the cache, in lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Lines that were there.
    pub hits: u64,
    /// Lines that were not.
    pub misses: u64,
    /// Lines that made room for them and had to be written to memory.
    pub written_back: u64,
}

impl L2 {
    /// An empty cache of so many bytes.
    pub fn new(bytes: u64) -> Self {
        let runs = (bytes / LINE / WAYS as u64 / RUN).max(1);
        let sets = (runs * RUN) as usize;
        L2 { lines: vec![Lines([EMPTY; WAYS]); sets], states: vec![State::default(); sets], runs }
    }

    /// Touches `lines` lines, spread evenly from `start` to `end`.
    pub fn touch(&mut self, start: u64, end: u64, lines: u64, write: bool) -> Touched {
        let first = start / LINE;
        let span = end.saturating_sub(1).max(start) / LINE - first + 1;
        let lines = lines.clamp(1, span);
        let mut touched = Touched::default();
        for i in 0..lines {
            // The usual case is spared the division.
            let offset = if lines == span { i } else { i * span / lines };
            self.line(first + offset, write, &mut touched);
        }
        touched
    }

    fn line(&mut self, line: u64, write: bool, touched: &mut Touched) {
        let set = self.set(line);
        let (lines, state) = (&mut self.lines[set].0, &mut self.states[set]);
        let name = line as u32;
        // All ways are compared, which is quicker than to stop at the right one.
        let found = lines
            .iter()
            .enumerate()
            .fold(0_u32, |found, (way, &held)| found | u32::from(held == name) << way);
        let way = if found != 0 {
            touched.hits += 1;
            found.trailing_zeros() as usize
        } else {
            touched.misses += 1;
            let way = usize::from(state.next);
            state.next = (state.next + 1) % WAYS as u8;
            touched.written_back += u64::from((state.dirty >> way) & 1);
            state.dirty &= !(1 << way);
            lines[way] = name;
            way
        };
        state.dirty |= u16::from(write) << way;
    }

    /// A line's set. The multiplier spreads runs that are any power of two apart.
    fn set(&self, line: u64) -> usize {
        let spread = (line / RUN).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let run = (spread * self.runs) >> 32;
        (run * RUN + line % RUN) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn touch(l2: &mut L2, start: u64, bytes: u64, write: bool) -> Touched {
        l2.touch(start, start + bytes, bytes / LINE, write)
    }

    #[test]
    fn what_was_touched_is_there_the_next_time() {
        let mut l2 = L2::new(4 * MIB);
        assert_eq!(
            touch(&mut l2, 0x7000_0000, MIB, false),
            Touched { hits: 0, misses: 8192, written_back: 0 }
        );
        let again = touch(&mut l2, 0x7000_0000, MIB, false);
        assert!(again.hits > 8150 && again.written_back == 0, "{again:?}");
    }

    #[test]
    fn a_stream_larger_than_the_cache_finds_nothing_of_itself() {
        let mut l2 = L2::new(4 * MIB);
        touch(&mut l2, 0, 16 * MIB, false);
        assert!(touch(&mut l2, 0, 16 * MIB, false).hits < 1000);
    }

    #[test]
    fn what_was_written_goes_to_memory_once_it_is_pushed_out() {
        let mut l2 = L2::new(4 * MIB);
        assert_eq!(touch(&mut l2, 0, MIB, true).written_back, 0);
        let pushed = touch(&mut l2, 64 * MIB, 32 * MIB, false);
        assert_eq!(pushed.written_back, 8192);
    }

    #[test]
    fn lines_of_a_sparse_touch_are_spread_over_it() {
        let mut l2 = L2::new(4 * MIB);
        assert_eq!(l2.touch(0, MIB, 4, false).misses, 4);
        // One line in 2,048 of them, then each of them: four are there.
        assert_eq!(touch(&mut l2, 0, MIB, false).hits, 4);
        assert_eq!(l2.touch(2 * MIB, 2 * MIB, 0, false).misses, 1);
    }
}
