//! The verifier's view of a program: which conditions are equal or opposite, which clocks are within others, and for
//! each tick of a delay the ticks that may be its neighbour.

use std::collections::{BTreeMap, BTreeSet};

use rml_base::{EntityId, IndexVec};
use rml_ir::flat::{ConstId, ConstKind, Eq, Flat, Init, Rhs, Var, Window};
use rml_ir::op::Op;
use rml_ir::{Type, Value};

use super::super::{Facts, Position, Positions, Segments, SegmentsData, Truths, VarFacts};
use crate::clocks::{ClockData, ClockId, Clocks};
use crate::conditions::Guard;

/// The program, with the facts about its conditions.
pub(super) struct Program<'a> {
    pub(super) flat: &'a Flat,
    pub(super) clocks: &'a Clocks,
    definitions: IndexVec<Var, Option<Eq>>,
    /// Conditions with equal or opposite values at equal ticks, as a forest: the parent, and whether it is opposite.
    equal: IndexVec<Var, (Var, bool)>,
}

impl<'a> Program<'a> {
    pub(super) fn new(flat: &'a Flat, clocks: &'a Clocks) -> Program<'a> {
        let mut definitions = IndexVec::filled(None, flat.vars.len());
        for (eq, equation) in flat.equations.iter_enumerated() {
            definitions[equation.lhs] = Some(eq);
        }
        let equal = flat.vars.ids().map(|v| (v, false)).collect();
        let mut program = Program { flat, clocks, definitions, equal };
        for v in flat.vars.ids() {
            program.unite(v, clocks.same[v], false);
            match program.rhs(v) {
                Some(Rhs::Apply { op: Op::Copy | Op::StopGradient, args }) => {
                    program.unite(v, args[0], false)
                }
                Some(Rhs::Apply { op: Op::Not, args }) => program.unite(v, args[0], true),
                Some(Rhs::When { value, .. }) if clocks.of[*value] == clocks.of[v] => {
                    program.unite(v, *value, false);
                }
                _ => {}
            }
        }
        program
    }

    fn unite(&mut self, a: Var, b: Var, opposite: bool) {
        let ((a, not_a), (b, not_b)) = (self.root(a), self.root(b));
        if a != b {
            self.equal[a.max(b)] = (a.min(b), opposite ^ not_a ^ not_b);
        }
    }

    /// The representative of a condition, and whether it has the opposite value.
    fn root(&self, mut v: Var) -> (Var, bool) {
        let mut opposite = false;
        while self.equal[v].0 != v {
            opposite ^= self.equal[v].1;
            v = self.equal[v].0;
        }
        (v, opposite)
    }

    /// Whether two guards have the same meaning.
    pub(super) fn is_same(&self, a: Guard, b: Guard) -> bool {
        let ((x, not_x), (y, not_y)) = (self.root(a.cond), self.root(b.cond));
        x == y && (a.value ^ not_x) == (b.value ^ not_y)
    }

    /// The right side of the equation; `None` for an input.
    pub(super) fn rhs(&self, v: Var) -> Option<&'a Rhs> {
        self.definitions[v].map(|eq| &self.flat.equations[eq].rhs)
    }

    pub(super) fn equation(&self, v: Var) -> Option<Eq> {
        self.definitions[v]
    }

    pub(super) fn is_condition(&self, v: Var) -> bool {
        self.flat.vars[v].ty == Type::condition()
    }

    /// Whether the initial value of a delay may be replaced by a loaded one.
    pub(super) fn is_loaded(&self, v: Var) -> bool {
        let eq = self.definitions[v];
        self.flat.states.values().any(|s| s.parameter && Some(s.equation) == eq)
    }

    /// Whether a checkpoint may contain the value of a delay.
    pub(super) fn is_state(&self, v: Var) -> bool {
        let eq = self.definitions[v];
        self.flat.states.values().any(|s| Some(s.equation) == eq)
    }

    pub(super) fn truth_of(&self, k: ConstId) -> Truths {
        match &self.flat.consts[k].kind {
            ConstKind::Value(Value::Bool(b)) => Truths::of(*b),
            _ => Truths::ANY,
        }
    }

    /// The ends of a window and of all windows around it.
    pub(super) fn ends(&self, window: Option<Window>) -> Vec<Var> {
        let mut ends = Vec::new();
        let mut at = window;
        while let Some(w) = at {
            ends.push(self.flat.windows[w].end);
            at = self.flat.windows[w].parent;
        }
        ends
    }

    /// The conditions from one clock to another one within it, outermost first; `None` if it is not within the other.
    pub(super) fn between(&self, outer: ClockId, inner: ClockId) -> Option<Vec<Guard>> {
        let mut path = Vec::new();
        let mut at = inner;
        while at != outer {
            match self.clocks.clocks[at] {
                ClockData::On { parent, cond, positive } => {
                    path.push(Guard { cond, value: positive });
                    at = parent;
                }
                // All ticks are ticks of the base clock.
                _ if outer == Clocks::BASE => break,
                _ => return None,
            }
        }
        path.reverse();
        Some(path)
    }
}

