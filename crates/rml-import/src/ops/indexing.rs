//! Operators that read and write at positions.

use rml_ir::Shape;
use rml_ir::op::{AxisIndex, Binary, Compare, Op};

use super::Table;
use super::layout::{last_axis, unsigned};
use super::pointwise::converted;
use crate::build::{Builder, Call, Val, axis_of};
use crate::elem::Elem;
use crate::refuse::{Refusal, Res, refuse};

pub(super) const TABLE: Table = &[
    ("Gather", gather),
    ("GatherElements", gather_elements),
    ("GatherND", gather_nd),
    ("ScatterElements", scatter_elements),
    ("Scatter", scatter_elements),
    ("ScatterND", scatter_nd),
    ("OneHot", one_hot),
    ("TopK", top_k),
    ("Compress", compress),
    ("ReverseSequence", reverse_sequence),
];

/// Positions that may count from the end as such that do not.
fn from_front(b: &mut Builder<'_>, i: &Val, length: usize) -> Res<Val> {
    let known = i.known().and_then(crate::tensor::ints);
    if known.is_some_and(|v| v.iter().all(|i| *i >= 0)) || matches!(i.elem, Elem::Unsigned(_)) {
        return Ok(i.clone());
    }
    let (zero, n) = (b.int(0), b.int(i64::try_from(length).unwrap_or(i64::MAX)));
    let low = b.compare(Compare::Lt, i, &zero)?;
    let moved = b.add(i, &n)?;
    b.choose(&low, &moved, i)
}

fn gather(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let (x, i) = (call.arg(0)?, call.arg(1)?);
    let axis = call.axis(call.int("axis", 0), x.rank())?;
    let length = x.dims()[axis];
    if let Some(at) = i.known().and_then(rml_ir::Value::as_int) {
        return Ok(vec![b.at(x, axis, axis_of(at, length)?)?]);
    }
    let i = from_front(b, i, length)?;
    Ok(vec![b.apply(Op::Gather { axis }, &[x, &i], x.elem)?])
}

/// The number of each row of an array of that shape without its last axis, times `step`.
fn row_offsets(b: &mut Builder<'_>, rows: usize, step: usize) -> Res<Val> {
    if rows > 1 << 20 {
        return refuse("it has more than 2^20 rows");
    }
    let step = i64::try_from(step).unwrap_or(i64::MAX);
    let offsets: Vec<i64> = (0..i64::try_from(rows).unwrap_or(0)).map(|r| r.saturating_mul(step)).collect();
    let offsets = b.int_array(offsets);
    b.reshape(&offsets, &[rows, 1])
}

/// Values and positions of rows of an axis that is last, as flat arrays with positions in the first of them.
struct Rows {
    flat: Val,
    positions: Val,
    back: Vec<usize>,
    dims: Vec<usize>,
}

/// Brings `x` and the positions `i` along an axis of it to rows.
fn rows(b: &mut Builder<'_>, call: &Call<'_>, x: &Val, i: &Val) -> Res<Rows> {
    let axis = call.axis(call.int("axis", 0), x.rank())?;
    let i = from_front(b, i, x.dims()[axis])?;
    // Where there are fewer positions than rows, the first rows are meant.
    let items: Vec<AxisIndex> = x
        .dims()
        .iter()
        .zip(i.dims())
        .enumerate()
        .map(|(k, (d, n))| AxisIndex::Slice {
            start: 0,
            len: if k == axis { *d } else { n.min(*d) },
            step: 1,
        })
        .collect();
    let part = b.part(x, &items)?;
    let (x, back) = last_axis(b, &part, axis)?;
    let (i, _) = last_axis(b, &i, axis)?;
    let dims = i.dims();
    let (length, each) = (x.dims()[x.rank() - 1], dims[dims.len() - 1]);
    let count = i.len().checked_div(each).unwrap_or(0);
    let matrix = b.reshape(&i, &[count, each])?;
    let offsets = row_offsets(b, count, length)?;
    let positions = b.add(&matrix, &offsets)?;
    let positions = b.reshape(&positions, &[count * each])?;
    let flat = b.reshape(&x, &[x.len()])?;
    Ok(Rows { flat, positions, back, dims })
}

fn gather_elements(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let (x, i) = (call.arg(0)?, call.arg(1)?);
    let rows = rows(b, call, x, i)?;
    let found = b.apply(Op::Gather { axis: 0 }, &[&rows.flat, &rows.positions], x.elem)?;
    let shaped = b.reshape(&found, &rows.dims)?;
    Ok(vec![b.transpose(&shaped, &rows.back)?])
}

