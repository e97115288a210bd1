//! Operators with integer positions that are data.

use rml_ir::op::Around;

use crate::function::Function;
use crate::operand::{Operand, linear, sum};

/// Adds rows to the rows at given positions. The first position outside of the axis ends the window. With `add`, rows
/// with the same position are added up before they are added to the result.
pub(crate) fn scatter(f: &mut Function<'_>, axis: usize, args: &[Operand], out: &Operand, add: bool) {
    let Around { outer, n, inner } = Around::axis(out.dims(), Some(axis));
    let count = args[0].len();
    let (block, one) = (if outer == 1 { "0" } else { "i0" }, if count == 1 { "0" } else { "i1" });
    // An element of a row, in blocks with this many rows.
    let entry = |rows: usize, row: &str| {
        let row = sum(&[&linear(&[(block.to_owned(), rows)], 0), row]);
        linear(&[(row, inner), ("i2".to_owned(), usize::from(inner != 1))], 0)
    };
    let position = f.scope.scalars.function("rml_position");
    let at = format!("{position}({}, {n}, &outside)", args[0].at(one));
    let is_summed = add && count > 1;
    let value = if is_summed { "all".to_owned() } else { args[1].at(&entry(count, one)) };
    let line = f.plus(out.dtype, &out.at(&entry(n, "at")), &value);
    let depth = f.lines.nest(&[("i0".to_owned(), outer), ("i1".to_owned(), count)]);
    f.lines.open("");
    f.lines.line(format!("const long at = {at};"));
    f.check(&at);
    if is_summed {
        let (own, other) = (args[0].at(one), args[0].at("first"));
        f.lines.line("long first = 0;");
        f.lines.open(format!("while ({other} != {own})"));
        f.lines.line("first++;");
        f.lines.close();
        f.lines.open(format!("if (first == {one})"));
    }
    let looped = f.lines.over("i2", inner);
    if is_summed {
        let (own, other) = (args[0].at(one), args[0].at("next"));
        f.lines.line("num all = 0;");
        f.lines.open(format!("for (long next = first; next < {count}; next++)"));
        f.lines.open(format!("if ({other} == {own})"));
        f.lines.line(format!("all += {};", args[1].at(&entry(count, "next"))));
        f.lines.close_all(2);
    }
    f.lines.line(&line);
    f.lines.close_all(usize::from(looped) + usize::from(is_summed) + 1 + depth);
    f.check(&line);
}

/// Checks positions when rows have no elements and nothing is read.
pub(crate) fn check(f: &mut Function<'_>, axis: usize, args: &[Operand]) {
    let n = args[0].dims()[axis];
    if args[1].len() == 0 {
        return;
    }
    let position = f.scope.scalars.function("rml_position");
    let one = if args[1].len() == 1 { "0" } else { "i0" };
    f.each(&[args[1].len()], &format!("(void){position}({}, {n}, &outside);", args[1].at(one)));
}
