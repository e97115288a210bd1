//! Fusion: a nest moves into a nest that loads what it stores.
//!
//! ```text
//! nest for i0<4 {                     nest for i0<4 {
//!   v0 = load x(1)                      v0 = load x(1)
//!   v1 = exp(v0)                        v1 = exp(v0)
//!   store e(1) = v1            →        v2 = fold lanes i0 v1
//! }                                     store s(0) = v2
//! nest for i0<4 {                     }
//!   v0 = load e(1)
//!   v1 = fold lanes i0 v0
//!   store s(0) = v1
//! }
//! ```
//!
//! A load is replaced by the stored value if the store fills the elements that the load reads, at the same tick, and
//! the load has no other variant. The merged nest keeps the stores that something else reads. Both nests run in one
//! unit: a node, or a stage of a node over all ticks. Such a stage moves into a loop that reads it or that it reads;
//! two loops with the same order are merged. No other stage may have to run between the two. Stages that may fail are
//! not changed, so that the first failure stays the same.
//!
//! Pairs are merged in the order of the bytes of loads and stores that this saves, the most first; ties are broken by
//! the number of the slot.
//!
//! Before that, a cheap nest that expands few elements to many is computed again in other nodes that load it, such as
//! sums of rows and columns. After it, loops with the same order are merged if the second one reads the first one at
//! the same tick, so that only the values of one tick are kept.

use rml_ir::check::{checked, is_verifying};

use crate::{Home, NestProgram, Slot, Work};

mod apart;
mod clean;
mod graph;
mod merge;
mod place;

use graph::{Graph, Uses};
use merge::Pair;

/// In builds that verify passes, windows of up to this many elements also get a symbolic run.
const CHECKED: usize = 1 << 14;

/// The same program with fewer nests and fewer slots.
///
/// Requires: [`verify`](crate::verify). Ensures: the result verifies, and computes the same terms as the program
/// ([`check`](crate::check)). A program that waits is not changed, since each of its stages has to fill one slot (N6).
pub fn fuse(program: &NestProgram) -> NestProgram {
    if program.waits {
        return program.clone();
    }
    let mut graph = Graph::new(program);
    clean::stages(&mut graph);
    apart::again(&mut graph);
    while round(&mut graph) {
        clean::stages(&mut graph);
    }
    apart::loops(&mut graph);
    let mut fused = graph.program();
    clean::slots(&mut fused);
    checked("fuse", || crate::verify(&fused));
    if is_verifying() {
        let same = crate::symbolic::bounded(program, &fused, CHECKED);
        checked("fuse", || same.map(drop).map_err(|why| vec![why.to_string()]));
    }
    fused
}

/// A nest that stores to a slot, and one that loads from it.
struct Edge {
    saved: usize,
    slot: Slot,
    ids: (usize, usize),
}

/// Merges pairs in order until none is left. Returns whether there was one.
fn round(graph: &mut Graph) -> bool {
    let mut merged = false;
    let mut uses = graph.uses();
    for Edge { slot, ids: (a, b), .. } in edges(graph, &uses) {
        let is_left = |id: usize| graph.stages[id].is_some();
        if !is_left(a) || !is_left(b) || !uses.fillers[slot].contains(&a) {
            continue;
        }
        let Some(stage) = merge(graph, &uses, (a, b)) else { continue };
        let (unit, stage) = stage;
        graph.join(a, b, unit, stage);
        uses = graph.uses();
        merged = true;
    }
    merged
}

fn merge(graph: &Graph, uses: &Uses, (a, b): (usize, usize)) -> Option<(graph::Unit, crate::NestStage)> {
    let unit = graph.together(uses, a, b)?;
    let stage = Pair::new(graph, uses, (a, b), unit.order).merged()?;
    Some((unit, stage))
}

/// All pairs, those that save most first.
fn edges(graph: &Graph, uses: &Uses) -> Vec<Edge> {
    let mut edges = Vec::new();
    for (slot, data) in graph.slots().iter_enumerated() {
        if !matches!(data.home, Home::Tick { .. }) {
            continue;
        }
        for a in &uses.fillers[slot] {
            for b in uses.readers[slot].iter().filter(|b| *b != a) {
                let Some(placed) = &graph.stages[*b] else { continue };
                let Work::Nest(nest) = &placed.stage.work else { continue };
                let read = merge::bytes_read(&graph.rest, nest, slot);
                let gone = Pair::new(graph, uses, (*a, *b), crate::Order::Over).vanishes(slot);
                let stored = data.ty.shape.len() * merge::width(data.ty.dtype, graph.rest.precision);
                let saved = read + if gone { stored } else { 0 };
                edges.extend((read > 0).then_some(Edge { saved, slot, ids: (*a, *b) }));
            }
        }
    }
    edges.sort_by_key(|edge| (std::cmp::Reverse(edge.saved), edge.slot, edge.ids));
    edges
}
