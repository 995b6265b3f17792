//! The critical path: the longest chain of operations of which each is ordered after the one before it. It judges nothing.

use crate::check::{Found, Pass};
use crate::edges::Sight;
use crate::index::Index;
use crate::program::Program;

/// The longest chain of ordered operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CriticalPath {
    /// The sum of their weights.
    pub length: u64,
    /// Those that have a weight, in order, as indices in the program.
    pub operations: Vec<usize>,
}

/// The critical path, where an operation that touches memory or is launched counts `weight` of its index. No schedule of
/// the card is shorter, and with room for all that is not ordered there is one that is as short. A kernel that may start
/// early counts from its wait on. Of several longest chains it is the one that ends first.
pub fn critical_path(program: &Program, weight: impl Fn(usize) -> u64) -> CriticalPath {
    let index = Index::of(program);
    let weights = (0..program.operations.len()).map(weight).collect();
    let mut pass = Pass::new(&index, Found::Depths(Depths::new(weights, index.lanes.len())));
    pass.run(program);
    match pass.found {
        Found::Depths(depths) => depths.longest(),
        _ => CriticalPath::default(),
    }
}

/// How deep the operations are that came so far: the length of the longest chain that ends with each.
#[derive(Debug)]
pub(crate) struct Depths {
    weights: Vec<u64>,
    /// For each lane and each operation that it counts, the deepest up to there.
    deepest: Vec<Vec<End>>,
    /// For each lane the operations themselves.
    own: Vec<Vec<End>>,
    /// The operation before each in its longest chain.
    behind: Vec<Option<usize>>,
}

/// The end of a chain.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    depth: u64,
    operation: Option<usize>,
}

impl End {
    fn or_deeper(self, other: End) -> End {
        if other.depth > self.depth { other } else { self }
    }
}

impl Depths {
    fn new(weights: Vec<u64>, lanes: usize) -> Self {
        let behind = vec![None; weights.len()];
        Depths { weights, deepest: vec![Vec::new(); lanes], own: vec![Vec::new(); lanes], behind }
    }

    /// The current operation of the lane, which is after what `sight` sees.
    pub fn count(&mut self, at: usize, lane: usize, sight: &Sight<'_>) {
        let mut before = End::default();
        for (other, deepest) in self.deepest.iter().enumerate() {
            let complete = (sight.complete(other) as usize).min(deepest.len());
            if let Some(end) = complete.checked_sub(1).and_then(|last| deepest.get(last)) {
                before = before.or_deeper(*end);
            }
        }
        let beyond = sight.complete_again_from(lane).saturating_sub(1) as usize;
        for end in self.own[lane].iter().skip(beyond) {
            before = before.or_deeper(*end);
        }
        // An operation that is on two lanes counts once.
        let weight = std::mem::take(&mut self.weights[at]);
        let end = if weight == 0 {
            before
        } else {
            self.behind[at] = before.operation;
            End { depth: before.depth + weight, operation: Some(at) }
        };
        let deepest = self.deepest[lane].last().copied().unwrap_or_default().or_deeper(end);
        self.deepest[lane].push(deepest);
        self.own[lane].push(end);
    }

    fn longest(&self) -> CriticalPath {
        let ends = self.deepest.iter().filter_map(|lane| lane.last());
        let end = ends.fold(End::default(), |deepest, end| deepest.or_deeper(*end));
        let mut operations = Vec::new();
        let mut next = end.operation;
        while let Some(operation) = next {
            operations.push(operation);
            next = self.behind[operation];
        }
        operations.reverse();
        CriticalPath { length: end.depth, operations }
    }
}
