//! Runs a window in segments.

use rml_ir::op::Number;

use super::super::code::Slot;
use super::super::profile::Probe;
use super::super::run::Run;
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

    /// What is kept of a place that a node fills as the first one, or as the last one, with its rows in this segment and where they are
    /// kept: to be put back before the node runs.
    pub(super) fn restored(&self, node: usize, place: Place) -> impl Iterator<Item = (&Keep, usize, usize)> {
        let order = &self.orders[place.sweep];
        let mine = self.rooms.keeps.iter().filter(move |keep| {
            order.halos.contains(&(keep.slot, keep.side)) && self.is_writer(order, node, keep.slot, true)
        });
        mine.filter_map(move |keep| {
            let (from, to) = place.cut.part(place.segment);
            let neighbour = match keep.side {
                Side::Before => place.segment.checked_sub(1)?,
                Side::Behind => Some(place.segment + 1).filter(|i| *i < place.cut.count())?,
            };
            Some((keep, if keep.side == Side::Before { from - keep.rows } else { to }, neighbour))
        })
    }

    /// What a node has filled that is kept, with its first row: to be kept when the node has run.
    pub(super) fn left(&self, node: usize, place: Place) -> impl Iterator<Item = (&Keep, usize)> {
        let order = &self.orders[place.sweep];
        self.rooms.keeps.iter().filter_map(move |keep| {
            let along = (keep.side == Side::Behind) == is_backward(place.sweep);
            let ring = along && order.halos.contains(&(keep.slot, keep.side));
            let save = keep.each && self.level[keep.slot.0] == place.sweep;
            if !(ring || save) || !self.is_writer(order, node, keep.slot, false) {
                return None;
            }
            let (from, to) = place.cut.part(place.segment);
            match keep.side {
                // Nobody stands behind the last segment, which may be short.
                Side::Before if place.segment + 1 == place.cut.count() => None,
                Side::Before => Some((keep, to - keep.rows)),
                Side::Behind => Some((keep, from)),
            }
        })
    }

    /// Whether a node is the first one, or the last one, that fills a place in a sweep.
    fn is_writer(&self, order: &Order, node: usize, slot: Slot, first: bool) -> bool {
        let mut others = if first { 0..node } else { node + 1..self.nodes.len() };
        let fills = |i: usize| order.runs[i] && self.nodes[i].fills.binary_search(&slot).is_ok();
        fills(node) && !others.any(fills)
    }

    /// The ticks at which values of a place are kept that a node has filled, with where.
    pub(super) fn pinned(&self, node: usize, place: Place) -> impl Iterator<Item = (Slot, usize, usize)> {
        let order = &self.orders[place.sweep];
        let (from, to) = place.cut.part(place.segment);
        self.rooms.pins.iter().filter_map(move |pin| {
            let (tick, at) = Rooms::pinned(pin, place.cut.ticks);
            let mine = self.level[pin.slot.0] == place.sweep && (from..to).contains(&tick);
            (mine && self.is_writer(order, node, pin.slot, false)).then_some((pin.slot, tick, at))
        })
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
        if cfg!(debug_assertions) {
            self.check_segments(segments, cut);
        }
    }

    /// Checks that threads do not write what others touch, in the first segments and the last one.
    fn check_segments(&mut self, segments: &Segments, cut: Cut) {
        let lens = segments.rooms.elements(cut);
        if lens.iter().any(|len| *len >= super::super::CHECKED) {
            return;
        }
        for segment in [cut.count() - 1, 1, 0].into_iter().filter(|segment| *segment < cut.count()) {
            self.bind_segment(segments, cut, segment);
            let team = self.team.as_deref().filter(|team| team.is_awake());
            let checked = team.map_or(Ok(()), |team| team.check_segment(&self.code, &self.bound, lens));
            assert!(checked.is_ok(), "{checked:?}");
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
        for (keep, row, from) in segments.restored(node, place) {
            let kept = rooms.kept(code, keep, place.cut, from);
            let rows = keep.rows.min(place.cut.ticks - row);
            self.move_rows(keep.slot, self.bound.at(code, keep.slot, row), kept, rows);
        }
        self.node(segments, node, place, probe)?;
        for (keep, row) in segments.left(node, place) {
            let kept = rooms.kept(code, keep, place.cut, place.segment);
            let rows = keep.rows.min(place.cut.ticks - row);
            self.move_rows(keep.slot, kept, self.bound.at(code, keep.slot, row), rows);
        }
        for (slot, tick, at) in segments.pinned(node, place) {
            self.move_rows(slot, at, self.bound.at(code, slot, tick), 1);
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
