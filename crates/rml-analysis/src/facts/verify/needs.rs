//! The order in which values must be computed, cell by cell: a cell is a variable at a position.

use rml_base::EntityId;
use rml_ir::flat::{Init, Rhs, Var};

use super::super::{Hold, Position, Truths};
use super::view::{Delay, Neighbour, View};

/// The direction in time of a need.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Now,
    Back,
    Ahead,
    /// Ahead by a number of ticks that depends on the length of the segment.
    FarAhead,
}

/// A dependence of one cell on another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) way: Way,
}

pub(super) fn cell(v: Var, p: Position) -> usize {
    v.index() * Position::ALL.len() + p.index()
}

pub(super) fn variable(cell: usize) -> (Var, Position) {
    (Var::from_index(cell / Position::ALL.len()), Position::ALL[cell % Position::ALL.len()])
}

/// All dependences within a segment.
pub(super) fn needs(view: &View<'_, '_>) -> Vec<Need> {
    let mut all = Vec::new();
    for v in view.vars() {
        for p in view.of(v).place.iter() {
            of_cell(view, v, p, &mut all);
        }
    }
    all
}

/// Whether a cell need not be computed.
fn is_given(view: &View<'_, '_>, v: Var, p: Position) -> bool {
    if view.program.rhs(v).is_none() {
        return true;
    }
    let of = view.of(v);
    let condition = view.program.is_condition(v) && of.truths[p.index()].known().is_some();
    view.samplings(v).is_some()
        && (condition || matches!(of.first[p.index()], Hold::Const(_) | Hold::Nothing))
}

fn of_cell(view: &View<'_, '_>, v: Var, p: Position, all: &mut Vec<Need>) {
    let Some(rhs) = view.program.rhs(v) else { return };
    let mut add = |var: Var, at: Position, way: Way| {
        if view.of(var).place.contains(at) && !is_given(view, var, at) {
            all.push(Need { from: cell(v, p), to: cell(var, at), way });
        }
    };
    let samplings = view.samplings(v);
    if samplings.is_some() {
        if is_given(view, v, p) {
            return;
        }
        // A value that is equal to one at an edge of the segment is copied from there.
        let of = view.of(v);
        for (hold, at, far) in
            [(of.first[p.index()], p.start(), Way::Back), (of.last[p.index()], p.end(), Way::FarAhead)]
        {
            if let Hold::At(source) = hold
                && (source, at) != (v, p)
            {
                return add(source, at, if at == p { Way::Now } else { far });
            }
        }
        if let Some(innermost) = samplings.and_then(<[_]>::last) {
            add(innermost.cond, p, Way::Now);
        }
    }
    match (Delay::of(rhs), rhs) {
        (Some(delay), _) => of_delay(view, v, p, &delay, &mut add),
        (None, Rhs::If { cond, then: a, other: b } | Rhs::Merge { cond, on_true: a, on_false: b }) => {
            let truths = if samplings.is_some() { view.truths(*cond, p) } else { Truths::ANY };
            if truths != Truths::of(true) && truths != Truths::of(false) {
                add(*cond, p, Way::Now);
            }
            if truths.may(true) {
                add(*a, p, Way::Now);
            }
            if truths.may(false) {
                add(*b, p, Way::Now);
            }
        }
        (None, rhs) => rhs.for_each_operand(|x| add(x, p, Way::Now)),
    }
}

fn of_delay(
    view: &View<'_, '_>,
    v: Var,
    p: Position,
    delay: &Delay<'_>,
    add: &mut impl FnMut(Var, Position, Way),
) {
    let way = if delay.forward { Way::Back } else { Way::Ahead };
    let neighbours = view.neighbours(v, delay, p);
    let mut beside: Vec<Position> = if neighbours.contains(&Neighbour::Anywhere) {
        Position::ALL.to_vec()
    } else {
        let inside = |n: &Neighbour| if let Neighbour::Inside(q) = n { Some(*q) } else { None };
        neighbours.iter().filter_map(inside).collect()
    };
    if view.is_once(v) {
        beside.clear();
    }
    for q in &beside {
        add(delay.next, *q, way);
    }
    if !neighbours.contains(&Neighbour::Nobody) {
        return;
    }
    if let Some(Init::Stream(i)) = delay.init {
        add(*i, p, Way::Now);
    }
    // It must be known whether a window ends between this tick and its neighbour.
    for end in view.program.ends(delay.window).into_iter().filter(|_| !beside.is_empty()) {
        if !delay.forward {
            add(end, p, Way::Now);
        }
        if delay.forward || !view.is_exact(v) {
            beside.iter().for_each(|q| add(end, *q, way));
        }
    }
}
