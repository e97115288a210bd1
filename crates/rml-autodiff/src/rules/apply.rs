//! Operators: the transposed derivative of each, applied to the gradient of its result.
//!
//! Forward operands are sampled by the result's condition, so that they are present with its gradient.

use std::sync::Arc;

use rml_ir::normal::Var;
use rml_ir::op::{AxisIndex, Op};
use rml_ir::{Shape, Type};

use crate::build::Builder;

/// One operand of one application.
pub(crate) struct Site<'a> {
    /// All operands.
    pub(crate) args: &'a [Var],
    /// The result.
    pub(crate) out: Var,
    /// Which operand.
    pub(crate) position: usize,
    /// The gradient of the result.
    pub(crate) d: Var,
    /// Where it is present.
    pub(crate) bp: Var,
}

/// Whether a gradient flows to the operand at `position`. A square counts as one use of its operand.
pub(crate) fn differentiable(op: &Op, args: &[Var], position: usize) -> bool {
    match op {
        Op::Copy
        | Op::Neg
        | Op::Abs
        | Op::Exp
        | Op::Log
        | Op::Sqrt
        | Op::Sigmoid
        | Op::Tanh
        | Op::Relu
        | Op::Add
        | Op::Sub
        | Op::Div
        | Op::MatMul
        | Op::Transpose { .. }
        | Op::Reshape { .. }
        | Op::Broadcast { .. }
        | Op::SumTo { .. }
        | Op::Concat { .. }
        | Op::Stack
        | Op::Index { .. }
        | Op::Unindex { .. }
        | Op::Sum { .. }
        | Op::Mean { .. }
        | Op::Max { .. }
        | Op::Softmax
        | Op::LogSoftmax => true,
        Op::Mul => position == 0 || args.first() != args.get(1),
        Op::StopGradient
        | Op::Not
        | Op::Sign
        | Op::ToNum
        | Op::ToInt
        | Op::ToBool
        | Op::And
        | Op::Or
        | Op::Eq
        | Op::Ne
        | Op::Lt
        | Op::Le
        | Op::Gt
        | Op::Ge
        | Op::ArgMax { .. }
        | Op::OneHot { .. } => false,
    }
}

