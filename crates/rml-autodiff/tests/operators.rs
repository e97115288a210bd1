//! Every operator of the table against central differences in double precision.

mod support;

use indexmap::IndexMap;
use rml_autodiff::differentiate_node;
use rml_ir::normal::NodeId;
use rml_ir::op::{self, Binary, Op, Reduction, Unary};
use rml_ir::{DType, Data, Shape, Type, Value};
use rml_testkit::Lcg;
use rml_testkit::gradients::{P, run};
use support::{NodeBuilder, flat, module};

fn numbers(v: &Value) -> Vec<f64> {
    match v.to_data() {
        Data::F64(v) => v,
        other => panic!("not numbers: {other:?}"),
    }
}

fn value(shape: &Shape, data: Vec<f64>) -> Value {
    Value::new(shape.clone(), Data::F64(data))
}

/// Operands away from kinks and ties; positive if the operator requires it.
fn operand(op: &Op, ty: &Type, r: &mut Lcg) -> Value {
    let positive = matches!(
        op,
        Op::Unary(Unary::Log | Unary::Log1p | Unary::Sqrt) | Op::Binary(Binary::Div | Binary::Pow)
    );
    let n = ty.shape.len();
    match ty.dtype {
        DType::Bool => Value::new(ty.shape.clone(), Data::Bool((0..n).map(|_| r.chance(0.5)).collect())),
        DType::Int => Value::new(ty.shape.clone(), Data::Int((0..n).map(|_| r.below(3) as i64).collect())),
        DType::Num => {
            let sign = |r: &mut Lcg| if positive || r.chance(0.5) { 1.0 } else { -1.0 };
            value(&ty.shape, (0..n).map(|_| sign(r) * r.range(0.3, 1.5)).collect())
        }
    }
}

fn check(op: &Op, types: &[Type], r: &mut Lcg, same_operand: bool) {
    let out = op::result_type(op, types).expect("a sample fits");
    let mut f = NodeBuilder::new("f");
    let mut args: Vec<_> = Vec::new();
    for (i, ty) in types.iter().enumerate() {
        args.push(if same_operand && i > 0 { args[0] } else { f.input(&format!("x{i}"), ty.clone()) });
    }
    let o = f.var("o", out.clone());
    f.apply(o, op.clone(), &args);
    f.0.outputs.push(o);
    let made = differentiate_node(module(vec![f.0]), NodeId(0)).unwrap_or_else(|e| panic!("{op}: {e}"));
    let mut values: Vec<Value> =
        types.iter().enumerate().map(|(i, ty)| op::conditioned(op, i, &operand(op, ty, r))).collect();
    if same_operand {
        values = vec![values[0].clone(); values.len()];
    }
    let mut inputs: IndexMap<String, Vec<Option<Value>>> = IndexMap::new();
    for (i, v) in values.iter().enumerate() {
        inputs.insert(format!("x{i}"), vec![Some(v.clone()); 2]);
    }
    inputs.insert("bp".into(), vec![Some(Value::Bool(true)), Some(Value::Bool(false))]);
    let seed: Vec<f64> = (0..out.shape.len()).map(|_| r.range(-1.0, 1.0)).collect();
    if out.is_num() {
        inputs.insert("do".into(), vec![Some(value(&out.shape, seed.clone())), None]);
    }
    let table = run(flat(&made.module), &inputs, 2);
    for (i, ty) in types.iter().enumerate().filter(|(i, ty)| ty.is_num() && (!same_operand || *i == 0)) {
        let d = &table[&format!("dx{i}")];
        let found = numbers(d[0].value().unwrap_or_else(|| panic!("{op}: dx{i} is {:?}", d[0])));
        assert!(matches!(d[1], rml_sim::Status::Absent), "{op}: dx{i} without bp is {:?}", d[1]);
        let flows = out.is_num() && !matches!(op, Op::StopGradient | Op::Unary(Unary::Sign));
        for k in 0..ty.shape.len() {
            let shifted = |h: f64| {
                let mut moved = values.clone();
                for (j, v) in moved.iter_mut().enumerate().filter(|(j, _)| *j == i || same_operand) {
                    let mut data = numbers(v);
                    data[k] += h;
                    *v = value(&types[j].shape, data);
                }
                let o = op::eval(op, &moved.iter().collect::<Vec<_>>(), P).expect("no integers");
                numbers(&o).iter().zip(&seed).map(|(o, d)| o * d).sum::<f64>()
            };
            let h = 1e-6;
            let expected = if flows { (shifted(h) - shifted(-h)) / (2.0 * h) } else { 0.0 };
            let error = (found[k] - expected).abs() / (1.0 + expected.abs());
            assert!(error < 1e-7, "{op}{types:?}: dx{i}[{k}] = {}, by differences {expected}", found[k]);
        }
    }
}

#[test]
fn every_operator_agrees_with_finite_differences() {
    let mut r = Lcg(7);
    for (op, types) in op::samples() {
        for _ in 0..3 {
            check(&op, &types, &mut r, false);
        }
    }
}

#[test]
fn an_operand_used_twice_gets_both_parts() {
    let mut r = Lcg(8);
    for (op, types) in op::samples() {
        if types.len() == 2 && types[0] == types[1] && types[0].is_num() {
            check(&op, &types, &mut r, true);
        }
    }
}

