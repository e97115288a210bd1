//! One stage at one tick.

use rml_base::IndexVec;
use rml_ir::op::{EvalError, Number, eval};
use rml_ir::{Data, Shape, Value};

use super::{Elements, Fault, Window, elements, fold, points, step};
use crate::{Access, Call, Def, Dim, Nest, Operand, Slot, Stage, Val, Work, dense};

/// A value of a nest: the dimensions that it depends on, and its elements at their points.
struct Computed {
    span: Vec<Dim>,
    elements: Elements,
}

impl Window<'_> {
    /// Runs a stage.
    pub(super) fn work(&mut self, stage: &Stage, t: usize) -> Result<(), Fault> {
        let filled = match &stage.work {
            Work::Nest(nest) => self.nest(nest, t)?,
            Work::Call(call) => {
                let value = self.call(call, t)?;
                elements(&value).into_iter().enumerate().map(|(i, x)| (call.out, i, x)).collect()
            }
        };
        for slot in stage.fills() {
            // There is something, even if it has no elements.
            let width = self.program.slots[slot].ty.shape.len();
            self.cells[slot][t].resize(width, None);
        }
        for (slot, i, x) in filled {
            self.cells[slot][t][i] = Some(x);
        }
        Ok(())
    }

    fn nest(&self, nest: &Nest, t: usize) -> Result<Vec<(Slot, usize, Value)>, Fault> {
        let mut values: IndexVec<Val, Computed> = IndexVec::new();
        for (def, span) in nest.body.iter().zip(nest.spans().into_vec()) {
            let elements = self.def(nest, def, &span, &values, t)?;
            values.push(Computed { span, elements });
        }
        let mut filled = Vec::new();
        for (access, val) in &nest.stores {
            let span: Vec<Dim> = nest.dims.ids().filter(|dim| crate::moves(access, *dim)).collect();
            let dims: Vec<usize> = span.iter().map(|dim| nest.dims[*dim]).collect();
            let (to, x) = (steps(access, &span), &values[*val]);
            let from = x.steps(nest, &span);
            points(&dims, |point| {
                let index = step(access.offset, &to, point);
                filled.push((access.slot, index, x.elements[step(0, &from, point)].clone()));
                Ok(())
            })?;
        }
        Ok(filled)
    }

    /// The elements of a value at the points of the dimensions that it depends on.
    fn def(
        &self,
        nest: &Nest,
        def: &Def,
        span: &[Dim],
        values: &IndexVec<Val, Computed>,
        t: usize,
    ) -> Result<Elements, Fault> {
        let at = self.span(nest.stores.first().map(|(access, _)| access.slot));
        let failed = |error| Fault::Operator { span: at, error };
        let dims: Vec<usize> = span.iter().map(|dim| nest.dims[*dim]).collect();
        let mut computed = Vec::new();
        match def {
            Def::Load(source) => {
                let access = self.chosen(source, t)?;
                let steps = steps(access, span);
                points(&dims, |point| {
                    computed.push(self.element(access, t, step(access.offset, &steps, point))?);
                    Ok(())
                })?;
            }
            Def::Take { source, at, size, stride } => {
                let (access, x) = (self.chosen(source, t)?, &values[*at]);
                let (steps, positions) = (steps(access, span), x.steps(nest, span));
                points(&dims, |point| {
                    let position = within(&x.elements[step(0, &positions, point)], *size).map_err(failed)?;
                    let first = step(access.offset, &steps, point);
                    computed.push(self.element(access, t, step(first, &[*stride], &[position]))?);
                    Ok(())
                })?;
            }
            Def::Apply(op, args) => {
                let args: Vec<_> =
                    args.iter().map(|arg| (&values[*arg], values[*arg].steps(nest, span))).collect();
                points(&dims, |point| {
                    let args: Vec<&Value> =
                        args.iter().map(|(x, steps)| &x.elements[step(0, steps, point)]).collect();
                    computed.push(eval(op, &args, self.program.precision).map_err(failed)?);
                    Ok(())
                })?;
            }
            Def::Fold(by, dim, of) => {
                let (x, dtype) = (&values[*of], self.dtype(nest, *of));
                let (steps, last) = (x.steps(nest, span), x.steps(nest, &[*dim]));
                points(&dims, |point| {
                    let first = step(0, &steps, point);
                    let term = |i: usize| x.elements[step(first, &last, &[i])].clone();
                    let terms: Elements = (0..nest.dims[*dim]).map(term).collect();
                    computed.push(fold::fold(*by, dtype, &terms, self.program.precision).map_err(failed)?);
                    Ok(())
                })?;
            }
        }
        Ok(computed)
    }

    fn span(&self, slot: Option<Slot>) -> rml_base::Span {
        slot.map_or_else(
            || rml_base::Span::new(rml_base::FileId(0), 0, 0),
            |slot| self.program.slots[slot].span,
        )
    }

    fn dtype(&self, nest: &Nest, val: Val) -> rml_ir::DType {
        crate::verify::dtype(self.program, nest, val).unwrap_or(rml_ir::DType::Num)
    }

    fn call(&self, call: &Call, t: usize) -> Result<Value, Fault> {
        let operand = |o: &Operand| self.tensor(&o.source, &Shape::new(&o.dims), t);
        let args = call.operands.iter().map(operand).collect::<Result<Vec<Value>, _>>()?;
        if let Some(start) = &call.start {
            return Ok(product(&operand(start)?, &args[0], &args[1]));
        }
        let args: Vec<&Value> = args.iter().collect();
        let span = self.span(Some(call.out));
        eval(&call.op, &args, self.program.precision).map_err(|error| Fault::Operator { span, error })
    }
}

/// A position on an axis of that size.
fn within(position: &Value, size: usize) -> Result<usize, EvalError> {
    let index = position.as_int().unwrap_or_default();
    let at = usize::try_from(index).ok().filter(|at| *at < size);
    at.ok_or(EvalError::PositionOutside { index, size })
}

impl Computed {
    /// How far its elements are apart along some dimensions, those that it depends on among them.
    fn steps(&self, nest: &Nest, along: &[Dim]) -> Vec<isize> {
        let dims: Vec<usize> = self.span.iter().map(|dim| nest.dims[*dim]).collect();
        let own = dense(&dims);
        let of = |dim: &Dim| self.span.iter().position(|d| d == dim).map_or(0, |i| own[i]);
        along.iter().map(of).collect()
    }
}

/// How far the elements of an access are apart along some dimensions.
fn steps(access: &Access, along: &[Dim]) -> Vec<isize> {
    along.iter().map(|dim| access.strides[dim.0 as usize]).collect()
}

/// The product of two matrices or vectors that continues from a start.
fn product(start: &Value, a: &Value, b: &Value) -> Value {
    let (k, n) = (b.shape().dims()[0], b.shape().dims()[1..].iter().product());
    let size = (a.shape().len() / k.max(1), k, n);
    let data = match (start.to_data(), a.to_data(), b.to_data()) {
        (Data::F32(mut out), Data::F32(a), Data::F32(b)) => {
            f32::product(size, &a, false, &b, true, &mut out);
            Data::F32(out)
        }
        (Data::F64(mut out), Data::F64(a), Data::F64(b)) => {
            f64::product(size, &a, false, &b, true, &mut out);
            Data::F64(out)
        }
        (start, ..) => start,
    };
    Value::new(start.shape(), data)
}
