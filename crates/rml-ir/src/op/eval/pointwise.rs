//! Pointwise operators on tensors, and on a scalar with a tensor. Each is the scalar operator, element by
//! element.

use super::slices;
use super::strided;
use super::view::{Element, Elements, Float, View};
use super::{CHECKED, EvalError};
use crate::op::{Binary, Compare, Op};
use crate::types::{DType, Precision, Shape};
use crate::value::{Data, Value};

fn map<T: Copy, R>(xs: &[T], f: impl FnMut(T) -> R) -> Vec<R> {
    xs.iter().copied().map(f).collect()
}

/// An integer, or 0 and its error.
fn kept(result: Result<i64, EvalError>, failed: &mut Option<EvalError>) -> i64 {
    result.unwrap_or_else(|e| {
        *failed = Some(e);
        0
    })
}

/// Operators of one tensor.
pub(super) fn unary(op: &Op, x: &View<'_>, precision: Precision) -> Result<Value, EvalError> {
    let data = match x.elements {
        Elements::Bool(xs) => bool_unary(op, xs, precision),
        Elements::Int(xs) => int_unary(op, xs, precision),
        Elements::F32(xs) => float_unary(op, xs),
        Elements::F64(xs) => float_unary(op, xs),
    }?;
    Ok(Value::new(Shape::new(x.dims), data))
}

fn bool_unary(op: &Op, xs: &[bool], precision: Precision) -> Result<Data, EvalError> {
    Ok(match (op, precision) {
        (Op::Not, _) => Data::Bool(map(xs, |x| !x)),
        (Op::Convert(DType::Int), _) => Data::Int(map(xs, i64::from)),
        (Op::Convert(DType::Num), Precision::F32) => Data::F32(map(xs, |x| if x { 1.0 } else { 0.0 })),
        (Op::Convert(DType::Num), Precision::F64) => Data::F64(map(xs, |x| if x { 1.0 } else { 0.0 })),
        _ => unreachable!("{CHECKED}"),
    })
}

#[allow(clippy::cast_precision_loss, reason = "rounding to the nearest number is meant")]
fn int_unary(op: &Op, xs: &[i64], precision: Precision) -> Result<Data, EvalError> {
    Ok(match (op, precision) {
        (Op::Unary(f), _) => {
            let mut failed = None;
            let ints = map(xs, |x| kept(slices::int_unary(*f, x), &mut failed));
            return failed.map_or(Ok(Data::Int(ints)), Err);
        }
        (Op::Convert(DType::Bool), _) => Data::Bool(map(xs, |x| x != 0)),
        (Op::Convert(DType::Num), Precision::F32) => Data::F32(map(xs, |x| x as f32)),
        (Op::Convert(DType::Num), Precision::F64) => Data::F64(map(xs, |x| x as f64)),
        _ => unreachable!("{CHECKED}"),
    })
}

fn float_unary<T: Float>(op: &Op, xs: &[T]) -> Result<Data, EvalError> {
    match op {
        Op::Convert(DType::Bool) => Ok(Data::Bool(map(xs, |x| x != T::ZERO))),
        Op::Convert(DType::Int) => {
            let ints: Option<Vec<i64>> = xs.iter().map(|x| x.to_int()).collect();
            ints.map(Data::Int).ok_or(EvalError::IntegerOverflow)
        }
        Op::Unary(f) => {
            let mut out = vec![T::ZERO; xs.len()];
            rml_kernels::unary(*f, xs, &mut out);
            Ok(T::data(out))
        }
        _ => unreachable!("{CHECKED}"),
    }
}

/// Operators of two operands, at least one a tensor; broadcasts them.
pub(super) fn binary(op: &Op, a: &View<'_>, b: &View<'_>) -> Result<Value, EvalError> {
    let pair = Pair {
        a,
        b,
        dims: if a.dims == b.dims {
            Shape::new(a.dims)
        } else {
            Shape::new(a.dims).broadcast(&Shape::new(b.dims)).expect(CHECKED)
        },
    };
    let data = match (op, a.elements) {
        (Op::Compare(by), Elements::Bool(_)) => pair.compare::<bool>(*by),
        (Op::Compare(by), Elements::Int(_)) => pair.compare::<i64>(*by),
        (Op::Compare(by), Elements::F32(_)) => pair.compare::<f32>(*by),
        (Op::Compare(by), Elements::F64(_)) => pair.compare::<f64>(*by),
        (Op::And, _) => Data::Bool(pair.zip(|a: bool, b: bool| a & b)),
        (Op::Or, _) => Data::Bool(pair.zip(|a: bool, b: bool| a | b)),
        (Op::Binary(f), Elements::Int(_)) => pair.int_arithmetic(*f)?,
        (Op::Binary(f), Elements::F32(_)) => pair.arithmetic::<f32>(*f),
        (Op::Binary(f), Elements::F64(_)) => pair.arithmetic::<f64>(*f),
        _ => unreachable!("{CHECKED}"),
    };
    Ok(Value::new(pair.dims, data))
}

