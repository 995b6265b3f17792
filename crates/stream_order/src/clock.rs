//! The vector clock: how much of each lane is known to be complete. It knows nothing of streams or threads.

/// For each lane, how many of its operations are complete, counted from the first.
///
/// Invariant: the last entry is not zero, so that equal knowledge is equal data and a clock is as long as what it knows.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock(Vec<u32>);

impl Clone for Clock {
    fn clone(&self) -> Self {
        Clock(self.0.clone())
    }

    fn clone_from(&mut self, other: &Self) {
        self.0.clone_from(&other.0);
    }
}

impl Clock {
    /// How many operations of the lane are complete.
    pub fn get(&self, lane: usize) -> u32 {
        self.assert_invariant();
        self.0.get(lane).copied().unwrap_or(0)
    }

    /// Sets what is known of one lane, up or down.
    pub fn set(&mut self, lane: usize, epoch: u32) {
        if lane >= self.0.len() {
            self.0.resize(lane + 1, 0);
        }
        self.0[lane] = epoch;
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self.assert_invariant();
    }

    /// Learns everything that `other` knows.
    pub fn join(&mut self, other: &Clock) {
        other.assert_invariant();
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
        self.assert_invariant();
    }

    /// Whether this knows everything that `other` knows.
    pub fn covers(&self, other: &Clock) -> bool {
        self.assert_invariant();
        other.0.len() <= self.0.len() && self.0.iter().zip(&other.0).all(|(mine, theirs)| mine >= theirs)
    }

    fn assert_invariant(&self) {
        debug_assert_ne!(self.0.last(), Some(&0), "a clock ends with what it knows");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(entries: &[u32]) -> Clock {
        let mut clock = Clock::default();
        for (lane, &epoch) in entries.iter().enumerate() {
            clock.set(lane, epoch);
        }
        clock
    }

    #[test]
    fn equal_knowledge_is_equal_data_however_it_was_reached() {
        let mut down = clock(&[1, 2, 3]);
        down.set(2, 0);
        down.set(1, 0);
        assert_eq!(down, clock(&[1]));
        assert_eq!(clock(&[0, 0, 0]), Clock::default());
        let mut far = Clock::default();
        far.set(1000, 0);
        assert_eq!(far, Clock::default());
    }

    #[test]
    fn a_join_is_the_least_clock_that_covers_both() {
        let entries = [0_u32, 1, 2];
        let mut all = Vec::new();
        for a in entries {
            for b in entries {
                all.extend(entries.map(|c| clock(&[a, b, c])));
            }
        }
        for one in &all {
            for two in &all {
                let mut join = one.clone();
                join.join(two);
                assert!(join.covers(one) && join.covers(two), "{one:?} {two:?} {join:?}");
                for three in all.iter().filter(|three| three.covers(one) && three.covers(two)) {
                    assert!(three.covers(&join), "{one:?} {two:?} {three:?}");
                }
            }
        }
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "ends with what it knows")]
    fn a_clock_that_breaks_the_invariant_is_caught_where_it_is_read() {
        Clock(vec![1, 0]).get(0);
    }
}
