//! The closed table of tensor operators: pure functions from values to one value.
//!
//! Every operator has one entry in each of these rooms, and the matches there are exhaustive, so that a new
//! operator makes the compiler list them: its name and text form ([`Op::name`], [`Op::parse`]), its surface name
//! ([`Op::surface`]), its result type ([`result_type`]), its evaluation ([`eval()`]), its instances for tests
//! ([`samples()`]), its adjoint (crate `rml-autodiff`). Attributes are concrete: elaboration has evaluated every
//! static argument.
//!
//! Numbers follow IEEE 754; the only failure is an integer that does not fit ([`EvalError`]).

use crate::types::Shape;

mod eval;
mod ffi;
mod result;
mod samples;
mod table;
mod text;

pub use eval::{EvalError, eval};
pub use result::{MAX_ELEMENTS, TypeError, result_type};
pub use samples::samples;
pub use table::{Form, OpInfo, Topic, entries, info, names};

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
        /// Distance, at least 1.
        step: usize,
    },
}

/// A tensor operator with its attributes. Pointwise operators of several operands broadcast them by NumPy's
/// rule.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Op {
    /// The operand itself.
    Copy,
    /// The operand itself; no gradient passes.
    StopGradient,
    /// `-x`, for int and num.
    Neg,
    /// Logical negation.
    Not,
    /// Absolute value, for int and num.
    Abs,
    /// -1, 0 or 1 (NaN for NaN), for int and num.
    Sign,
    /// Exponential function.
    Exp,
    /// Natural logarithm.
    Log,
    /// Square root.
    Sqrt,
    /// `1 / (1 + exp(-x))`.
    Sigmoid,
    /// Hyperbolic tangent.
    Tanh,
    /// `x` where `x > 0`, else 0.
    Relu,
    /// bool or int to num.
    ToNum,
    /// bool or num to int; num is truncated toward zero, what does not fit is an error.
    ToInt,
    /// int or num to bool: whether it differs from 0.
    ToBool,
    /// Sum, for int and num.
    Add,
    /// Difference, for int and num.
    Sub,
    /// Product, for int and num.
    Mul,
    /// Quotient; int truncates toward zero and gives 0 for a zero divisor.
    Div,
    /// Conjunction.
    And,
    /// Disjunction.
    Or,
    /// Equality of elements, for all types.
    Eq,
    /// Inequality of elements, for all types.
    Ne,
    /// Less than, for int and num.
    Lt,
    /// At most, for int and num.
    Le,
    /// Greater than, for int and num.
    Gt,
    /// At least, for int and num.
    Ge,
    /// Matrix product, NumPy's rule for operands of rank 1 and 2 and for a left operand of higher rank with a
    /// right one of rank 1 or 2.
    MatMul,
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
    /// Operands of one shape stacked along a new axis 0 (array literals).
    Stack,
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
    /// Sum over one axis (dropped), or over all elements, for int and num. 0 of nothing.
    Sum {
        /// The axis; `None` = all.
        axis: Option<usize>,
    },
    /// Mean over one axis (dropped), or over all elements; num only. NaN of nothing.
    Mean {
        /// The axis; `None` = all.
        axis: Option<usize>,
    },
    /// Largest element along one axis (dropped), or of all; NaN wins; int and num.
    Max {
        /// The axis; `None` = all.
        axis: Option<usize>,
    },
    /// Position of the first largest element along one axis (dropped), or of all (row-major); an int. NaN
    /// wins.
    ArgMax {
        /// The axis; `None` = all.
        axis: Option<usize>,
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
