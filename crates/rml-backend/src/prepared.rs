//! Executables with the exact semantics of errors (ERROR-7).

use std::sync::Arc;

use rml_base::{Diagnostic, EntityId};
use rml_ir::Value;

use crate::contract::{Backend, Executable, Held, Outcome};
use crate::error::Failure;
use crate::function::Function;
use crate::reference::{Stop, evaluate};

/// A function and what a backend made of it.
#[derive(Debug)]
pub struct Prepared {
    function: Arc<Function>,
    executable: Box<dyn Executable>,
    may_stop: bool,
}

/// Why a call has no results.
#[derive(Debug)]
pub enum RunError {
    /// An operator has none for these operands.
    Stop(Stop),
    /// The backend failed.
    Failed(Box<Diagnostic>),
}

impl Prepared {
    /// Has `backend` prepare a function.
    ///
    /// # Errors
    /// If it refuses; the diagnostic names the operator and its place.
    pub fn new(backend: &dyn Backend, function: Arc<Function>) -> Result<Self, Diagnostic> {
        debug_assert_eq!(crate::verify(&function), Ok(()));
        let executable = backend.prepare(&function).map_err(|f| f.within(&function))?;
        Ok(Self { may_stop: function.may_stop(), function, executable })
    }

    /// The function.
    pub fn function(&self) -> &Arc<Function> {
        &self.function
    }

    /// Runs it; see [`Executable::run`]. What the backend suspects is computed by the reference.
    ///
    /// # Errors
    /// If an operator has no result, or the backend fails.
    pub fn run(&self, args: Vec<Held>) -> Result<Vec<Held>, RunError> {
        let failed = |f: Failure| RunError::Failed(Box::new(f.within(&self.function)));
        let spare = self.spare(&args).map_err(failed)?;
        match self.executable.run(args).map_err(failed)? {
            Outcome::Done(results) => Ok(results),
            Outcome::Suspect => {
                let args =
                    spare.iter().map(Held::to_host).collect::<Result<Vec<Value>, _>>().map_err(failed)?;
                let results = evaluate(&self.function, &args).map_err(RunError::Stop)?;
                Ok(results.into_iter().map(Held::Host).collect())
            }
        }
    }

    /// The arguments for a second try: shared, but for those that the backend may overwrite, of which the host gets a copy.
    fn spare(&self, args: &[Held]) -> Result<Vec<Held>, Failure> {
        if !self.may_stop {
            return Ok(Vec::new());
        }
        let mut spare = args.to_vec();
        for donation in &self.function.donations {
            let arg = &mut spare[donation.input.index()];
            *arg = Held::Host(arg.to_host()?);
        }
        Ok(spare)
    }
}
