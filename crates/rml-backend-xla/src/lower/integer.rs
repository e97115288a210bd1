//! Integers: division, and tests for results that may not fit or positions that may lie outside.
//!
//! A test is a truth value that is true wherever the operator has no result; it may be true elsewhere. Sums and products are estimated in
//! double precision against 2^62, half of what fits, which leaves room for every rounding error on the way.

use rml_ir::op::Op;

use super::shape::Compare;
use super::text::{Elem, Ssa, Text};

/// 2^62.
const LIMIT: f64 = 4_611_686_018_427_387_904.0;

/// `b` with 1 in the place of 0, and where it is 0.
fn divisor(t: &mut Text, b: &Ssa) -> (Ssa, Ssa) {
    let none = t.compare_to(Compare::Eq, b, 0.0);
    let one = t.int(1, &b.ty);
    (t.select(&none, &one, b), none)
}

/// The quotient, truncated; 0 for a zero divisor.
pub(super) fn divide(t: &mut Text, a: &Ssa, b: &Ssa) -> Ssa {
    let (safe, none) = divisor(t, b);
    let quotient = t.zip("divide", a, &safe);
    let zero = t.int(0, &a.ty);
    t.select(&none, &zero, &quotient)
}

/// The remainder with the sign of the divisor; `a` for a zero divisor.
pub(super) fn modulo(t: &mut Text, a: &Ssa, b: &Ssa) -> Ssa {
    let (safe, none) = divisor(t, b);
    let rest = t.zip("remainder", a, &safe);
    let uneven = t.compare_to(Compare::Ne, &rest, 0.0);
    let signs = [t.compare_to(Compare::Lt, &rest, 0.0), t.compare_to(Compare::Lt, b, 0.0)];
    let differ = t.zip("xor", &signs[0], &signs[1]);
    let shift = t.zip("and", &uneven, &differ);
    let shifted = t.zip("add", &rest, b);
    let result = t.select(&shift, &shifted, &rest);
    t.select(&none, a, &result)
}

/// `|x|` in double precision.
fn size(t: &mut Text, x: &Ssa) -> Ssa {
    let x = t.convert(x, Elem::F64);
    t.map("abs", &x)
}

/// Whether any estimate is not below the limit; NaN is not.
fn reaches_limit(t: &mut Text, estimate: &Ssa) -> Ssa {
    let below = t.compare_to(Compare::Lt, estimate, LIMIT);
    let above = t.map("not", &below);
    t.any(&above)
}

/// Whether any position lies outside of an axis.
fn outside(t: &mut Text, positions: &Ssa, n: usize) -> Ssa {
    let n = t.int(i64::try_from(n).unwrap_or(i64::MAX), &positions.ty);
    let low = t.compare_to(Compare::Lt, positions, 0.0);
    let high = t.compare(Compare::Ge, positions, &n);
    let either = t.zip("or", &low, &high);
    t.any(&either)
}

/// The test of an operator, as a scalar; `None` where it always has a result.
pub(super) fn suspicion(t: &mut Text, op: &Op, args: &[&Ssa], result: &rml_ir::Type) -> Vec<Ssa> {
    let ints = result.dtype == rml_ir::DType::Int;
    match (op, args) {
        (Op::Gather { axis }, [x, i]) => vec![outside(t, i, x.dims()[*axis])],
        (Op::Pick, [x, i]) => vec![outside(t, i, x.dims().last().copied().unwrap_or(0))],
        (Op::ScatterAdd { shape, axis }, [i, d]) => {
            let mut tests = vec![outside(t, i, shape.dims()[*axis])];
            if ints && !d.is_empty() {
                tests.push(total(t, d));
            }
            tests
        }
        (_, args) if !ints || args.iter().any(|x| x.is_empty()) => Vec::new(),
        (Op::Sum { .. } | Op::SumTo { .. } | Op::CumSum { .. }, [x]) => vec![total(t, x)],
        (Op::Neg | Op::Abs, [x]) => {
            let least = t.int(i64::MIN, &x.ty);
            let found = t.compare(Compare::Eq, x, &least);
            vec![t.any(&found)]
        }
        (Op::ToInt, [x]) if x.ty.elem.is_float() => {
            let x = size(t, x);
            vec![reaches_limit(t, &x)]
        }
        (Op::Add | Op::Sub | Op::Mul | Op::Div, [a, b]) => {
            let (a, b) = (&t.broadcast(a, &result.shape), &t.broadcast(b, &result.shape));
            vec![of_pair(t, op, a, b)]
        }
        _ => Vec::new(),
    }
}

/// Whether sizes add up to the limit.
fn total(t: &mut Text, x: &Ssa) -> Ssa {
    let sizes = size(t, x);
    let axes: Vec<usize> = (0..x.dims().len()).collect();
    let sum = t.sum(&sizes, &axes);
    reaches_limit(t, &sum)
}

/// The test of arithmetic on operands of one shape.
fn of_pair(t: &mut Text, op: &Op, a: &Ssa, b: &Ssa) -> Ssa {
    if *op == Op::Div {
        let (least, minus) = (t.int(i64::MIN, &a.ty), t.int(-1, &b.ty));
        let tests = [t.compare(Compare::Eq, a, &least), t.compare(Compare::Eq, b, &minus)];
        let both = t.zip("and", &tests[0], &tests[1]);
        return t.any(&both);
    }
    let (a, b) = (size(t, a), size(t, b));
    let estimate = t.zip(if *op == Op::Mul { "multiply" } else { "add" }, &a, &b);
    reaches_limit(t, &estimate)
}
