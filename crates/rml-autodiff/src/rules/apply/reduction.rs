//! Reductions, running sums and normalisations.

use rml_ir::normal::Var;
use rml_ir::op::{AxisIndex, Binary, Compare, Op, Reduction, Unary};
use rml_ir::{DType, Shape, Type};

use super::{Dim, Transposer};

impl Transposer<'_, '_> {
    /// Transposes folds of one axis, or of all elements.
    pub(super) fn fold(&mut self, by: Reduction, axis: Option<usize>) -> Option<Var> {
        let d = self.site.d;
        Some(match by {
            Reduction::Sum => self.spread(axis, d),
            Reduction::Mean => {
                let shape = self.shape(self.x);
                let n = axis.map_or(shape.len(), |a| shape.dims()[a]);
                #[allow(clippy::cast_precision_loss, reason = "a count of elements")]
                let n = self.literal(n as f64);
                let d = self.apply(Op::Binary(Binary::Div), &[d, n]);
                self.spread(axis, d)
            }
            Reduction::Prod => self.prod(axis),
            Reduction::LogSumExp => self.logsumexp(axis),
            Reduction::Max | Reduction::Min => self.extreme(axis),
            Reduction::ArgMax | Reduction::ArgMin | Reduction::Any | Reduction::All => return None,
        })
    }

    /// Transposes operators along an axis that is kept.
    pub(super) fn along(&mut self, op: &Op) -> Var {
        let d = self.site.d;
        match op {
            Op::CumSum { axis, reverse } => self.apply(Op::CumSum { axis: *axis, reverse: !reverse }, &[d]),
            Op::Softmax => {
                let o = self.out_when();
                let product = self.apply(Op::Binary(Binary::Mul), &[d, o]);
                let sum = self.last_sum(product);
                let centred = self.apply(Op::Binary(Binary::Sub), &[d, sum]);
                self.apply(Op::Binary(Binary::Mul), &[o, centred])
            }
            Op::LogSoftmax => {
                let o = self.out_when();
                let p = self.apply(Op::Unary(Unary::Exp), &[o]);
                let sum = self.last_sum(d);
                let product = self.apply(Op::Binary(Binary::Mul), &[p, sum]);
                self.apply(Op::Binary(Binary::Sub), &[d, product])
            }
            other => unreachable!("{other} folds no axis that stays"),
        }
    }

    /// Moves the gradient back to the original positions of the elements: it is sorted by these positions.
    pub(super) fn unsort(&mut self, axis: usize, descending: bool) -> Var {
        let keys = self.arg_when(0);
        let statics = self.site.statics.to_vec();
        let along = statics.get(..1).unwrap_or_default().to_vec();
        let from = self.b.apply_written(Op::ArgSort { axis, descending }, &[keys], statics);
        self.b.apply_written(Op::SortBy { axis, descending: false }, &[from, self.site.d], along)
    }

    /// `p / sum(p) d` with `p = exp(x - o)`: the softmax of the operand. `p` is 1 where `x` equals `o`, even if both
    /// are infinite.
    fn logsumexp(&mut self, axis: Option<usize>) -> Var {
        let (x, o, zero) = (self.x_when(), self.out_when(), self.literal(0.0));
        let o = self.keep(axis, o);
        let same = self.apply(Op::Compare(Compare::Eq), &[x, o]);
        let below = self.apply(Op::Binary(Binary::Sub), &[x, o]);
        let below = self.apply(Op::Where, &[same, zero, below]);
        let p = self.apply(Op::Unary(Unary::Exp), &[below]);
        let sum = self.apply(Op::Reduce(Reduction::Sum, axis), &[p]);
        let d = self.apply(Op::Binary(Binary::Div), &[self.site.d, sum]);
        let d = self.keep(axis, d);
        self.apply(Op::Binary(Binary::Mul), &[p, d])
    }

    /// For each element, the product of all other elements: of those before it and of those after it, without a
    /// division.
    fn prod(&mut self, axis: Option<usize>) -> Var {
        let (x, dims) = (self.x_when(), self.dims(self.x));
        let shape = self.shape(self.x);
        let (line, along) = match axis {
            Some(axis) => (x, axis),
            None => (self.reshape(x, &[Dim::product(&dims)]), 0),
        };
        let d = self.spread(axis, self.site.d);
        if axis.map_or(shape.len(), |a| shape.dims()[a]) < 2 {
            return d;
        }
        let [before, behind] = [false, true].map(|behind| self.running_product(line, along, behind));
        let others = self.apply(Op::Binary(Binary::Mul), &[before, behind]);
        let others = self.reshape(others, &dims);
        self.apply(Op::Binary(Binary::Mul), &[d, others])
    }

    /// For each element along an axis, the product of all elements before it (or after it): each step multiplies by the
    /// products 1, 2, 4, .. places further on.
    fn running_product(&mut self, x: Var, axis: usize, behind: bool) -> Var {
        let n = self.shape(x).dims()[axis];
        let mut product = self.moved(x, axis, 1, behind);
        let mut step = 1;
        while step + 1 < n {
            let moved = self.moved(product, axis, step, behind);
            product = self.apply(Op::Binary(Binary::Mul), &[product, moved]);
            step *= 2;
        }
        product
    }

    /// The elements shifted by `step` places along an axis (backward if `back`); free places are filled with ones.
    fn moved(&mut self, x: Var, axis: usize, step: usize, back: bool) -> Var {
        let mut dims = self.shape(x).dims().to_vec();
        let mut items: Vec<AxisIndex> = dims.iter().map(|len| AxisIndex::whole(*len)).collect();
        let start = if back { step } else { 0 };
        items[axis] = AxisIndex::Slice { start, len: dims[axis] - step, step: 1 };
        dims[axis] = step;
        let rest = self.apply(Op::Index { items }, &[x]);
        let ones = self.b.constant(&Type { dtype: DType::Num, shape: Shape::new(&dims) }, 1.0);
        let parts = if back { [rest, ones] } else { [ones, rest] };
        self.apply(Op::Concat { axis }, &parts)
    }

    /// The gradient is divided equally among the largest (or smallest) elements.
    fn extreme(&mut self, axis: Option<usize>) -> Var {
        let (x, o) = (self.x_when(), self.out_when());
        let best = self.keep(axis, o);
        let ties = self.apply(Op::Compare(Compare::Eq), &[x, best]);
        let ties = self.apply(Op::Convert(DType::Num), &[ties]);
        let count = self.apply(Op::Reduce(Reduction::Sum, axis), &[ties]);
        let d = self.apply(Op::Binary(Binary::Div), &[self.site.d, count]);
        let d = self.keep(axis, d);
        self.apply(Op::Binary(Binary::Mul), &[ties, d])
    }
}
