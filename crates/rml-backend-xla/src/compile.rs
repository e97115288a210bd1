//! From tensor functions to programs of a device.

use std::fmt;

use rml_backend::{Failure, Function, Kind};
use xla::{HloModuleProto, PjRtBuffer, PjRtClient, PjRtLoadedExecutable, XlaComputation};

use crate::buffer;
use crate::error::{failure, said};
use crate::ffi;
use rml_stablehlo::{Arg, Lowered, lower};

/// A function as a program of a device.
pub(crate) struct Compiled {
    pub(crate) function: Function,
    pub(crate) lowered: Lowered,
    /// `None` where nothing is left to compute.
    pub(crate) program: Option<PjRtLoadedExecutable>,
    /// For each parameter that is a constant, its place on the device.
    pub(crate) constants: Vec<Option<PjRtBuffer>>,
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled").field("lowered", &self.lowered).finish_non_exhaustive()
    }
}

impl Compiled {
    pub(crate) fn new(client: &PjRtClient, function: &Function) -> Result<Self, Failure> {
        let lowered = lower(function);
        let needed = lowered.computed > 0 || lowered.tested;
        let program = if needed { Some(compile_text(client, &lowered.text)?) } else { None };
        let constant = |arg: &Arg| match (arg, arg_kind(function, *arg)) {
            (Arg::Constant(_), Kind::Const(value)) => buffer::upload(client, value).map(Some),
            _ => Ok(None),
        };
        let constants = lowered.args.iter().map(constant).collect::<Result<_, _>>()?;
        Ok(Self { function: function.clone(), lowered, program, constants })
    }
}

fn arg_kind(function: &Function, arg: Arg) -> &Kind {
    let (Arg::Input(x) | Arg::Constant(x) | Arg::Drawn(x)) = arg;
    &function.values[x].kind
}

/// Compiles a module in StableHLO text.
pub(crate) fn compile_text(client: &PjRtClient, text: &str) -> Result<PjRtLoadedExecutable, Failure> {
    let bytes = ffi::stablehlo_to_proto(text).map_err(|e| said(&e))?;
    let proto = HloModuleProto::parse_proto(&bytes, true).map_err(|e| failure(&e))?;
    client.compile(&XlaComputation::from_proto(&proto)).map_err(|e| failure(&e))
}
