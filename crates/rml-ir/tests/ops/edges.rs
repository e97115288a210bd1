//! Evaluation at the edges: overflow, division by zero, NaN and infinities, empty and single dimensions.

use rml_ir::op::{AxisIndex, Binary, Compare, EvalError, Op, Reduction, Unary};
use rml_ir::{DType, Data, Precision, Shape, Value};

use crate::support::{boolean, check, elements, go, int, num, single, try_go};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

#[track_caller]
fn overflows(op: &Op, args: &[&Value]) {
    assert_eq!(try_go(op, args, Precision::F64).err(), Some(EvalError::IntegerOverflow), "{op} of {args:?}");
}

#[test]
fn int_overflow_is_an_error_for_scalars_and_tensors() {
    let (least, most) = (i64::MIN, i64::MAX);
    for (op, a, b) in [
        (Op::Binary(Binary::Add), most, 1),
        (Op::Binary(Binary::Add), least, -1),
        (Op::Binary(Binary::Sub), least, 1),
        (Op::Binary(Binary::Mul), most, 2),
        (Op::Binary(Binary::Mul), least, -1),
        (Op::Binary(Binary::Div), least, -1),
    ] {
        overflows(&op, &[&Value::Int(a), &Value::Int(b)]);
        overflows(&op, &[&int(&[2], &[1, a]), &int(&[2], &[1, b])]);
        overflows(&op, &[&int(&[2], &[1, a]), &Value::Int(b)]);
        overflows(&op, &[&int(&[2, 1], &[1, a]), &int(&[1, 2], &[1, b])]);
    }
    for op in [Op::Unary(Unary::Neg), Op::Unary(Unary::Abs)] {
        overflows(&op, &[&Value::Int(least)]);
        overflows(&op, &[&int(&[2], &[0, least])]);
    }
    overflows(&Op::Reduce(Reduction::Sum, None), &[&int(&[3], &[most, 1, -5])]);
    overflows(&Op::Reduce(Reduction::Sum, Some(0)), &[&int(&[2, 2], &[0, most, 0, most])]);
    overflows(&Op::SumTo { shape: Shape::new(&[1]) }, &[&int(&[2, 1], &[least, least])]);
}

#[test]
fn sorting_is_stable_and_puts_nan_last() {
    let x = num(&[7], &[0.0, NAN, -0.0, INF, 2.0, -NAN, -INF]);
    let (up, down) = (&[6, 0, 2, 4, 3, 1, 5], &[3, 4, 0, 2, 6, 1, 5]);
    for (descending, order) in [(false, up), (true, down)] {
        let sorted = order.map(|i: i64| elements(&x)[i as usize]);
        check(&Op::ArgSort { axis: 0, descending }, &[&x], &int(&[7], order));
        check(&Op::Sort { axis: 0, descending }, &[&x], &num(&[7], &sorted));
        let moved = Op::SortBy { axis: 0, descending };
        check(&moved, &[&x, &int(&[7], &[0, 1, 2, 3, 4, 5, 6])], &int(&[7], order));
        let bits = |v: &Value| elements(v).iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let found = go(&Op::Sort { axis: 0, descending }, &[&x]);
        assert_eq!(bits(&found), sorted.map(f64::to_bits));
    }
    let extremes = int(&[1, 4], &[i64::MAX, 3, i64::MIN, 3]);
    check(&Op::ArgSort { axis: 1, descending: true }, &[&extremes], &int(&[1, 4], &[0, 1, 3, 2]));
}

#[test]
fn a_matrix_that_is_not_positive_definite_has_no_factor() {
    let stack = num(&[3, 2, 2], &[4.0, NAN, 2.0, 5.0, 1.0, 0.0, 2.0, 4.0, NAN, 0.0, 0.0, 1.0]);
    let factors = num(&[3, 2, 2], &[2.0, 0.0, 1.0, 2.0, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN]);
    check(&Op::Cholesky, &[&stack], &factors);
}

