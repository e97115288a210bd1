//! Reductions along an axis, or over everything.

use rml_ir::DType;
use rml_ir::op::{Around, Op};

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

pub(crate) fn reduce(f: &mut Function<'_>, op: &Op, around: Around, x: &Operand, out: &Operand) {
    let (from, to) = reduced(around);
    let (x_at, to) = (x.at(&from), out.at(&to));
    let start = match (op, out.dtype) {
        (Op::Max { .. }, DType::Int) => Some("INT64_MIN"),
        (Op::Min { .. }, DType::Int) => Some("INT64_MAX"),
        (Op::Max { .. }, _) => Some("(num)-INFINITY"),
        (Op::Min { .. }, _) => Some("(num)INFINITY"),
        (Op::Any { .. }, _) => Some("false"),
        (Op::All { .. }, _) => Some("true"),
        _ => None,
    };
    if let Some(start) = start {
        f.copy(&Operand::alike(start, out.dtype, out.shape.clone()), out);
    }
    let beats = |sign: &str| match out.dtype {
        DType::Int => format!("if ({x_at} {sign} {to}) {to} = {x_at};"),
        _ => format!("if ({x_at} {sign} {to} || {x_at} != {x_at}) {to} = {x_at};"),
    };
    let line = match op {
        Op::Max { .. } => beats(">"),
        Op::Min { .. } => beats("<"),
        Op::Any { .. } => format!("{to} = {to} || {x_at};"),
        Op::All { .. } => format!("{to} = {to} && {x_at};"),
        _ => plus(f, out.dtype, &to, &x_at),
    };
    nest(f, &[around.outer, around.n, around.inner], &[line]);
    if matches!(op, Op::Mean { .. }) {
        let mean = format!("{to} /= {};", around.n);
        let sizes = [("i0".to_owned(), around.outer), ("i2".to_owned(), around.inner)];
        let depth = f.lines.nest(&sizes);
        f.lines.line(mean);
        f.lines.close_all(depth);
    }
}

pub(crate) fn position(f: &mut Function<'_>, sign: &str, around: Around, x: &Operand, out: &Operand) {
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
