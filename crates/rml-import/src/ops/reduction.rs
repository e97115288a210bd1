//! Operators that make one element of many.

use rml_ir::op::{Op, Reduction, Unary};

use super::Table;
use crate::build::{Builder, Call, Val};
use crate::elem::Elem;
use crate::refuse::Res;

pub(super) const TABLE: Table = &[
    ("ReduceSum", |b, c| reduced(b, c, Reduction::Sum, same, same)),
    ("ReduceMean", |b, c| reduced(b, c, Reduction::Mean, same, same)),
    ("ReduceProd", |b, c| reduced(b, c, Reduction::Prod, numbers, same)),
    ("ReduceMax", |b, c| reduced(b, c, Reduction::Max, numbers, same)),
    ("ReduceMin", |b, c| reduced(b, c, Reduction::Min, numbers, same)),
    ("ReduceL1", |b, c| reduced(b, c, Reduction::Sum, |b, x| b.unary(Unary::Abs, x), same)),
    ("ReduceL2", |b, c| reduced(b, c, Reduction::Sum, square, |b, x| b.unary(Unary::Sqrt, x))),
    ("ReduceSumSquare", |b, c| reduced(b, c, Reduction::Sum, square, same)),
    ("ReduceLogSum", |b, c| reduced(b, c, Reduction::Sum, same, |b, x| b.unary(Unary::Log, x))),
    ("ReduceLogSumExp", |b, c| reduced(b, c, Reduction::LogSumExp, same, same)),
    ("ArgMax", |b, c| arg(b, c, Reduction::ArgMax)),
    ("ArgMin", |b, c| arg(b, c, Reduction::ArgMin)),
    ("GlobalAveragePool", |b, c| global(b, c, Reduction::Mean)),
    ("GlobalMaxPool", |b, c| global(b, c, Reduction::Max)),
    ("CumSum", cumsum),
];

type Each = fn(&mut Builder<'_>, &Val) -> Res<Val>;

fn same(_: &mut Builder<'_>, x: &Val) -> Res<Val> {
    Ok(x.clone())
}

/// Truth values as integers, and integers as numbers where the language folds only numbers; those are exact to 2^24.
fn numbers(b: &mut Builder<'_>, x: &Val) -> Res<Val> {
    if x.elem == Elem::Bool { b.convert(x, Elem::I64) } else { Ok(x.clone()) }
}

fn square(b: &mut Builder<'_>, x: &Val) -> Res<Val> {
    b.mul(x, x)
}

fn reduced(b: &mut Builder<'_>, call: &Call<'_>, by: Reduction, before: Each, after: Each) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let keep = call.flag("keepdims", true);
    let axes = call.ints_of("axes", 1)?.unwrap_or_default();
    if axes.is_empty() && call.flag("noop_with_empty_axes", false) {
        let each = before(b, x)?;
        return Ok(vec![after(b, &each)?]);
    }
    let axes = if axes.is_empty() { (0..x.rank()).collect() } else { call.axes(&axes, x.rank())? };
    let each = before(b, x)?;
    // The language has the product and the mean of numbers only.
    let only_numbers = matches!(by, Reduction::Prod | Reduction::Mean | Reduction::LogSumExp);
    let each = if only_numbers { b.convert(&each, Elem::F32)? } else { each };
    let folded = b.fold(by, &each, &axes, keep)?;
    let result = after(b, &folded)?;
    Ok(vec![super::pointwise::converted(b, &result, x.elem)?])
}

fn arg(b: &mut Builder<'_>, call: &Call<'_>, by: Reduction) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let axis = call.axis(call.int("axis", 0), x.rank())?;
    let keep = call.flag("keepdims", true);
    if !call.flag("select_last_index", false) {
        return Ok(vec![b.fold(by, x, &[axis], keep)?]);
    }
    let last = x.dims()[axis].saturating_sub(1);
    let backward = b.backward(x, axis)?;
    let found = b.fold(by, &backward, &[axis], keep)?;
    let last = b.int(i64::try_from(last).unwrap_or(i64::MAX));
    Ok(vec![b.sub(&last, &found)?])
}

/// One element for each channel.
fn global(b: &mut Builder<'_>, call: &Call<'_>, by: Reduction) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let axes: Vec<usize> = (2..x.rank()).collect();
    Ok(vec![b.fold(by, x, &axes, true)?])
}

fn cumsum(b: &mut Builder<'_>, call: &Call<'_>) -> Res<Vec<Val>> {
    let x = call.arg(0)?;
    let axis = call.known_ints(1, "axis")?.and_then(|v| v.first().copied()).unwrap_or(0);
    let axis = call.axis(axis, x.rank())?;
    let reverse = call.flag("reverse", false);
    let sums = b.apply(Op::CumSum { axis, reverse }, &[x], x.elem)?;
    let result = if call.flag("exclusive", false) { b.sub(&sums, x)? } else { sums };
    Ok(vec![result])
}