#[test]
fn a_singular_matrix_gives_what_divisions_by_zero_give() {
    let a = num(&[2, 2], &[1.0, 2.0, 2.0, 4.0]);
    check(&Op::Solve, &[&a, &num(&[2], &[1.0, 1.0])], &num(&[2], &[-INF, INF]));
    check(&Op::Solve, &[&a, &num(&[2], &[1.0, 2.0])], &num(&[2], &[NAN, NAN]));
}

#[test]
fn int_division_truncates_and_is_total() {
    for (a, b, q) in [(7, 2, 3), (-7, 2, -3), (7, -2, -3), (5, 0, 0), (0, 0, 0), (i64::MIN, 0, 0)] {
        check(&Op::Binary(Binary::Div), &[&Value::Int(a), &Value::Int(b)], &Value::Int(q));
        check(&Op::Binary(Binary::Div), &[&int(&[1], &[a]), &int(&[1], &[b])], &int(&[1], &[q]));
    }
}

#[test]
fn num_division_follows_ieee() {
    check(&Op::Binary(Binary::Div), &[&Value::F64(1.0), &Value::F64(0.0)], &Value::F64(INF));
    check(&Op::Binary(Binary::Div), &[&num(&[2], &[0.0, -1.0]), &Value::F64(0.0)], &num(&[2], &[NAN, -INF]));
}

#[test]
fn to_int_truncates_and_refuses_what_does_not_fit() {
    check(&Op::Convert(DType::Int), &[&num(&[4], &[1.9, -1.9, -0.5, 0.0])], &int(&[4], &[1, -1, 0, 0]));
    let bound = 9_223_372_036_854_775_808.0;
    check(&Op::Convert(DType::Int), &[&Value::F64(-bound)], &Value::Int(i64::MIN));
    for x in [bound, -2.0 * bound, NAN, INF, -INF] {
        overflows(&Op::Convert(DType::Int), &[&Value::F64(x)]);
        overflows(&Op::Convert(DType::Int), &[&num(&[2], &[0.0, x])]);
    }
    let below = 9_223_371_487_098_961_920.0_f32;
    let found = try_go(&Op::Convert(DType::Int), &[&Value::F32(below)], Precision::F32).expect("it fits");
    assert!(found.same(&Value::Int(9_223_371_487_098_961_920)));
}

#[test]
fn conversions() {
    check(
        &Op::Convert(DType::Bool),
        &[&num(&[4], &[0.0, -0.0, NAN, 0.1])],
        &boolean(&[4], &[false, false, true, true]),
    );
    check(&Op::Convert(DType::Num), &[&boolean(&[2], &[true, false])], &num(&[2], &[1.0, 0.0]));
    check(&Op::Convert(DType::Int), &[&Value::Bool(true)], &Value::Int(1));
    // Rounded once, from the integer: 2^24 + 1 is halfway and goes to the even neighbour.
    let found =
        try_go(&Op::Convert(DType::Num), &[&Value::Int(16_777_217)], Precision::F32).expect("a number");
    assert!(found.same(&Value::F32(16_777_216.0)));
    let found =
        try_go(&Op::Convert(DType::Num), &[&int(&[1], &[16_777_219])], Precision::F32).expect("a number");
    assert!(found.same(&single(&[1], &[16_777_220.0])));
}

