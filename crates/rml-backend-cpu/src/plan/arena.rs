//! Memory: one contiguous array for all elements of a type.

use rml_ir::op::Number;
use rml_ir::{DType, Data, Shape, Value};

use super::cells::Cells;
pub(super) use super::cells::Split;

/// The elements of a machine.
#[derive(Debug)]
pub struct Arena<N> {
    pub(super) nums: Cells<N>,
    pub(super) ints: Cells<i64>,
    pub(super) bools: Cells<bool>,
}

impl<N: Number> Arena<N> {
    pub(super) fn new() -> Self {
        Self { nums: Cells::new(), ints: Cells::new(), bools: Cells::new() }
    }

    /// Makes room for at least that many `num`, `int` and `bool` elements.
    pub(super) fn reserve(&mut self, [nums, ints, bools]: [usize; 3]) {
        self.nums.reserve(nums);
        self.ints.reserve(ints);
        self.bools.reserve(bools);
    }

    /// Appends `len` elements, from place `at` on, to `to`.
    pub(super) fn append(&self, dtype: DType, at: usize, len: usize, to: &mut Data) {
        if to.is_empty() {
            *to = match dtype {
                DType::Num => N::data(Vec::new()),
                DType::Int => Data::Int(Vec::new()),
                DType::Bool => Data::Bool(Vec::new()),
            };
        }
        match (dtype, to) {
            (DType::Num, to) => {
                if let Some(all) = N::elements(to) {
                    all.extend_from_slice(self.nums.row(at, len));
                }
            }
            (DType::Int, Data::Int(all)) => all.extend_from_slice(self.ints.row(at, len)),
            (DType::Bool, Data::Bool(all)) => all.extend_from_slice(self.bools.row(at, len)),
            _ => {}
        }
    }

    /// The value of that type at a place.
    pub(super) fn value(&self, dtype: DType, shape: &Shape, at: usize) -> Value {
        let len = shape.len();
        let data = match dtype {
            DType::Num => N::data(self.nums.row(at, len).to_vec()),
            DType::Int if shape.is_scalar() => return Value::Int(self.ints[at]),
            DType::Int => Data::Int(self.ints.row(at, len).to_vec()),
            DType::Bool if shape.is_scalar() => return Value::Bool(self.bools[at]),
            DType::Bool => Data::Bool(self.bools.row(at, len).to_vec()),
        };
        Value::new(shape.clone(), data)
    }

    /// Stores a value at a place. A value of another type is ignored; P2 rules this out.
    pub(super) fn set(&mut self, dtype: DType, at: usize, value: &Value) {
        match (dtype, value) {
            (DType::Int, Value::Int(x)) => self.ints[at] = *x,
            (DType::Bool, Value::Bool(x)) => self.bools[at] = *x,
            (_, Value::Tensor(t)) => self.set_data(dtype, at, t.data(), 0, t.data().len()),
            _ => {
                let data = value.to_data();
                self.set_data(dtype, at, &data, 0, data.len());
            }
        }
    }

    /// Stores `len` elements of `data`, from `offset` on, at a place. Elements of another type are ignored; P2 rules
    /// this out.
    pub(super) fn set_data(&mut self, dtype: DType, at: usize, data: &Data, offset: usize, len: usize) {
        match (dtype, data) {
            (DType::Num, data) => {
                if let Some(x) = N::of(data) {
                    self.nums.row_mut(at, len).copy_from_slice(&x[offset..][..len]);
                }
            }
            (DType::Int, Data::Int(x)) => self.ints.row_mut(at, len).copy_from_slice(&x[offset..][..len]),
            (DType::Bool, Data::Bool(x)) => self.bools.row_mut(at, len).copy_from_slice(&x[offset..][..len]),
            _ => {}
        }
    }

    /// Copies elements from place to place.
    #[inline]
    pub(super) fn copy(&mut self, dtype: DType, to: usize, from: usize, len: usize) {
        match dtype {
            DType::Num => self.nums.copy_within(from, len, to),
            DType::Int => self.ints.copy_within(from, len, to),
            DType::Bool => self.bools.copy_within(from, len, to),
        }
    }
}
