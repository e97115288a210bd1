//! The reference: it computes a function on the host, one operator after the other, by the evaluation of the operator
//! table.

use std::any::Any;
use std::sync::Arc;

use rml_base::{EntityId, IndexVec};
use rml_ir::op::{EvalError, eval};
use rml_ir::{Precision, Type, Value};

use crate::contract::{About, Backend, Buffer, Executable, Held, Options, Outcome};
use crate::error::Failure;
use crate::function::{DefKind, Function, Val};

/// The reference as a backend, which computes every function.
#[derive(Clone, Copy, Debug)]
pub struct Reference;

impl Reference {
    /// Opens the reference.
    ///
    /// # Errors
    /// The options ask for a device other than `cpu`.
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
            Err(NoResult { at, error: EvalError::Memory(shortage) }) => {
                Err(Failure::shortage(Some(at), shortage))
            }
            // The same evaluation in the contract finds the operator without a result again and reports it.
            Err(_) => Ok(Outcome::Suspect),
        }
    }
}

/// A value that stays on the host; copies share its elements.
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
pub struct NoResult {
    /// The operator's value.
    pub at: Val,
    /// The reason.
    pub error: EvalError,
}

/// The results of `function` for the given arguments. Values are dropped after their last use.
///
/// # Errors
/// An operator has no result; the first such operator is named.
///
/// # Panics
/// The function does not satisfy B1 to B3, or the arguments do not have the types of its inputs.
pub fn evaluate(function: &Function, args: &[Value]) -> Result<Vec<Value>, NoResult> {
    Interpreter::new(function).run(function, args)
}

/// Runs one function many times; computes only once when each value can be dropped.
#[derive(Clone, Debug)]
pub struct Interpreter {
    /// For each value, the values that are not used after it.
    dead: IndexVec<Val, Vec<Val>>,
}

impl Interpreter {
    /// An interpreter for `function`.
    pub fn new(function: &Function) -> Self {
        let mut dead = IndexVec::filled(Vec::new(), function.values.len());
        for (value, last) in function.last_uses().iter_enumerated() {
            if let Some(last) = last {
                dead[*last].push(value);
            }
        }
        Self { dead }
    }

    /// Runs [`evaluate`] for the function that this interpreter was made for.
    ///
    /// # Errors
    /// The same as for [`evaluate`].
    ///
    /// # Panics
    /// The same as for [`evaluate`].
    pub fn run(&self, function: &Function, args: &[Value]) -> Result<Vec<Value>, NoResult> {
        let mut values: IndexVec<Val, Option<Value>> = IndexVec::filled(None, function.values.len());
        for (at, def) in function.values.iter_enumerated() {
            let value = match &def.kind {
                DefKind::Input => args[at.index()].clone(),
                DefKind::Const(value) => value.clone(),
                DefKind::Apply { op, args } => {
                    let operands: Vec<&Value> = args
                        .iter()
                        .map(|&x| values[x].as_ref().expect("B1: operands stand before"))
                        .collect();
                    match eval(op, &operands, function.precision) {
                        Ok(value) => value,
                        Err(error) => return Err(NoResult { at, error }),
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
