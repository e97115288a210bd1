//! Every operator in C, beside its evaluation.

mod support;

use support::Close;

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

fn value(ty: &Type, precision: Precision, r: &mut Random) -> Value {
    let n = ty.shape.len();
    let data = match ty.dtype {
        DType::Bool => Data::Bool((0..n).map(|_| r.chance(0.5)).collect()),
        DType::Int => Data::Int((0..n).map(|_| r.below(5) as i64 - 1).collect()),
        DType::Num => Data::F64((0..n).map(|_| r.range(-2.0, 2.0)).collect()),
    };
    Value::new(ty.shape.clone(), data).to_precision(precision)
}

#[test]
fn operators_mean_the_same_in_c() {
    let mut r = Random(3);
    for (i, all) in samples().chunks(32).enumerate() {
        let precision = if i % 2 == 0 { Precision::F32 } else { Precision::F64 };
        let mut columns: Vec<Column> = Vec::new();
        for (op, types) in all {
            let mut own = vec![Column::new(); types.len()];
            // Draws for which the operator has a result.
            while own.first().map_or(4, Vec::len) < 4 {
                let args: Vec<Value> = types.iter().map(|ty| value(ty, precision, &mut r)).collect();
                if eval(op, &args.iter().collect::<Vec<_>>(), precision).is_ok() {
                    own.iter_mut().zip(args).for_each(|(column, arg)| column.push(Some(arg)));
                }
            }
            columns.append(&mut own);
        }
        let most = if i % 3 == 0 { 1 } else { 4 };
        let plan = plan(all, precision);
        let compared = support::compare_in(&support::builds(), &plan, &columns, (4, most), Close::Bits);
        assert!(compared.is_ok(), "{}", compared.unwrap_err());
    }
}
