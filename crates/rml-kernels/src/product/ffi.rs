//! Blocked products.
//!
//! Columns are taken a panel at a time, the inner dimension in pieces, rows a few at a time: a micro-kernel keeps that
//! many rows of some vectors of columns in registers. Where there are many rows, or columns of the right operand are
//! contiguous, a piece of a panel is packed first; else kernels read the operand as it is stored.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use super::packed::{PANEL, pack, panel};

use super::{Product, Right};
use crate::isa::{Isa, Task};
use crate::real::KernelNumber;
use crate::vector::Vector;

/// The inner dimension is taken in pieces of that many steps.
const DEPTH: usize = 256;

/// Rows from which on packing a row-major right operand pays.
const MANY_ROWS: usize = 13;

/// Part of a product for a micro-kernel: some rows, some columns, some of the inner dimension.
struct Block<T> {
    /// How many runs of steps there are, each before the one that was taken last, and how many steps each has.
    runs: usize,
    depth: usize,
    left: *const T,
    /// From one row, one column of the left operand to the next.
    left_row: usize,
    left_column: usize,
    right: *const T,
    right_row: usize,
    /// From the end of a run of the right operand back to the start of the next one.
    right_back: usize,
    out: *mut T,
    out_row: usize,
    /// Columns.
    width: usize,
    add: bool,
}

/// `M` rows of `N` vectors of columns, the last of which is partial if `PART`.
///
/// # Safety
/// The machine has the instruction set of `V`; pointers are valid for `M` rows, `width` columns and `depth` steps,
/// where `(N - 1) LANES < width <= N LANES`.
#[inline(always)]
unsafe fn kernel<T: KernelNumber, V: Vector<T>, const M: usize, const N: usize, const PART: bool>(
    block: &Block<T>,
) {
    // SAFETY: all pointers stay within what the caller promises: row i < M, vector j < N, of the last vector only the
    // lanes below `width`.
    unsafe {
        let last = V::mask(block.width - (N - 1) * V::LANES);
        let load = |p: *const T, j: usize| {
            let p = p.add(j * V::LANES);
            if PART && j + 1 == N { V::load_some(p, last) } else { V::load(p) }
        };
        let mut sums = [[V::splat(T::ZERO); N]; M];
        if block.add {
            for (i, sums) in sums.iter_mut().enumerate() {
                for (j, sum) in sums.iter_mut().enumerate() {
                    *sum = load(block.out.add(i * block.out_row), j);
                }
            }
        }
        let (mut left, mut right) = (block.left, block.right);
        for _ in 0..block.runs {
            for _ in 0..block.depth {
                let mut row = [V::splat(T::ZERO); N];
                for (j, row) in row.iter_mut().enumerate() {
                    *row = load(right, j);
                }
                for (i, sums) in sums.iter_mut().enumerate() {
                    let x = V::splat(*left.add(i * block.left_row));
                    for (sum, row) in sums.iter_mut().zip(row) {
                        *sum = x.mul_add(row, *sum);
                    }
                }
                left = left.wrapping_add(block.left_column);
                right = right.wrapping_add(block.right_row);
            }
            left = left.wrapping_sub(block.left_column.wrapping_mul(2 * block.depth));
            right = right.wrapping_sub(block.right_back);
        }
        for (i, sums) in sums.iter().enumerate() {
            for (j, sum) in sums.iter().enumerate() {
                let p = block.out.add(i * block.out_row + j * V::LANES);
                if PART && j + 1 == N { sum.store_some(p, last) } else { sum.store(p) }
            }
        }
    }
}

/// A call of a kernel. It is a function of its own for each size, which keeps functions small.
struct Call<'b, T, V, const M: usize, const N: usize, const PART: bool> {
    block: &'b Block<T>,
    vector: PhantomData<V>,
}

impl<T: KernelNumber, V: Vector<T>, const M: usize, const N: usize, const PART: bool> Task
    for Call<'_, T, V, M, N, PART>
{
    type Output = ();
    #[inline(always)]
    fn run(self) {
        // SAFETY: `rows_of` makes the only values, of blocks that are as a kernel wants them, and runs them with the
        // vector's instructions.
        unsafe { kernel::<T, V, M, N, PART>(self.block) }
    }
}

