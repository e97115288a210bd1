//! Operators that have loops of their own.

use rml_ir::DType;
use rml_ir::op::{Around, AxisIndex, Op};

use crate::exprs::pointwise;
use crate::function::Function;
use crate::nest::{indices, nest, plus};
use crate::operand::{Operand, linear, strides, sum};
use crate::{picked, products, reduce, sliding, sort};

/// Computes a value; where it is to be added, what the result holds is added to.
pub(crate) fn apply(f: &mut Function<'_>, op: &Op, args: &[Operand], out: &Operand, add: bool) {
    if out.len() == 0 {
        return;
    }
    // What begins with 0, and adds terms one after the other.
    let is_sum = matches!(
        op,
        Op::Unindex { .. }
            | Op::ScatterAdd { .. }
            | Op::Conv(_)
            | Op::ConvTranspose { .. }
            | Op::ConvKernel { .. }
            | Op::Unpatches { .. }
            | Op::AvgPool(_)
    );
    let is_direct = match op {
        Op::Transpose { .. } | Op::Index { .. } | Op::Unindex { .. } => true,
        Op::SumTo { .. } => args[0].dims().ends_with(out.dims()),
        // Chains of products go on from tick to tick.
        op => rml_plan::is_outer_product(op),
    };
    if add && !is_direct {
        // Computed beside, and added.
        f.lines.open("");
        f.lines.line(format!("{} value[{}];", crate::function::num(out.dtype), out.len()));
        let value = Operand::array("value", "", out.dtype, out.shape.clone());
        apply(f, op, args, &value, false);
        let looped = f.lines.over("i", out.len());
        let i = if looped { "i" } else { "0" };
        let line = plus(f, out.dtype, &out.at(i), &value.at(i));
        f.lines.line(&line);
        if looped {
            f.lines.close();
        }
        f.check(&line);
        f.lines.close();
        return;
    }
    if is_sum && !add {
        f.copy(&Operand::alike("0", out.dtype, out.shape.clone()), out);
    }
    by_family(f, op, args, out, add);
}

fn by_family(f: &mut Function<'_>, op: &Op, args: &[Operand], out: &Operand, add: bool) {
    match op {
        Op::MatMul => products::matmul(f, args, out, add),
        Op::Einsum(labels) => products::einsum(f, labels, args, out, add),
        Op::Transpose { perm } => transpose(f, perm, &args[0], out, add),
        Op::Index { items } => index(f, items, &args[0], out, add),
        Op::Unindex { items, .. } => unindex(f, items, &args[0], out),
        Op::Concat { axis } => joined(f, args, out, *axis, false),
        Op::Stack { axis } => joined(f, args, out, *axis, true),
        Op::SumTo { .. } if add || out.dtype != DType::Num => rows_added(f, &args[0], out, add),
        Op::SumTo { .. } => reduce::sum_to(f, &args[0], out),
        Op::Gather { axis } => picked::gather(f, *axis, args, out),
        Op::ScatterAdd { axis, .. } => picked::scatter(f, *axis, args, out),
        Op::Pick => picked::pick(f, args, out),
        Op::OneHot { classes } => one_hot(f, *classes, &args[0], out),
        Op::CumSum { axis, reverse } => {
            cumsum(f, Around::axis(args[0].dims(), Some(*axis)), *reverse, &args[0], out)
        }
        Op::Sort { axis, descending }
        | Op::ArgSort { axis, descending }
        | Op::SortBy { axis, descending } => {
            sort::sort(f, op, Around::axis(out.dims(), Some(*axis)), *descending, args, out);
        }
        Op::Softmax | Op::LogSoftmax => {
            let n = last(&args[0]);
            rows(f, if *op == Op::Softmax { "rml_softmax" } else { "rml_log_softmax" }, &args[0], out, n, n);
        }
        Op::Cholesky => {
            let n = last(&args[0]);
            rows(f, "rml_cholesky", &args[0], out, n * n, n);
        }
        Op::Solve => solve(f, &args[0], &args[1], out),
        Op::Rfft => fourier(f, "rml_rfft", &args[0], out, [last(&args[0]), (last(&args[0]) / 2 + 1) * 2]),
        Op::Irfft { n } => fourier(f, "rml_irfft", &args[0], out, [(n / 2 + 1) * 2, *n]),
        Op::RandomUniform { .. } => draw(f, "rml_uniform", args, out),
        Op::RandomNormal { .. } => draw(f, "rml_normal", args, out),
        Op::Reduce(by, axis) => {
            reduce::reduce(f, *by, Around::axis(args[0].dims(), *axis), &args[0], out);
        }
        Op::Conv(_) | Op::ConvTranspose { .. } | Op::ConvKernel { .. } => sliding::convolve(f, op, args, out),
        Op::MaxPool(_) | Op::AvgPool(_) | Op::Patches(_) | Op::Unpatches { .. } => {
            sliding::pool(f, op, &args[0], out)
        }
        Op::Copy | Op::StopGradient | Op::Broadcast { .. } | Op::Not | Op::Unary(_) | Op::Convert(_) => {
            broadcast(f, op, args, out)
        }
        Op::Binary(_) | Op::Compare(_) | Op::And | Op::Or | Op::Clip | Op::Where => {
            broadcast(f, op, args, out)
        }
        Op::Reshape { .. } => unreachable!("a view of its operand"),
    }
}

