//! Contractions.

use std::sync::OnceLock;

use rml_ir::Precision;
use rml_ir::op::Einsum;
use tch::{Device, TchError, Tensor};

use crate::ffi::is_x86_of_others;
use crate::kernel::{Context, Kernel, dim, two};

/// NumPy's product.
pub(super) fn matmul(cx: &Context<'_>) -> Kernel {
    let (a, b) = (cx.args[0].shape.dims(), cx.args[1].shape.dims());
    let ([before @ .., inner], [_, columns]) = (a, b) else { return two(Tensor::f_matmul) };
    let rows = before.iter().product();
    if a.len() < 2 || !has_kernel(rows, *inner, *columns, cx) {
        return two(Tensor::f_matmul);
    }
    let (matrix, size) = ([dim(rows), dim(*inner)], cx.size());
    two(move |a, b| by_kernel(&a.f_reshape(matrix)?, b)?.f_reshape(&size))
}

/// The fewest multiplications at which oneDNN is faster: its calls take some twenty microseconds more.
const LARGE: usize = 1 << 22;

/// Whether a product of matrices is computed by oneDNN. libtorch computes products on CPUs with Intel's MKL, which uses
/// vectors of half the length on processors of other vendors.
fn has_kernel(rows: usize, inner: usize, columns: usize, cx: &Context<'_>) -> bool {
    static IS_FASTER: OnceLock<bool> = OnceLock::new();
    let all = rows.saturating_mul(inner).saturating_mul(columns);
    let fits = cx.device == Device::Cpu && cx.precision == Precision::F32 && !cx.is_int();
    fits && all >= LARGE && *IS_FASTER.get_or_init(is_x86_of_others)
}

/// A product of matrices by oneDNN's operators for linear layers: each accepts the operands as they are stored in
/// memory.
fn by_kernel(a: &Tensor, b: &Tensor) -> Result<Tensor, TchError> {
    let is_turned = |x: &Tensor| x.stride2().is_ok_and(|(row, column)| row == 1 && column > 1);
    if is_turned(a) && b.is_contiguous() {
        let (left, right) = (a.f_tr()?.f_to_mkldnn(None)?, b.f_to_mkldnn(None)?);
        return Ok(right.f_mkldnn_linear_backward_weights(&left, b, false)?.0);
    }
    let left = a.f_to_mkldnn(None)?;
    let product = if is_turned(b) {
        left.f_mkldnn_linear(&b.f_tr()?, None::<&Tensor>)?
    } else {
        let size = [a.size()[0], b.size()[1]];
        Tensor::f_mkldnn_linear_backward_input(size, &left, &b.f_contiguous()?)?
    };
    product.f_to_dense(None, false)
}

/// The contraction of one or two operands. A contraction that is a product of matrices is computed as such, without
/// interpreting the labels in each call.
pub(super) fn einsum(labels: &Einsum, cx: &Context<'_>) -> Kernel {
    if let Some(product) = Product::of(labels, cx) {
        return Box::new(move |x, _| product.compute(x[0], x[1]));
    }
    let equation = labels.to_string();
    Box::new(move |x, _| Tensor::f_einsum(&equation, x, None::<&[i64]>))
}

/// A contraction of two operands in which each label occurs in exactly two of the operands and the result.
struct Product {
    left: Matrix,
    right: Matrix,
    /// Whether oneDNN computes the product.
    has_kernel: bool,
    /// The dimensions of the result before its axes are moved, if they are not those of the matrix.
    size: Option<Vec<i64>>,
    perm: Option<Vec<i64>>,
}

/// How an operand becomes a matrix: its axes are permuted, and some of them are joined.
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
        let places = |label: &char| {
            let in_operand = |i: usize, of: &[char]| {
                of.iter().position(|c| c == label).map(|axis| cx.args[i].shape.dims()[axis])
            };
            in_operand(0, a).or_else(|| in_operand(1, b)).unwrap_or(1)
        };
        let length = |label: &char| dim(places(label));
        let all = |labels: &[char]| labels.iter().map(length).product::<i64>();
        let matrix = |of: &[char], first: &[char], second: &[char]| {
            let wanted = [first, second].concat();
            let size = [all(first), all(second)];
            Matrix { perm: moved(of, &wanted), size: (first.len() != 1 || second.len() != 1).then_some(size) }
        };
        let both = [&rows[..], &columns[..]].concat();
        Some(Self {
            has_kernel: has_kernel(
                rows.iter().map(places).product(),
                summed.iter().map(places).product(),
                columns.iter().map(places).product(),
                cx,
            ),
            left: matrix(a, &rows, &summed),
            right: matrix(b, &summed, &columns),
            size: (rows.len() != 1 || columns.len() != 1).then(|| both.iter().map(length).collect()),
            perm: moved(&both, result),
        })
    }

    fn compute(&self, a: &Tensor, b: &Tensor) -> Result<Tensor, TchError> {
        let (a, b) = (self.left.of(a)?, self.right.of(b)?);
        let product = if self.has_kernel { by_kernel(&a, &b)? } else { a.f_mm(&b)? };
        let product = if let Some(size) = &self.size { product.f_reshape(size)? } else { product };
        match &self.perm {
            Some(perm) => product.f_permute(perm),
            None => Ok(product),
        }
    }
}

/// The permutation of axes from some labels to the same labels in another order; none if the order is the same.
fn moved(from: &[char], to: &[char]) -> Option<Vec<i64>> {
    let at = |label: &char| from.iter().position(|c| c == label).map(dim);
    (from != to).then(|| to.iter().filter_map(at).collect())
}
