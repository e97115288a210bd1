//! The elements of tensors, read within bounds.

use bytes::Bytes;
use rml_base::memory;
use rml_ir::{DType, Data, Precision, Shape, Value};

use crate::elem::Elem;
use crate::proto::TensorProto;
use crate::refuse::{Refusal, Res};

/// A tensor of a model.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    /// The type of its elements in the model.
    pub(crate) elem: Elem,
    /// Its dimensions and elements; numbers in half precision are stored in single.
    pub(crate) value: Value,
}

/// Gives the bytes of another file: its name, where they begin, and how many (all if that is not said).
pub(crate) type External<'e> = dyn Fn(&str, u64, Option<u64>) -> Res<Bytes> + 'e;

/// The most elements of a tensor.
const ELEMENTS: usize = rml_ir::op::MAX_ELEMENTS;

impl Tensor {
    /// A tensor as it is in a file.
    ///
    /// # Errors
    /// Elements that are not what the dimensions say, of a type that the language does not have, or too many.
    pub(crate) fn read(proto: &TensorProto, external: &External<'_>) -> Res<Tensor> {
        let bad = |why: String| Refusal::malformed(format!("tensor `{}`: {why}", proto.name));
        let elem = Elem::of(proto.data_type)
            .map_err(|what| Refusal::new(format!("the elements of tensor `{}` are {what}", proto.name)))?;
        let dims: Option<Vec<usize>> = proto.dims.iter().map(|d| usize::try_from(*d).ok()).collect();
        let dims = dims.ok_or_else(|| bad("a dimension is negative".into()))?;
        let shape = Shape::new(&dims);
        let len = shape.checked_len().filter(|n| *n <= ELEMENTS);
        let len = len.ok_or_else(|| bad(format!("{shape} has too many elements")))?;
        memory::ask(8 * len as u64).map_err(|_| bad(format!("there is no memory for {shape}")))?;
        let data = if proto.data_location == 1 {
            raw(elem, &outside(proto, external)?)
        } else if proto.raw_data.is_empty() {
            typed(elem, proto, len)
        } else {
            raw(elem, &proto.raw_data)
        };
        let data = data.map_err(&bad)?;
        let data = if matches!(elem, Elem::Int(4) | Elem::Unsigned(4)) { cut(data, len) } else { data };
        if data.len() != len {
            return Err(bad(format!("{shape} needs {len} elements, and it has {}", data.len())));
        }
        Ok(Tensor { elem, value: Value::new(shape, data) })
    }
}

fn cut(data: Data, len: usize) -> Data {
    match data {
        Data::Int(mut v) => {
            v.truncate(len);
            Data::Int(v)
        }
        other @ (Data::Bool(_) | Data::F32(_) | Data::F64(_)) => other,
    }
}

/// The bytes of a tensor that is stored in another file.
fn outside(proto: &TensorProto, external: &External<'_>) -> Res<Bytes> {
    let entry = |key: &str| proto.external_data.iter().find(|e| e.key == key).map(|e| e.value.as_str());
    let bad = |what: &str| Refusal::malformed(format!("tensor `{}`: {what}", proto.name));
    let number =
        |key: &str| entry(key).map(str::parse::<u64>).transpose().map_err(|_| bad("its place is no number"));
    let name = entry("location").ok_or_else(|| bad("the file with its elements has no name"))?;
    external(name, number("offset")?.unwrap_or(0), number("length")?)
}

