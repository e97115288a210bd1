//! Random values for the inputs of a flat program.

use rml_ir::flat::Flat;
use rml_ir::{DType, Data, Type, Value};
use rml_sim::InputCell;
use rml_testkit::Lcg;

/// A random value of a type: numbers of moderate size, small ints (some are negative).
pub(super) fn value(flat: &Flat, ty: &Type, r: &mut Lcg) -> Value {
    let n = ty.shape.len();
    let data = match ty.dtype {
        DType::Bool => Data::Bool((0..n).map(|_| r.chance(0.5)).collect()),
        DType::Int => Data::Int((0..n).map(|_| r.below(7) as i64 - 2).collect()),
        DType::Num => Data::F64((0..n).map(|_| r.range(-2.0, 2.0)).collect()),
    };
    Value::new(ty.shape.clone(), data).to_precision(flat.precision)
}

/// A trace. Inputs with a declared clock are present in the cycles of this clock, all others in every cycle.
pub(super) fn inputs(flat: &Flat, r: &mut Lcg, cycles: usize) -> Vec<Vec<InputCell>> {
    let mut cycle = || {
        let values: Vec<Value> = flat.inputs.iter().map(|i| value(flat, &flat.vars[i.var].ty, r)).collect();
        // The presence of an input depends on its condition, which may have a condition itself. There is no circle of
        // conditions.
        let is_present = |mut at: usize| {
            for _ in 0..flat.inputs.len() {
                let Some((cond, positive)) = flat.inputs[at].clock else { return true };
                let Some(next) = flat.inputs.iter().position(|i| i.var == cond) else { return false };
                if values[next].as_bool() != Some(positive) {
                    return false;
                }
                at = next;
            }
            false
        };
        let given = |(at, value): (usize, &Value)| {
            if is_present(at) { InputCell::Given(value.clone()) } else { InputCell::Absent }
        };
        values.iter().enumerate().map(given).collect()
    };
    (0..cycles).map(|_| cycle()).collect()
}
