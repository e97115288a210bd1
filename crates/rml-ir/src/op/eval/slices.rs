//! Operators on borrowed slices, into a slice: the same numbers as [`eval`](super::eval()), without a fresh value for each.

use super::view::Float;
use crate::op::{Op, ffi};
use crate::value::Data;

/// A type of numbers, `f32` or `f64`.
pub trait Number:
    Copy + Default + PartialEq + std::ops::AddAssign + std::fmt::Debug + Send + Sync + 'static
{
    /// Applies an operator of one num that gives a num to each element; false, and nothing done, for any other operator.
    fn unary(op: &Op, x: &[Self], out: &mut [Self]) -> bool;
    /// Applies an arithmetic operator of two nums to pairs of elements; a shorter operand, whose length divides that of `out`, is
    /// repeated. False, and nothing done, for any other operator.
    fn binary(op: &Op, a: &[Self], b: &[Self], out: &mut [Self]) -> bool;
    /// `out = a x b`, or `out += a x b`, for `(m, k, n)`, dense and row-major; `a` is `k x m` if it is `transposed`.
    fn product(
        size: (usize, usize, usize),
        a: &[Self],
        transposed: bool,
        b: &[Self],
        add: bool,
        out: &mut [Self],
    );
    /// These elements.
    fn data(elements: Vec<Self>) -> Data;
    /// The elements, if they are of this type.
    fn of(data: &Data) -> Option<&[Self]>;
}

macro_rules! number {
    ($t:ident, $variant:ident, $product:path) => {
        impl Number for $t {
            fn unary(op: &Op, x: &[Self], out: &mut [Self]) -> bool {
                unary(op, x, out)
            }
            fn binary(op: &Op, a: &[Self], b: &[Self], out: &mut [Self]) -> bool {
                binary(op, a, b, out)
            }
            fn product(
                size: (usize, usize, usize),
                a: &[Self],
                transposed: bool,
                b: &[Self],
                add: bool,
                out: &mut [Self],
            ) {
                $product(size, a, transposed, b, add, out);
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
number!(f32, F32, ffi::product_f32);
number!(f64, F64, ffi::product_f64);

fn unary<T: Float>(op: &Op, x: &[T], out: &mut [T]) -> bool {
    let f: fn(T) -> T = match op {
        Op::Neg => return map(x, out, |x| -x),
        Op::Abs => return map(x, out, T::abs),
        Op::Sign => return map(x, out, T::sign),
        Op::Sqrt => return map(x, out, T::sqrt),
        Op::Relu => return map(x, out, T::relu),
        Op::Sigmoid => return map(x, out, T::sigmoid),
        Op::Tanh => return map(x, out, T::tanh),
        Op::Exp => T::exp,
        Op::Log => T::ln,
        Op::Expm1 => T::exp_m1,
        Op::Log1p => T::ln_1p,
        Op::Sin => T::sin,
        Op::Cos => T::cos,
        Op::Erf => T::erf,
        Op::Gelu => T::gelu,
        Op::Softplus => T::softplus,
        Op::Floor => T::floor,
        Op::Ceil => T::ceil,
        Op::Round => T::round,
        _ => return false,
    };
    map(x, out, f)
}

fn map<T: Copy>(x: &[T], out: &mut [T], f: impl Fn(T) -> T) -> bool {
    out.iter_mut().zip(x).for_each(|(out, x)| *out = f(*x));
    true
}

fn binary<T: Float>(op: &Op, a: &[T], b: &[T], out: &mut [T]) -> bool {
    match op {
        Op::Add => zip(a, b, out, |a, b| a + b),
        Op::Sub => zip(a, b, out, |a, b| a - b),
        Op::Mul => zip(a, b, out, |a, b| a * b),
        Op::Div => zip(a, b, out, |a, b| a / b),
        Op::Pow => zip(a, b, out, T::powf),
        Op::Minimum => zip(a, b, out, T::least),
        Op::Maximum => zip(a, b, out, T::greatest),
        _ => false,
    }
}

fn zip<T: Copy>(a: &[T], b: &[T], out: &mut [T], f: impl Fn(T, T) -> T) -> bool {
    if out.is_empty() {
        return true;
    }
    match (a, b) {
        ([a], [b]) => out.fill(f(*a, *b)),
        ([a], _) if b.len() == out.len() => out.iter_mut().zip(b).for_each(|(out, b)| *out = f(*a, *b)),
        (_, [b]) if a.len() == out.len() => out.iter_mut().zip(a).for_each(|(out, a)| *out = f(*a, *b)),
        _ if a.len() == b.len() => {
            for out in out.chunks_exact_mut(a.len()) {
                out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out = f(*a, *b));
            }
        }
        _ if a.len() == out.len() => {
            for (out, a) in out.chunks_exact_mut(b.len()).zip(a.chunks_exact(b.len())) {
                out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out = f(*a, *b));
            }
        }
        _ if b.len() == out.len() => {
            for (out, b) in out.chunks_exact_mut(a.len()).zip(b.chunks_exact(a.len())) {
                out.iter_mut().zip(a.iter().zip(b)).for_each(|(out, (a, b))| *out = f(*a, *b));
            }
        }
        _ => {
            for (i, out) in out.iter_mut().enumerate() {
                *out = f(a[i % a.len()], b[i % b.len()]);
            }
        }
    }
    true
}
