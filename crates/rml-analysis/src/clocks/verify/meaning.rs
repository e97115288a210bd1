//! K2 and K5: what the table means. Equal streams and equal clocks are refuted at made-up instants; that delays are equal is proved by
//! induction, from equal beginnings and from what is delayed.

use std::collections::BTreeMap;

use rml_base::IndexVec;
use rml_ir::flat::{Flat, Init, Rhs, Var, Window};

use super::model::{Model, constant_text, is_delay};
use crate::clocks::Clocks;

pub(super) fn check(flat: &Flat, clocks: &Clocks, is_synchronous: bool, found: &mut Vec<String>) {
    let check = Check { flat, clocks, model: Model::new(flat, clocks) };
    for (v, first) in clocks.same.iter_enumerated() {
        if check.differ(v, *first) {
            found.push(format!("K5: {v} is not the same as {first}"));
        }
    }
    check.delays(found);
    if is_synchronous {
        check.equations(found);
    }
}

struct Check<'a> {
    flat: &'a Flat,
    clocks: &'a Clocks,
    model: Model,
}

impl Check<'_> {
    /// Whether two variables have different values at some instant.
    fn differ(&self, a: Var, b: Var) -> bool {
        match (&self.model.rows[a], &self.model.rows[b]) {
            (Some(x), Some(y)) => x != y,
            _ => false,
        }
    }

    /// Delays that are said to be equal, to each other or to a constant.
    fn delays(&self, found: &mut Vec<String>) {
        let mut sizes: IndexVec<Var, usize> = IndexVec::filled(0, self.flat.vars.len());
        for class in self.clocks.same.iter() {
            sizes[*class] += 1;
        }
        let mut leaders: BTreeMap<Var, &rml_ir::flat::Equation> = BTreeMap::new();
        for equation in self.flat.equations.iter().filter(|e| is_delay(&e.rhs)) {
            let class = self.clocks.same[equation.lhs];
            // Nothing is known of what needs something that needs itself within an instant.
            let fits = if sizes[class] == 1 || self.model.rows[equation.lhs].is_none() {
                true
            } else if let Some(constant) = self.model.fixed(equation.lhs) {
                self.is_steady(equation.lhs, &equation.rhs, constant)
            } else {
                let leader = *leaders.entry(class).or_insert(equation);
                leader.lhs == equation.lhs || self.are_alike(leader, equation)
            };
            if !fits {
                found.push(format!("K5: the delay {} is not proved to be the same as {class}", equation.lhs));
            }
        }
    }

    /// Whether a delay of a constant begins with it.
    fn is_steady(&self, v: Var, rhs: &Rhs, constant: u64) -> bool {
        let (init, next) = match rhs {
            Rhs::Fby { init, next, .. } | Rhs::FbyBack { init, next, .. } => (Some(init), *next),
            Rhs::Post { next, .. } => (None, *next),
            _ => return false,
        };
        let is_it = |x: Var| self.model.rows[x].is_none() || self.model.fixed(x) == Some(constant);
        let begins = match init {
            None => true,
            Some(Init::Stream(i)) => is_it(*i),
            Some(Init::Const(k)) => self.model.fixed_constant(self.flat, *k) == constant,
        };
        begins && is_it(next) && !self.is_parameter(v)
    }

    fn is_parameter(&self, v: Var) -> bool {
        self.flat.states.values().any(|s| s.parameter && self.flat.equations[s.equation].lhs == v)
    }

    fn are_alike(&self, a: &rml_ir::flat::Equation, b: &rml_ir::flat::Equation) -> bool {
        let inits = |x: &Init, y: &Init| match (x, y) {
            (Init::Const(k), Init::Const(l)) => constant_text(self.flat, *k) == constant_text(self.flat, *l),
            (Init::Stream(i), Init::Stream(j)) => !self.differ(*i, *j),
            _ => false,
        };
        let parts = match (&a.rhs, &b.rhs) {
            (Rhs::Fby { init: i, next: x, window: v }, Rhs::Fby { init: j, next: y, window: w })
            | (Rhs::FbyBack { init: i, next: x, window: v }, Rhs::FbyBack { init: j, next: y, window: w }) => {
                inits(i, j).then_some((*x, *y, *v, *w))
            }
            (Rhs::Post { next: x, window: v }, Rhs::Post { next: y, window: w }) => Some((*x, *y, *v, *w)),
            _ => None,
        };
        let Some((x, y, v, w)) = parts else { return false };
        !self.differ(x, y)
            && self.same_windows(v, w)
            && self.clocks.of[a.lhs] == self.clocks.of[b.lhs]
            && !self.is_parameter(a.lhs)
            && !self.is_parameter(b.lhs)
    }

    /// Whether two windows and those around them end together.
    fn same_windows(&self, mut a: Option<Window>, mut b: Option<Window>) -> bool {
        while let (Some(v), Some(w)) = (a, b) {
            let (v, w) = (self.flat.windows[v], self.flat.windows[w]);
            if self.differ(v.end, w.end) || self.clocks.of[v.end] != self.clocks.of[w.end] {
                return false;
            }
            (a, b) = (v.parent, w.parent);
        }
        a.is_none() && b.is_none()
    }

    /// Every equation has the clocks that its primitive asks for.
    fn equations(&self, found: &mut Vec<String>) {
        for (eq, equation) in self.flat.equations.iter_enumerated() {
            let (together, sampled) = match &equation.rhs {
                Rhs::When { value, cond } => (vec![*value, *cond], vec![(equation.lhs, *cond, true)]),
                Rhs::Merge { cond, on_true, on_false } => {
                    (vec![equation.lhs, *cond], vec![(*on_true, *cond, true), (*on_false, *cond, false)])
                }
                rhs => {
                    let mut all = vec![equation.lhs];
                    rhs.for_each_operand(|v| all.push(v));
                    (all, Vec::new())
                }
            };
            let clock = |v: Var| self.clocks.of[v];
            let apart = together.iter().any(|v| clock(*v) != clock(together[0]));
            if apart || sampled.into_iter().any(|s| !self.is_sampled(s)) {
                found.push(format!("K2: the variables of {eq} are not on the clocks that it asks for"));
            }
        }
        let declared =
            self.flat.inputs.iter().filter_map(|i| i.clock.map(|(c, positive)| (i.var, c, positive)));
        for (v, cond, positive) in declared {
            if !self.is_sampled((v, cond, positive)) {
                found.push(format!("K2: the input {v} is not on its declared clock"));
            }
        }
    }

    /// Whether a variable is on the clock of the ticks in which a condition has a value.
    fn is_sampled(&self, (v, cond, positive): (Var, Var, bool)) -> bool {
        let clock = |v: Var| self.clocks.of[v];
        let (Some(own), Some(of), Some(row)) =
            (&self.model.clocks[clock(v)], &self.model.clocks[clock(cond)], &self.model.rows[cond])
        else {
            return true;
        };
        let ticks = |i: usize| of[i] & u64::from((row[i] == 1) == positive);
        self.clocks.root(clock(v)) == self.clocks.root(clock(cond))
            && (0..own.len()).all(|i| own[i] == ticks(i))
    }
}
