//! Elements of outputs.

use rml_ir::Data;

/// Appends elements to elements of the same type; an empty `to` may have any type.
pub fn append(to: &mut Data, more: Data) {
    match (to, more) {
        (Data::Bool(all), Data::Bool(more)) => all.extend(more),
        (Data::Int(all), Data::Int(more)) => all.extend(more),
        (Data::F32(all), Data::F32(more)) => all.extend(more),
        (Data::F64(all), Data::F64(more)) => all.extend(more),
        (data, more) if data.is_empty() => *data = more,
        _ => {}
    }
}
