//! Every operator as ONNX and as StableHLO, beside its evaluation.

mod support;

use support::{Cases, precision};

use std::sync::Arc;

use rml_base::{IndexVec, Span};
use rml_ir::op::{Op, eval, result_type, samples};
use rml_ir::{DType, Data, Precision, Type, Value};
use rml_plan::reference::Column;
use rml_plan::{Atom, Case, Ends, Output, Part, Plan, Positions, Region, Rule, Tape, TapeData, Tick};
use rml_testkit::Random;

fn tape(name: &str, ty: &Type, rule: Rule) -> TapeData {
    let cases = vec![Case { at: Positions::ALL, when: Vec::new(), rule }];
    TapeData {
        name: Some(name.into()),
        ty: ty.clone(),
        span: Span::new(rml_base::FileId(0), 0, 0),
        ahead: 0,
        cases,
    }
}

/// Operators, each of inputs of its own.
fn plan(all: &[(Op, Vec<Type>)], precision: Precision) -> Plan {
    let mut tapes: IndexVec<Tape, TapeData> = IndexVec::new();
    let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
    for (op, types) in all {
        let mut args = Vec::new();
        for ty in types {
            let name = format!("x{}", inputs.len());
            let x = tapes.push(tape(&name, ty, Rule::Input(inputs.len() as u32)));
            inputs.push((Arc::from(name), ty.clone()));
            args.push(Atom::Tape(x, Tick::Now));
        }
        let of = result_type(op, types).expect("a sample has a type");
        let name = format!("y{}", outputs.len());
        let y = tapes.push(tape(&name, &of, Rule::Apply { op: op.clone(), args }));
        let cases = vec![(Positions::ALL, Vec::new(), Atom::Tape(y, Tick::Now))];
        outputs.push(Output { name: name.into(), ty: of, cases });
    }
    let parts = tapes.ids().map(|tape| Part { tape, at: Positions::ALL }).collect();
    Plan {
        name: "main".into(),
        precision,
        ends: Ends::Nothing,
        waits: false,
        inputs,
        consts: IndexVec::new(),
        tapes,
        registers: IndexVec::new(),
        regions: vec![Region::Over(parts)],
        commits: Vec::new(),
        outputs,
    }
}

/// Some elements are odd ones, as often as said.
fn value(ty: &Type, precision: Precision, odd: f64, r: &mut Random) -> Value {
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
fn operators_mean_the_same_elsewhere() {
    let mut r = Random(3);
    let mut cases = Cases::new();
    for (i, (op, types)) in samples().into_iter().enumerate() {
        let precision = precision(i);
        // XLA multiplies what belongs to other groups by zeros.
        let odd = if matches!(op, Op::ConvKernel { .. }) { 0.0 } else { 0.1 };
        let mut columns = vec![Column::new(); types.len()];
        // Draws for which the operator has a result.
        while columns.first().map_or(4, Vec::len) < 4 {
            let args: Vec<Value> = types.iter().map(|ty| value(ty, precision, odd, &mut r)).collect();
            if eval(&op, &args.iter().collect::<Vec<_>>(), precision).is_ok() {
                columns.iter_mut().zip(args).for_each(|(column, arg)| column.push(Some(arg)));
            }
        }
        let told = format!("{op} {precision}");
        cases.add(&told, &plan(&[(op, types)], precision), &columns, 4, if i % 3 == 0 { 1 } else { 4 });
    }
    assert!(cases.len() > 100, "{} operators", cases.len());
    cases.run();
}
