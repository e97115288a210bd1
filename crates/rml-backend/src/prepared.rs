//! Executables with the exact semantics of errors (ERROR-7).

use std::sync::Arc;

use rml_base::{Diagnostic, memory};
use rml_ir::Value;

use crate::contract::{Backend, Executable, Held, Outcome};
use crate::error::Failure;
use crate::function::{DefKind, Function, Val};
use crate::reference::{NoResult, evaluate};

/// A function and the executable that a backend made of it.
#[derive(Debug)]
pub struct Prepared {
    function: Arc<Function>,
    executable: Box<dyn Executable>,
    may_stop: bool,
    /// The host memory that a call needs; empty if the backend computes on another device.
    need: Need,
}

/// A lower bound of the memory that a call needs: the size of its results, and of its largest value.
#[derive(Clone, Copy, Default, Debug)]
struct Need {
    largest: u64,
    /// The largest value.
    at: Option<Val>,
    results: u64,
}

impl Need {
    fn of(function: &Function) -> Self {
        let bytes = |v: Val| function.values[v].ty.bytes(function.precision);
        let computed =
            function.values.iter_enumerated().filter(|(_, d)| matches!(d.kind, DefKind::Apply { .. }));
        let at = computed.map(|(v, _)| v).max_by_key(|&v| bytes(v));
        let results = function.results.iter().fold(0_u64, |n, &r| n.saturating_add(bytes(r)));
        Self { largest: at.map_or(0, bytes), at, results }
    }

    fn ask(&self) -> Result<(), Failure> {
        memory::ask(self.largest).map_err(|short| Failure::shortage(self.at, short))?;
        memory::ask(self.results).map_err(|short| Failure::shortage(None, short))
    }
}

/// Reasons why a call has no results.
#[derive(Debug)]
pub enum RunError {
    /// An operator has no result for these operands.
    Stop(NoResult),
    /// The backend failed.
    Failed(Box<Diagnostic>),
}

impl Prepared {
    /// Has `backend` prepare a function.
    ///
    /// # Errors
    /// The backend refuses the function; the diagnostic names the operator and its place.
    pub fn new(backend: &dyn Backend, function: Arc<Function>) -> Result<Self, Diagnostic> {
        debug_assert_eq!(crate::verify(&function), Ok(()));
        let executable = backend.prepare(&function).map_err(|f| f.within(&function))?;
        let on_host = backend.about().is_on_host();
        let need = if on_host { Need::of(&function) } else { Need::default() };
        Ok(Self { may_stop: function.may_stop(), function, executable, need })
    }

    /// The function.
    pub fn function(&self) -> &Arc<Function> {
        &self.function
    }

    /// Runs the function; see [`Executable::run`]. The reference computes the calls that the backend suspects.
    ///
    /// # Errors
    /// An operator has no result; the backend fails; or the call would need more memory than allowed.
    pub fn run(&self, args: Vec<Held>) -> Result<Vec<Held>, RunError> {
        let failed = |f: Failure| RunError::Failed(Box::new(f.within(&self.function)));
        self.need.ask().map_err(failed)?;
        // A backend does not change the arguments, so the reference can compute with the same ones.
        let spare = if self.may_stop { args.clone() } else { Vec::new() };
        match self.executable.run(args).map_err(failed)? {
            Outcome::Done(results) => Ok(results),
            Outcome::Suspect if !self.may_stop => {
                Err(failed(Failure::call("it finds no result for operators that always have one")))
            }
            Outcome::Suspect => {
                let args =
                    spare.iter().map(Held::to_host).collect::<Result<Vec<Value>, _>>().map_err(failed)?;
                let results = evaluate(&self.function, &args).map_err(RunError::Stop)?;
                Ok(results.into_iter().map(Held::Host).collect())
            }
        }
    }
}
