//! Any backend as an executor of plans.

use std::sync::Arc;

use rml_backend::{Backend, Compiled, Held};
use rml_base::Diagnostic;
use rml_base::memory::{self, Shortage};
use rml_base::profile::Scope;
use rml_executor::{
    About, Accuracy, Executor, Fault, Footprint, Prepared, Refused, Running, TooLong, Wish, append,
};
use rml_ir::Data;
use rml_plan::Plan;

use crate::machine::{Machine, footprint};

/// Functions are rounded otherwise, and sums are taken in another order than that of the reference.
const NEAR: Accuracy = Accuracy::Near(1e-4);

/// Runs plans by routines that a backend prepares, one for each length of a window.
#[derive(Clone, Debug)]
pub struct Lowered {
    backend: Arc<dyn Backend>,
}

impl Lowered {
    /// On that backend.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self { backend }
    }
}

impl Executor for Lowered {
    fn about(&self) -> About {
        let rml_backend::About { name, device, devices, .. } = self.backend.about();
        let compiles = self.backend.compiled().is_some();
        About { name, device, devices, accuracy: NEAR, waits: false, guesses: true, compiles }
    }

    fn prepare(&self, plan: &Arc<Plan>, _: &Wish) -> Result<Arc<dyn Prepared>, Refused> {
        if plan.waits {
            return Err(Refused::new("blocks that wait have no routine"));
        }
        let (plan, backend) = (Arc::clone(plan), Arc::clone(&self.backend));
        Ok(Arc::new(Planned { footprint: footprint(&plan, &*backend), plan, backend }))
    }

    fn compiled(&self) -> Compiled {
        self.backend.compiled().unwrap_or_default()
    }
}

#[derive(Debug)]
struct Planned {
    plan: Arc<Plan>,
    backend: Arc<dyn Backend>,
    footprint: Footprint,
}

impl Prepared for Planned {
    fn footprint(&self) -> Footprint {
        self.footprint
    }

    fn start(&self, profile: Option<&Scope>) -> Result<Box<dyn Running>, Shortage> {
        let mut machine = Machine::new(Arc::clone(&self.plan), Arc::clone(&self.backend));
        profile.into_iter().for_each(|scope| machine.measure(scope));
        Ok(Box::new(machine))
    }
}

impl Running for Machine {
    fn set_rows(
        &mut self,
        input: usize,
        ticks: usize,
        present: &dyn Fn(usize) -> bool,
        data: &Data,
        row: usize,
    ) -> usize {
        self.set_rows(input, ticks, present, data, row)
    }

    fn window(&mut self, ticks: usize) -> Result<usize, Fault> {
        self.window(ticks)
    }

    fn windows(&mut self, ticks: usize, count: usize) -> Result<bool, Fault> {
        self.windows(ticks, count)
    }

    fn is_small(&self, ticks: usize) -> bool {
        self.is_small(ticks)
    }

    /// A search leaves nothing behind.
    fn find(&mut self, ticks: usize) -> Result<Option<usize>, Fault> {
        self.find(ticks)
    }

    fn add_output(&mut self, output: usize, t: usize, to: &mut Data) -> Result<bool, Diagnostic> {
        let value = self.output(output, t)?;
        if let Some(value) = &value {
            append(to, value.to_data());
        }
        Ok(value.is_some())
    }

    fn register(&self, register: usize) -> Option<Held> {
        self.register(register).cloned()
    }

    fn is_set(&self, register: usize) -> Result<bool, Diagnostic> {
        Ok(self.is_set(register)?)
    }

    fn unset_register(&mut self, register: usize) {
        self.unset_register(register);
    }

    fn set_register(&mut self, register: usize, value: &Held) -> Result<(), Diagnostic> {
        Ok(self.set_register(register, value)?)
    }

    fn ask(&mut self, ticks: usize) -> Result<(), TooLong> {
        let least = Err("only the embedded backend computes values again");
        memory::ask(self.footprint().at(ticks)).map_err(|short| TooLong { short, least })
    }
}