#[test]
fn pointwise_functions_at_their_edges() {
    let x = num(&[5], &[-INF, -0.0, 0.0, INF, NAN]);
    check(&Op::Unary(Unary::Exp), &[&x], &num(&[5], &[0.0, 1.0, 1.0, INF, NAN]));
    check(&Op::Unary(Unary::Log), &[&x], &num(&[5], &[NAN, -INF, -INF, INF, NAN]));
    check(&Op::Unary(Unary::Sqrt), &[&x], &num(&[5], &[NAN, 0.0, 0.0, INF, NAN]));
    check(&Op::Unary(Unary::Sigmoid), &[&x], &num(&[5], &[0.0, 0.5, 0.5, 1.0, NAN]));
    check(&Op::Unary(Unary::Tanh), &[&x], &num(&[5], &[-1.0, 0.0, 0.0, 1.0, NAN]));
    check(&Op::Unary(Unary::Relu), &[&x], &num(&[5], &[0.0, 0.0, 0.0, INF, 0.0]));
    check(&Op::Unary(Unary::Sign), &[&x], &num(&[5], &[-1.0, 0.0, 0.0, 1.0, NAN]));
    check(&Op::Unary(Unary::Abs), &[&x], &num(&[5], &[INF, 0.0, 0.0, INF, NAN]));
}

#[test]
fn sigmoid_neither_overflows_nor_loses_the_tail() {
    for i in -700..=700 {
        let x = f64::from(i);
        let found = go(&Op::Unary(Unary::Sigmoid), &[&Value::F64(x)]).as_num().expect("a number");
        let direct = 1.0 / (1.0 + (-x).exp());
        assert!((found - direct).abs() <= 1e-12 * direct, "sigmoid({x}) = {found}, not {direct}");
    }
    let found = elements(&go(&Op::Unary(Unary::Sigmoid), &[&num(&[2], &[-800.0, 800.0])]));
    assert_eq!(found, [0.0, 1.0]);
    let found = try_go(&Op::Unary(Unary::Sigmoid), &[&Value::F32(-100.0)], Precision::F32).expect("a number");
    assert!(found.as_num().is_some_and(|x| (x - 3.783_505_8e-44).abs() < 1e-45));
}

#[test]
fn comparisons_with_nan_are_false() {
    let (nan, one) = (Value::F64(NAN), Value::F64(1.0));
    for op in [
        Op::Compare(Compare::Eq),
        Op::Compare(Compare::Lt),
        Op::Compare(Compare::Le),
        Op::Compare(Compare::Gt),
        Op::Compare(Compare::Ge),
    ] {
        check(&op, &[&nan, &one], &Value::Bool(false));
        check(&op, &[&num(&[1], &[NAN]), &nan], &boolean(&[1], &[false]));
    }
    check(&Op::Compare(Compare::Ne), &[&nan, &nan], &Value::Bool(true));
    check(&Op::Compare(Compare::Eq), &[&Value::F64(0.0), &Value::F64(-0.0)], &Value::Bool(true));
}

#[test]
fn extremes_take_the_first_and_nan_wins() {
    let (max, argmax) = (Op::Reduce(Reduction::Max, None), Op::Reduce(Reduction::ArgMax, None));
    check(&argmax, &[&num(&[4], &[1.0, 3.0, 3.0, 2.0])], &Value::Int(1));
    check(&max, &[&num(&[3], &[1.0, NAN, 5.0])], &Value::F64(NAN));
    check(&argmax, &[&num(&[4], &[1.0, NAN, 5.0, NAN])], &Value::Int(1));
    check(&max, &[&num(&[2], &[-INF, -INF])], &Value::F64(-INF));
    check(&argmax, &[&num(&[2], &[-INF, -INF])], &Value::Int(0));
    check(&argmax, &[&int(&[2], &[i64::MIN, i64::MIN])], &Value::Int(0));
    check(&argmax, &[&Value::F64(NAN)], &Value::Int(0));
    let x = num(&[2, 2], &[1.0, NAN, 4.0, 3.0]);
    check(&Op::Reduce(Reduction::Max, Some(0)), &[&x], &num(&[2], &[4.0, NAN]));
    check(&Op::Reduce(Reduction::ArgMax, Some(0)), &[&x], &int(&[2], &[1, 0]));
    check(&Op::Reduce(Reduction::ArgMax, Some(1)), &[&x], &int(&[2], &[1, 0]));
}

