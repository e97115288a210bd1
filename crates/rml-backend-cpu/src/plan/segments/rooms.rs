//! Placement of values in a window that runs in segments.

use rml_ir::DType;

use super::super::bind::{Bound, Mine};
use super::super::code::{At, Code, Slot};
use super::super::link::Linked;
use super::super::listed::Listed;
use super::super::place::{ALIGNED, Life, Placement, TYPES, first_fit};
use super::super::scalar::{Spot, Step};
use super::nodes::Nodes;
use super::sweeps::{Class, Side, Sweeps};

/// Boundary rows of a place: its values at the first or last ticks of a segment, kept for every segment (`each`) or for
/// the latest one only.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keep {
    pub(super) slot: Slot,
    pub(super) side: Side,
    /// How many ticks.
    pub(super) rows: usize,
    /// Whether it is kept of each segment.
    pub(super) each: bool,
    /// The offset among the rows kept for each segment, or among the values that exist once.
    at: usize,
}

/// The value of a place at one tick, kept because it is read outside of its segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pin {
    pub(super) slot: Slot,
    pub(super) tick: At,
    at: usize,
}

/// Elements of one type.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Size {
    /// Values that exist once per window.
    fixed: usize,
    /// For each tick of the window, for each tick of a segment, and for each segment.
    long: usize,
    segment: usize,
    saved: usize,
}

/// The segments of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Cut {
    pub(super) ticks: usize,
    /// How many ticks a segment has; the last one may have fewer.
    pub(super) size: usize,
}

impl Cut {
    pub(super) fn count(self) -> usize {
        self.ticks.div_ceil(self.size)
    }

    /// The ticks of a segment.
    pub(super) fn part(self, segment: usize) -> (usize, usize) {
        (segment * self.size, self.ticks.min((segment + 1) * self.size))
    }
}

/// Where values are stored.
#[derive(Debug)]
pub(super) struct Rooms {
    pub(super) classes: Vec<Class>,
    /// Where each value is stored among those of its class and type.
    at: Vec<usize>,
    pub(super) sizes: [Size; 3],
    /// How many ticks before a segment, and after it, have room beside it.
    pub(super) halo: (usize, usize),
    pub(super) keeps: Vec<Keep>,
    pub(super) pins: Vec<Pin>,
    /// For each operand, its pin, if it has one.
    pinned: Vec<Option<usize>>,
    /// For each type, where the space that belongs to single threads begins.
    threads: [usize; 3],
    pub(super) is_stored: bool,
}

fn index(dtype: DType) -> usize {
    match dtype {
        DType::Num => 0,
        DType::Int => 1,
        DType::Bool => 2,
    }
}

/// The live ranges of values that exist once per window. Time advances with each node that runs before the first
/// segment of a sweep; a whole sweep is one point in time.
fn spans(code: &Code, all: &Nodes, sweeps: &Sweeps) -> Vec<Life> {
    let mut spans = vec![None; code.slots.len()];
    let mut now = 0;
    let mut touch = |slot: Slot, now: usize| {
        let (_, end) = spans[slot.0].get_or_insert((now, now));
        *end = now;
    };
    let mut run = |node: usize, now: usize| {
        let node = &all.nodes[node];
        node.fills.iter().for_each(|slot| touch(*slot, now));
        node.reads.iter().for_each(|arg| touch(code.refs[*arg].slot, now));
    };
    for order in &sweeps.orders {
        for node in &order.before {
            now += 1;
            run(*node, now);
        }
        now += 1;
        (0..all.nodes.len()).filter(|i| order.runs[*i]).for_each(|i| run(i, now));
    }
    all.ends.iter().for_each(|arg| touch(code.refs[*arg].slot, now + 1));
    spans.into_iter().map(|span| span.unwrap_or((1, now + 1))).collect()
}

impl Rooms {
    pub(super) fn of(
        code: &Code,
        placement: &Placement,
        all: &Nodes,
        sweeps: &Sweeps,
        threads: [usize; 3],
    ) -> Self {
        let mut rooms = Self {
            classes: sweeps.classes.clone(),
            at: vec![0; code.slots.len()],
            sizes: [Size::default(); 3],
            halo: (0, 0),
            keeps: Vec::new(),
            pins: Vec::new(),
            pinned: vec![None; code.refs.len()],
            threads: [0; 3],
            is_stored: sweeps.is_stored,
        };
        let spans = spans(code, all, sweeps);
        for dtype in TYPES {
            rooms.place(code, placement, &spans, dtype);
        }
        rooms.keep(code, all, sweeps);
        rooms.pin(code, all);
        for (i, size) in rooms.sizes.iter_mut().enumerate() {
            rooms.threads[i] = size.fixed.next_multiple_of(ALIGNED);
            size.fixed = (rooms.threads[i] + threads[i]).next_multiple_of(ALIGNED);
        }
        rooms
    }

