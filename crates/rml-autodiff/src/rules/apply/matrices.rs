//! Factorisations of square matrices, and systems of equations.

use rml_ir::normal::Var;
use rml_ir::op::{Binary, Compare, Op, Unary};
use rml_ir::{DType, Type};

use super::{Dim, Transposer};

impl Transposer<'_, '_> {
    /// Transposes `solve`: a system of equations with the transposed matrix. For the matrix, also products of its
    /// solution with the solution at the site.
    pub(super) fn solve(&mut self) -> Var {
        let a = self.arg_when(0);
        let a = self.transpose(a);
        let db = self.apply(Op::Solve, &[a, self.site.d]);
        if self.site.position == 1 {
            return db;
        }
        let o = self.out_when();
        let mut dims = self.dims(self.site.args[1]);
        let product = if dims.len() == self.shape(self.x).rank() {
            let o = self.transpose(o);
            self.apply(Op::MatMul, &[db, o])
        } else {
            // The outer product of each pair of columns.
            dims.push(Dim::one());
            let column = self.reshape(db, &dims);
            let last = dims.len() - 1;
            dims.swap(last - 1, last);
            let row = self.reshape(o, &dims);
            self.apply(Op::Binary(Binary::Mul), &[column, row])
        };
        self.apply(Op::Unary(Unary::Neg), &[product])
    }

    /// Murray's formula, restricted to the lower triangle, because only that is read.
    pub(super) fn cholesky(&mut self) -> Var {
        let (lower, half) = self.triangles();
        let mul = Op::Binary(Binary::Mul);
        let o = self.out_when();
        let o = self.transpose(o);
        let d = self.apply(mul.clone(), &[self.site.d, lower]);
        let product = self.apply(Op::MatMul, &[o, d]);
        let product = self.apply(mul.clone(), &[product, half]);
        let left = self.apply(Op::Solve, &[o, product]);
        let left = self.transpose(left);
        let both = self.apply(Op::Solve, &[o, left]);
        let turned = self.transpose(both);
        let sum = self.apply(Op::Binary(Binary::Add), &[both, turned]);
        self.apply(mul, &[sum, half])
    }

    /// Two matrices of the size of the operand: ones in the lower triangle and zeros above it; and the same with halves
    /// on the diagonal.
    fn triangles(&mut self) -> (Var, Var) {
        let n = self.dims(self.x).pop().unwrap_or_else(Dim::one);
        let ones = self.b.constant(&Type::new(DType::Num, &[n.size]), 1.0);
        let row = self.apply(Op::CumSum { axis: 0, reverse: false }, &[ones]);
        let column = self.reshape(row, &[n, Dim::one()]);
        let [lower, below] = [Compare::Ge, Compare::Gt].map(|by| {
            let holds = self.apply(Op::Compare(by), &[column, row]);
            self.apply(Op::Convert(DType::Num), &[holds])
        });
        let sum = self.apply(Op::Binary(Binary::Add), &[lower, below]);
        let half = self.literal(0.5);
        (lower, self.apply(Op::Binary(Binary::Mul), &[sum, half]))
    }
}
