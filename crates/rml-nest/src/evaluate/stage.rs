//! One stage at one tick.

use rml_base::IndexVec;
use rml_ir::op::{Number, eval};
use rml_ir::{Data, Shape, Value};

use super::{Elements, Fault, Window, elements, fold, index, points};
use crate::{Call, Def, Dim, Nest, Operand, Slot, Stage, Val, Work};

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
        let span = self.span(nest.stores.first().map(|(access, _)| access.slot));
        let failed = |error| Fault::Operator { span, error };
        let mut values: IndexVec<Val, Computed> = IndexVec::new();
        for (def, span) in nest.body.iter().zip(nest.spans().into_vec()) {
            let dims: Vec<usize> = span.iter().map(|dim| nest.dims[*dim]).collect();
            let mut computed = Vec::new();
            match def {
                Def::Load(source) => {
                    let access = self.chosen(source, t)?;
                    points(&dims, |point| {
                        let point = spread(nest, &span, point);
                        computed.push(self.element(access, t, index(access, &point))?);
                        Ok(())
                    })?;
                }
                Def::Apply(op, args) => points(&dims, |point| {
                    let args: Vec<&Value> = args.iter().map(|arg| values[*arg].at(nest, &span, point)).collect();
                    computed.push(eval(op, &args, self.program.precision).map_err(failed)?);
                    Ok(())
                })?,
                Def::Fold(by, dim, of) => points(&dims, |point| {
                    let inner: Vec<Dim> = span.iter().copied().chain([*dim]).collect();
                    let at = |i: usize| values[*of].at(nest, &inner, &[point, &[i]].concat()).clone();
                    let terms: Elements = (0..nest.dims[*dim]).map(at).collect();
                    // The type decides what the fold of nothing is.
                    let dtype = terms.first().map_or_else(|| self.dtype(nest, *of), Value::dtype);
                    computed.push(fold::fold(*by, dtype, &terms, self.program.precision).map_err(failed)?);
                    Ok(())
                })?,
            }
            values.push(Computed { span, elements: computed });
        }
        let mut filled = Vec::new();
        for (access, val) in &nest.stores {
            let span: Vec<Dim> = nest.dims.ids().filter(|dim| crate::moves(access, *dim)).collect();
            let dims: Vec<usize> = span.iter().map(|dim| nest.dims[*dim]).collect();
            points(&dims, |point| {
                let full = spread(nest, &span, point);
                filled.push((access.slot, index(access, &full), values[*val].at(nest, &span, point).clone()));
                Ok(())
            })?;
        }
        Ok(filled)
    }

    fn span(&self, slot: Option<Slot>) -> rml_base::Span {
        slot.map_or_else(|| rml_base::Span::new(rml_base::FileId(0), 0, 0), |slot| self.program.slots[slot].span)
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

impl Computed {
    /// The element at a point of some dimensions, those of the value among them.
    fn at(&self, nest: &Nest, span: &[Dim], point: &[usize]) -> &Value {
        let mut at = 0;
        for dim in &self.span {
            let place = span.iter().position(|d| d == dim).map_or(0, |i| point[i]);
            at = at * nest.dims[*dim] + place;
        }
        &self.elements[at]
    }
}

/// A point of all dimensions of a nest, from one of some.
fn spread(nest: &Nest, span: &[Dim], point: &[usize]) -> Vec<usize> {
    let mut full = vec![0; nest.dims.len()];
    for (dim, at) in span.iter().zip(point) {
        full[dim.0 as usize] = *at;
    }
    full
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
