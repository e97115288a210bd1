//! Matrix products: bits that do not depend on the number of rows, and the shapes that are taken together.

use rml_ir::op::{Op, eval};
use rml_ir::random::Random;
use rml_ir::{Data, Precision, Shape, Value};

use crate::support::{check, elements, go, num};

fn matrix(rows: usize, columns: usize, path: &str, precision: Precision) -> Value {
    let random = Random::new(1, path, 0);
    let xs = (0..rows * columns).map(|i| random.normal(i as u64)).collect();
    Value::new(Shape::new(&[rows, columns]), Data::F64(xs)).to_precision(precision)
}

/// Row `i`, as a matrix or a vector.
fn row(value: &Value, i: usize, as_matrix: bool) -> Value {
    let columns = value.shape().dims()[1];
    let data = match value.to_data() {
        Data::F32(v) => Data::F32(v[i * columns..][..columns].to_vec()),
        Data::F64(v) => Data::F64(v[i * columns..][..columns].to_vec()),
        other => other,
    };
    let shape = if as_matrix { Shape::new(&[1, columns]) } else { Shape::new(&[columns]) };
    Value::new(shape, data)
}

fn bits(value: &Value) -> Vec<u64> {
    match value.to_data() {
        Data::F32(v) => v.iter().map(|x| u64::from(x.to_bits())).collect(),
        Data::F64(v) => v.iter().map(|x| x.to_bits()).collect(),
        _ => Vec::new(),
    }
}

fn rows_alone(m: usize, k: usize, n: usize, precision: Precision) {
    let (a, b) = (matrix(m, k, "a", precision), matrix(k, n, "b", precision));
    let product = |a: &Value, b: &Value| eval(&Op::MatMul, &[a, b], precision).expect("no overflow");
    let whole = bits(&product(&a, &b));
    for i in 0..m {
        let expected = &whole[i * n..][..n];
        assert_eq!(bits(&product(&row(&a, i, true), &b)), expected, "row {i} of {m} x {k} x {n} as a matrix");
        assert_eq!(
            bits(&product(&row(&a, i, false), &b)),
            expected,
            "row {i} of {m} x {k} x {n} as a vector"
        );
    }
    // A stack of matrices is the same rows again.
    if m.is_multiple_of(2) {
        let stacked = Value::new(Shape::new(&[2, m / 2, k]), a.to_data());
        assert_eq!(bits(&product(&stacked, &b)), whole);
    }
    // A column alone, as a vector on the right.
    let column = Value::new(Shape::new(&[k, 1]), row(&matrix(1, k, "c", precision), 0, false).to_data());
    let vector = Value::new(Shape::new(&[k]), column.to_data());
    assert_eq!(bits(&product(&a, &column)), bits(&product(&a, &vector)));
    let each: Vec<u64> = (0..m).flat_map(|i| bits(&product(&row(&a, i, false), &vector))).collect();
    assert_eq!(bits(&product(&a, &vector)), each, "{m} x {k} times a vector");
}

#[test]
fn a_row_has_the_same_bits_whatever_the_number_of_rows() {
    for precision in [Precision::F32, Precision::F64] {
        rows_alone(32, 72, 256, precision);
        rows_alone(7, 5, 3, precision);
        rows_alone(18, 600, 33, precision);
        rows_alone(130, 17, 1, precision);
    }
}

#[test]
fn products_by_hand() {
    let a = num(&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let b = num(&[2, 2], &[5.0, 6.0, 7.0, 8.0]);
    check(&Op::MatMul, &[&a, &b], &num(&[2, 2], &[19.0, 22.0, 43.0, 50.0]));
    let v = num(&[2], &[10.0, 1.0]);
    check(&Op::MatMul, &[&v, &b], &num(&[2], &[57.0, 68.0]));
    check(&Op::MatMul, &[&a, &v], &num(&[2], &[12.0, 34.0]));
    check(&Op::MatMul, &[&v, &v], &Value::F64(101.0));
}

#[test]
fn products_over_nothing_are_zero() {
    let (a, b) = (num(&[2, 0], &[]), num(&[0, 3], &[]));
    check(&Op::MatMul, &[&a, &b], &num(&[2, 3], &[0.0; 6]));
    let nothing = num(&[0], &[]);
    check(&Op::MatMul, &[&nothing, &nothing], &Value::F64(0.0));
    check(&Op::MatMul, &[&num(&[0, 2], &[]), &num(&[2, 3], &[1.0; 6])], &num(&[0, 3], &[]));
}

#[test]
fn nan_and_infinity_pass_through() {
    let a = num(&[2, 2], &[f64::NAN, 0.0, 1.0, 2.0]);
    let b = num(&[2, 2], &[1.0, f64::INFINITY, 0.0, 1.0]);
    let product = elements(&go(&Op::MatMul, &[&a, &b]));
    assert!(product[0].is_nan() && product[1].is_nan());
    assert_eq!(product[2..], [1.0, f64::INFINITY]);
}