#[test]
fn ties_of_max_share_the_gradient() {
    let mut f = NodeBuilder::new("f");
    let x = f.input("x", Type::new(DType::Num, &[3]));
    let o = f.var("o", Type::scalar(DType::Num));
    f.apply(o, Op::Reduce(Reduction::Max, None), &[x]);
    f.0.outputs.push(o);
    let made = differentiate_node(module(vec![f.0]), NodeId(0)).expect("differentiable");
    let inputs: IndexMap<String, Vec<Option<Value>>> = IndexMap::from([
        ("x".into(), vec![Some(value(&Shape::new(&[3]), vec![2.0, 1.0, 2.0]))]),
        ("bp".into(), vec![Some(Value::Bool(true))]),
        ("do".into(), vec![Some(Value::F64(1.0))]),
    ]);
    let table = run(flat(&made.module), &inputs, 1);
    assert_eq!(numbers(table["dx"][0].value().expect("present")), [0.5, 0.0, 0.5]);
}

#[test]
fn powers_of_zero_are_one_wherever_the_base_is() {
    let ty = Type::new(DType::Num, &[4]);
    let mut f = NodeBuilder::new("f");
    let args = [f.input("x", ty.clone()), f.input("b", ty.clone())];
    let o = f.var("o", ty.clone());
    f.apply(o, Op::Binary(Binary::Pow), &args);
    f.0.outputs.push(o);
    let made = differentiate_node(module(vec![f.0]), NodeId(0)).expect("differentiable");
    let cell = |data: [f64; 4]| vec![Some(value(&ty.shape, data.to_vec()))];
    let inputs: IndexMap<String, Vec<Option<Value>>> = IndexMap::from([
        ("x".into(), cell([f64::INFINITY, f64::NEG_INFINITY, 0.0, f64::INFINITY])),
        ("b".into(), cell([0.0, 0.0, 0.0, 2.0])),
        ("bp".into(), vec![Some(Value::Bool(true))]),
        ("do".into(), cell([1.0, 3.0, 1.0, 1.0])),
    ]);
    let table = run(flat(&made.module), &inputs, 1);
    assert_eq!(numbers(table["dx"][0].value().expect("present")), [0.0, 0.0, 0.0, f64::INFINITY]);
}

/// The gradients of an operator for these operands and a gradient of 1.
fn gradients(op: Op, operands: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut f = NodeBuilder::new("f");
    let ty = Type::new(DType::Num, &[operands[0].len()]);
    let args: Vec<_> = (0..operands.len()).map(|i| f.input(&format!("x{i}"), ty.clone())).collect();
    let result = op::result_type(&op, &vec![ty.clone(); operands.len()]).expect("a type");
    let o = f.var("o", result.clone());
    f.apply(o, op, &args);
    f.0.outputs.push(o);
    let made = differentiate_node(module(vec![f.0]), NodeId(0)).expect("differentiable");
    let mut inputs: IndexMap<String, Vec<Option<Value>>> = IndexMap::from([
        ("bp".into(), vec![Some(Value::Bool(true))]),
        ("do".into(), vec![Some(Value::filled(&result, 1.0, P))]),
    ]);
    for (i, x) in operands.iter().enumerate() {
        inputs.insert(format!("x{i}"), vec![Some(value(&ty.shape, x.clone()))]);
    }
    let table = run(flat(&made.module), &inputs, 1);
    let of = |i| numbers(table[&format!("dx{i}")][0].value().expect("present")).clone();
    (0..operands.len()).map(of).collect()
}

const INF: f64 = f64::INFINITY;

#[test]
fn equal_infinities_share_the_gradient_of_a_logarithm_of_sums() {
    let (a, b) = (vec![-INF, INF, INF, 0.0, 2.0, -800.0], vec![-INF, INF, -INF, INF, -INF, -800.0]);
    let both = gradients(Op::Binary(Binary::LogAddExp), &[a, b]);
    assert_eq!(both, [[0.5, 0.5, 1.0, 0.0, 1.0, 0.5], [0.5, 0.5, 0.0, 1.0, 0.0, 0.5]]);
    let of = |x: &[f64]| gradients(Op::Reduce(Reduction::LogSumExp, Some(0)), &[x.to_vec()]).remove(0);
    assert_eq!(of(&[-INF, -INF]), [0.5, 0.5]);
    assert_eq!(of(&[INF, 1.0, INF, -INF]), [0.5, 0.0, 0.5, 0.0]);
    assert_eq!(of(&[-INF, 1.0]), [0.0, 1.0]);
    assert_eq!(of(&[-900.0, -900.0]), [0.5, 0.5]);
}

#[test]
fn a_product_has_a_gradient_where_factors_are_zero() {
    let of = |x: &[f64]| gradients(Op::Reduce(Reduction::Prod, Some(0)), &[x.to_vec()]).remove(0);
    assert_eq!(of(&[2.0, 0.0, 3.0, 5.0, 7.0]), [0.0, 210.0, 0.0, 0.0, 0.0]);
    assert_eq!(of(&[0.0, 0.0, 3.0]), [0.0, 0.0, 0.0]);
    assert_eq!(of(&[4.0]), [1.0]);
    assert_eq!(of(&[1e-300, 1e-300, 1e300]), [1.0, 1.0, 0.0]);
}

#[test]
fn an_angle_has_a_gradient_far_away_and_none_at_the_origin() {
    let both = gradients(Op::Binary(Binary::Atan2), &[vec![0.0, 1e200, 0.0], vec![0.0, 0.0, -4e-200]]);
    assert_eq!(both[0], [0.0, 0.0, -2.5e199]);
    assert_eq!(both[1].iter().map(|x| x.abs()).collect::<Vec<_>>(), [0.0, 1e-200, 0.0]);
}
