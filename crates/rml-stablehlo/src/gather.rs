//! Operators with integer positions that are data.

use rml_ir::Shape;

use super::text::{Elem, Ssa, Text, Ty, array, list};

/// `x [l.., n, r..]` at `i [s..]`; positions outside select arbitrary elements.
pub(super) fn gather(t: &mut Text, axis: usize, x: &Ssa, i: &Ssa, shape: &Shape) -> Ssa {
    let ty = Ty { elem: x.ty.elem, shape: shape.clone() };
    if x.is_empty() {
        return t.splat(0.0, &ty);
    }
    let rank = i.dims().len();
    let mut sizes = x.dims().to_vec();
    sizes[axis] = 1;
    let attributes = format!(
        "dimension_numbers = #stablehlo.gather<{}collapsed_slice_dims = [{axis}], start_index_map = [{axis}], index_vector_dim = {rank}>, \
         slice_sizes = {}, indices_are_sorted = false",
        field("offset_dims", &around(axis, rank, shape.rank())),
        array(sizes)
    );
    t.op_attr("gather", &[x, i], &attributes, ty)
}

/// The axes before `axis`, and those after the `rank` axes that replace it.
fn around(axis: usize, rank: usize, all: usize) -> Vec<usize> {
    (0..axis).chain(axis + rank..all).collect()
}

/// A list of axes as an attribute, omitted if it is empty.
fn field(name: &str, axes: &[usize]) -> String {
    if axes.is_empty() { String::new() } else { format!("{name} = [{}], ", list(axes)) }
}

/// Zeros of `shape` with `d` added at the positions `i`; positions outside are ignored.
pub(super) fn scatter_add(t: &mut Text, shape: &Shape, axis: usize, i: &Ssa, d: &Ssa) -> Ssa {
    let ty = Ty { elem: d.ty.elem, shape: shape.clone() };
    let zeros = t.splat(0.0, &ty);
    if d.is_empty() {
        return zeros;
    }
    let rank = i.dims().len();
    let scalar = Ty::scalar(ty.elem);
    let region = t.region(&[scalar.clone(), scalar], |t, p| vec![t.zip("add", &p[0], &p[1])]);
    let attributes = format!(
        "scatter_dimension_numbers = #stablehlo.scatter<{}inserted_window_dims = [{axis}], scatter_dims_to_operand_dims = [{axis}], \
         index_vector_dim = {rank}>, indices_are_sorted = false, unique_indices = false",
        field("update_window_dims", &around(axis, rank, d.dims().len()))
    );
    t.op_with("scatter", &[&zeros, i, d], &region, &attributes, ty)
}

/// One element of each row of `x [s.., n]`, at `i [s..]`.
pub(super) fn pick(t: &mut Text, x: &Ssa, i: &Ssa) -> Ssa {
    let ty = i.ty.with(x.ty.elem);
    if x.is_empty() {
        return t.splat(0.0, &ty);
    }
    let n = x.dims().last().copied().unwrap_or(1);
    let rows = i.ty.shape.len();
    let flat = Ty::new(Elem::I64, &[rows]);
    let (row, n) = (t.iota(&flat, 0), t.int(i64::try_from(n).unwrap_or(i64::MAX), &flat));
    let start = t.zip("multiply", &row, &n);
    let i = t.reshape(i, &[rows]);
    let at = t.zip("add", &start, &i);
    let x = t.reshape(x, &[x.ty.shape.len()]);
    let picked = gather(t, 0, &x, &at, &Shape::new(&[rows]));
    t.reshape(&picked, ty.dims())
}
