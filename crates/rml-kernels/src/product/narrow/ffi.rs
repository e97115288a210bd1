//! Products with few columns, on vectors whose lanes are rows. A vector of columns would leave most lanes empty.
#![allow(unsafe_code)]

use std::marker::PhantomData;

use super::super::packed::panel;
use super::super::{Product, Right};
use crate::isa::{Isa, Task};
use crate::real::KernelNumber;
use crate::vector::Square;

/// Lanes of the widest vector.
const LANES: usize = 16;

/// A product with `N` columns whose operands are row-major and have elements.
struct Narrow<'p, 'a, T, V, const N: usize> {
    product: &'p mut Product<'a, T>,
    vector: PhantomData<V>,
}

impl<T: KernelNumber, V: Square<T>, const N: usize> Task for Narrow<'_, '_, T, V, N> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Product { left, right, add, out, .. } = self.product;
        let (m, depth, stride) = (out.rows(), left.columns(), left.stride());
        let (right, right_row) = match right {
            Right::Packed(b) => (b.lines().as_ptr().cast::<T>(), panel::<T>()),
            Right::Matrix(b) => (b.data().as_ptr(), b.stride()),
        };
        for from in (0..m).step_by(V::LANES) {
            let rows = V::LANES.min(m - from);
            let mut lanes = [[T::ZERO; LANES]; N];
            if *add {
                for (j, lanes) in lanes.iter_mut().enumerate() {
                    lanes[..rows].iter_mut().enumerate().for_each(|(i, x)| *x = out.row(from + i)[j]);
                }
            }
            // SAFETY: `multiply` makes the only values, where the instruction set is that of the vector, no operand is
            // transposed, and there are `N` columns, which are in the first panel of a packed operand. So column j < N
            // of its row k < depth is at `k * right_row + j`, and column k of row i < m of the left operand at
            // `i * stride + k`. There are as many lanes as `V` has, or more.
            unsafe {
                let mut sums = lanes.each_ref().map(|lanes| V::load(lanes.as_ptr()));
                for first in (0..depth).step_by(V::LANES) {
                    let some = V::LANES.min(depth - first);
                    let left = left.data().as_ptr().add(from * stride + first);
                    let columns = V::columns(left, stride, rows, some);
                    for (k, x) in columns.as_ref()[..some].iter().enumerate() {
                        let row = right.add((first + k) * right_row);
                        for (j, sum) in sums.iter_mut().enumerate() {
                            *sum = x.mul_add(V::splat(*row.add(j)), *sum);
                        }
                    }
                }
                for (sum, lanes) in sums.iter().zip(&mut lanes) {
                    sum.store(lanes.as_mut_ptr());
                }
            }
            for (j, lanes) in lanes.iter().enumerate() {
                lanes[..rows].iter().enumerate().for_each(|(i, x)| out.row(from + i)[j] = *x);
            }
        }
    }
}

/// Computes a product that has elements, if it has few enough columns and enough rows that this is quicker. Whether it
/// did.
pub(in crate::product) fn multiply<T: KernelNumber>(isa: Isa, product: &mut Product<'_, T>) -> bool {
    let (m, n) = (product.out.rows(), product.out.columns());
    let is_turned = matches!(product.right, Right::Matrix(b) if b.is_transposed());
    if isa != Isa::Avx512 || m < LANES / 2 || product.left.is_transposed() || is_turned {
        return false;
    }
    match n {
        1 => isa.run(Narrow::<T, T::Avx512, 1> { product, vector: PhantomData }),
        2 => isa.run(Narrow::<T, T::Avx512, 2> { product, vector: PhantomData }),
        3 => isa.run(Narrow::<T, T::Avx512, 3> { product, vector: PhantomData }),
        4 => isa.run(Narrow::<T, T::Avx512, 4> { product, vector: PhantomData }),
        _ => return false,
    }
    true
}
