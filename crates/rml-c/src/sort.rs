//! The order of elements along an axis.

use rml_ir::DType;
use rml_ir::op::{Around, Op};

use crate::function::Function;
use crate::operand::{Operand, linear};

/// Sorts the elements of the last operand by the keys in the first one; or gives the positions of that order.
pub(crate) fn sort(
    f: &mut Function<'_>,
    op: &Op,
    Around { outer, n, inner }: Around,
    descending: bool,
    args: &[Operand],
    out: &Operand,
) {
    let (keys, x) = (&args[0], &args[args.len() - 1]);
    let positions = matches!(op, Op::ArgSort { .. });
    // If all keys are equal, nothing moves.
    if keys.is_alike() && !positions {
        return f.copy_all(x, out);
    }
    let at = |row: &str| {
        let block = if outer == 1 { "0" } else { "i0" };
        let column = ("i2".to_owned(), usize::from(inner != 1));
        linear(&[(block.to_owned(), n * inner), (row.to_owned(), inner), column], 0)
    };
    let depth = usize::from(f.lines.over("i0", outer)) + usize::from(f.lines.over("i2", inner));
    f.lines.open("");
    let from = if keys.is_alike() {
        "i1"
    } else {
        let order = f.scope.scalars.function(match keys.dtype {
            DType::Int => "rml_order_int",
            DType::Num | DType::Bool => "rml_order",
        });
        f.lines.line(format!("long order[{n}], spare[{n}];"));
        f.lines.line(format!("{order}(&{}, {n}, {inner}, {descending}, order, spare);", keys.at(&at("0"))));
        "order[i1]"
    };
    f.lines.open(format!("for (long i1 = 0; i1 < {n}; i1++)"));
    let value = if positions { from.to_owned() } else { x.at(&at(from)) };
    f.lines.line(format!("{} = {value};", out.at(&at("i1"))));
    f.lines.close_all(depth + 2);
}
