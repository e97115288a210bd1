//! Sums of rows against their definition, bit for bit.

use super::ffi::sum;
use super::{Direction, Term};
use crate::isa::Isa;
use crate::product::{Matrix, Packed};

fn numbers(len: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    };
    (0..len).map(|_| next()).collect()
}

macro_rules! sums {
    ($name:ident, $t:ident) => {
        /// Every size, order of terms and direction gives the bits of chains of fused operations that are then added,
        /// from left to right.
        #[test]
        fn $name() {
            for n in
                [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 100, 128, 130, 200, 256]
            {
                for (k, l) in [(0, 1), (1, 2), (16, 64), (3, 70)] {
                    check(n, k, l);
                }
            }

            fn check(n: usize, k: usize, l: usize) {
                let number = |len, seed| numbers(len, seed).iter().map(|x| $t::from(*x)).collect::<Vec<$t>>();
                let (x, h, bias) = (number(k, 1), number(l, 2), number(n, 3));
                let (w, u) = (number(k * n, 4), number(l * n, 5));
                let packed = Packed::new(Matrix::new(l, n, &u));
                let chain = |x: &[$t], w: &[$t], j: usize| {
                    x.iter().enumerate().fold(0.0, |sum, (i, x)| x.mul_add(w[i * n + j], sum))
                };
                let row = |f: &dyn Fn(usize) -> $t| (0..n).map(f).collect::<Vec<$t>>();
                let (a, b) = (row(&|j| chain(&x, &w, j)), row(&|j| chain(&h, &u, j)));
                let (first, second) = (Term::product(&x, n, &w), Term::packed(&h, &packed));
                let cases = [
                    (vec![first], a.clone()),
                    (vec![second], b.clone()),
                    (vec![first, second, Term::row(&bias)], row(&|j| (a[j] + b[j]) + bias[j])),
                    (vec![Term::row(&bias), second, first], row(&|j| (bias[j] + b[j]) + a[j])),
                    (vec![Term::row(&bias), Term::row(&a)], row(&|j| bias[j] + a[j])),
                ];
                for isa in Isa::available() {
                    for (terms, wanted) in &cases {
                        for direction in [Direction::Forward, Direction::Backward] {
                            let mut out = vec![7.0; n];
                            sum(isa, terms, false, direction, &mut out);
                            let same = out.iter().zip(wanted).all(|(a, b)| a.to_bits() == b.to_bits());
                            assert!(same, "{n} {k} {l} {isa:?} {direction:?} {}", terms.len());
                        }
                    }
                }
            }
        }
    };
}
sums!(sums_in_single_precision, f32);
sums!(sums_in_double_precision, f64);

#[test]
#[should_panic(expected = "columns")]
fn terms_must_have_the_columns_of_the_sum() {
    sum(Isa::best(), &[Term::row(&[1.0; 3])], false, Direction::Forward, &mut [0.0; 4]);
}

#[test]
#[should_panic(expected = "inner dimension")]
fn rows_must_fit_the_matrix() {
    let packed = Packed::new(Matrix::new(2, 1, &[1.0; 2]));
    Term::packed(&[1.0; 3], &packed);
}
