//! Every operator in C, compared with its evaluation.

mod support;

use support::Close;

use rml_ir::op::{Binary, Op, conditioned, eval, samples};
use rml_ir::{DType, Data, Precision, Type, Value};
use rml_plan::reference::Cells;
use rml_plan::{Atom, Plan, Rule};
use rml_testkit::Lcg;
use rml_testkit::samples::operators;

fn value(ty: &Type, precision: Precision, r: &mut Lcg) -> Value {
    let n = ty.shape.len();
    let data = match ty.dtype {
        DType::Bool => Data::Bool((0..n).map(|_| r.chance(0.5)).collect()),
        DType::Int => Data::Int((0..n).map(|_| r.below(5) as i64 - 1).collect()),
        DType::Num => Data::F64((0..n).map(|_| r.range(-2.0, 2.0)).collect()),
    };
    Value::new(ty.shape.clone(), data).to_precision(precision)
}

/// Whether the operator comes from `math.h`, whose results differ from the reference in the last bits.
fn from_library(op: &Op) -> bool {
    matches!(op, Op::Binary(Binary::Pow | Binary::Atan2) | Op::RandomNormal { .. })
}

/// All samples in groups, each with the required precision.
fn chunks() -> impl Iterator<Item = (Vec<(Op, Vec<Type>)>, Close)> {
    let (library, own): (Vec<_>, Vec<_>) = samples().into_iter().partition(|(op, _)| from_library(op));
    let chunks =
        |all: &[(Op, Vec<Type>)], close| all.chunks(32).map(|c| (c.to_vec(), close)).collect::<Vec<_>>();
    chunks(&own, Close::Bits).into_iter().chain(chunks(&library, Close::Nearly))
}

#[test]
fn operators_mean_the_same_in_c() {
    let mut r = Lcg(3);
    for (i, (all, close)) in chunks().enumerate() {
        let precision = if i % 2 == 0 { Precision::F32 } else { Precision::F64 };
        let mut columns: Vec<Cells> = Vec::new();
        for (op, types) in &all {
            let mut own = vec![Cells::new(); types.len()];
            // Draws until the operator does not fail.
            while own.first().map_or(4, Vec::len) < 4 {
                let args: Vec<Value> = types.iter().map(|ty| value(ty, precision, &mut r)).collect();
                let args: Vec<Value> = args.iter().enumerate().map(|(i, x)| conditioned(op, i, x)).collect();
                if eval(op, &args.iter().collect::<Vec<_>>(), precision).is_ok() {
                    own.iter_mut().zip(args).for_each(|(column, arg)| column.push(Some(arg)));
                }
            }
            columns.append(&mut own);
        }
        let most = if i % 3 == 0 { 1 } else { 4 };
        let plan = operators(&all, precision);
        let compared = support::compare_in(&support::builds(), &plan, &columns, (4, most), close);
        assert!(compared.is_ok(), "{}", compared.unwrap_err());
    }
}

/// Replaces the operands of a plan of operators by constants with equal elements, which have no array in C.
fn alike(plan: &mut Plan, values: &[Value]) {
    for tape in plan.tapes.ids().collect::<Vec<_>>() {
        let rule = &mut plan.tapes[tape].cases[0].rule;
        if let Rule::Input(input) = rule {
            let k = plan.consts.push(values[*input as usize].clone());
            *rule = Rule::Copy(Atom::Const(k));
        }
    }
    let constant = |plan: &Plan, atom: &Atom| match atom {
        Atom::Tape(tape, _) => match plan.tapes[*tape].cases[0].rule {
            Rule::Copy(atom @ Atom::Const(_)) => atom,
            _ => *atom,
        },
        Atom::Const(_) => *atom,
    };
    for tape in plan.tapes.ids().collect::<Vec<_>>() {
        let mut rule = plan.tapes[tape].cases[0].rule.clone();
        if let Rule::Apply { args, .. } = &mut rule {
            args.iter_mut().for_each(|arg| *arg = constant(plan, arg));
        }
        plan.tapes[tape].cases[0].rule = rule;
    }
    plan.inputs.clear();
}

#[test]
fn operators_of_equal_elements_mean_the_same_in_c() {
    let mut r = Lcg(8);
    let same = |ty: &Type, r: &mut Lcg| {
        let one = value(&Type { dtype: ty.dtype, shape: [1].into_iter().collect() }, Precision::F64, r);
        let n = ty.shape.len();
        let data = match one.to_data() {
            Data::Bool(v) => Data::Bool(vec![v[0]; n]),
            Data::Int(v) => Data::Int(vec![v[0].max(0); n]),
            Data::F32(v) => Data::F64(vec![f64::from(v[0]); n]),
            Data::F64(v) => Data::F64(vec![v[0]; n]),
        };
        Value::new(ty.shape.clone(), data)
    };
    for (i, (all, close)) in chunks().enumerate() {
        let precision = if i % 2 == 0 { Precision::F64 } else { Precision::F32 };
        let (mut kept, mut values) = (Vec::new(), Vec::new());
        for (op, types) in &all {
            // Draws until the operator does not fail; some operators fail for equal elements.
            for _ in 0..20 {
                let args: Vec<Value> =
                    types.iter().map(|ty| same(ty, &mut r).to_precision(precision)).collect();
                if eval(op, &args.iter().collect::<Vec<_>>(), precision).is_ok() {
                    values.extend(args);
                    kept.push((op.clone(), types.clone()));
                    break;
                }
            }
        }
        assert!(kept.len() * 10 > all.len() * 9, "{} of {}", kept.len(), all.len());
        let mut plan = operators(&kept, precision);
        alike(&mut plan, &values);
        let compared = support::compare(&plan, &[], (1, 1), close);
        assert!(compared.is_ok(), "{}", compared.unwrap_err());
    }
}
