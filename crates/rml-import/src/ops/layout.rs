//! Operators that move elements and compute nothing.

use rml_ir::op::{AxisIndex, Compare, Op};
use rml_ir::{Shape, Value};

use super::Table;
use super::pointwise::converted;
use crate::build::{Builder, Call, Val, inverse};
use crate::elem::Elem;
use crate::refuse::{Refusal, Res, refuse};

pub(super) const TABLE: Table = &[
    ("Reshape", reshape),
    ("Transpose", transpose),
    ("Flatten", flatten),
    ("Squeeze", squeeze),
    ("Unsqueeze", unsqueeze),
    ("Concat", concat),
    ("Split", split),
    ("Slice", slice),
    ("Pad", pad),
    ("Expand", expand),
    ("Tile", tile),
    ("Shape", shape),
    ("Size", size),
    ("DepthToSpace", depth_to_space),
    ("SpaceToDepth", space_to_depth),
    ("Trilu", trilu),
];

/// Dimensions as an array of the model.
fn signed(dims: &[usize]) -> Vec<i64> {
    dims.iter().map(|d| i64::try_from(*d).unwrap_or(i64::MAX)).collect()
}

/// A size of the model.
pub(super) fn unsigned(n: i64) -> Res<usize> {
    usize::try_from(n).map_err(|_| Refusal::malformed(format!("{n} is no size")))
}

fn reshape(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let wanted = call.ints_of("shape", 1)?.ok_or_else(|| Refusal::malformed("the shape is missing"))?;
    let from = x.dims();
    let keep = !call.flag("allowzero", false);
    let mut dims = Vec::new();
    for (i, &d) in wanted.iter().enumerate() {
        dims.push(match d {
            0 if keep => *from.get(i).ok_or_else(|| {
                Refusal::malformed("0 keeps the size of an axis, and the operand has no such axis")
            })?,
            -1 => 0,
            d => unsigned(d)?,
        });
    }
    if let Some(free) = wanted.iter().position(|d| *d == -1) {
        let others: usize = dims.iter().enumerate().filter(|(i, _)| *i != free).map(|(_, d)| *d).product();
        dims[free] = x.len().checked_div(others).unwrap_or(0);
    }
    Ok(vec![b.reshape(x, &dims)?])
}

fn transpose(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let perm = match call.ints("perm") {
        None => (0..x.rank()).rev().collect(),
        Some(perm) => {
            call.axes(&perm, x.rank())?;
            perm.iter().map(|a| call.axis(*a, x.rank())).collect::<Res<Vec<usize>>>()?
        }
    };
    if perm.len() != x.rank() {
        return Err(Refusal::malformed("the permutation has another number of axes"));
    }
    Ok(vec![b.transpose(x, &perm)?])
}

fn flatten(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let axis = call.int("axis", 1);
    let rank = x.rank();
    let axis = if axis == i64::try_from(rank).unwrap_or(i64::MAX) { rank } else { call.axis(axis, rank)? };
    let dims = x.dims();
    let (rows, columns) = (dims[..axis].iter().product(), dims[axis..].iter().product());
    Ok(vec![b.reshape(x, &[rows, columns])?])
}

fn squeeze(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let dims = x.dims();
    let axes = match call.ints_of("axes", 1)? {
        Some(axes) => call.axes(&axes, x.rank())?,
        None => (0..dims.len()).filter(|i| dims[*i] == 1).collect(),
    };
    if axes.iter().any(|a| dims[*a] != 1) {
        return Err(Refusal::malformed(format!("an axis of {} is dropped that is not of length 1", x.ty())));
    }
    let left: Vec<usize> =
        dims.iter().enumerate().filter(|(i, _)| !axes.contains(i)).map(|(_, d)| *d).collect();
    Ok(vec![b.reshape(x, &left)?])
}

fn unsqueeze(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let axes = call.ints_of("axes", 1)?.ok_or_else(|| Refusal::malformed("the axes are missing"))?;
    let axes = call.axes(&axes, x.rank() + axes.len())?;
    let mut dims = x.dims();
    axes.iter().for_each(|a| dims.insert(*a, 1));
    Ok(vec![b.reshape(x, &dims)?])
}

fn concat(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let all: Vec<Val> = call.all()?.into_iter().cloned().collect();
    let rank = all.first().map_or(0, Val::rank);
    let axis = call.axis(call.int("axis", if call.opset < 4 { 1 } else { 0 }), rank)?;
    Ok(vec![b.concat(&all, axis)?])
}

