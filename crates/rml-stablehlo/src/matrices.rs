//! Factors of square matrices, and systems of equations.

use rml_ir::op::Compare;

use super::reduce::position;
use super::text::{Elem, Ssa, Text, Ty};

/// The lower triangular factors. The operation does not specify the elements above the diagonal, or the elements for a
/// matrix that is not positive definite.
pub(super) fn cholesky(t: &mut Text, x: &Ssa) -> Ssa {
    let rank = x.dims().len();
    let made = t.op_attr("cholesky", &[x], "lower = true", x.ty.clone());
    let places = x.ty.with(Elem::I64);
    let (row, column) = (t.iota(&places, rank - 2), t.iota(&places, rank - 1));
    let (above, zero) = (t.compare(Compare::Gt, &column, &row), t.splat(0.0, &x.ty));
    let lower = t.select(&above, &zero, &made);
    let odd = t.compare(Compare::Ne, &lower, &lower);
    let none = t.splat(0.0, &Ty::scalar(Elem::I1));
    let odd = t.reduce("or", &odd, &none, &[rank - 2, rank - 1]);
    let odd = t.broadcast_in(&odd, &(0..rank - 2).collect::<Vec<_>>(), x.dims());
    let nan = t.splat(f64::NAN, &x.ty);
    t.select(&odd, &nan, &lower)
}

/// The solutions: a loop turns the left part of `[a b]` into the identity matrix, column by column.
pub(super) fn solve(t: &mut Text, a: &Ssa, b: &Ssa) -> Ssa {
    let n = a.dims()[a.dims().len() - 1];
    let stack = a.ty.shape.len() / (n * n);
    let columns = b.ty.shape.len() / (stack * n);
    let parts = [t.reshape(a, &[stack, n, n]), t.reshape(b, &[stack, n, columns])];
    let both = t.concat(&parts, 2);
    let scalar = Ty::scalar(Elem::I64);
    let start = t.int(0, &scalar);
    let types = [scalar.clone(), both.ty.clone()];
    let goes_on = t.region(&types, |t, p| {
        let n = t.int(i64::try_from(n).unwrap_or(i64::MAX), &scalar);
        vec![t.compare(Compare::Lt, &p[0], &n)]
    });
    let step = t.region(&types, |t, p| {
        let one = t.int(1, &scalar);
        vec![t.zip("add", &p[0], &one), eliminated(t, &p[0], &p[1])]
    });
    let made = t.ops("while", &[&start, &both], &format!("{goes_on}, {step}"), "", &types).remove(1);
    let solved = t.slice_axis(&made, 2, n, columns, 1);
    t.reshape(&solved, b.dims())
}

/// Turns column `k` of each matrix into that of the identity matrix. The pivot is the first of the largest elements
/// from row `k` on.
fn eliminated(t: &mut Text, k: &Ssa, all: &Ssa) -> Ssa {
    let dims = all.dims().to_vec();
    let places = all.ty.with(Elem::I64);
    let (rows, columns) = (t.iota(&places, 1), t.iota(&places, 2));
    let here = t.broadcast_in(k, &[], &dims);
    let (in_row, in_column) = (t.compare(Compare::Eq, &rows, &here), t.compare(Compare::Eq, &columns, &here));
    let column = chosen(t, &in_column, all, 2);

    let size = t.map("abs", &column);
    let rows_of_column = t.iota(&Ty::new(Elem::I64, &dims[..2]), 1);
    let first = t.broadcast_in(k, &[], &dims[..2]);
    let done = t.compare(Compare::Lt, &rows_of_column, &first);
    let minus = t.splat(-1.0, &size.ty);
    let size = t.select(&done, &minus, &size);
    let pivot = position(t, Some(1), &size, true);
    let pivot = t.broadcast_in(&pivot, &[0], &dims);
    let in_pivot = t.compare(Compare::Eq, &rows, &pivot);

    let (own, other) = (chosen(t, &in_row, all, 1), chosen(t, &in_pivot, all, 1));
    let (own, other) = (t.broadcast_in(&own, &[0, 2], &dims), t.broadcast_in(&other, &[0, 2], &dims));
    let swapped = t.select(&in_pivot, &own, all);
    let divisor = chosen(t, &in_column, &other, 2);
    let divisor = t.broadcast_in(&divisor, &[0, 1], &dims);
    let scaled = t.zip("divide", &other, &divisor);
    let factor = chosen(t, &in_column, &swapped, 2);
    let factor = t.broadcast_in(&factor, &[0, 1], &dims);
    let product = t.zip("multiply", &factor, &scaled);
    let rest = t.zip("subtract", &swapped, &product);
    t.select(&in_row, &scaled, &rest)
}

/// The single element along an axis where the condition is true.
fn chosen(t: &mut Text, holds: &Ssa, x: &Ssa, axis: usize) -> Ssa {
    let zero = t.splat(0.0, &x.ty);
    let one = t.select(holds, x, &zero);
    t.sum(&one, &[axis])
}
