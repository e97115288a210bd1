//! Elements of one type in a row, and the types that they have.

use rml_ir::op::Number;
use rml_ir::{DType, Data, Shape, Value};

/// Elements of one type.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Buffer<N> {
    Num(Vec<N>),
    Int(Vec<i64>),
    Bool(Vec<bool>),
}

impl<N: Number> Buffer<N> {
    pub(super) fn new(dtype: DType, len: usize) -> Self {
        match dtype {
            DType::Num => Buffer::Num(vec![N::default(); len]),
            DType::Int => Buffer::Int(vec![0; len]),
            DType::Bool => Buffer::Bool(vec![false; len]),
        }
    }

    pub(super) fn of(value: &Value) -> Self {
        let mut buffer = Self::new(value.dtype(), value.ty().shape.len());
        buffer.set(0, value);
        buffer
    }

    /// Takes at least that many elements; those that are there keep their values.
    pub(super) fn reserve(&mut self, len: usize) {
        match self {
            Buffer::Num(v) if v.len() < len => v.resize(len, N::default()),
            Buffer::Int(v) if v.len() < len => v.resize(len, 0),
            Buffer::Bool(v) if v.len() < len => v.resize(len, false),
            _ => {}
        }
    }

    /// The value of that shape at an offset.
    pub(super) fn value(&self, at: usize, shape: &Shape) -> Value {
        let to = at + shape.len();
        let data = match self {
            Buffer::Num(v) => N::data(v[at..to].to_vec()),
            Buffer::Int(v) if shape.is_scalar() => return Value::Int(v[at]),
            Buffer::Int(v) => Data::Int(v[at..to].to_vec()),
            Buffer::Bool(v) if shape.is_scalar() => return Value::Bool(v[at]),
            Buffer::Bool(v) => Data::Bool(v[at..to].to_vec()),
        };
        Value::new(shape.clone(), data)
    }

    /// Puts a value at an offset. One of another type is left out, which types rule out (P2).
    pub(super) fn set(&mut self, at: usize, value: &Value) {
        match (self, value) {
            (Buffer::Int(v), Value::Int(x)) => v[at] = *x,
            (Buffer::Bool(v), Value::Bool(x)) => v[at] = *x,
            (this, value) => {
                let data = value.to_data();
                this.set_data(at, &data, 0, data.len());
            }
        }
    }

    /// Puts elements of `data`, `len` from `offset` on, at `at`. Those of another type are left out, which types rule out (P2).
    pub(super) fn set_data(&mut self, at: usize, data: &Data, offset: usize, len: usize) {
        let (to, from) = (at..at + len, offset..offset + len);
        match (self, data) {
            (Buffer::Num(v), data) => {
                if let Some(x) = N::of(data) {
                    v[to].copy_from_slice(&x[from]);
                }
            }
            (Buffer::Int(v), Data::Int(x)) => v[to].copy_from_slice(&x[from]),
            (Buffer::Bool(v), Data::Bool(x)) => v[to].copy_from_slice(&x[from]),
            _ => {}
        }
    }

    /// Copies elements of another buffer of the same type.
    pub(super) fn copy(&mut self, at: usize, from: &Self, offset: usize, len: usize) {
        match (self, from) {
            (Buffer::Num(v), Buffer::Num(x)) => v[at..at + len].copy_from_slice(&x[offset..offset + len]),
            (Buffer::Int(v), Buffer::Int(x)) => v[at..at + len].copy_from_slice(&x[offset..offset + len]),
            (Buffer::Bool(v), Buffer::Bool(x)) => v[at..at + len].copy_from_slice(&x[offset..offset + len]),
            _ => {}
        }
    }

    pub(super) fn nums(&self) -> &[N] {
        if let Buffer::Num(v) = self { v } else { &[] }
    }

    pub(super) fn nums_mut(&mut self) -> &mut [N] {
        if let Buffer::Num(v) = self { v } else { &mut [] }
    }

    pub(super) fn truth(&self, at: usize) -> bool {
        matches!(self, Buffer::Bool(v) if v[at])
    }
}

impl<N> Default for Buffer<N> {
    fn default() -> Self {
        Buffer::Num(Vec::new())
    }
}
