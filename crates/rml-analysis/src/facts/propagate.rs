//! The values of conditions, and equalities between values, by position. A work list extends both tables until they
//! agree with all equations.

use std::collections::VecDeque;

use indexmap::IndexMap;
use rml_base::IndexVec;
use rml_ir::flat::{ConstId, Init, Rhs, Var};
use rml_ir::op::{Compare, Op};

use super::Hold;
use rml_ir::Position;

use super::scope::Scope;
use super::truths::Truths;
use super::values::Values;
use crate::clocks::const_key;

/// The tick to which holds refer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    First,
    Last,
}

impl Hold {
    fn or(self, other: Hold) -> Hold {
        match (self, other) {
            (Hold::Nothing, x) | (x, Hold::Nothing) => x,
            (a, b) if a == b => a,
            _ => Hold::Own,
        }
    }

    /// The part of a hold that is valid in another segment.
    fn elsewhere(self) -> Hold {
        if let Hold::At(_) = self { Hold::Own } else { self }
    }
}

/// The maximum number of rounds of the search for holds. Each round begins with the variables that the previous round
/// found to be equal to no other value.
const ROUNDS: usize = 8;

pub(super) fn values(scope: &Scope<'_, '_>) -> Values {
    let flat = scope.conditions.flat;
    let n = flat.vars.len();
    let readers = readers(scope);
    let mut keys = IndexMap::new();
    let constants = flat.consts.ids().map(|k| *keys.entry(const_key(flat, k)).or_insert(k)).collect();
    let values = Values {
        truths: IndexVec::filled([Truths::NONE; 4], n),
        first: IndexVec::filled([Hold::Nothing; 4], n),
        last: IndexVec::filled([Hold::Nothing; 4], n),
    };
    let mut search = Search { scope, constants, values };
    converge(scope, &readers, |v| search.update_truths(v));
    for edge in [Edge::First, Edge::Last] {
        // A variable that is equal to no other value at the edge is a source from the start of the next round. Then
        // variables that were treated as constants before this was known are no obstacle.
        let mut own = IndexVec::filled([false; 4], n);
        for _ in 0..ROUNDS {
            *search.table(edge) = IndexVec::filled([Hold::Nothing; 4], n);
            converge(scope, &readers, |v| search.update_holds(edge, v, own[v]));
            let found: IndexVec<Var, [bool; 4]> = flat
                .vars
                .ids()
                .map(|v| Position::ALL.map(|p| search.held(edge, v, p) == Hold::At(v)))
                .collect();
            if found == own {
                break;
            }
            own = found;
        }
    }
    search.values
}

/// For each variable, the variables whose entries follow from its entries.
fn readers(scope: &Scope<'_, '_>) -> IndexVec<Var, Vec<Var>> {
    let flat = scope.conditions.flat;
    let mut readers: IndexVec<Var, Vec<Var>> = IndexVec::filled(Vec::new(), flat.vars.len());
    for equation in flat.equations.iter() {
        equation.rhs.for_each_operand(|v| readers[v].push(equation.lhs));
        for end in equation.rhs.window().into_iter().flat_map(|w| scope.ends_of(w)) {
            readers[end].push(equation.lhs);
        }
    }
    readers
}

/// Updates all variables until none changes any more.
fn converge(scope: &Scope<'_, '_>, readers: &IndexVec<Var, Vec<Var>>, mut update: impl FnMut(Var) -> bool) {
    let flat = scope.conditions.flat;
    let mut waiting: IndexVec<Var, bool> = IndexVec::filled(true, flat.vars.len());
    let inputs = flat.inputs.iter().map(|i| i.var);
    let mut pending: VecDeque<Var> = inputs.chain(flat.equations.iter().map(|e| e.lhs)).collect();
    while let Some(v) = pending.pop_front() {
        waiting[v] = false;
        if update(v) {
            for reader in &readers[v] {
                if !std::mem::replace(&mut waiting[*reader], true) {
                    pending.push_back(*reader);
                }
            }
        }
    }
}

struct Search<'s, 'c, 'a> {
    scope: &'s Scope<'c, 'a>,
    /// For each constant, the first constant with the same value.
    constants: IndexVec<ConstId, ConstId>,
    values: Values,
}

