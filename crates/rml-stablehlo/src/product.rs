//! Matrix products and contractions.

use rml_ir::Shape;
use rml_ir::op::Einsum;

use super::CHECKED;
use super::text::{Ssa, Text, Ty, list};

/// The full precision of both operands, which some devices would otherwise reduce for speed.
pub(super) const PRECISE: &str =
    "precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]";

/// A product over at most this many elements takes less time than a call of a kernel for products.
const FEW: usize = 4;

/// The least number of rows, columns and elements at which a weighted sum is worth such a call.
const ROWS: usize = 16;
const COLUMNS: usize = 64;
const LARGE: usize = 4096;

/// Pairs of axes, one of the left and one of the right operand.
#[derive(Default)]
pub(super) struct Axes {
    left: Vec<usize>,
    right: Vec<usize>,
}

impl Axes {
    pub(super) fn new(left: &[usize], right: &[usize]) -> Self {
        Self { left: left.to_vec(), right: right.to_vec() }
    }
}

/// The contraction over the axes `inner`, with one product for each element of the axes `stack`. The axes of the result
/// are the stack, those only in `a`, and those only in `b`.
pub(super) fn dot(t: &mut Text, a: &Ssa, b: &Ssa, stack: &Axes, inner: &Axes) -> Ssa {
    let own = |x: &Ssa, stack: &[usize], inner: &[usize]| -> Vec<usize> {
        let free = (0..x.dims().len()).filter(|i| !stack.contains(i) && !inner.contains(i));
        free.map(|i| x.dims()[i]).collect()
    };
    let stacked: Vec<usize> = stack.left.iter().map(|&i| a.dims()[i]).collect();
    let dims = [stacked, own(a, &stack.left, &inner.left), own(b, &stack.right, &inner.right)].concat();
    let ty = Ty::new(a.ty.elem, &dims);
    if a.is_empty() || b.is_empty() {
        return t.splat(0.0, &ty);
    }
    if !stack.left.is_empty() {
        return general(t, a, b, stack, inner, ty);
    }
    if let ([left], [right]) = (&inner.left[..], &inner.right[..])
        && a.dims()[*left] <= FEW
        && ty.elem.is_float()
    {
        return outer(t, (a, *left), (b, *right), &ty);
    }
    if walks_columns(a, &inner.left) && a.ty.shape.len() > b.ty.shape.len() {
        return swapped(t, a, b, inner);
    }
    let n: usize = inner.left.iter().map(|&i| a.dims()[i]).product();
    if a.ty.shape.len() == n && inner.left.len() > 1 && is_worth_it(n, b) {
        let own: Vec<usize> = inner.left.iter().map(|&i| a.dims()[i]).collect();
        let rest = (0..a.dims().len()).filter(|i| !inner.left.contains(i));
        let weights = t.transpose(a, &inner.left.iter().copied().chain(rest).collect::<Vec<_>>());
        let weights = t.reshape(&weights, &own);
        let sum = weighted(t, &weights, b, &inner.right);
        return t.reshape(&sum, ty.dims());
    }
    general(t, a, b, stack, inner, ty)
}

/// The contraction with the operands exchanged. A compiler copies the left operand if its elements along the inner axes
/// are not adjacent in memory, so the smaller operand should be on the left. The barrier prevents the compiler from
/// exchanging them back.
fn swapped(t: &mut Text, a: &Ssa, b: &Ssa, inner: &Axes) -> Ssa {
    let product = dot(t, b, a, &Axes::default(), &Axes::new(&inner.right, &inner.left));
    let product = t.op("optimization_barrier", &[&product], product.ty.clone());
    let (columns, all) = (b.dims().len() - inner.right.len(), product.dims().len());
    t.transpose(&product, &(columns..all).chain(0..columns).collect::<Vec<_>>())
}

/// Whether elements along these axes are not adjacent in memory.
fn walks_columns(x: &Ssa, axes: &[usize]) -> bool {
    axes.last().is_some_and(|last| last + 1 < x.dims().len())
}

/// Whether a sum of `n` rows of `x` should be [weighted].
pub(super) fn is_worth_it(n: usize, x: &Ssa) -> bool {
    let all = x.ty.shape.len();
    n >= ROWS && all >= LARGE && all / n >= COLUMNS
}

/// The sum of `x` over axes, weighted by `weights`, which has only these axes. A compiler computes a product of one row
/// column by column, fused with the computation of `x`; for two rows it calls a kernel, which reads `x` row by row. So
/// the weights are used as two equal rows.
pub(super) fn weighted(t: &mut Text, weights: &Ssa, x: &Ssa, axes: &[usize]) -> Ssa {
    let dims: Vec<usize> = std::iter::once(2).chain(weights.dims().iter().copied()).collect();
    let own: Vec<usize> = (1..dims.len()).collect();
    let rows = t.broadcast_in(weights, &own, &dims);
    let both = dot(t, &rows, x, &Axes::default(), &Axes::new(&own, axes));
    let one = t.slice_axis(&both, 0, 0, 1, 1);
    let rest = one.dims()[1..].to_vec();
    t.reshape(&one, &rest)
}

