//! Every operator as ONNX and as StableHLO, compared with its evaluation.

use std::collections::BTreeSet;

use crate::support::{Cases, precision};

use rml_ir::op::{Op, conditioned, eval, samples};
use rml_ir::{DType, Data, Precision, Type, Value};
use rml_onnx::Refused;
use rml_plan::reference::Cells;
use rml_testkit::Lcg;
use rml_testkit::samples::operators;

/// A random value; `odd` is the share of special elements.
fn value(ty: &Type, precision: Precision, odd: f64, r: &mut Lcg) -> Value {
    let n = ty.shape.len();
    let data = match ty.dtype {
        DType::Bool => Data::Bool((0..n).map(|_| r.chance(0.5)).collect()),
        DType::Int => Data::Int((0..n).map(|_| r.below(5) as i64 - 1).collect()),
        DType::Num => {
            let all = [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
            let mut draw = || if r.chance(odd) { all[r.below(5)] } else { r.range(-2.0, 2.0) };
            Data::F64((0..n).map(|_| draw()).collect())
        }
    };
    Value::new(ty.shape.clone(), data).to_precision(precision)
}

#[test]
fn some_operators_are_declined() {
    for (precision, wanted) in [
        (Precision::F32, &["cholesky", "solve"][..]),
        (Precision::F64, &["atan2", "cholesky", "erf", "gelu", "solve"][..]),
    ] {
        let declined = |(op, types): (Op, Vec<Type>)| {
            let model = rml_lower::model(&operators(&[(op, types)], precision), 1, &|_| None);
            match rml_onnx::export(&model, "A test.") {
                Err(Refused::Operator { name, .. }) => Some(name),
                _ => None,
            }
        };
        let found: BTreeSet<&str> = samples().into_iter().filter_map(declined).collect();
        assert!(found.iter().eq(wanted), "{precision}: {found:?}");
    }
}

#[test]
fn operators_mean_the_same_elsewhere() {
    let mut r = Lcg(3);
    let mut cases = Cases::new();
    for (i, (op, types)) in samples().into_iter().enumerate() {
        let precision = precision(i);
        let odd = |operand| match op {
            // XLA multiplies elements of other groups by zeros.
            Op::ConvKernel { .. } => 0.0,
            // XLA multiplies the kernel by the zeros that it inserts for the stride.
            Op::ConvTranspose { .. } if operand == 1 => 0.0,
            // Eliminations and transforms take different steps.
            Op::Cholesky | Op::Solve | Op::Rfft | Op::Irfft { .. } => 0.0,
            _ => 0.1,
        };
        let mut columns = vec![Cells::new(); types.len()];
        // Draws until the operator does not fail.
        while columns.first().map_or(4, Vec::len) < 4 {
            let drawn = types.iter().enumerate().map(|(i, ty)| value(ty, precision, odd(i), &mut r));
            let args: Vec<Value> = drawn.collect();
            let args: Vec<Value> = args.iter().enumerate().map(|(i, x)| conditioned(&op, i, x)).collect();
            if eval(&op, &args.iter().collect::<Vec<_>>(), precision).is_ok() {
                columns.iter_mut().zip(args).for_each(|(column, arg)| column.push(Some(arg)));
            }
        }
        let told = format!("{op} {precision}");
        cases.add(&told, &operators(&[(op, types)], precision), &columns, 4, if i % 3 == 0 { 1 } else { 4 });
    }
    assert!(cases.len() > 100, "{} operators", cases.len());
    cases.run();
}