/// Where in a dense tensor the element at these indices is; those of axes of length 1 do not count.
fn dense(dims: &[usize]) -> String {
    let terms: Vec<(String, usize)> = indices(dims.len())
        .into_iter()
        .zip(strides(dims))
        .zip(dims)
        .filter(|(_, n)| **n != 1)
        .map(|(t, _)| t)
        .collect();
    linear(&terms, 0)
}

fn set(f: &Function<'_>, add: bool, out: &Operand, at: &str, value: &str) -> String {
    if add { plus(f, out.dtype, &out.at(at), value) } else { format!("{} = {value};", out.at(at)) }
}

fn broadcast(f: &mut Function<'_>, op: &Op, args: &[Operand], out: &Operand) {
    let of = indices(out.dims().len());
    let texts: Vec<String> = args.iter().map(|arg| arg.broadcast(&of)).collect();
    let dtype = args.last().map_or(DType::Num, |arg| arg.dtype);
    let value = pointwise(op, dtype, &texts, &f.scope.prelude);
    let line = format!("{} = {value};", out.at(&dense(out.dims())));
    nest(f, out.dims(), &[line]);
}

fn transpose(f: &mut Function<'_>, perm: &[usize], x: &Operand, out: &Operand, add: bool) {
    let of = strides(x.dims());
    let terms = indices(perm.len()).into_iter().zip(perm).filter(|(_, axis)| x.dims()[**axis] != 1);
    let terms: Vec<(String, usize)> = terms.map(|(i, axis)| (i, of[*axis])).collect();
    let line = set(f, add, out, &dense(out.dims()), &x.at(&linear(&terms, 0)));
    nest(f, out.dims(), &[line]);
}

/// Where the elements that `items` pick are in a tensor, by the indices of the axes that stay.
fn picked(items: &[AxisIndex], dims: &[usize]) -> String {
    let (mut offset, mut terms, mut backward, mut axis) = (0, Vec::new(), String::new(), 0);
    for (item, stride) in items.iter().zip(strides(dims)) {
        match *item {
            AxisIndex::At(i) => offset += i * stride,
            AxisIndex::Slice { start, len, step } => {
                offset += start * stride;
                let far = step.unsigned_abs() * stride;
                if len > 1 && step > 0 {
                    terms.push((format!("i{axis}"), far));
                } else if len > 1 {
                    backward += &format!(" - i{axis}*{far}");
                }
                axis += 1;
            }
        }
    }
    linear(&terms, offset) + &backward
}

fn index(f: &mut Function<'_>, items: &[AxisIndex], x: &Operand, out: &Operand, add: bool) {
    let line = set(f, add, out, &dense(out.dims()), &x.at(&picked(items, x.dims())));
    nest(f, out.dims(), &[line]);
}

fn unindex(f: &mut Function<'_>, items: &[AxisIndex], x: &Operand, out: &Operand) {
    let line = plus(f, out.dtype, &out.at(&picked(items, out.dims())), &x.at(&dense(x.dims())));
    nest(f, x.dims(), &[line]);
}

/// Operands along an axis, which is a new one where they are stacked.
fn joined(f: &mut Function<'_>, args: &[Operand], out: &Operand, axis: usize, stacked: bool) {
    let outer: usize = out.dims()[..axis].iter().product();
    let row: usize = out.dims()[axis..].iter().product();
    let mut offset = 0;
    for arg in args {
        let own: usize = if stacked { row / args.len().max(1) } else { arg.dims()[axis..].iter().product() };
        if arg.len() > 0 {
            let at = |row: usize, offset: usize| {
                linear(
                    &[
                        ("i0".to_owned(), if outer == 1 { 0 } else { row }),
                        ("i1".to_owned(), usize::from(own != 1)),
                    ],
                    offset,
                )
            };
            let line = format!("{} = {};", out.at(&at(row, offset)), arg.at(&at(own, 0)));
            nest(f, &[outer, own], &[line]);
        }
        offset += own;
    }
}

/// Adds rows one after the other.
fn rows_added(f: &mut Function<'_>, x: &Operand, out: &Operand, add: bool) {
    if !add {
        f.copy(&Operand::alike("0", out.dtype, out.shape.clone()), out);
    }
    let line = plus(f, out.dtype, &out.broadcast(&indices(x.dims().len())), &x.at(&dense(x.dims())));
    nest(f, x.dims(), &[line]);
}

