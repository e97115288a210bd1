//! Reductions, running sums and normalisations.

use rml_ir::DType;
use rml_ir::normal::Var;
use rml_ir::op::{Binary, Compare, Op, Reduction, Unary};

use super::Transposer;

impl Transposer<'_, '_> {
    /// Folds of an axis, or of all elements.
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
            Reduction::Max | Reduction::Min => self.extreme(axis),
            Reduction::ArgMax | Reduction::ArgMin | Reduction::Any | Reduction::All => return None,
        })
    }

    /// Operators along an axis, which stays.
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

    /// The gradient goes back to where the elements came from: in the order of the positions that they were taken from.
    pub(super) fn unsort(&mut self, axis: usize, descending: bool) -> Var {
        let keys = self.arg_when(0);
        let statics = self.site.statics.to_vec();
        let along = statics.get(..1).unwrap_or_default().to_vec();
        let from = self.b.apply_written(Op::ArgSort { axis, descending }, &[keys], statics);
        self.b.apply_written(Op::SortBy { axis, descending: false }, &[from, self.site.d], along)
    }

    /// The gradient goes to the largest (or smallest) elements, in equal parts.
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
