//! Parts of values: elements cut from a variable, and products of which a part is computed by itself.
//!
//! An element of a product is a sum along the inner dimension of the factors. So the product of two factors is the
//! product of their trailing parts added to that of their leading parts; and some rows or columns of it are the product
//! of only these rows or columns.

use rml_ir::flat::{Rhs, Var};
use rml_ir::op::{AxisIndex, Op};
use rml_plan::{Atom, Rule};

use crate::claim::{AxisRange, Claim};
use crate::equal::{Equal, Term};
use crate::view::{At, View};

/// How many concatenations within each other are looked through.
const DEEPEST: usize = 64;

impl Equal<'_> {
    /// Whether a rule gives some elements of a variable: cut from it, or joined from other elements of it.
    pub(crate) fn cuts(&self, rule: &Rule, v: Var, cut: AxisRange, view: View) -> bool {
        match rule {
            Rule::Apply { op: Op::Index { items }, args } => {
                let is_whole = |atom: Atom| self.is_at(atom, v, At::NOW, view);
                *items == cut.items(self.dims(v)) && matches!(args[..], [atom] if is_whole(atom))
            }
            Rule::Apply { op: Op::Concat { axis }, args } if *axis == cut.axis => {
                let mut start = cut.start;
                let joined = args.iter().all(|atom| {
                    let ty = self.plan.ty(*atom);
                    let Some(len) = ty.shape.dims().get(*axis).copied() else { return false };
                    let own = AxisRange { start, len, ..cut };
                    start += len;
                    self.is_part(*atom, v, own, At::NOW, view, 0)
                });
                joined && start == cut.start + cut.len
            }
            _ => false,
        }
    }

    /// Whether a rule gives a product up to a place along the inner dimension.
    pub(crate) fn begins(&self, rule: &Rule, v: Var, upto: usize, view: View) -> bool {
        let Rule::Apply { op: Op::MatMul, args } = rule else { return false };
        self.factors(v).is_some_and(|(factors, _)| self.are_factors(args, factors, (0, upto), At::NOW, view))
    }

    /// Whether a variable is a product that continues from where its start has come to.
    pub(crate) fn goes_on(&self, start: Atom, args: &[Atom], v: Var, view: View) -> bool {
        let Atom::Tape(tape, seen) = start else { return false };
        let Claim::Begun(begun, upto) = self.witness.tapes[tape] else { return false };
        self.find(v, At::NOW, view, |term| {
            let Term::Value(w, tick) = term else { return false };
            let Some((factors, inner)) = self.factors(w) else { return false };
            w == begun
                && view.tick(seen) == Some(tick)
                && upto <= inner
                && self.are_factors(args, factors, (upto, inner - upto), tick, view)
        })
    }

    /// Whether a variable is some rows or columns of a product, computed from rows of the first factor or columns of
    /// the second one.
    pub(crate) fn computes_part(&self, op: &Op, args: &[Atom], v: Var, view: View) -> bool {
        let (Op::MatMul, [a, b]) = (op, args) else { return false };
        self.find(v, At::NOW, view, |term| {
            let Term::Value(w, tick) = term else { return false };
            let Some(Rhs::Apply { op: Op::Index { items }, args }) = self.frame.rhs(w) else { return false };
            self.find(args[0], tick, view, |term| {
                let Term::Value(product, tick) = term else { return false };
                let Some(([x, y], _)) = self.factors(product) else { return false };
                let (rows, columns) = items.split_at(self.dims(x).len() - 1);
                let inner = AxisIndex::whole(self.dims(y)[0]);
                let of_x: Vec<AxisIndex> = rows.iter().copied().chain([inner]).collect();
                let of_y: Vec<AxisIndex> = [inner].into_iter().chain(columns.iter().copied()).collect();
                self.is_picked(*a, x, &of_x, tick, view) && self.is_picked(*b, y, &of_y, tick, view)
            })
        })
    }

    /// The factors of a product with a vector or a matrix, and how long the inner dimension is.
    fn factors(&self, v: Var) -> Option<([Var; 2], usize)> {
        let Rhs::Apply { op: Op::MatMul, args } = self.frame.rhs(v)? else { return None };
        let [a, b] = args[..] else { return None };
        (self.dims(b).len() <= 2).then(|| ([a, b], self.dims(b)[0]))
    }

    /// Whether operands are factors, from some place on along the inner dimension, and so far.
    fn are_factors(
        &self,
        args: &[Atom],
        [a, b]: [Var; 2],
        (start, len): (usize, usize),
        tick: At,
        view: View,
    ) -> bool {
        let [left, right] = args[..] else { return false };
        let inner = AxisRange { axis: self.dims(a).len() - 1, start, len };
        self.is_part(left, a, inner, tick, view, 0)
            && self.is_part(right, b, AxisRange { axis: 0, ..inner }, tick, view, 0)
    }

    /// Whether an operand is what an index takes of a variable, along one axis at most.
    fn is_picked(&self, atom: Atom, v: Var, items: &[AxisIndex], tick: At, view: View) -> bool {
        let dims = self.dims(v);
        let is_cut = |axis: &usize| items[*axis] != AxisIndex::whole(dims[*axis]);
        let mut axes = (0..dims.len()).filter(is_cut);
        match (axes.next().map(|axis| (axis, items[axis])), axes.next()) {
            (None, _) => self.is_at(atom, v, tick, view),
            (Some((axis, AxisIndex::Slice { start, len, step: 1 })), None) => {
                self.is_part(atom, v, AxisRange { axis, start, len }, tick, view, 0)
            }
            _ => false,
        }
    }

    /// Whether an operand is some elements of a variable at a tick.
    fn is_part(&self, atom: Atom, v: Var, cut: AxisRange, tick: At, view: View, depth: usize) -> bool {
        if depth > DEEPEST {
            return false;
        }
        if (cut.start, cut.len) == (0, self.dims(v)[cut.axis]) {
            return self.is_at(atom, v, tick, view);
        }
        self.find(v, tick, view, |term| {
            let Term::Value(w, at) = term else { return false };
            self.holds_part(atom, w, cut, at, view)
                || self
                    .joined(w, cut)
                    .is_some_and(|(of, cut)| self.is_part(atom, of, cut, at, view, depth + 1))
        })
    }

    /// Whether a tape is claimed to hold these elements of a variable, or of a twin of it.
    fn holds_part(&self, atom: Atom, v: Var, cut: AxisRange, tick: At, view: View) -> bool {
        let Atom::Tape(tape, seen) = atom else { return false };
        match self.witness.tapes[tape] {
            Claim::Part(of, own) if own == cut && view.tick(seen) == Some(tick) => {
                of == v || self.has_twin(v, tick, (of, tick), view)
            }
            _ => false,
        }
    }

    /// Of which operand of a concatenation some elements of it come, and which ones of that they are.
    fn joined(&self, v: Var, cut: AxisRange) -> Option<(Var, AxisRange)> {
        let Rhs::Apply { op: Op::Concat { axis }, args } = self.frame.rhs(v)? else { return None };
        if *axis != cut.axis {
            return None;
        }
        let mut start = cut.start;
        for of in args {
            let len = self.dims(*of)[*axis];
            if start < len {
                return (start + cut.len <= len).then_some((*of, AxisRange { start, ..cut }));
            }
            start -= len;
        }
        None
    }

    fn dims(&self, v: Var) -> &[usize] {
        self.frame.flat.vars[v].ty.shape.dims()
    }
}