fn split(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let axis = call.axis(call.int("axis", 0), x.rank())?;
    let length = x.dims()[axis];
    let sizes = match call.ints_of("split", 1)? {
        Some(sizes) => sizes.into_iter().map(unsigned).collect::<Res<Vec<usize>>>()?,
        None => {
            let parts = call.results().max(1);
            let size = length.div_ceil(parts);
            (0..parts).map(|i| size.min(length.saturating_sub(i * size))).collect()
        }
    };
    if sizes.iter().sum::<usize>() != length {
        return Err(Refusal::malformed(format!("parts of {sizes:?} do not make {length}")));
    }
    let mut start = 0;
    let mut parts = Vec::new();
    for size in sizes {
        parts.push(b.range(x, axis, start, size)?);
        start += size;
    }
    Ok(parts)
}

fn slice(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let given = |name: &str, i: usize| call.ints_of(name, i);
    let missing = || Refusal::malformed("its bounds are missing");
    let (starts, ends) = (given("starts", 1)?.ok_or_else(missing)?, given("ends", 2)?.ok_or_else(missing)?);
    let count = i64::try_from(starts.len()).unwrap_or(0);
    let axes = given("axes", 3)?.unwrap_or_else(|| (0..count).collect());
    let steps = given("steps", 4)?.unwrap_or_else(|| vec![1; starts.len()]);
    if ends.len() != starts.len() || axes.len() != starts.len() || steps.len() != starts.len() {
        return Err(Refusal::malformed("it needs a bound for each of its axes"));
    }
    call.axes(&axes, x.rank())?;
    let mut items: Vec<AxisIndex> = x.dims().into_iter().map(AxisIndex::whole).collect();
    for (i, axis) in axes.iter().enumerate() {
        let axis = call.axis(*axis, x.rank())?;
        items[axis] = range(x.dims()[axis], starts[i], ends[i], steps[i])?;
    }
    Ok(vec![b.part(x, &items)?])
}

/// The positions from one bound to before another, which may both be beyond the axis.
fn range(length: usize, start: i64, end: i64, step: i64) -> Res<AxisIndex> {
    let n = i64::try_from(length).map_err(|_| Refusal::malformed("an axis is too long"))?;
    let from_front = |i: i64| if i < 0 { i.saturating_add(n) } else { i };
    let (least, most) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let start = from_front(start).clamp(least.max(0), most.max(0));
    let end = from_front(end).clamp(least, most);
    let len = match step {
        0 => return Err(Refusal::malformed("a step is 0")),
        step if step > 0 => {
            end.saturating_sub(start).max(0).div_euclid(step)
                + i64::from((end - start).max(0).rem_euclid(step) > 0)
        }
        step => {
            (start - end).max(0).div_euclid(step.saturating_neg())
                + i64::from((start - end).max(0).rem_euclid(step.saturating_neg()) > 0)
        }
    };
    let len = if length == 0 { 0 } else { unsigned(len)? };
    let step = if len <= 1 { 1 } else { isize::try_from(step).unwrap_or(1) };
    Ok(AxisIndex::Slice { start: if len == 0 { 0 } else { unsigned(start)? }, len, step })
}

fn pad(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?.clone();
    let name = if call.attr("paddings").is_some() { "paddings" } else { "pads" };
    let pads = call.ints_of(name, 1)?.ok_or_else(|| Refusal::malformed("the padding is missing"))?;
    let axes = match call.known_ints(3, "axes")? {
        Some(axes) => axes.iter().map(|a| call.axis(*a, x.rank())).collect::<Res<Vec<usize>>>()?,
        None => (0..x.rank()).collect(),
    };
    if pads.len() != 2 * axes.len() {
        return Err(Refusal::malformed("the padding is not two numbers for each axis"));
    }
    let fill = match call.opt(2) {
        Some(fill) => fill.clone(),
        None => {
            let zero = b.num(call.float("value", 0.0));
            converted(b, &zero, x.elem)?
        }
    };
    let mut x = x;
    for (i, &axis) in axes.iter().enumerate() {
        let (lo, hi) = (pads[i], pads[i + axes.len()]);
        x = trimmed(b, &x, axis, lo, hi)?;
        let (lo, hi) = (usize::try_from(lo).unwrap_or(0), usize::try_from(hi).unwrap_or(0));
        if lo == 0 && hi == 0 {
            continue;
        }
        x = match call.text("mode", "constant") {
            "constant" => filled(b, &x, axis, lo, hi, &fill)?,
            mode => around(b, &x, axis, (lo, hi), mode)?,
        };
    }
    Ok(vec![x])
}

