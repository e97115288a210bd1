//! The reference: a function computed on the host by the evaluation of the operator table, one operator after the
//! other.

use std::any::Any;
use std::sync::Arc;

use rml_base::{EntityId, IndexVec};
use rml_ir::op::{EvalError, eval};
use rml_ir::{Precision, Type, Value};

use crate::contract::{About, Backend, Buffer, Executable, Held, Options, Outcome};
use crate::error::Failure;
use crate::function::{Function, Kind, Val};

/// The reference as a backend, which computes every function.
#[derive(Clone, Copy, Debug)]
pub struct Reference;

impl Reference {
    /// Opens it.
    ///
    /// # Errors
    /// If another device than `cpu` is asked for.
    pub fn open(options: &Options) -> Result<Self, Failure> {
        options.on_cpu("reference").map(|()| Self)
    }
}

impl Backend for Reference {
    fn about(&self) -> About {
        About {
            name: "reference".to_owned(),
            version: "embedded; slow: what the results of other backends are compared with".to_owned(),
            device: "cpu".to_owned(),
            devices: vec!["cpu".to_owned()],
        }
    }

    fn is_host(&self) -> bool {
        true
    }

    fn prepare(&self, function: &Function) -> Result<Box<dyn Executable>, Failure> {
        Ok(Box::new(Ready { interpreter: Interpreter::new(function), function: function.clone() }))
    }

    fn upload(&self, value: &Value) -> Result<Arc<dyn Buffer>, Failure> {
        Ok(Arc::new(Kept { ty: value.ty(), value: value.clone() }))
    }
}

#[derive(Debug)]
struct Ready {
    function: Function,
    interpreter: Interpreter,
}

impl Executable for Ready {
    fn run(&self, args: Vec<Held>) -> Result<Outcome, Failure> {
        let args = args.iter().map(Held::to_host).collect::<Result<Vec<Value>, _>>()?;
        match self.interpreter.run(&self.function, &args) {
            Ok(values) => Ok(Outcome::Done(values.into_iter().map(Held::Host).collect())),
            Err(Stop { at, error: EvalError::Memory(shortage) }) => {
                Err(Failure::shortage(Some(at), shortage))
            }
            // An operator without a result is found again, and reported, by the same evaluation in the contract.
            Err(_) => Ok(Outcome::Suspect),
        }
    }
}

/// A value that stays on the host; copying it shares it.
#[derive(Debug)]
struct Kept {
    ty: Type,
    value: Value,
}

impl Buffer for Kept {
    fn ty(&self) -> &Type {
        &self.ty
    }

    fn precision(&self) -> Precision {
        self.value.precision()
    }

    fn download(&self) -> Result<Value, Failure> {
        Ok(self.value.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

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
