//! A10: the values that are known before a segment, and those that are known when it has ended.

use std::collections::{BTreeMap, BTreeSet};

use rml_ir::flat::{Init, Rhs, Var};

use super::super::{Hold, Position};
use super::view::{Delay, Neighbour, View};
use crate::conditions::Guard;

pub(super) fn check(view: &View<'_, '_>, found: &mut Vec<String>) {
    let step = Step { view, late: late(view) };
    let ends_known = step.ends_are_known();
    for v in view.vars() {
        let of = view.of(v);
        if !of.before.is_within(of.place) || !of.within.is_within(of.place) {
            found.push(format!("A10: {v} is known in {} where it is never present", view.id));
        }
        for p in of.before.iter().filter(|p| !ends_known || !step.is_before(v, *p)) {
            found.push(format!("A10: {} is not proved to be known before the segment", view.place(v, p)));
        }
        for p in of.within.iter().filter(|p| !ends_known || !step.is_within(v, *p)) {
            found.push(format!("A10: {} is not proved to be known within the segment", view.place(v, p)));
        }
    }
}

/// The variables that may depend on later cycles: delays that look ahead, and all variables that are computed from
/// these, tick by these, or restart by these.
fn late(view: &View<'_, '_>) -> BTreeSet<Var> {
    let program = view.program;
    let mut readers: BTreeMap<Var, Vec<Var>> = BTreeMap::new();
    let mut pending = Vec::new();
    for equation in program.flat.equations.iter() {
        let mut reads = program.ends(equation.rhs.window());
        equation.rhs.for_each_operand(|x| reads.push(x));
        reads.extend(program.clocks.samplings(program.clocks.of[equation.lhs]).iter().map(|(c, _)| *c));
        for x in reads {
            readers.entry(x).or_default().push(equation.lhs);
        }
        if matches!(equation.rhs, Rhs::FbyBack { .. } | Rhs::Post { .. }) {
            pending.push(equation.lhs);
        }
    }
    let mut late = BTreeSet::new();
    while let Some(v) = pending.pop() {
        if late.insert(v) {
            pending.extend(readers.get(&v).into_iter().flatten());
        }
    }
    late
}

struct Step<'s, 'v, 'a> {
    view: &'s View<'v, 'a>,
    late: BTreeSet<Var>,
}