/// Whether repeating the elements of one shape gives those of another, to which it broadcasts.
fn repeats(dims: &[usize], wide: &[usize]) -> bool {
    let own = dims.iter().position(|d| *d != 1).map_or(&[][..], |i| &dims[i..]);
    wide.ends_with(own)
}

/// Two operands and the shape they broadcast to.
struct Pair<'a> {
    a: &'a View<'a>,
    b: &'a View<'a>,
    dims: Shape,
}

impl Pair<'_> {
    fn compare<T: Element + PartialOrd>(&self, by: Compare) -> Data {
        Data::Bool(match by {
            Compare::Eq => self.zip(|a: T, b: T| a == b),
            Compare::Ne => self.zip(|a: T, b: T| a != b),
            Compare::Lt => self.zip(|a: T, b: T| a < b),
            Compare::Le => self.zip(|a: T, b: T| a <= b),
            Compare::Gt => self.zip(|a: T, b: T| a > b),
            Compare::Ge => self.zip(|a: T, b: T| a >= b),
        })
    }

    fn int_arithmetic(&self, f: Binary) -> Result<Data, EvalError> {
        let mut failed = None;
        let ints = self.zip(|a: i64, b: i64| kept(slices::int_binary(f, a, b), &mut failed));
        failed.map_or(Ok(Data::Int(ints)), Err)
    }

    fn arithmetic<T: Float>(&self, f: Binary) -> Data {
        let (a, b) = (T::of(self.a.elements), T::of(self.b.elements));
        let mut out = vec![T::ZERO; self.dims.len()];
        if repeats(self.a.dims, self.dims.dims()) && repeats(self.b.dims, self.dims.dims()) {
            rml_kernels::binary(f, a, b, &mut out);
            return T::data(out);
        }
        let dims = self.dims.dims();
        let along = [self.a.dims, self.b.dims].map(|own| strided::repeated(own, dims));
        let [n, own @ ..] = [dims, &along[0], &along[1]].map(|x| x.last().copied().expect(CHECKED));
        let mut rows = out.chunks_exact_mut(n.max(1));
        strided::rows(dims, [&along[0], &along[1]], [0, 0], &mut |[i, j]| {
            // An operand that is repeated along the row has one element there.
            let [len_a, len_b] = own.map(|step| if step == 0 { 1 } else { n });
            rml_kernels::binary(f, &a[i..][..len_a], &b[j..][..len_b], rows.next().expect(CHECKED));
        });
        T::data(out)
    }

    /// Applies `f` to each pair of elements, row-major. Equal shapes, one single element and one operand
    /// repeated over leading axes are plain loops over slices.
    fn zip<T: Element, R>(&self, mut f: impl FnMut(T, T) -> R) -> Vec<R> {
        let (a, b) = (T::of(self.a.elements), T::of(self.b.elements));
        if self.a.dims == self.b.dims {
            return a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect();
        }
        if let [b] = *b {
            return a.iter().map(|&a| f(a, b)).collect();
        }
        if let [a] = *a {
            return b.iter().map(|&b| f(a, b)).collect();
        }
        let mut out = Vec::with_capacity(self.dims.len());
        if self.dims.is_empty() {
            return out;
        }
        if self.a.dims.ends_with(self.b.dims) {
            for a in a.chunks_exact(b.len()) {
                out.extend(a.iter().zip(b).map(|(&a, &b)| f(a, b)));
            }
        } else if self.b.dims.ends_with(self.a.dims) {
            for b in b.chunks_exact(a.len()) {
                out.extend(a.iter().zip(b).map(|(&a, &b)| f(a, b)));
            }
        } else {
            self.zip_rows(a, b, &mut out, f);
        }
        out
    }

    /// The general case, row by row; an operand that is repeated along the row has stride 0 there, others
    /// have 1.
    fn zip_rows<T: Copy, R>(&self, a: &[T], b: &[T], out: &mut Vec<R>, mut f: impl FnMut(T, T) -> R) {
        let dims = self.dims.dims();
        let (along_a, along_b) = (strided::repeated(self.a.dims, dims), strided::repeated(self.b.dims, dims));
        let (Some(&n), Some(&step_a), Some(&step_b)) = (dims.last(), along_a.last(), along_b.last()) else {
            unreachable!("{CHECKED}")
        };
        strided::rows(dims, [&along_a, &along_b], [0, 0], &mut |[i, j]| match (step_a, step_b) {
            (0, 0) => out.extend((0..n).map(|_| f(a[i], b[j]))),
            (0, _) => out.extend(b[j..][..n].iter().map(|&b| f(a[i], b))),
            (_, 0) => out.extend(a[i..][..n].iter().map(|&a| f(a, b[j]))),
            _ => out.extend(a[i..][..n].iter().zip(&b[j..][..n]).map(|(&a, &b)| f(a, b))),
        });
    }
}
