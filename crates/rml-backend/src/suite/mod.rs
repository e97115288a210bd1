//! The suite that every backend must pass: the same checks for all backends.
//!
//! [`checks`] lists the checks, each with a name of the form `topic::what`; [`Check::run`] runs one on an open backend
//! and returns a [`Report`]. A result is right if it differs from that of the [`reference`](crate::reference)
//! evaluation by at most the [`tolerance`] of the operator.
//!
//! - `values`: every operator over many shapes and element types, on random operands, some of which are constants of
//!   the function;
//! - `edges`: every operator on NaN, infinities, zeros of both signs, subnormal and huge numbers, extreme integers, and
//!   positions outside their axis: the result or the error must be that of the reference;
//! - `random`: random numbers, which are bit-equal on all backends;
//! - `functions`: random functions of many operators, which shrink to the part that fails;
//! - `calls`: buffers, errors, many calls, threads.
//!
//! The checks prepare only a few functions, because some backends compile each function: one function contains all
//! instances of an operator.

mod calls;
mod compare;
mod dice;
mod edges;
mod einsums;
mod functions;
mod group;
mod instances;
mod operands;
mod random;
mod report;
mod specials;
mod tolerance;
mod values;
mod wanted;

pub use functions::check_function;
pub use operands::random_operands;
pub use report::Report;
pub use tolerance::{Tolerance, table, tolerance};
pub use wanted::{Closed, WantedBackends};

use crate::contract::Backend;

type Body = Box<dyn Fn(&dyn Backend) -> Report + Send + Sync>;

/// One check.
pub struct Check {
    /// The name, of the form `topic::what`.
    pub name: String,
    body: Body,
}

impl Check {
    fn new(topic: &str, what: &str, body: impl Fn(&dyn Backend) -> Report + Send + Sync + 'static) -> Self {
        Self { name: format!("{topic}::{what}"), body: Box::new(body) }
    }

    /// Runs the check.
    pub fn run(&self, backend: &dyn Backend) -> Report {
        (self.body)(backend)
    }
}

impl std::fmt::Debug for Check {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Check").field(&self.name).finish()
    }
}

/// All checks.
pub fn checks() -> Vec<Check> {
    let mut checks = values::checks();
    checks.extend(edges::checks());
    checks.extend(random::checks());
    checks.extend(functions::checks());
    checks.extend(calls::checks());
    checks
}
