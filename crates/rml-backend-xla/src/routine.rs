//! Routines, each as a single program.

use std::fmt;
use std::sync::Arc;

use rml_backend::routine::{ByCalls, Routine};
use rml_backend::{Backend, Executable, Failure, Held, Outcome};
use rml_ir::{Precision, Type, Value};

use crate::buffer::{self, Stored};
use crate::device::Device;
use crate::error::said;
use crate::executable::{Passed, pass, present};
use crate::ffi::{Program, Tensor};
use rml_stablehlo::{RoutineModule, RoutineResult, lower_routine};

/// A routine that is ready to run.
struct Ready {
    device: Arc<Device>,
    module: RoutineModule,
    program: Arc<Program>,
    results: Vec<Type>,
    precision: Precision,
}

impl fmt::Debug for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ready").field("results", &self.results).finish_non_exhaustive()
    }
}

/// Prepares a routine: as one program, unless the host draws numbers in it.
pub(crate) fn prepare(
    backend: &dyn Backend,
    device: &Arc<Device>,
    routine: &Routine,
) -> Result<Box<dyn Executable>, Failure> {
    let Some(module) = lower_routine(routine) else { return Ok(Box::new(ByCalls::new(backend, routine)?)) };
    let program = device.routine(&module.text)?;
    let results = routine.results.iter().map(|slot| routine.slots[*slot].clone()).collect();
    let (device, precision) = (Arc::clone(device), routine.precision);
    Ok(Box::new(Ready { device, module, program, results, precision }))
}

impl Executable for Ready {
    fn run(&self, args: Vec<Held>) -> Result<Outcome, Failure> {
        let Self { module, program, .. } = self;
        let passed = module.args.iter().map(|i| pass(&self.device, &args[*i]));
        let passed = passed.collect::<Result<Vec<Passed<'_>>, _>>()?;
        let buffers: Vec<&Tensor> = passed.iter().map(Passed::buffer).collect();
        let mut computed = match module.tested || !module.outputs.is_empty() {
            true => program.run(&buffers).map_err(|e| said(&e))?,
            false => Vec::new(),
        };
        if module.tested && buffer::truth(&present(computed.pop())?)? {
            return Ok(Outcome::Suspect);
        }
        let mut computed: Vec<Option<Tensor>> = computed.into_iter().map(Some).collect();
        let mut stored: Vec<Option<Held>> = vec![None; computed.len()];
        let mut results = Vec::with_capacity(self.results.len());
        for (output, ty) in module.outputs.iter().zip(&self.results) {
            results.push(match output {
                RoutineResult::Input(i) => args[*i].clone(),
                RoutineResult::Empty => Held::Host(Value::zeros(ty, self.precision)),
                RoutineResult::Computed(at) => {
                    if let Some(buffer) = computed.get_mut(*at).and_then(Option::take) {
                        let made = Stored::on_device(ty.clone(), self.precision, buffer);
                        stored[*at] = Some(Held::Device(Arc::new(made)));
                    }
                    present(stored.get(*at).cloned().flatten())?
                }
            });
        }
        Ok(Outcome::Done(results))
    }
}