/// A tick from which a delay may read its value.
#[derive(Clone, Copy, PartialEq, std::cmp::Eq, Debug)]
pub(super) enum Neighbour {
    /// No tick, or a window ends in between: the delay has its initial value.
    Nobody,
    /// A tick of the same segment, at this position.
    Inside(Position),
    /// A tick of an earlier segment, at this position.
    Earlier(Position),
    /// A tick of a later segment. That segment may not end within the trace, so nothing is known about it.
    Later,
    /// A tick that is not on the segments' clock.
    Anywhere,
}

/// The parts of a delay.
#[derive(Clone, Copy)]
pub(super) struct Delay<'a> {
    pub(super) init: Option<&'a Init>,
    pub(super) next: Var,
    pub(super) window: Option<Window>,
    pub(super) forward: bool,
}

impl<'a> Delay<'a> {
    pub(super) fn of(rhs: &'a Rhs) -> Option<Delay<'a>> {
        Some(match rhs {
            Rhs::Fby { init, next, window } => {
                Delay { init: Some(init), next: *next, window: *window, forward: true }
            }
            Rhs::FbyBack { init, next, window } => {
                Delay { init: Some(init), next: *next, window: *window, forward: false }
            }
            Rhs::Post { next, window } => Delay { init: None, next: *next, window: *window, forward: false },
            _ => return None,
        })
    }
}

/// A program, viewed in the segments of one entry.
pub(super) struct View<'v, 'a> {
    pub(super) program: &'v Program<'a>,
    pub(super) facts: &'v Facts,
    pub(super) id: Segments,
    pub(super) data: &'v SegmentsData,
    /// For each clock within that of the segments, the conditions between the two clocks.
    inside: IndexVec<ClockId, Option<Vec<Guard>>>,
    /// The values of conditions that a position implies, by representative; `None` if they contradict each other, so
    /// that no segment has a tick at this position.
    implied: [Option<BTreeMap<Var, bool>>; 4],
    /// Values that conditions have at most at one tick per segment, by representative.
    marks: BTreeSet<(Var, bool)>,
}

impl<'v, 'a> View<'v, 'a> {
    pub(super) fn new(program: &'v Program<'a>, facts: &'v Facts, id: Segments) -> View<'v, 'a> {
        let data = &facts.segments[id];
        let clocks = program.clocks;
        let inside = clocks.clocks.ids().map(|ck| program.between(data.clock, ck)).collect();
        let marks = BTreeSet::new();
        let mut view = View { program, facts, id, data, inside, implied: Default::default(), marks };
        view.implied = Position::ALL.map(|p| view.implied_at(p));
        view.marks = program.flat.equations.iter().filter_map(|e| view.mark(e.lhs)).collect();
        view
    }

    /// Whether these segments contain those of another entry.
    pub(super) fn divides_into(&self, smaller: Segments) -> bool {
        let of = |id: &Segments| self.facts.segments.get(*id).and_then(|data| data.parent);
        std::iter::successors(of(&smaller), of).any(|around| around == self.id)
    }