fn one_hot(f: &mut Function<'_>, classes: usize, x: &Operand, out: &Operand) {
    let (i, c) = (if x.len() == 1 { "0" } else { "i0" }, if classes == 1 { "0" } else { "i1" });
    let to = out.at(&linear(&[(i.to_owned(), classes), (c.to_owned(), 1)], 0));
    nest(f, &[x.len(), classes], &[format!("{to} = {} == {c} ? 1 : 0;", x.at(i))]);
}

fn cumsum(
    f: &mut Function<'_>,
    Around { outer, n, inner }: Around,
    reverse: bool,
    x: &Operand,
    out: &Operand,
) {
    f.copy(x, out);
    if n < 2 {
        return;
    }
    let last = n - 1;
    let (to, from) = if reverse {
        (format!("({last} - i1)"), format!("({n} - i1)"))
    } else {
        ("i1".to_owned(), "(i1 - 1)".to_owned())
    };
    let at = |row: &str| {
        let block = if outer == 1 { "0" } else { "i0" };
        linear(
            &[
                (block.to_owned(), n * inner),
                (row.to_owned(), inner),
                ("i2".to_owned(), usize::from(inner != 1)),
            ],
            0,
        )
    };
    let line = plus(f, out.dtype, &out.at(&at(&to)), &out.at(&at(&from)));
    let looped = f.lines.over("i0", outer);
    f.lines.open(format!("for (long i1 = 1; i1 < {n}; i1++)"));
    let inside = f.lines.over("i2", inner);
    f.lines.line(&line);
    f.lines.close_all(usize::from(looped) + 1 + usize::from(inside));
    f.check(&line);
}

/// The length of the last axis.
fn last(x: &Operand) -> usize {
    x.dims().last().copied().unwrap_or(1)
}

/// Calls a C function on each row (or other part) of `n` elements, with `n` as its last argument.
fn rows(f: &mut Function<'_>, function: &str, x: &Operand, out: &Operand, columns: usize, n: usize) {
    let function = f.scope.prelude.helper(function);
    let row = linear(&[(if out.len() == columns { "0" } else { "i0" }.to_owned(), columns)], 0);
    let beside = x.is_alike();
    let from = if beside {
        // All rows are the same. One of them is an array beside the result, which the function writes before it has read all of a row.
        f.lines.open("");
        f.lines.line(format!("num row[{columns}];"));
        let one = Operand::array("row", "", x.dtype, [columns].into_iter().collect());
        f.copy(x, &one);
        one.at("0")
    } else {
        x.at(&row)
    };
    let line = format!("{function}(&{from}, &{}, {n});", out.at(&row));
    nest(f, &[out.len() / columns.max(1)], &[line]);
    f.lines.close_all(usize::from(beside));
}

/// Systems of equations: the columns become their solutions, and a copy of each matrix is used up.
fn solve(f: &mut Function<'_>, a: &Operand, b: &Operand, out: &Operand) {
    f.copy(b, out);
    let n = last(a);
    let count = a.len() / (n * n);
    let columns = out.len() / (count * n);
    let function = f.scope.prelude.helper("rml_solve");
    let block = if count == 1 { "0" } else { "i0" };
    let from = a.at(&linear(&[(block.to_owned(), n * n), ("i1".to_owned(), 1)], 0));
    let to = out.at(&linear(&[(block.to_owned(), n * columns)], 0));
    let looped = f.lines.over("i0", count);
    f.lines.open("");
    f.lines.line(format!("num matrix[{}];", n * n));
    f.lines.open(format!("for (long i1 = 0; i1 < {}; i1++)", n * n));
    f.lines.line(format!("matrix[i1] = {from};"));
    f.lines.close();
    f.lines.line(format!("{function}(matrix, &{to}, {n}, {columns});"));
    f.lines.close_all(1 + usize::from(looped));
}

/// Transforms each row: from the first number of elements to the second.
fn fourier(f: &mut Function<'_>, function: &str, x: &Operand, out: &Operand, [from, to]: [usize; 2]) {
    let n = if function == "rml_rfft" { from } else { to };
    let function = f.scope.prelude.helper(function);
    let count = out.len() / to;
    let row = |width: usize| linear(&[((if count == 1 { "0" } else { "i0" }).to_owned(), width)], 0);
    let looped = f.lines.over("i0", count);
    f.lines.open("");
    f.lines.line(format!("num room[{}], row[{from}];", 6 * n));
    f.lines.open(format!("for (long i1 = 0; i1 < {from}; i1++)"));
    let at = sum(&[&row(from), "i1"]);
    f.lines.line(format!("row[i1] = {};", x.at(&at)));
    f.lines.close();
    f.lines.line(format!("{function}(row, &{}, room, {n});", out.at(&row(to))));
    f.lines.close_all(1 + usize::from(looped));
}

fn draw(f: &mut Function<'_>, function: &str, args: &[Operand], out: &Operand) {
    let function = f.scope.prelude.helper(function);
    let tick = args.get(1).map_or_else(|| "0".to_owned(), |tick| tick.at("0"));
    f.lines.line(format!("{function}({}, {tick}, &{}, {});", args[0].at("0"), out.at("0"), out.len()));
}
