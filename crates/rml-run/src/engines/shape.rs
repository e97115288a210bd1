//! Predicts how a node runs over windows.

use std::sync::Arc;

use rml_backend_cpu::plan::{Budget, Footprint, budget, footprint};
use rml_driver::RunFacts;
use rml_engine::{Declined, Reason};
use rml_plan::{Outline, Plan};
use rml_schedule::Fed;

use super::plan::planned;

/// The shape of the plan that runs a node over windows, and its memory.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// let text = "node sum(x: num []) -> (y)  y = x + (0.0 fby y);";
/// let analysis = rml::analyse(&rml::Source::text("sum.rml", text), &rml::Options::default())?;
/// let run = analysis.run.expect("it can be run");
/// let shape = rml::PlanShape::new(&run).expect("it has a plan");
/// assert_eq!((shape.outline.forward, shape.outline.backward), (1, 0));
/// # Ok(()) }
/// ```
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
        let plan = plan(run)?;
        Ok(Self { outline: Outline::of(&plan), footprint: footprint(&plan) })
    }

    /// What windows of that many cycles of a node take, and how they run where there are that many bytes.
    ///
    /// # Errors
    /// Why it has no plan, with the place.
    pub fn budget(run: &RunFacts, cycles: usize, available: u64) -> Result<Budget, Declined> {
        Ok(budget(&plan(run)?, cycles, available))
    }
}

fn plan(run: &RunFacts) -> Result<Arc<Plan>, Declined> {
    let lacks = || Declined::new(Reason::Use, "a constant has no value");
    Ok(planned(&run.undrawn().ok_or_else(lacks)?, &run.analyses, Fed::Windows)?.plan)
}