    /// Places the values of one type. Values kept between windows stay where windows without segments have them.
    fn place(&mut self, code: &Code, placement: &Placement, spans: &[Life], dtype: DType) {
        let stays = |i: usize| {
            let slot = &code.slots[i];
            slot.kept || !slot.per_tick && code.inputs.iter().any(|given| given.slot.0 == i)
        };
        let classes = &self.classes;
        let mine = |class: Class| -> Vec<(usize, usize)> {
            let slots = code.slots.iter().enumerate();
            let of_class = slots.filter(|(i, s)| s.dtype == dtype && classes[*i] == class && !stays(*i));
            of_class.map(|(i, s)| (i, s.width)).collect()
        };
        let life = |i: usize| placement.lives[i].unwrap_or((1, placement.end));
        let fit = |class: Class, life: &dyn Fn(usize) -> Life| {
            first_fit(mine(class).into_iter().map(|(i, width)| (i, width, life(i))).collect())
        };
        let (fixed, once) = fit(Class::Fixed, &|i| spans[i]);
        let (scratch, within) = fit(Class::Scratch, &life);
        let (segment, per_tick) = fit(Class::Segment, &life);
        let long = mine(Class::Long);
        let mut size = Size { segment: per_tick, ..Size::default() };
        let kept =
            code.slots.iter().enumerate().filter(|(i, s)| s.dtype == dtype && s.width > 0 && stays(*i));
        for (i, slot) in kept {
            self.at[i] = placement.rooms[i].fixed;
            size.fixed = size.fixed.max(self.at[i] + slot.width);
        }
        for (slots, len) in [(fixed, once), (scratch, within)] {
            size.fixed = size.fixed.next_multiple_of(ALIGNED);
            slots.into_iter().for_each(|(i, at)| self.at[i] = size.fixed + at);
            size.fixed += len;
        }
        segment.into_iter().for_each(|(i, at)| self.at[i] = at);
        for (i, width) in long {
            self.at[i] = size.long;
            size.long += width;
        }
        self.sizes[index(dtype)] = size;
    }

    /// Finds room for what is kept of segments.
    fn keep(&mut self, code: &Code, all: &Nodes, sweeps: &Sweeps) {
        let mut far = std::collections::BTreeMap::<(Slot, Side), usize>::new();
        for (r, at) in code.refs.iter().zip(&all.ats) {
            let At::Here(n) = *at else { continue };
            let side = if n < 0 { Side::Before } else { Side::Behind };
            if n != 0 && self.classes[r.slot.0] == Class::Segment {
                let rows = far.entry((r.slot, side)).or_default();
                *rows = (*rows).max(n.unsigned_abs());
            }
        }
        for ((slot, side), rows) in far {
            if !sweeps.orders.iter().any(|order| order.halos.contains(&(slot, side))) {
                continue;
            }
            let (width, size) = (code.slot(slot).width, &mut self.sizes[index(code.slot(slot).dtype)]);
            let each = sweeps.saved.contains(&(slot, side));
            let room = if each { &mut size.saved } else { &mut size.fixed };
            self.keeps.push(Keep { slot, side, rows, each, at: *room });
            *room += rows * width;
            match side {
                Side::Before => self.halo.0 = self.halo.0.max(rows),
                Side::Behind => self.halo.1 = self.halo.1.max(rows),
            }
        }
    }

    /// Finds room for what is read of one tick.
    fn pin(&mut self, code: &Code, all: &Nodes) {
        for (arg, (r, tick)) in code.refs.iter().zip(&all.ats).enumerate() {
            if matches!(tick, At::Here(_)) || self.classes[r.slot.0] != Class::Segment {
                continue;
            }
            let same = self.pins.iter().position(|pin| pin.slot == r.slot && pin.tick == *tick);
            self.pinned[arg] = Some(same.unwrap_or(self.pins.len()));
            if same.is_none() {
                let size = &mut self.sizes[index(code.slot(r.slot).dtype)];
                self.pins.push(Pin { slot: r.slot, tick: *tick, at: size.fixed });
                size.fixed += code.slot(r.slot).width;
            }
        }
    }

