//! Operators on borrowed slices, into a slice: the same numbers as [`eval`](super::eval()), without a fresh value for
//! each.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Range, Sub};

use rml_kernels::{Matrix, MatrixMut, Packed};

use super::reduce::{self, Around};
use super::view::Float;
use super::{CHECKED, Convolution, EvalError, random};
use crate::Precision;
use crate::op::{Binary, Compare, Op, Reduction, Unary};
use crate::value::Data;

/// A type of numbers, `f32` or `f64`.
pub trait Number:
    Copy
    + Default
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + std::fmt::Debug
    + Send
    + Sync
    + 'static
{
    /// 1.
    const ONE: Self;
    /// Applies a function to each element.
    fn unary(f: Unary, x: &[Self], out: &mut [Self]);
    /// Applies a function to one element.
    fn unary_one(f: Unary, x: Self) -> Self;
    /// `sigmoid` of each element, compiled with the task that it is inlined into.
    fn sigmoid(x: &[Self], out: &mut [Self]);
    /// `flush` of one element, compiled with the task that it is inlined into.
    fn flush(self) -> Self;
    /// `tanh` of each element, compiled with the task that it is inlined into.
    fn tanh(x: &[Self], out: &mut [Self]);
    /// Applies a function to pairs of elements; a shorter operand, whose length divides that of `out`, is repeated.
    fn binary(f: Binary, a: &[Self], b: &[Self], out: &mut [Self]);
    /// `out = a x b`, or `out += a x b`, for `(m, k, n)`, dense and row-major; the operands that are `transposed` are
    /// `k x m` and `n x k`.
    fn product(
        size: (usize, usize, usize),
        a: &[Self],
        b: &[Self],
        transposed: [bool; 2],
        add: bool,
        out: &mut [Self],
    );
    /// `out += aᵀ x b` for a `k x m` matrix `a`, of which these columns alone are taken, and a `k x n` matrix `b`. If
    /// `back` is not 0, rows are taken in runs of that many, from the last run to the first one.
    fn add_outer(
        size: [usize; 3],
        columns: Range<usize>,
        a: &[Self],
        b: &[Self],
        back: usize,
        out: &mut [Self],
    );
    /// `out += a x b` for a `k x n` matrix `b`, where each row of `a` is `zeros`: about as quick as one row.
    fn product_of_zeros(size: (usize, usize), zeros: &[Self], b: &[Self], out: &mut [Self]);
    /// Lays a `k x n` matrix out for products with it; from its columns, if it is `turned` round.
    fn pack(size: (usize, usize), turned: bool, b: &[Self], packed: &mut Option<Packed<Self>>);
    /// `out = a x b`, or `out += a x b`, for a dense `a` of `m` rows.
    fn product_packed(m: usize, a: &[Self], b: &Packed<Self>, add: bool, out: &mut [Self]);
    /// A convolution or a gradient of one; or of a gradient that has [rows](Convolution::rows), these alone.
    fn convolve(by: &Convolution, some: Option<&Range<usize>>, a: &[Self], b: &[Self], out: &mut [Self]);
    /// A fold along an axis that gives numbers. False, and nothing done, for what gives no numbers.
    fn reduce(by: Reduction, around: Around, x: &[Self], out: &mut [Self]) -> bool;
    /// Positions of the first largest, or smallest, elements along an axis.
    fn position(largest: bool, around: Around, x: &[Self], out: &mut [i64]);
    /// Softmax, or its logarithm, of rows of that many columns.
    fn softmax(log: bool, columns: usize, x: &[Self], out: &mut [Self]);
    /// The numbers that `random_uniform` or `random_normal` draws for a key at a tick.
    fn draw(op: &Op, key: i64, tick: i64, out: &mut [Self]);
    /// The integer, rounded once.
    fn of_int(x: i64) -> Self;
    /// Truncated toward zero, if that fits.
    fn to_int(self) -> Option<i64>;
    /// These elements.
    fn data(elements: Vec<Self>) -> Data;
    /// Elements of this type, to be added to.
    fn elements(data: &mut Data) -> Option<&mut Vec<Self>>;
    /// The elements, if they are of this type.
    fn of(data: &Data) -> Option<&[Self]>;
}

