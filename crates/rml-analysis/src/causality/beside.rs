//! The proof that a recurrence is cut by several windows side by side, each of which cuts a part of it.
//!
//! Two nodes that are trained `every end` and `every big` are an example. The ends of such windows are independent, so
//! the proof requires that no value waits for two of them. A value that looks ahead in a window waits for the end of
//! that window, and so does every value that reads it, except a `fby` that ticks once per window: it reads a value from
//! an earlier window. Between these parts the recurrence runs forward, so the values of each window form a part that
//! can be proved separately.

use std::collections::{BTreeMap, BTreeSet};

use rml_ir::flat::Window;

use super::cut;
use super::frame::Ends;
use super::graph::{Dependences, Distance, Edge};
use super::part::Part;
use super::segment::{Proof, prove};
use crate::conditions::Guard;

/// The parts that wait, each with the proof that its window cuts the part.
///
/// Requires: no circle within one cycle. Ensures: if all values that the recurrence reads from outside are known at
/// once, each part is known at the end of its own window, and all other members are known at once.
pub(super) fn separate(deps: &Dependences<'_>, part: &Part) -> Option<Vec<(Part, Proof)>> {
    let (labels, windows) = labels(deps, part)?;
    if windows.len() < 2 {
        return None;
    }
    let proved = |(label, window): (usize, &Window)| {
        let members: BTreeSet<usize> =
            labels.iter().filter(|(_, l)| **l == label).map(|(v, _)| part.nodes[*v]).collect();
        let inside = |v: usize| labels.get(&v) == Some(&label);
        let edges = part.edges.iter().enumerate().filter(|(_, (from, to, _))| inside(*from) && inside(*to));
        let piece = part.restricted(&members, &edges.map(|(i, _)| i).collect());
        let proof = prove(deps, &piece, &Ends::Window(*window), &|piece| cut::within(deps, piece))?;
        // All values of earlier windows must be known when a later window begins.
        let in_time = proof.jumping.is_empty() && proof.waits.iter().all(|wait| *wait == (0, 1));
        in_time.then_some((piece, proof))
    };
    windows.iter().enumerate().map(proved).collect()
}

/// For each member that waits: the index in the list of the window whose end it waits for. `None` if a member waits for
/// two windows, or looks ahead outside windows.
fn labels(deps: &Dependences<'_>, part: &Part) -> Option<(BTreeMap<usize, usize>, Vec<Window>)> {
    let conditions = &deps.conditions;
    let mut ends: Vec<BTreeSet<Guard>> = Vec::new();
    let mut windows: Vec<Window> = Vec::new();
    let mut labels: BTreeMap<usize, usize> = BTreeMap::new();
    for (from, _, edge) in part.edges.iter().filter(|(_, _, e)| e.distance == Distance::Next) {
        let window = deps.delay(edge)?.1?;
        let chain = conditions.windows(Some(window)).into_iter();
        let own: BTreeSet<Guard> =
            chain.map(|w| conditions.guard(conditions.flat.windows[w].end, true)).collect();
        let label = ends.iter().position(|e| *e == own).unwrap_or_else(|| {
            windows.push(window);
            ends.push(own);
            ends.len() - 1
        });
        if *labels.entry(*from).or_insert(label) != label {
            return None;
        }
    }
    let mut readers: Vec<Vec<(usize, &Edge)>> = vec![Vec::new(); part.nodes.len()];
    for (from, to, edge) in &part.edges {
        readers[*to].push((*from, edge));
    }
    let mut pending: Vec<usize> = labels.keys().copied().collect();
    while let Some(v) = pending.pop() {
        let label = labels[&v];
        for (by, edge) in &readers[v] {
            if is_behind(deps, edge, windows[label]) {
                continue;
            }
            match labels.insert(*by, label) {
                None => pending.push(*by),
                Some(other) if other == label => {}
                Some(_) => return None,
            }
        }
    }
    Some((labels, windows))
}

/// Whether an edge leads to an earlier window: it goes from a `fby` that ticks once per window to the delayed value.
fn is_behind(deps: &Dependences<'_>, edge: &Edge, window: Window) -> bool {
    let Some((clock, _)) = deps.delay(edge) else { return false };
    let frame = deps.frames.get(&deps.conditions, &Ends::Window(window), clock);
    edge.distance == Distance::Past && !edge.between && frame.is_some_and(|f| f.ticks_once(clock))
}
