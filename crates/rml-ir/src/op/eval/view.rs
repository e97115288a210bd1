//! Borrowed operands: dimensions and elements, whether the value is a scalar or a tensor; and the two
//! floating-point types as one trait.

use std::ops::{Add, Div, Mul, Neg, Sub};

use rml_kernels::Real;

use super::CHECKED;
use crate::value::{Data, Value};

/// An operand.
pub(super) struct View<'a> {
    /// Dimensions; empty for a scalar.
    pub(super) dims: &'a [usize],
    /// Elements, row-major.
    pub(super) elements: Elements<'a>,
}

/// The elements of an operand.
#[derive(Clone, Copy)]
pub(super) enum Elements<'a> {
    Bool(&'a [bool]),
    Int(&'a [i64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
}

impl<'a> View<'a> {
    pub(super) fn of(value: &'a Value) -> View<'a> {
        use std::slice::from_ref;
        let (dims, elements): (&[usize], _) = match value {
            Value::Bool(x) => (&[], Elements::Bool(from_ref(x))),
            Value::Int(x) => (&[], Elements::Int(from_ref(x))),
            Value::F32(x) => (&[], Elements::F32(from_ref(x))),
            Value::F64(x) => (&[], Elements::F64(from_ref(x))),
            Value::Tensor(t) => (t.shape().dims(), Elements::of(t.data())),
        };
        View { dims, elements }
    }
}

impl<'a> Elements<'a> {
    pub(super) fn of(data: &'a Data) -> Elements<'a> {
        match data {
            Data::Bool(v) => Elements::Bool(v),
            Data::Int(v) => Elements::Int(v),
            Data::F32(v) => Elements::F32(v),
            Data::F64(v) => Elements::F64(v),
        }
    }

    /// The element at position `i` as a scalar value.
    pub(super) fn get(self, i: usize) -> Value {
        match self {
            Elements::Bool(v) => Value::Bool(v[i]),
            Elements::Int(v) => Value::Int(v[i]),
            Elements::F32(v) => Value::F32(v[i]),
            Elements::F64(v) => Value::F64(v[i]),
        }
    }
}

/// Applies one generic expression to the elements of a view, whatever their type: `for_each_type!(view, xs =>
/// f(xs))` is the [`Data`](crate::value::Data) of the resulting vector.
macro_rules! for_each_type {
    ($elements:expr, $xs:ident => $result:expr) => {
        match $elements {
            Elements::Bool($xs) => Data::Bool($result),
            Elements::Int($xs) => Data::Int($result),
            Elements::F32($xs) => Data::F32($result),
            Elements::F64($xs) => Data::F64($result),
        }
    };
}
pub(super) use for_each_type;

/// An element type that a view can be asked for.
pub(super) trait Element: Copy + 'static {
    /// The elements, which are of this type.
    fn of<'a>(elements: Elements<'a>) -> &'a [Self];
}

macro_rules! element {
    ($t:ty, $variant:ident) => {
        impl Element for $t {
            fn of(elements: Elements<'_>) -> &[Self] {
                if let Elements::$variant(xs) = elements { xs } else { unreachable!("{CHECKED}") }
            }
        }
    };
}
element!(bool, Bool);
element!(i64, Int);
element!(f32, F32);
element!(f64, F64);

/// The methods that the two floating-point types share.
pub(super) trait Float:
    Element
    + Real
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    fn value(self) -> Value;
    fn data(elements: Vec<Self>) -> Data;
    fn from_count(n: usize) -> Self;
    /// Rounded.
    fn rounded(x: f64) -> Self;
    /// The smaller one; NaN wins.
    fn least(self, other: Self) -> Self;
    /// The larger one; NaN wins.
    fn greatest(self, other: Self) -> Self;
    /// Truncated toward zero, if that fits.
    fn to_int(self) -> Option<i64>;
}

macro_rules! float {
    ($t:ident, $variant:ident) => {
        #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "rounding is meant")]
        impl Float for $t {
            #[inline]
            fn value(self) -> Value {
                Value::$variant(self)
            }
            fn data(elements: Vec<Self>) -> Data {
                Data::$variant(elements)
            }
            fn from_count(n: usize) -> Self {
                n as $t
            }
            fn rounded(x: f64) -> Self {
                x as $t
            }
            #[inline]
            fn least(self, other: Self) -> Self {
                if self <= other || self.is_nan() { self } else { other }
            }
            #[inline]
            fn greatest(self, other: Self) -> Self {
                if self >= other || self.is_nan() { self } else { other }
            }
            fn to_int(self) -> Option<i64> {
                // Both bounds are powers of two, so exact; NaN fails the comparison.
                const BOUND: $t = 9_223_372_036_854_775_808.0;
                (-BOUND..BOUND).contains(&self).then_some(self as i64)
            }
        }
    };
}
float!(f32, F32);
float!(f64, F64);

/// Applies one generic function to two operands of the same floating-point type.
pub(super) fn floats<'a>(
    a: &View<'a>,
    b: &View<'a>,
    single: impl FnOnce(&'a [f32], &'a [f32]) -> Vec<f32>,
    double: impl FnOnce(&'a [f64], &'a [f64]) -> Vec<f64>,
) -> Data {
    match (a.elements, b.elements) {
        (Elements::F32(a), Elements::F32(b)) => f32::data(single(a, b)),
        (Elements::F64(a), Elements::F64(b)) => f64::data(double(a, b)),
        _ => unreachable!("{CHECKED}"),
    }
}
