//! Products against their definition, bit for bit.

use super::{Matrix, MatrixMut, Packed, Product, Right, multiply_on};
use crate::isa::Isa;
use crate::real::KernelNumber;

fn run<T: KernelNumber>(left: Matrix<'_, T>, right: Right<'_, T>, add: bool, out: MatrixMut<'_, T>) {
    multiply_on(Isa::best(), Product { left, right, add, out, back: 0 });
}

fn product<T: KernelNumber>(left: Matrix<'_, T>, right: Matrix<'_, T>, add: bool, out: MatrixMut<'_, T>) {
    super::fits((right.rows(), right.columns()), &left, &out);
    run(left, Right::Matrix(right), add, out);
}

/// Numbers with and without rounding, and some that are special.
fn numbers(len: usize, seed: u32) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(state >> 8) / 8_388_608.0 - 1.0
    };
    let mut x: Vec<f64> = (0..len).map(|_| next()).collect();
    for (i, special) in [(97, 0.0), (131, -0.0), (2999, f64::INFINITY), (4001, f64::NAN)] {
        x.iter_mut().skip(i).step_by(i).for_each(|x| *x = special);
    }
    x
}

macro_rules! products {
    ($name:ident, $t:ident) => {
        /// Every size, stride, layout and path gives the bits of the chain of fused operations.
        #[test]
        fn $name() {
            let sizes = [1, 2, 3, 5, 6, 7, 8, 13, 14, 20, 70].iter().flat_map(|m| {
                [1, 2, 7, 64, 257].iter().flat_map(move |k| {
                    [1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 130].iter().map(move |n| (*m, *k, *n))
                })
            });
            for (m, k, n) in sizes {
                check(m, k, n);
            }

            fn check(m: usize, k: usize, n: usize) {
                let number = |len, seed| numbers(len, seed).iter().map(|x| *x as $t).collect::<Vec<$t>>();
                let (a, b, c) = (number(m * k, 1), number(k * n, 2), number(m * n, 3));
                let chain = |i: usize, j: usize, start: $t| {
                    (0..k).fold(start, |sum, l| a[i * k + l].mul_add(b[l * n + j], sum))
                };
                // The same operands with strides and transposed.
                let (wide_a, wide_b) = (spread(&a, k, k + 3), spread(&b, n, n + 5));
                let (ta, tb) = (transposed(&a, k), transposed(&b, n));
                let lefts = [
                    Matrix::new(m, k, &a),
                    Matrix::strided(m, k, k + 3, &wide_a),
                    Matrix::new(k, m, &ta).transposed(),
                ];
                let rights = [
                    Matrix::new(k, n, &b),
                    Matrix::strided(k, n, n + 5, &wide_b),
                    Matrix::new(n, k, &tb).transposed(),
                ];
                let packed = rights.map(Packed::new);
                let all: Vec<Right<'_, $t>> =
                    rights.map(Right::Matrix).into_iter().chain(packed.iter().map(Right::Packed)).collect();
                for add in [false, true] {
                    let start = |x: $t| if add { x } else { 0.0 };
                    let wanted: Vec<$t> = (0..m * n).map(|at| chain(at / n, at % n, start(c[at]))).collect();
                    for isa in Isa::available() {
                        for (i, right) in all.iter().enumerate() {
                            let left = lefts[(i + m + usize::from(add)) % 3];
                            let stride = n + (i + k) % 4;
                            let mut out = spread(&c, n, stride);
                            let product = Product {
                                back: 0,
                                left,
                                right: *right,
                                add,
                                out: MatrixMut::strided(m, n, stride, &mut out),
                            };
                            multiply_on(isa, product);
                            for (at, x) in out.iter().enumerate() {
                                let wanted =
                                    if at % stride < n { wanted[at / stride * n + at % stride] } else { 7.0 };
                                let same = x.to_bits() == wanted.to_bits() || x.is_nan() && wanted.is_nan();
                                assert!(
                                    same,
                                    "{m} {k} {n} {isa:?} right {i}, add {add}, at {at}: {x} {wanted}"
                                );
                            }
                        }
                    }
                }
            }

            /// Rows `stride` apart, with other numbers between them.
            fn spread(x: &[$t], columns: usize, stride: usize) -> Vec<$t> {
                let mut out = Vec::new();
                for row in x.chunks(columns) {
                    out.extend_from_slice(row);
                    out.resize(out.len() + stride - columns, 7.0);
                }
                out
            }

            fn transposed(x: &[$t], columns: usize) -> Vec<$t> {
                (0..columns).flat_map(|j| x.iter().skip(j).step_by(columns).copied()).collect()
            }
        }
    };
}
products!(products_in_single_precision, f32);
products!(products_in_double_precision, f64);

#[test]
fn a_product_of_nothing_is_zero_and_adds_nothing() {
    let mut out = [5.0, 5.0];
    let mut run = |add| {
        let (left, right) = (Matrix::new(1, 0, &[]), Matrix::new(0, 2, &[]));
        product(left, right, add, MatrixMut::new(1, 2, &mut out));
        out
    };
    assert_eq!(run(true), [5.0, 5.0]);
    assert_eq!(run(false), [0.0, 0.0]);
    product(Matrix::new(0, 3, &[]), Matrix::new(3, 2, &[1.0; 6]), false, MatrixMut::new(0, 2, &mut []));
}

