//! One stage at one tick.

use rml_base::IndexVec;
use rml_ir::DType;

use super::domain::{Domain, Fails, Tensor};
use super::{Fault, Window, points, step};
use crate::{Access, Call, Def, Dim, Fold, Nest, NestStage, Operand, Slot, Val, Work, dense};

/// A value of a nest: the dimensions that it depends on, and its elements at their points.
struct Computed<E> {
    span: Vec<Dim>,
    elements: Vec<E>,
}

impl<D: Domain> Window<'_, D> {
    /// Runs a stage.
    pub(super) fn work(&mut self, stage: &NestStage, t: usize) -> Result<(), Fault> {
        let filled = match &stage.work {
            Work::Nest(nest) => self.nest(nest, t)?,
            Work::Call(call) => {
                let elements = self.call(call, stage.may_fail, t)?;
                elements.into_iter().enumerate().map(|(i, x)| (call.out, i, x)).collect()
            }
        };
        for slot in stage.fills() {
            // A slot without elements counts as filled, too.
            let width = self.program.slots[slot].ty.shape.len();
            self.cells[slot][t].resize(width, None);
        }
        for (slot, i, x) in filled {
            self.cells[slot][t][i] = Some(x);
        }
        Ok(())
    }

    fn nest(&self, nest: &Nest, t: usize) -> Result<Vec<(Slot, usize, D::Element)>, Fault> {
        let mut values: IndexVec<Val, Computed<D::Element>> = IndexVec::new();
        let types = crate::verify::dtypes(self.program, nest).unwrap_or_default();
        for (def, span) in nest.body.iter().zip(nest.spans().into_vec()) {
            let elements = self.def((nest, &types), def, &span, &values, t)?;
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
        (nest, types): (&Nest, &IndexVec<Val, DType>),
        def: &Def,
        span: &[Dim],
        values: &IndexVec<Val, Computed<D::Element>>,
        t: usize,
    ) -> Result<Vec<D::Element>, Fault> {
        let at = self.span(nest.stores.first().map(|(access, _)| access.slot));
        let fails = |may| Fails { may, span: at };
        let dtype = |val: &Val| types.get(*val).copied().unwrap_or(DType::Num);
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
                    let first = step(access.offset, &steps, point);
                    let mut element = |i: usize| self.element(access, t, step(first, &[*stride], &[i]));
                    let position = &x.elements[step(0, &positions, point)];
                    computed.push(self.domain.take(position, *size, &mut element, fails(true))?);
                    Ok(())
                })?;
            }
            Def::Apply(op, args) => {
                let fails = fails(op.may_fail(args.iter().map(dtype)));
                let args: Vec<_> =
                    args.iter().map(|arg| (&values[*arg], values[*arg].steps(nest, span))).collect();
                points(&dims, |point| {
                    let args: Vec<&D::Element> =
                        args.iter().map(|(x, steps)| &x.elements[step(0, steps, point)]).collect();
                    computed.push(self.domain.apply(op, &args, fails)?);
                    Ok(())
                })?;
            }
            Def::Fold(by, dim, of) => {
                let (x, fails) = (&values[*of], fails(*by == Fold::Serial));
                let (steps, last) = (x.steps(nest, span), x.steps(nest, &[*dim]));
                points(&dims, |point| {
                    let first = step(0, &steps, point);
                    let term = |i: usize| x.elements[step(first, &last, &[i])].clone();
                    let terms: Vec<D::Element> = (0..nest.dims[*dim]).map(term).collect();
                    computed.push(self.domain.fold(*by, dtype(of), &terms, fails)?);
                    Ok(())
                })?;
            }
            Def::Chain { dim, of, start } => {
                let factors = of.map(|val| &values[val]);
                let steps = factors.map(|x| (x.steps(nest, span), x.steps(nest, &[*dim])));
                let start = start.map(|val| (&values[val], values[val].steps(nest, span)));
                points(&dims, |point| {
                    let factor = |i: usize, k: usize| {
                        let first = step(0, &steps[i].0, point);
                        factors[i].elements[step(first, &steps[i].1, &[k])].clone()
                    };
                    let pairs: Vec<[D::Element; 2]> =
                        (0..nest.dims[*dim]).map(|k| [factor(0, k), factor(1, k)]).collect();
                    let start = start.as_ref().map(|(x, steps)| &x.elements[step(0, steps, point)]);
                    computed.push(self.domain.chain(&pairs, start));
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

    fn call(&self, call: &Call, may: bool, t: usize) -> Result<Vec<D::Element>, Fault> {
        let operand = |o: &Operand| {
            let dtype = self.program.slots[self.chosen(&o.source, t)?.slot].ty.dtype;
            Ok(Tensor::new(dtype, &o.dims, self.elements(&o.source, &o.dims, t)?))
        };
        let operands =
            call.operands.iter().chain(&call.start).map(operand).collect::<Result<Vec<_>, Fault>>()?;
        let width = self.program.slots[call.out].ty.shape.len();
        self.domain.call(call, &operands, width, Fails { may, span: self.span(Some(call.out)) })
    }
}

impl<E> Computed<E> {
    /// The strides of its elements along `along`, which has all dimensions that it depends on.
    fn steps(&self, nest: &Nest, along: &[Dim]) -> Vec<isize> {
        let dims: Vec<usize> = self.span.iter().map(|dim| nest.dims[*dim]).collect();
        let own = dense(&dims);
        let of = |dim: &Dim| self.span.iter().position(|d| d == dim).map_or(0, |i| own[i]);
        along.iter().map(of).collect()
    }
}

/// The strides of an access along some dimensions.
fn steps(access: &Access, along: &[Dim]) -> Vec<isize> {
    along.iter().map(|dim| access.strides[dim.0 as usize]).collect()
}
