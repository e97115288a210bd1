//! Runs a window in segments.

use std::collections::BTreeMap;

use rml_ir::check::is_verifying;
use rml_ir::op::Number;

use super::super::code::Slot;
use super::super::profile::Probe;
use super::super::run::Run;
use super::super::threads::Team;
use super::super::{Machine, Suspect};
use super::Segments;
use super::nodes::{Kind, Node};
use super::rooms::{Cut, Keep, Rooms};
use super::sweeps::{Order, Side, is_backward};

/// Where a window is.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) cut: Cut,
    pub(super) sweep: usize,
    pub(super) segment: usize,
}

/// The boundary rows that a node restores before it runs and leaves afterwards (indices in [`Rooms::keeps`]), and the
/// pins that it saves (in [`Rooms::pins`]).
#[derive(Clone, Default, Debug)]
pub(super) struct Edges {
    restored: Vec<usize>,
    left: Vec<usize>,
    pinned: Vec<usize>,
}

impl Place {
    /// Whether the segment is the first one of its sweep.
    fn is_first(self) -> bool {
        self.segment == if is_backward(self.sweep) { self.cut.count() - 1 } else { 0 }
    }
}

impl Segments {
    /// The segments of a sweep, in order.
    pub(super) fn places(&self, cut: Cut, sweep: usize) -> impl Iterator<Item = Place> {
        let is_idle = self.orders[sweep].runs.iter().all(|runs| !runs);
        let count = if is_idle { 0 } else { cut.count() };
        (0..count).map(move |i| {
            let segment = if is_backward(sweep) { count - 1 - i } else { i };
            Place { cut, sweep, segment }
        })
    }

    /// The rows that nodes restore and save in each sweep; most have none.
    pub(super) fn edges(
        nodes: &[Node],
        orders: &[Order],
        level: &[usize],
        rooms: &Rooms,
    ) -> Vec<BTreeMap<usize, Edges>> {
        let of = |(sweep, order): (usize, &Order)| {
            let mut edges = BTreeMap::<usize, Edges>::new();
            let fills = |slot: Slot| {
                let runs = move |i: &usize| order.runs[*i] && nodes[*i].fills.binary_search(&slot).is_ok();
                (0..nodes.len()).filter(runs)
            };
            for (k, keep) in rooms.keeps.iter().enumerate() {
                let is_halo = order.halos.contains(&(keep.slot, keep.side));
                if let Some(first) = fills(keep.slot).next().filter(|_| is_halo) {
                    edges.entry(first).or_default().restored.push(k);
                }
                let is_along = (keep.side == Side::Behind) == is_backward(sweep);
                let is_saved = keep.each && level[keep.slot.0] == sweep;
                if let Some(last) = fills(keep.slot).next_back().filter(|_| is_saved || is_along && is_halo) {
                    edges.entry(last).or_default().left.push(k);
                }
            }
            for (k, pin) in rooms.pins.iter().enumerate().filter(|(_, pin)| level[pin.slot.0] == sweep) {
                if let Some(last) = fills(pin.slot).next_back() {
                    edges.entry(last).or_default().pinned.push(k);
                }
            }
            edges
        };
        orders.iter().enumerate().map(of).collect()
    }

    /// The kept rows of the neighbouring segment: the tick at which they begin, and the number of that segment; none if
    /// there is no neighbour.
    fn neighbour(keep: &Keep, place: Place) -> Option<(usize, usize)> {
        let (from, to) = place.cut.part(place.segment);
        match keep.side {
            Side::Before => place.segment.checked_sub(1).map(|before| (from - keep.rows, before)),
            Side::Behind => (place.segment + 1 < place.cut.count()).then_some((to, place.segment + 1)),
        }
    }

    /// The first tick of the rows to keep of this segment; none if no later segment can read them.
    fn own(keep: &Keep, place: Place) -> Option<usize> {
        let (from, to) = place.cut.part(place.segment);
        match keep.side {
            // The last segment has no successor, and may be too short to keep rows.
            Side::Before => (place.segment + 1 < place.cut.count()).then(|| to - keep.rows),
            Side::Behind => Some(from),
        }
    }
}

impl<N: Number> Machine<N> {
    /// Runs the regions of a window in segments.
    pub(in super::super) fn in_segments(
        &mut self,
        segments: &Segments,
        size: usize,
        mut probe: Option<&mut Probe>,
    ) -> Result<(), Suspect> {
        let cut = Cut { ticks: self.bound.ticks, size };
        for (sweep, order) in segments.orders.iter().enumerate().skip(1) {
            self.bound.part = (0, cut.ticks);
            for node in &order.before {
                self.run().node(segments, *node, Place { cut, sweep, segment: 0 }, probe.as_deref_mut())?;
            }
            for place in segments.places(cut, sweep) {
                self.bind_segment(segments, cut, place.segment);
                let mut run = self.run();
                for node in (0..segments.nodes.len()).filter(|node| order.runs[*node]) {
                    run.in_segment(segments, node, place, probe.as_deref_mut())?;
                }
            }
        }
        Ok(())
    }

