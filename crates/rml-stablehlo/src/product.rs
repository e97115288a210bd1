//! Matrix products and contractions.

use rml_ir::Shape;
use rml_ir::op::Einsum;

use super::CHECKED;
use super::text::{Ssa, Text, Ty, list};

/// Full precision of both operands, which some devices would give up for speed.
pub(super) const PRECISE: &str =
    "precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]";

/// Pairs of axes, of the left and of the right operand.
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

/// The contraction over the axes `inner`, one product for each element of the axes `stack`. Axes of the result: the stack, those only of
/// `a`, those only of `b`.
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

/// Two operands whose axes are all shared or in the result.
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
