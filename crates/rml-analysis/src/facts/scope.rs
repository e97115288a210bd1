//! One division of time in the search for facts: how each clock relates to the clock of the division, what its ends
//! imply for other conditions, and the ticks from which a delay may read its value.

use std::collections::{BTreeMap, BTreeSet};

use rml_base::IndexVec;
use rml_ir::flat::{Eq, Init, Rhs, Var, Window};
use rml_ir::{Type, Value};

use super::SegmentsData;
use super::values::Values;
use rml_ir::{Position, Positions};

use super::truths::Truths;
use crate::clocks::ClockId;
use crate::conditions::{Conditions, Guard, Instant};

/// The relation of a clock to the clock of the segments.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Debug)]
pub(super) enum Relation {
    /// The same clock.
    Same,
    /// A clock with some of its ticks.
    Finer,
    /// A clock with its ticks and others.
    Coarser,
    /// An unknown relation.
    Other,
}

/// The ticks from which a delay may read its value, for one position of the delay.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Sources {
    /// No tick: the delay may have its initial value.
    pub(super) init: bool,
    /// The positions of possible ticks in the same segment.
    pub(super) same: Positions,
    /// The positions of possible ticks in earlier segments.
    pub(super) earlier: Positions,
    /// Whether any tick is possible.
    pub(super) anything: bool,
}

/// The positions at which variables may be present.
pub(super) struct Presence {
    pub(super) place: IndexVec<Var, Positions>,
    /// Whether each clock ticks at most once per segment.
    pub(super) once: IndexVec<ClockId, bool>,
}

pub(super) struct Scope<'c, 'a> {
    pub(super) conditions: &'c Conditions<'a>,
    pub(super) data: &'c SegmentsData,
    pub(super) is_trace: bool,
    /// Whether each equation is a trained parameter, whose initial value may be replaced by a loaded value.
    pub(super) parameters: IndexVec<Eq, bool>,
    /// For each equation: whether a checkpoint may contain its value.
    pub(super) states: IndexVec<Eq, bool>,
    relations: IndexVec<ClockId, Relation>,
    /// The values that conditions have at a position because of the ends. One condition represents all those that are
    /// equal to it.
    implied: [BTreeMap<Var, bool>; 4],
    guards: IndexVec<Var, Option<Guard>>,
    /// For each window: whether its ends show that it ends wherever a segment does.
    covers: IndexVec<Window, bool>,
}

impl<'c, 'a> Scope<'c, 'a> {
    pub(super) fn new(conditions: &'c Conditions<'a>, data: &'c SegmentsData, is_trace: bool) -> Self {
        let flat = conditions.flat;
        let mut parameters = IndexVec::filled(false, flat.equations.len());
        let mut states = parameters.clone();
        for state in flat.states.values() {
            parameters[state.equation] = state.parameter;
            states[state.equation] = true;
        }
        let relation = |ck: ClockId| match () {
            () if ck == data.clock => Relation::Same,
            () if conditions.is_within(ck, data.clock) => Relation::Finer,
            () if conditions.is_within(data.clock, ck) => Relation::Coarser,
            () => Relation::Other,
        };
        let condition = |v: Var| flat.vars[v].ty == Type::condition();
        let mut scope = Scope {
            conditions,
            data,
            is_trace,
            parameters,
            states,
            relations: conditions.clocks.clocks.ids().map(relation).collect(),
            implied: Default::default(),
            guards: flat.vars.ids().map(|v| condition(v).then(|| conditions.guard(v, true))).collect(),
            covers: IndexVec::new(),
        };
        scope.implied = Position::ALL.map(|p| scope.implied_at(p));
        scope.covers = flat.windows.ids().map(|w| scope.is_covered(w)).collect();
        scope
    }

    fn implied_at(&self, p: Position) -> BTreeMap<Var, bool> {
        let (ends, all) = (&self.data.cut.ends, self.data.cut.all);
        let mut instant = Instant::default();
        if p.is_end() && all {
            ends.iter().for_each(|l| self.conditions.assume(&mut instant, *l));
        }
        if !p.is_end() && (!all || ends.len() == 1) {
            for l in ends {
                if self.relation(l.cond) == Relation::Same {
                    self.conditions.assume(&mut instant, l.negated());
                } else {
                    // The operands of the end may be present where the end is absent.
                    instant.known.insert(l.cond, !l.value);
                }
            }
        }
        instant.known
    }

    fn is_covered(&self, window: Window) -> bool {
        let of: BTreeSet<Guard> = self.ends_of(window).filter_map(|e| self.guards[e]).collect();
        let mut ends = self.data.cut.ends.iter();
        !self.is_trace
            && if self.data.cut.all { ends.any(|l| of.contains(l)) } else { ends.all(|l| of.contains(l)) }
    }

    /// The ends of a window and of those around it.
    pub(super) fn ends_of(&self, window: Window) -> impl Iterator<Item = Var> {
        let flat = self.conditions.flat;
        self.conditions.windows(Some(window)).into_iter().map(|w| flat.windows[w].end)
    }

    pub(super) fn clock(&self, v: Var) -> ClockId {
        self.conditions.clocks.of[v]
    }

    pub(super) fn relation(&self, v: Var) -> Relation {
        self.relations[self.clock(v)]
    }

    /// Whether all ticks of a variable have positions.
    pub(super) fn is_inside(&self, v: Var) -> bool {
        matches!(self.relation(v), Relation::Same | Relation::Finer)
    }

    /// The conditions that sample a clock from the clock of the segments, innermost first.
    pub(super) fn chain(&self, clock: ClockId) -> Vec<Guard> {
        let mut chain = self.conditions.chain(clock);
        if matches!(self.relations[clock], Relation::Same | Relation::Finer) {
            let own = self.conditions.chain(self.data.clock).len();
            chain.truncate(chain.len() - own.min(chain.len()));
        }
        chain
    }