#[test]
fn softmax_is_stable() {
    let x = num(&[2, 2], &[1000.0, 1000.0, -1000.0, 1000.0]);
    check(&Op::Softmax, &[&x], &num(&[2, 2], &[0.5, 0.5, 0.0, 1.0]));
    let log = elements(&go(&Op::LogSoftmax, &[&x]));
    assert_eq!(log[2..], [-2000.0, 0.0]);
    assert!((log[0] + std::f64::consts::LN_2).abs() < 1e-15);
    check(&Op::Softmax, &[&num(&[2], &[-INF, 0.0])], &num(&[2], &[0.0, 1.0]));
    check(&Op::Softmax, &[&num(&[2], &[INF, 0.0])], &num(&[2], &[NAN, NAN]));
    check(&Op::Softmax, &[&num(&[2], &[NAN, 0.0])], &num(&[2], &[NAN, NAN]));
    check(&Op::Softmax, &[&num(&[2, 0], &[])], &num(&[2, 0], &[]));
    check(&Op::LogSoftmax, &[&num(&[0, 2], &[])], &num(&[0, 2], &[]));
    check(&Op::Softmax, &[&num(&[1], &[7.0])], &num(&[1], &[1.0]));
}

#[test]
fn nothing_sums_to_zero_and_has_no_mean() {
    check(&Op::Reduce(Reduction::Sum, None), &[&num(&[0], &[])], &Value::F64(0.0));
    check(&Op::Reduce(Reduction::Sum, Some(1)), &[&int(&[2, 0], &[])], &int(&[2], &[0, 0]));
    check(&Op::Reduce(Reduction::Sum, Some(0)), &[&num(&[2, 0], &[])], &num(&[0], &[]));
    check(&Op::Reduce(Reduction::Mean, Some(0)), &[&num(&[0, 2], &[])], &num(&[2], &[NAN, NAN]));
    check(&Op::Reduce(Reduction::Max, Some(1)), &[&num(&[0, 2], &[])], &num(&[0], &[]));
    check(&Op::SumTo { shape: Shape::new(&[1, 2]) }, &[&num(&[0, 2], &[])], &num(&[1, 2], &[0.0, 0.0]));
    check(&Op::SumTo { shape: Shape::scalar() }, &[&num(&[0, 2], &[])], &Value::F64(0.0));
}

#[test]
fn sums_add_lanes_up_in_their_own_precision() {
    // In single precision 1 is lost beside 2^24, but elements 0 and 16 meet first, wherever the axis is.
    let big = 16_777_216.0_f32;
    let mut terms = vec![0.0; 17];
    (terms[0], terms[1], terms[16]) = (1.0, big, 1.0);
    let found = try_go(&Op::Reduce(Reduction::Sum, None), &[&single(&[17], &terms)], Precision::F32);
    assert!(found.expect("a number").same(&Value::F32(big + 2.0)));
    let across: Vec<f32> = terms.iter().flat_map(|x| [*x, big - x]).collect();
    let found = try_go(&Op::Reduce(Reduction::Sum, Some(0)), &[&single(&[17, 2], &across)], Precision::F32);
    assert!(found.expect("numbers").same(&single(&[2], &[big + 2.0, big * 16.0])));
    let found = try_go(&Op::Reduce(Reduction::Sum, None), &[&single(&[3], &[big, 1.0, 1.0])], Precision::F32);
    assert!(found.expect("a number").same(&Value::F32(big)));
}

