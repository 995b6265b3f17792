//! The order that there is: what each operation is after, and the longest chain of that. It judges nothing.

use crate::check::{Found, Pass};
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

/// For each operation the earlier ones that it is after, as indices, of those that are launched or touch memory. A kernel that
/// may start early counts from its wait on. The answer is as large as the number of such pairs.
pub fn predecessors(program: &Program) -> Vec<Vec<usize>> {
    let index = Index::of(program);
    let mut pass = Pass::new(&index, Found::Predecessors(vec![Vec::new(); program.operations.len()]));
    pass.run(program);
    match pass.found {
        Found::Predecessors(all) => all,
        _ => Vec::new(),
    }
}

/// The critical path, where an operation counts `weight` of its index. No schedule of the card is shorter, and with room for all
/// that is not ordered there is one that is as short. Of several longest chains it is the one that ends first.
pub fn critical_path(program: &Program, weight: impl Fn(usize) -> u64) -> CriticalPath {
    let predecessors = predecessors(program);
    let mut depths = vec![0_u64; predecessors.len()];
    let mut behind = vec![None; predecessors.len()];
    let mut end: Option<usize> = None;
    for (at, before) in predecessors.iter().enumerate() {
        let own = weight(at);
        if own == 0 {
            continue;
        }
        let weighty = before.iter().copied().filter(|&before| depths[before] > 0);
        behind[at] = weighty.reduce(|deepest, one| if depths[one] > depths[deepest] { one } else { deepest });
        depths[at] = own + behind[at].map_or(0, |before| depths[before]);
        if end.is_none_or(|end| depths[at] > depths[end]) {
            end = Some(at);
        }
    }
    let length = end.map_or(0, |end| depths[end]);
    let mut operations: Vec<usize> = std::iter::successors(end, |&at| behind[at]).collect();
    operations.reverse();
    CriticalPath { length, operations }
}
