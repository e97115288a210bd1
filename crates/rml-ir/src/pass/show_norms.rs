//! A program that tells how large the gradients of its parameters are.

use std::sync::Arc;

use indexmap::IndexMap;

use super::WithGradients;
use crate::check::checked;
use crate::flat::{Equation, Flat, Rhs, Var, VarData, verify};
use crate::op::{Binary, Op, Reduction};
use crate::types::{Shape, Type};

/// Makes the squared norm of each gradient an output, after those that there are: the sum of the squares of its
/// elements, a `num []` present where the gradient is. Says by checkpoint key where they stand among the outputs. A
/// program without outputs stays as it is.
///
/// Requires: `flat::verify`. Ensures: the same; the other outputs and the states are what they were before.
pub fn show_norms(program: WithGradients) -> (Flat, IndexMap<Arc<str>, usize>) {
    let WithGradients { mut flat, gradients, .. } = program;
    let mut places = IndexMap::new();
    if !flat.outputs.is_empty() {
        places = show(&mut flat, gradients);
    }
    checked("show_norms", || verify(&flat));
    (flat, places)
}

/// Makes the squared norms of variables outputs. Says where they stand.
pub(super) fn show(flat: &mut Flat, gradients: IndexMap<Arc<str>, Var>) -> IndexMap<Arc<str>, usize> {
    let mut places = IndexMap::new();
    for (key, gradient) in gradients {
        let VarData { ty, span, .. } = flat.vars[gradient].clone();
        let is_scalar = ty.shape.is_scalar();
        let mut define = |ty: Type, op: Op, args: Vec<Var>| {
            let lhs = flat.vars.push(VarData { name: None, ty, span, asserts: None, cases: None });
            flat.equations.push(Equation { lhs, rhs: Rhs::Apply { op, args }, span });
            lhs
        };
        let number = Type { shape: Shape::scalar(), ..ty.clone() };
        let mut squares = define(ty, Op::Binary(Binary::Mul), vec![gradient, gradient]);
        if !is_scalar {
            squares = define(number, Op::Reduce(Reduction::Sum, None), vec![squares]);
        }
        places.insert(key, flat.outputs.len());
        flat.outputs.push(squares);
    }
    places
}
