//! Twins: variables that one operator makes of equal operands, so that a plan may compute one of them alone.
//!
//! Both have the same clock, so one is present where the other one is. A proof goes from the variables to their operands at the same tick,
//! and from there by steps that hold whatever the plan does; it is finite, so it needs no induction of its own.

use std::cell::RefCell;
use std::collections::BTreeSet;

use rml_ir::flat::{Rhs, Var};
use rml_ir::op::Op;

use crate::equal::{Equal, Term};
use crate::view::{At, View};

impl Equal<'_> {
    /// Whether a variable at a tick equals a twin of another one at a tick.
    pub(crate) fn has_twin(&self, v: Var, tick: At, (other, at): (Var, At), view: View) -> bool {
        let made = |u: Var| self.made(u).is_some();
        made(other)
            && self.find(v, tick, view, |term| match term {
                Term::Value(u, t) => t == at && made(u) && self.are_twins(u, other, at, view),
                _ => false,
            })
    }

    /// The operator and the operands of a variable that is more than a copy.
    fn made(&self, v: Var) -> Option<(&Op, &[Var])> {
        match self.frame.rhs(v)? {
            Rhs::Apply { op, args } if !matches!(op, Op::Copy | Op::StopGradient) => Some((op, args)),
            _ => None,
        }
    }

    fn are_twins(&self, u: Var, v: Var, tick: At, view: View) -> bool {
        if u == v {
            return true;
        }
        if let Some(known) = self.twins.borrow().get(&(u, v, tick, view)) {
            return *known;
        }
        let (Some((op, a)), Some((other, b))) = (self.made(u), self.made(v)) else { return false };
        if op != other || a.len() != b.len() || !self.frame.are_together(u, v) {
            return false;
        }
        self.twins.borrow_mut().insert((u, v, tick, view), false);
        let found = a.iter().zip(b).all(|(a, b)| self.are_same(*a, *b, tick, view));
        self.twins.borrow_mut().insert((u, v, tick, view), found);
        found
    }

    /// Whether two variables that are present have the same value at a tick.
    fn are_same(&self, a: Var, b: Var, tick: At, view: View) -> bool {
        let reached = |v: Var| {
            let terms = RefCell::new(BTreeSet::new());
            let never = self.find(v, tick, view, |term| {
                terms.borrow_mut().insert(term);
                false
            });
            (terms.into_inner(), never)
        };
        let ((a, a_never), (b, b_never)) = (reached(a), reached(b));
        if a_never || b_never || !a.is_disjoint(&b) {
            return true;
        }
        let made = |terms: &BTreeSet<Term>| {
            let made = terms.iter().filter_map(|term| match term {
                Term::Value(v, at) if self.made(*v).is_some() => Some((*v, *at)),
                _ => None,
            });
            made.collect::<Vec<_>>()
        };
        let b = made(&b);
        made(&a).iter().any(|(u, at)| b.iter().any(|(v, t)| t == at && self.are_twins(*u, *v, *at, view)))
    }
}
