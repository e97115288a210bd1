//! Arithmetic on static values, and conversions to shapes and index entries.

use rml_base::codes::elab as codes;
use rml_base::{Diagnostic, Span};
use rml_ir::Shape;
use rml_ir::op::{AxisIndex, slices};
use rml_ir::typed::StaticValue;
use rml_syntax::ast::{BinaryOp, UnaryOp};

use super::Evaluated;
use super::report::{describe, expected};
use crate::builtins::Builtin;

/// The maximum number of elements that a shape may describe.
const MAX_ELEMENTS: usize = 1 << 31;

pub(crate) fn unary(op: UnaryOp, a: &StaticValue, span: Span) -> Evaluated<StaticValue> {
    match (op, a) {
        (UnaryOp::Neg, StaticValue::Int(i)) => {
            i.checked_neg().map(StaticValue::Int).ok_or_else(|| overflow(span).into())
        }
        (UnaryOp::Neg, StaticValue::Num(x)) => Ok(StaticValue::Num(-x)),
        (UnaryOp::Not, StaticValue::Bool(b)) => Ok(StaticValue::Bool(!b)),
        (_, StaticValue::Array(items)) => {
            let items: Evaluated<Vec<_>> = items.iter().map(|item| unary(op, item, span)).collect();
            items.map(StaticValue::Array)
        }
        (UnaryOp::Neg, _) => Err(expected("a number to negate", a, span).into()),
        (UnaryOp::Not, _) => Err(expected("a bool", a, span).into()),
    }
}

/// The value of a function of ints; `None` for other functions and values.
pub(crate) fn function(which: Builtin, args: &[StaticValue], span: Span) -> Option<Evaluated<StaticValue>> {
    let found = match (which, args) {
        (Builtin::Unary(f), [StaticValue::Int(x)]) if which.computes_ints() => slices::int_unary(f, *x),
        (Builtin::Binary(f), [StaticValue::Int(a), StaticValue::Int(b)]) if which.computes_ints() => {
            slices::int_binary(f, *a, *b)
        }
        _ => return None, // Other functions, and other values.
    };
    Some(found.map(StaticValue::Int).map_err(|_| overflow(span).into()))
}

fn overflow(span: Span) -> Diagnostic {
    Diagnostic::error(codes::STATIC_VALUE, "this compile-time result does not fit 64 bits").label(span, "")
}

pub(crate) fn binary(op: BinaryOp, a: &StaticValue, b: &StaticValue, span: Span) -> Evaluated<StaticValue> {
    use BinaryOp as B;
    match (a, b) {
        (StaticValue::Int(x), StaticValue::Int(y)) => int(op, *x, *y, span),
        (StaticValue::Num(x), StaticValue::Num(y)) => num(op, *x, *y, span),
        (StaticValue::Bool(x), StaticValue::Bool(y)) => match op {
            B::And => Ok(StaticValue::Bool(*x && *y)),
            B::Or => Ok(StaticValue::Bool(*x || *y)),
            B::Eq => Ok(StaticValue::Bool(x == y)),
            B::Ne => Ok(StaticValue::Bool(x != y)),
            _ => Err(unfit(op, a, b, span).into()),
        },
        (StaticValue::Array(_), StaticValue::Array(_)) => match op {
            B::Eq => Ok(StaticValue::Bool(a == b)),
            B::Ne => Ok(StaticValue::Bool(a != b)),
            _ => Err(unfit(op, a, b, span).into()),
        },
        _ => Err(unfit(op, a, b, span).into()),
    }
}

fn unfit(op: BinaryOp, a: &StaticValue, b: &StaticValue, span: Span) -> Diagnostic {
    let (a, b) = (describe(a), describe(b));
    let message = format!("`{}` has no meaning for these compile-time values", op.text());
    Diagnostic::error(codes::STATIC_VALUE, message)
        .label(span, "")
        .note(format!("found {a} and {b}"))
        .help("nothing is converted implicitly: an int literal is written `1`, a num literal `1.0`")
}

fn int(op: BinaryOp, x: i64, y: i64, span: Span) -> Evaluated<StaticValue> {
    use BinaryOp as B;
    let number = match op {
        B::Add => x.checked_add(y),
        B::Sub => x.checked_sub(y),
        B::Mul => x.checked_mul(y),
        B::Div if y == 0 => Some(0),
        B::Div => x.checked_div(y),
        _ => return compare(op, x.partial_cmp(&y), span),
    };
    number.map(StaticValue::Int).ok_or_else(|| overflow(span).into())
}

fn num(op: BinaryOp, x: f64, y: f64, span: Span) -> Evaluated<StaticValue> {
    use BinaryOp as B;
    Ok(StaticValue::Num(match op {
        B::Add => x + y,
        B::Sub => x - y,
        B::Mul => x * y,
        B::Div => x / y,
        _ => return compare(op, x.partial_cmp(&y), span),
    }))
}

fn compare(op: BinaryOp, order: Option<std::cmp::Ordering>, span: Span) -> Evaluated<StaticValue> {
    use BinaryOp as B;
    Ok(StaticValue::Bool(match op {
        B::Eq => order.is_some_and(|o| o.is_eq()),
        B::Ne => order.is_none_or(|o| o.is_ne()),
        B::Lt => order.is_some_and(|o| o.is_lt()),
        B::Le => order.is_some_and(|o| o.is_le()),
        B::Gt => order.is_some_and(|o| o.is_gt()),
        B::Ge => order.is_some_and(|o| o.is_ge()),
        _ => {
            let message = format!("`{}` takes bools", op.text());
            return Err(Diagnostic::error(codes::STATIC_VALUE, message)
                .label(span, "applied to numbers")
                .into());
        }
    }))
}

