//! The gates of the graph lesson.

use std::collections::BTreeSet;

use super::Gate;
use crate::measure::Statistics;
use crate::report::thousands;

/// The most that the card may take longer for a graph than for the same work, submitted call by call.
pub const MAX_SLOWER: f64 = 1.1;

/// For each node all that it comes after, by the edges of a graph whose nodes are numbered in an order that they follow.
pub fn behind(nodes: usize, edges: &[(usize, usize)]) -> Vec<BTreeSet<usize>> {
    let mut behind = vec![BTreeSet::new(); nodes];
    for node in 0..nodes {
        for &(before, _) in edges.iter().filter(|&&(before, after)| after == node && before < node) {
            let mut all = behind[before].clone();
            all.insert(before);
            behind[node].extend(all);
        }
    }
    behind
}

/// Whether the graph orders every two nodes as the recorded order does the two operations that they were made of.
pub fn same_order(name: &str, edges: usize, graph: &[BTreeSet<usize>], recorded: &[BTreeSet<usize>]) -> Gate {
    if graph.len() != recorded.len() {
        let (nodes, work) = (graph.len(), recorded.len());
        return Gate::fail(format!("{name}: {nodes} nodes of the graph, and {work} operations recorded"));
    }
    let pairs = |order: &[BTreeSet<usize>]| order.iter().map(BTreeSet::len).sum::<usize>();
    let differ = (0..graph.len()).find_map(|node| {
        let mut differ = graph[node].symmetric_difference(&recorded[node]);
        differ.next().map(|&before| (before, node))
    });
    match differ {
        None => Gate::pass(format!(
            "{name}: the graph's {edges} edges put {} of the {} pairs of its nodes in order, the same as the recorded order",
            pairs(graph),
            graph.len() * graph.len().saturating_sub(1) / 2
        )),
        Some((before, node)) => {
            let says = |order: &[BTreeSet<usize>]| {
                if order[node].contains(&before) { "orders" } else { "does not order" }
            };
            Gate::fail(format!(
                "{name}: the graph {} nodes {before} and {node}, the recorded order {} them",
                says(graph),
                says(recorded)
            ))
        }
    }
}

/// Whether the edges that are missing in the recorded order are missing in the graph too: `missing` are pairs of nodes.
pub fn missing_too(missing: &[(usize, usize)], graph: &[BTreeSet<usize>]) -> Gate {
    let there = missing.iter().filter(|(before, after)| graph[*after].contains(before)).count();
    let count = missing.len();
    if count == 0 {
        Gate::fail("broken order: no edge is missing in the recorded order".to_owned())
    } else if there == 0 {
        Gate::pass(format!(
            "broken order: the {count} missing edges are missing in the graph too: a capture keeps a race and says nothing"
        ))
    } else {
        Gate::fail(format!("broken order: {there} of the {count} missing edges are paths of the graph"))
    }
}

/// Whether a launch of the graph takes the host less than the calls that it stands for.
pub fn host_time(direct: Statistics, graph: Statistics, calls: usize) -> Gate {
    let us = |times: Statistics| format!("{:.1} us", 1e3 * times.median_ms);
    let ratio = direct.median_ms / graph.median_ms;
    let sentence = format!(
        "host: {} for {} calls, {} for one launch of the graph: {ratio:.1}x",
        us(direct),
        thousands(calls as u64),
        us(graph)
    );
    if ratio > 1.0 { Gate::pass(sentence) } else { Gate::fail(format!("{sentence}, which is not less")) }
}

/// Whether the card takes no longer for the graph.
pub fn card_time(direct: Statistics, graph: Statistics) -> Gate {
    let ratio = graph.median_ms / direct.median_ms;
    let sentence =
        format!("card: graph {:.3} ms / direct {:.3} ms = {ratio:.2}x", graph.median_ms, direct.median_ms);
    if ratio <= MAX_SLOWER {
        Gate::pass(format!("{sentence}, at most {MAX_SLOWER}x"))
    } else {
        Gate::fail(format!("{sentence}, more than {MAX_SLOWER}x"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict::{Fail, Pass};
    use super::*;

    fn ms(median_ms: f64) -> Statistics {
        Statistics { median_ms, ..Statistics::UNKNOWN }
    }

    /// A kernel, two branches, and a join.
    const DIAMOND: &[(usize, usize)] = &[(0, 1), (0, 2), (1, 3), (2, 3)];
    const BROKEN: &[(usize, usize)] = &[(0, 3), (1, 3), (2, 3)];

    #[test]
    fn what_is_behind_a_node_is_behind_all_that_leads_there() {
        let sets = |all: &[&[usize]]| -> Vec<BTreeSet<usize>> {
            all.iter().map(|one| one.iter().copied().collect()).collect()
        };
        assert_eq!(behind(4, DIAMOND), sets(&[&[], &[0], &[0], &[0, 1, 2]]));
        assert_eq!(behind(4, BROKEN), sets(&[&[], &[], &[], &[0, 1, 2]]));
        assert_eq!(behind(0, &[]), sets(&[]));
    }

    #[test]
    fn a_graph_with_an_edge_too_few_or_too_many_orders_otherwise() {
        let gate = |graph: &[(usize, usize)], recorded: &[(usize, usize)]| {
            same_order("diamond", graph.len(), &behind(4, graph), &behind(4, recorded))
        };
        assert_eq!(gate(DIAMOND, DIAMOND).verdict, Pass);
        // An edge that others imply changes nothing.
        assert_eq!(gate(&[DIAMOND, &[(0, 3)]].concat(), DIAMOND).verdict, Pass);
        let fails = gate(BROKEN, DIAMOND);
        assert_eq!(fails.verdict, Fail);
        assert!(
            fails.sentence.contains("does not order nodes 0 and 1, the recorded order orders them"),
            "{fails}"
        );
        assert_eq!(gate(DIAMOND, BROKEN).verdict, Fail);
        assert_eq!(same_order("", 0, &behind(3, &[]), &behind(4, &[])).verdict, Fail);
    }

    #[test]
    fn missing_edges_are_missing_in_the_graph_or_the_capture_has_repaired_them() {
        assert_eq!(missing_too(&[(0, 1), (0, 2)], &behind(4, BROKEN)).verdict, Pass);
        assert_eq!(missing_too(&[(0, 1), (0, 2)], &behind(4, DIAMOND)).verdict, Fail);
        assert_eq!(missing_too(&[], &behind(4, BROKEN)).verdict, Fail);
    }

    #[test]
    fn a_graph_costs_the_host_less_and_the_card_no_more() {
        assert_eq!(host_time(ms(0.03), ms(0.01), 19).verdict, Pass);
        assert_eq!(host_time(ms(0.01), ms(0.01), 19).verdict, Fail);
        assert_eq!(host_time(ms(0.01), ms(f64::NAN), 19).verdict, Fail);
        assert_eq!(card_time(ms(1.0), ms(1.1)).verdict, Pass);
        assert_eq!(card_time(ms(1.0), ms(1.11)).verdict, Fail);
        assert_eq!(card_time(ms(1.0), ms(f64::NAN)).verdict, Fail);
    }
}