#[test]
fn broadcasting_covers_empty_and_single_dimensions() {
    check(&Op::Binary(Binary::Add), &[&num(&[0, 3], &[]), &num(&[1, 3], &[1.0; 3])], &num(&[0, 3], &[]));
    check(&Op::Binary(Binary::Add), &[&num(&[0, 1], &[]), &num(&[1, 3], &[1.0; 3])], &num(&[0, 3], &[]));
    check(&Op::Binary(Binary::Add), &[&num(&[0], &[]), &Value::F64(1.0)], &num(&[0], &[]));
    check(
        &Op::Binary(Binary::Mul),
        &[&num(&[1, 1], &[2.0]), &num(&[2], &[3.0, 4.0])],
        &num(&[1, 2], &[6.0, 8.0]),
    );
    check(&Op::Binary(Binary::Mul), &[&Value::F64(2.0), &num(&[1, 1], &[2.0])], &num(&[1, 1], &[4.0]));
    let (a, b) = (num(&[2, 1, 2], &[1.0, 2.0, 3.0, 4.0]), num(&[2, 1], &[10.0, 20.0]));
    let sums = [11.0, 12.0, 21.0, 22.0, 13.0, 14.0, 23.0, 24.0];
    check(&Op::Binary(Binary::Add), &[&a, &b], &num(&[2, 2, 2], &sums));
    check(&Op::Binary(Binary::Add), &[&b, &a], &num(&[2, 2, 2], &sums));
    let wide = Op::Broadcast { shape: Shape::new(&[2, 0, 3]) };
    check(&wide, &[&num(&[3], &[1.0; 3])], &num(&[2, 0, 3], &[]));
}

#[test]
fn indices_pick_and_place() {
    let x = int(&[3, 4], &[0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23]);
    let at = AxisIndex::At;
    let slice = |start, len, step| AxisIndex::Slice { start, len, step };
    let cases: [(Vec<AxisIndex>, Value); 13] = [
        (vec![at(2), at(1)], Value::Int(21)),
        (vec![at(1), slice(0, 4, 1)], int(&[4], &[10, 11, 12, 13])),
        (vec![at(1), slice(1, 2, 2)], int(&[2], &[11, 13])),
        (vec![slice(0, 3, 1), at(3)], int(&[3], &[3, 13, 23])),
        (vec![slice(1, 2, 1), slice(0, 4, 1)], int(&[2, 4], &[10, 11, 12, 13, 20, 21, 22, 23])),
        (vec![slice(0, 2, 2), slice(2, 2, 1)], int(&[2, 2], &[2, 3, 22, 23])),
        (vec![slice(3, 0, 1), slice(0, 4, 1)], int(&[0, 4], &[])),
        (vec![at(0), slice(4, 0, 3)], int(&[0], &[])),
        (vec![slice(2, 3, -1), at(1)], int(&[3], &[21, 11, 1])),
        (vec![slice(2, 2, -2), slice(3, 2, -2)], int(&[2, 2], &[23, 21, 3, 1])),
        (vec![slice(0, 1, -1), slice(3, 4, -1)], int(&[1, 4], &[3, 2, 1, 0])),
        (vec![slice(1, 1, isize::MIN), slice(2, 1, isize::MAX)], int(&[1, 1], &[12])),
        (vec![slice(0, 0, -1), slice(2, 2, -1)], int(&[0, 2], &[])),
    ];
    for (items, picked) in cases {
        check(&Op::Index { items: items.clone() }, &[&x], &picked);
        // Placing what was picked and picking it again gives it back, and everything else is 0.
        let shape = x.shape();
        let placed = go(&Op::Unindex { shape, items: items.clone() }, &[&picked]);
        check(&Op::Index { items }, &[&placed], &picked);
        assert_eq!(elements(&placed).iter().sum::<f64>(), elements(&picked).iter().sum::<f64>());
    }
}

#[test]
fn one_hot_of_positions_outside_is_all_zero() {
    let x = int(&[4], &[0, 2, 3, -1]);
    let rows = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0; 3], [0.0; 3]].concat();
    check(&Op::OneHot { classes: 3 }, &[&x], &num(&[4, 3], &rows));
    check(&Op::OneHot { classes: 0 }, &[&x], &num(&[4, 0], &[]));
    check(&Op::OneHot { classes: 2 }, &[&Value::Int(i64::MIN)], &num(&[2], &[0.0, 0.0]));
}

