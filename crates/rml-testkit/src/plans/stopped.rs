//! Programs that stop because an operator has no result: the plan must also find no result in the window with that
//! cycle, and must find results in all windows before.

use std::ops::Range;
use std::sync::Arc;

use rml_backend::Backend;
use rml_backend_cpu::plan::Machine as Cpu;
use rml_base::codes;
use rml_ir::Precision;
use rml_ir::flat::Drawn;
use rml_ir::op::Number;
use rml_lower::{Fault as Failed, Machine as Lowered, Running as _};
use rml_plan::reference::{Cells, Fault, Machine};
use rml_plan::{Ends, Plan};
use rml_sim::{InputCell, Simulator};

use super::{Planned, base_is_absent, is_unknown, offer, rest, set};
use crate::Lcg;

/// Compares the plan of a program that has stopped in a simulator. The plan is run by the reference, by the embedded
/// backend and by calls of functions.
pub(super) fn compare(
    flat: &Arc<Drawn>,
    plan: &Arc<Plan>,
    sim: &Simulator,
    inputs: &[Vec<InputCell>],
    (backend, r): (&Arc<dyn Backend>, &mut Lcg),
) -> Result<Planned, String> {
    let failure = sim.failure().filter(|failure| {
        [codes::sim::INTEGER_OVERFLOW, codes::sim::POSITION_OUTSIDE].contains(&failure.report.code)
    });
    let Some(cycle) = failure.and_then(|failure| usize::try_from(failure.cycle).ok()) else {
        return Ok(Planned::Stopped);
    };
    let given = |row: &Vec<InputCell>| !row.iter().any(|input| matches!(input, InputCell::OnDemand(_)));
    if base_is_absent(flat, sim, cycle) || !inputs.iter().all(given) {
        return Ok(Planned::Stopped);
    }
    let stopped = Stopped { flat, plan, sim, inputs, cycle };
    let Some((windows, last)) = stopped.reference(r)? else { return Ok(Planned::Stopped) };
    match flat.precision {
        Precision::F32 => stopped.embedded::<f32>(&windows, &last)?,
        Precision::F64 => stopped.embedded::<f64>(&windows, &last)?,
    }
    // Blocks that wait run only on the embedded backend.
    if !plan.waits && backend.is_host() {
        stopped.by_calls(backend, &windows, &last)?;
    }
    Ok(Planned::Failed)
}

struct Stopped<'a> {
    flat: &'a Drawn,
    plan: &'a Arc<Plan>,
    sim: &'a Simulator,
    inputs: &'a [Vec<InputCell>],
    /// The cycle in which an operator has no result.
    cycle: usize,
}

/// The cycles of the complete windows, and those of the window that stops.
type Windows = (Vec<Range<usize>>, Range<usize>);

impl Stopped<'_> {
    fn columns(&self, cycles: &Range<usize>) -> Vec<Cells> {
        let cell = |row: &Vec<InputCell>, i: usize| match &row[i] {
            InputCell::Given(value) => Some(value.clone()),
            _ => None,
        };
        let ports = 0..self.plan.inputs.len();
        ports.map(|i| self.inputs[cycles.clone()].iter().map(|row| cell(row, i)).collect()).collect()
    }

    /// The windows of a run by the reference; `None` if no window contains the cycle.
    fn reference(&self, r: &mut Lcg) -> Result<Option<Windows>, String> {
        let (mut machine, cycles) = (Machine::new(Arc::clone(self.plan)), self.inputs.len());
        let (mut windows, mut from, mut waits) = (Vec::new(), 0, false);
        while from < cycles {
            let all = from..from + rest(self.plan, cycles - from, waits, r);
            if all.end > cycles {
                break;
            }
            let ticks = match machine.length(all.len(), &self.columns(&all)) {
                Ok(Some(ticks)) => ticks,
                Ok(None) => break,
                Err(fault) => return self.fails(windows, all, &fault),
            };
            let window = from..from + ticks;
            match machine.window(ticks, &self.columns(&window)) {
                Ok((_, 0)) if window.end == cycles => break,
                Ok((_, done)) => (from, waits) = (from + done, done == 0),
                Err(fault) => return self.fails(windows, window, &fault),
            }
            windows.push(window);
            if self.cycle < from {
                return Err(format!("the error in cycle {} is lost", self.cycle));
            }
        }
        Ok(None)
    }

    fn fails(
        &self,
        windows: Vec<Range<usize>>,
        last: Range<usize>,
        fault: &Fault,
    ) -> Result<Option<Windows>, String> {
        match fault {
            Fault::Operator { .. } if last.end > self.cycle => Ok(Some((windows, last))),
            Fault::Operator { .. } if is_unknown(self.flat, self.sim, last.clone()) => Ok(None),
            fault => Err(format!("in cycles {last:?}: {fault:?}, not an error in cycle {}", self.cycle)),
        }
    }

    fn embedded<N: Number>(&self, windows: &[Range<usize>], last: &Range<usize>) -> Result<(), String> {
        let mut cpu = Cpu::<N>::new(Arc::clone(self.plan)).map_err(|short| short.to_string())?;
        let mut run = |cycles: &Range<usize>| {
            set(&mut cpu, &self.columns(cycles), cycles.len());
            if matches!(self.plan.ends, Ends::Found { .. }) {
                cpu.find(cycles.len())?;
            }
            cpu.window(cycles.len())
        };
        match windows.iter().position(|cycles| run(cycles).is_err()) {
            Some(at) => Err(format!("embedded backend: cycles {:?} are suspect", windows[at])),
            None if run(last).is_ok() => Err(format!("embedded backend: no error in cycles {last:?}")),
            None => Ok(()),
        }
    }

    fn by_calls(
        &self,
        backend: &Arc<dyn Backend>,
        windows: &[Range<usize>],
        last: &Range<usize>,
    ) -> Result<(), String> {
        let mut lowered = Lowered::new(Arc::clone(self.plan), Arc::clone(backend));
        let mut run = |cycles: &Range<usize>| {
            offer(&mut lowered, &self.columns(cycles), cycles.len());
            if matches!(self.plan.ends, Ends::Found { .. }) {
                lowered.find(cycles.len())?;
            }
            lowered.window(cycles.len())
        };
        for cycles in windows {
            run(cycles).map_err(|fault| format!("by calls: cycles {cycles:?}: {fault:?}"))?;
        }
        match run(last) {
            Err(Failed::Suspect) => Ok(()),
            other => Err(format!("by calls: no error in cycles {last:?}: {other:?}")),
        }
    }
}