/// Computes a block with the kernel for that many rows and `N` vectors.
///
/// # Safety
/// As for [`kernel`], with `rows` for `M`, at most `V::ROWS`; the machine has `isa`, which is that of `V`.
#[inline(always)]
unsafe fn rows_of<T: KernelNumber, V: Vector<T>, const N: usize, const PART: bool>(
    isa: Isa,
    rows: usize,
    block: &Block<T>,
) {
    macro_rules! cases {
        ($($m:literal)*) => {
            match rows {
                $($m if const { $m <= V::ROWS && ($m * N <= V::ACCUMULATORS) } => {
                    isa.run(Call::<T, V, $m, N, PART> { block, vector: PhantomData });
                })*
                _ => unreachable!("as many rows and vectors as there are kernels for"),
            }
        };
    }
    cases!(1 2 3 4 5 6)
}

/// Computes rows of at most a panel of columns: four vectors, two or one at once, as there are accumulators for.
///
/// # Safety
/// As for [`rows_of`].
#[inline(always)]
unsafe fn strip<T: KernelNumber, V: Vector<T>>(isa: Isa, rows: usize, block: &mut Block<T>) {
    let mut left = block.width;
    while left > 0 {
        let vectors = if V::MASKS { left.div_ceil(V::LANES) } else { (left / V::LANES).max(1) };
        let vectors = match vectors.min(V::ACCUMULATORS / rows) {
            1 => 1,
            2 | 3 => 2,
            _ => 4,
        };
        block.width = left.min(vectors * V::LANES);
        let part = block.width < vectors * V::LANES;
        // SAFETY: columns that the caller promises, those that are left.
        unsafe {
            match (vectors, part) {
                (1, false) if const { !V::MASKS } => rows_of::<T, V, 1, false>(isa, rows, block),
                (2, _) if const { !V::MASKS } => rows_of::<T, V, 2, false>(isa, rows, block),
                (4, _) if const { !V::MASKS } => rows_of::<T, V, 4, false>(isa, rows, block),
                (2, _) if const { V::MASKS } => rows_of::<T, V, 2, true>(isa, rows, block),
                (4, _) if const { V::MASKS } => rows_of::<T, V, 4, true>(isa, rows, block),
                _ => rows_of::<T, V, 1, true>(isa, rows, block),
            }
            left -= block.width;
            block.right = block.right.add(block.width);
            block.out = block.out.add(block.width);
        }
    }
}

/// A piece of a panel, packed.
#[repr(C, align(64))]
struct Piece(MaybeUninit<[u8; DEPTH * PANEL]>);

/// A product whose operands have elements.
struct Blocked<'p, 'a, T, V> {
    /// That of the vector.
    isa: Isa,
    product: &'p mut Product<'a, T>,
    /// Where pieces of panels are packed; nowhere, if the right operand is read as it is stored.
    room: Option<&'p mut Piece>,
    vector: PhantomData<V>,
}