/// The contribution to the gradient of the operand at the site; `None` where there is none.
pub(crate) fn pullback(b: &mut Builder, op: &Op, site: &Site<'_>) -> Option<Var> {
    let x = *site.args.get(site.position)?;
    let d = site.d;
    let shape = b.ty(x).shape;
    let t = &mut Transposer { b, site, x };
    Some(match op {
        Op::Copy => d,
        Op::Neg => t.apply(Op::Neg, &[d]),
        Op::Abs => {
            let sign = t.x_when();
            let sign = t.apply(Op::Sign, &[sign]);
            t.apply(Op::Mul, &[d, sign])
        }
        Op::Exp => {
            let o = t.out_when();
            t.apply(Op::Mul, &[d, o])
        }
        Op::Log => {
            let x = t.x_when();
            t.apply(Op::Div, &[d, x])
        }
        Op::Sqrt => {
            let (half, o) = (t.literal(0.5), t.out_when());
            let d = t.apply(Op::Mul, &[d, half]);
            t.apply(Op::Div, &[d, o])
        }
        Op::Sigmoid => {
            let (o, one) = (t.out_when(), t.literal(1.0));
            let d = t.apply(Op::Mul, &[d, o]);
            let rest = t.apply(Op::Sub, &[one, o]);
            t.apply(Op::Mul, &[d, rest])
        }
        Op::Tanh => {
            let (o, one) = (t.out_when(), t.literal(1.0));
            let square = t.apply(Op::Mul, &[o, o]);
            let rest = t.apply(Op::Sub, &[one, square]);
            t.apply(Op::Mul, &[d, rest])
        }
        Op::Relu => {
            let (x, zero) = (t.x_when(), t.literal(0.0));
            let positive = t.apply(Op::Gt, &[x, zero]);
            let mask = t.apply(Op::ToNum, &[positive]);
            t.apply(Op::Mul, &[d, mask])
        }
        Op::Add => t.sum_to_operand(d),
        Op::Sub if site.position == 0 => t.sum_to_operand(d),
        Op::Sub => {
            let d = t.apply(Op::Neg, &[d]);
            t.sum_to_operand(d)
        }
        Op::Mul => t.product(),
        Op::Div => t.quotient(),
        Op::MatMul => t.matmul(),
        Op::Transpose { perm } => {
            let mut inverse = vec![0; perm.len()];
            perm.iter().enumerate().for_each(|(i, &p)| inverse[p] = i);
            t.apply(Op::Transpose { perm: inverse }, &[d])
        }
        Op::Reshape { .. } => t.apply_shaped(Op::Reshape { shape }, d),
        Op::Broadcast { .. } => t.apply_shaped(Op::SumTo { shape }, d),
        Op::SumTo { .. } => t.apply_shaped(Op::Broadcast { shape }, d),
        Op::Concat { axis } => t.part(*axis),
        Op::Stack => {
            let mut items = vec![AxisIndex::At(site.position)];
            items.extend(shape.dims().iter().map(|&len| AxisIndex::Slice { start: 0, len, step: 1 }));
            t.apply(Op::Index { items }, &[d])
        }
        // Whole slices pick everything.
        Op::Index { .. } if t.shape(site.out) == shape => d,
        Op::Index { items } => t.apply_shaped(Op::Unindex { shape, items: items.clone() }, d),
        Op::Unindex { items, .. } => t.apply(Op::Index { items: items.clone() }, &[d]),
        Op::Sum { axis } => t.spread(*axis, d),
        Op::Mean { axis } => {
            let n = axis.map_or(shape.len(), |a| shape.dims()[a]);
            #[allow(clippy::cast_precision_loss, reason = "a count of elements")]
            let n = t.literal(n as f64);
            let d = t.apply(Op::Div, &[d, n]);
            t.spread(*axis, d)
        }
        Op::Max { axis } => t.maximum(*axis),
        Op::Softmax => {
            let o = t.out_when();
            let product = t.apply(Op::Mul, &[d, o]);
            let sum = t.last_sum(product);
            let centred = t.apply(Op::Sub, &[d, sum]);
            t.apply(Op::Mul, &[o, centred])
        }
        Op::LogSoftmax => {
            let o = t.out_when();
            let p = t.apply(Op::Exp, &[o]);
            let sum = t.last_sum(d);
            let product = t.apply(Op::Mul, &[p, sum]);
            t.apply(Op::Sub, &[d, product])
        }
        Op::StopGradient
        | Op::Not
        | Op::Sign
        | Op::ToNum
        | Op::ToInt
        | Op::ToBool
        | Op::And
        | Op::Or
        | Op::Eq
        | Op::Ne
        | Op::Lt
        | Op::Le
        | Op::Gt
        | Op::Ge
        | Op::ArgMax { .. }
        | Op::OneHot { .. } => return None,
    })
}

/// A site with the builder, and the shapes that come up again and again.
struct Transposer<'a, 'b> {
    b: &'a mut Builder,
    site: &'a Site<'b>,
    x: Var,
}

/// A dimension, and the static expression that it comes from.
#[derive(Clone)]
struct Dim {
    size: usize,
    text: Option<String>,
}

impl Dim {
    fn one() -> Self {
        Self { size: 1, text: Some("1".to_owned()) }
    }

    fn product(dims: &[Dim]) -> Self {
        Self { size: dims.iter().map(|d| d.size).product(), text: Self::joined(dims, " * ") }
    }

    fn sum(dims: &[Dim]) -> Self {
        Self { size: dims.iter().map(|d| d.size).sum(), text: Self::joined(dims, " + ") }
    }

    fn joined(dims: &[Dim], operator: &str) -> Option<String> {
        let texts: Option<Vec<&str>> = dims.iter().map(|d| d.text.as_deref()).collect();
        texts.map(|texts| texts.join(operator)).filter(|text| !text.is_empty())
    }
}

