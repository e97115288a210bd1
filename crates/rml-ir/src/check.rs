//! Shared by the verifiers of all stages: when they run, and the typing rules of the primitives.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::op::{Op, result_type};
use crate::types::Type;
use crate::value::Value;

/// Whether stages are verified in release builds too.
static ALWAYS: AtomicBool = AtomicBool::new(false);

/// From now on, verifies every stage that a pass makes, as debug builds always do.
pub fn verify_always() {
    ALWAYS.store(true, Ordering::Relaxed);
}

/// Whether stages are verified: in debug builds, and after [`verify_always`].
pub fn is_verifying() -> bool {
    cfg!(debug_assertions) || ALWAYS.load(Ordering::Relaxed)
}

/// Where stages are verified, panics with the violations if a pass broke the form that it makes. That is a bug in the
/// pass, whatever the program.
pub fn checked(pass: &str, verify: impl FnOnce() -> Result<(), Vec<String>>) {
    if is_verifying()
        && let Err(found) = verify()
    {
        panic!("the pass `{pass}` broke its result:\n{}", found.join("\n"));
    }
}

/// A primitive as far as its types go.
pub(crate) enum Form<'a> {
    /// A constant of that type, and its value if there is one.
    Const(&'a Type, Option<&'a Value>),
    /// An operator with the types of its operands.
    Apply(&'a Op, Vec<Type>),
    /// Anything whose operands have the type of its result, with its conditions.
    Alike {
        /// Types of the operands.
        operands: Vec<&'a Type>,
        /// Types of the conditions.
        conditions: Vec<&'a Type>,
    },
}

impl<'a> Form<'a> {
    /// A form without conditions.
    pub(crate) fn alike(operands: Vec<&'a Type>) -> Self {
        Form::Alike { operands, conditions: Vec::new() }
    }

    /// A form with one condition.
    pub(crate) fn gated(condition: &'a Type, operands: Vec<&'a Type>) -> Self {
        Form::Alike { operands, conditions: vec![condition] }
    }

    /// What is wrong with the types of its operands and result.
    pub(crate) fn types(&self, result: &Type) -> Option<String> {
        match self {
            Form::Const(ty, value) => constant(ty, *value, result),
            Form::Apply(op, args) => match result_type(op, args) {
                Ok(ty) if ty == *result => None,
                Ok(ty) => Some(format!("`{op}` gives {ty}, the result is {result}")),
                Err(e) => Some(format!("`{op}` expects {}, found {}", e.expected, e.found)),
            },
            Form::Alike { operands, .. } => operands
                .iter()
                .find(|ty| **ty != result)
                .map(|ty| format!("an operand is {ty}, the result is {result}")),
        }
    }

    /// What is wrong with its conditions.
    pub(crate) fn conditions(&self) -> Option<String> {
        match self {
            Form::Alike { conditions, .. } => conditions.iter().find_map(|ty| condition(ty)),
            Form::Const(..) | Form::Apply(..) => None,
        }
    }
}

/// What is wrong with a constant that stands where `expected` is asked for.
pub(crate) fn constant(ty: &Type, value: Option<&Value>, expected: &Type) -> Option<String> {
    if ty != expected {
        return Some(format!("the constant is {ty}, the result is {expected}"));
    }
    value.filter(|v| v.ty() != *ty).map(|v| format!("the value is {}, the constant {ty}", v.ty()))
}

/// What is wrong with a condition of that type.
pub(crate) fn condition(ty: &Type) -> Option<String> {
    (*ty != Type::condition()).then(|| format!("a condition is {ty}, not bool []"))
}

/// How often each variable is defined, inputs included, with a line for each variable that is not defined
/// exactly once.
pub(crate) fn definitions(rule: &str, definitions: &[usize]) -> Vec<String> {
    let wrong = definitions.iter().enumerate().filter(|(_, n)| **n != 1);
    wrong.map(|(v, n)| format!("{rule}: v{v} is defined {n} times")).collect()
}
