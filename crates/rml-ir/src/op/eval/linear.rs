//! Matrix products: every case is one product of two row-major matrices.

use super::CHECKED;
use super::view::{Elements, View};
use crate::op::ffi;
use crate::types::Shape;
use crate::value::{Data, Value};

/// `a [.., m, k] x b [k, n]`, the leading axes of `a` taken as more rows; a vector on the left is one row, on
/// the right one column.
pub(super) fn matmul(a: &View<'_>, b: &View<'_>) -> Value {
    let (k, rows) = a.dims.split_last().expect(CHECKED);
    let columns = &b.dims[1..];
    let (m, n) = (rows.iter().product(), columns.iter().product());
    let shape: Shape = rows.iter().chain(columns).copied().collect();
    let data = match (a.elements, b.elements) {
        (Elements::F32(a), Elements::F32(b)) => {
            let mut out = vec![0.0; m * n];
            ffi::matmul_f32((m, *k, n), a, b, &mut out);
            Data::F32(out)
        }
        (Elements::F64(a), Elements::F64(b)) => {
            let mut out = vec![0.0; m * n];
            ffi::matmul_f64((m, *k, n), a, b, &mut out);
            Data::F64(out)
        }
        _ => unreachable!("{CHECKED}"),
    };
    Value::new(shape, data)
}