/// Elements in little-endian bytes.
fn raw(elem: Elem, bytes: &[u8]) -> Result<Data, String> {
    fn each<const N: usize, T>(bytes: &[u8], f: impl Fn([u8; N]) -> T) -> Result<Vec<T>, String> {
        let (chunks, rest) = bytes.as_chunks::<N>();
        if !rest.is_empty() {
            return Err(format!("{} bytes are no elements of {N} bytes", bytes.len()));
        }
        Ok(chunks.iter().map(|b| f(*b)).collect())
    }
    Ok(match elem {
        Elem::Float(16) => Data::F32(each(bytes, |b| half(u16::from_le_bytes(b)))?),
        Elem::Float(64) => Data::F64(each(bytes, f64::from_le_bytes)?),
        Elem::Float(_) => Data::F32(each(bytes, f32::from_le_bytes)?),
        Elem::BFloat => Data::F32(each(bytes, |b| brain(u16::from_le_bytes(b)))?),
        Elem::Bool => Data::Bool(bytes.iter().map(|b| *b != 0).collect()),
        Elem::Int(4) => Data::Int(nibbles(bytes).map(|n| if n > 7 { n - 16 } else { n }).collect()),
        Elem::Unsigned(4) => Data::Int(nibbles(bytes).collect()),
        Elem::Int(8) => Data::Int(each(bytes, |b| i64::from(i8::from_le_bytes(b)))?),
        Elem::Int(16) => Data::Int(each(bytes, |b| i64::from(i16::from_le_bytes(b)))?),
        Elem::Int(32) => Data::Int(each(bytes, |b| i64::from(i32::from_le_bytes(b)))?),
        Elem::Int(_) => Data::Int(each(bytes, i64::from_le_bytes)?),
        Elem::Unsigned(8) => Data::Int(each(bytes, |b| i64::from(u8::from_le_bytes(b)))?),
        Elem::Unsigned(16) => Data::Int(each(bytes, |b| i64::from(u16::from_le_bytes(b)))?),
        Elem::Unsigned(32) => Data::Int(each(bytes, |b| i64::from(u32::from_le_bytes(b)))?),
        Elem::Unsigned(_) => Data::Int(signed(each(bytes, u64::from_le_bytes)?)?),
    })
}

fn nibbles(bytes: &[u8]) -> impl Iterator<Item = i64> {
    bytes.iter().flat_map(|b| [i64::from(b & 15), i64::from(b >> 4)])
}

fn signed(v: Vec<u64>) -> Result<Vec<i64>, String> {
    let fitting: Result<Vec<i64>, _> = v.into_iter().map(i64::try_from).collect();
    fitting.map_err(|_| "an integer is larger than 2^63 - 1".into())
}

/// Elements in the arrays of their type.
fn typed(elem: Elem, proto: &TensorProto, len: usize) -> Result<Data, String> {
    let narrow = || proto.int32_data.iter().copied();
    let bits = |bits: i32| u16::from_le_bytes([bits.to_le_bytes()[0], bits.to_le_bytes()[1]]);
    Ok(match elem {
        Elem::Float(16) => Data::F32(narrow().map(|b| half(bits(b))).collect()),
        Elem::BFloat => Data::F32(narrow().map(|b| brain(bits(b))).collect()),
        Elem::Float(64) => Data::F64(proto.double_data.clone()),
        Elem::Float(_) => Data::F32(proto.float_data.clone()),
        Elem::Bool => Data::Bool(narrow().map(|b| b != 0).collect()),
        Elem::Int(4) | Elem::Unsigned(4) => {
            let bytes: Vec<u8> = narrow().map(|b| b.to_le_bytes()[0]).take(len.div_ceil(2)).collect();
            return raw(elem, &bytes);
        }
        Elem::Int(64) => Data::Int(proto.int64_data.clone()),
        Elem::Unsigned(32 | 64) => Data::Int(signed(proto.uint64_data.clone())?),
        Elem::Int(_) | Elem::Unsigned(_) => Data::Int(narrow().map(i64::from).collect()),
    })
}

/// A number in half precision.
fn half(bits: u16) -> f32 {
    let (sign, exponent, fraction) = (bits >> 15, (bits >> 10) & 31, bits & 1023);
    let magnitude = match exponent {
        0 => f32::from(fraction) / 16_777_216.0,
        31 if fraction == 0 => f32::INFINITY,
        31 => f32::NAN,
        _ => f32::from_bits((u32::from(exponent) + 112) << 23 | u32::from(fraction) << 13),
    };
    if sign == 1 { -magnitude } else { magnitude }
}