/// Positions in the flat form of `x` of vectors of positions; how many elements each of them picks; how many there are.
fn flat_positions(b: &mut Builder<'_>, i: &Val, dims: &[usize], batch: usize) -> Res<(Val, usize, usize)> {
    let index = i.dims();
    let Some((&depth, lead)) = index.split_last() else {
        return Err(Refusal::malformed("the positions are a scalar"));
    };
    if depth + batch > dims.len() || batch > lead.len() {
        return Err(Refusal::malformed("the positions have more parts than the operand has axes"));
    }
    let count: usize = lead.iter().product();
    let batches: usize = lead[..batch].iter().product();
    let each: usize = dims[batch + depth..].iter().product();
    let matrix = b.reshape(i, &[count, depth])?;
    let mut flat = b.int(0);
    for (k, &d) in dims[batch..batch + depth].iter().enumerate() {
        let column = b.at(&matrix, 1, k)?;
        let column = from_front(b, &column, d)?;
        let n = b.int(i64::try_from(d).unwrap_or(i64::MAX));
        let scaled = b.mul(&flat, &n)?;
        flat = b.add(&scaled, &column)?;
    }
    if batch > 0 {
        let inner: usize = dims[batch..batch + depth].iter().product();
        let offsets = row_offsets(b, batches, inner)?;
        let matrix = b.reshape(&flat, &[batches, count.checked_div(batches).unwrap_or(0)])?;
        let moved = b.add(&matrix, &offsets)?;
        flat = b.reshape(&moved, &[count])?;
    }
    let flat = b.broadcast(&flat, &[count])?;
    Ok((flat, each, count))
}

fn gather_nd(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let (x, i) = (call.arg(0)?, call.arg(1)?);
    let (dims, batch) = (x.dims(), unsigned(call.int("batch_dims", 0))?);
    let (positions, each, _) = flat_positions(b, i, &dims, batch)?;
    let rows = x.len().checked_div(each).unwrap_or(0);
    let table = b.reshape(x, &[rows, each])?;
    let found = b.apply(Op::Gather { axis: 0 }, &[&table, &positions], x.elem)?;
    let index = i.dims();
    let depth = index[index.len() - 1];
    let shape: Vec<usize> = index[..index.len() - 1].iter().chain(&dims[batch + depth..]).copied().collect();
    Ok(vec![b.reshape(&found, &shape)?])
}

/// Rows of `table` at positions, in which no position stands twice, replaced by or combined with those of `updates`.
fn scattered(b: &mut Builder<'_>, table: &Val, positions: &Val, updates: &Val, how: &str) -> Res<Val> {
    let shape = table.shape();
    let summed = |b: &mut Builder<'_>, d: &Val| {
        b.apply(Op::ScatterAdd { shape: shape.clone(), axis: 0 }, &[positions, d], d.elem)
    };
    if how == "add" {
        let sum = summed(b, updates)?;
        return b.add(table, &sum);
    }
    if how != "none" {
        return refuse(format!("`reduction` is {how}, which the importer does not have"));
    }
    if let Some(v) = positions.known().and_then(crate::tensor::ints) {
        let mut sorted = v;
        sorted.sort_unstable();
        if sorted.windows(2).any(|w| w[0] == w[1]) {
            return refuse("a position is written twice");
        }
    }
    // What was there goes: an element that is not finite could not be taken away by a sum.
    let one = b.num(1.0);
    let ones = b.broadcast(&one, &updates.dims())?;
    let counts = summed(b, &ones)?;
    let zero = b.num(0.0);
    let written = b.compare(Compare::Gt, &counts, &zero)?;
    let (numbers, elem) = match updates.elem {
        Elem::Bool => (b.convert(updates, Elem::F32)?, Elem::Bool),
        elem => (updates.clone(), elem),
    };
    let news = summed(b, &numbers)?;
    let news = b.convert(&news, elem)?;
    b.choose(&written, &news, table)
}

fn scatter_elements(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let (x, i, updates) = (call.arg(0)?, call.arg(1)?, call.arg(2)?);
    let axis = call.axis(call.int("axis", 0), x.rank())?;
    let same = x.dims().iter().zip(i.dims()).enumerate().all(|(k, (d, n))| k == axis || *d == n);
    if !same {
        return refuse("its positions have fewer rows than its operand");
    }
    let rows = rows(b, call, x, i)?;
    let (updates, _) = last_axis(b, updates, axis)?;
    let flat = b.reshape(&updates, &[updates.len()])?;
    let how = call.text("reduction", "none").to_owned();
    let result = scattered(b, &rows.flat, &rows.positions, &flat, &how)?;
    let (turned, back) = last_axis(b, x, axis)?;
    let shaped = b.reshape(&result, &turned.dims())?;
    Ok(vec![b.transpose(&shaped, &back)?])
}

