//! The reference: a function computed on the host by the evaluation of the operator table, one operator after the
//! other.

use rml_base::{EntityId, IndexVec};
use rml_ir::Value;
use rml_ir::op::{EvalError, eval};

use crate::function::{Function, Kind, Val};

/// An operator without a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stop {
    /// The operator's value.
    pub at: Val,
    /// Why.
    pub error: EvalError,
}

/// The results of `function` for those arguments. Values are dropped as soon as nobody needs them.
///
/// # Errors
/// If an operator has no result; the first one is named.
///
/// # Panics
/// If the function does not satisfy B1 to B3, or the arguments do not have its inputs' types.
pub fn evaluate(function: &Function, args: &[Value]) -> Result<Vec<Value>, Stop> {
    Interpreter::new(function).run(function, args)
}

/// When values of one function can be dropped; worked out once for many calls.
#[derive(Clone, Debug)]
pub struct Interpreter {
    /// For each value, those that nobody needs after it.
    dead: IndexVec<Val, Vec<Val>>,
}

impl Interpreter {
    /// For that function.
    pub fn new(function: &Function) -> Self {
        let mut dead = IndexVec::filled(Vec::new(), function.values.len());
        for (value, last) in function.last_uses().iter_enumerated() {
            if let Some(last) = last {
                dead[*last].push(value);
            }
        }
        Self { dead }
    }

    /// As [`evaluate`], for the function that this was made for.
    ///
    /// # Errors
    /// As [`evaluate`].
    ///
    /// # Panics
    /// As [`evaluate`].
    pub fn run(&self, function: &Function, args: &[Value]) -> Result<Vec<Value>, Stop> {
        let mut values: IndexVec<Val, Option<Value>> = IndexVec::filled(None, function.values.len());
        for (at, def) in function.values.iter_enumerated() {
            let value = match &def.kind {
                Kind::Input => args[at.index()].clone(),
                Kind::Const(value) => value.clone(),
                Kind::Apply { op, args } => {
                    let operands: Vec<&Value> = args
                        .iter()
                        .map(|&x| values[x].as_ref().expect("B1: operands stand before"))
                        .collect();
                    match eval(op, &operands, function.precision) {
                        Ok(value) => value,
                        Err(error) => return Err(Stop { at, error }),
                    }
                }
            };
            values[at] = Some(value);
            self.dead[at].iter().for_each(|&x| values[x] = None);
        }
        let result = |r: &Val| values[*r].clone().expect("B3: results are values of the function");
        Ok(function.results.iter().map(result).collect())
    }
}