macro_rules! number {
    ($t:ident, $variant:ident, $below:path) => {
        #[allow(clippy::cast_precision_loss, reason = "rounding to the nearest number is meant")]
        impl Number for $t {
            const ONE: Self = 1.0;
            fn reduce(by: Reduction, around: Around, x: &[Self], out: &mut [Self]) -> bool {
                reduce::nums_into(by, around, x, out)
            }
            fn position(largest: bool, around: Around, x: &[Self], out: &mut [i64]) {
                reduce::position_into(around, x, largest, out);
            }
            fn softmax(log: bool, columns: usize, x: &[Self], out: &mut [Self]) {
                reduce::softmax_into(x, columns, log, out);
            }
            fn draw(op: &Op, key: i64, tick: i64, out: &mut [Self]) {
                #[allow(clippy::cast_possible_truncation, reason = "rounding is meant")]
                random::fill(op, (key, tick), out, (|x| x as $t, $below));
            }
            fn of_int(x: i64) -> Self {
                x as $t
            }
            fn to_int(self) -> Option<i64> {
                Float::to_int(self)
            }
            fn unary(f: Unary, x: &[Self], out: &mut [Self]) {
                rml_kernels::unary(f, x, out);
            }
            #[inline]
            fn unary_one(f: Unary, x: Self) -> Self {
                rml_kernels::unary_one(f, x)
            }
            #[inline(always)]
            fn sigmoid(x: &[Self], out: &mut [Self]) {
                rml_kernels::sigmoid(x, out);
            }
            #[inline(always)]
            fn flush(self) -> Self {
                rml_kernels::flush(self)
            }
            #[inline(always)]
            fn tanh(x: &[Self], out: &mut [Self]) {
                rml_kernels::tanh(x, out);
            }
            fn binary(f: Binary, a: &[Self], b: &[Self], out: &mut [Self]) {
                rml_kernels::binary(f, a, b, out);
            }
            fn product(
                (m, k, n): (usize, usize, usize),
                a: &[Self],
                b: &[Self],
                [left, right]: [bool; 2],
                add: bool,
                out: &mut [Self],
            ) {
                let left = if left { Matrix::new(k, m, a).transposed() } else { Matrix::new(m, k, a) };
                let right = if right { Matrix::new(n, k, b).transposed() } else { Matrix::new(k, n, b) };
                rml_kernels::product(left, right, add, MatrixMut::new(m, n, out));
            }
            fn add_outer(
                [m, k, n]: [usize; 3],
                columns: Range<usize>,
                a: &[Self],
                b: &[Self],
                back: usize,
                out: &mut [Self],
            ) {
                let left = Matrix::strided(k, columns.len(), m, &a[columns.start..]).transposed();
                let (right, out) = (Matrix::new(k, n, b), MatrixMut::new(columns.len(), n, out));
                match back {
                    0 => rml_kernels::product(left, right, true, out),
                    run => rml_kernels::product_backward(left, right, run, out),
                }
            }
            fn product_of_zeros((k, n): (usize, usize), zeros: &[Self], b: &[Self], out: &mut [Self]) {
                let out = MatrixMut::new(out.len() / n.max(1), n, out);
                rml_kernels::product_of_zeros(zeros, Matrix::new(k, n, b), out);
            }
            fn pack((k, n): (usize, usize), turned: bool, b: &[Self], packed: &mut Option<Packed<Self>>) {
                let matrix = if turned { Matrix::new(n, k, b).transposed() } else { Matrix::new(k, n, b) };
                match packed {
                    Some(packed) => packed.set(matrix),
                    None => *packed = Some(Packed::new(matrix)),
                }
            }
            fn product_packed(m: usize, a: &[Self], b: &Packed<Self>, add: bool, out: &mut [Self]) {
                let left = Matrix::new(m, b.rows(), a);
                rml_kernels::product_packed(left, b, add, MatrixMut::new(m, b.columns(), out));
            }
            fn convolve(
                by: &Convolution,
                some: Option<&Range<usize>>,
                a: &[Self],
                b: &[Self],
                out: &mut [Self],
            ) {
                by.run(some, a, b, out);
            }
            fn elements(data: &mut Data) -> Option<&mut Vec<Self>> {
                if let Data::$variant(elements) = data { Some(elements) } else { None }
            }
            fn data(elements: Vec<Self>) -> Data {
                Data::$variant(elements)
            }
            fn of(data: &Data) -> Option<&[Self]> {
                if let Data::$variant(v) = data { Some(v) } else { None }
            }
        }
    };
}
number!(f32, F32, crate::random::below_f32);
number!(f64, F64, crate::random::below_f64);

/// The least magnitude that `flush` keeps: the smallest normal number by the distance of 1 to the next number, 2^-103
/// or 2^-970.
pub fn negligible(precision: Precision) -> f64 {
    match precision {
        Precision::F32 => f64::from(f32::MIN_POSITIVE / f32::EPSILON),
        Precision::F64 => f64::MIN_POSITIVE / f64::EPSILON,
    }
}