/// Without what a negative padding takes away.
fn trimmed(b: &mut Builder<'_>, x: &Val, axis: usize, lo: i64, hi: i64) -> Res<Val> {
    let cut = |n: i64| usize::try_from(n.saturating_neg()).unwrap_or(0);
    let length = x.dims()[axis];
    if lo >= 0 && hi >= 0 {
        return Ok(x.clone());
    }
    let left = length.checked_sub(cut(lo)).and_then(|n| n.checked_sub(cut(hi)));
    let left = left.ok_or_else(|| Refusal::malformed("more is cut off than there is"))?;
    b.range(x, axis, cut(lo), left)
}

/// A value with constants before and after it along an axis.
pub(super) fn filled(
    b: &mut Builder<'_>,
    x: &Val,
    axis: usize,
    lo: usize,
    hi: usize,
    fill: &Val,
) -> Res<Val> {
    let dims = x.dims();
    let total = lo.checked_add(hi).and_then(|n| n.checked_add(dims[axis])).filter(|n| *n <= 1 << 31);
    let total = total.ok_or_else(|| Refusal::malformed("a padding is too long"))?;
    let zero = fill.known().is_some_and(|v| crate::tensor::nums(v).iter().all(|x| *x == 0.0));
    if zero && x.known().is_none() {
        let (base, order) = b.base(x);
        let mut shape = base.dims();
        let axis = order[axis];
        shape[axis] = total;
        let mut items: Vec<AxisIndex> = base.dims().into_iter().map(AxisIndex::whole).collect();
        items[axis] = AxisIndex::Slice { start: lo, len: base.dims()[axis], step: 1 };
        let padded = b.apply(Op::Unindex { shape: Shape::new(&shape), items }, &[&base], x.elem)?;
        return b.transpose(&padded, &order);
    }
    let scalar = b.reshape(fill, &[])?;
    let mut parts = Vec::new();
    for (n, after) in [(lo, false), (hi, true)] {
        if after {
            parts.push(x.clone());
        }
        if n > 0 {
            let mut dims = dims.clone();
            dims[axis] = n;
            parts.push(b.broadcast(&scalar, &dims)?);
        }
    }
    b.concat(&parts, axis)
}

/// A value with its own elements before and after it along an axis.
fn around(b: &mut Builder<'_>, x: &Val, axis: usize, (lo, hi): (usize, usize), mode: &str) -> Res<Val> {
    let n = x.dims()[axis];
    let signed = i64::try_from(n).unwrap_or(1);
    let most = if mode == "reflect" { n.saturating_sub(1) } else { n };
    if mode == "reflect" && (lo.max(hi) <= most) || mode == "edge" && n > 0 {
        let piece = |b: &mut Builder<'_>, start: usize, len: usize| -> Res<Val> {
            let mut items: Vec<AxisIndex> = x.dims().into_iter().map(AxisIndex::whole).collect();
            items[axis] = AxisIndex::Slice { start, len, step: if len > 1 { -1 } else { 1 } };
            b.part(x, &items)
        };
        let mut parts = Vec::new();
        if mode == "edge" {
            let (first, last) = (b.range(x, axis, 0, 1)?, b.range(x, axis, n - 1, 1)?);
            parts.extend(std::iter::repeat_n(first, lo));
            parts.push(x.clone());
            parts.extend(std::iter::repeat_n(last, hi));
        } else {
            if lo > 0 {
                parts.push(piece(b, lo, lo)?);
            }
            parts.push(x.clone());
            if hi > 0 {
                parts.push(piece(b, n - 2, hi)?);
            }
        }
        return b.concat(&parts, axis);
    }
    let signed_lo = i64::try_from(lo).unwrap_or(0);
    let total = lo + n + hi;
    if total > 1 << 20 || n == 0 {
        return refuse("a padding is too long");
    }
    let period = 2 * (signed - 1).max(1);
    let position = |i: i64| match mode {
        "wrap" => Ok(i.rem_euclid(signed)),
        "reflect" => Ok((i.rem_euclid(period)).min(period - i.rem_euclid(period)).min(signed - 1)),
        "edge" => Ok(i.clamp(0, signed - 1)),
        other => refuse(format!("the mode `{other}` is none of the format")),
    };
    let end = i64::try_from(total).unwrap_or(0) - signed_lo;
    let positions: Vec<i64> = (-signed_lo..end).map(position).collect::<Res<_>>()?;
    let positions = b.int_array(positions);
    b.apply(Op::Gather { axis }, &[x, &positions], x.elem)
}

fn expand(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let wanted = call.known_ints(1, "shape")?.ok_or_else(|| Refusal::malformed("the shape is missing"))?;
    let dims: Vec<usize> = wanted.into_iter().map(unsigned).collect::<Res<_>>()?;
    let shape = x.shape().broadcast(&Shape::new(&dims));
    let shape =
        shape.ok_or_else(|| Refusal::malformed(format!("{} cannot be repeated to {dims:?}", x.ty())))?;
    Ok(vec![b.broadcast(x, shape.dims())?])
}

