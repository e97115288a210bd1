//! Integers: division, and tests for overflow and for positions outside of an axis.
//!
//! A test is a truth value that is true whenever the operator fails; it may be true in other cases, too. Sums and
//! products are estimated in double precision and compared with 2^62, half of the range, which leaves enough margin for
//! rounding errors.

use rml_ir::op::{Binary, Op, Reduction, Unary};
use rml_ir::{DType, Type};

use crate::net::{Elem, Net, V, signed};

/// 2^62.
const LIMIT: f64 = 4_611_686_018_427_387_904.0;

/// `b` with 1 in place of 0 and -1: processors trap on a division by 0, and on one of the least integer by -1.
fn divisor(net: &mut Net, b: &V) -> [V; 3] {
    let (zero, one, minus) = (net.int(0), net.int(1), net.int(-1));
    let (none, turns) = (net.compare("Equal", b, &zero), net.compare("Equal", b, &minus));
    let either = net.zip("Or", &none, &turns);
    [net.select(&either, &one, b), none, turns]
}

/// The quotient, truncated; 0 for a zero divisor.
pub(crate) fn divide(net: &mut Net, a: &V, b: &V) -> V {
    let [safe, none, turns] = divisor(net, b);
    let (quotient, negated, zero) = (net.zip("Div", a, &safe), net.map("Neg", a), net.int(0));
    let quotient = net.select(&turns, &negated, &quotient);
    net.select(&none, &zero, &quotient)
}

/// The remainder with the sign of the divisor; `a` for a zero divisor.
pub(crate) fn modulo(net: &mut Net, a: &V, b: &V) -> V {
    let [safe, none, _] = divisor(net, b);
    let rest = net.zip("Mod", a, &safe);
    net.select(&none, a, &rest)
}

/// `|x|` in double precision.
fn size(net: &mut Net, x: &V) -> V {
    let x = net.cast(x, Elem::F64);
    net.map("Abs", &x)
}

/// Whether any element is true, as a scalar.
fn any(net: &mut Net, x: &V) -> V {
    if x.dims.is_empty() {
        return x.clone();
    }
    let axes: Vec<usize> = (0..x.dims.len()).collect();
    let counted = net.cast(x, Elem::I32);
    let most = net.reduce("ReduceMax", &counted, &axes, false);
    net.cast(&most, Elem::Bool)
}

/// Whether any estimate is not below the limit, or is NaN.
fn reaches_limit(net: &mut Net, estimate: &V) -> V {
    let limit = net.scalar(LIMIT, Elem::F64);
    let below = net.compare("Less", estimate, &limit);
    let above = net.map("Not", &below);
    any(net, &above)
}

/// Whether any position is outside of an axis.
fn outside(net: &mut Net, positions: &V, n: usize) -> Option<V> {
    if positions.is_empty() {
        return None;
    }
    let (zero, n) = (net.int(0), net.int(signed(n)));
    let (low, high) = (net.compare("Less", positions, &zero), net.compare("GreaterOrEqual", positions, &n));
    let either = net.zip("Or", &low, &high);
    Some(any(net, &either))
}

/// The tests of an operator, as scalars; none if it cannot fail.
pub(crate) fn suspicion(net: &mut Net, op: &Op, args: &[&V], result: &Type) -> Vec<V> {
    let position = match (op, args) {
        (Op::Gather { axis }, [x, i]) => outside(net, i, x.dims[*axis]),
        (Op::Pick, [x, i]) => outside(net, i, x.dims.last().copied().unwrap_or(0)),
        (Op::ScatterAdd { shape, axis }, [i, _]) => outside(net, i, shape.dims()[*axis]),
        _ => None,
    };
    position.into_iter().chain(overflow(net, op, args, result)).collect()
}

/// The test for integer overflow.
fn overflow(net: &mut Net, op: &Op, args: &[&V], result: &Type) -> Option<V> {
    if result.dtype != DType::Int || args.iter().any(|x| x.is_empty()) {
        return None;
    }
    match op {
        Op::Unary(Unary::Neg | Unary::Abs) => {
            let least = net.int(i64::MIN);
            let found = net.compare("Equal", args[0], &least);
            Some(any(net, &found))
        }
        Op::Convert(DType::Int) if args[0].elem.is_float() => {
            let x = size(net, args[0]);
            Some(reaches_limit(net, &x))
        }
        Op::Binary(f @ (Binary::Add | Binary::Sub | Binary::Mul)) => {
            let (a, b) = (size(net, args[0]), size(net, args[1]));
            let estimate = net.zip(if *f == Binary::Mul { "Mul" } else { "Add" }, &a, &b);
            Some(reaches_limit(net, &estimate))
        }
        Op::Binary(Binary::Div) => {
            let (least, minus) = (net.int(i64::MIN), net.int(-1));
            let tests = [net.compare("Equal", args[0], &least), net.compare("Equal", args[1], &minus)];
            let both = net.zip("And", &tests[0], &tests[1]);
            Some(any(net, &both))
        }
        Op::Reduce(Reduction::Sum, _) | Op::SumTo { .. } | Op::CumSum { .. } => Some(total(net, args[0])),
        Op::ScatterAdd { .. } => Some(total(net, args[1])),
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
fn total(net: &mut Net, x: &V) -> V {
    let sizes = size(net, x);
    let axes: Vec<usize> = (0..x.dims.len()).collect();
    let sum = net.reduce("ReduceSum", &sizes, &axes, false);
    reaches_limit(net, &sum)
}
