//! Formulas over values, as one writes them: `x * x + 1.0`.

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

use rml_ir::op::{Binary, Compare, Op, Unary};

use crate::build::{Builder, Val};
use crate::elem::Elem;
use crate::refuse::{Refusal, Res};

/// A value in a formula.
#[derive(Clone, Copy)]
pub(super) struct Term<'t> {
    of: &'t dyn Terms,
    /// Its position among the values of the formula.
    at: usize,
}

/// The values of a formula.
trait Terms {
    /// The value of an operator that goes element by element.
    fn apply(&self, op: Op, args: &[usize], elem: Elem) -> usize;

    /// A number.
    fn num(&self, x: f64) -> usize;

    /// The type of the elements of a value.
    fn elem(&self, at: usize) -> Elem;

    /// The formula cannot be computed.
    fn fail(&self, refusal: Refusal);
}

/// A formula while it is computed. What fails first is kept.
struct Formula<'b, 'm> {
    builder: RefCell<&'b mut Builder<'m>>,
    vals: RefCell<Vec<Val>>,
    failed: RefCell<Option<Refusal>>,
}

impl Formula<'_, '_> {
    fn keep(&self, val: Val) -> usize {
        let mut vals = self.vals.borrow_mut();
        vals.push(val);
        vals.len() - 1
    }
}

impl Terms for Formula<'_, '_> {
    fn apply(&self, op: Op, args: &[usize], elem: Elem) -> usize {
        let made = {
            let vals = self.vals.borrow();
            let args: Vec<&Val> = args.iter().map(|&at| &vals[at]).collect();
            self.builder.borrow_mut().pointwise(op, &args, elem)
        };
        match made {
            Ok(val) => self.keep(val),
            Err(refusal) => {
                self.fail(refusal);
                args[0]
            }
        }
    }

    fn num(&self, x: f64) -> usize {
        let val = self.builder.borrow().num(x);
        self.keep(val)
    }

    fn elem(&self, at: usize) -> Elem {
        self.vals.borrow()[at].elem
    }

    fn fail(&self, refusal: Refusal) {
        self.failed.borrow_mut().get_or_insert(refusal);
    }
}

/// What a formula makes of values.
///
/// # Errors
/// The operands of an operator do not fit.
pub(super) fn formula<const N: usize>(
    b: &mut Builder<'_>,
    args: [&Val; N],
    f: impl for<'t> FnOnce([Term<'t>; N]) -> Term<'t>,
) -> Res<Val> {
    let formula = Formula {
        builder: RefCell::new(b),
        vals: RefCell::new(args.iter().map(|val| (*val).clone()).collect()),
        failed: RefCell::new(None),
    };
    let mut at = 0;
    let terms = [(); N].map(|()| {
        at += 1;
        Term { of: &formula, at: at - 1 }
    });
    let result = f(terms).at;
    match formula.failed.into_inner() {
        None => Ok(formula.vals.into_inner().swap_remove(result)),
        Some(refusal) => Err(refusal),
    }
}

impl Term<'_> {
    fn made(self, op: Op, others: &[Self], elem: Elem) -> Self {
        let args: Vec<usize> = [self.at].into_iter().chain(others.iter().map(|term| term.at)).collect();
        Self { at: self.of.apply(op, &args, elem), ..self }
    }

    fn elem(self) -> Elem {
        self.of.elem(self.at)
    }

    /// A number.
    pub(super) fn num(self, x: f64) -> Self {
        Self { at: self.of.num(x), ..self }
    }

    /// Refuses the formula.
    pub(super) fn refused(self, why: &str) -> Self {
        self.of.fail(Refusal::new(why));
        self
    }

    /// A function of it.
    pub(super) fn to(self, f: Unary) -> Self {
        self.made(Op::Unary(f), &[], self.elem())
    }

    pub(super) fn sqrt(self) -> Self {
        self.to(Unary::Sqrt)
    }

    /// A function of it and another one.
    pub(super) fn with(self, f: Binary, other: Self) -> Self {
        self.made(Op::Binary(f), &[other], self.elem())
    }

    /// Brought between two numbers.
    pub(super) fn clip(self, lo: f64, hi: f64) -> Self {
        self.made(Op::Clip, &[self.num(lo), self.num(hi)], self.elem())
    }

    /// A comparison with another one.
    pub(super) fn is(self, by: Compare, other: Self) -> Self {
        self.made(Op::Compare(by), &[other], Elem::Bool)
    }

    pub(super) fn or(self, other: Self) -> Self {
        self.made(Op::Or, &[other], Elem::Bool)
    }

    /// `then` where it is true, else `other`.
    pub(super) fn choose(self, then: Self, other: Self) -> Self {
        self.made(Op::Where, &[then, other], then.elem())
    }
}

impl<'t> Neg for Term<'t> {
    type Output = Term<'t>;

    fn neg(self) -> Term<'t> {
        self.to(Unary::Neg)
    }
}

macro_rules! arithmetic {
    ($($name:ident $method:ident)*) => {$(
        impl<'t> $name for Term<'t> {
            type Output = Term<'t>;

            fn $method(self, other: Term<'t>) -> Term<'t> {
                self.with(Binary::$name, other)
            }
        }

        impl<'t> $name<f64> for Term<'t> {
            type Output = Term<'t>;

            fn $method(self, other: f64) -> Term<'t> {
                self.with(Binary::$name, self.num(other))
            }
        }

        impl<'t> $name<Term<'t>> for f64 {
            type Output = Term<'t>;

            fn $method(self, other: Term<'t>) -> Term<'t> {
                other.num(self).with(Binary::$name, other)
            }
        }
    )*};
}

arithmetic!(Add add Sub sub Mul mul Div div);
