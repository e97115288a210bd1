//! Windows whose values do not fit in the caches or in memory run segment by segment.
//!
//! A sweep visits the segments of a window in order. A value computed for a segment has space only for the ticks of one
//! segment. If a later sweep needs it, it is stored for the whole window; or, if memory does not allow that, recomputed
//! from the values that loops carry over the ends of segments, which are kept for each segment. Inputs, outputs and
//! values that exist once per window keep their space. Each value is computed from the same operands as in a window
//! that runs as a whole, and sums add in the same order, so the bits are the same.

use std::collections::BTreeMap;

use rml_base::memory::bytes_of;

use super::code::{At, Code};
use super::footprint::{bytes, packs};
use super::listed::Listed;
use super::place::{Placement, TYPES};
use nodes::{Kind, Node, Nodes};
use rooms::{Cut, Rooms};
use run::Edges;
use sweeps::{Order, Sweeps};

mod nodes;
mod rooms;
mod run;
mod sweeps;
#[cfg(test)]
mod tests;

/// How windows of a plan run in segments.
#[derive(Debug)]
pub(super) struct Segments {
    nodes: Vec<Node>,
    /// The tick that each operand means.
    ats: Vec<At>,
    /// The work of each sweep; the first entry is empty.
    orders: Vec<Order>,
    rooms: Rooms,
    /// The rows that nodes keep in each sweep.
    edges: Vec<BTreeMap<usize, Edges>>,
}

impl Segments {
    /// Plans how windows run in segments, with space for the elements of each type that belong to single threads.
    /// Values that a later sweep needs are stored if `is_stored`, else computed again.
    ///
    /// # Errors
    /// The reason why windows of this plan cannot run in segments.
    pub(super) fn of(
        (code, placement, threads): (&Listed, &Placement, [usize; 3]),
        is_stored: bool,
    ) -> Result<Self, &'static str> {
        if code.waits || code.ahead > 0 {
            return Err("its blocks wait for later cycles");
        }
        if code.ending.is_some() {
            return Err("the program finds where its windows end");
        }
        if !code.backups.is_empty() || !code.sliding.is_empty() {
            return Err("a state changes within the window");
        }
        let all = Nodes::of(code);
        if all.nodes.iter().any(|node| !is_plain(code, node)) {
            return Err("a sum is read before it is whole");
        }
        let sweeps = Sweeps::of(code, &all, is_stored);
        let rooms = Rooms::of(code, placement, &all, &sweeps, threads);
        let (nodes, ats) = (all.nodes, all.ats);
        let Sweeps { orders, level, .. } = sweeps;
        let edges = Self::edges(&nodes, &orders, &level, &rooms);
        Ok(Self { nodes, ats, orders, rooms, edges })
    }

    /// Whether values that a later sweep needs are stored.
    pub(super) fn is_stored(&self) -> bool {
        self.rooms.is_stored
    }

    /// The bytes of a window that is cut into these segments.
    fn bytes<N>(&self, code: &Listed, cut: Cut) -> u64 {
        let elements = TYPES.iter().zip(self.rooms.elements(cut));
        elements.fold(packs::<N>(code), |sum, (dtype, n)| sum.saturating_add(bytes_of(n, bytes::<N>(*dtype))))
    }

    /// Cuts a window of `ticks` ticks into at most `count` segments, none but the last shorter than the halo beside it.
    fn cut(&self, ticks: usize, count: usize) -> Cut {
        let least = self.rooms.halo.0.max(self.rooms.halo.1).max(1);
        Cut { ticks, size: ticks.div_ceil(count.max(1)).max(least) }
    }

    /// The segment length for which a window needs the fewest bytes, and those bytes. It is nearly the fastest length,
    /// too, because most values are still in a cache when they are read.
    pub(super) fn least<N>(&self, code: &Listed, ticks: usize) -> (usize, u64) {
        // More segments need less space for each segment, but keep more boundary values.
        let of = |count: usize| self.bytes::<N>(code, self.cut(ticks, count));
        let (mut few, mut many) = (1, ticks.max(1));
        while few < many {
            let count = few.midpoint(many);
            if of(count) <= of(count + 1) { many = count } else { few = count + 1 }
        }
        // The size is a step function of the count, so the powers of two are tried, too.
        let near = (0..usize::BITS).map(|power| 1_usize << power).take_while(|count| *count <= ticks);
        let best = near.chain([few]).min_by_key(|count| of(*count)).unwrap_or(few);
        (self.cut(ticks, best).size, of(best))
    }

    /// The segment length at which the values of one segment just fit in a cache.
    pub(super) fn near<N>(&self, ticks: usize) -> usize {
        const CACHE: u64 = 2 << 20;
        let each = TYPES.iter().zip(self.rooms.per_tick()).map(|(dtype, n)| bytes_of(n, bytes::<N>(*dtype)));
        let size = CACHE / each.sum::<u64>().max(1);
        let size = usize::try_from(size).unwrap_or(ticks).clamp(1, ticks.max(1));
        self.cut(ticks, ticks.div_ceil(size)).size
    }

    /// How long the shortest segments are.
    pub(super) fn shortest(&self, ticks: usize) -> usize {
        self.cut(ticks, ticks).size
    }

    /// How many bytes windows take in segments of that many ticks.
    pub(super) fn bytes_of<N>(&self, code: &Listed, ticks: usize, size: usize) -> u64 {
        self.bytes::<N>(code, Cut { ticks, size })
    }

    /// The loops that run more than once, and all of them.
    pub(super) fn loops(&self) -> (usize, usize) {
        let is_loop = |i: &usize| matches!(self.nodes[*i].kind, Kind::Loop { .. });
        let loops: Vec<usize> = (0..self.nodes.len()).filter(is_loop).collect();
        let runs = |i: &usize| self.orders.iter().filter(|order| order.runs[*i]).count();
        (loops.iter().filter(|i| runs(i) > 1).count(), loops.len())
    }
}

/// Whether a sum is the only one of its tape, and there once.
fn is_plain(code: &Code, node: &Node) -> bool {
    let Kind::Sum { .. } = node.kind else { return true };
    node.units.len() == 1
        && code.units[node.units.clone()].iter().all(|unit| {
            let last = code.instrs[unit.instrs.clone()].last();
            unit.when.is_empty() && last.is_some_and(|sum| !code.data(sum.out).1.per_tick)
        })
}
