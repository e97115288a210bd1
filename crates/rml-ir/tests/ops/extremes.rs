//! Integers at the ends of their range, where no operator may wrap or stop the program; NaN, infinities and the sign of
//! zero in bounds, extremes, pools and running sums.

use rml_ir::op::{AxisIndex, EvalError, Op, Reduction};
use rml_ir::{Precision, Shape, Value};

use crate::support::{check, elements, go, int, num, try_go};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
const LEAST: i64 = i64::MIN;
const MOST: i64 = i64::MAX;

fn op(text: &str) -> Op {
    Op::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

#[track_caller]
fn overflows(text: &str, args: &[&Value]) {
    let found = try_go(&op(text), args, Precision::F64);
    assert_eq!(found.err(), Some(EvalError::IntegerOverflow), "{text} of {args:?}");
}

/// The operator on scalars, on tensors, and on a tensor with scalars.
#[track_caller]
fn ints<const N: usize>(text: &str, args: [i64; N], expected: Option<i64>) {
    let scalars = args.map(Value::Int);
    let tensors = args.map(|x| int(&[2], &[x, x]));
    let mut mixed = scalars.clone();
    mixed[0] = tensors[0].clone();
    for (args, dims) in [(scalars, None), (tensors, Some(2)), (mixed, Some(2))] {
        let args: Vec<&Value> = args.iter().collect();
        match (expected, dims) {
            (None, _) => overflows(text, &args),
            (Some(x), None) => check(&op(text), &args, &Value::Int(x)),
            (Some(x), Some(n)) => check(&op(text), &args, &int(&[n], &vec![x; n])),
        }
    }
}

/// The same for numbers, of which also the sign of zero counts.
#[track_caller]
fn nums<const N: usize>(text: &str, args: [f64; N], expected: f64) {
    let same = |x: f64| (x.is_nan() && expected.is_nan()) || x.to_bits() == expected.to_bits();
    let (scalars, tensors) = (args.map(Value::F64), args.map(|x| num(&[2], &[x, x])));
    for args in [scalars, tensors] {
        let args: Vec<&Value> = args.iter().collect();
        let found = elements(&go(&op(text), &args));
        assert!(found.iter().all(|&x| same(x)), "{text} of {args:?}: {found:?}, not {expected}");
    }
}

#[test]
fn ints_of_one_operand() {
    ints("neg", [LEAST], None);
    ints("neg", [MOST], Some(-MOST));
    ints("abs", [LEAST], None);
    ints("abs", [LEAST + 1], Some(MOST));
    ints("sign", [LEAST], Some(-1));
    ints("sign", [MOST], Some(1));
}

#[test]
fn ints_of_two_operands() {
    ints("add", [MOST, LEAST], Some(-1));
    ints("add", [LEAST, LEAST], None);
    ints("sub", [0, LEAST], None);
    ints("sub", [-1, LEAST], Some(MOST));
    ints("mul", [LEAST, 1], Some(LEAST));
    ints("mul", [LEAST, -1], None);
    ints("mul", [-1, LEAST], None);
    ints("mul", [3_037_000_500, 3_037_000_500], None);
    ints("mul", [3_037_000_499, 3_037_000_499], Some(9_223_372_030_926_249_001));
    ints("div", [LEAST, -1], None);
    ints("div", [LEAST, 1], Some(LEAST));
    ints("div", [LEAST, MOST], Some(-1));
    ints("div", [LEAST, 0], Some(0));
    ints("minimum", [LEAST, MOST], Some(LEAST));
    ints("maximum", [LEAST, MOST], Some(MOST));
}

/// The remainder of a division rounded down has the divisor's sign and always fits.
#[test]
fn remainders_fit() {
    ints("mod", [LEAST, -1], Some(0));
    ints("mod", [LEAST, 0], Some(LEAST));
    ints("mod", [LEAST, MOST], Some(MOST - 1));
    ints("mod", [MOST, LEAST], Some(-1));
    ints("mod", [1, LEAST], Some(LEAST + 1));
    ints("mod", [LEAST, LEAST], Some(0));
    ints("mod", [-1, MOST], Some(MOST - 1));
}

#[test]
fn ints_between_bounds() {
    ints("clip", [LEAST, -1, 1], Some(-1));
    ints("clip", [MOST, LEAST, MOST], Some(MOST));
    ints("clip", [0, MOST, LEAST], Some(LEAST));
}

#[test]
fn sums_of_ints() {
    check(&op("sum"), &[&int(&[3], &[LEAST, MOST, 1])], &Value::Int(0));
    // The sum that is wanted would fit; a sum on the way to it does not.
    overflows("sum", &[&int(&[3], &[MOST, 1, LEAST])]);
    overflows("sum{axis=1}", &[&int(&[2, 2], &[0, 0, LEAST, -1])]);
    overflows("sum_to{[2]}", &[&int(&[2, 2], &[0, MOST, 0, 1])]);
    check(&op("cumsum{axis=0}"), &[&int(&[3], &[MOST, LEAST, 1])], &int(&[3], &[MOST, -1, 0]));
    let sums = Op::CumSum { axis: 0, reverse: false };
    let back = Op::CumSum { axis: 0, reverse: true };
    for (x, forth, reversed) in [([MOST, 1, 0], false, false), ([1, LEAST, -1], true, false)] {
        let x = int(&[3], &x);
        assert_eq!(try_go(&sums, &[&x], Precision::F64).is_ok(), forth, "{x:?}");
        assert_eq!(try_go(&back, &[&x], Precision::F64).is_ok(), reversed, "{x:?}");
    }
    // Rows that stand side by side do not run into each other.
    let rows = Op::CumSum { axis: 1, reverse: false };
    let x = int(&[2, 2], &[0, MOST, 1, 1]);
    check(&rows, &[&x], &int(&[2, 2], &[0, MOST, 1, 2]));
}

#[test]
fn ints_added_at_positions() {
    let add = Op::ScatterAdd { shape: Shape::new(&[2]), axis: 0 };
    let at = |xs: &[i64]| int(&[xs.len()], xs);
    check(&add, &[&at(&[0, 1]), &at(&[MOST, MOST])], &at(&[MOST, MOST]));
    let found = try_go(&add, &[&at(&[1, 1]), &at(&[LEAST, -1])], Precision::F64);
    assert_eq!(found.err(), Some(EvalError::IntegerOverflow));
    for k in [LEAST, -1, 2, MOST] {
        let outside = Some(EvalError::PositionOutside { index: k, size: 2 });
        let two = at(&[5, 6]);
        assert_eq!(try_go(&add, &[&at(&[0, k]), &two], Precision::F64).err(), outside);
        let gather = Op::Gather { axis: 0 };
        assert_eq!(try_go(&gather, &[&two, &Value::Int(k)], Precision::F64).err(), outside);
        assert_eq!(try_go(&Op::Pick, &[&two, &Value::Int(k)], Precision::F64).err(), outside);
    }
}

#[test]
fn extremes_of_ints() {
    for n in [LEAST, MOST] {
        let x = int(&[2], &[n, n]);
        for (extreme, position) in [
            (Op::Reduce(Reduction::Max, None), Op::Reduce(Reduction::ArgMax, None)),
            (Op::Reduce(Reduction::Min, None), Op::Reduce(Reduction::ArgMin, None)),
        ] {
            check(&extreme, &[&x], &Value::Int(n));
            check(&position, &[&x], &Value::Int(0));
        }
    }
}

#[test]
fn the_smaller_and_the_larger_number() {
    for text in ["minimum", "maximum"] {
        nums(text, [NAN, 1.0], NAN);
        nums(text, [1.0, NAN], NAN);
        nums(text, [INF, NAN], NAN);
        // The first among equals.
        nums(text, [0.0, -0.0], 0.0);
        nums(text, [-0.0, 0.0], -0.0);
    }
    nums("minimum", [-INF, INF], -INF);
    nums("maximum", [-INF, INF], INF);
}

#[test]
fn numbers_between_bounds() {
    nums("clip", [NAN, 0.0, 1.0], NAN);
    nums("clip", [0.5, NAN, 1.0], NAN);
    nums("clip", [0.5, 0.0, NAN], NAN);
    nums("clip", [INF, 0.0, 1.0], 1.0);
    nums("clip", [-INF, 0.0, 1.0], 0.0);
    nums("clip", [-INF, -INF, INF], -INF);
    nums("clip", [-0.0, -1.0, 1.0], -0.0);
    nums("clip", [0.5, 2.0, 1.0], 1.0);
}

#[test]
fn smooth_functions_far_out() {
    for text in ["softplus", "gelu", "erf"] {
        nums(text, [NAN], NAN);
    }
    nums("softplus", [INF], INF);
    nums("softplus", [-INF], 0.0);
    nums("softplus", [1e300], 1e300);
    nums("softplus", [-1e300], 0.0);
    nums("softplus", [0.0], std::f64::consts::LN_2);
    nums("softplus", [-0.0], std::f64::consts::LN_2);
    nums("softplus", [-100.0], (-100.0_f64).exp());
    nums("gelu", [INF], INF);
    nums("gelu", [-INF], 0.0);
    nums("gelu", [f64::MAX], f64::MAX);
    nums("gelu", [f64::MIN], -0.0);
    nums("gelu", [0.0], 0.0);
    nums("gelu", [-0.0], -0.0);
    nums("erf", [INF], 1.0);
    nums("erf", [-INF], -1.0);
    nums("erf", [0.0], 0.0);
    nums("erf", [-0.0], -0.0);
    for text in ["softplus", "gelu", "erf"] {
        let found = try_go(&op(text), &[&Value::F32(f32::MAX)], Precision::F32).expect("a number");
        let expected = if text == "erf" { 1.0 } else { f32::MAX };
        assert!(found.same(&Value::F32(expected)), "{text}: {found:?}");
    }
}

#[test]
fn the_smallest_number() {
    let (min, argmin) = (Op::Reduce(Reduction::Min, None), Op::Reduce(Reduction::ArgMin, None));
    for (xs, least, at) in [
        ([1.0, NAN, -INF], NAN, 1),
        ([INF, INF, INF], INF, 0),
        ([2.0, -INF, -INF], -INF, 1),
        ([NAN, NAN, 0.0], NAN, 0),
        ([0.0, -0.0, 0.0], 0.0, 0),
    ] {
        check(&min, &[&num(&[3], &xs)], &Value::F64(least));
        check(&argmin, &[&num(&[3], &xs)], &Value::Int(at));
    }
    for (op, first) in [(&min, 0.0_f64), (&min, -0.0), (&Op::Reduce(Reduction::Max, None), -0.0)] {
        let found = elements(&go(op, &[&num(&[2], &[first, -first])]));
        assert_eq!(found[0].to_bits(), first.to_bits(), "{op}");
    }
}

#[test]
fn pools_over_odd_numbers() {
    let x = num(&[5, 1], &[1.0, NAN, 2.0, INF, -INF]);
    check(&op("max_pool1d{2 1 0:0}"), &[&x], &num(&[4, 1], &[NAN, NAN, INF, INF]));
    check(&op("avg_pool1d{2 1 0:0}"), &[&x], &num(&[4, 1], &[NAN, NAN, INF, NAN]));
    // Padding never wins; in a mean it counts as zero.
    let low = num(&[2, 1], &[-INF, -5.0]);
    check(&op("max_pool1d{2 1 1:1}"), &[&low], &num(&[3, 1], &[-INF, -5.0, -5.0]));
    check(&op("avg_pool1d{2 1 1:1}"), &[&low], &num(&[3, 1], &[-INF, -INF, -2.5]));
}

#[test]
fn running_sums_of_odd_numbers() {
    let x = num(&[4], &[1.0, INF, -INF, 2.0]);
    let run = |reverse| Op::CumSum { axis: 0, reverse };
    check(&run(false), &[&x], &num(&[4], &[1.0, INF, NAN, NAN]));
    check(&run(true), &[&x], &num(&[4], &[NAN, NAN, -INF, 2.0]));
    check(&run(false), &[&num(&[0], &[])], &num(&[0], &[]));
    let zero = elements(&go(&run(false), &[&num(&[2], &[-0.0, -0.0])]));
    assert!(zero.iter().all(|x| x.to_bits() == (-0.0_f64).to_bits()), "{zero:?}");
}

/// A NaN stays in its place when values move.
#[test]
fn moves_keep_odd_numbers() {
    let x = num(&[3], &[NAN, -INF, -0.0]);
    let back = Op::Index { items: vec![AxisIndex::Slice { start: 2, len: 3, step: -1 }] };
    check(&back, &[&x], &num(&[3], &[-0.0, -INF, NAN]));
    let add = Op::ScatterAdd { shape: Shape::new(&[3]), axis: 0 };
    check(&add, &[&int(&[2], &[2, 0]), &num(&[2], &[NAN, INF])], &num(&[3], &[INF, 0.0, NAN]));
}
