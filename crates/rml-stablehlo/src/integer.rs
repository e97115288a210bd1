//! Integers: division, and tests for overflow and for positions outside of an axis.
//!
//! A test is a truth value that is true whenever the operator fails; it may be true in other cases, too. Sums and
//! products are estimated in double precision and compared with 2^62, half of the range, which leaves enough margin for
//! rounding errors.

use rml_ir::op::{Binary, Compare, Op, Reduction, Unary};
use rml_ir::{DType, Type};

use super::text::{Elem, Ssa, Text};

/// 2^62.
const LIMIT: f64 = 4_611_686_018_427_387_904.0;

/// `b` with 1 in place of 0, and the mask of zeros.
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

/// Whether any estimate is not below the limit, or is NaN.
fn reaches_limit(t: &mut Text, estimate: &Ssa) -> Ssa {
    let below = t.compare_to(Compare::Lt, estimate, LIMIT);
    let above = t.map("not", &below);
    t.any(&above)
}

/// Whether any position is outside of an axis.
fn outside(t: &mut Text, positions: &Ssa, n: usize) -> Ssa {
    let n = t.int(i64::try_from(n).unwrap_or(i64::MAX), &positions.ty);
    let low = t.compare_to(Compare::Lt, positions, 0.0);
    let high = t.compare(Compare::Ge, positions, &n);
    let either = t.zip("or", &low, &high);
    t.any(&either)
}

/// The tests of an operator, as scalars; none if it cannot fail.
pub(super) fn suspicion(t: &mut Text, op: &Op, args: &[&Ssa], result: &Type) -> Vec<Ssa> {
    match (op, args) {
        (Op::Gather { axis }, [x, i]) => vec![outside(t, i, x.dims()[*axis])],
        (Op::Pick, [x, i]) => vec![outside(t, i, x.dims().last().copied().unwrap_or(0))],
        (Op::ScatterAdd { shape, axis }, [i, _]) => {
            let position = outside(t, i, shape.dims()[*axis]);
            [position].into_iter().chain(overflow(t, op, args, result)).collect()
        }
        _ => overflow(t, op, args, result).into_iter().collect(),
    }
}

/// The test for integer overflow.
fn overflow(t: &mut Text, op: &Op, args: &[&Ssa], result: &Type) -> Option<Ssa> {
    if result.dtype != DType::Int || args.iter().any(|x| x.is_empty()) {
        return None;
    }
    match op {
        Op::Unary(Unary::Neg | Unary::Abs) => {
            let least = t.int(i64::MIN, &args[0].ty);
            let found = t.compare(Compare::Eq, args[0], &least);
            Some(t.any(&found))
        }
        Op::Convert(DType::Int) if args[0].ty.elem.is_float() => {
            let x = size(t, args[0]);
            Some(reaches_limit(t, &x))
        }
        Op::Binary(f @ (Binary::Add | Binary::Sub | Binary::Mul | Binary::Div)) => {
            let (a, b) = (&t.broadcast(args[0], &result.shape), &t.broadcast(args[1], &result.shape));
            Some(of_pair(t, *f, a, b))
        }
        Op::Reduce(Reduction::Sum, _) | Op::SumTo { .. } | Op::CumSum { .. } => Some(total(t, args[0])),
        Op::ScatterAdd { .. } => Some(total(t, args[1])),
        // These choose, move or count, have a remainder smaller than the divisor, or have results that are not
        // integers.
        Op::Copy | Op::StopGradient | Op::Not | Op::Unary(_) | Op::Convert(_) | Op::Compare(_) => None,
        Op::Binary(
            Binary::Mod | Binary::Pow | Binary::Minimum | Binary::Maximum | Binary::Atan2 | Binary::LogAddExp,
        ) => None,
        Op::And | Op::Or | Op::Clip | Op::Where | Op::Reduce(..) => None,
        Op::Transpose { .. } | Op::Reshape { .. } | Op::Broadcast { .. } => None,
        Op::Concat { .. } | Op::Stack { .. } | Op::Index { .. } | Op::Unindex { .. } => None,
        Op::Gather { .. } | Op::Pick | Op::MatMul | Op::Einsum(_) => None,
        Op::Conv(_) | Op::ConvTranspose { .. } | Op::ConvKernel { .. } => None,
        Op::MaxPool(_) | Op::AvgPool(_) | Op::Patches(_) | Op::Unpatches { .. } => None,
        Op::Cholesky | Op::Solve | Op::Rfft | Op::Irfft { .. } => None,
        Op::Sort { .. } | Op::ArgSort { .. } | Op::SortBy { .. } => None,
        Op::Softmax | Op::LogSoftmax | Op::OneHot { .. } => None,
        Op::RandomUniform { .. } | Op::RandomNormal { .. } => None,
    }
}

/// Whether the sum of sizes reaches the limit.
fn total(t: &mut Text, x: &Ssa) -> Ssa {
    let sizes = size(t, x);
    let axes: Vec<usize> = (0..x.dims().len()).collect();
    let sum = t.sum(&sizes, &axes);
    reaches_limit(t, &sum)
}

/// The test of arithmetic on operands of one shape.
fn of_pair(t: &mut Text, f: Binary, a: &Ssa, b: &Ssa) -> Ssa {
    if f == Binary::Div {
        let (least, minus) = (t.int(i64::MIN, &a.ty), t.int(-1, &b.ty));
        let tests = [t.compare(Compare::Eq, a, &least), t.compare(Compare::Eq, b, &minus)];
        let both = t.zip("and", &tests[0], &tests[1]);
        return t.any(&both);
    }
    let (a, b) = (size(t, a), size(t, b));
    let estimate = t.zip(if f == Binary::Mul { "multiply" } else { "add" }, &a, &b);
    reaches_limit(t, &estimate)
}