impl Search<'_, '_, '_> {
    /// Computes the truths of a variable from those of its operands; returns whether they changed.
    fn update_truths(&mut self, v: Var) -> bool {
        let truths = Position::ALL.map(|p| self.truth(v, p).and(self.scope.implied(v, p)));
        std::mem::replace(&mut self.values.truths[v], truths) != truths
    }

    /// Computes the holds of a variable from those of its operands; returns whether they changed. An entry never
    /// becomes more specific than it was.
    fn update_holds(&mut self, edge: Edge, v: Var, own: [bool; 4]) -> bool {
        let old = self.table(edge)[v];
        let found = Position::ALL.map(|p| {
            let is_edge = !self.scope.is_trace
                && match edge {
                    Edge::First => p.is_start(),
                    Edge::Last => p.is_end(),
                };
            match self.equal_to(edge, v, p).or(old[p.index()]) {
                _ if own[p.index()] => Hold::At(v),
                Hold::Own if is_edge => Hold::At(v),
                hold => hold,
            }
        });
        self.table(edge)[v] = found;
        found != old
    }

    fn table(&mut self, edge: Edge) -> &mut IndexVec<Var, [Hold; 4]> {
        match edge {
            Edge::First => &mut self.values.first,
            Edge::Last => &mut self.values.last,
        }
    }

    fn at(&self, v: Var, p: Position) -> Truths {
        self.values.truths[v][p.index()]
    }

    fn truth(&self, v: Var, p: Position) -> Truths {
        let is_condition = self.scope.conditions.flat.vars[v].ty == rml_ir::Type::condition();
        let Some(rhs) = self.scope.conditions.rhs(v).filter(|_| is_condition) else { return Truths::ANY };
        match rhs {
            Rhs::Const(k) => self.scope.constant_truth(*k),
            Rhs::Apply { op, args } => self.apply(op, args, p),
            Rhs::When { value, cond } => {
                let taken = if self.at(*cond, p).may(true) { self.at(*value, p) } else { Truths::NONE };
                let sampled = self.scope.same_condition(*value, *cond);
                taken.and(sampled.map_or(Truths::ANY, Truths::of))
            }
            Rhs::If { cond, then: a, other: b } | Rhs::Merge { cond, on_true: a, on_false: b } => {
                let branch = |v: Var, value| {
                    if self.at(*cond, p).may(value) { self.at(v, p) } else { Truths::NONE }
                };
                branch(*a, true).or(branch(*b, false))
            }
            Rhs::Fby { init, next, .. } | Rhs::FbyBack { init, next, .. } => {
                self.delayed_truth(v, rhs, Some(init), *next, p)
            }
            Rhs::Post { next, .. } => self.delayed_truth(v, rhs, None, *next, p),
            Rhs::Param { .. } => Truths::ANY,
        }
    }

    fn apply(&self, op: &Op, args: &[Var], p: Position) -> Truths {
        match (op, args) {
            (Op::Not, [a]) => self.at(*a, p).map(|x| !x),
            (Op::Copy | Op::StopGradient, [a]) => self.at(*a, p),
            (Op::And, [a, b]) => self.at(*a, p).map2(self.at(*b, p), |x, y| x && y),
            (Op::Or, [a, b]) => self.at(*a, p).map2(self.at(*b, p), |x, y| x || y),
            (Op::Compare(Compare::Eq | Compare::Ne), [a, b])
                if self.scope.conditions.flat.vars[*a].ty == rml_ir::Type::condition() =>
            {
                self.at(*a, p).map2(self.at(*b, p), |x, y| (x == y) == (*op == Op::Compare(Compare::Eq)))
            }
            _ => Truths::ANY,
        }
    }

    fn delayed_truth(&self, v: Var, rhs: &Rhs, init: Option<&Init>, next: Var, p: Position) -> Truths {
        let sources = self.scope.sources(&self.values, v, rhs, p);
        let mut truths = if sources.anything { Truths::ANY } else { Truths::NONE };
        if sources.init
            && let Some(init) = init
        {
            truths = truths.or(match init {
                Init::Const(k) if !self.is_loaded(v) => self.scope.constant_truth(*k),
                Init::Stream(i) if !self.is_loaded(v) => self.at(*i, p),
                _ => Truths::ANY,
            });
        }
        let taken = sources.same.iter().chain(sources.earlier.iter());
        taken.fold(truths, |all, q| all.or(self.at(next, q)))
    }

    fn is_loaded(&self, v: Var) -> bool {
        self.scope.conditions.defs[v].is_some_and(|eq| self.scope.parameters[eq])
    }

    /// Whether a run may begin with another value than the initial one: the value in a checkpoint, perhaps of another
    /// node.
    fn is_state(&self, v: Var) -> bool {
        self.scope.conditions.defs[v].is_some_and(|eq| self.scope.states[eq])
    }

    fn held(&self, edge: Edge, v: Var, p: Position) -> Hold {
        match edge {
            Edge::First => self.values.first[v][p.index()],
            Edge::Last => self.values.last[v][p.index()],
        }
    }

    fn equal_to(&self, edge: Edge, v: Var, p: Position) -> Hold {
        let Some(rhs) = self.scope.conditions.rhs(v) else { return Hold::Own };
        match rhs {
            Rhs::Const(k) => Hold::Const(self.constants[*k]),
            Rhs::Apply { op: Op::Copy | Op::StopGradient, args } => self.held(edge, args[0], p),
            Rhs::When { value, cond } if self.at(*cond, p).may(true) => self.held(edge, *value, p),
            Rhs::When { .. } => Hold::Nothing,
            Rhs::If { cond, then: a, other: b } | Rhs::Merge { cond, on_true: a, on_false: b } => {
                let branch = |v: Var, value| {
                    if self.at(*cond, p).may(value) { self.held(edge, v, p) } else { Hold::Nothing }
                };
                branch(*a, true).or(branch(*b, false))
            }
            Rhs::Fby { init, next, .. } | Rhs::FbyBack { init, next, .. } => {
                self.delayed_hold(edge, v, rhs, Some(init), *next, p)
            }
            Rhs::Post { next, .. } => self.delayed_hold(edge, v, rhs, None, *next, p),
            Rhs::Apply { .. } | Rhs::Param { .. } => Hold::Own,
        }
    }

    fn delayed_hold(
        &self,
        edge: Edge,
        v: Var,
        rhs: &Rhs,
        init: Option<&Init>,
        next: Var,
        p: Position,
    ) -> Hold {
        let sources = self.scope.sources(&self.values, v, rhs, p);
        let mut hold = if sources.anything { Hold::Own } else { Hold::Nothing };
        if sources.init
            && let Some(init) = init
        {
            hold = hold.or(match init {
                Init::Const(k) if !self.is_state(v) => Hold::Const(self.constants[*k]),
                Init::Stream(i) if !self.is_state(v) => self.held(edge, *i, p),
                _ => Hold::Own,
            });
        }
        for q in sources.same.iter() {
            hold = hold.or(self.held(edge, next, q));
        }
        for q in sources.earlier.iter() {
            hold = hold.or(self.held(edge, next, q).elsewhere());
        }
        hold
    }
}
