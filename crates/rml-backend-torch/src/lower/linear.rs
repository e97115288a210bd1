//! Contractions.

use rml_ir::op::Einsum;
use tch::{TchError, Tensor};

use crate::kernel::{Context, Kernel, dim};

/// The contraction of one or two operands. One that is a product of matrices is computed as such, without a look at the labels in each
/// call.
pub(super) fn einsum(labels: &Einsum, cx: &Context<'_>) -> Kernel {
    if let Some(product) = Product::of(labels, cx) {
        return Box::new(move |x, _| product.compute(x[0], x[1]));
    }
    let equation = labels.to_string();
    Box::new(move |x, _| Tensor::f_einsum(&equation, x, None::<&[i64]>))
}

/// A contraction of two operands in which each label stands in exactly two of the operands and the result, and none in all three.
struct Product {
    left: Matrix,
    right: Matrix,
    /// The dimensions of the result before its axes are moved.
    size: Vec<i64>,
    perm: Option<Vec<i64>>,
}

/// How an operand becomes a matrix: its axes in another order, then some of them as one.
struct Matrix {
    perm: Option<Vec<i64>>,
    size: Option<[i64; 2]>,
}

impl Matrix {
    fn of(&self, x: &Tensor) -> Result<Tensor, TchError> {
        let x = match &self.perm {
            Some(perm) => x.f_permute(perm)?,
            None => x.shallow_clone(),
        };
        if let Some(size) = self.size { x.f_reshape(size) } else { Ok(x) }
    }
}

impl Product {
    fn of(labels: &Einsum, cx: &Context<'_>) -> Option<Self> {
        let [a, b] = labels.operands() else { return None };
        let result = labels.result();
        let summed: Vec<char> = a.iter().copied().filter(|c| b.contains(c)).collect();
        if summed.is_empty() || summed.iter().any(|c| result.contains(c)) {
            return None;
        }
        let rest = |of: &[char]| of.iter().copied().filter(|c| !summed.contains(c)).collect::<Vec<char>>();
        let (rows, columns) = (rest(a), rest(b));
        if rows.iter().chain(&columns).any(|c| !result.contains(c)) {
            return None;
        }
        let length = |label: &char| {
            let in_operand = |i: usize, of: &[char]| {
                of.iter().position(|c| c == label).map(|axis| dim(cx.args[i].shape.dims()[axis]))
            };
            in_operand(0, a).or_else(|| in_operand(1, b)).unwrap_or(1)
        };
        let all = |labels: &[char]| labels.iter().map(length).product::<i64>();
        let matrix = |of: &[char], first: &[char], second: &[char]| {
            let wanted = [first, second].concat();
            let size = [all(first), all(second)];
            Matrix { perm: moved(of, &wanted), size: (first.len() != 1 || second.len() != 1).then_some(size) }
        };
        let both = [&rows[..], &columns[..]].concat();
        Some(Self {
            left: matrix(a, &rows, &summed),
            right: matrix(b, &summed, &columns),
            size: both.iter().map(length).collect(),
            perm: moved(&both, result),
        })
    }

    fn compute(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, TchError> {
        let product = self.left.of(a)?.f_mm(&self.right.of(b)?)?;
        let product = if self.size.len() == 2 { product } else { product.f_reshape(&self.size)? };
        match &self.perm {
            Some(perm) => product.f_permute(perm),
            None => Ok(product),
        }
    }
}

/// The order of axes that leads from some labels to the same ones in another order; none if that is the same order.
fn moved(from: &[char], to: &[char]) -> Option<Vec<i64>> {
    let at = |label: &char| from.iter().position(|c| c == label).map(dim);
    (from != to).then(|| to.iter().filter_map(at).collect())
}
