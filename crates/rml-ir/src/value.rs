//! Values of streams: scalars inline, tensors shared. Row-major, contiguous.

use std::sync::Arc;

use rml_base::memory::{self, Reservation, bytes_of};
use rml_base::{Diagnostic, Span};

use crate::types::{DType, Precision, Shape, Type};

/// A present value. Scalars (rank 0) are always one of the inline variants, never a [`Tensor`].
///
/// ```
/// # use rml_ir as rml;
/// use rml::{Precision, Value};
///
/// assert_eq!(Value::Int(3).as_int(), Some(3));
/// assert_eq!(Value::num(0.5, Precision::F32).ty().to_string(), "num []");
/// ```
#[derive(Clone, Debug)]
pub enum Value {
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A number in single precision.
    F32(f32),
    /// A number in double precision.
    F64(f64),
    /// Anything of rank 1 or more.
    Tensor(Arc<Tensor>),
}

/// A tensor of rank 1 or more. Its bytes are reserved as long as it exists.
///
/// ```
/// # use rml_ir as rml;
/// use rml::{Data, Shape, Value};
///
/// let value = Value::new(Shape::new(&[2]), Data::Int(vec![3, 4]));
/// let Value::Tensor(tensor) = &value else { panic!("two elements are a tensor") };
/// assert_eq!(tensor.shape().dims(), [2]);
/// ```
#[derive(Clone, Debug)]
pub struct Tensor {
    shape: Shape,
    data: Data,
    #[allow(dead_code, reason = "held, not read")]
    reserved: Reservation,
}

/// The elements of a tensor, row-major.
///
/// ```
/// # use rml_ir as rml;
/// use rml::{DType, Data};
///
/// let data = Data::Int(vec![3, 4]);
/// assert_eq!((data.len(), data.dtype()), (2, DType::Int));
/// assert_eq!(data.get(1).as_int(), Some(4));
/// ```
#[derive(Clone, Debug)]
pub enum Data {
    /// Truth values.
    Bool(Vec<bool>),
    /// Integers.
    Int(Vec<i64>),
    /// Single precision.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
}

impl Data {
    /// How many elements.
    pub fn len(&self) -> usize {
        match self {
            Data::Bool(v) => v.len(),
            Data::Int(v) => v.len(),
            Data::F32(v) => v.len(),
            Data::F64(v) => v.len(),
        }
    }

    /// How many bytes the elements take.
    pub fn bytes(&self) -> u64 {
        match self {
            Data::Bool(v) => bytes_of(v.len(), size_of::<bool>()),
            Data::Int(v) => bytes_of(v.len(), size_of::<i64>()),
            Data::F32(v) => bytes_of(v.len(), size_of::<f32>()),
            Data::F64(v) => bytes_of(v.len(), size_of::<f64>()),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        match self {
            Data::Bool(_) => DType::Bool,
            Data::Int(_) => DType::Int,
            Data::F32(_) | Data::F64(_) => DType::Num,
        }
    }

    /// The element at position `i` as a scalar value.
    pub fn get(&self, i: usize) -> Value {
        match self {
            Data::Bool(v) => Value::Bool(v[i]),
            Data::Int(v) => Value::Int(v[i]),
            Data::F32(v) => Value::F32(v[i]),
            Data::F64(v) => Value::F64(v[i]),
        }
    }
}

impl Tensor {
    /// The dimensions.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The elements.
    pub fn data(&self) -> &Data {
        &self.data
    }
}

impl Value {
    /// The value of that shape and those elements; a scalar if the shape is empty.
    ///
    /// # Panics
    /// If the number of elements is not that of the shape.
    pub fn new(shape: Shape, data: Data) -> Value {
        assert_eq!(shape.len(), data.len(), "elements must fill the shape");
        if shape.is_scalar() {
            return data.get(0);
        }
        let reserved = Reservation::of(data.bytes());
        Value::Tensor(Arc::new(Tensor { shape, data, reserved }))
    }

    /// A number in that precision.
    pub fn num(x: f64, precision: Precision) -> Value {
        match precision {
            #[allow(clippy::cast_possible_truncation, reason = "rounding to the chosen precision is meant")]
            Precision::F32 => Value::F32(x as f32),
            Precision::F64 => Value::F64(x),
        }
    }

    /// A value of `ty` whose elements are all zero (false for truth values).
    pub fn zeros(ty: &Type, precision: Precision) -> Value {
        Self::filled(ty, 0.0, precision)
    }

    /// As [`filled`](Self::filled), for a constant that is no part of the source text.
    ///
    /// # Errors
    /// `memory-limit` if there is no memory for it; `span` is what needs it.
    pub fn filled_for(span: Span, ty: &Type, x: f64, precision: Precision) -> Result<Value, Diagnostic> {
        memory::ask(ty.bytes(precision)).map_err(|short| {
            short.diagnostic("a constant of the gradient").label(span, format!("this needs {ty}"))
        })?;
        Ok(Self::filled(ty, x, precision))
    }

