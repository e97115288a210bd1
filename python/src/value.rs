//! Arrays of NumPy and values of programs.
//!
//! Incoming arrays are copied once, from any layout: a program keeps its inputs beyond the call, and an array may be
//! written to later. Outgoing values are passed on without a copy if nothing else uses them.

use numpy::{
    Element, PyArray1, PyArrayDescrMethods, PyArrayDyn, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::prelude::*;
use rml::codes::run::INPUT_TYPE;
use rml::{DType, Data, Diagnostic, Elements, Error, Precision, Shape, Value};

/// Elements of an array, row-major, and its dimensions.
pub(crate) struct Array {
    pub(crate) dims: Vec<usize>,
    pub(crate) data: Data,
}

impl Array {
    /// Reads any object that NumPy converts to an array; integers become numbers if `wanted` is `num`. `what` is its
    /// name in messages.
    ///
    /// # Errors
    /// An object that is not an array of truth values, integers or numbers.
    pub(crate) fn read(what: &str, from: &Bound<'_, PyAny>, wanted: DType) -> PyResult<Self> {
        let py = from.py();
        let plain = from.get_type().is(py.get_type::<PyUntypedArray>());
        let array = match from.cast::<PyUntypedArray>() {
            Ok(array) if plain => array.clone(),
            _ => py.import("rml._data")?.getattr("_array")?.call1((what, from))?.cast_into()?,
        };
        let Some(data) = Self::elements_of(&array) else {
            let dtype = array.getattr("dtype")?.to_string();
            let d = Diagnostic::error(INPUT_TYPE, format!("{what} holds neither numbers nor truth values"));
            let d = d.note(format!(
                "expected an array of floats, integers that fit 64 bits, or bool; found {dtype}"
            ));
            return Err(super::error::raised(py, &Error::from(d)));
        };
        let data = match data {
            #[allow(clippy::cast_precision_loss, reason = "an integer given for a number is rounded to one")]
            Data::Int(v) if wanted == DType::Num => Data::F64(v.into_iter().map(|i| i as f64).collect()),
            data => data,
        };
        Ok(Self { dims: array.shape().to_vec(), data })
    }

    /// The elements of an array of numbers or truth values; none if integers do not fit in 64 bits.
    pub(crate) fn elements_of(array: &Bound<'_, PyUntypedArray>) -> Option<Data> {
        elements(array).or_else(|| {
            // other widths and byte orders
            let kind = array.dtype().kind();
            let common = match kind {
                b'f' => "float64",
                b'i' | b'u' => "int64",
                _ => return None,
            };
            let largest = || array.call_method0("max").and_then(|max| max.extract::<i64>());
            if kind == b'u' && array.len() > 0 && largest().is_err() {
                return None;
            }
            elements(&array.call_method1("astype", (common,)).ok()?)
        })
    }

    /// A value in this precision.
    pub(crate) fn value(self, precision: Precision) -> Value {
        Value::new(Shape::new(&self.dims), self.data).to_precision(precision)
    }

    /// As the elements of a column.
    pub(crate) fn elements(self) -> Elements {
        match self.data {
            Data::Bool(v) => Elements::Bool(v),
            Data::Int(v) => Elements::Int(v),
            Data::F32(v) => Elements::F32(v),
            Data::F64(v) => Elements::F64(v),
        }
    }
}

/// The elements of an array with one of the types of values, or of 32-bit integers.
fn elements(array: &Bound<'_, PyAny>) -> Option<Data> {
    fn of<T: Element + Copy>(array: &Bound<'_, PyAny>) -> Option<Vec<T>> {
        let array = array.cast::<PyArrayDyn<T>>().ok()?.try_readonly().ok()?;
        // an array in Fortran order also has a slice, so check for C order
        let rows = array.is_c_contiguous().then(|| array.as_slice().ok()).flatten();
        Some(rows.map_or_else(|| array.as_array().iter().copied().collect(), <[T]>::to_vec))
    }
    of::<f32>(array)
        .map(Data::F32)
        .or_else(|| of(array).map(Data::F64))
        .or_else(|| of(array).map(Data::Int))
        .or_else(|| of(array).map(Data::Bool))
        .or_else(|| of::<i32>(array).map(|v| Data::Int(v.into_iter().map(i64::from).collect())))
}

/// The array of a value, of `float32`, `float64`, `int64` or `bool`, in the value's shape.
pub(crate) fn array(py: Python<'_>, value: Value) -> PyResult<Bound<'_, PyAny>> {
    let shape = value.shape();
    from_data(py, value.into_data(), shape.dims())
}

/// The array of row-major elements.
pub(crate) fn from_data<'py>(py: Python<'py>, data: Data, dims: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    fn of<'py, T: Element>(py: Python<'py>, v: Vec<T>, dims: &[usize]) -> PyResult<Bound<'py, PyAny>> {
        Ok(PyArray1::from_vec(py, v).reshape(dims.to_vec())?.into_any())
    }
    match data {
        Data::Bool(v) => of(py, v, dims),
        Data::Int(v) => of(py, v, dims),
        Data::F32(v) => of(py, v, dims),
        Data::F64(v) => of(py, v, dims),
    }
}
