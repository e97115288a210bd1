//! Any backend as an executor of plans.

use std::sync::Arc;

use rml_backend::{Backend, Compiled};
use rml_base::memory::Shortage;
use rml_base::profile::Scope;
use rml_executor::{About, Accuracy, Executor, Footprint, PrepareOptions, Prepared, Refused, Running};
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

    fn prepare(&self, plan: &Arc<Plan>, _: &PrepareOptions) -> Result<Arc<dyn Prepared>, Refused> {
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
