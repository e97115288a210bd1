//! Many instances of an operator in one function, one result each.

use std::sync::Arc;

use rml_ir::op::{EvalError, Op};
use rml_ir::{DType, Precision, Value};

use super::compare::compare;
use super::instances::Instance;
use super::report::Report;
use crate::contract::{Backend, Executable, Held, Outcome};
use crate::function::{DefKind, Function, Val};
use crate::prepared::{Prepared, RunError};
use crate::reference::evaluate;

/// Instances of an operator, and the function that computes all of them.
pub(super) struct Group {
    instances: Vec<Instance>,
    function: Arc<Function>,
}

/// The way in which a backend computes a group.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    /// The backend must compute the call itself, because every operator has a result for harmless operands.
    Alone,
    /// The reference computes the calls that the backend suspects.
    WithReference,
}

impl Group {
    /// A function whose inputs are the operands of all instances, one after the other.
    pub(super) fn new(name: &str, precision: Precision, instances: Vec<Instance>) -> Self {
        let mut f = Function::new(name, precision);
        let operands: Vec<Vec<Val>> = instances
            .iter()
            .map(|(_, types)| types.iter().map(|ty| f.input(ty.clone(), Function::nowhere())).collect())
            .collect();
        Self::apply(f, instances, operands)
    }

    /// A function without inputs whose constants are the given operands.
    pub(super) fn constant(
        name: &str,
        precision: Precision,
        instances: Vec<Instance>,
        args: &[Vec<Value>],
    ) -> Self {
        let mut f = Function::new(name, precision);
        let operands: Vec<Vec<Val>> = args
            .iter()
            .map(|args| args.iter().map(|v| f.constant(v, Function::nowhere())).collect())
            .collect();
        Self::apply(f, instances, operands)
    }

    fn apply(mut f: Function, instances: Vec<Instance>, operands: Vec<Vec<Val>>) -> Self {
        for ((op, _), args) in instances.iter().zip(operands) {
            let result = f.apply(op.clone(), args, Function::nowhere());
            f.results.push(result.expect("instances of the operator table have a type"));
        }
        Self { instances, function: Arc::new(f) }
    }

    /// The operators and their operands' types.
    pub(super) fn instances(&self) -> &[Instance] {
        &self.instances
    }

    /// Prepares the function on the backend.
    pub(super) fn prepare<'a>(&'a self, backend: &dyn Backend, ask: Ask) -> Result<Ready<'a>, String> {
        let refused = |e: &dyn std::fmt::Display| format!("the backend refuses {}: {e}", self.function.name);
        let runner = match ask {
            Ask::Alone => Runner::Alone(
                backend.prepare(&self.function).map_err(|f| refused(&f.within(&self.function)))?,
            ),
            Ask::WithReference => {
                Runner::Exact(Prepared::new(backend, Arc::clone(&self.function)).map_err(|d| refused(&d))?)
            }
        };
        Ok(Ready { group: self, runner })
    }
}

enum Runner {
    Alone(Box<dyn Executable>),
    Exact(Prepared),
}

/// A group that a backend has prepared.
pub(super) struct Ready<'a> {
    group: &'a Group,
    runner: Runner,
}

impl Ready<'_> {
    /// Calls the function on operands for each instance, and compares every result, or the error, with the reference.
    pub(super) fn check(&self, args: &[Vec<Value>], report: &mut Report) {
        let (function, precision) = (&self.group.function, self.group.function.precision);
        let flat: Vec<Value> = args.iter().flatten().cloned().collect();
        let inputs = function.values.iter().any(|d| matches!(d.kind, DefKind::Input));
        let given: Vec<Value> = if inputs { flat } else { Vec::new() };
        let want = evaluate(function, &given).map_err(|stop| stop.error);
        let got = match self.run(given) {
            Ok(got) => got,
            Err(why) => return report.record(Err(format!("{}: {why}", function.name))),
        };
        match (got, want) {
            (Ok(got), Ok(want)) => {
                for (i, (op, _)) in self.group.instances.iter().enumerate() {
                    report.record(compare(op, &args[i], precision, &got[i], &want[i]));
                }
            }
            (Err(got), Err(want)) if got == want => report.record(Ok(())),
            (got, want) => {
                let told = |r: Result<Vec<Value>, EvalError>| {
                    r.map_or_else(|e| e.to_string(), |_| "a result".into())
                };
                let what = format!("{}: {}, expected {}", self.operands(args), told(got), told(want));
                report.record(Err(what));
            }
        }
    }

    fn operands(&self, args: &[Vec<Value>]) -> String {
        let show = |((op, _), args): (&Instance, &Vec<Value>)| format!("`{op}` of {args:?}");
        let mut text: String = self.group.instances.iter().zip(args).map(show).collect::<Vec<_>>().join(", ");
        text.truncate(text.char_indices().nth(300).map_or(text.len(), |(i, _)| i));
        text
    }

    /// The results, or the error of an operator; `Err` with a text if the backend breaks the contract.
    fn run(&self, args: Vec<Value>) -> Result<Result<Vec<Value>, EvalError>, String> {
        let args: Vec<Held> = args.into_iter().map(Held::Host).collect();
        let results = match &self.runner {
            Runner::Alone(executable) => match executable.run(args).map_err(|f| f.message)? {
                Outcome::Done(results) => results,
                Outcome::Suspect => {
                    return Err("the backend suspects operands for which every operator has a result".into());
                }
            },
            Runner::Exact(prepared) => match prepared.run(args) {
                Ok(results) => results,
                Err(RunError::Stop(stop)) => return Ok(Err(stop.error)),
                Err(RunError::Failed(report)) => return Err(report.to_string()),
            },
        };
        let expected = self.group.function.results.len();
        if results.len() != expected {
            return Err(format!("{} results instead of {expected}", results.len()));
        }
        let host = results.iter().map(Held::to_host).collect::<Result<Vec<Value>, _>>();
        host.map(Ok).map_err(|f| f.message)
    }
}

/// Whether an operand or the result of an instance contains numbers; if not, a test in one precision is sufficient.
pub(super) fn has_nums((op, types): &Instance) -> bool {
    types.iter().any(|ty| ty.dtype == DType::Num)
        || matches!(
            op,
            Op::Convert(DType::Num) | Op::OneHot { .. } | Op::RandomUniform { .. } | Op::RandomNormal { .. }
        )
}
