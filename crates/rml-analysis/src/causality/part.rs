//! Strongly connected parts of the dependence graph, with paths and circles in them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::graph::{Dependences, Distance, Edge};
use crate::clocks::{ClockData, ClockId};
use crate::sums::{self, Step, Sums};
use rml_base::{Components, Graph, components};

/// A part of the graph: positions of the graph, and edges between them. An edge refers to its ends by their indices in
/// `nodes`.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) nodes: Vec<usize>,
    pub(crate) edges: Vec<(usize, usize, Edge)>,
}

/// A path in a part, as indices into [`Part::edges`].
pub(crate) type Chain = Vec<usize>;

impl Part {
    pub(crate) fn new(deps: &Dependences<'_>, of: &Components, members: &[usize]) -> Part {
        let position: BTreeMap<usize, usize> = members.iter().enumerate().map(|(i, v)| (*v, i)).collect();
        let id = members.first().map(|v| of.of[*v]);
        let inside = |e: &&Edge| Some(of.of[e.to]) == id;
        let edges = members.iter().enumerate().flat_map(|(i, v)| {
            let position = &position;
            deps.graph.of(*v).iter().filter(inside).map(move |e| (i, position[&e.to], *e))
        });
        Part { edges: edges.collect(), nodes: members.to_vec() }
    }

    /// The part with only these members and edges.
    pub(crate) fn restricted(&self, members: &BTreeSet<usize>, edges: &BTreeSet<usize>) -> Part {
        let nodes: Vec<usize> = members.iter().copied().collect();
        let position: BTreeMap<usize, usize> = nodes.iter().enumerate().map(|(i, v)| (*v, i)).collect();
        let place = |i: usize| position.get(&self.nodes[i]).copied();
        let edges = edges.iter().filter_map(|e| {
            let (from, to, edge) = self.edges[*e];
            Some((place(from)?, place(to)?, edge))
        });
        Part { edges: edges.collect(), nodes }
    }

    pub(super) fn runs(&self, distance: Distance) -> bool {
        self.edges.iter().any(|(_, _, e)| e.distance == distance)
    }

    /// The graph of the edges for which `counts` returns true; each edge has its target and its index.
    pub(super) fn graph(&self, counts: impl Fn(&Edge) -> bool) -> Graph<(usize, usize)> {
        let edges = self.edges.iter().enumerate().filter(|(_, (_, _, e))| counts(e));
        Graph::new(self.nodes.len(), edges.map(|(i, (from, to, _))| (*from, (*to, i))).collect())
    }

    /// A shortest circle through an edge, within a subgraph.
    pub(super) fn circle(&self, graph: &Graph<(usize, usize)>, through: usize) -> Option<Chain> {
        let (from, to, _) = self.edges[through];
        if from == to {
            return Some(vec![through]);
        }
        let mut chain = vec![through];
        chain.extend(path(graph, &[to], |v| v == from, |_, _| true)?);
        Some(chain)
    }
}

/// A shortest path from one of `starts` to a node with `is_goal`, as the indices of its edges.
pub(super) fn path(
    graph: &Graph<(usize, usize)>,
    starts: &[usize],
    is_goal: impl Fn(usize) -> bool,
    may: impl Fn(usize, usize) -> bool,
) -> Option<Chain> {
    let mut came: BTreeMap<usize, Option<(usize, usize)>> = starts.iter().map(|v| (*v, None)).collect();
    let mut queue: VecDeque<usize> = starts.iter().copied().collect();
    while let Some(v) = queue.pop_front() {
        if is_goal(v) {
            let mut chain = Vec::new();
            let mut at = v;
            while let Some(Some((from, edge))) = came.get(&at) {
                chain.push(*edge);
                at = *from;
            }
            chain.reverse();
            return Some(chain);
        }
        for (to, edge) in graph.of(v) {
            if may(v, *edge) && !came.contains_key(to) {
                came.insert(*to, Some((v, *edge)));
                queue.push_back(*to);
            }
        }
    }
    None
}

/// A circle of edges for which `counts` returns true, if there is one.
pub(super) fn any_circle(part: &Part, counts: impl Fn(&Edge) -> bool) -> Option<Chain> {
    let graph = part.graph(counts);
    let all = components(graph.len(), |v, i| graph.of(v).get(i).map(|(to, _)| Some(*to)));
    let id =
        all.members.iter().position(|m| m.len() > 1 || graph.of(m[0]).iter().any(|(to, _)| *to == m[0]))?;
    let from = all.members[id][0];
    let (_, through) = graph.of(from).iter().find(|(to, _)| all.of[*to] == id)?;
    part.circle(&graph, *through)
}

/// A circle of a strongly connected part; it contains a look-ahead if the part has one.
pub(crate) fn some_circle(part: &Part) -> Chain {
    let graph = part.graph(|_| true);
    let next = part.edges.iter().position(|(_, _, e)| e.distance == Distance::Next);
    next.and_then(|i| part.circle(&graph, i)).unwrap_or_default()
}

/// The signs of the sums of distances around circles; each distance is multiplied by `factor`.
pub(super) fn sums(part: &Part, factor: i64) -> Sums {
    let ticks = |e: &Edge| match e.distance {
        Distance::Now => 0,
        Distance::Past => -factor,
        Distance::Next => factor,
    };
    let steps: Vec<Step> = part.edges.iter().map(|(from, to, e)| (*from, *to, ticks(e))).collect();
    sums::sums(part.nodes.len(), &steps)
}

/// Whether every circle leads to earlier cycles. Distances are comparable if all look-aheads count ticks of one clock,
/// and all delays back count ticks that are among these.
pub(crate) fn is_negative(deps: &Dependences<'_>, part: &Part) -> bool {
    let mut clock: Option<ClockId> = None;
    for (_, _, e) in part.edges.iter().filter(|(_, _, e)| e.distance == Distance::Next) {
        let Some((ck, _)) = deps.delay(e) else { return false };
        if *clock.get_or_insert(ck) != ck || matches!(deps.conditions.clocks.clocks[ck], ClockData::Unknown) {
            return false;
        }
    }
    let Some(clock) = clock else { return true };
    let back = part.edges.iter().filter(|(_, _, e)| e.distance == Distance::Past);
    let mut delays = back.filter_map(|(_, _, e)| deps.delay(e));
    delays.all(|(ck, _)| deps.conditions.is_within(ck, clock)) && sums(part, 1) == Sums::Negative
}
