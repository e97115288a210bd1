//! Values that one node fills and another node reads: they are computed again in the reader, or the two loops become
//! one, so that the values of only one tick are kept.

use super::graph::{Graph, Uses};
use super::merge::{Pair, width};
use crate::{Home, Nest, NestStage, Order, Slot, Tick, Work};

/// A value is computed again only if it has at least this many times the bytes of the values that it is computed from.
const LARGER: usize = 2;

/// If a cheap nest expands few elements to many, stages of other units compute its elements themselves.
pub(super) fn again(graph: &mut Graph) {
    for slot in graph.slots().ids().collect::<Vec<_>>() {
        let uses = graph.uses();
        let [filler] = uses.fillers[slot][..] else { continue };
        if uses.outside[slot] || !is_expanded(graph, slot, filler) {
            continue;
        }
        let away = |id: &usize| graph.unit(*id) != graph.unit(filler);
        let readers: Vec<usize> = uses.readers[slot].iter().copied().filter(away).collect();
        let stage = |id: &usize| {
            let pair = Pair::new(graph, &uses, (filler, *id), Order::Over);
            let is_now = |stage: &NestStage| {
                stage.reads().iter().all(|(_, access)| access.slot != slot || access.tick == Tick::Now)
            };
            Some((*id, pair.again()?))
                .filter(|_| graph.placed().any(|(own, p)| own == *id && is_now(&p.stage)))
        };
        let stages: Option<Vec<(usize, NestStage)>> = readers.iter().map(stage).collect();
        for (id, stage) in stages.into_iter().flatten() {
            if let Some(placed) = &mut graph.stages[id] {
                placed.stage = stage;
            }
        }
    }
}

/// Whether a slot has many more bytes than the slots that it is computed from, and these keep their values while a
/// window runs.
fn is_expanded(graph: &Graph, slot: Slot, filler: usize) -> bool {
    let Some(placed) = &graph.stages[filler] else { return false };
    let Work::Nest(nest) = &placed.stage.work else { return false };
    let bytes = |slot: Slot| {
        let ty = &graph.slots()[slot].ty;
        ty.shape.len().saturating_mul(width(ty.dtype, graph.rest.precision))
    };
    let read: Vec<Slot> = read(nest);
    let made: usize = read.iter().map(|slot| bytes(*slot)).sum();
    read.iter().all(|slot| !graph.is_written(*slot)) && made.saturating_mul(LARGER) <= bytes(slot)
}

/// The slots that a nest reads.
fn read(nest: &Nest) -> Vec<Slot> {
    let sources = nest.body.iter().filter_map(|def| def.source());
    let mut all: Vec<Slot> = sources.flat_map(crate::accesses).map(|(_, access)| access.slot).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Merges two loops if a slot is filled and read only by them.
pub(super) fn loops(graph: &mut Graph) {
    while let Some((u, v)) = pair(graph, &graph.uses()) {
        let Some(unit) = graph.united(&graph.uses(), u, v) else { return };
        graph.unite(u, v, unit);
    }
}

/// Two loops that can be merged, and then keep fewer values.
fn pair(graph: &Graph, uses: &Uses) -> Option<(usize, usize)> {
    let is_tick = |slot: &Slot| matches!(graph.slots()[*slot].home, Home::Tick { .. });
    for slot in graph.slots().ids().filter(is_tick).filter(|slot| !uses.outside[*slot]) {
        let Some(filler) = uses.fillers[slot].first() else { continue };
        let u = graph.unit(*filler);
        for reader in &uses.readers[slot] {
            let v = graph.unit(*reader);
            let is_own = |id: &usize| graph.unit(*id) == u || graph.unit(*id) == v;
            if u != v
                && is_loop(graph, u)
                && is_loop(graph, v)
                && uses.readers[slot].iter().chain(&uses.fillers[slot]).all(is_own)
                && graph.united(uses, u, v).is_some()
            {
                return Some((u, v));
            }
        }
    }
    None
}

/// Whether a unit is a loop, but no sum of products: executors compute such a sum as one product over all ticks.
fn is_loop(graph: &Graph, unit: usize) -> bool {
    let sums = |stage: &NestStage| matches!(&stage.work, Work::Call(call) if call.start.is_some());
    let mut own = graph.placed().filter(|(_, placed)| placed.unit == unit);
    graph.units[unit].order != Order::Over && !own.any(|(_, placed)| sums(&placed.stage))
}
