//! The order of elements along an axis.

use rml_ir::op::Compare;

use super::text::{Elem, Ssa, Text, Ty};

/// Sorts operands of one shape together, stably, by the first one, with NaN last; returns the last one.
pub(super) fn by(t: &mut Text, axis: usize, descending: bool, args: &[&Ssa]) -> Ssa {
    let params: Vec<Ty> = args.iter().flat_map(|x| [Ty::scalar(x.ty.elem), Ty::scalar(x.ty.elem)]).collect();
    let region = t.region(&params, |t, p| vec![before(t, descending, &p[0], &p[1])]);
    let types: Vec<Ty> = args.iter().map(|x| x.ty.clone()).collect();
    let attributes = format!("dimension = {axis} : i64, is_stable = true");
    t.ops("sort", args, &region, &attributes, &types).remove(args.len() - 1)
}

/// Whether the key `a` comes before the key `b`.
fn before(t: &mut Text, descending: bool, a: &Ssa, b: &Ssa) -> Ssa {
    let beyond = t.compare(if descending { Compare::Gt } else { Compare::Lt }, a, b);
    if a.ty.elem == Elem::I64 {
        return beyond;
    }
    let (fine, odd) = (t.compare(Compare::Eq, a, a), t.compare(Compare::Ne, b, b));
    let nan = t.zip("and", &fine, &odd);
    t.zip("or", &beyond, &nan)
}
