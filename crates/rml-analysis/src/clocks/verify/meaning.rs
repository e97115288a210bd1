//! K2 and K5: the meaning of the table, proved from the [terms](super::terms) of the variables.

use std::collections::BTreeMap;

use rml_ir::flat::{Eq, Flat, Init, Rhs, Var, Window};

use super::terms::{Terms, Ticks, is_delay, parts};
use crate::clocks::{ClockId, Clocks};

pub(super) fn check(flat: &Flat, clocks: &Clocks, is_synchronous: bool, found: &mut Vec<String>) {
    let mut proof = Proof { flat, clocks, terms: Terms::new(flat, clocks) };
    for (v, first) in clocks.same.iter_enumerated() {
        if proof.terms.of(v) != proof.terms.of(*first) {
            found.push(format!("K5: {v} is not proved to be the same as {first}"));
        }
    }
    proof.delays(found);
    proof.twins(found);
    if is_synchronous {
        proof.equations(found);
        proof.inputs(found);
    }
}

struct Proof<'a> {
    flat: &'a Flat,
    clocks: &'a Clocks,
    terms: Terms<'a>,
}

impl Proof<'_> {
    /// The step of the induction: delays that are declared to be the same begin with the same value and delay the same
    /// value.
    fn delays(&self, found: &mut Vec<String>) {
        let mut leaders: BTreeMap<Var, Eq> = BTreeMap::new();
        for (eq, equation) in self.flat.equations.iter_enumerated().filter(|(_, e)| is_delay(&e.rhs)) {
            let leader = *leaders.entry(self.clocks.same[equation.lhs]).or_insert(eq);
            if leader != eq && !self.terms.is_steady(eq) && !self.are_alike(leader, eq) {
                let first = self.clocks.same[equation.lhs];
                found.push(format!("K5: the delay {} is not proved to be the same as {first}", equation.lhs));
            }
        }
    }

    fn are_alike(&self, a: Eq, b: Eq) -> bool {
        if self.terms.is_parameter(a) || self.terms.is_parameter(b) {
            return false;
        }
        let (a, b) = (&self.flat.equations[a], &self.flat.equations[b]);
        let (Some((i, x)), Some((j, y))) = (parts(&a.rhs), parts(&b.rhs)) else { return false };
        let inits = match (i, j) {
            (Some(Init::Const(k)), Some(Init::Const(l))) => self.terms.are_equal(*k, *l),
            (Some(Init::Stream(i)), Some(Init::Stream(j))) => self.terms.of(*i) == self.terms.of(*j),
            (None, None) => true,
            _ => false,
        };
        inits
            && std::mem::discriminant(&a.rhs) == std::mem::discriminant(&b.rhs)
            && self.terms.of(x) == self.terms.of(y)
            && self.clocks.of[a.lhs] == self.clocks.of[b.lhs]
            && self.end_together(a.rhs.window(), b.rhs.window())
    }

    /// Whether two windows end in the same cycles, and so do the windows around them.
    fn end_together(&self, mut a: Option<Window>, mut b: Option<Window>) -> bool {
        while let (Some(v), Some(w)) = (a, b) {
            let (v, w) = (self.flat.windows[v], self.flat.windows[w]);
            let same = self.terms.of(v.end) == self.terms.of(w.end);
            if !same || self.ticks(v.end) != self.ticks(w.end) {
                return false;
            }
            (a, b) = (v.parent, w.parent);
        }
        a.is_none() && b.is_none()
    }

    fn ticks(&self, v: Var) -> Ticks {
        self.terms.ticks(self.clocks.of[v])
    }

    /// Checks that no two clocks always tick together.
    fn twins(&self, found: &mut Vec<String>) {
        if !self.terms.are_small() {
            return;
        }
        let mut first: BTreeMap<Ticks, ClockId> = BTreeMap::new();
        for id in self.clocks.clocks.ids() {
            let twin = *first.entry(self.terms.ticks(id)).or_insert(id);
            if twin != id {
                found.push(format!("K2: {id} is {twin}"));
            }
        }
    }

    /// Checks that the clocks of every equation satisfy its primitive.
    fn equations(&mut self, found: &mut Vec<String>) {
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
    }

    fn inputs(&mut self, found: &mut Vec<String>) {
        for input in &self.flat.inputs {
            if let Some((cond, value)) = input.clock
                && !self.is_sampled((input.var, cond, value))
            {
                found.push(format!("K2: the input {} is not on its declared clock", input.var));
            }
        }
    }

    /// Whether a variable is present exactly where a condition has a value.
    fn is_sampled(&mut self, (v, cond, value): (Var, Var, bool)) -> bool {
        self.ticks(v) == self.terms.sampled(cond, value)
    }
}