/// Two parts of the inner dimension, one after the other, give the bits of the whole.
#[test]
fn parts_of_the_inner_dimension_add_up_to_the_whole() {
    let (m, k, n) = (5, 300, 70);
    let finite = |x: &f64| if x.is_finite() { *x as f32 } else { 1.0 };
    let number = |len, seed| numbers(len, seed).iter().map(finite).collect::<Vec<f32>>();
    let (a, b) = (number(m * k, 1), number(k * n, 2));
    let (mut whole, mut parts) = (vec![0.0; m * n], vec![0.0; m * n]);
    product(Matrix::new(m, k, &a), Matrix::new(k, n, &b), false, MatrixMut::new(m, n, &mut whole));
    for (from, to) in [(0, 101), (101, 300)] {
        let left = Matrix::strided(m, to - from, k, &a[from..]);
        let right = Packed::new(Matrix::new(to - from, n, &b[from * n..]));
        run(left, Right::Packed(&right), from > 0, MatrixMut::new(m, n, &mut parts));
    }
    assert!(whole.iter().zip(&parts).all(|(a, b)| a.to_bits() == b.to_bits()));
}

#[test]
#[should_panic(expected = "inner dimension")]
fn sizes_must_fit() {
    product(
        Matrix::new(1, 2, &[1.0; 2]),
        Matrix::new(3, 1, &[1.0; 3]),
        false,
        MatrixMut::new(1, 1, &mut [0.0]),
    );
}

#[test]
#[should_panic(expected = "elements")]
fn slices_must_be_long_enough() {
    Matrix::strided(3, 4, 5, &[1.0; 13]);
}

#[test]
#[should_panic(expected = "elements")]
fn rows_must_not_overlap() {
    MatrixMut::strided(3, 4, 3, &mut [1.0; 30]);
}

/// Zeros of either sign, times numbers of either sign and some that are not finite, added to zeros and others.
#[test]
fn products_of_zeros_have_the_bits_of_products() {
    for (m, k, n) in [(1, 1, 1), (3, 2, 5), (7, 0, 3), (4, 33, 64), (5, 8, 65), (2, 4100, 130)] {
        for zero in [0.0_f32, -0.0] {
            for seed in 0..4 {
                let part = |len, seed| numbers(len, seed).iter().map(|x| *x as f32).collect::<Vec<f32>>();
                let b: Vec<f32> =
                    part(k * n, seed).iter().map(|x| if seed == 0 { -x.abs() } else { *x }).collect();
                let start: Vec<f32> =
                    part(m * n, seed + 9).iter().map(|x| if *x < 0.2 { -0.0 } else { *x }).collect();
                let zeros = vec![zero; m * k];
                let (mut wanted, mut found) = (start.clone(), start);
                product(
                    Matrix::new(m, k, &zeros),
                    Matrix::new(k, n, &b),
                    true,
                    MatrixMut::new(m, n, &mut wanted),
                );
                crate::product_of_zeros(&zeros[..k], Matrix::new(k, n, &b), MatrixMut::new(m, n, &mut found));
                let bits = |x: &[f32]| {
                    x.iter().map(|x| if x.is_nan() { u32::MAX } else { x.to_bits() }).collect::<Vec<_>>()
                };
                assert!(bits(&found) == bits(&wanted), "{m} x {k} x {n}, {zero}, {seed}");
            }
        }
    }
}

/// Runs of steps from the last to the first have the bits of products that continue from each other.
#[test]
fn products_go_backward_run_by_run() {
    let number = |i: usize| ((i * 7919 + 13) % 1000) as f32 / 500.0 - 1.0;
    for (runs, run) in [(1, 1), (5, 1), (70, 1), (9, 16), (40, 7), (300, 1), (3, 64), (2, 300), (20, 33)] {
        for (m, n) in [(1, 1), (1, 40), (3, 20), (13, 17), (32, 128), (70, 3), (20, 65)] {
            let k = runs * run;
            let a: Vec<f32> = (0..k * m).map(number).collect();
            let b: Vec<f32> = (0..k * n).map(|i| number(i + 5)).collect();
            let start: Vec<f32> = (0..m * n).map(|i| number(i + 9)).collect();
            let (mut wanted, mut found) = (start.clone(), start);
            for i in (0..runs).rev() {
                let left = Matrix::new(run, m, &a[i * run * m..]).transposed();
                let right = Matrix::new(run, n, &b[i * run * n..]);
                crate::product(left, right, true, MatrixMut::new(m, n, &mut wanted));
            }
            let left = Matrix::new(k, m, &a).transposed();
            let out = MatrixMut::new(m, n, &mut found);
            crate::product_backward(left, Matrix::new(k, n, &b), run, out);
            let bits = |x: &[f32]| x.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&found), bits(&wanted), "{runs} runs of {run}, {m} x {n}");
        }
    }
}
