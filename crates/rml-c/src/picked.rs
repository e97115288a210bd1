//! Elements at positions that come with the data.

use crate::function::{Function, mentions};
use crate::nest::{indices, plus};
use crate::operand::{Operand, linear, sum};

fn around(dims: &[usize], axis: usize) -> (usize, usize, usize) {
    (dims[..axis].iter().product(), dims[axis], dims[axis + 1..].iter().product())
}

/// An index into `rows x inner` with a row of its own text.
fn entry(block: &str, n: usize, row: &str, inner: usize) -> String {
    let outer = linear(&[(block.to_owned(), n)], 0);
    let row = sum(&[&outer, row]);
    linear(&[(row, inner), ("i2".to_owned(), usize::from(inner != 1))], 0)
}

pub(crate) fn gather(f: &mut Function<'_>, axis: usize, args: &[Operand], out: &Operand) {
    let (outer, n, inner) = around(args[0].dims(), axis);
    let (block, one) = (if outer == 1 { "0" } else { "i0" }, if args[1].len() == 1 { "0" } else { "i1" });
    let position = f.scope.prelude.helper("rml_position");
    let at = format!("{position}({}, {n}, &outside)", args[1].at(one));
    let from = args[0].at(&entry(block, n, "at", inner));
    let to = out.at(&entry(block, args[1].len(), one, inner));
    picked_rows(f, [outer, args[1].len(), inner], &at, &format!("{to} = {from};"));
}

pub(crate) fn scatter(f: &mut Function<'_>, axis: usize, args: &[Operand], out: &Operand) {
    let (outer, n, inner) = around(out.dims(), axis);
    let (block, one) = (if outer == 1 { "0" } else { "i0" }, if args[0].len() == 1 { "0" } else { "i1" });
    let position = f.scope.prelude.helper("rml_position");
    let at = format!("{position}({}, {n}, &outside)", args[0].at(one));
    let from = args[1].at(&entry(block, args[0].len(), one, inner));
    let line = plus(f, out.dtype, &out.at(&entry(block, n, "at", inner)), &from);
    picked_rows(f, [outer, args[0].len(), inner], &at, &line);
}

/// Rows at positions that come with the data; those outside of their axis end the window.
fn picked_rows(f: &mut Function<'_>, dims: [usize; 3], at: &str, line: &str) {
    let sizes: Vec<(String, usize)> = indices(2).into_iter().zip(dims).collect();
    let depth = f.lines.nest(&sizes);
    f.lines.open("");
    // Where all elements are the same, a position matters only if it is outside.
    f.lines.line(if mentions(line, "at") {
        format!("const long at = {at};")
    } else {
        format!("(void){at};")
    });
    f.check(at);
    let looped = f.lines.over("i2", dims[2]);
    f.lines.line(line);
    f.lines.close_all(usize::from(looped) + 1 + depth);
    f.check(line);
}

pub(crate) fn pick(f: &mut Function<'_>, args: &[Operand], out: &Operand) {
    let n = args[0].dims().last().copied().unwrap_or(1);
    let i = if out.len() == 1 { "0" } else { "i1" };
    let position = f.scope.prelude.helper("rml_position");
    let at = format!("{position}({}, {n}, &outside)", args[1].at(i));
    let from = args[0].at(&sum(&[&linear(&[(i.to_owned(), n)], 0), "at"]));
    let line = format!("{} = {from};", out.at(i));
    picked_rows(f, [1, out.len(), 1], &at, &line);
}