    /// A value of `ty` whose elements are all `x` (`x != 0` for truth values, truncated for integers).
    #[allow(clippy::cast_possible_truncation, reason = "rounding to the element type is meant")]
    pub fn filled(ty: &Type, x: f64, precision: Precision) -> Value {
        let n = ty.shape.len();
        let data = match (ty.dtype, precision) {
            (DType::Bool, _) => Data::Bool(vec![x != 0.0; n]),
            (DType::Int, _) => Data::Int(vec![x as i64; n]),
            (DType::Num, Precision::F32) => Data::F32(vec![x as f32; n]),
            (DType::Num, Precision::F64) => Data::F64(vec![x; n]),
        };
        Value::new(ty.shape.clone(), data)
    }

    /// The same value with its numbers rounded to `precision`; truth values and integers are unchanged.
    #[allow(clippy::cast_possible_truncation, reason = "rounding to the chosen precision is meant")]
    pub fn to_precision(&self, precision: Precision) -> Value {
        match (self, precision) {
            (Value::F64(x), Precision::F32) => Value::F32(*x as f32),
            (Value::F32(x), Precision::F64) => Value::F64(f64::from(*x)),
            (Value::Tensor(t), _) => match (&t.data, precision) {
                (Data::F64(v), Precision::F32) => {
                    Value::new(t.shape.clone(), Data::F32(v.iter().map(|&x| x as f32).collect()))
                }
                (Data::F32(v), Precision::F64) => {
                    Value::new(t.shape.clone(), Data::F64(v.iter().map(|&x| f64::from(x)).collect()))
                }
                _ => self.clone(),
            },
            _ => self.clone(),
        }
    }

    /// How its numbers are stored (single precision where it has none).
    pub fn precision(&self) -> Precision {
        let double = match self {
            Value::F64(_) => true,
            Value::Tensor(t) => matches!(t.data, Data::F64(_)),
            _ => false,
        };
        if double { Precision::F64 } else { Precision::F32 }
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        match self {
            Value::Bool(_) => DType::Bool,
            Value::Int(_) => DType::Int,
            Value::F32(_) | Value::F64(_) => DType::Num,
            Value::Tensor(t) => t.data.dtype(),
        }
    }

    /// The dimensions.
    pub fn shape(&self) -> Shape {
        match self {
            Value::Tensor(t) => t.shape.clone(),
            _ => Shape::scalar(),
        }
    }

    /// The type.
    pub fn ty(&self) -> Type {
        Type { dtype: self.dtype(), shape: self.shape() }
    }

    /// The truth value, if this is a scalar one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(b) = self { Some(*b) } else { None }
    }

    /// The integer, if this is a scalar one.
    pub fn as_int(&self) -> Option<i64> {
        if let Value::Int(i) = self { Some(*i) } else { None }
    }

    /// The number in double precision, if this is a scalar one.
    pub fn as_num(&self) -> Option<f64> {
        match self {
            Value::F32(x) => Some(f64::from(*x)),
            Value::F64(x) => Some(*x),
            _ => None,
        }
    }

    /// The elements, row-major (one for a scalar).
    pub fn to_data(&self) -> Data {
        match self {
            Value::Bool(b) => Data::Bool(vec![*b]),
            Value::Int(i) => Data::Int(vec![*i]),
            Value::F32(x) => Data::F32(vec![*x]),
            Value::F64(x) => Data::F64(vec![*x]),
            Value::Tensor(t) => t.data.clone(),
        }
    }

    /// The elements, row-major; those of a tensor that nothing else holds are moved, not copied.
    pub fn into_data(self) -> Data {
        match self {
            Value::Tensor(t) => Arc::try_unwrap(t).map_or_else(|shared| shared.data.clone(), |own| own.data),
            scalar => scalar.to_data(),
        }
    }

    /// Whether type and bits are equal. Unlike [`Value::same`], this tells 0.0 from -0.0, and one NaN from another.
    pub fn same_bits(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::F32(a), Value::F32(b)) => a.to_bits() == b.to_bits(),
            (Value::F64(a), Value::F64(b)) => a.to_bits() == b.to_bits(),
            (Value::Tensor(a), Value::Tensor(b)) => {
                Arc::ptr_eq(a, b) || (a.shape == b.shape && same_bits(&a.data, &b.data))
            }
            (a, b) => a.same(b),
        }
    }

    /// Equality of the semantics: same type and elements, NaN equals NaN, and 0.0 equals -0.0 (CELL-6).
    pub fn same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::F32(a), Value::F32(b)) => same_f32(*a, *b),
            (Value::F64(a), Value::F64(b)) => same_f64(*a, *b),
            (Value::Tensor(a), Value::Tensor(b)) => {
                Arc::ptr_eq(a, b) || (a.shape == b.shape && same_data(&a.data, &b.data))
            }
            _ => false,
        }
    }
}

fn same_bits(a: &Data, b: &Data) -> bool {
    match (a, b) {
        (Data::F32(a), Data::F32(b)) => a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits()),
        (Data::F64(a), Data::F64(b)) => a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits()),
        (a, b) => same_data(a, b),
    }
}

fn same_f32(a: f32, b: f32) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

fn same_f64(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

fn same_data(a: &Data, b: &Data) -> bool {
    match (a, b) {
        (Data::Bool(a), Data::Bool(b)) => a == b,
        (Data::Int(a), Data::Int(b)) => a == b,
        (Data::F32(a), Data::F32(b)) => a.iter().zip(b).all(|(a, b)| same_f32(*a, *b)),
        (Data::F64(a), Data::F64(b)) => a.iter().zip(b).all(|(a, b)| same_f64(*a, *b)),
        _ => false,
    }
}