    pub(super) fn is_trace(&self) -> bool {
        self.id == Segments::TRACE
    }

    pub(super) fn of(&self, v: Var) -> &VarFacts {
        &self.facts.tables[self.id][v]
    }

    pub(super) fn truths(&self, v: Var, p: Position) -> Truths {
        self.of(v).truths[p.index()]
    }

    fn clock(&self, v: Var) -> ClockId {
        self.program.clocks.of[v]
    }

    /// Whether a variable ticks on the clock of the segments.
    pub(super) fn is_exact(&self, v: Var) -> bool {
        self.clock(v) == self.data.clock
    }

    /// The conditions that sample a variable on a clock within that of the segments.
    pub(super) fn samplings(&self, v: Var) -> Option<&[Guard]> {
        self.inside[self.clock(v)].as_deref()
    }

    /// The values of a condition that a position permits.
    pub(super) fn implied(&self, v: Var, p: Position) -> Truths {
        let (root, opposite) = self.program.root(v);
        let Some(implied) = &self.implied[p.index()] else { return Truths::NONE };
        implied.get(&root).map_or(Truths::ANY, |value| Truths::of(*value ^ opposite))
    }

    /// Whether no segment has a tick at a position, independently of the tables.
    pub(super) fn is_impossible(&self, p: Position) -> bool {
        self.implied[p.index()].is_none()
    }

    fn implied_at(&self, p: Position) -> Option<BTreeMap<Var, bool>> {
        let cut = &self.data.cut;
        let mut certain: BTreeMap<Var, bool> = BTreeMap::new();
        let mut if_present: BTreeMap<Var, bool> = BTreeMap::new();
        let single = cut.ends.len() == 1;
        for end in &cut.ends {
            let (root, opposite) = self.program.root(end.cond);
            let (map, value) = match () {
                () if p.is_end() && (cut.all || single) => (&mut certain, end.value ^ opposite),
                () if p.is_end() || (cut.all && !single) => continue,
                () if self.is_exact(end.cond) => (&mut certain, !end.value ^ opposite),
                () => (&mut if_present, !end.value ^ opposite),
            };
            if map.insert(root, value).is_some_and(|before| before != value) {
                return None;
            }
        }
        while self.infer(&mut certain)? {}
        for (v, value) in if_present {
            certain.entry(v).or_insert(value);
        }
        Some(certain)
    }

    /// Adds the values that follow for the operands of conditions. Returns whether any was added; `None` for a
    /// contradiction.
    fn infer(&self, certain: &mut BTreeMap<Var, bool>) -> Option<bool> {
        let before = certain.len();
        for equation in self.program.flat.equations.iter().filter(|_| before > 0) {
            let (root, opposite) = self.program.root(equation.lhs);
            let Some(value) = certain.get(&root).map(|v| *v ^ opposite) else { continue };
            let mut add = |v: Var, value: bool| {
                let (root, opposite) = self.program.root(v);
                *certain.entry(root).or_insert(value ^ opposite) == value ^ opposite
            };
            let agrees = match &equation.rhs {
                Rhs::Apply { op: Op::And, args } if value => args.iter().all(|a| add(*a, true)),
                Rhs::Apply { op: Op::Or, args } if !value => args.iter().all(|a| add(*a, false)),
                Rhs::When { value: sampled, cond } => add(*sampled, value) && add(*cond, true),
                Rhs::If { cond, then, other } => {
                    let is_not = |branch: Var| self.constant_truth(branch) == Some(!value);
                    let other_taken = !is_not(*then) || add(*cond, false) && add(*other, value);
                    other_taken && (!is_not(*other) || add(*cond, true) && add(*then, value))
                }
                _ => true,
            };
            if !agrees {
                return None;
            }
        }
        Some(certain.len() > before)
    }

    /// The value of a condition that is a constant.
    fn constant_truth(&self, v: Var) -> Option<bool> {
        let Some(Rhs::Const(k)) = self.program.rhs(v) else { return None };
        match &self.program.flat.consts[*k].kind {
            ConstKind::Value(value) => value.as_bool(),
            ConstKind::Random(_) | ConstKind::Apply { .. } => None,
        }
    }

