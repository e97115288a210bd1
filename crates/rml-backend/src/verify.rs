//! Verifier of functions: the invariants B1 to B3 stated in [`function`](crate::Function).

use rml_base::EntityId;
use rml_ir::Type;
use rml_ir::op::result_type;

use crate::function::{DefKind, Function};

/// Checks B1 to B3.
///
/// # Errors
/// An invariant is violated; there is one line for each violation.
pub fn verify(function: &Function) -> Result<(), Vec<String>> {
    let mut found = Vec::new();
    let inputs = function.inputs().count();
    for (x, def) in function.values.iter_enumerated() {
        match &def.kind {
            DefKind::Input if x.index() < inputs => {}
            DefKind::Input => found.push(format!("B1: the input {x} stands after other values")),
            DefKind::Const(value)
                if value.ty() == def.ty && value.to_precision(function.precision).same(value) => {}
            DefKind::Const(value) => {
                found.push(format!("B2: the constant {x} of {} is {}", def.ty, value.ty()))
            }
            DefKind::Apply { op, args } => match args.iter().find(|a| a.index() >= x.index()) {
                Some(late) => found.push(format!("B1: {x} uses {late}, which does not stand before it")),
                None => {
                    let types: Vec<Type> = args.iter().map(|&a| function.values[a].ty.clone()).collect();
                    match result_type(op, &types) {
                        Ok(ty) if ty == def.ty => {}
                        Ok(ty) => found.push(format!("B2: {x} is {}, but `{op}` gives {ty}", def.ty)),
                        Err(e) => found.push(format!("B2: {x} = `{op}`: {e}")),
                    }
                }
            },
        }
    }
    for result in &function.results {
        if result.index() >= function.values.len() {
            found.push(format!("B3: the result {result} is no value"));
        }
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}
