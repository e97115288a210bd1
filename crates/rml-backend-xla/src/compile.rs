//! Compiles tensor functions to programs of a device.

use std::fmt;

use rml_backend::{DefKind, Failure, Function};

use crate::buffer;
use crate::ffi::{Program, Tensor};
use crate::programs::Programs;
use rml_stablehlo::{Arg, FunctionModule, lower};

/// A function as a program of a device.
pub(crate) struct Compiled {
    pub(crate) function: Function,
    pub(crate) lowered: FunctionModule,
    /// The program; `None` if nothing remains to be computed.
    pub(crate) program: Option<Program>,
    /// For each parameter that is a constant, its tensor on the device.
    pub(crate) constants: Vec<Option<Tensor>>,
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled").field("lowered", &self.lowered).finish_non_exhaustive()
    }
}

impl Compiled {
    pub(crate) fn new(programs: &Programs, function: &Function) -> Result<Self, Failure> {
        let lowered = lower(function);
        let needed = lowered.computed > 0 || lowered.tested;
        let program = if needed { Some(programs.compile(&lowered.text)?) } else { None };
        let constant = |arg: &Arg| match (arg, arg_kind(function, *arg)) {
            (Arg::Constant(_), DefKind::Const(value)) => buffer::upload(&programs.client, value).map(Some),
            _ => Ok(None),
        };
        let constants = lowered.args.iter().map(constant).collect::<Result<_, _>>()?;
        Ok(Self { function: function.clone(), lowered, program, constants })
    }
}

fn arg_kind(function: &Function, arg: Arg) -> &DefKind {
    let (Arg::Input(x) | Arg::Constant(x) | Arg::Drawn(x)) = arg;
    &function.values[x].kind
}