#[test]
fn scalars_stay_scalars() {
    let stacked = go(&Op::Stack { axis: 0 }, &[&Value::F64(1.0), &Value::F64(2.0), &Value::F64(3.0)]);
    assert!(matches!(stacked.to_data(), Data::F64(v) if v == [1.0, 2.0, 3.0]));
    check(&Op::Reshape { shape: Shape::scalar() }, &[&num(&[1, 1], &[5.0])], &Value::F64(5.0));
    check(&Op::Reduce(Reduction::Sum, None), &[&Value::Int(3)], &Value::Int(3));
    check(&Op::Reduce(Reduction::Mean, None), &[&Value::F64(3.0)], &Value::F64(3.0));
}

#[test]
fn logarithms_of_sums_hold_infinities() {
    let ln2 = std::f64::consts::LN_2;
    let a = num(&[8], &[INF, -INF, INF, -INF, INF, NAN, 1000.0, -1000.0]);
    let b = num(&[8], &[INF, -INF, -INF, 3.0, NAN, -INF, 1000.0, -1000.0]);
    let sums = [INF, -INF, INF, 3.0, NAN, NAN, 1000.0 + ln2, ln2 - 1000.0];
    check(&Op::Binary(Binary::LogAddExp), &[&a, &b], &num(&[8], &sums));
    let pairs: Vec<f64> = elements(&a).into_iter().zip(elements(&b)).flat_map(|(a, b)| [a, b]).collect();
    let of_all = |op: &Op, x: &Value, wanted: &[f64]| {
        let found = elements(&go(op, &[x]));
        let near = |(a, b): (&f64, &f64)| a == b || (a - b).abs() < 1e-12 || a.is_nan() && b.is_nan();
        assert!(found.iter().zip(wanted).all(near), "{op}: {found:?}, not {wanted:?}");
    };
    of_all(&Op::Reduce(Reduction::LogSumExp, Some(1)), &num(&[8, 2], &pairs), &sums);
    let columns: Vec<f64> = [elements(&a), elements(&b)].concat();
    of_all(&Op::Reduce(Reduction::LogSumExp, Some(0)), &num(&[2, 8], &columns), &sums);
    of_all(&Op::Reduce(Reduction::LogSumExp, Some(0)), &num(&[0, 2], &[]), &[-INF, -INF]);
    let many = vec![-700.0; 200];
    of_all(&Op::Reduce(Reduction::LogSumExp, None), &num(&[200], &many), &[200_f64.ln() - 700.0]);
}

#[test]
fn products_of_nothing_are_one_and_zeros_stay() {
    check(&Op::Reduce(Reduction::Prod, Some(1)), &[&num(&[2, 0], &[])], &num(&[2], &[1.0, 1.0]));
    let x = num(&[2, 3], &[2.0, -0.0, 3.0, 0.5, 4.0, -1.0]);
    check(&Op::Reduce(Reduction::Prod, Some(1)), &[&x], &num(&[2], &[-0.0, -2.0]));
    check(&Op::Reduce(Reduction::Prod, None), &[&num(&[2], &[INF, 0.0])], &num(&[], &[NAN]));
}

#[test]
fn angles_have_the_sign_of_the_ordinate() {
    let pi = std::f64::consts::PI;
    let y = num(&[8], &[0.0, -0.0, 0.0, -0.0, 1.0, -INF, INF, NAN]);
    let x = num(&[8], &[1.0, 1.0, -0.0, -1.0, 0.0, 3.0, -INF, 1.0]);
    let angles = [0.0, -0.0, pi, -pi, pi / 2.0, -pi / 2.0, 0.75 * pi, NAN];
    check(&Op::Binary(Binary::Atan2), &[&y, &x], &num(&[8], &angles));
}
