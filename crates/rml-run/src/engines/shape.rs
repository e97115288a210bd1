//! How a node runs over windows, before it does.

use rml_backend_cpu::plan::{Footprint, footprint};
use rml_driver::RunFacts;
use rml_engine::{Declined, Reason};
use rml_plan::Outline;
use rml_schedule::Fed;

use super::plan::planned;

/// The shape of the plan that runs a node over windows, and its memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlanShape {
    /// Its loops and sums.
    pub outline: Outline,
    /// The bytes that the embedded backend takes for a window.
    pub footprint: Footprint,
}

impl PlanShape {
    /// That of the plan of a node.
    ///
    /// # Errors
    /// Why it has none, with the place.
    pub fn new(run: &RunFacts) -> Result<Self, Declined> {
        let lacks = || Declined::new(Reason::Use, "a constant has no value");
        let plan = planned(&run.undrawn().ok_or_else(lacks)?, &run.analyses, Fed::Windows)?.plan;
        Ok(Self { outline: Outline::of(&plan), footprint: footprint(&plan) })
    }
}
