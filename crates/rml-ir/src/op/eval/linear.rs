//! Matrix products.

use rml_kernels::{Matrix, MatrixMut, product as kernel};

use super::strided;
use super::view::{Float, View, floats};
use super::{CHECKED, Number};
use crate::types::Shape;
use crate::value::{Data, Value};

/// NumPy's product. With a matrix or vector on the right, the leading axes of the left operand are taken as more
/// rows of one product; with a stack on the right there is one product for each pair of matrices.
pub(super) fn matmul(a: &View<'_>, b: &View<'_>) -> Value {
    if b.dims.len() > 2 {
        return stacked(a, b);
    }
    let (k, rows) = a.dims.split_last().expect(CHECKED);
    let columns = &b.dims[1..];
    let size = (rows.iter().product(), *k, columns.iter().product());
    let shape: Shape = rows.iter().chain(columns).copied().collect();
    Value::new(shape, floats(a, b, |a, b| product(size, a, b), |a, b| product(size, a, b)))
}

/// `a x b` for `(m, k, n)`.
pub(super) fn product<T: Float>(size: (usize, usize, usize), a: &[T], b: &[T]) -> Vec<T> {
    let (m, k, n) = size;
    let mut out = vec![T::ZERO; m * n];
    kernel(Matrix::new(m, k, a), Matrix::new(k, n, b), false, MatrixMut::new(m, n, &mut out));
    out
}

/// One product for each pair of matrices of two stacks, which broadcast.
fn stacked(a: &View<'_>, b: &View<'_>) -> Value {
    let (k, rows) = a.dims.split_last().expect(CHECKED);
    let (m, own) = rows.split_last().map_or((None, &[][..]), |(m, own)| (Some(*m), own));
    let [other @ .., _, n] = b.dims else { unreachable!("{CHECKED}") };
    let stack = Shape::new(own).broadcast(&Shape::new(other)).expect(CHECKED);
    let size = (m.unwrap_or(1), *k, *n);
    let pairs = Pairs { stack: stack.dims(), left: own, right: other, size };
    let data = floats(a, b, |a, b| pairs.products(a, b), |a, b| pairs.products(a, b));
    Value::new(stack.dims().iter().copied().chain(m).chain([*n]).collect(), data)
}

/// Two stacks of matrices and the stack they broadcast to.
struct Pairs<'a> {
    stack: &'a [usize],
    left: &'a [usize],
    right: &'a [usize],
    size: (usize, usize, usize),
}

impl Pairs<'_> {
    fn products<T: Float>(&self, a: &[T], b: &[T]) -> Vec<T> {
        let (m, k, n) = self.size;
        let count: usize = self.stack.iter().product();
        let mut out = vec![T::ZERO; count * m * n];
        if out.is_empty() {
            return out;
        }
        let strides = [self.left, self.right].map(|dims| strided::repeated(dims, self.stack));
        for (i, out) in out.chunks_exact_mut(m * n).enumerate() {
            let [mut at_a, mut at_b] = [0, 0];
            let mut rest = i;
            for (axis, &d) in self.stack.iter().enumerate().rev() {
                at_a += rest % d * strides[0][axis];
                at_b += rest % d * strides[1][axis];
                rest /= d;
            }
            let (left, right) =
                (Matrix::new(m, k, &a[at_a * m * k..]), Matrix::new(k, n, &b[at_b * k * n..]));
            kernel(left, right, false, MatrixMut::new(m, n, out));
        }
        out
    }
}

/// The product of two matrices or vectors of numbers. The chain of each element continues from that of `start`.
pub fn product_onto(start: &Value, a: &Value, b: &Value) -> Value {
    let (k, n) = (b.shape().dims()[0], b.shape().dims()[1..].iter().product());
    let size = (a.shape().len() / k.max(1), k, n);
    let data = match (start.to_data(), a.to_data(), b.to_data()) {
        (Data::F32(mut out), Data::F32(a), Data::F32(b)) => {
            f32::product(size, &a, &b, [false; 2], true, &mut out);
            Data::F32(out)
        }
        (Data::F64(mut out), Data::F64(a), Data::F64(b)) => {
            f64::product(size, &a, &b, [false; 2], true, &mut out);
            Data::F64(out)
        }
        (start, ..) => start,
    };
    Value::new(start.shape(), data)
}