    /// Whether a window ends wherever a segment does; `ends` are those of the window and the windows around it.
    fn surely_splits(&self, ends: &[Var]) -> bool {
        let among =
            |l: &Guard| ends.iter().any(|e| self.program.is_same(Guard { cond: *e, value: true }, *l));
        let cut = &self.data.cut;
        let named = if cut.all { cut.ends.iter().any(among) } else { cut.ends.iter().all(among) };
        let always = |e: &Var| {
            self.is_exact(*e)
                && !self.truths(*e, Position::Last).may(false)
                && !self.truths(*e, Position::Only).may(false)
        };
        named || ends.iter().any(always)
    }

    /// Whether a window may end within a segment.
    fn may_split_inside(&self, ends: &[Var]) -> bool {
        let never = |e: &Var| {
            self.samplings(*e).is_some()
                && !self.truths(*e, Position::Middle).may(true)
                && !self.truths(*e, Position::First).may(true)
        };
        !ends.iter().all(never)
    }

    /// The ticks from which a delay may read its value.
    pub(super) fn neighbours(&self, v: Var, delay: &Delay<'_>, p: Position) -> Vec<Neighbour> {
        if self.samplings(v).is_none() {
            return vec![Neighbour::Nobody, Neighbour::Anywhere];
        }
        if self.is_trace() {
            return vec![Neighbour::Nobody, Neighbour::Inside(Position::Middle)];
        }
        let ends = self.program.ends(delay.window);
        let exact = self.is_exact(v);
        let mut found = Vec::new();
        let at_border = if delay.forward { p.is_start() } else { p.is_end() };
        if !at_border {
            let beside = if delay.forward { Position::First } else { Position::Last };
            found.extend([Position::Middle, beside].map(Neighbour::Inside));
            if self.may_split_inside(&ends) {
                found.push(Neighbour::Nobody);
            }
        }
        // A sampled clock may have no further tick in the segment.
        if at_border || !exact {
            found.push(Neighbour::Nobody);
            if !self.surely_splits(&ends) {
                let positions = if exact { Positions::ENDS } else { Positions::ALL };
                match delay.forward {
                    true => found.extend(positions.iter().map(Neighbour::Earlier)),
                    false => found.push(Neighbour::Later),
                }
            }
        }
        found
    }

    /// Whether a variable has at most one tick per segment.
    pub(super) fn is_once(&self, v: Var) -> bool {
        let Some(samplings) = self.samplings(v) else { return false };
        let place = self.of(v).place;
        (!self.is_trace() && place.is_edge())
            || place.is_empty()
            || samplings.iter().any(|l| self.is_mark(*l))
    }

    /// The value that a condition has only at the first tick of a window, if no window ends within a segment.
    fn mark(&self, v: Var) -> Option<(Var, bool)> {
        let Some(Rhs::Fby { init: Init::Const(k), next, window }) = self.program.rhs(v) else { return None };
        let value = self.program.truth_of(*k).known()?;
        let is_again = |p: &Position| self.truths(*next, *p).may(value);
        let (root, opposite) = self.program.root(v);
        let once = self.samplings(v).is_some()
            && !Position::ALL.iter().any(is_again)
            && !self.may_split_inside(&self.program.ends(*window));
        once.then_some((root, value ^ opposite))
    }

    fn is_mark(&self, guard: Guard) -> bool {
        let (root, opposite) = self.program.root(guard.cond);
        self.marks.contains(&(root, guard.value ^ opposite))
    }

    /// The name of a variable at a position, for messages.
    pub(super) fn place(&self, v: Var, p: Position) -> String {
        let eq = self.program.equation(v).map_or_else(|| v.to_string(), |eq| format!("{eq} ({v})"));
        format!("{eq} at {p} in {}", self.id)
    }

    /// The variables of the program.
    pub(super) fn vars(&self) -> impl Iterator<Item = Var> + use<'a> {
        (0..self.program.flat.vars.len()).map(Var::from_index)
    }
}
