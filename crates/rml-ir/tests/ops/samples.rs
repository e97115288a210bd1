//! Every sample of every operator against the plain second evaluator, on random operands.

use std::collections::BTreeSet;

use rml_ir::op::{Binary, EvalError, Op, Unary, conditioned, eval, result_type, samples};
use rml_ir::random::Random;
use rml_ir::{DType, Data, Precision, Type, Value};

use crate::naive::{self, Nd};
use crate::support::{elements, try_go};

/// A random operand: integers in -3..=3 (so that comparisons meet equals and divisions meet 0), numbers in
/// -2..2 with halves and zeros among them, and above 0 where the operator needs it.
fn operand(op: &Op, ty: &Type, precision: Precision, random: &Random, next: &mut u64) -> Value {
    let positive = matches!(op, Op::Unary(Unary::Log | Unary::Log1p | Unary::Sqrt) | Op::Binary(Binary::Pow));
    let position = matches!(op, Op::Gather { .. } | Op::ScatterAdd { .. } | Op::Pick);
    let mut draw = || {
        *next += 1;
        random.uniform(*next)
    };
    let n = ty.shape.len();
    let data = match ty.dtype {
        DType::Bool => Data::Bool((0..n).map(|_| draw() < 0.5).collect()),
        DType::Int if position => Data::Int((0..n).map(|_| (draw() * 3.0) as i64).collect()),
        DType::Int => Data::Int((0..n).map(|_| (draw() * 7.0) as i64 - 3).collect()),
        DType::Num => {
            let number = |_| match (draw(), positive) {
                (u, true) => 0.1 + u,
                (u, _) if u < 0.25 => (u * 16.0).round() / 2.0 - 1.0,
                (u, _) => u * 4.0 - 2.0,
            };
            Data::F64((0..n).map(number).collect())
        }
    };
    Value::new(ty.shape.clone(), data).to_precision(precision)
}

fn close(found: f64, expected: f64, precision: Precision) -> bool {
    let tolerance = match precision {
        Precision::F32 => 2e-6,
        Precision::F64 => 1e-14,
    };
    found == expected
        || (found.is_nan() && expected.is_nan())
        || (found - expected).abs() <= tolerance * expected.abs().max(1.0)
}

fn compare(precision: Precision) {
    for (case, (op, types)) in samples().iter().enumerate() {
        for round in 0..8 {
            let random = Random::new(round, "samples", case as u64);
            let mut next = 0;
            let args: Vec<Value> =
                types.iter().map(|ty| operand(op, ty, precision, &random, &mut next)).collect();
            let args: Vec<Value> = args.iter().enumerate().map(|(i, x)| conditioned(op, i, x)).collect();
            let found = try_go(op, &args.iter().collect::<Vec<_>>(), precision).expect("no overflow");
            let plain: Vec<Nd> =
                args.iter().map(|v| Nd { dims: v.shape().dims().to_vec(), xs: elements(v) }).collect();
            let ty = result_type(op, types).expect("a sample");
            let expected = naive::eval(op, &plain, ty.shape.dims(), types[0].dtype == DType::Int);
            for (found, expected) in elements(&found).into_iter().zip(expected.xs) {
                assert!(close(found, expected, precision), "{op} of {args:?}: {found}, not {expected}");
            }
        }
    }
}

#[test]
fn agree_with_the_plain_evaluator_in_double_precision() {
    compare(Precision::F64);
}

#[test]
fn agree_with_the_plain_evaluator_in_single_precision() {
    compare(Precision::F32);
}

/// A tensor's element is the scalar operator's result, bit for bit.
#[test]
fn pointwise_operators_on_tensors_are_the_scalar_ones() {
    for (op, types) in samples() {
        let scalars: Vec<Type> = types.iter().map(|t| Type::scalar(t.dtype)).collect();
        let pointwise = types.iter().all(|t| t.shape == types[0].shape)
            && result_type(&op, &scalars).is_ok_and(|t| t.shape.is_scalar())
            && result_type(&op, &types).is_ok_and(|t| t.shape == types[0].shape);
        if !pointwise {
            continue;
        }
        for precision in [Precision::F32, Precision::F64] {
            let random = Random::new(3, "scalars", 0);
            let mut next = 0;
            let args: Vec<Value> =
                types.iter().map(|ty| operand(&op, ty, precision, &random, &mut next)).collect();
            let whole =
                try_go(&op, &args.iter().collect::<Vec<_>>(), precision).expect("no overflow").to_data();
            for i in 0..whole.len() {
                let parts: Vec<Value> = args.iter().map(|v| v.to_data().get(i)).collect();
                let one = try_go(&op, &parts.iter().collect::<Vec<_>>(), precision).expect("no overflow");
                assert!(one.same(&whole.get(i)), "{op} in {precision}: {one:?}, not {:?}", whole.get(i));
            }
        }
    }
}

/// Integers at the limits of their range, positions outside of axes, and numbers that no integer holds.
fn extreme(ty: &Type, random: &Random, next: &mut u64) -> Value {
    let mut draw = |n: usize| {
        *next += 1;
        (random.uniform(*next) * n as f64) as usize
    };
    let n = ty.shape.len();
    let data = match ty.dtype {
        DType::Bool => Data::Bool((0..n).map(|_| draw(2) == 0).collect()),
        DType::Int => Data::Int((0..n).map(|_| [i64::MIN, -1, i64::MAX][draw(3)]).collect()),
        DType::Num => Data::F64((0..n).map(|_| [-1e30, 1e30, f64::NAN][draw(3)]).collect()),
    };
    Value::new(ty.shape.clone(), data)
}

#[test]
fn operators_fail_only_where_they_may() {
    let (mut may_fail, mut failed) = (BTreeSet::new(), BTreeSet::new());
    for (case, (op, types)) in samples().iter().enumerate() {
        let may = op.may_fail(types.iter().map(|ty| ty.dtype));
        may_fail.extend(may.then(|| op.name()));
        for round in 0..32 {
            let (random, mut next) = (Random::new(round, "extremes", case as u64), 0);
            let args: Vec<Value> = types.iter().map(|ty| extreme(ty, &random, &mut next)).collect();
            let found = eval(op, &args.iter().collect::<Vec<_>>(), Precision::F64);
            if let Err(EvalError::IntegerOverflow | EvalError::PositionOutside { .. }) = found {
                assert!(may, "{op} of {args:?}");
                failed.insert(op.name());
            }
        }
    }
    assert_eq!(failed, may_fail);
}
