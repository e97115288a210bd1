//! The closed table of tensor operators: pure functions from values to one value (TYPE-6, ERROR-4).
//!
//! Operators that are handled alike are families: [`Unary`], [`Binary`], [`Compare`], [`Reduction`], and conversions.
//! Every operator has one entry in each of these rooms, and the matches there are exhaustive, so that a new operator
//! makes the compiler list them: its class ([`Op::class`]), its name and text form ([`Op::name`], [`Op::parse`]), its
//! surface name ([`Op::surface`]), its result type ([`result_type`]), its evaluation ([`eval()`]), what it does for
//! many values at once ([`Op::over`]), its instances for tests ([`samples()`]), whether it may fail ([`Op::may_fail`]),
//! its adjoint (crate `rml-autodiff`). Attributes are concrete: elaboration has evaluated every static argument.
//!
//! Numbers follow IEEE 754; the only failures are integers that do not fit, positions outside of an axis, and
//! values that memory has no room for ([`EvalError`]).

use crate::types::{DType, Shape};

mod class;
mod compare;
mod einsum;
mod eval;
mod fail;
mod over;
mod reduction;
mod result;
mod samples;
mod sliding;
mod table;
mod text;

pub use class::Class;
pub use compare::Compare;
pub use einsum::Einsum;
pub use eval::{Around, Convolution, EvalError, Number, eval, need, negligible, product_onto, slices};
pub use reduction::Reduction;
pub use result::{MAX_ELEMENTS, TypeError, binary_takes, result_type, unary_takes};
pub use rml_kernels::{Binary, Unary};
pub use samples::{conditioned, samples};
pub use sliding::{Conv, ConvAxis, Pool, PoolAxis};
pub use table::{Notation, OpInfo, Topic, entries, info, names};

/// One entry of an index list, one for each axis of the operand, resolved against its size.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AxisIndex {
    /// Picks position `.0` and drops the axis.
    At(usize),
    /// Picks `len` positions from `start` on, `step` apart, and keeps the axis.
    Slice {
        /// First position.
        start: usize,
        /// How many.
        len: usize,
        /// Distance, not 0; negative goes backwards.
        step: isize,
    },
}

impl AxisIndex {
    /// The whole of an axis of that size.
    pub const fn whole(size: usize) -> Self {
        Self::Slice { start: 0, len: size, step: 1 }
    }

    /// The positions that it picks, in order.
    pub fn positions(self) -> impl Iterator<Item = usize> {
        let (start, len, step) = match self {
            Self::At(i) => (i, 1, 1),
            Self::Slice { start, len, step } => (start, len, step),
        };
        (0..len).map(move |k| start.wrapping_add_signed(step.wrapping_mul(k.cast_signed())))
    }
}

