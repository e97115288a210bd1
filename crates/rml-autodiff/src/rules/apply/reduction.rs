//! Reductions, running sums and normalisations.

use rml_ir::normal::Var;
use rml_ir::op::Op;

use super::Transposer;

impl Transposer<'_, '_> {
    pub(super) fn reduction(&mut self, op: &Op) -> Var {
        let d = self.site.d;
        match op {
            Op::Sum { axis } => self.spread(*axis, d),
            Op::Mean { axis } => {
                let shape = self.shape(self.x);
                let n = axis.map_or(shape.len(), |a| shape.dims()[a]);
                #[allow(clippy::cast_precision_loss, reason = "a count of elements")]
                let n = self.literal(n as f64);
                let d = self.apply(Op::Div, &[d, n]);
                self.spread(*axis, d)
            }
            Op::Max { axis } | Op::Min { axis } => self.extreme(*axis),
            Op::CumSum { axis, reverse } => self.apply(Op::CumSum { axis: *axis, reverse: !reverse }, &[d]),
            Op::Softmax => {
                let o = self.out_when();
                let product = self.apply(Op::Mul, &[d, o]);
                let sum = self.last_sum(product);
                let centred = self.apply(Op::Sub, &[d, sum]);
                self.apply(Op::Mul, &[o, centred])
            }
            Op::LogSoftmax => {
                let o = self.out_when();
                let p = self.apply(Op::Exp, &[o]);
                let sum = self.last_sum(d);
                let product = self.apply(Op::Mul, &[p, sum]);
                self.apply(Op::Sub, &[d, product])
            }
            _ => d,
        }
    }

    /// The gradient goes to the largest (or smallest) elements, in equal parts.
    fn extreme(&mut self, axis: Option<usize>) -> Var {
        let (x, o) = (self.x_when(), self.out_when());
        let best = self.keep(axis, o);
        let ties = self.apply(Op::Eq, &[x, best]);
        let ties = self.apply(Op::ToNum, &[ties]);
        let count = self.apply(Op::Sum { axis }, &[ties]);
        let d = self.apply(Op::Div, &[self.site.d, count]);
        let d = self.keep(axis, d);
        self.apply(Op::Mul, &[ties, d])
    }
}