impl Transposer<'_, '_> {
    fn apply(&mut self, op: Op, args: &[Var]) -> Var {
        self.b.apply(op, args)
    }

    /// An operator whose static argument is the shape of the operand.
    fn apply_shaped(&mut self, op: Op, d: Var) -> Var {
        let statics = self.b.name(self.x).map(|name| Arc::from(format!("shape({name})")));
        self.b.apply_written(op, &[d], statics.into_iter().collect())
    }

    fn literal(&mut self, x: f64) -> Var {
        self.b.constant(&Type::scalar(rml_ir::DType::Num), x)
    }

    fn x_when(&mut self) -> Var {
        self.b.sample(self.x, self.site.bp)
    }

    fn out_when(&mut self) -> Var {
        self.b.sample(self.site.out, self.site.bp)
    }

    fn arg_when(&mut self, i: usize) -> Var {
        self.b.sample(self.site.args[i], self.site.bp)
    }

    fn shape(&self, v: Var) -> Shape {
        self.b.ty(v).shape
    }

    /// `d` summed over what broadcasting repeated.
    fn sum_to_operand(&mut self, d: Var) -> Var {
        let shape = self.shape(self.x);
        if self.shape(d) == shape { d } else { self.apply_shaped(Op::SumTo { shape }, d) }
    }

    fn product(&mut self) -> Var {
        let d = self.site.d;
        if self.site.args[0] == self.site.args[1] {
            let (two, x) = (self.literal(2.0), self.x_when());
            let d = self.apply(Op::Mul, &[d, two]);
            return self.apply(Op::Mul, &[d, x]);
        }
        let other = self.arg_when(1 - self.site.position);
        let product = self.apply(Op::Mul, &[other, d]);
        self.sum_to_operand(product)
    }

    fn quotient(&mut self) -> Var {
        let d = self.site.d;
        let divisor = self.arg_when(1);
        let result = if self.site.position == 0 {
            self.apply(Op::Div, &[d, divisor])
        } else {
            let o = self.out_when();
            let d = self.apply(Op::Neg, &[d]);
            let product = self.apply(Op::Mul, &[d, o]);
            self.apply(Op::Div, &[product, divisor])
        };
        self.sum_to_operand(result)
    }

    /// `v` under another shape, each dimension with the text that says where it comes from.
    fn reshape(&mut self, v: Var, dims: &[Dim]) -> Var {
        let shape: Shape = dims.iter().map(|d| d.size).collect();
        if self.shape(v) == shape {
            return v;
        }
        let texts: Option<Vec<&str>> = dims.iter().map(|d| d.text.as_deref()).collect();
        let statics = texts.map(|texts| Arc::from(format!("[{}]", texts.join(", "))));
        self.b.apply_written(Op::Reshape { shape }, &[v], statics.into_iter().collect())
    }

    /// The dimensions of a forward variable.
    fn dims(&self, v: Var) -> Vec<Dim> {
        let name = self.b.name(v);
        let dim = |(i, &size): (usize, &usize)| Dim {
            size,
            text: name.as_ref().map(|name| format!("shape({name})[{i}]")),
        };
        self.shape(v).dims().iter().enumerate().map(dim).collect()
    }

    fn transpose(&mut self, v: Var) -> Var {
        self.apply(Op::Transpose { perm: vec![1, 0] }, &[v])
    }

    /// NumPy's product of a vector, matrix or stack of matrices with a vector or matrix.
    fn matmul(&mut self) -> Var {
        let (a, c) = (self.dims(self.site.args[0]), self.dims(self.site.args[1]));
        if self.site.position == 0 { self.left_factor(&a, &c) } else { self.right_factor(&a, &c) }
    }