/// A tensor operator with its attributes. Pointwise operators of several operands broadcast them by NumPy's
/// rule.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Op {
    /// The operand itself.
    Copy,
    /// The operand itself; no gradient passes.
    StopGradient,
    /// Logical negation.
    Not,
    /// A function of one num; of ints `-x`, `abs` and `sign`.
    Unary(Unary),
    /// To another element type: 0 is false, what is not 0 is true. A num is truncated toward zero to an int, and one
    /// that does not fit is an error.
    Convert(DType),
    /// A function of two nums; of two ints the arithmetic (`/` truncates toward zero, `n / 0` is 0, and `mod(n, 0)` is
    /// `n`) and the smaller and larger one.
    Binary(Binary),
    /// A comparison; of bools whether they are equal, or not.
    Compare(Compare),
    /// Conjunction.
    And,
    /// Disjunction.
    Or,
    /// `minimum(maximum(x, lo), hi)` of `(x, lo, hi)`, for int and num.
    Clip,
    /// Element by element the second operand where the first is true, else the third; for all types.
    Where,
    /// Matrix product by NumPy's rule: a vector is one row on the left and one column on the right, leading
    /// axes are stacks of matrices and broadcast.
    MatMul,
    /// The Cholesky factor of `a [.., n, n]`, a lower triangular `l` with `l l' = a`, of which the lower triangle is
    /// read. All of it is NaN where the matrix is not positive definite.
    Cholesky,
    /// The solution `x` of `a x = b`, of square matrices `a [.., n, n]` and columns `b [.., n, m]`, or one column each,
    /// `b [.., n]`. Elimination with partial pivoting; a singular matrix gives infinities and NaN.
    Solve,
    /// The discrete Fourier transform of the last axis, of numbers: `x [.., n] -> [.., n / 2 + 1, 2]`, the real and
    /// imaginary parts of the frequencies that are not conjugates of others.
    Rfft,
    /// The inverse of [`Op::Rfft`]: `y [.., n / 2 + 1, 2] -> [.., n]`. The imaginary parts of frequency
    /// 0, and of frequency `n / 2` where `n` is even, do not count.
    Irfft {
        /// How many numbers.
        n: usize,
    },
    /// Contraction of one or two operands over the labels that the result lacks.
    Einsum(Einsum),
    /// Convolution (without flipping) of `x [b.., n.., c]` with `kernel [k.., c / groups, f]`.
    Conv(Conv),
    /// The transpose of [`Op::Conv`] in `x`: of the result's gradient and the kernel.
    ConvTranspose {
        /// The result's shape, which is that of `x`.
        shape: Shape,
        /// The convolution.
        conv: Conv,
    },
    /// The transpose of [`Op::Conv`] in `kernel`: of `x` and the result's gradient.
    ConvKernel {
        /// The result's shape, which is that of `kernel`.
        shape: Shape,
        /// The convolution.
        conv: Conv,
    },
    /// Largest element of each window of `x [b.., n.., c]`; what is padded does not count; NaN wins.
    MaxPool(Pool),
    /// Mean of each window of `x [b.., n.., c]`; what is padded counts as 0.
    AvgPool(Pool),
    /// The windows of `x [b.., n.., c]` themselves, `[b.., m.., size.., c]`; what is padded is 0.
    Patches(Pool),
    /// The transpose of [`Op::Patches`]: adds windows up where they overlap.
    Unpatches {
        /// The result's shape, which is that of `x`.
        shape: Shape,
        /// The windows.
        pool: Pool,
    },
    /// Axes in the order `perm`: axis `i` of the result is axis `perm[i]` of the operand.
    Transpose {
        /// A permutation of the axes.
        perm: Vec<usize>,
    },
    /// The same elements, row-major, under another shape.
    Reshape {
        /// The result's shape.
        shape: Shape,
    },
    /// The operand repeated to a larger shape (NumPy's rule), for all types.
    Broadcast {
        /// The result's shape.
        shape: Shape,
    },
    /// The transpose of [`Op::Broadcast`]: sums over the axes that broadcasting from `shape` would repeat.
    SumTo {
        /// The result's shape.
        shape: Shape,
    },
    /// Operands joined along `axis`; the other dimensions agree.
    Concat {
        /// The axis.
        axis: usize,
    },
    /// Operands of one shape stacked along a new axis (0 in array literals).
    Stack {
        /// The new axis.
        axis: usize,
    },
    /// Indexing and slicing, one entry an axis.
    Index {
        /// The entries.
        items: Vec<AxisIndex>,
    },
    /// The transpose of [`Op::Index`]: zeros of `shape` with the operand at the places that `items` picks.
    Unindex {
        /// The result's shape.
        shape: Shape,
        /// The entries.
        items: Vec<AxisIndex>,
    },
    /// Entries of `x` along an axis at int positions `i`: `x [l.., n, r..]`, `i [s..]` -> `[l.., s.., r..]`.
    Gather {
        /// The axis.
        axis: usize,
    },
    /// The transpose of [`Op::Gather`], of `(i, d)`: zeros of `shape` with `d` added at the positions `i`; int and
    /// num.
    ScatterAdd {
        /// The result's shape.
        shape: Shape,
        /// The axis.
        axis: usize,
    },
    /// One element of each row of `x`: `x [s.., n]`, int `i [s..]` -> `[s..]`.
    Pick,
    /// Folds one axis, which it drops, or all elements (`None`).
    Reduce(Reduction, Option<usize>),
    /// Sums of the elements up to each one along an axis, it included; int and num.
    CumSum {
        /// The axis.
        axis: usize,
        /// Whether it begins at the end.
        reverse: bool,
    },
    /// The elements in order along an axis; int and num. The sort is stable: equal elements, among them zeros of both
    /// signs, keep their order. NaN comes last, whatever the direction.
    Sort {
        /// The axis.
        axis: usize,
        /// Whether the largest element comes first.
        descending: bool,
    },
    /// The positions along an axis that [`Op::Sort`] takes the elements from.
    ArgSort {
        /// The axis.
        axis: usize,
        /// Whether the position of the largest element comes first.
        descending: bool,
    },
    /// Of `(keys, x)`, which have one shape: the elements of `x` in the order in which [`Op::Sort`] puts the keys; `x`
    /// of all types.
    SortBy {
        /// The axis.
        axis: usize,
        /// Whether the element with the largest key comes first.
        descending: bool,
    },
    /// Uniform numbers in `0..1`, of `(key, tick)`: a pure function of the two ints. Before inlining it has the key
    /// alone; inlining gives it the tick, which counts the cycles of its clock.
    RandomUniform {
        /// The result's shape.
        shape: Shape,
    },
    /// Standard normal numbers, likewise.
    RandomNormal {
        /// The result's shape.
        shape: Shape,
    },
    /// Softmax over the last axis.
    Softmax,
    /// Logarithm of softmax over the last axis.
    LogSoftmax,
    /// int `[s..]` to num `[s.., classes]`: 1.0 at the operand's position, all 0.0 where it is outside
    /// `0..classes`.
    OneHot {
        /// How many classes.
        classes: usize,
    },
}

/// A distribution that an initialiser draws from, once for each instance.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Distribution {
    /// Uniform in `±sqrt(6 / (fan_in + fan_out))`, the fans being the last two dimensions (both the length,
    /// for a vector).
    GlorotUniform,
    /// A matrix with orthonormal rows or columns; a vector of norm 1; leading dimensions are drawn
    /// independently.
    Orthogonal,
    /// The int that seed and instance path make, the key of a random stream.
    Key,
    /// Uniform in `lo..hi`.
    Uniform {
        /// Smallest.
        lo: f64,
        /// Largest, exclusive.
        hi: f64,
    },
    /// Normal.
    Normal {
        /// Mean.
        mean: f64,
        /// Standard deviation.
        std: f64,
    },
}
