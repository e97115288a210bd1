//! Calls of prepared functions.

use std::sync::Arc;

use rml_backend::{Executable, Failure, Held, Outcome};
use rml_base::EntityId;
use rml_ir::Value;

use crate::buffer::{self, Stored};
use crate::compile::Compiled;
use crate::device::Device;
use crate::error::said;
use crate::ffi::{Program, Tensor};
use rml_stablehlo::{Arg, FunctionResult};

/// A function that is ready to run.
#[derive(Debug)]
pub(crate) struct Ready {
    device: Arc<Device>,
    compiled: Arc<Compiled>,
}

/// A parameter of a call.
pub(crate) enum Passed<'a> {
    /// Made for this call.
    Own(Tensor),
    /// Owned by someone else, who keeps it.
    Kept(&'a Tensor),
}

impl Passed<'_> {
    pub(crate) fn buffer(&self) -> &Tensor {
        match self {
            Passed::Own(buffer) => buffer,
            Passed::Kept(buffer) => buffer,
        }
    }
}

impl Ready {
    pub(crate) fn new(device: Arc<Device>, compiled: Arc<Compiled>) -> Self {
        Self { device, compiled }
    }

    /// The values that the host draws before the call; `None` if a draw may fail.
    fn draw(&self, args: &[Held]) -> Result<Option<Vec<Value>>, Failure> {
        let drawn = &self.compiled.lowered.drawn;
        let inputs = drawn.inputs().iter().map(|x| args[x.index()].to_host()).collect::<Result<_, _>>()?;
        Ok(drawn.compute(&self.compiled.function, inputs).ok())
    }

    /// Runs the program, and returns its results in order.
    fn execute(&self, program: &Program, args: &[Held], drawn: &[Value]) -> Result<Vec<Tensor>, Failure> {
        let lowered = &self.compiled.lowered;
        let mut drawn = drawn.iter();
        let mut passed = Vec::with_capacity(lowered.args.len());
        for (i, arg) in lowered.args.iter().enumerate() {
            passed.push(match arg {
                Arg::Input(x) => pass(&self.device, &args[x.index()])?,
                Arg::Constant(_) => Passed::Kept(present(self.compiled.constants[i].as_ref())?),
                Arg::Drawn(_) => Passed::Own(buffer::upload(&self.device.client, present(drawn.next())?)?),
            });
        }
        let buffers: Vec<&Tensor> = passed.iter().map(Passed::buffer).collect();
        program.run(&buffers).map_err(|e| said(&e))
    }
}

/// An argument on the device.
pub(crate) fn pass<'a>(device: &Device, arg: &'a Held) -> Result<Passed<'a>, Failure> {
    let shared = match arg {
        Held::Host(value) => return Ok(Passed::Own(buffer::upload(&device.client, value)?)),
        Held::Device(shared) => shared,
    };
    let stored = shared.as_any().downcast_ref::<Stored>();
    let stored = stored.ok_or_else(|| Failure::call("a buffer of another backend was passed to xla"))?;
    Ok(Passed::Kept(present(stored.device())?))
}

/// A value that must exist according to the plan of a call.
pub(crate) fn present<T>(found: Option<T>) -> Result<T, Failure> {
    found.ok_or_else(|| Failure::call("a call of xla does not fit its function"))
}

impl Executable for Ready {
    fn run(&self, args: Vec<Held>) -> Result<Outcome, Failure> {
        let Compiled { function, lowered, program, .. } = &*self.compiled;
        let Some(drawn) = self.draw(&args)? else { return Ok(Outcome::Suspect) };
        let mut computed = match program {
            Some(program) => self.execute(program, &args, &drawn)?,
            None => Vec::new(),
        };
        if lowered.tested && buffer::truth(&present(computed.pop())?)? {
            return Ok(Outcome::Suspect);
        }
        let mut stored: Vec<Option<Held>> = vec![None; computed.len()];
        let mut computed: Vec<Option<Tensor>> = computed.into_iter().map(Some).collect();
        let mut results = Vec::with_capacity(lowered.outputs.len());
        for (output, &x) in lowered.outputs.iter().zip(&function.results) {
            results.push(match output {
                FunctionResult::Input(x) => args[x.index()].clone(),
                FunctionResult::Known(value) => Held::Host(value.clone()),
                FunctionResult::Computed(at) => {
                    if let Some(buffer) = computed.get_mut(*at).and_then(Option::take) {
                        let made =
                            Stored::on_device(function.values[x].ty.clone(), function.precision, buffer);
                        stored[*at] = Some(Held::Device(Arc::new(made)));
                    }
                    present(stored.get(*at).cloned().flatten())?
                }
            });
        }
        Ok(Outcome::Done(results))
    }
}
