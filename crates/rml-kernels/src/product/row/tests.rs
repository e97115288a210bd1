//! Products of one row against their definition, bit for bit.

use super::ffi::row;
use crate::isa::Isa;
use crate::product::{Matrix, Packed, Right};

fn numbers(len: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / 8_388_608.0 - 1.0
    };
    (0..len).map(|_| next()).collect()
}

macro_rules! rows {
    ($name:ident, $t:ident) => {
        /// Every size gives the bits of chains of fused operations, which begin with zero or with the old values, from
        /// either end of a packed matrix.
        #[test]
        fn $name() {
            for n in
                [1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 100, 128, 130, 200, 256]
            {
                for k in [0, 1, 2, 3, 16, 64, 70] {
                    check(n, k);
                }
            }

            fn check(n: usize, k: usize) {
                let number = |len, seed| numbers(len, seed).iter().map(|x| $t::from(*x)).collect::<Vec<$t>>();
                let (x, old, w) = (number(k, 1), number(n, 3), number(k * n, 4));
                let packed = Packed::new(Matrix::new(k, n, &w));
                let chain = |first: $t, j: usize| {
                    x.iter().enumerate().fold(first, |sum, (i, x)| x.mul_add(w[i * n + j], sum))
                };
                let left = Matrix::new(1, k, &x);
                for isa in Isa::available() {
                    for right in [Right::Matrix(Matrix::new(k, n, &w)), Right::Packed(&packed)] {
                        for add in [false, true, true, false] {
                            let mut out = old.clone();
                            row(isa, left, right, add, &mut out);
                            let first = |j: usize| if add { old[j] } else { 0.0 };
                            let same = out
                                .iter()
                                .enumerate()
                                .all(|(j, a)| a.to_bits() == chain(first(j), j).to_bits());
                            assert!(same, "{n} {k} {isa:?} {add} {right:?}");
                        }
                    }
                }
            }
        }
    };
}
rows!(rows_in_single_precision, f32);
rows!(rows_in_double_precision, f64);

#[test]
#[should_panic(expected = "columns of a product")]
fn a_product_has_the_columns_of_the_matrix() {
    let (x, w) = ([1.0; 3], [1.0; 9]);
    row(Isa::best(), Matrix::new(1, 3, &x), Right::Matrix(Matrix::new(3, 3, &w)), false, &mut [0.0; 4]);
}

#[test]
#[should_panic(expected = "inner dimension")]
fn rows_must_fit_the_matrix() {
    let packed = Packed::new(Matrix::new(2, 1, &[1.0; 2]));
    row(Isa::best(), Matrix::new(1, 3, &[1.0; 3]), Right::Packed(&packed), false, &mut [0.0; 1]);
}
