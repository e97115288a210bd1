//! The search for conditions that cut a recurrence. It tries the ends of windows first, and then the conditions on
//! which dependences within one cycle depend.

use std::collections::{BTreeMap, BTreeSet};

use rml_base::{EntityId, components};
use rml_ir::flat::Var;

use super::frame::Ends;
use super::graph::{Dependences, Distance, Edge};
use super::part::{Part, path};
use super::segment::{Proof, prove};
use crate::conditions::Guard;

/// The maximum number of conditions to try for one part, and the maximum number of edges to visit in all attempts
/// together.
const CANDIDATES: usize = 64;
const WORK: usize = 40_000_000;
/// The maximum depth of segments within segments in the search.
const DEPTH: u32 = 3;

/// A proof that some conditions cut a part, if the search finds one.
pub(super) fn search(deps: &Dependences<'_>, part: &Part) -> Option<Proof> {
    cut(deps, part, DEPTH)
}

/// The same for a part of a recurrence that is already cut into segments.
pub(super) fn within(deps: &Dependences<'_>, part: &Part) -> Option<Proof> {
    cut(deps, part, DEPTH - 1)
}

/// Searches for conditions that cut a part, with at most `depth` levels of segments.
fn cut(deps: &Dependences<'_>, part: &Part, depth: u32) -> Option<Proof> {
    let mut budget = WORK;
    let mut attempt = |ends: &Ends| {
        budget = budget.checked_sub(4 * part.edges.len())?;
        let nested = |piece: &Part| depth.checked_sub(1).and_then(|depth| cut(deps, piece, depth));
        prove(deps, part, ends, &nested)
    };
    for ends in windows(deps, part) {
        if let Some(proof) = attempt(&ends) {
            return Some(proof);
        }
    }
    for guard in candidates(deps, part) {
        if let Some(proof) = attempt(&Ends::All(vec![guard])) {
            return Some(proof);
        }
    }
    joint(deps, part).and_then(|ends| attempt(&ends))
}

/// The windows around the delays that look ahead, innermost first; windows with the same ends are listed once.
fn windows(deps: &Dependences<'_>, part: &Part) -> Vec<Ends> {
    let conditions = &deps.conditions;
    let mut found: Vec<(usize, Vec<Guard>, Ends)> = Vec::new();
    for (_, _, e) in part.edges.iter().filter(|(_, _, e)| e.distance == Distance::Next) {
        for w in conditions.windows(deps.delay(e).and_then(|(_, w)| w)) {
            let chain = conditions.windows(Some(w));
            let guards: Vec<Guard> =
                chain.iter().map(|w| conditions.guard(conditions.flat.windows[*w].end, true)).collect();
            if found.len() < CANDIDATES && found.iter().all(|(_, l, _)| *l != guards) {
                found.push((usize::MAX - chain.len(), guards, Ends::Window(w)));
            }
        }
    }
    found.sort_by_key(|(depth, _, _)| *depth);
    found.into_iter().map(|(_, _, ends)| ends).collect()
}

/// The negations of the conditions on which a circle that looks ahead depends: in a cycle where one of them holds, the
/// circle is broken. Conditions outside the part come first, and among them those with a name.
fn candidates(deps: &Dependences<'_>, part: &Part) -> Vec<Guard> {
    let ahead = |e: &Edge| e.distance != Distance::Past;
    let graph = part.graph(ahead);
    let all = components(graph.len(), |v, i| graph.of(v).get(i).map(|(to, _)| Some(*to)));
    let next = part
        .edges
        .iter()
        .position(|(from, to, e)| e.distance == Distance::Next && all.of[*from] == all.of[*to]);
    let circle = next.and_then(|i| part.circle(&graph, i));
    let edges: Vec<usize> = circle.unwrap_or_else(|| (0..part.edges.len()).collect());
    let mut found: Vec<Guard> = Vec::new();
    for i in edges {
        for guard in needed(deps, part, i) {
            if !found.contains(&guard.negated()) && found.len() < CANDIDATES {
                found.push(guard.negated());
            }
        }
    }
    let conditions = &deps.conditions;
    found.retain(|l| conditions.constant(l.cond).is_none());
    found.sort_by_key(|l| (is_member(part, l.cond), conditions.flat.vars[l.cond].name.is_none(), !l.value));
    found
}

fn is_member(part: &Part, var: Var) -> bool {
    part.nodes.binary_search(&var.index()).is_ok()
}

/// The conditions under which an edge is taken: its own condition, and the samplings of the clock of its start.
fn needed(deps: &Dependences<'_>, part: &Part, edge: usize) -> Vec<Guard> {
    let (from, _, e) = &part.edges[edge];
    let conditions = &deps.conditions;
    let mut found = Vec::new();
    found.extend(e.only.condition());
    let chain = conditions.chain(deps.clock(part.nodes[*from]));
    found.extend(chain.into_iter().map(|l| conditions.guard(l.cond, l.value)));
    found
}

/// Conditions that cut a part only together. Each round finds a path within one cycle from one look-ahead to the next
/// that no condition blocks yet, and adds the negation of a condition on which the path depends, until all paths are
/// blocked.
fn joint(deps: &Dependences<'_>, part: &Part) -> Option<Ends> {
    let mut chosen: Vec<Guard> = Vec::new();
    let now = part.graph(|e| e.distance == Distance::Now);
    let next = || part.edges.iter().enumerate().filter(|(_, (_, _, e))| e.distance == Distance::Next);
    let entries: Vec<usize> =
        next().map(|(_, (_, to, _))| *to).collect::<BTreeSet<_>>().into_iter().collect();
    for _ in 0..4 {
        let open = |i: usize| needed(deps, part, i).iter().all(|l| !chosen.contains(&l.negated()));
        let leaves: BTreeMap<usize, usize> =
            next().filter(|(i, _)| open(*i)).map(|(i, (from, _, _))| (*from, i)).collect();
        let Some(mut way) = path(&now, &entries, |v| leaves.contains_key(&v), |_, i| open(i)) else {
            return (chosen.len() > 1).then_some(Ends::All(chosen));
        };
        let at = way.last().map(|i| part.edges[*i].1);
        let last = at.or_else(|| entries.iter().copied().find(|v| leaves.contains_key(v)))?;
        way.push(leaves[&last]);
        let mut needs: Vec<Guard> = way.iter().flat_map(|i| needed(deps, part, *i)).collect();
        needs.retain(|l| deps.conditions.constant(l.cond).is_none() && !chosen.contains(l));
        needs.sort_by_key(|l| is_member(part, l.cond));
        chosen.push(needs.first()?.negated());
    }
    None
}
