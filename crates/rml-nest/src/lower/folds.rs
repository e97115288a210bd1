//! Folds of axes, and operators made of several folds.

use rml_ir::op::{Binary, Compare, Op, Reduction, Unary};
use rml_ir::{DType, Shape, Type};

use super::stages::{Maker, Target};
use super::view::View;
use super::{Lowering, count, whole};
use crate::{Call, Def, Fold, Tick, Work, dense};

impl Lowering<'_> {
    /// A fold of an axis, or of all elements.
    pub(super) fn reduce(&mut self, by: Reduction, axis: Option<usize>, x: &View, target: &Target<'_>) {
        let (x, axis) = match axis {
            Some(axis) => (x.clone(), axis),
            None => (self.flat(x, target), 0),
        };
        let dtype = self.dtype(&x);
        let fold = Fold::of(by, dtype).expect("what is no fold is a call");
        let mut maker = Maker::new(&x.dims, &[axis]);
        let val = maker.load(&x);
        let mut val = maker.nest.body.push(Def::Fold(fold, maker.dim(axis), val));
        if by == Reduction::Mean {
            let n = count(x.dims[axis], self.program.precision);
            let slot = self.constant(n);
            let n = whole(slot, Tick::Now, &Type::scalar(dtype));
            let n = maker.load(&n.broadcast(&x.dims));
            val = maker.nest.body.push(Def::Apply(Op::Binary(Binary::Div), vec![val, n]));
        }
        let mut strides = dense(self.program.slots[target.slot].ty.shape.dims());
        strides.insert(axis, 0);
        maker.store(target.slot, 0, &strides, val);
        self.push(Work::Nest(maker.nest), target);
    }

    /// The logarithm of a sum of exponentials. The largest element, unless it is infinite, is subtracted first and
    /// added again at the end; the exponentials are added up one by one.
    pub(super) fn logsumexp(&mut self, axis: Option<usize>, x: &View, target: &Target<'_>) {
        let (x, axis) = match axis {
            Some(axis) => (x.clone(), axis),
            None => (self.flat(x, target), 0),
        };
        let number = |of: &mut Self, n: f64| of.scalar(&Type::scalar(DType::Num), n).broadcast(&x.dims);
        let numbers = [0.0, 1.0, f64::INFINITY].map(|n| number(self, n));
        let mut maker = Maker::new(&x.dims, &[axis]);
        let dim = maker.dim(axis);
        let (terms, [zero, one, infinity]) = (maker.load(&x), numbers.map(|n| maker.load(&n)));
        let mut add = |def: Def| maker.nest.body.push(def);
        let largest = add(Def::Fold(Fold::Largest, dim, terms));
        let size = add(Def::Apply(Op::Unary(Unary::Abs), vec![largest]));
        let is_infinite = add(Def::Apply(Op::Compare(Compare::Eq), vec![size, infinity]));
        let shift = add(Def::Apply(Op::Where, vec![is_infinite, zero, largest]));
        let shifted = add(Def::Apply(Op::Binary(Binary::Sub), vec![terms, shift]));
        let e = add(Def::Apply(Op::Unary(Unary::Exp), vec![shifted]));
        let sum = add(Def::Chain { dim, of: [e, one], start: None });
        let log = add(Def::Apply(Op::Unary(Unary::Log), vec![sum]));
        let val = add(Def::Apply(Op::Binary(Binary::Add), vec![log, shift]));
        let mut strides = dense(self.program.slots[target.slot].ty.shape.dims());
        strides.insert(axis, 0);
        maker.store(target.slot, 0, &strides, val);
        self.push(Work::Nest(maker.nest), target);
    }

    /// Softmax, or its logarithm, of rows: loops, or a call of a kernel, which takes several short rows together.
    pub(super) fn softmax(&mut self, op: &Op, x: &View, target: &Target<'_>) {
        if x.dims.contains(&0) || x.dims.last().is_none_or(|n| *n < LONG) {
            let call = Call { op: op.clone(), start: None, operands: vec![x.clone()], out: target.slot };
            return self.push(Work::Call(call), target);
        }
        let axis = x.dims.len() - 1;
        let mut maker = Maker::new(&x.dims, &[axis]);
        let (dim, terms) = (maker.dim(axis), maker.load(x));
        let mut add = |def: Def| maker.nest.body.push(def);
        let largest = add(Def::Fold(Fold::Largest, dim, terms));
        let shifted = add(Def::Apply(Op::Binary(Binary::Sub), vec![terms, largest]));
        let e = add(Def::Apply(Op::Unary(Unary::Exp), vec![shifted]));
        let sum = add(Def::Fold(Fold::Lanes, dim, e));
        let val = if *op == Op::LogSoftmax {
            let log = add(Def::Apply(Op::Unary(Unary::Log), vec![sum]));
            add(Def::Apply(Op::Binary(Binary::Sub), vec![shifted, log]))
        } else {
            add(Def::Apply(Op::Binary(Binary::Div), vec![e, sum]))
        };
        maker.store(target.slot, 0, &dense(&x.dims), val);
        self.push(Work::Nest(maker.nest), target);
    }

    /// Sums the axes that broadcasting from `shape` repeats, outermost first.
    pub(super) fn sum_to(&mut self, shape: &Shape, x: &View, target: &Target<'_>) {
        let missing = x.dims.len() - shape.rank();
        let wanted = |axis: usize| axis.checked_sub(missing).map_or(1, |i| shape.dims()[i]);
        let folded: Vec<usize> = (0..x.dims.len()).filter(|axis| x.dims[*axis] != wanted(*axis)).collect();
        let fold = Fold::of(Reduction::Sum, self.dtype(x)).expect("a sum is a fold");
        let mut maker = Maker::new(&x.dims, &folded);
        let mut val = maker.load(x);
        for axis in &folded {
            val = maker.nest.body.push(Def::Fold(fold, maker.dim(*axis), val));
        }
        let own = dense(shape.dims());
        let stride = |axis: usize| match axis.checked_sub(missing) {
            Some(i) if !folded.contains(&axis) => own[i],
            _ => 0,
        };
        let strides: Vec<isize> = (0..x.dims.len()).map(stride).collect();
        maker.store(target.slot, 0, &strides, val);
        self.push(Work::Nest(maker.nest), target);
    }
}

/// Rows with at least this many elements count as long.
const LONG: usize = 16;