/// A comparison of pairs of elements; an operand of one element is repeated.
pub fn compare<T: Copy + PartialOrd>(by: Compare, a: &[T], b: &[T], out: &mut [bool]) {
    match by {
        Compare::Eq => zip(a, b, out, |a, b| a == b),
        Compare::Ne => zip(a, b, out, |a, b| a != b),
        Compare::Lt => zip(a, b, out, |a, b| a < b),
        Compare::Le => zip(a, b, out, |a, b| a <= b),
        Compare::Gt => zip(a, b, out, |a, b| a > b),
        Compare::Ge => zip(a, b, out, |a, b| a >= b),
    }
}

/// `and` of pairs of elements, or `or`; an operand of one element is repeated.
pub fn logic(and: bool, a: &[bool], b: &[bool], out: &mut [bool]) {
    if and {
        zip(a, b, out, |a, b| a & b);
    } else {
        zip(a, b, out, |a, b| a | b);
    }
}

/// A function of one integer.
///
/// # Errors
/// A result that does not fit.
///
/// # Panics
/// If it is none of integers.
#[inline]
pub fn int_unary(f: Unary, x: i64) -> Result<i64, EvalError> {
    match f {
        Unary::Neg => x.checked_neg(),
        Unary::Abs => x.checked_abs(),
        Unary::Sign => Some(x.signum()),
        Unary::Exp | Unary::Expm1 | Unary::Log | Unary::Log1p | Unary::Sqrt | Unary::Sin | Unary::Cos => {
            unreachable!("{CHECKED}")
        }
        Unary::Erf | Unary::Gelu | Unary::Softplus | Unary::Sigmoid | Unary::Tanh | Unary::Relu => {
            unreachable!("{CHECKED}")
        }
        Unary::Flush | Unary::Floor | Unary::Ceil | Unary::Round => unreachable!("{CHECKED}"),
    }
    .ok_or(EvalError::IntegerOverflow)
}

/// A function of two integers.
///
/// # Errors
/// A result that does not fit.
///
/// # Panics
/// If it is none of integers.
#[inline]
pub fn int_binary(f: Binary, a: i64, b: i64) -> Result<i64, EvalError> {
    match f {
        Binary::Add => a.checked_add(b),
        Binary::Sub => a.checked_sub(b),
        Binary::Mul => a.checked_mul(b),
        Binary::Div => int_div(a, b),
        Binary::Mod => Some(int_mod(a, b)),
        Binary::Minimum => Some(a.min(b)),
        Binary::Maximum => Some(a.max(b)),
        Binary::Pow | Binary::Atan2 | Binary::LogAddExp => unreachable!("{CHECKED}"),
    }
    .ok_or(EvalError::IntegerOverflow)
}

/// `a / b`, truncated toward zero; 0 for a zero divisor; `None` where it overflows.
#[inline]
pub(super) fn int_div(a: i64, b: i64) -> Option<i64> {
    if b == 0 { Some(0) } else { a.checked_div(b) }
}

/// The remainder of `a / b` with the sign of `b`; `a` for a zero divisor.
#[inline]
pub(super) fn int_mod(a: i64, b: i64) -> i64 {
    if b == 0 {
        return a;
    }
    let rest = a.wrapping_rem(b);
    if rest != 0 && (rest < 0) != (b < 0) { rest + b } else { rest }
}

/// Sums of integers along an axis.
///
/// # Errors
/// A sum that does not fit.
pub fn int_sum(around: Around, x: &[i64], out: &mut [i64]) -> Result<(), EvalError> {
    around.sum_ints_into(x, out)
}

/// Largest or smallest integers along an axis.
pub fn int_extreme(largest: bool, around: Around, x: &[i64], out: &mut [i64]) {
    reduce::extreme_into(around, x, largest, out);
}

/// Positions of the first largest, or smallest, integers along an axis.
pub fn int_position(largest: bool, around: Around, x: &[i64], out: &mut [i64]) {
    reduce::position_into(around, x, largest, out);
}

/// Whether all, or any, elements along an axis are true.
pub fn quantify(all: bool, around: Around, x: &[bool], out: &mut [bool]) {
    reduce::quantify_into(around, x, all, out);
}

fn zip<T: Copy, R>(a: &[T], b: &[T], out: &mut [R], f: impl Fn(T, T) -> R) {
    match (a, b) {
        ([a], [b]) => out.iter_mut().for_each(|out| *out = f(*a, *b)),
        ([a], _) => out.iter_mut().zip(b).for_each(|(out, b)| *out = f(*a, *b)),
        (_, [b]) => out.iter_mut().zip(a).for_each(|(out, a)| *out = f(*a, *b)),
        _ => out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out = f(*a, *b)),
    }
}
