//! The micro-kernels of one row. They stand in one function, and nothing is packed: for one row, whatever stands around
//! kernels counts.
#![allow(unsafe_code)]

use std::marker::PhantomData;

use crate::isa::{Isa, Task};
use crate::product::packed::panel;
use crate::product::{Matrix, Right};
use crate::real::KernelNumber;
use crate::vector::Vector;

/// Vectors of a panel, or of a part of it, whose chains run at the same time.
const VECTORS: usize = 4;

/// Where vectors are panels, those of two panels.
const PAIR: usize = 2 * VECTORS;

/// Some columns of a product.
#[derive(Clone, Copy)]
struct Columns<'a, T> {
    left: Matrix<'a, T>,
    right: Right<'a, T>,
    /// Whether the chains begin with the old values.
    add: bool,
    /// Which panel they are in, from which column of it on, and how many they are.
    panel: usize,
    from: usize,
    width: usize,
}

/// `N` vectors of columns, the last of which is partial if `PART`.
///
/// # Safety
/// The machine has the instruction set of `V`; the right matrix and `out` have these columns, where
/// `(N - 1) LANES < width <= N LANES`; if they are those of more than one panel, a panel has `VECTORS` vectors and they
/// begin with it; the right matrix has as many rows as the left one has columns, and is not transposed; `out` overlaps
/// neither.
#[inline(always)]
unsafe fn kernel<T: KernelNumber, V: Vector<T>, const N: usize, const PART: bool>(
    Columns { left, right, add, panel: number, from, width }: Columns<'_, T>,
    out: *mut T,
) {
    let (all, first) = (panel::<T>(), number * panel::<T>() + from);
    // SAFETY: all pointers stay within what the caller promises: vector j < N, of the last vector only the lanes below
    // `width`. Rows of a matrix are `stride` apart; those of a packed one are those of a panel, each of which has all
    // rows, so that the next panel begins `gap` after the end of a row of this one.
    unsafe {
        let last = V::mask(width - (N - 1) * V::LANES);
        let load = |p: *const T, j: usize| {
            let p = p.add(j * V::LANES);
            if PART && j + 1 == N { V::load_some(p, last) } else { V::load(p) }
        };
        let out = out.add(first);
        let mut chains = [V::splat(T::ZERO); N];
        if add {
            for (j, chain) in chains.iter_mut().enumerate() {
                *chain = load(out, j);
            }
        }
        let (mut right, stride, gap) = match right {
            Right::Packed(b) => {
                let panel = b.rows() * all;
                (b.lines().as_ptr().cast::<T>().add(number * panel + from), all, panel.wrapping_sub(all))
            }
            Right::Matrix(b) => (b.data().as_ptr().add(first), b.stride(), 0),
        };
        let step = if left.is_transposed() { left.stride() } else { 1 };
        let mut x = left.data().as_ptr();
        for _ in 0..left.columns() {
            let factor = V::splat(*x);
            for (j, chain) in chains.iter_mut().enumerate() {
                let panel = right.wrapping_add(if j < VECTORS { 0 } else { gap });
                *chain = factor.mul_add(load(panel, j), *chain);
            }
            x = x.wrapping_add(step);
            right = right.wrapping_add(stride);
        }
        for (j, chain) in chains.iter().enumerate() {
            let p = out.add(j * V::LANES);
            if PART && j + 1 == N { chain.store_some(p, last) } else { chain.store(p) }
        }
    }
}

/// A product of one row, which has as many columns as `out`.
struct Row<'a, T, V> {
    left: Matrix<'a, T>,
    right: Right<'a, T>,
    add: bool,
    /// Whether the last columns come first.
    backward: bool,
    out: &'a mut [T],
    vector: PhantomData<V>,
}

impl<T: KernelNumber, V: Vector<T>> Task for Row<'_, T, V> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Row { left, right, add, backward, out, .. } = self;
        let (n, all) = (out.len(), panel::<T>());
        let out = out.as_mut_ptr();
        let pairs = if V::LANES * VECTORS == all { n / (2 * all) } else { 0 };
        // Pairs of whole panels, then the other panels, or the same backward.
        let turns = n.div_ceil(all) - pairs;
        for i in 0..turns {
            let turn = if backward { turns - 1 - i } else { i };
            if turn < pairs {
                let columns = Columns { left, right, add, panel: 2 * turn, from: 0, width: 2 * all };
                // SAFETY: as below; a panel has `VECTORS` vectors, and this one and the next one are whole.
                unsafe { kernel::<T, V, PAIR, false>(columns, out) };
                continue;
            }
            let panel = pairs + turn;
            let wide = all.min(n - panel * all);
            for from in (0..wide).step_by(VECTORS * V::LANES) {
                let width = (wide - from).min(VECTORS * V::LANES);
                let columns = Columns { left, right, add, panel, from, width };
                // SAFETY: `row` makes the only values, with the instruction set of `V`, of matrices that fit each other
                // and have `n` columns, as `out` has, and are not transposed; `out` is borrowed mutably, so it overlaps
                // none.
                unsafe {
                    match width.div_ceil(V::LANES) {
                        1 => kernel::<T, V, 1, true>(columns, out),
                        2 => kernel::<T, V, 2, true>(columns, out),
                        3 => kernel::<T, V, 3, true>(columns, out),
                        _ if width == VECTORS * V::LANES => kernel::<T, V, VECTORS, false>(columns, out),
                        _ => kernel::<T, V, VECTORS, true>(columns, out),
                    }
                }
            }
        }
    }
}

/// The product of a matrix of one row with one whose rows are contiguous; with `add`, its chains begin with the values
/// of `out`.
///
/// # Panics
/// If the sizes do not fit each other.
pub(crate) fn row<T: KernelNumber>(
    isa: Isa,
    left: Matrix<'_, T>,
    right: Right<'_, T>,
    add: bool,
    out: &mut [T],
) {
    let (rows, columns, is_transposed, backward) = match &right {
        Right::Matrix(matrix) => (matrix.rows(), matrix.columns(), matrix.is_transposed(), false),
        Right::Packed(matrix) => (matrix.rows(), matrix.columns(), false, matrix.turn()),
    };
    assert_eq!((left.rows(), left.columns()), (1, rows), "inner dimension of a product");
    assert_eq!(columns, out.len(), "columns of a product");
    assert!(!is_transposed, "a matrix with contiguous rows");
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => isa.run(Row::<T, T::Avx512> { left, right, add, backward, out, vector: PhantomData }),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => isa.run(Row::<T, T::Avx2> { left, right, add, backward, out, vector: PhantomData }),
        Isa::Portable => isa.run(Row::<T, T::Plain> { left, right, add, backward, out, vector: PhantomData }),
    }
}
