//! Predicts how a node runs over windows.

use rml_backend_cpu::plan::{Budget, budget, footprint};
use rml_driver::RunFacts;
use rml_engine::{Declined, Reason};
use rml_executor::Footprint;
use rml_ir::flat::Drawn;
use rml_plan::Outline;
use rml_schedule::Fed;

use super::plan::planned;
use super::windows::Planned;
use crate::export::at_once;

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
    /// The loops and sums of the plan.
    pub outline: Outline,
    /// The bytes that the embedded backend needs for a window.
    pub footprint: Footprint,
    /// Whether an export needs a checkpoint for the parameters of the node, and succeeds with one.
    pub needs_checkpoint: bool,
}

impl PlanShape {
    /// The shape of the plan of a node.
    ///
    /// # Errors
    /// The node has no plan; the reason has the place.
    pub fn new(run: &RunFacts) -> Result<Self, Declined> {
        let flat = undrawn(run)?;
        let Planned { plan, next, .. } = planned(&flat, &run.analyses, Fed::Windows)?;
        let is_fixed =
            || !plan.waits && next.is_none() || at_once(&flat, &run.analyses, Fed::Windows).is_some();
        let needs_checkpoint = run.needs_checkpoint && is_fixed();
        Ok(Self { outline: Outline::of(&plan), footprint: footprint(&plan), needs_checkpoint })
    }

    /// The memory of windows of `cycles` cycles of a node, and how they run with `available` bytes.
    ///
    /// # Errors
    /// The node has no plan; the reason has the place.
    pub fn budget(run: &RunFacts, cycles: usize, available: u64) -> Result<Budget, Declined> {
        let planned = planned(&undrawn(run)?, &run.analyses, Fed::Windows)?;
        Ok(budget(&planned.plan, cycles, available))
    }
}

fn undrawn(run: &RunFacts) -> Result<Drawn, Declined> {
    run.undrawn().ok_or_else(|| Declined::new(Reason::Use, "a constant has no value"))
}
