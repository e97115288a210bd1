//! Operators on borrowed slices, into a slice: the same numbers as [`eval`](super::eval()), without a fresh value for each.

use rml_kernels::{Binary, Matrix, MatrixMut, Unary};

use crate::op::Op;
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
    ($t:ident, $variant:ident) => {
        impl Number for $t {
            fn unary(op: &Op, x: &[Self], out: &mut [Self]) -> bool {
                function(op).map(|f| rml_kernels::unary(f, x, out)).is_some()
            }
            fn binary(op: &Op, a: &[Self], b: &[Self], out: &mut [Self]) -> bool {
                pairs(op).map(|f| rml_kernels::binary(f, a, b, out)).is_some()
            }
            fn product(
                (m, k, n): (usize, usize, usize),
                a: &[Self],
                transposed: bool,
                b: &[Self],
                add: bool,
                out: &mut [Self],
            ) {
                let left = if transposed { Matrix::new(k, m, a).transposed() } else { Matrix::new(m, k, a) };
                rml_kernels::product(left, Matrix::new(k, n, b), add, MatrixMut::new(m, n, out));
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
number!(f32, F32);
number!(f64, F64);

/// The kernel of an operator of one num that gives a num.
#[inline]
pub(super) fn function(op: &Op) -> Option<Unary> {
    Some(match op {
        Op::Neg => Unary::Neg,
        Op::Abs => Unary::Abs,
        Op::Sign => Unary::Sign,
        Op::Sqrt => Unary::Sqrt,
        Op::Relu => Unary::Relu,
        Op::Sigmoid => Unary::Sigmoid,
        Op::Tanh => Unary::Tanh,
        Op::Exp => Unary::Exp,
        Op::Log => Unary::Log,
        Op::Expm1 => Unary::Expm1,
        Op::Log1p => Unary::Log1p,
        Op::Sin => Unary::Sin,
        Op::Cos => Unary::Cos,
        Op::Erf => Unary::Erf,
        Op::Gelu => Unary::Gelu,
        Op::Softplus => Unary::Softplus,
        Op::Floor => Unary::Floor,
        Op::Ceil => Unary::Ceil,
        Op::Round => Unary::Round,
        _ => return None,
    })
}

/// The kernel of an operator of two nums that gives a num.
#[inline]
pub(super) fn pairs(op: &Op) -> Option<Binary> {
    Some(match op {
        Op::Add => Binary::Add,
        Op::Sub => Binary::Sub,
        Op::Mul => Binary::Mul,
        Op::Div => Binary::Div,
        Op::Pow => Binary::Pow,
        Op::Minimum => Binary::Minimum,
        Op::Maximum => Binary::Maximum,
        _ => return None,
    })
}
