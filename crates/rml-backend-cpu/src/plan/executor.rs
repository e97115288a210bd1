//! The embedded backend as an executor of plans.

use std::sync::Arc;

use rml_backend::{Backend, Held};
use rml_base::Diagnostic;
use rml_base::memory::Shortage;
use rml_base::profile::Scope;
use rml_executor::{
    About, Accuracy, Executor, Fault, Footprint, PrepareOptions, Prepared, Refused, Running, TooLong,
};
use rml_ir::op::Number;
use rml_ir::{Data, Precision};
use rml_plan::Plan;

use super::{Machine, Ready, Suspect, footprint, only};
use crate::Cpu;

impl Executor for Cpu {
    fn about(&self) -> About {
        let rml_backend::About { name, device, devices, .. } = Backend::about(self);
        About {
            name,
            device,
            devices,
            accuracy: Accuracy::Bits,
            waits: true,
            guesses: false,
            compiles: false,
        }
    }

    fn prepare(&self, plan: &Arc<Plan>, wish: &PrepareOptions) -> Result<Arc<dyn Prepared>, Refused> {
        Ok(Arc::new(Ready::new(Arc::clone(plan), wish.threads)))
    }
}

impl Prepared for Ready {
    fn footprint(&self) -> Footprint {
        match self.plan.precision {
            Precision::F32 => footprint::footprint::<f32>(&self.code, &self.placement),
            Precision::F64 => footprint::footprint::<f64>(&self.code, &self.placement),
        }
    }

    fn start(&self, profile: Option<&Scope>) -> Result<Box<dyn Running>, Shortage> {
        Ok(match self.plan.precision {
            Precision::F32 => Box::new(started::<f32>(self, profile)?),
            Precision::F64 => Box::new(started::<f64>(self, profile)?),
        })
    }
}

fn started<N: Number>(ready: &Ready, profile: Option<&Scope>) -> Result<Machine<N>, Shortage> {
    let mut machine = Machine::ready(ready)?;
    profile.into_iter().for_each(|scope| machine.measure(scope));
    Ok(machine)
}

impl From<Suspect> for Fault {
    fn from(_: Suspect) -> Self {
        Fault::Suspect
    }
}

impl<N: Number> Running for Machine<N> {
    fn set_rows(
        &mut self,
        input: usize,
        ticks: usize,
        present: &dyn Fn(usize) -> bool,
        data: &Data,
        row: usize,
    ) -> usize {
        self.bind(ticks);
        let there = (0..ticks).filter(|t| present(*t)).count();
        for given in self.code.inputs.iter().filter(|given| given.input == input) {
            let slot = self.code.slot(given.slot);
            let width = slot.width;
            if slot.per_tick && there == ticks {
                let at = self.bound.base(given.slot);
                self.arena.set_data(slot.dtype, at, data, row * width, ticks * width);
                continue;
            }
            for (i, t) in (0..ticks).filter(|t| present(*t)).enumerate() {
                if slot.per_tick || t == only(given.place, ticks) {
                    let at = self.bound.at(&self.code, given.slot, t);
                    self.arena.set_data(slot.dtype, at, data, (row + i) * width, width);
                }
            }
        }
        row + there
    }

    fn window(&mut self, ticks: usize) -> Result<usize, Fault> {
        Ok(Machine::window(self, ticks)?)
    }

    fn find(&mut self, ticks: usize) -> Result<Option<usize>, Fault> {
        Ok(Machine::find(self, ticks)?)
    }

    fn abandon(&mut self) {
        Machine::abandon(self);
    }

    fn add_output(&mut self, output: usize, t: usize, to: &mut Data) -> Result<bool, Diagnostic> {
        let Some((dtype, at)) = self.taken(output, t) else { return Ok(false) };
        self.arena.append(dtype, at, self.plan.outputs[output].ty.shape.len(), to);
        Ok(true)
    }

    fn register(&self, register: usize) -> Option<Held> {
        self.register(register).map(Held::Host)
    }

    fn is_set(&self, register: usize) -> Result<bool, Diagnostic> {
        Ok(Machine::is_set(self, register))
    }

    /// One that is read as a constant then has the value of that constant.
    fn unset_register(&mut self, register: usize) {
        self.settle();
        if let Some(start) = self.code.starts[register] {
            let slot = self.code.register(register);
            let (to, from) = (self.bound.base(slot), self.bound.base(start));
            let data = self.code.slot(slot);
            self.arena.copy(data.dtype, to, from, data.width);
            let packs = self.code.packs.iter().zip(&mut self.packs);
            packs.filter(|(pack, _)| pack.of.slot == slot).for_each(|(_, layout)| layout.change());
        }
        self.set[register] = false;
    }

    fn set_register(&mut self, register: usize, value: &Held) -> Result<(), Diagnostic> {
        self.set_register(register, &value.to_host()?.to_precision(self.plan.precision));
        Ok(())
    }

    fn ask(&mut self, ticks: usize) -> Result<(), TooLong> {
        Machine::ask(self, ticks)
    }
}