fn tile(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let repeats =
        call.known_ints(1, "repeats")?.ok_or_else(|| Refusal::malformed("the repeats are missing"))?;
    if repeats.len() != x.rank() {
        return Err(Refusal::malformed("it needs a repeat for each axis"));
    }
    let repeats: Vec<usize> = repeats.into_iter().map(unsigned).collect::<Res<_>>()?;
    if repeats.iter().all(|r| *r == 1) {
        return Ok(vec![x.clone()]);
    }
    // Each axis is repeated as an axis of its own before it.
    let (mut wide, mut many, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    for (d, r) in x.dims().into_iter().zip(repeats) {
        if r != 1 {
            wide.push(1);
            many.push(r);
        }
        wide.push(d);
        many.push(d);
        whole.push(d.checked_mul(r).ok_or_else(|| Refusal::malformed("the result is too large"))?);
    }
    let wide = b.reshape(x, &wide)?;
    let many = b.broadcast(&wide, &many)?;
    Ok(vec![b.reshape(&many, &whole)?])
}

fn shape(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let dims = signed(&call.arg(0)?.dims());
    let rank = i64::try_from(dims.len()).unwrap_or(i64::MAX);
    let bound = |i: i64| unsigned((if i < 0 { i + rank } else { i }).clamp(0, rank));
    let (start, end) = (bound(call.int("start", 0))?, bound(call.int("end", rank))?);
    Ok(vec![b.int_array(dims[start.min(end)..end].to_vec())])
}

fn size(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    Ok(vec![b.int(i64::try_from(call.arg(0)?.len()).unwrap_or(i64::MAX))])
}

/// The blocks of an image, as axes: a shape, and the order in which its axes are the other form's.
fn blocks(call: &Call<'_>) -> Res<(Vec<usize>, usize)> {
    let dims = call.arg(0)?.dims();
    let size = unsigned(call.int("blocksize", 1))?;
    match dims.as_slice() {
        [_, _, _, _] if size > 0 => Ok((dims, size)),
        _ => Err(Refusal::malformed("the operand is no batch of images")),
    }
}

fn depth_to_space(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let (d, s) = blocks(call)?;
    let channels = d[1] / (s * s);
    let (apart, order): (Vec<usize>, [usize; 6]) = match call.text("mode", "DCR") {
        "DCR" => (vec![d[0], s, s, channels, d[2], d[3]], [0, 3, 4, 1, 5, 2]),
        _ => (vec![d[0], channels, s, s, d[2], d[3]], [0, 1, 4, 2, 5, 3]),
    };
    let apart = b.reshape(call.arg(0)?, &apart)?;
    let moved = b.transpose(&apart, &order)?;
    Ok(vec![b.reshape(&moved, &[d[0], channels, d[2] * s, d[3] * s])?])
}

fn space_to_depth(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let (d, s) = blocks(call)?;
    let apart = b.reshape(call.arg(0)?, &[d[0], d[1], d[2] / s, s, d[3] / s, s])?;
    let order = if call.text("mode", "DCR") == "DCR" { [0, 3, 5, 1, 2, 4] } else { [0, 1, 3, 5, 2, 4] };
    let moved = b.transpose(&apart, &order)?;
    Ok(vec![b.reshape(&moved, &[d[0], d[1] * s * s, d[2] / s, d[3] / s])?])
}

/// A triangle of matrices, and zeros.
fn trilu(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let [.., rows, columns] = x.dims()[..] else {
        return Err(Refusal::malformed("the operand is no matrix"));
    };
    let k = call.known_ints(1, "diagonal")?.and_then(|v| v.first().copied()).unwrap_or(0);
    let (row, column) = (b.ticks(rows)?, b.ticks(columns)?);
    let row = b.reshape(&row, &[rows, 1])?;
    let k = b.int(k);
    let edge = b.add(&row, &k)?;
    let by = if call.flag("upper", true) { Compare::Ge } else { Compare::Le };
    let kept = b.compare(by, &column, &edge)?;
    let zero = Val::constant(Elem::I64, Value::Int(0));
    let zero = converted(b, &zero, x.elem)?;
    Ok(vec![b.choose(&kept, x, &zero)?])
}

/// A value with its axes in another order, so that `axis` is the last one; and the way back.
pub(super) fn last_axis(b: &mut Builder<'_>, x: &Val, axis: usize) -> Res<(Val, Vec<usize>)> {
    let perm: Vec<usize> = (0..x.rank()).filter(|i| *i != axis).chain([axis]).collect();
    Ok((b.transpose(x, &perm)?, inverse(&perm)))
}
