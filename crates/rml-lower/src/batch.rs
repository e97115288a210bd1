//! Operators at many ticks at once: time is the first axis.

use rml_base::Span;
use rml_ir::op::{Binary, Class, Einsum, Op, Reduction};
use rml_ir::{Data, Shape, Type, Value};

use crate::graph::{Graph, Node};

#[cfg(test)]
mod tests;

/// An operand at several ticks: one value for all of them, or a row for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Val {
    pub(crate) node: Node,
    pub(crate) stacked: bool,
}

impl Val {
    pub(crate) fn same(node: Node) -> Self {
        Self { node, stacked: false }
    }

    pub(crate) fn stack(node: Node) -> Self {
        Self { node, stacked: true }
    }
}

/// Operators over `n` ticks, at least two.
pub(crate) struct Batch<'a> {
    pub(crate) g: &'a mut Graph,
    pub(crate) n: usize,
    pub(crate) span: Span,
}

impl Batch<'_> {
    /// The type of one tick.
    fn element(&self, x: Val) -> Type {
        let ty = self.g.ty(x.node);
        if x.stacked { Type::new(ty.dtype, &ty.shape.dims()[1..]) } else { ty.clone() }
    }

    fn apply(&mut self, op: Op, args: &[Node]) -> Node {
        self.g.apply(op, args, self.span)
    }

    fn reshape(&mut self, x: Node, dims: &[usize]) -> Node {
        self.g.reshape(x, dims, self.span)
    }

    /// With a row for each tick.
    pub(crate) fn stacked(&mut self, x: Val) -> Node {
        if x.stacked { x.node } else { self.g.repeat(x.node, self.n) }
    }

    fn with_n(&self, dims: &[usize]) -> Vec<usize> {
        std::iter::once(self.n).chain(dims.iter().copied()).collect()
    }

    /// A stack whose ticks have `rank` axes, new ones first.
    fn aligned(&mut self, x: Val, rank: usize) -> Node {
        if !x.stacked {
            return x.node;
        }
        let own = self.g.dims(x.node)[1..].to_vec();
        let dims: Vec<usize> = std::iter::repeat_n(1, rank - own.len()).chain(own).collect();
        let dims = self.with_n(&dims);
        self.reshape(x.node, &dims)
    }

    /// An operator whose result at one tick is of that type. None if it has to be computed tick by tick.
    pub(crate) fn op(&mut self, op: &Op, args: &[Val], ty: &Type) -> Option<Val> {
        if args.iter().all(|a| !a.stacked) {
            let nodes: Vec<Node> = args.iter().map(|a| a.node).collect();
            return Some(Val::same(self.apply(op.clone(), &nodes)));
        }
        let dims = self.with_n(ty.shape.dims());
        let node = match op {
            Op::Conv(_) | Op::ConvTranspose { .. } if args[1].stacked => return None,
            Op::RandomUniform { .. } | Op::RandomNormal { .. } | Op::ConvKernel { .. } => return None,
            Op::MatMul => self.matmul(args, &dims),
            Op::Einsum(labels) => self.einsum(labels, args)?,
            Op::Gather { axis } => self.gather(*axis, args, ty)?,
            Op::ScatterAdd { shape, axis } => self.scatter_add(shape, *axis, args),
            Op::Broadcast { .. } => {
                let aligned = self.aligned(args[0], ty.shape.rank());
                self.apply(Op::Broadcast { shape: Shape::new(&dims) }, &[aligned])
            }
            Op::SumTo { shape } => self.sum_to(shape, args[0], &dims),
            Op::Reduce(by, None) => {
                let flat = self.reshape(args[0].node, &[self.n, self.element(args[0]).shape.len()]);
                self.apply(Op::Reduce(*by, Some(1)), &[flat])
            }
            other => {
                let moved = other.over(self.n)?;
                let nodes: Vec<Node> = match op.class() {
                    Class::Pointwise | Class::Identity => {
                        args.iter().map(|a| self.aligned(*a, ty.shape.rank())).collect()
                    }
                    // The kernel of a convolution is one for all ticks.
                    Class::Sliding => args.iter().map(|a| a.node).collect(),
                    Class::Layout
                    | Class::Fold
                    | Class::Along
                    | Class::Product
                    | Class::Lookup
                    | Class::Random => args.iter().map(|a| self.stacked(*a)).collect(),
                };
                self.apply(moved, &nodes)
            }
        };
        Some(Val::stack(node))
    }

    /// The sum to a shape at each tick; `dims` are those of the result.
    fn sum_to(&mut self, shape: &Shape, x: Val, dims: &[usize]) -> Node {
        let ones = std::iter::repeat_n(1, self.element(x).shape.rank() - shape.rank());
        let padded: Vec<usize> = ones.chain(shape.dims().iter().copied()).collect();
        let to = Shape::new(&self.with_n(&padded));
        let sum = self.apply(Op::SumTo { shape: to }, &[x.node]);
        self.reshape(sum, dims)
    }

    fn matmul(&mut self, args: &[Val], dims: &[usize]) -> Node {
        let (a, b) = (self.element(args[0]).shape, self.element(args[1]).shape);
        if let ([p, k], [_, m], true, false) = (a.dims(), b.dims(), args[0].stacked, args[1].stacked) {
            // One matrix for all ticks: one product.
            let rows = self.reshape(args[0].node, &[self.n * p, *k]);
            let product = self.apply(Op::MatMul, &[rows, args[1].node]);
            return self.reshape(product, &[self.n, *p, *m]);
        }
        // As stacks of matrices of one rank; a vector is one row on the left, and one column on the right.
        let left = if a.rank() == 1 { vec![1, a.dims()[0]] } else { a.dims().to_vec() };
        let right = if b.rank() == 1 { vec![b.dims()[0], 1] } else { b.dims().to_vec() };
        let rank = left.len().max(right.len());
        let mut matrices = [args[0].node; 2];
        for (matrix, (x, own)) in matrices.iter_mut().zip([(args[0], left), (args[1], right)]) {
            *matrix = if x.stacked {
                let dims: Vec<usize> = std::iter::repeat_n(1, rank - own.len()).chain(own).collect();
                let dims = self.with_n(&dims);
                self.reshape(x.node, &dims)
            } else {
                self.reshape(x.node, &own)
            };
        }
        let product = self.apply(Op::MatMul, &matrices);
        self.reshape(product, dims)
    }

    /// With one more label, for time. None where all letters are taken.
    fn einsum(&mut self, labels: &Einsum, args: &[Val]) -> Option<Node> {
        let time = free_label(labels)?;
        let with = |own: &[char]| std::iter::once(time).chain(own.iter().copied()).collect::<Vec<char>>();
        let operands: Vec<Vec<char>> = labels
            .operands()
            .iter()
            .zip(args)
            .map(|(own, a)| if a.stacked { with(own) } else { own.clone() })
            .collect();
        let operands: Vec<&[char]> = operands.iter().map(Vec::as_slice).collect();
        let nodes: Vec<Node> = args.iter().map(|a| a.node).collect();
        Some(self.apply(Op::Einsum(Einsum::of(&operands, &with(labels.result()))), &nodes))
    }

    fn gather(&mut self, axis: usize, args: &[Val], ty: &Type) -> Option<Node> {
        match (args[0].stacked, args[1].stacked) {
            (true, false) => Some(self.apply(Op::Gather { axis: axis + 1 }, &[args[0].node, args[1].node])),
            (false, _) => {
                // Time follows the axes before `axis`.
                let all = self.apply(Op::Gather { axis }, &[args[0].node, args[1].node]);
                let rank = ty.shape.rank() + 1;
                let perm = std::iter::once(axis).chain((0..rank).filter(|i| *i != axis)).collect();
                Some(self.apply(Op::Transpose { perm }, &[all]))
            }
            (true, true) => None,
        }
    }

    /// The positions of all ticks, each in a part of its own.
    fn scatter_add(&mut self, shape: &Shape, axis: usize, args: &[Val]) -> Node {
        let (positions, added) = (self.stacked(args[0]), self.stacked(args[1]));
        let rank = self.g.dims(positions).len() - 1;
        let places = shape.dims()[axis];
        // Position `i` of tick `t` is `t * places + i` along an axis of all ticks; time stands before the positions in
        // what is added.
        let starts = (0..self.n).map(|t| i64::try_from(t * places).unwrap_or(i64::MAX)).collect();
        let column: Vec<usize> = self.with_n(&vec![1; rank]);
        let starts = self.g.constant(&Value::new(Shape::new(&column), Data::Int(starts)));
        let at = self.apply(Op::Binary(Binary::Add), &[positions, starts]);
        let ranks = self.g.dims(added).len();
        let perm: Vec<usize> = (1..=axis).chain([0]).chain(axis + 1..ranks).collect();
        let added = self.apply(Op::Transpose { perm }, &[added]);
        let mut all = shape.dims().to_vec();
        all[axis] *= self.n;
        let sum = self.apply(Op::ScatterAdd { shape: Shape::new(&all), axis }, &[at, added]);
        let mut apart = shape.dims().to_vec();
        apart.insert(axis, self.n);
        let sum = self.reshape(sum, &apart);
        let perm = std::iter::once(axis).chain((0..apart.len()).filter(|i| *i != axis)).collect();
        self.apply(Op::Transpose { perm }, &[sum])
    }

    /// The sum of an operator over all ticks. None if it has to be computed tick by tick.
    pub(crate) fn sum(&mut self, op: &Op, args: &[Val], ty: &Type) -> Option<Node> {
        let all_stacked = args.iter().all(|a| a.stacked);
        match op {
            Op::SumTo { .. } if all_stacked => return Some(self.apply(op.clone(), &[args[0].node])),
            // Kernels of all ticks are one kernel of a larger batch.
            Op::ConvKernel { .. } if all_stacked => {
                return Some(self.apply(op.clone(), &[args[0].node, args[1].node]));
            }
            Op::ScatterAdd { axis: 0, .. } if all_stacked => {
                return Some(self.apply(op.clone(), &[args[0].node, args[1].node]));
            }
            Op::Einsum(labels) if all_stacked && labels.operands().len() == 2 => {
                if let Some(time) = free_label(labels) {
                    let with = |own: &Vec<char>| {
                        std::iter::once(time).chain(own.iter().copied()).collect::<Vec<char>>()
                    };
                    let operands: Vec<Vec<char>> = labels.operands().iter().map(with).collect();
                    let operands: Vec<&[char]> = operands.iter().map(Vec::as_slice).collect();
                    let op = Op::Einsum(Einsum::of(&operands, labels.result()));
                    return Some(self.apply(op, &[args[0].node, args[1].node]));
                }
            }
            Op::MatMul if all_stacked => {
                let (a, b) = (self.element(args[0]).shape, self.element(args[1]).shape);
                if let ([_, _], [_, _]) = (a.dims(), b.dims()) {
                    // What was transposed at each tick is read as it was.
                    let (x, labels) = match self.g.transposed(args[0].node, &[0, 2, 1]) {
                        Some(x) => (x, ['t', 'k', 'i']),
                        None => (args[0].node, ['t', 'i', 'k']),
                    };
                    let op = Op::Einsum(Einsum::of(&[&labels, &['t', 'k', 'j']], &['i', 'j']));
                    return Some(self.apply(op, &[x, args[1].node]));
                }
            }
            _ => {}
        }
        let all = self.op(op, args, ty)?;
        let all = self.stacked(all);
        Some(self.apply(Op::Reduce(Reduction::Sum, Some(0)), &[all]))
    }
}

/// A letter that a contraction does not use.
fn free_label(labels: &Einsum) -> Option<char> {
    let used = |c: &char| labels.result().contains(c) || labels.operands().iter().any(|o| o.contains(c));
    ('a'..='z').chain('A'..='Z').rev().find(|c| !used(c))
}
