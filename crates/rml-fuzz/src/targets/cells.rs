//! Random values for the inputs of a flat program.

use rml_ir::flat::Flat;
use rml_ir::{DType, Data, Type, Value};
use rml_sim::Input;
use rml_testkit::Random;

/// A value of a type: numbers of moderate size, small ints, also negative ones.
pub(super) fn value(flat: &Flat, ty: &Type, r: &mut Random) -> Value {
    let n = ty.shape.len();
    let data = match ty.dtype {
        DType::Bool => Data::Bool((0..n).map(|_| r.chance(0.5)).collect()),
        DType::Int => Data::Int((0..n).map(|_| r.below(7) as i64 - 2).collect()),
        DType::Num => Data::F64((0..n).map(|_| r.range(-2.0, 2.0)).collect()),
    };
    Value::new(ty.shape.clone(), data).to_precision(flat.precision)
}

/// A trace in which inputs with a declared clock are present where that says so, all others in every cycle.
pub(super) fn inputs(flat: &Flat, r: &mut Random, cycles: usize) -> Vec<Vec<Input>> {
    let mut cycle = || {
        let mut row: Vec<Input> = Vec::new();
        for input in &flat.inputs {
            let gate = input.clock.map(|(cond, positive)| {
                let at = flat.inputs.iter().position(|i| i.var == cond);
                let given = at.and_then(|at| row.get(at));
                matches!(given, Some(Input::Given(Value::Bool(b))) if *b == positive)
            });
            let value = value(flat, &flat.vars[input.var].ty, r);
            row.push(if gate == Some(false) { Input::Absent } else { Input::Given(value) });
        }
        row
    };
    (0..cycles).map(|_| cycle()).collect()
}