    /// How many elements of each type there are.
    pub(super) fn elements(&self, cut: Cut) -> [usize; 3] {
        self.sizes.map(|size| {
            let rows = cut.size + self.halo.0 + self.halo.1;
            let all = [(size.long, cut.ticks), (size.segment, rows), (size.saved, cut.count())];
            all.into_iter().fold(size.fixed, |sum, (a, b)| sum.saturating_add(a.saturating_mul(b)))
        })
    }

    /// How many elements of each type there are for each tick of a segment.
    pub(super) fn per_tick(&self) -> [usize; 3] {
        self.sizes.map(|size| size.segment)
    }

    /// The base address of a place for a segment that begins at tick `from`, such that tick `t` is at
    /// `base + t * width`.
    fn base(&self, code: &Code, slot: Slot, cut: Cut, from: usize) -> usize {
        let data = code.slot(slot);
        let (size, at) = (self.sizes[index(data.dtype)], self.at[slot.0]);
        match self.classes[slot.0] {
            Class::None | Class::Fixed | Class::Scratch => at,
            Class::Long => size.fixed + at * cut.ticks,
            Class::Segment => {
                let rows = cut.size + self.halo.0 + self.halo.1;
                let base = size.fixed + size.long * cut.ticks + at * rows + self.halo.0 * data.width;
                base.wrapping_sub(from * data.width)
            }
        }
    }

    /// Where what is kept of a segment is stored.
    pub(super) fn kept(&self, code: &Code, keep: &Keep, cut: Cut, segment: usize) -> usize {
        let size = self.sizes[index(code.slot(keep.slot).dtype)];
        if !keep.each {
            return keep.at;
        }
        let rows = cut.size + self.halo.0 + self.halo.1;
        size.fixed + size.long * cut.ticks + size.segment * rows + segment * size.saved + keep.at
    }

    /// The tick of a pin, and where it is stored.
    pub(super) fn pinned(pin: &Pin, ticks: usize) -> (usize, usize) {
        let tick = match pin.tick {
            At::First(n) | At::Here(n) => 0_usize.wrapping_add_signed(n),
            At::Last(n) => (ticks - 1).wrapping_add_signed(n),
        };
        (tick, pin.at)
    }

    /// Binds code to a segment: that of the window, or of a thread.
    pub(super) fn bind(
        &self,
        (code, mine): (&Listed, Option<&Mine>),
        all_ats: &[At],
        bound: &mut Bound,
        (cut, segment): (Cut, usize),
    ) {
        let part = cut.part(segment);
        (bound.ticks, bound.part, bound.cut) = (cut.ticks, part, Some((cut.size, self.is_stored)));
        bound.bases.clear();
        bound.bases.extend((0..code.slots.len()).map(|slot| match mine.and_then(|mine| mine.places[slot]) {
            Some(place) => self.threads[index(code.slots[slot].dtype)] + place,
            None => self.base(code, Slot(slot), cut, part.0),
        }));
        bound.spots.clear();
        for (arg, r) in code.refs.iter().enumerate() {
            let of = mine.map_or(arg, |mine| mine.origins[arg]);
            let (data, base) = (code.slot(r.slot), bound.bases[r.slot.0].wrapping_add(r.offset));
            let far = |n: isize| n.cast_unsigned().wrapping_mul(data.width);
            bound.spots.push(match (all_ats[of], self.pinned[of]) {
                (_, Some(pin)) => Spot { at: self.pins[pin].at + r.offset, step: 0 },
                _ if !data.per_tick => Spot { at: base, step: 0 },
                (At::Here(n), _) => Spot { at: base.wrapping_add(far(n)), step: data.width },
                (At::First(n), _) => Spot { at: base.wrapping_add(far(n)), step: 0 },
                (At::Last(n), _) => {
                    Spot { at: base.wrapping_add(far(n + (cut.ticks - 1).cast_signed())), step: 0 }
                }
            });
        }
        bound.steps.clear();
        for scalar in &code.scalars {
            let [out, a, b, c] =
                scalar.args.map(|arg| arg.map_or_else(Spot::default, |arg| bound.spots[arg]));
            bound.steps.push(Step { what: scalar.what, out, a, b, c });
        }
        bound.links.clear();
        bound.links.extend(code.links.iter().map(|link| Linked::new(link, &bound.spots)));
    }
}
