//! Matrix products, convolutions, and windows.

use std::sync::Arc;

use rml_ir::DType;
use rml_ir::normal::Var;
use rml_ir::op::{Binary, Compare, Einsum, Op, Pool, Reduction};

use super::{Dim, Transposer};

impl Transposer<'_, '_> {
    /// `v` with its last two axes exchanged.
    pub(super) fn transpose(&mut self, v: Var) -> Var {
        let rank = self.shape(v).rank();
        let mut perm: Vec<usize> = (0..rank).collect();
        if rank > 1 {
            perm.swap(rank - 2, rank - 1);
        }
        self.apply(Op::Transpose { perm }, &[v])
    }

    /// Transposes NumPy's product of a vector, matrix or stack of matrices with a vector or matrix.
    pub(super) fn matmul(&mut self) -> Var {
        let (a, c) = (self.dims(self.site.args[0]), self.dims(self.site.args[1]));
        if c.len() > 2 {
            return self.stacked(&a, &c);
        }
        if self.site.position == 0 { self.left_factor(&a, &c) } else { self.right_factor(&a, &c) }
    }

    fn left_factor(&mut self, a: &[Dim], c: &[Dim]) -> Var {
        let (d, other) = (self.site.d, self.arg_when(1));
        match (a, c) {
            ([_], [_]) => self.apply(Op::Binary(Binary::Mul), &[other, d]),
            ([_], _) => self.apply(Op::MatMul, &[other, d]),
            ([rows @ .., _], [_]) => {
                // The outer product of d [.., m] and the vector [k].
                let column: Vec<Dim> = rows.iter().cloned().chain([Dim::one()]).collect();
                let column = self.reshape(d, &column);
                self.apply(Op::Binary(Binary::Mul), &[column, other])
            }
            _ => {
                let other = self.transpose(other);
                self.apply(Op::MatMul, &[d, other])
            }
        }
    }

    fn right_factor(&mut self, a: &[Dim], c: &[Dim]) -> Var {
        let (d, other) = (self.site.d, self.arg_when(0));
        match (a, c) {
            ([_], [_]) => self.apply(Op::Binary(Binary::Mul), &[other, d]),
            ([k], _) => {
                let column = self.reshape(other, &[k.clone(), Dim::one()]);
                self.apply(Op::Binary(Binary::Mul), &[column, d])
            }
            ([rows @ .., k], [_]) => {
                let rows = Dim::product(rows);
                let (d, other) =
                    (self.reshape(d, std::slice::from_ref(&rows)), self.reshape(other, &[rows, k.clone()]));
                self.apply(Op::MatMul, &[d, other])
            }
            ([rows @ .., k], [.., n]) => {
                let rows = Dim::product(rows);
                let (d, other) =
                    (self.reshape(d, &[rows.clone(), n.clone()]), self.reshape(other, &[rows, k.clone()]));
                let other = self.transpose(other);
                self.apply(Op::MatMul, &[other, d])
            }
            _ => d,
        }
    }

    /// Transposes a product with a stack of matrices on the right: one product for each pair, summed over the repeated
    /// axes.
    fn stacked(&mut self, a: &[Dim], c: &[Dim]) -> Var {
        let [.., k, n] = c else { return self.site.d };
        let (is_row, mut d) = (a.len() == 1, self.site.d);
        if is_row {
            let stack = &c[..c.len() - 2];
            let dims: Vec<Dim> = stack.iter().cloned().chain([Dim::one(), n.clone()]).collect();
            d = self.reshape(d, &dims);
        }
        if self.site.position == 0 {
            let other = self.arg_when(1);
            let other = self.transpose(other);
            let product = self.apply(Op::MatMul, &[d, other]);
            return self.sum_to_operand(product);
        }
        let other = self.arg_when(0);
        let other = match is_row {
            true => self.reshape(other, &[k.clone(), Dim::one()]),
            false => self.transpose(other),
        };
        let product = self.apply(Op::MatMul, &[other, d]);
        self.sum_to_operand(product)
    }

    /// Transposes a contraction: contracts the gradient with the other operand, to the labels of this operand. Labels
    /// that only this operand has are repeated.
    pub(super) fn einsum(&mut self, labels: &Einsum) -> Var {
        let position = self.site.position;
        let own = &labels.operands()[position];
        let other = labels.operands().get(1 - position).filter(|_| self.site.args.len() == 2);
        let known = |l: &char| labels.result().contains(l) || other.is_some_and(|other| other.contains(l));
        let kept: Vec<char> = own.iter().copied().filter(|l| known(l)).collect();
        let op = |operands: &[&[char]]| Op::Einsum(Einsum::of(operands, &kept));
        let found = match other {
            Some(other) => {
                let value = self.arg_when(1 - position);
                self.apply(op(&[labels.result(), other]), &[self.site.d, value])
            }
            None => self.apply(op(&[labels.result()]), &[self.site.d]),
        };
        if kept.len() == own.len() {
            return found;
        }
        let dims: Vec<Dim> = self.dims(self.x);
        let dims: Vec<Dim> =
            dims.into_iter().zip(own).map(|(dim, l)| if known(l) { dim } else { Dim::one() }).collect();
        let kept = self.reshape(found, &dims);
        let shape = self.shape(self.x);
        self.apply_shaped(Op::Broadcast { shape }, kept)
    }

