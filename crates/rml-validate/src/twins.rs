//! Twins: variables with the same operator and equal operands, so that a plan may compute only one of them.
//!
//! Both have the same clock, so one is present where the other one is. A proof leads from the variables to their
//! operands at the same tick, and continues by steps that do not depend on the plan. It is finite; for two similar
//! recurrences it is an induction over the ticks of a window.

use std::cell::RefCell;
use std::collections::BTreeSet;

use rml_ir::flat::{Rhs, Var};
use rml_ir::op::Op;
use rml_plan::{Ends, Tick};

use crate::equal::{Equal, Term};
use crate::view::{At, View};

/// What makes a variable of operands.
#[derive(PartialEq)]
enum Made<'a> {
    Apply(&'a Op),
    /// A choice between two of them.
    Choice,
}

impl<'a> Equal<'a> {
    /// Whether a variable at a tick equals a twin of another one at a tick.
    pub(crate) fn has_twin(&self, v: Var, tick: At, (other, at): (Var, At), view: View) -> bool {
        let made = |u: Var| self.made(u).is_some();
        made(other)
            && self.find(v, tick, view, |term| match term {
                Term::Value(u, t) => t == at && made(u) && self.are_twins(u, other, at, view),
                _ => false,
            })
    }

    /// What makes a variable that is more than a copy, and of which operands.
    fn made(&self, v: Var) -> Option<(Made<'a>, Vec<Var>)> {
        match self.frame.rhs(v)? {
            Rhs::Apply { op, args } if !matches!(op, Op::Copy | Op::StopGradient) => {
                Some((Made::Apply(op), args.to_vec()))
            }
            Rhs::If { cond, then, other } | Rhs::Merge { cond, on_true: then, on_false: other } => {
                Some((Made::Choice, vec![*cond, *then, *other]))
            }
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
        let (Some((by, a)), Some((other, b))) = (self.made(u), self.made(v)) else { return false };
        if by != other || a.len() != b.len() || !self.frame.are_together(u, v) {
            return false;
        }
        self.twins.borrow_mut().insert((u, v, tick, view), false);
        let found = a.iter().zip(&b).all(|(a, b)| self.are_same(*a, *b, tick, view))
            || self.are_recurrences_alike((u, &a), (v, &b));
        self.twins.borrow_mut().insert((u, v, tick, view), found);
        found
    }

    /// Whether two recurrences over a window are made of operands that are the same, or the recurrences themselves at a
    /// tick that both continue from. By induction over the ticks, from the last one back or from the first one on, they
    /// are equal at all of them.
    fn are_recurrences_alike(&self, (u, a): (Var, &[Var]), (v, b): (Var, &[Var])) -> bool {
        // A block continues from what is not known in it.
        if self.plan.ends == Ends::Nothing {
            return false;
        }
        if let Some(known) = self.alike.borrow().get(&(u, v)) {
            return *known;
        }
        self.alike.borrow_mut().insert((u, v), false);
        let views = || {
            let there = self.frame.possible().iter().filter(|p| !self.frame.is_absent(u, *p));
            there.flat_map(|p| self.frame.views(p, 0))
        };
        let goes_on = |operand: Var, own: Var, tick: Tick, view: View| {
            let behind = view.tick(tick);
            behind.is_some_and(|behind| self.find(operand, At::NOW, view, |t| t == Term::Value(own, behind)))
        };
        let found = [Tick::After, Tick::Before].into_iter().any(|tick| {
            views().any(|view| a.iter().any(|a| goes_on(*a, u, tick, view)))
                && views().all(|view| {
                    a.iter().zip(b).all(|(a, b)| {
                        goes_on(*a, u, tick, view) && goes_on(*b, v, tick, view)
                            || self.are_same(*a, *b, At::NOW, view)
                    })
                })
        });
        self.alike.borrow_mut().insert((u, v), found);
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