/// The shape that an array of ints describes.
pub(super) fn shape(items: &[StaticValue], span: Span) -> Evaluated<Shape> {
    let mut dims = Vec::with_capacity(items.len());
    for item in items {
        match item {
            StaticValue::Int(i) => match usize::try_from(*i) {
                Ok(d) => dims.push(d),
                Err(_) => return Err(expected("a dimension that is not negative", item, span)
                    .help("write each dimension: a number, `shape(x)[0]`, or what follows from them, `n / 2`")
                    .into()),
            },
            _ => {
                return Err(expected("an int as dimension", item, span)
                    .help("a dimension is an int, without a point: `[4, 3]`")
                    .into());
            }
        }
    }
    limited(Shape::new(&dims), span)
}

/// Checks that a value may have a shape.
///
/// # Errors
/// The shape has too many elements or dimensions.
pub(crate) fn limited(shape: Shape, span: Span) -> Evaluated<Shape> {
    match shape.extent() {
        Some(n) if n <= MAX_ELEMENTS && shape.rank() <= MAX_RANK => Ok(shape),
        _ => Err(Diagnostic::error(codes::STATIC_VALUE, "this shape is too large")
            .label(span, "")
            .note(format!(
                "expected at most {MAX_ELEMENTS} elements, a dimension of 0 counting as 1, and {MAX_RANK} dimensions"
            ))
            .into()),
    }
}

/// The maximum number of dimensions that a shape may have.
const MAX_RANK: usize = 32;

/// The shape of a nested static array; all its parts must have the same shape.
pub(crate) fn shape_of(value: &StaticValue, span: Span) -> Evaluated<Shape> {
    fn fits(value: &StaticValue, dims: &[usize]) -> bool {
        match (value, dims.split_first()) {
            (StaticValue::Array(items), Some((len, rest))) => {
                items.len() == *len && items.iter().all(|item| fits(item, rest))
            }
            (StaticValue::Array(_), None) | (_, Some(_)) => false,
            (_, None) => true,
        }
    }
    let mut dims = Vec::new();
    let mut first = Some(value);
    while let Some(StaticValue::Array(items)) = first {
        dims.push(items.len());
        first = items.first();
    }
    if fits(value, &dims) {
        Ok(Shape::new(&dims))
    } else {
        Err(expected("an array whose rows have equal lengths", value, span).into())
    }
}

/// An index entry `i` for an axis of size `size`; a negative `i` counts from the end.
pub(crate) fn position(i: i64, size: usize, span: Span) -> Evaluated<AxisIndex> {
    from_end(i, size).filter(|p| *p < size).map(AxisIndex::At).ok_or_else(|| {
        Diagnostic::error(codes::SHAPE_MISMATCH, format!("index {i} is out of range"))
            .label(span, format!("the axis has size {size}"))
            .note(format!("expected an index from -{size} to {}, found {i}", size.saturating_sub(1)))
            .into()
    })
}

/// `i`, or `size + i` if `i` is negative; `None` if that is before the beginning.
fn from_end(i: i64, size: usize) -> Option<usize> {
    let size = i64::try_from(size).ok()?;
    usize::try_from(if i < 0 { i.checked_add(size)? } else { i }).ok()
}

/// An index entry `lo:hi:step`. The bounds must be within the axis. A negative step goes from `lo` (by default the last
/// position) down to the position after `hi` (by default, down to the first position).
pub(crate) fn slice(
    lo: Option<i64>,
    hi: Option<i64>,
    step: Option<i64>,
    size: usize,
    span: Span,
) -> Evaluated<AxisIndex> {
    let bad = |what: String| {
        Diagnostic::error(codes::SHAPE_MISMATCH, what).label(span, format!("the axis has size {size}"))
    };
    let bound = |given: Option<i64>| {
        let inside = |i| from_end(i, size).filter(|p| *p <= size);
        given
            .map(|i| {
                inside(i).ok_or_else(|| {
                    bad(format!("bound {i} of this slice is out of range")).help(format!(
                        "bounds are from 0 to {size}; without the second one, `x[2:]`, a slice ends with the axis"
                    ))
                })
            })
            .transpose()
    };
    let (lo, hi) = (bound(lo)?, bound(hi)?);
    let step = match isize::try_from(step.unwrap_or(1)) {
        Ok(step) if step != 0 => step,
        _ => return Err(bad("the step of a slice is not 0".to_owned()).into()),
    };
    let (start, way) = if step > 0 {
        let start = lo.unwrap_or(0);
        (start, hi.unwrap_or(size).saturating_sub(start))
    } else {
        // The positions above `hi`, up to `lo`.
        let end = lo.map_or(size, |lo| size.min(lo.saturating_add(1)));
        (end.saturating_sub(1), end.saturating_sub(hi.map_or(0, |hi| hi.saturating_add(1))))
    };
    let len = way.div_ceil(step.unsigned_abs());
    // If at most one position is selected, the step has no effect.
    Ok(AxisIndex::Slice { start, len, step: if len > 1 { step } else { 1 } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_of_an_array_takes_one_look_at_each_element() {
        let nest = |depth: usize| (0..depth).fold(StaticValue::Int(1), |v, _| StaticValue::Array(vec![v]));
        let shape = |v: &StaticValue| {
            shape_of(v, Span::new(rml_base::FileId(0), 0, 0)).ok().map(|s| s.dims().to_vec())
        };
        assert_eq!(shape(&nest(64)), Some(vec![1; 64]));
        assert_eq!(shape(&StaticValue::Array(vec![nest(2), nest(2)])), Some(vec![2, 1, 1]));
        assert_eq!(shape(&StaticValue::Array(vec![nest(2), nest(1)])), None);
        assert_eq!(shape(&StaticValue::Array(vec![StaticValue::Array(vec![]), nest(1)])), None);
    }
}