fn scatter_nd(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let (x, i, updates) = (call.arg(0)?, call.arg(1)?, call.arg(2)?);
    let dims = x.dims();
    let (positions, each, count) = flat_positions(b, i, &dims, 0)?;
    let table = b.reshape(x, &[x.len().checked_div(each).unwrap_or(0), each])?;
    let updates = b.reshape(updates, &[count, each])?;
    let how = call.text("reduction", "none").to_owned();
    let result = scattered(b, &table, &positions, &updates, &how)?;
    Ok(vec![b.reshape(&result, &dims)?])
}

fn one_hot(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let (i, values) = (call.arg(0)?, call.arg(2)?);
    let depth = call.known_nums(1, "depth")?.and_then(|v| v.first().copied()).unwrap_or(0.0);
    #[allow(clippy::cast_possible_truncation, reason = "a size that is no integer is none")]
    let classes = unsigned(depth as i64)?;
    let i = b.convert(i, Elem::I64)?;
    let i = from_front(b, &i, classes)?;
    let hot = b.apply(Op::OneHot { classes }, &[&i], Elem::F32)?;
    let (off, on) = (b.at(values, 0, 0)?, b.at(values, 0, 1)?);
    let is_hot = b.convert(&hot, Elem::Bool)?;
    let plain = off.known().map(crate::tensor::nums) == Some(vec![0.0])
        && on.known().map(crate::tensor::nums) == Some(vec![1.0]);
    let result = if plain { converted(b, &hot, values.elem)? } else { b.choose(&is_hot, &on, &off)? };
    let rank = result.rank();
    let axis = call.axis(call.int("axis", -1), rank)?;
    let mut perm: Vec<usize> = (0..rank - 1).collect();
    perm.insert(axis, rank - 1);
    Ok(vec![b.transpose(&result.with_elem(values.elem), &perm)?])
}

fn top_k(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let axis = call.axis(call.int("axis", -1), x.rank())?;
    let k = match call.ints_of("k", 1)? {
        Some(v) => unsigned(v.first().copied().unwrap_or(0))?,
        None => return Err(Refusal::malformed("the number of elements is missing")),
    };
    if k > x.dims()[axis] {
        return Err(Refusal::malformed(format!("{k} elements are asked for of {}", x.dims()[axis])));
    }
    let descending = call.flag("largest", true);
    let (base, order) = b.base(x);
    let axis = order[axis];
    let mut results = Vec::new();
    for (op, elem) in [(Op::Sort { axis, descending }, x.elem), (Op::ArgSort { axis, descending }, Elem::I64)]
    {
        let sorted = b.apply(op, &[&base], elem)?;
        let first = b.range(&sorted, axis, 0, k)?;
        results.push(b.transpose(&first, &order)?);
    }
    Ok(results)
}

fn compress(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let Some(kept) = call.known_ints(1, "condition")? else {
        return Err(Refusal::malformed("the condition is missing"));
    };
    let x = call.arg(0)?;
    let (x, axis) = match call.attr("axis") {
        Some(_) => (x.clone(), call.axis(call.int("axis", 0), x.rank())?),
        None => (b.reshape(x, &[x.len()])?, 0),
    };
    let positions: Vec<i64> = (0..).zip(&kept).filter(|(_, keep)| **keep != 0).map(|(i, _)| i).collect();
    let positions = b.int_array(positions);
    Ok(vec![b.apply(Op::Gather { axis }, &[&x, &positions], x.elem)?])
}

/// The first elements of each row backward, the others as they are.
fn reverse_sequence(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let (x, lengths) = (call.arg(0)?, call.arg(1)?);
    let (time, batch) =
        (call.axis(call.int("time_axis", 0), x.rank())?, call.axis(call.int("batch_axis", 1), x.rank())?);
    let rest: Vec<usize> = (0..x.rank()).filter(|i| *i != time && *i != batch).collect();
    let perm: Vec<usize> = [batch, time].into_iter().chain(rest).collect();
    let turned = b.transpose(x, &perm)?;
    let dims = turned.dims();
    let (rows, length) = (dims[0], dims[1]);
    let each: usize = dims[2..].iter().product();
    let table = b.reshape(&turned, &[rows * length, each])?;
    let (ticks, one) = (b.ticks(length)?, b.int(1));
    let lengths = b.reshape(lengths, &[rows, 1])?;
    let last = b.sub(&lengths, &one)?;
    let back = b.sub(&last, &ticks)?;
    let inside = b.compare(Compare::Lt, &ticks, &lengths)?;
    let at = b.choose(&inside, &back, &ticks)?;
    let offsets = row_offsets(b, rows, length)?;
    let positions = b.binary(Binary::Add, &at, &offsets)?;
    let positions = b.reshape(&positions, &[rows * length])?;
    let found = b.apply(Op::Gather { axis: 0 }, &[&table, &positions], x.elem)?;
    let shaped = b.apply(Op::Reshape { shape: Shape::new(&dims) }, &[&found], x.elem)?;
    Ok(vec![b.transpose(&shaped, &crate::build::inverse(&perm))?])
}
