//! Operands as C text.

use rml_ir::{DType, Data, Precision, Shape, Value};

use crate::loops::Base;

/// A tensor with elements.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    place: Place,
    pub(crate) dtype: DType,
    pub(crate) shape: Shape,
    /// The distance between neighbours along each axis.
    pub(crate) strides: Vec<usize>,
}

#[derive(Clone, Debug)]
enum Place {
    Array(Base),
    /// All elements are equal.
    Alike(String),
}

impl Operand {
    /// Contiguous elements.
    pub(crate) fn array(base: Base, dtype: DType, shape: Shape) -> Self {
        let strides = strides(shape.dims());
        Self { place: Place::Array(base), dtype, shape, strides }
    }

    /// Elements with these strides.
    pub(crate) fn strided(base: Base, dtype: DType, shape: Shape, strides: Vec<usize>) -> Self {
        Self { place: Place::Array(base), dtype, shape, strides }
    }

    pub(crate) fn alike(text: impl Into<String>, dtype: DType, shape: Shape) -> Self {
        let strides = strides(shape.dims());
        Self { place: Place::Alike(text.into()), dtype, shape, strides }
    }

    pub(crate) fn len(&self) -> usize {
        self.shape.len()
    }

    pub(crate) fn is_alike(&self) -> bool {
        matches!(self.place, Place::Alike(_))
    }

    pub(crate) fn dims(&self) -> &[usize] {
        self.shape.dims()
    }

    /// The element at an index, which is a sum.
    pub(crate) fn at(&self, index: &str) -> String {
        match &self.place {
            Place::Alike(text) => text.clone(),
            Place::Array(base) => base.at(index),
        }
    }
}

/// The distances of neighbours along each axis.
pub(crate) fn strides(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dims.len()];
    for i in (1..dims.len()).rev() {
        strides[i - 1] = strides[i] * dims[i];
    }
    strides
}

/// A sum of terms, without zeros.
pub(crate) fn sum(terms: &[&str]) -> String {
    let terms: Vec<&str> = terms.iter().copied().filter(|term| !matches!(*term, "" | "0")).collect();
    if terms.is_empty() { "0".to_owned() } else { terms.join(" + ") }
}

/// `i * 16 + j + 3`.
pub(crate) fn linear(terms: &[(String, usize)], offset: usize) -> String {
    let term = |(index, stride): &(String, usize)| times(index, *stride);
    let offset = offset.to_string();
    let terms: Vec<String> = terms.iter().map(term).chain([offset]).collect();
    sum(&terms.iter().map(String::as_str).collect::<Vec<_>>())
}

/// `i * 16`.
pub(crate) fn times(index: &str, stride: usize) -> String {
    match (index, stride) {
        ("0", _) | (_, 0) => "0".to_owned(),
        (_, 1) => index.to_owned(),
        _ if index.contains(' ') => format!("({index}) * {stride}"),
        _ => format!("{index} * {stride}"),
    }
}

/// The type of elements.
pub(crate) fn c_type(dtype: DType, precision: Precision) -> &'static str {
    match (dtype, precision) {
        (DType::Bool, _) => "bool",
        (DType::Int, _) => "int64_t",
        (DType::Num, Precision::F32) => "float",
        (DType::Num, Precision::F64) => "double",
    }
}

/// The elements of a value as literals.
pub(crate) fn literals(value: &Value) -> Vec<String> {
    match value.to_data() {
        Data::Bool(v) => v.iter().map(bool::to_string).collect(),
        Data::Int(v) => v.iter().map(|x| int(*x)).collect(),
        Data::F32(v) => v.iter().map(|x| float(f64::from(*x), format!("{x:?}f"))).collect(),
        Data::F64(v) => v.iter().map(|x| float(*x, format!("{x:?}"))).collect(),
    }
}

fn int(x: i64) -> String {
    match x {
        i64::MIN => "INT64_MIN".to_owned(),
        _ if i32::try_from(x).is_ok() => x.to_string(),
        _ => format!("INT64_C({x})"),
    }
}

fn float(x: f64, finite: String) -> String {
    match x {
        _ if x.is_nan() => "RML_NAN".to_owned(),
        _ if x == f64::INFINITY => "RML_INFINITY".to_owned(),
        _ if x == f64::NEG_INFINITY => "-RML_INFINITY".to_owned(),
        _ => finite,
    }
}