    fn left_factor(&mut self, a: &[Dim], c: &[Dim]) -> Var {
        let (d, other) = (self.site.d, self.arg_when(1));
        match (a, c) {
            ([_], [_]) => self.apply(Op::Mul, &[other, d]),
            ([_], _) => self.apply(Op::MatMul, &[other, d]),
            ([rows @ .., _], [_]) => {
                // The outer product of d [.., m] and the vector [k].
                let column: Vec<Dim> = rows.iter().cloned().chain([Dim::one()]).collect();
                let column = self.reshape(d, &column);
                self.apply(Op::Mul, &[column, other])
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
            ([_], [_]) => self.apply(Op::Mul, &[other, d]),
            ([k], _) => {
                let column = self.reshape(other, &[k.clone(), Dim::one()]);
                self.apply(Op::Mul, &[column, d])
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

    /// The part of the gradient of a concatenation that belongs to the operand.
    fn part(&mut self, axis: usize) -> Var {
        let before: Vec<Dim> = self.site.args[..self.site.position]
            .iter()
            .filter_map(|&v| self.dims(v).into_iter().nth(axis))
            .collect();
        let start = Dim::sum(&before);
        let own = self.dims(self.x);
        let mut statics: Option<Vec<Arc<str>>> = Some(Vec::new());
        let mut items = Vec::new();
        for (i, dim) in own.iter().enumerate().filter(|&(i, _)| i <= axis) {
            let start = if i == axis { start.size } else { 0 };
            items.push(AxisIndex::Slice { start, len: dim.size, step: 1 });
            let text = if i == axis { self.part_text(&before, dim) } else { Some(":".to_owned()) };
            statics = statics.zip(text).map(|(mut all, text)| {
                all.push(Arc::from(text));
                all
            });
        }
        let whole = own.iter().skip(axis + 1);
        items.extend(whole.map(|dim| AxisIndex::Slice { start: 0, len: dim.size, step: 1 }));
        self.b.apply_written(Op::Index { items }, &[self.site.d], statics.unwrap_or_default())
    }

    /// `start:end` along the axis of a concatenation.
    fn part_text(&self, before: &[Dim], own: &Dim) -> Option<String> {
        let end: Vec<Dim> = before.iter().chain([own]).cloned().collect();
        if self.site.position + 1 == self.site.args.len() {
            return Some(format!("{}:", Dim::sum(before).text?));
        }
        let start = if before.is_empty() { String::new() } else { Dim::sum(before).text? };
        Some(format!("{start}:{}", Dim::sum(&end).text?))
    }

    /// `d`, which lacks `axis` (or all axes) of the operand, repeated along it.
    fn spread(&mut self, axis: Option<usize>, d: Var) -> Var {
        let kept = self.keep(axis, d);
        let shape = self.shape(self.x);
        if self.shape(kept) == shape { kept } else { self.apply_shaped(Op::Broadcast { shape }, kept) }
    }

    /// `v` with `axis` of the operand kept at length 1, so that it broadcasts against the operand.
    fn keep(&mut self, axis: Option<usize>, v: Var) -> Var {
        let Some(axis) = axis else { return v };
        let mut dims = self.dims(self.x);
        if let Some(d) = dims.get_mut(axis) {
            *d = Dim::one();
        }
        // A leading axis of length 1 need not be written: broadcasting adds it.
        if axis == 0 { v } else { self.reshape(v, &dims) }
    }

    fn last_sum(&mut self, v: Var) -> Var {
        let axis = self.shape(self.x).rank().checked_sub(1);
        let sum = self.apply(Op::Sum { axis }, &[v]);
        self.keep(axis, sum)
    }

    /// The gradient goes to the largest elements, in equal parts.
    fn maximum(&mut self, axis: Option<usize>) -> Var {
        let (x, o) = (self.x_when(), self.out_when());
        let largest = self.keep(axis, o);
        let ties = self.apply(Op::Eq, &[x, largest]);
        let ties = self.apply(Op::ToNum, &[ties]);
        let count = self.apply(Op::Sum { axis }, &[ties]);
        let d = self.apply(Op::Div, &[self.site.d, count]);
        let d = self.keep(axis, d);
        self.apply(Op::Mul, &[ties, d])
    }
}
