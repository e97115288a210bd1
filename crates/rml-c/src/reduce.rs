//! Reductions along an axis, or over everything.

use rml_ir::DType;
use rml_ir::op::{Around, Reduction};

use crate::function::Function;
use crate::nest::{nest, plus};
use crate::operand::{Operand, linear};

/// The indices of a reduction: of an element, and of its result.
fn reduced(Around { outer, n, inner }: Around) -> (String, String) {
    let block = (if outer == 1 { "0" } else { "i0" }).to_owned();
    let row = (if n == 1 { "0" } else { "i1" }).to_owned();
    let column = ("i2".to_owned(), usize::from(inner != 1));
    let from = linear(&[(block.clone(), n * inner), (row, inner), column.clone()], 0);
    (from, linear(&[(block, inner), column], 0))
}

/// Sums of numbers, means, or logarithms of sums of exponentials.
fn sums(f: &mut Function<'_>, by: Reduction, around: Around, x: &Operand, out: &Operand) {
    let Around { outer, n, inner } = around;
    let (helper, nothing) = match by {
        Reduction::Mean => ("rml_sum", "RML_NAN"),
        Reduction::LogSumExp => ("rml_logsumexp", "-RML_INFINITY"),
        Reduction::Sum
        | Reduction::Prod
        | Reduction::Max
        | Reduction::Min
        | Reduction::ArgMax
        | Reduction::ArgMin
        | Reduction::Any
        | Reduction::All => ("rml_sum", "0"),
    };
    if n == 0 {
        return f.copy(&Operand::alike(nothing, out.dtype, out.shape.clone()), out);
    }
    if x.is_alike() {
        // Beside, so that there is an array.
        f.lines.open("");
        f.lines.line(format!("num all[{}];", x.len().max(1)));
        let all = Operand::array("all", "", x.dtype, x.shape.clone());
        f.copy(x, &all);
        sums(f, by, around, &all, out);
        f.lines.close();
        return;
    }
    let block = |far: usize| {
        let inner = ("i1".to_owned(), usize::from(inner != 1));
        linear(&[("i0".to_owned(), if outer == 1 { 0 } else { far }), inner], 0)
    };
    let sum = f.scope.prelude.helper(helper);
    let divided = if by == Reduction::Mean { format!(" / {n}") } else { String::new() };
    let from = x.at(&block(n * inner));
    nest(
        f,
        &[outer, inner],
        &[format!("{} = {sum}(&{from}, {n}, {inner}){divided};", out.at(&block(inner)))],
    );
}

/// Sums along axes of which the result has one element, or which it lacks, one after the other.
pub(crate) fn sum_to(f: &mut Function<'_>, x: &Operand, out: &Operand) {
    let missing = x.dims().len() - out.dims().len();
    let wanted = |axis: usize| axis.checked_sub(missing).map_or(1, |i| out.dims()[i]);
    let axes: Vec<usize> = (0..x.dims().len()).filter(|axis| x.dims()[*axis] != wanted(*axis)).collect();
    let Some((last, before)) = axes.split_last() else { return f.copy(x, out) };
    let (from, depth) = along(f, x, before, "along");
    sums(f, Reduction::Sum, Around::axis(from.dims(), Some(*last)), &from, out);
    f.lines.close_all(depth);
}

/// What is left of an operand when axes of it are summed one after the other, beside, with one element for each; and how many blocks it opens.
pub(crate) fn along(f: &mut Function<'_>, x: &Operand, axes: &[usize], name: &str) -> (Operand, usize) {
    let mut from = x.clone();
    for axis in axes {
        let mut dims = from.dims().to_vec();
        let around = Around::axis(&dims, Some(*axis));
        dims[*axis] = 1;
        let shape: rml_ir::Shape = dims.iter().copied().collect();
        f.lines.open("");
        f.lines.line(format!("num {name}_{axis}[{}];", shape.len().max(1)));
        let to = Operand::array(format!("{name}_{axis}"), "", x.dtype, shape);
        sums(f, Reduction::Sum, around, &from, &to);
        from = to;
    }
    (from, axes.len())
}

pub(crate) fn reduce(f: &mut Function<'_>, by: Reduction, around: Around, x: &Operand, out: &Operand) {
    let int = out.dtype == DType::Int;
    let (from, to) = reduced(around);
    let (x_at, to) = (x.at(&from), out.at(&to));
    let beats = |sign: &str| match out.dtype {
        DType::Int => format!("if ({x_at} {sign} {to}) {to} = {x_at};"),
        _ => format!("if ({x_at} {sign} {to} || {x_at} != {x_at}) {to} = {x_at};"),
    };
    let (start, line) = match by {
        Reduction::Sum if int => ("0", plus(f, out.dtype, &to, &x_at)),
        Reduction::Sum | Reduction::Mean | Reduction::LogSumExp => return sums(f, by, around, x, out),
        Reduction::Prod => ("1", format!("{to} = {to} * {x_at};")),
        Reduction::Max => (if int { "INT64_MIN" } else { "-RML_INFINITY" }, beats(">")),
        Reduction::Min => (if int { "INT64_MAX" } else { "RML_INFINITY" }, beats("<")),
        Reduction::Any => ("false", format!("{to} = {to} || {x_at};")),
        Reduction::All => ("true", format!("{to} = {to} && {x_at};")),
        Reduction::ArgMax => return position(f, ">", around, x, out),
        Reduction::ArgMin => return position(f, "<", around, x, out),
    };
    f.copy(&Operand::alike(start, out.dtype, out.shape.clone()), out);
    nest(f, &[around.outer, around.n, around.inner], &[line]);
}

fn position(f: &mut Function<'_>, sign: &str, around: Around, x: &Operand, out: &Operand) {
    let (from, to) = reduced(around);
    f.copy(&Operand::alike("0", out.dtype, out.shape.clone()), out);
    let to = out.at(&to);
    let (block, column) = (if around.outer == 1 { "0" } else { "i0" }, usize::from(around.inner != 1));
    let best = |row: &str| {
        linear(
            &[
                (block.to_owned(), around.n * around.inner),
                (row.to_owned(), around.inner),
                ("i2".to_owned(), column),
            ],
            0,
        )
    };
    let (x_at, best) = (x.at(&from), x.at(&best(&format!("(long){to}"))));
    let nan = if x.dtype == DType::Int {
        String::new()
    } else {
        format!(" || ({x_at} != {x_at} && {best} == {best})")
    };
    let row = if around.n == 1 { "0" } else { "i1" };
    nest(
        f,
        &[around.outer, around.n, around.inner],
        &[format!("if ({x_at} {sign} {best}{nan}) {to} = {row};")],
    );
}