    /// Binds code to the segments of a window.
    pub(in super::super) fn bind_segments(&mut self, segments: &Segments, ticks: usize, size: usize) {
        let cut = Cut { ticks, size };
        self.arena.reserve(segments.rooms.elements(cut));
        if let Some(team) = &mut self.team {
            team.decide(ticks);
        }
        self.bind_segment(segments, cut, 0);
        if is_verifying() {
            self.check_segments(segments, cut);
        }
    }

    /// Checks that threads do not write what others touch, in the first segments and the last one. If they do, one
    /// thread does all.
    fn check_segments(&mut self, segments: &Segments, cut: Cut) {
        let lens = segments.rooms.elements(cut);
        if lens.iter().any(|len| *len >= super::super::CHECKED) {
            return;
        }
        for segment in [cut.count() - 1, 1, 0].into_iter().filter(|segment| *segment < cut.count()) {
            self.bind_segment(segments, cut, segment);
            let divides = |team: &Team| team.divides_segment(&self.code, &self.bound, lens);
            if !self.team.as_deref().filter(|team| team.is_awake()).is_none_or(divides) {
                self.team = None;
            }
        }
    }

    /// Binds code to a segment, that of all threads that run.
    fn bind_segment(&mut self, segments: &Segments, cut: Cut, segment: usize) {
        segments.rooms.bind((&self.code, None), &segments.ats, &mut self.bound, (cut, segment));
        if let Some(team) = &mut self.team {
            team.bind_each(|(code, mine), bound| {
                segments.rooms.bind((code, Some(mine)), &segments.ats, bound, (cut, segment));
            });
        }
    }
}

impl<N: Number> Run<'_, N> {
    /// Runs a node in a segment, and keeps what others need of it.
    fn in_segment(
        &mut self,
        segments: &Segments,
        node: usize,
        place: Place,
        probe: Option<&mut Probe>,
    ) -> Result<(), Suspect> {
        let is_once = segments.nodes[node].kind == Kind::Once;
        if is_once && !place.is_first() {
            return Ok(());
        }
        if is_once {
            let part = std::mem::replace(&mut self.part, (0, place.cut.ticks));
            let ran = self.node(segments, node, place, probe);
            self.part = part;
            return ran;
        }
        let (code, rooms) = (self.code, &segments.rooms);
        let Some(edges) = segments.edges[place.sweep].get(&node) else {
            return self.node(segments, node, place, probe);
        };
        for keep in edges.restored.iter().map(|k| &rooms.keeps[*k]) {
            let Some((row, neighbour)) = Segments::neighbour(keep, place) else { continue };
            let kept = rooms.kept(code, keep, place.cut, neighbour);
            let rows = keep.rows.min(place.cut.ticks - row);
            self.move_rows(keep.slot, self.bound.at(code, keep.slot, row), kept, rows);
        }
        self.node(segments, node, place, probe)?;
        for keep in edges.left.iter().map(|k| &rooms.keeps[*k]) {
            let Some(row) = Segments::own(keep, place) else { continue };
            let kept = rooms.kept(code, keep, place.cut, place.segment);
            let rows = keep.rows.min(place.cut.ticks - row);
            self.move_rows(keep.slot, kept, self.bound.at(code, keep.slot, row), rows);
        }
        let (from, to) = place.cut.part(place.segment);
        for pin in edges.pinned.iter().map(|k| &rooms.pins[*k]) {
            let (tick, at) = Rooms::pinned(pin, place.cut.ticks);
            if (from..to).contains(&tick) {
                self.move_rows(pin.slot, at, self.bound.at(code, pin.slot, tick), 1);
            }
        }
        Ok(())
    }

    fn move_rows(&mut self, slot: Slot, to: usize, from: usize, rows: usize) {
        let data = self.code.slot(slot);
        self.arena.copy(data.dtype, to, from, rows * data.width);
    }

    /// Runs a node at the ticks of a part of the window.
    fn node(
        &mut self,
        segments: &Segments,
        node: usize,
        place: Place,
        probe: Option<&mut Probe>,
    ) -> Result<(), Suspect> {
        let node = &segments.nodes[node];
        if let Kind::Loop { .. } = node.kind {
            return self.ticks_of(node.pass, probe);
        }
        let Some(probe) = probe else { return self.at_once(node, place) };
        let start = probe.now();
        let ran = self.at_once(node, place);
        probe.over(node.units.start, 1, start);
        ran
    }

    /// Runs a node that is no loop.
    fn at_once(&mut self, node: &Node, place: Place) -> Result<(), Suspect> {
        match node.kind {
            Kind::Sum { .. } => {
                self.begins = place.is_first();
                let ran = node.units.clone().try_for_each(|unit| self.sum_of(unit));
                self.begins = true;
                ran
            }
            Kind::Over | Kind::Once | Kind::Loop { .. } => {
                node.units.clone().try_for_each(|unit| self.over(unit))
            }
        }
    }

    /// Adds the terms of a sum at the ticks of a segment.
    fn sum_of(&mut self, unit: usize) -> Result<(), Suspect> {
        let (code, (from, to)) = (self.code, self.part);
        if let Some(ran) = self.spread_unit(unit, from, to) {
            return ran;
        }
        let instrs = &code.instrs[code.units[unit].instrs.clone()];
        instrs.iter().try_for_each(|instr| self.sum(instr, 0..instr.width))
    }
}
