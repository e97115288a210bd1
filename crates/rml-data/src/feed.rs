//! Values of inputs, made from Rust values.

use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Error};
use rml_ir::{Data, Shape, Value};

/// The value of one input in one cycle. Numbers, truth values, arrays and vectors convert with `into()`.
///
/// ```
/// # use rml_data as rml;
/// use rml::Feed;
///
/// let present = Feed::from([1.0_f32, 2.0]);
/// assert!(matches!(present, Feed::Value(value) if value.ty().to_string() == "num [2]"));
/// assert!(matches!(Feed::from(None::<i64>), Feed::Absent));
/// ```
#[derive(Clone, Debug)]
pub enum Feed {
    /// Absent.
    Absent,
    /// Present with this value; numbers are rounded to the program's precision.
    Value(Value),
    /// The value to use if the program infers that the input is present; `None` = it must turn out to be absent.
    OnDemand(Option<Value>),
}

/// A Rust type for the elements of a tensor.
pub trait Element: Sized {
    /// The elements as the data of a value.
    fn data(v: Vec<Self>) -> Data;
}

impl Element for f32 {
    fn data(v: Vec<Self>) -> Data {
        Data::F32(v)
    }
}

impl Element for f64 {
    fn data(v: Vec<Self>) -> Data {
        Data::F64(v)
    }
}

impl Element for i64 {
    fn data(v: Vec<Self>) -> Data {
        Data::Int(v)
    }
}

impl Element for bool {
    fn data(v: Vec<Self>) -> Data {
        Data::Bool(v)
    }
}

/// A value of this shape with these elements, row-major.
///
/// # Errors
/// The number of elements is not that of the shape.
///
/// ```
/// # fn main() -> Result<(), rml_base::Error> {
/// let image = rml_data::tensor(&[2, 3], vec![0.0_f32; 6])?;
/// assert_eq!(image.shape().dims(), [2, 3]);
/// # Ok(()) }
/// ```
pub fn tensor<T: Element>(shape: &[usize], elements: Vec<T>) -> Result<Value, Error> {
    let shape = Shape::new(shape);
    if shape.checked_len() != Some(elements.len()) {
        return Err(Diagnostic::error(
            codes::INPUT_TYPE,
            format!("{} elements do not fill the shape {shape}", elements.len()),
        )
        .into());
    }
    Ok(Value::new(shape, T::data(elements)))
}

impl From<Value> for Feed {
    fn from(value: Value) -> Self {
        Feed::Value(value)
    }
}

impl<T: Element> From<T> for Feed {
    fn from(x: T) -> Self {
        Feed::Value(Value::new(Shape::scalar(), T::data(vec![x])))
    }
}

impl<T: Element> From<Vec<T>> for Feed {
    fn from(v: Vec<T>) -> Self {
        Feed::Value(Value::new(Shape::new(&[v.len()]), T::data(v)))
    }
}

impl<T: Element + Clone> From<&[T]> for Feed {
    fn from(v: &[T]) -> Self {
        v.to_vec().into()
    }
}

impl<T: Element, const N: usize> From<[T; N]> for Feed {
    fn from(v: [T; N]) -> Self {
        Vec::from(v).into()
    }
}

impl<T: Element, const N: usize, const M: usize> From<[[T; M]; N]> for Feed {
    fn from(v: [[T; M]; N]) -> Self {
        let flat: Vec<T> = v.into_iter().flatten().collect();
        Feed::Value(Value::new(Shape::new(&[N, M]), T::data(flat)))
    }
}

/// `None` = absent.
impl<T: Into<Feed>> From<Option<T>> for Feed {
    fn from(x: Option<T>) -> Self {
        x.map_or(Feed::Absent, Into::into)
    }
}
