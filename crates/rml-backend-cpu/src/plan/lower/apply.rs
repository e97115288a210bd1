//! Operators as instructions.

use rml_ir::op::{Around, AxisIndex, Binary, Convolution, Op, Reduction};
use rml_ir::{DType, Shape, Type};

use super::super::code::{At, Kernel};
use super::super::views::{View, is_pointwise};
use super::super::walk::{Walk, dense};
use super::{Lower, whole, wide};

impl Lower<'_> {
    /// The instructions that leave the result of an operator in `out`.
    pub(super) fn apply(&mut self, op: &Op, args: &[View], types: &[Type], ty: &Type, out: &View) {
        let done = match (op, args) {
            (Op::Clip, [x, lo, hi]) => self.clip([x, lo, hi], types, ty, out),
            (op, _) if is_pointwise(op) => self.point(op, args, types, out),
            (Op::Copy | Op::StopGradient, [x]) => self.moved(ty.dtype, out, x.clone()),
            (Op::Reshape { shape }, [x]) => {
                let x = self.packed(ty.dtype, x);
                self.moved(
                    ty.dtype,
                    out,
                    View { dims: shape.dims().to_vec(), strides: dense(shape.dims()), ..x },
                )
            }
            (Op::Broadcast { shape }, [x]) => {
                let strides = wide(x, shape.dims());
                self.moved(ty.dtype, out, View { dims: shape.dims().to_vec(), strides, ..x.clone() })
            }
            (Op::Transpose { perm }, [x]) => {
                let dims = perm.iter().map(|i| x.dims[*i]).collect();
                let strides = perm.iter().map(|i| x.strides[*i]).collect();
                self.moved(ty.dtype, out, View { dims, strides, ..x.clone() })
            }
            (Op::Index { items }, [x]) => self.moved(ty.dtype, out, picked(x, items)),
            (Op::Unindex { items, .. }, [x]) => {
                self.push(Kernel::Clear(ty.dtype), out, &[]);
                let to = picked(out, items);
                self.copy(ty.dtype, &to, x);
                true
            }
            (Op::Concat { axis }, _) => self.joined(*axis, args, ty.dtype, out),
            (Op::Stack { axis }, _) => self.stacked(*axis, args, ty.dtype, out),
            _ => self.dense(op, args, types, ty, out),
        };
        if !done {
            let args: Vec<View> = args.iter().zip(types).map(|(v, t)| self.packed(t.dtype, v)).collect();
            let convolution = match types {
                [a, b] => Convolution::new(op, [&a.shape, &b.shape]),
                _ => None,
            };
            let kernel = convolution.map_or_else(
                || {
                    let kinds = types.iter().map(|t| (t.dtype, t.shape.clone())).collect();
                    Kernel::General(op.clone(), kinds, ty.dtype)
                },
                |convolution| Kernel::Convolve(Box::new(convolution)),
            );
            self.push(kernel, out, &args.iter().collect::<Vec<_>>());
        }
    }

    fn moved(&mut self, dtype: DType, out: &View, from: View) -> bool {
        self.copy(dtype, out, &from);
        true
    }

    fn point(&mut self, op: &Op, args: &[View], types: &[Type], out: &View) -> bool {
        let strides: Vec<Vec<usize>> = args.iter().map(|a| wide(a, &out.dims)).collect();
        let at = |i: usize| strides.get(i).map_or(&[][..], Vec::as_slice);
        let walk = Walk::new(&out.dims, [&out.strides, at(0), at(1), at(2)], true);
        let dtype = types[usize::from(*op == Op::Where)].dtype;
        self.push(Kernel::Point(op.clone(), dtype, walk), out, &args.iter().collect::<Vec<_>>());
        true
    }

    fn clip(&mut self, [x, lo, hi]: [&View; 3], types: &[Type], ty: &Type, out: &View) -> bool {
        let shape = types[0].shape.broadcast(&types[1].shape).unwrap_or_else(|| ty.shape.clone());
        let above = View::of(self.scratch(ty.dtype, shape.len(), false), &shape);
        self.point(&Op::Binary(Binary::Maximum), &[x.clone(), lo.clone()], types, &above);
        self.point(&Op::Binary(Binary::Minimum), &[above, hi.clone()], types, out)
    }

    fn joined(&mut self, axis: usize, args: &[View], dtype: DType, out: &View) -> bool {
        let mut offset = out.offset;
        for arg in args {
            let to = View { offset, dims: arg.dims.clone(), ..out.clone() };
            if !self.is_there(arg, &to) {
                self.copy(dtype, &to, arg);
            }
            offset += arg.dims[axis] * out.strides[axis];
        }
        true
    }

    /// Whether the elements of a view are those of the other one.
    fn is_there(&self, view: &View, to: &View) -> bool {
        let (At::Here(a), At::Here(b)) = (view.at, to.at) else { return view == to };
        let moved = (b - a).cast_unsigned().wrapping_mul(self.code.slot(to.slot).step());
        let offset = to.offset.wrapping_add(moved);
        *view == View { at: view.at, offset, ..to.clone() }
    }

    fn stacked(&mut self, axis: usize, args: &[View], dtype: DType, out: &View) -> bool {
        let mut strides = out.strides.clone();
        let step = strides.remove(axis);
        for (i, arg) in args.iter().enumerate() {
            let offset = out.offset + i * step;
            let to = View { offset, dims: arg.dims.clone(), strides: strides.clone(), ..out.clone() };
            self.copy(dtype, &to, arg);
        }
        true
    }

    /// Operators that need dense operands. False if there is no kernel.
    fn dense(&mut self, op: &Op, args: &[View], types: &[Type], ty: &Type, out: &View) -> bool {
        let kernel = match (op, args) {
            (Op::MatMul, [a, b]) => match product(&a.dims, &b.dims) {
                Some(size) => Kernel::Product(size, None),
                None => return false,
            },
            (Op::Einsum(e), _) => return self.einsum(e, args, out),
            (Op::SumTo { shape }, [x]) => return self.sum_to(shape, x, types[0].dtype, out),
            (Op::Softmax | Op::LogSoftmax, [x]) => {
                Kernel::Softmax(*op == Op::LogSoftmax, x.dims.last().copied().unwrap_or(1))
            }
            (Op::Reduce(Reduction::ArgMax, axis), [x]) => {
                Kernel::Position(true, types[0].dtype, Around::axis(&x.dims, *axis))
            }
            (Op::Reduce(Reduction::ArgMin, axis), [x]) => {
                Kernel::Position(false, types[0].dtype, Around::axis(&x.dims, *axis))
            }
            (Op::Reduce(by, axis), [x]) => Kernel::Reduce(*by, ty.dtype, Around::axis(&x.dims, *axis)),
            (Op::Pick, [x, _]) => Kernel::Pick(ty.dtype, x.dims.last().copied().unwrap_or(1)),
            (Op::Gather { axis }, [x, at]) => {
                Kernel::Gather(ty.dtype, Around::axis(&x.dims, Some(*axis)), at.dims.iter().product())
            }
            (Op::ScatterAdd { shape, axis }, [at, _]) if ty.is_num() => {
                Kernel::ScatterAdd(Around::axis(shape.dims(), Some(*axis)), at.dims.iter().product())
            }
            (Op::OneHot { classes }, _) => Kernel::OneHot(*classes),
            (Op::RandomUniform { .. } | Op::RandomNormal { .. }, [_, _]) => Kernel::Draw(op.clone()),
            _ => return false,
        };
        let args: Vec<View> = args.iter().zip(types).map(|(v, t)| self.packed(t.dtype, v)).collect();
        self.push(kernel, out, &args.iter().collect::<Vec<_>>());
        true
    }

    /// One axis after the other, outermost first.
    fn sum_to(&mut self, shape: &Shape, x: &View, dtype: DType, out: &View) -> bool {
        let missing = x.dims.len() - shape.rank();
        let wanted = |axis: usize| axis.checked_sub(missing).map_or(1, |i| shape.dims()[i]);
        let axes: Vec<usize> = (0..x.dims.len()).filter(|axis| x.dims[*axis] != wanted(*axis)).collect();
        let mut from = self.packed(dtype, x);
        if axes.is_empty() {
            return self.moved(
                dtype,
                out,
                View { dims: out.dims.clone(), strides: out.strides.clone(), ..from },
            );
        }
        for (i, axis) in axes.iter().enumerate() {
            let mut dims = from.dims.clone();
            dims[*axis] = 1;
            let to = if i + 1 == axes.len() {
                out.clone()
            } else {
                whole(self.scratch(dtype, dims.iter().product(), false), &dims)
            };
            let around = Around::axis(&from.dims, Some(*axis));
            self.push(Kernel::Reduce(Reduction::Sum, dtype, around), &to, &[&from]);
            from = View { dims, ..to };
        }
        true
    }
}

/// The elements that `items` picks; strides wrap around for negative steps.
fn picked(x: &View, items: &[AxisIndex]) -> View {
    let (mut offset, mut dims, mut strides) = (x.offset, Vec::new(), Vec::new());
    for (item, stride) in items.iter().zip(&x.strides) {
        match *item {
            AxisIndex::At(i) => offset += i * stride,
            AxisIndex::Slice { start, len, step } => {
                offset += start * stride;
                dims.push(len);
                strides.push(step.cast_unsigned().wrapping_mul(*stride));
            }
        }
    }
    View { offset, dims, strides, ..x.clone() }
}

/// `(m, k, n)`, if a product is one of two matrices.
pub(super) fn product(a: &[usize], b: &[usize]) -> Option<[usize; 3]> {
    let (k, rows) = a.split_last()?;
    (b.len() <= 2).then(|| [rows.iter().product(), *k, b[1..].iter().product()])
}