/// The contraction over an axis of each operand as a sum of outer products.
fn outer(t: &mut Text, (a, left): (&Ssa, usize), (b, right): (&Ssa, usize), ty: &Ty) -> Ssa {
    let part = |t: &mut Text, x: &Ssa, axis: usize, k: usize, first: usize| {
        let part = t.slice_axis(x, axis, k, 1, 1);
        let dims: Vec<usize> = [&x.dims()[..axis], &x.dims()[axis + 1..]].concat();
        let axes: Vec<usize> = (first..first + dims.len()).collect();
        let part = t.reshape(&part, &dims);
        t.broadcast_in(&part, &axes, ty.dims())
    };
    let terms: Vec<Ssa> = (0..a.dims()[left])
        .map(|k| {
            let (x, y) = (part(t, a, left, k, 0), part(t, b, right, k, a.dims().len() - 1));
            t.zip("multiply", &x, &y)
        })
        .collect();
    terms.into_iter().reduce(|sum, term| t.zip("add", &sum, &term)).expect(CHECKED)
}

/// The contraction as a `dot_general` operation.
fn general(t: &mut Text, a: &Ssa, b: &Ssa, stack: &Axes, inner: &Axes, ty: Ty) -> Ssa {
    let attributes = format!(
        "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [{}], rhs_batching_dimensions = [{}], \
         lhs_contracting_dimensions = [{}], rhs_contracting_dimensions = [{}]>, {PRECISE}",
        list(&stack.left),
        list(&stack.right),
        list(&inner.left),
        list(&inner.right)
    );
    t.op_attr("dot_general", &[a, b], &attributes, ty)
}

/// NumPy's product.
pub(super) fn matmul(t: &mut Text, a: &Ssa, b: &Ssa) -> Ssa {
    let last = a.dims().len() - 1;
    let Some(other @ 1..) = b.dims().len().checked_sub(2) else {
        return dot(t, a, b, &Axes::default(), &Axes::new(&[last], &[0]));
    };
    let own = last.saturating_sub(1);
    let stack = Shape::new(&a.dims()[..own]).broadcast(&Shape::new(&b.dims()[..other])).expect(CHECKED);
    let repeated = |t: &mut Text, x: &Ssa, own: usize| {
        let dims: Shape = stack.dims().iter().chain(&x.dims()[own..]).copied().collect();
        let missing = stack.rank() - own;
        let axes: Vec<usize> = (missing..dims.rank()).collect();
        if x.dims() == dims.dims() { x.clone() } else { t.broadcast_in(x, &axes, dims.dims()) }
    };
    if a.is_empty() || b.is_empty() {
        let rows = a.dims()[own..last].iter();
        let dims: Shape = stack.dims().iter().chain(rows).chain(&b.dims()[other + 1..]).copied().collect();
        return t.splat(0.0, &Ty { elem: a.ty.elem, shape: dims });
    }
    let (a, b) = (repeated(t, a, own), repeated(t, b, other));
    let stacked: Vec<usize> = (0..stack.rank()).collect();
    let inner = Axes::new(&[a.dims().len() - 1], &[stack.rank()]);
    dot(t, &a, &b, &Axes::new(&stacked, &stacked), &inner)
}

/// A value whose axes have labels.
struct Labelled {
    labels: Vec<char>,
    x: Ssa,
}

impl Labelled {
    /// Sums over the axes that `keep` does not name.
    fn summed(self, t: &mut Text, keep: impl Fn(char) -> bool) -> Self {
        let gone: Vec<usize> = (0..self.labels.len()).filter(|&i| !keep(self.labels[i])).collect();
        let labels: Vec<char> = self.labels.into_iter().filter(|&l| keep(l)).collect();
        Self { labels, x: t.sum(&self.x, &gone) }
    }

    fn at(&self, label: char) -> usize {
        self.labels.iter().position(|&l| l == label).expect(CHECKED)
    }

    fn places(&self, labels: &[char]) -> Vec<usize> {
        labels.iter().map(|&l| self.at(l)).collect()
    }
}

/// The contraction of one or two operands, to `shape`.
pub(super) fn einsum(t: &mut Text, labels: &Einsum, args: &[&Ssa], shape: &Shape) -> Ssa {
    if args.iter().any(|x| x.is_empty()) {
        return t.splat(0.0, &Ty { elem: args[0].ty.elem, shape: shape.clone() });
    }
    let result = labels.result();
    let mut operands =
        args.iter().zip(labels.operands()).map(|(x, l)| Labelled { labels: l.clone(), x: (*x).clone() });
    let (a, b) = (operands.next().expect(CHECKED), operands.next());
    let found = match b {
        None => a.summed(t, |l| result.contains(&l)),
        Some(b) => {
            let of_a = a.labels.clone();
            let a = a.summed(t, |l| result.contains(&l) || b.labels.contains(&l));
            let b = b.summed(t, |l| result.contains(&l) || of_a.contains(&l));
            pair(t, result, &a, &b)
        }
    };
    t.transpose(&found.x, &found.places(result))
}

/// Contracts two operands whose axes are all shared or in the result.
fn pair(t: &mut Text, result: &[char], a: &Labelled, b: &Labelled) -> Labelled {
    let shared = |kept: bool| -> Vec<char> {
        let fits = |l: &&char| b.labels.contains(l) && result.contains(l) == kept;
        a.labels.iter().filter(fits).copied().collect()
    };
    let (stack, inner) = (shared(true), shared(false));
    let axes = |labels: &[char]| Axes { left: a.places(labels), right: b.places(labels) };
    let x = dot(t, &a.x, &b.x, &axes(&stack), &axes(&inner));
    let rows = a.labels.iter().filter(|l| !b.labels.contains(l));
    let columns = b.labels.iter().filter(|l| !a.labels.contains(l));
    Labelled { labels: stack.iter().chain(rows).chain(columns).copied().collect(), x }
}