impl Step<'_, '_, '_> {
    /// Whether the ends of segments, and the ticks of their clock, do not depend on later cycles.
    fn ends_are_known(&self) -> bool {
        let view = self.view;
        let ends = view.data.cut.ends.iter();
        let above = view.program.clocks.samplings(view.data.clock);
        ends.into_iter().all(|l| view.of(l.cond).place.is_within(view.of(l.cond).within))
            && above.iter().all(|(c, _)| !self.late.contains(c))
    }

    fn before(&self, v: Var, p: Position) -> bool {
        self.view.of(v).before.contains(p) || !self.view.of(v).place.contains(p)
    }

    fn within(&self, v: Var, p: Position) -> bool {
        self.view.of(v).within.contains(p) || !self.view.of(v).place.contains(p)
    }

    /// Whether the ticks of a variable, and its values at all of them, are known within the segment.
    fn fully_within(&self, v: Var) -> bool {
        self.ticks_within(v) && Position::ALL.iter().all(|p| self.within(v, *p))
    }

    fn ticks_within(&self, v: Var) -> bool {
        let known = |l: &Guard| Position::ALL.iter().all(|p| self.within(l.cond, *p));
        match self.view.samplings(v) {
            Some(samplings) => samplings.iter().all(known),
            None => !self.late.contains(&v),
        }
    }

    /// Whether a value is a constant of the program.
    fn is_fixed(&self, v: Var, p: Position) -> bool {
        let of = self.view.of(v);
        let condition = self.view.program.is_condition(v) && of.truths[p.index()].known().is_some();
        condition || matches!(of.first[p.index()], Hold::Const(_))
    }

    /// The operands of a value at the same tick; if a condition is known, only the selected branch.
    fn parts(&self, rhs: &Rhs, p: Position) -> Vec<Var> {
        let mut parts = Vec::new();
        match rhs {
            Rhs::If { cond, then: a, other: b } | Rhs::Merge { cond, on_true: a, on_false: b } => {
                let truths = self.view.truths(*cond, p);
                parts.extend(truths.known().is_none().then_some(*cond));
                parts.extend((truths.known() != Some(false)).then_some(*a));
                parts.extend((truths.known() != Some(true)).then_some(*b));
            }
            rhs => rhs.for_each_operand(|x| parts.push(x)),
        }
        parts
    }

    fn is_within(&self, v: Var, p: Position) -> bool {
        let Some(rhs) = self.view.program.rhs(v) else { return true };
        if self.view.samplings(v).is_none() {
            return !self.late.contains(&v);
        }
        if self.view.is_trace() || self.is_fixed(v, p) {
            return true;
        }
        // A value that is equal to another value at an edge of the segment is known together with it.
        let of = self.view.of(v);
        let equal = [(of.first[p.index()], p.start()), (of.last[p.index()], p.end())];
        let elsewhere = |(hold, at): &(Hold, Position)| match hold {
            Hold::At(source) => (*source != v || *at != p) && self.within(*source, *at),
            _ => false,
        };
        if equal.iter().any(elsewhere) {
            return true;
        }
        match Delay::of(rhs) {
            Some(delay) => self.delay_within(v, &delay, p),
            None if matches!(rhs, Rhs::Param { .. }) => true,
            None => self.parts(rhs, p).into_iter().all(|x| self.within(x, p)),
        }
    }

    fn delay_within(&self, v: Var, delay: &Delay<'_>, p: Position) -> bool {
        let neighbours = self.view.neighbours(v, delay, p);
        let alone = neighbours.iter().all(|n| *n == Neighbour::Nobody);
        let each = neighbours.iter().all(|n| match n {
            Neighbour::Nobody => match delay.init {
                Some(Init::Stream(i)) => self.within(*i, p),
                _ => true,
            },
            Neighbour::Inside(q) | Neighbour::Earlier(q) => self.within(delay.next, *q),
            Neighbour::Later | Neighbour::Anywhere => false,
        });
        let ends = self.view.program.ends(delay.window);
        each && (alone || (self.ticks_within(v) && ends.iter().all(|e| self.fully_within(*e))))
    }

    fn is_before(&self, v: Var, p: Position) -> bool {
        if self.is_fixed(v, p) {
            return true;
        }
        let Some(rhs) = self.view.program.rhs(v) else { return false };
        if matches!(rhs, Rhs::Const(_) | Rhs::Param { .. }) {
            return true;
        }
        if self.view.samplings(v).is_none() {
            return false;
        }
        if let Hold::At(source) = self.view.of(v).first[p.index()]
            && (source != v || p.start() != p)
            && self.before(source, p.start())
        {
            return true;
        }
        match Delay::of(rhs) {
            Some(delay) => self.delay_before(v, &delay, p),
            None => match rhs {
                Rhs::When { value, .. } => self.before(*value, p),
                rhs => self.parts(rhs, p).into_iter().all(|x| self.before(x, p)),
            },
        }
    }

    /// Whether a delay is known before the segment. The previous tick must be the same in all runs that agree before
    /// the segment: a tick of the segments' own clock, or one of an earlier segment.
    fn delay_before(&self, v: Var, delay: &Delay<'_>, p: Position) -> bool {
        let view = self.view;
        let neighbours = view.neighbours(v, delay, p);
        let ends = view.program.ends(delay.window);
        let may_begin = neighbours.contains(&Neighbour::Nobody);
        let inside: Vec<Position> = neighbours
            .iter()
            .filter_map(|n| if let Neighbour::Inside(q) = n { Some(*q) } else { None })
            .collect();
        let each = neighbours.iter().all(|n| match n {
            Neighbour::Nobody => match delay.init {
                Some(Init::Stream(i)) => self.before(*i, p),
                _ => true,
            },
            Neighbour::Inside(q) => delay.forward && view.is_exact(v) && self.before(delay.next, *q),
            Neighbour::Earlier(q) => {
                inside.is_empty()
                    && self.within(delay.next, *q)
                    && self.ticks_within(v)
                    && ends.iter().all(|e| view.samplings(*e).is_some() && self.fully_within(*e))
            }
            Neighbour::Later | Neighbour::Anywhere => false,
        });
        let end_before = |e: &Var| view.is_exact(*e) && inside.iter().all(|q| self.before(*e, *q));
        each && (inside.is_empty() || !may_begin || ends.iter().all(end_before))
    }
}