impl<T: KernelNumber, V: Vector<T>> Task for Blocked<'_, '_, T, V> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Blocked { isa, product: Product { left, right, add, out, back }, mut room, .. } = self;
        let (m, n, depth) = (out.rows(), out.columns(), left.columns());
        let stride = left.stride();
        let (left_row, left_column) = if left.is_transposed() { (1, stride) } else { (stride, 1) };
        let (left, out_row, out) = (left.data().as_ptr(), out.stride(), out.data().as_mut_ptr());
        let all = panel::<T>();
        for (i, from) in (0..n).step_by(all).enumerate() {
            let width = all.min(n - from);
            for (piece, Steps { first, depth, runs }) in pieces(depth, *back).enumerate() {
                let mut right_back = 0;
                // SAFETY: of each run, rows `first..first + depth` and columns `from..from + width` are those of the
                // right operand; its panel i has as many rows as the operand; a piece has room for `DEPTH` rows of a
                // panel; without one, it is row-major, as `multiply` says.
                let (right, right_row) = unsafe {
                    match right {
                        Right::Packed(p) => {
                            (p.lines().as_ptr().cast::<T>().add((i * p.rows() + first) * all), all)
                        }
                        Right::Matrix(b) => match &mut room {
                            None => {
                                right_back = 2 * depth * b.stride();
                                (b.data().as_ptr().add((first * b.stride()) + from), b.stride())
                            }
                            Some(piece) => {
                                let to: *mut T = piece.0.as_mut_ptr().cast();
                                for run in 0..runs {
                                    pack(
                                        b,
                                        first - run * depth,
                                        depth,
                                        from,
                                        width,
                                        to.add(run * depth * all),
                                    );
                                }
                                (to.cast_const(), all)
                            }
                        },
                    }
                };
                let strips = m.div_ceil(V::ROWS);
                let mut done = 0;
                for strips_left in (1..=strips).rev() {
                    let rows = (m - done).div_ceil(strips_left);
                    // SAFETY: rows `done..done + rows`, columns `from..from + width` and steps `first..first + depth`
                    // exist in the operands, whose element (i, j) is at `i * row + j * column`; `out` is borrowed
                    // mutably, so it overlaps neither.
                    unsafe {
                        let left = left.add(done * left_row + first * left_column);
                        // Runs of one step are steps backward.
                        let (runs, depth, left_column, right_row) = match (depth, right_back) {
                            (1, 0) => (1, runs, left_column.wrapping_neg(), right_row),
                            (1, _) => (1, runs, left_column.wrapping_neg(), right_row.wrapping_neg()),
                            _ => (runs, depth, left_column, right_row),
                        };
                        strip::<T, V>(
                            isa,
                            rows,
                            &mut Block {
                                runs,
                                depth,
                                left,
                                left_row,
                                left_column,
                                right,
                                right_row,
                                right_back,
                                out: out.add(done * out_row + from),
                                out_row,
                                width,
                                add: *add || piece > 0,
                            },
                        );
                    }
                    done += rows;
                }
            }
        }
    }
}

/// Steps of the inner dimension that are taken together: runs of `depth` steps, the first of which begins at `first`,
/// and each other one before the run that was taken last.
struct Steps {
    first: usize,
    depth: usize,
    runs: usize,
}

/// All steps, in the order in which they are taken; in runs of `back` steps, if that is not 0.
fn pieces(depth: usize, back: usize) -> impl Iterator<Item = Steps> {
    let whole = if back == 0 { depth } else { back };
    // As many runs as fit into a piece; of one that does not fit, its parts.
    let many = (DEPTH / whole).max(1);
    let count = (depth / whole).div_ceil(many);
    (0..count).flat_map(move |piece| {
        let end = depth / whole - piece * many;
        let runs = many.min(end);
        let start = (end - 1) * whole;
        (0..whole).step_by(DEPTH).map(move |part| Steps {
            first: start + part,
            depth: DEPTH.min(whole - part),
            runs,
        })
    })
}

/// Computes a product; no dimension is 0.
pub(super) fn multiply<T: KernelNumber>(isa: Isa, product: &mut Product<'_, T>) {
    match product.right {
        Right::Matrix(b) if b.is_transposed() || product.out.rows() >= MANY_ROWS => packing(isa, product),
        _ => blocked(isa, product, None),
    }
}

/// A function of its own, since one with a frame as large as a piece touches all of its pages whenever it is called.
#[inline(never)]
fn packing<T: KernelNumber>(isa: Isa, product: &mut Product<'_, T>) {
    blocked(isa, product, Some(&mut Piece(MaybeUninit::uninit())));
}

fn blocked<T: KernelNumber>(isa: Isa, product: &mut Product<'_, T>, room: Option<&mut Piece>) {
    match isa {
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => isa.run(Blocked::<T, T::Avx512> { isa, product, room, vector: PhantomData }),
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => isa.run(Blocked::<T, T::Avx2> { isa, product, room, vector: PhantomData }),
        Isa::Portable => isa.run(Blocked::<T, T::Plain> { isa, product, room, vector: PhantomData }),
    }
}
