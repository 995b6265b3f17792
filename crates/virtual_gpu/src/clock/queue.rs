//! What happens next: events by time, and among those of one time in the order in which they were put in.

use super::time::Picos;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Events that have not happened yet.
#[derive(Debug)]
pub struct Queue<E> {
    heap: BinaryHeap<Entry<E>>,
    entered: u64,
}

#[derive(Debug)]
struct Entry<E> {
    at: Picos,
    number: u64,
    event: E,
}

impl<E> Queue<E> {
    /// An empty one.
    pub fn new() -> Self {
        Queue { heap: BinaryHeap::new(), entered: 0 }
    }

    /// Puts an event in.
    pub fn push(&mut self, at: Picos, event: E) {
        self.heap.push(Entry { at, number: self.entered, event });
        self.entered += 1;
    }

    /// When the next event happens.
    pub fn next_at(&self) -> Option<Picos> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// Takes the next event.
    pub fn pop(&mut self) -> Option<(Picos, E)> {
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }

    /// Forgets all events.
    pub fn clear(&mut self) {
        self.heap.clear();
    }
}

impl<E> PartialEq for Entry<E> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}
impl<E> Eq for Entry<E> {}
impl<E> PartialOrd for Entry<E> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl<E> Ord for Entry<E> {
    /// The heap gives its greatest first: that is the earliest.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_and_then_as_they_were_put_in() {
        let mut queue = Queue::new();
        for (at, event) in [(5, 'c'), (1, 'a'), (5, 'd'), (1, 'b'), (9, 'e')] {
            queue.push(at, event);
        }
        assert_eq!(queue.next_at(), Some(1));
        let order: String = std::iter::from_fn(|| queue.pop()).map(|(_, event)| event).collect();
        assert_eq!(order, "abcde");
    }
}
