//! Every operator in C, beside its evaluation.

mod support;

use support::Close;

use rml_ir::op::{eval, samples};
use rml_ir::{DType, Data, Precision, Type, Value};
use rml_plan::reference::Column;
use rml_testkit::Random;
use rml_testkit::samples::operators;

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
        let plan = operators(all, precision);
        let compared = support::compare_in(&support::builds(), &plan, &columns, (4, most), Close::Bits);
        assert!(compared.is_ok(), "{}", compared.unwrap_err());
    }
}
