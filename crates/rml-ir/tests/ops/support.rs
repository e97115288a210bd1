//! Short ways to write values and to evaluate.

use rml_ir::op::{EvalError, Op, eval, result_type};
use rml_ir::{Data, Precision, Shape, Type, Value};

pub(crate) fn num(dims: &[usize], xs: &[f64]) -> Value {
    Value::new(Shape::new(dims), Data::F64(xs.to_vec()))
}

pub(crate) fn single(dims: &[usize], xs: &[f32]) -> Value {
    Value::new(Shape::new(dims), Data::F32(xs.to_vec()))
}

pub(crate) fn int(dims: &[usize], xs: &[i64]) -> Value {
    Value::new(Shape::new(dims), Data::Int(xs.to_vec()))
}

pub(crate) fn boolean(dims: &[usize], xs: &[bool]) -> Value {
    Value::new(Shape::new(dims), Data::Bool(xs.to_vec()))
}

/// Evaluates and checks that the result has the type that `result_type` tells.
pub(crate) fn try_go(op: &Op, args: &[&Value], precision: Precision) -> Result<Value, EvalError> {
    let types: Vec<Type> = args.iter().map(|v| v.ty()).collect();
    let ty = result_type(op, &types).unwrap_or_else(|e| panic!("{op} of {types:?}: {e}"));
    let value = eval(op, args, precision)?;
    assert_eq!(value.ty(), ty, "{op} of {types:?}");
    let stored = match value.to_data() {
        Data::F32(_) => Some(Precision::F32),
        Data::F64(_) => Some(Precision::F64),
        Data::Bool(_) | Data::Int(_) => None,
    };
    assert!(stored.is_none_or(|stored| stored == precision), "{op} of {types:?} in {precision}");
    Ok(value)
}

pub(crate) fn go(op: &Op, args: &[&Value]) -> Value {
    try_go(op, args, Precision::F64).unwrap_or_else(|e| panic!("{op}: {e}"))
}

#[track_caller]
pub(crate) fn check(op: &Op, args: &[&Value], expected: &Value) {
    let found = go(op, args);
    assert!(found.same(expected), "{op} of {args:?}: {found:?}, not {expected:?}");
}

/// The elements as double precision numbers; true is 1.
pub(crate) fn elements(value: &Value) -> Vec<f64> {
    #[allow(clippy::cast_precision_loss, reason = "small numbers")]
    match value.to_data() {
        Data::Bool(v) => v.into_iter().map(|x| f64::from(u8::from(x))).collect(),
        Data::Int(v) => v.into_iter().map(|x| x as f64).collect(),
        Data::F32(v) => v.into_iter().map(f64::from).collect(),
        Data::F64(v) => v,
    }
}