    /// The texts `shape(v)` and `rest`; empty if `v` has no name.
    fn shape_and(&self, v: Var, rest: &[Arc<str>]) -> Vec<Arc<str>> {
        let shape = self.b.name(v).map(|name| Arc::from(format!("shape({name})")));
        shape.map_or_else(Vec::new, |shape| std::iter::once(shape).chain(rest.iter().cloned()).collect())
    }

    /// The three parts of the trilinear form `sum(conv(x, k) * d)`: each is the gradient of another.
    pub(super) fn convolution(&mut self, op: &Op) -> Var {
        let (d, position, x) = (self.site.d, self.site.position, self.x);
        let shape = self.shape(x);
        let other = self.arg_when(1 - position);
        let (conv, written) = match op {
            Op::ConvTranspose { conv, .. } | Op::ConvKernel { conv, .. } => {
                (conv.clone(), self.site.statics.get(1..).unwrap_or_default())
            }
            Op::Conv(conv) => (conv.clone(), self.site.statics),
            other => unreachable!("{other} is no convolution"),
        };
        let shaped = self.shape_and(x, written);
        let written = written.to_vec();
        let transpose = Op::ConvTranspose { shape: shape.clone(), conv: conv.clone() };
        let kernel = Op::ConvKernel { shape, conv: conv.clone() };
        let (op, args, statics) = match (op, position) {
            (Op::Conv(_), 0) => (transpose, [d, other], shaped),
            (Op::Conv(_), _) => (kernel, [other, d], shaped),
            (Op::ConvTranspose { .. }, 0) => (Op::Conv(conv), [d, other], written),
            (Op::ConvTranspose { .. }, _) => (kernel, [d, other], shaped),
            (Op::ConvKernel { .. }, 0) => (transpose, [other, d], shaped),
            (Op::ConvKernel { .. }, _) => (Op::Conv(conv), [other, d], written),
            (other, _) => unreachable!("{other} is no convolution"),
        };
        self.b.apply_written(op, &args, statics)
    }

    /// Transposes pooling and patches.
    pub(super) fn windows(&mut self, op: &Op) -> Var {
        match op {
            Op::AvgPool(pool) => {
                let n: usize = pool.axes.iter().map(|axis| axis.size).product();
                #[allow(clippy::cast_precision_loss, reason = "a count of elements")]
                let n = self.literal(n as f64);
                let d = self.apply(Op::Binary(Binary::Div), &[self.site.d, n]);
                let d = self.over_windows(pool, d);
                let wide = self.window_shape(pool);
                let d = self.apply(Op::Broadcast { shape: wide }, &[d]);
                self.unpatches(pool, d)
            }
            Op::MaxPool(pool) => {
                let shares = self.shares(pool);
                self.unpatches(pool, shares)
            }
            Op::Patches(pool) => self.unpatches(pool, self.site.d),
            Op::Unpatches { pool, .. } => {
                let written = self.site.statics.get(1..).unwrap_or_default().to_vec();
                self.b.apply_written(Op::Patches(pool.clone()), &[self.site.d], written)
            }
            other => unreachable!("{other} has no windows"),
        }
    }

    fn unpatches(&mut self, pool: &Pool, d: Var) -> Var {
        let statics = self.shape_and(self.x, self.site.statics);
        let op = Op::Unpatches { shape: self.shape(self.x), pool: pool.clone() };
        self.b.apply_written(op, &[d], statics)
    }

    /// The shape of the windows of the operand.
    fn window_shape(&self, pool: &Pool) -> rml_ir::Shape {
        let dims = self.shape(self.site.out);
        let (outside, channels) = dims.dims().split_at(dims.rank() - 1);
        outside
            .iter()
            .copied()
            .chain(pool.axes.iter().map(|axis| axis.size))
            .chain(channels.iter().copied())
            .collect()
    }

    /// Gives `v`, which has one number for each window and channel, axes of length 1 in place of the window axes.
    fn over_windows(&mut self, pool: &Pool, v: Var) -> Var {
        let mut dims = self.dims(self.site.out);
        let at = dims.len() - 1;
        dims.splice(at..at, pool.axes.iter().map(|_| Dim::one()));
        self.reshape(v, &dims)
    }

    /// The gradient of each element of each window: it is divided equally among the largest elements.
    fn shares(&mut self, pool: &Pool) -> Var {
        let (x, o) = (self.x_when(), self.out_when());
        let statics = self.site.statics.to_vec();
        let patches = self.b.apply_written(Op::Patches(pool.clone()), &[x], statics.clone());
        let largest = self.over_windows(pool, o);
        let mut ties = self.apply(Op::Compare(Compare::Eq), &[patches, largest]);
        if pool.axes.iter().any(|axis| axis.lo + axis.hi > 0) {
            // Padding may have the same value by chance.
            let (ty, zero) = (self.b.ty(self.x), self.literal(0.0));
            let ones = self.b.constant(&ty, 1.0);
            let inside = self.b.apply_written(Op::Patches(pool.clone()), &[ones], statics);
            let inside = self.apply(Op::Compare(Compare::Gt), &[inside, zero]);
            ties = self.apply(Op::And, &[ties, inside]);
        }
        let ties = self.apply(Op::Convert(DType::Num), &[ties]);
        let mut count = ties;
        for _ in &pool.axes {
            let axis = self.shape(count).rank().checked_sub(2);
            count = self.apply(Op::Reduce(Reduction::Sum, axis), &[count]);
        }
        let d = self.apply(Op::Binary(Binary::Div), &[self.site.d, count]);
        let d = self.over_windows(pool, d);
        self.apply(Op::Binary(Binary::Mul), &[ties, d])
    }
}