    /// Whether a condition always has the same value as another one (true), or always the opposite value (false).
    pub(super) fn same_condition(&self, a: Var, b: Var) -> Option<bool> {
        let (a, b) = (self.guards[a]?, self.guards[b]?);
        (a.cond == b.cond).then_some(a.value == b.value)
    }

    /// The values of a condition that a position permits.
    pub(super) fn implied(&self, v: Var, p: Position) -> Truths {
        let Some(l) = self.guards[v] else { return Truths::ANY };
        self.implied[p.index()].get(&l.cond).map_or(Truths::ANY, |value| Truths::of(*value == l.value))
    }

    pub(super) fn constant_truth(&self, k: rml_ir::flat::ConstId) -> Truths {
        match &self.conditions.flat.consts[k].kind {
            rml_ir::flat::ConstKind::Value(Value::Bool(b)) => Truths::of(*b),
            _ => Truths::ANY,
        }
    }

    /// Whether a window ends wherever a segment does.
    pub(super) fn restarts(&self, values: &Values, window: Option<Window>) -> bool {
        let Some(w) = window.filter(|_| !self.is_trace) else { return false };
        let always = |e: Var| {
            let truths = &values.truths[e];
            self.relation(e) == Relation::Same
                && Positions::ENDS.iter().all(|p| !truths[p.index()].may(false))
        };
        self.covers[w] || self.ends_of(w).any(always)
    }

    /// Whether a window may end within a segment.
    pub(super) fn restarts_inside(&self, values: &Values, window: Option<Window>) -> bool {
        let never = |e: Var| {
            let truths = &values.truths[e];
            self.is_inside(e) && Positions::BEFORE_END.iter().all(|p| !truths[p.index()].may(true))
        };
        window.is_some_and(|w| !self.ends_of(w).all(never))
    }

    /// The ticks from which a delay at a position may read its value.
    pub(super) fn sources(&self, values: &Values, lhs: Var, rhs: &Rhs, p: Position) -> Sources {
        let window = rhs.window();
        let exact = self.relation(lhs) == Relation::Same;
        let forward = matches!(rhs, Rhs::Fby { .. });
        if !self.is_inside(lhs) {
            return Sources { init: true, anything: true, ..Sources::default() };
        }
        if self.is_trace {
            return Sources { init: true, same: Positions::MIDDLE, ..Sources::default() };
        }
        let restarts = self.restarts(values, window);
        let at_edge = if forward { p.is_start() } else { p.is_end() };
        if at_edge && restarts {
            return Sources { init: true, ..Sources::default() };
        }
        let crosses = at_edge || (!exact && !restarts);
        let same = match (at_edge, forward) {
            (true, _) => Positions::NONE,
            (false, true) => Positions::BEFORE_END,
            (false, false) => Positions::AFTER_START,
        };
        let earlier = if exact { Positions::ENDS } else { Positions::ALL };
        Sources {
            init: crosses || !exact || self.restarts_inside(values, window),
            same,
            earlier: if crosses && forward { earlier } else { Positions::NONE },
            anything: crosses && !forward,
        }
    }

    /// The positions at which variables may be present, given the values of conditions.
    pub(super) fn presence(&self, values: &Values) -> Presence {
        let clocks = self.conditions.clocks;
        let possible: Positions = if self.is_trace { Positions::MIDDLE } else { self.possible(values) };
        let of_clock = |ck: ClockId| -> Positions {
            if !matches!(self.relations[ck], Relation::Same | Relation::Finer) {
                return possible;
            }
            let chain = self.chain(ck);
            let may = |p: &Position| chain.iter().all(|l| values.truths[l.cond][p.index()].may(l.value));
            possible.iter().filter(may).collect()
        };
        let places: IndexVec<ClockId, Positions> = clocks.clocks.ids().map(of_clock).collect();
        let once = clocks.clocks.ids().map(|ck| self.is_once(values, ck, places[ck])).collect();
        Presence { place: clocks.of.iter().map(|ck| places[*ck]).collect(), once }
    }

    /// The positions at which all ends may have a value.
    fn possible(&self, values: &Values) -> Positions {
        let conds = || self.data.cut.ends.iter().map(|l| l.cond);
        let may = |p: &Position| {
            let never =
                |v: Var| self.relation(v) == Relation::Same && values.truths[v][p.index()] == Truths::NONE;
            !conds().any(never)
        };
        Positions::ALL.iter().filter(may).collect()
    }

    fn is_once(&self, values: &Values, clock: ClockId, place: Positions) -> bool {
        if !matches!(self.relations[clock], Relation::Same | Relation::Finer) {
            return false;
        }
        let single = !self.is_trace && place.is_edge();
        single || place.is_empty() || self.chain(clock).iter().any(|l| self.holds_once(values, *l))
    }

    /// Whether a guard holds at one tick only, because the condition is of the form `v fby not v`.
    fn holds_once(&self, values: &Values, l: Guard) -> bool {
        let Some(l) = self.guards[l.cond].map(|c| Guard { cond: c.cond, value: c.value == l.value }) else {
            return false;
        };
        let Some(Rhs::Fby { init: Init::Const(k), next, window }) = self.conditions.rhs(l.cond) else {
            return false;
        };
        self.is_inside(l.cond)
            && self.constant_truth(*k) == Truths::of(l.value)
            && Position::ALL.iter().all(|p| !values.truths[*next][p.index()].may(l.value))
            && !self.restarts_inside(values, *window)
    }
}
