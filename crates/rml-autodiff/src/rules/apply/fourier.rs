//! Fourier transforms: each is the transpose of the other, up to weights.

use rml_ir::normal::Var;
use rml_ir::op::{Binary, Op};
use rml_ir::{DType, Type};

use super::Transposer;

impl Transposer<'_, '_> {
    /// `n * irfft(n, d / weights)`.
    pub(super) fn rfft(&mut self) -> Var {
        let dims = self.dims(self.x);
        let Some(last) = dims.last() else { return self.site.d };
        let (n, text) = (last.size, last.text.clone());
        let weights = self.weights(n);
        let d = self.apply(Op::Binary(Binary::Div), &[self.site.d, weights]);
        let back = self.b.apply_written(Op::Irfft { n }, &[d], text.map(Into::into).into_iter().collect());
        let n = self.count(n);
        self.apply(Op::Binary(Binary::Mul), &[back, n])
    }

    /// `rfft(d) * weights / n`.
    pub(super) fn irfft(&mut self, n: usize) -> Var {
        let weights = self.weights(n);
        let d = self.apply(Op::Rfft, &[self.site.d]);
        let d = self.apply(Op::Binary(Binary::Mul), &[d, weights]);
        let n = self.count(n);
        self.apply(Op::Binary(Binary::Div), &[d, n])
    }

    #[allow(clippy::cast_precision_loss, reason = "a count of elements")]
    fn count(&mut self, n: usize) -> Var {
        self.literal(n as f64)
    }

    /// For each frequency, the number of coefficients among all `n` that it represents: itself and its conjugate, or
    /// only itself.
    fn weights(&mut self, n: usize) -> Var {
        let (between, end) = (n.div_ceil(2) - 1, usize::from(n > 1 && n.is_multiple_of(2)));
        let parts = [(1, 1.0), (between, 2.0), (end, 1.0)].into_iter().filter(|(count, _)| *count > 0);
        let mut all: Option<Var> = None;
        for (count, weight) in parts {
            let part = self.b.constant(&Type::new(DType::Num, &[count, 1]), weight);
            all = Some(match all {
                Some(before) => self.apply(Op::Concat { axis: 0 }, &[before, part]),
                None => part,
            });
        }
        all.unwrap_or(self.site.d)
    }
}