/// A number in `bfloat16`.
fn brain(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The integers of a value, truth values as 0 and 1; `None` for numbers.
pub(crate) fn ints(value: &Value) -> Option<Vec<i64>> {
    match value.to_data() {
        Data::Int(v) => Some(v),
        Data::Bool(v) => Some(v.into_iter().map(i64::from).collect()),
        Data::F32(_) | Data::F64(_) => None,
    }
}

/// The elements of a value as numbers.
#[allow(clippy::cast_precision_loss, reason = "as a conversion rounds them")]
pub(crate) fn nums(value: &Value) -> Vec<f64> {
    match value.to_data() {
        Data::Int(v) => v.into_iter().map(|x| x as f64).collect(),
        Data::Bool(v) => v.into_iter().map(|x| f64::from(u8::from(x))).collect(),
        Data::F32(v) => v.into_iter().map(f64::from).collect(),
        Data::F64(v) => v,
    }
}

/// A value of integers.
pub(crate) fn of_ints(dims: &[usize], v: Vec<i64>) -> Value {
    Value::new(Shape::new(dims), Data::Int(v))
}

/// A value of numbers.
#[allow(clippy::cast_possible_truncation, reason = "rounding to the chosen precision is meant")]
pub(crate) fn of_nums(dims: &[usize], v: Vec<f64>, precision: Precision) -> Value {
    let data = match precision {
        Precision::F32 => Data::F32(v.into_iter().map(|x| x as f32).collect()),
        Precision::F64 => Data::F64(v),
    };
    Value::new(Shape::new(dims), data)
}

/// The element that all elements of a value are equal to, bit by bit.
pub(crate) fn uniform(value: &Value) -> Option<Value> {
    fn same<T>(v: &[T], equal: impl Fn(&T, &T) -> bool) -> bool {
        v.first().is_some_and(|first| v.iter().all(|x| equal(first, x)))
    }
    let Value::Tensor(tensor) = value else { return Some(value.clone()) };
    let is = match tensor.data() {
        Data::Bool(v) => same(v, |a, b| a == b),
        Data::Int(v) => same(v, |a, b| a == b),
        Data::F32(v) => same(v, |a, b| a.to_bits() == b.to_bits()),
        Data::F64(v) => same(v, |a, b| a.to_bits() == b.to_bits()),
    };
    is.then(|| tensor.data().get(0))
}

/// A value with the same elements under other dimensions, of which there are as many.
pub(crate) fn reshaped(value: Value, dims: &[usize]) -> Value {
    Value::new(Shape::new(dims), value.into_data())
}

/// Whether a value has numbers.
pub(crate) fn is_num(value: &Value) -> bool {
    value.dtype() == DType::Num
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_half_precision_keep_their_value() {
        // of IEEE 754, table 3.1: 1, -2, the largest, the least, one third
        let bits = [0x3c00, 0xc000, 0x7bff, 0x0001, 0x3555];
        let expected = [1.0, -2.0, 65504.0, 5.960_464_5e-8, 0.333_251_95];
        assert_eq!(bits.map(half), expected);
        assert!(half(0x7e00).is_nan());
        assert_eq!(half(0xfc00), f32::NEG_INFINITY);
        assert_eq!(brain(0x3fc0), 1.5);
    }

    #[test]
    fn dimensions_that_the_elements_do_not_fill_are_refused() {
        let none = |_: &str, _: u64, _: Option<u64>| -> Res<Bytes> { unreachable!("no other file") };
        let with = |dims: &[i64]| TensorProto { dims: dims.to_vec(), data_type: 1, ..TensorProto::default() };
        for dims in [&[-1][..], &[1 << 40, 1 << 40], &[3], &[i64::MAX]] {
            assert!(Tensor::read(&with(dims), &none).is_err(), "{dims:?}");
        }
        assert!(Tensor::read(&with(&[0, 3]), &none).is_ok());
        let odd = TensorProto { raw_data: Bytes::from_static(&[0; 7]), ..with(&[1]) };
        assert!(Tensor::read(&odd, &none).is_err());
    }
}
