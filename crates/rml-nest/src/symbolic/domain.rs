//! The symbolic run: elements are terms, and conditions get chosen truth values.

use std::cell::RefCell;
use std::collections::BTreeMap;

use rml_base::Span;
use rml_ir::DType;
use rml_ir::op::Op;

use super::terms::{Form, Term, Terms};
use crate::evaluate::{Domain, Fails, Fault, Tensor};
use crate::{Call, Fold};

/// Terms, with a truth value for each condition that was asked for.
#[derive(Default)]
pub(super) struct Symbols {
    pub(super) terms: RefCell<Terms>,
    conditions: RefCell<Conditions>,
    /// The terms of operators that may fail, in order, with their equations.
    failing: RefCell<Vec<(Term, Span)>>,
}

/// A choice of truth values.
#[derive(Default)]
struct Conditions {
    /// Conditions whose values are fixed.
    given: BTreeMap<Term, bool>,
    /// Conditions whose values were requested, in order.
    asked: Vec<(Term, bool)>,
    known: BTreeMap<Term, bool>,
    /// The values of the first conditions requested.
    first: Vec<bool>,
    /// The seed from which all other values are drawn; without it they are false.
    seed: Option<u64>,
}

impl Conditions {
    fn ask(&mut self, term: Term) -> bool {
        if let Some(known) = self.given.get(&term).or_else(|| self.known.get(&term)) {
            return *known;
        }
        let n = self.asked.len();
        let drawn = self.seed.is_some_and(|seed| {
            let x = (seed ^ (n as u64) << 17).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            (x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 63 == 1
        });
        let value = self.first.get(n).copied().unwrap_or(drawn);
        self.asked.push((term, value));
        self.known.insert(term, value);
        value
    }
}

impl Symbols {
    /// Starts a run with a new choice of truth values.
    pub(super) fn begin(&self, given: BTreeMap<Term, bool>, first: Vec<bool>, seed: Option<u64>) {
        *self.conditions.borrow_mut() = Conditions { given, first, seed, ..Conditions::default() };
        self.failing.borrow_mut().clear();
    }

    /// The conditions that were asked for, in order.
    pub(super) fn asked(&self) -> Vec<(Term, bool)> {
        self.conditions.borrow().asked.clone()
    }

    /// The terms that may have failed since the last call.
    pub(super) fn failing(&self) -> Vec<(Term, Span)> {
        std::mem::take(&mut self.failing.borrow_mut())
    }

    pub(super) fn of(&self, form: Form) -> Term {
        self.terms.borrow_mut().of(form)
    }

    fn tried(&self, form: Form, fails: Fails) -> Term {
        let term = self.of(form);
        if fails.may {
            self.failing.borrow_mut().push((term, fails.span));
        }
        term
    }

    fn tensor(&self, tensor: &Tensor<Term>) -> Term {
        self.of(Form::Tensor(tensor.ty.dtype, tensor.ty.shape.dims().to_vec(), tensor.elements.clone()))
    }
}

impl Domain for Symbols {
    type Element = Term;

    /// If a condition is computed from others, its value follows from theirs.
    fn truth(&self, x: &Term) -> bool {
        let form = self.terms.borrow().form(*x).clone();
        match &form {
            Form::Const(_, bits) => *bits == 1,
            Form::Apply(Op::Not, of) => !self.truth(&of[0]),
            Form::Apply(Op::And, of) => self.truth(&of[0]) && self.truth(&of[1]),
            Form::Apply(Op::Or, of) => self.truth(&of[0]) || self.truth(&of[1]),
            Form::Apply(Op::Where, of) if self.truth(&of[0]) => self.truth(&of[1]),
            Form::Apply(Op::Where, of) => self.truth(&of[2]),
            Form::Apply(Op::Copy, of) => self.truth(&of[0]),
            Form::Fold(Fold::Any, _, of) => of.iter().any(|x| self.truth(x)),
            Form::Fold(Fold::All, _, of) => of.iter().all(|x| self.truth(x)),
            _ => self.conditions.borrow_mut().ask(*x),
        }
    }

    fn apply(&self, op: &Op, args: &[&Term], fails: Fails) -> Result<Term, Fault> {
        Ok(self.tried(Form::Apply(op.clone(), args.iter().map(|x| **x).collect()), fails))
    }

    fn fold(&self, by: Fold, dtype: DType, terms: &[Term], fails: Fails) -> Result<Term, Fault> {
        Ok(self.tried(Form::Fold(by, dtype, terms.to_vec()), fails))
    }

    fn chain(&self, factors: &[[Term; 2]], start: Option<&Term>) -> Term {
        self.of(Form::Chain(start.is_some(), factors.iter().flatten().chain(start).copied().collect()))
    }

    fn take(
        &self,
        at: &Term,
        size: usize,
        element: &mut dyn FnMut(usize) -> Result<Term, Fault>,
        fails: Fails,
    ) -> Result<Term, Fault> {
        let elements = (0..size).map(element).collect::<Result<Vec<_>, _>>()?;
        let row = self.of(Form::Tensor(DType::Num, vec![size], elements));
        Ok(self.tried(Form::Take(*at, row), fails))
    }

    fn call(
        &self,
        call: &Call,
        operands: &[Tensor<Term>],
        width: usize,
        fails: Fails,
    ) -> Result<Vec<Term>, Fault> {
        let tensors = operands.iter().map(|tensor| self.tensor(tensor)).collect();
        let result = self.tried(Form::Call(call.op.clone(), call.start.is_some(), tensors), fails);
        Ok((0..width).map(|i| self.of(Form::Element(result, i))).collect())
    }
}
