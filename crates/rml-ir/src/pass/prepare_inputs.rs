//! Lets a program prepare its inputs itself: it replaces NaN, and scales values.

use rml_base::Span;

use crate::flat::{Drawn, Equation, Flat, Rhs, Var, VarData};
use crate::op::{Binary, Compare, Op};
use crate::types::{DType, Precision, Shape, Type};
use crate::value::{Data, Value};

/// What to do with the elements of an input. A list has one number for all elements, or one for each element of the
/// last axes.
#[derive(Clone, Copy, Debug, Default)]
pub struct InputSteps<'s> {
    /// What replaces NaN.
    pub fill: Option<&'s [f64]>,
    /// Means and deviations. A mean is subtracted, and the difference is divided by the deviation.
    pub scale: Option<(&'s [f64], &'s [f64])>,
}

impl InputSteps<'_> {
    /// Whether they change nothing.
    pub fn is_empty(&self) -> bool {
        self.fill.is_none() && self.scale.is_none()
    }

    /// The length of a list that does not fit an input of this shape.
    pub fn misfit(&self, shape: &Shape) -> Option<usize> {
        let (means, deviations) = self.scale.unzip();
        let lists = [self.fill, means, deviations].into_iter().flatten();
        lists.map(<[f64]>::len).find(|len| shape_of(*len, shape).is_none())
    }
}

/// The shape of a list with this many numbers beside a value of that shape: its last axes.
fn shape_of(len: usize, of: &Shape) -> Option<Shape> {
    let dims = of.dims();
    (0..=dims.len()).rev().map(|from| Shape::new(&dims[from..])).find(|shape| shape.len() == len)
}

/// Computes the prepared inputs in the program, which then gets them as they are in the data. `steps` has an entry for
/// each input; inputs that are not `num` stay as they are.
///
/// In single precision, a mean is subtracted in two parts, so that a mean that is large beside its deviation costs no
/// digits.
///
/// Requires: the lists fit their inputs ([`InputSteps::misfit`]). Ensures: for every trace of the given inputs, all
/// outputs and states are those of the original program for the prepared inputs, up to the rounding of these inputs.
pub fn prepare_inputs(flat: Drawn, steps: &[InputSteps<'_>]) -> Drawn {
    let mut flat = flat.into_inner();
    for (i, steps) in steps.iter().enumerate() {
        let prepared = flat.inputs[i].var;
        if steps.is_empty() || flat.vars[prepared].ty.dtype != DType::Num {
            continue;
        }
        let VarData { name, ty, span, .. } = flat.vars[prepared].clone();
        let given = flat.vars.push(VarData { name, ty, span, asserts: None, cases: None });
        flat.inputs[i].var = given;
        if !flat.outputs.contains(&prepared) {
            flat.vars[prepared].name = None;
        }
        Preparing { flat: &mut flat, span, prepared }.steps(given, steps);
    }
    Drawn::made("prepare_inputs", flat)
}

/// The equations between an input and its prepared value.
struct Preparing<'f> {
    flat: &'f mut Flat,
    span: Span,
    prepared: Var,
}

impl Preparing<'_> {
    fn steps(&mut self, given: Var, steps: &InputSteps<'_>) {
        let mut value = given;
        if let Some(fill) = steps.fill {
            let ty = self.flat.vars[given].ty.clone();
            let is_gap = Type { dtype: DType::Bool, shape: ty.shape.clone() };
            let is_gap = self.define(is_gap, Op::Compare(Compare::Ne), vec![given, given]);
            let fill = self.list(fill.to_vec());
            let args = vec![is_gap, fill, value];
            value = match steps.scale {
                None => self.last(Op::Where, args),
                Some(_) => self.define(ty, Op::Where, args),
            };
        }
        if let Some((means, deviations)) = steps.scale {
            for part in parts(means, self.flat.precision) {
                value = self.binary(Binary::Sub, value, part);
            }
            let deviations = self.list(deviations.to_vec());
            self.last(Op::Binary(Binary::Div), vec![value, deviations]);
        }
    }

    fn binary(&mut self, op: Binary, value: Var, list: Vec<f64>) -> Var {
        let ty = self.flat.vars[value].ty.clone();
        let list = self.list(list);
        self.define(ty, Op::Binary(op), vec![value, list])
    }

    /// A constant with these numbers.
    fn list(&mut self, numbers: Vec<f64>) -> Var {
        let of = &self.flat.vars[self.prepared].ty.shape;
        let shape = shape_of(numbers.len(), of).expect("callers refuse a list that is a `misfit`");
        let value = Value::new(shape, Data::F64(numbers)).to_precision(self.flat.precision);
        let ty = value.ty();
        let constant = self.flat.consts.push(value.into());
        self.equation(ty, Rhs::Const(constant))
    }

    fn define(&mut self, ty: Type, op: Op, args: Vec<Var>) -> Var {
        self.equation(ty, Rhs::Apply { op, args })
    }

    fn equation(&mut self, ty: Type, rhs: Rhs) -> Var {
        let span = self.span;
        let lhs = self.flat.vars.push(VarData { name: None, ty, span, asserts: None, cases: None });
        self.flat.equations.push(Equation { lhs, rhs, span });
        lhs
    }

    /// The equation of the prepared value.
    fn last(&mut self, op: Op, args: Vec<Var>) -> Var {
        let (lhs, span) = (self.prepared, self.span);
        self.flat.equations.push(Equation { lhs, rhs: Rhs::Apply { op, args }, span });
        lhs
    }
}

/// Means as numbers of a precision, whose sum they are: the second list has what the first one lacks.
fn parts(means: &[f64], precision: Precision) -> Vec<Vec<f64>> {
    #[allow(clippy::cast_possible_truncation, reason = "what is rounded off is in the second part")]
    let rounded = |mean: &f64| f64::from(*mean as f32);
    match precision {
        Precision::F64 => vec![means.to_vec()],
        Precision::F32 => {
            let first: Vec<f64> = means.iter().map(rounded).collect();
            let rest: Vec<f64> = means.iter().zip(&first).map(|(mean, first)| mean - first).collect();
            if rest.iter().all(|x| *x == 0.0) { vec![first] } else { vec![first, rest] }
        }
    }
}
