//! Operators that have their own loops.

use rml_ir::op::{Around, Op};

use crate::function::Function;
use crate::loops::Base;
use crate::operand::{Operand, linear, sum};
use crate::{picked, products, sliding, sort};

/// Computes a value. With `add`, the chains of a product begin with the values in the result.
pub(crate) fn apply(f: &mut Function<'_>, op: &Op, args: &[Operand], out: &Operand, add: bool) {
    // These operators begin with 0 and add terms one by one.
    let is_sum = matches!(
        op,
        Op::ScatterAdd { .. }
            | Op::Conv(_)
            | Op::ConvTranspose { .. }
            | Op::ConvKernel { .. }
            | Op::Unpatches { .. }
            | Op::AvgPool(_)
    );
    if is_sum && !add {
        f.fill_all("0", out);
    }
    match op {
        Op::MatMul => products::matmul(f, args, out, add),
        Op::Einsum(labels) => products::einsum(f, labels, args, out, add),
        Op::Gather { axis } => picked::check(f, *axis, args),
        Op::Pick => picked::check(f, args[0].dims().len() - 1, args),
        Op::ScatterAdd { axis, .. } => picked::scatter(f, *axis, args, out, add),
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
        Op::Conv(_) | Op::ConvTranspose { .. } | Op::ConvKernel { .. } => sliding::convolve(f, op, args, out),
        Op::MaxPool(_) | Op::AvgPool(_) | Op::Patches(_) | Op::Unpatches { .. } => {
            sliding::pool(f, op, &args[0], out)
        }
        Op::Copy | Op::StopGradient | Op::Broadcast { .. } | Op::Not | Op::Unary(_) | Op::Convert(_) => {
            nest(op)
        }
        Op::Binary(_) | Op::Compare(_) | Op::And | Op::Or | Op::Clip | Op::Where => nest(op),
        Op::Reshape { .. } | Op::Transpose { .. } | Op::Index { .. } | Op::Unindex { .. } => nest(op),
        Op::Concat { .. } | Op::Stack { .. } | Op::SumTo { .. } | Op::OneHot { .. } | Op::Reduce(..) => {
            nest(op)
        }
    }
}

/// Panics for operators that are lowered to nests.
fn nest(op: &Op) -> ! {
    unreachable!("{op} is a nest")
}

fn cumsum(
    f: &mut Function<'_>,
    Around { outer, n, inner }: Around,
    reverse: bool,
    x: &Operand,
    out: &Operand,
) {
    f.copy_all(x, out);
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
    let line = f.plus(out.dtype, &out.at(&at(&to)), &out.at(&at(&from)));
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
    let function = f.scope.scalars.function(function);
    let row = linear(&[(if out.len() == columns { "0" } else { "i0" }.to_owned(), columns)], 0);
    let beside = x.is_alike();
    let from = if beside {
        // All rows are equal. One row is copied to a separate array, because the function writes the result before it
        // has read the whole row.
        f.lines.open("");
        f.lines.line(format!("num row[{columns}];"));
        let one = Operand::array(Base::array("row"), x.dtype, [columns].into_iter().collect());
        f.copy_all(x, &one);
        one.at("0")
    } else {
        x.at(&row)
    };
    let line = format!("{function}(&{from}, &{}, {n});", out.at(&row));
    f.each(&[out.len() / columns.max(1)], &line);
    f.lines.close_all(usize::from(beside));
}

/// Systems of equations: the columns become their solutions, and a copy of each matrix is overwritten.
fn solve(f: &mut Function<'_>, a: &Operand, b: &Operand, out: &Operand) {
    f.copy_all(b, out);
    let n = last(a);
    let count = a.len() / (n * n);
    let columns = out.len() / (count * n);
    let function = f.scope.scalars.function("rml_solve");
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

/// Transforms each row from the first number of elements to the second.
fn fourier(f: &mut Function<'_>, function: &str, x: &Operand, out: &Operand, [from, to]: [usize; 2]) {
    let n = if function == "rml_rfft" { from } else { to };
    let function = f.scope.scalars.function(function);
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
    let function = f.scope.scalars.function(function);
    let tick = args.get(1).map_or_else(|| "0".to_owned(), |tick| tick.at("0"));
    f.lines.line(format!("{function}({}, {tick}, &{}, {});", args[0].at("0"), out.at("0"), out.len()));
}
