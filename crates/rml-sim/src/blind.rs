//! A run without values, whose findings hold for all inputs.
//!
//! More knowledge about some variables never removes knowledge about others (FIX-4). Therefore, if the values of
//! inputs, parameters and random draws are withheld from a run, all its results are valid for every run with the same
//! number of cycles, and every error that it finds occurs in all of them. Such a run decides conditions that do not
//! depend on any input, such as a counter that is compared with a constant.

use std::sync::Arc;

use rml_base::codes::sim::SYNC_ERROR;
use rml_engine::Status;
use rml_ir::flat::{ClockClaim, ClockClasses, Drawn, Flat, Var};
use rml_ir::pass;

use crate::simulator::{Demand, Options, SimulationFailure, Simulator};

/// The maximum number of elements of values that are computed and stored after the first cycle.
const ELEMENTS: usize = 1 << 20;
/// The number of activations of equations after which the run is stopped.
const STEPS: u64 = 2_000_000;

/// A run without values, up to the cycle that it reached.
#[derive(Debug)]
pub struct BlindRun {
    flat: Drawn,
    simulator: Simulator,
}

impl BlindRun {
    /// Runs the equations that the outputs and trained parameters of a program need, for at most `cycles` cycles. The
    /// inputs `given` are present in every cycle, and inputs with a declared clock where that clock ticks. For other
    /// inputs even the presence is unknown.
    ///
    /// Requires: `flat::verify`.
    pub fn new(flat: Flat, given: &[Var], cycles: usize) -> BlindRun {
        let is_given: Vec<bool> = flat.inputs.iter().map(|i| given.contains(&i.var)).collect();
        let flat = pass::lower_drawn(pass::forget_values(flat));
        let given: Vec<Var> =
            flat.inputs.iter().zip(is_given).filter_map(|(i, is_given)| is_given.then_some(i.var)).collect();
        let elements: usize = flat.vars.iter().map(|v| v.ty.shape.len().max(1)).sum();
        let cycles = cycles.min(ELEMENTS / elements.max(1)).max(1);
        let mut asked = ClockClasses::new(&flat).free_representatives();
        let (closed, present) = pass::forget_inputs(flat.clone(), &given);
        asked.extend(present);
        let demand = Demand::Given(asked.into_iter().map(|v| (v, vec![true; cycles])).collect());
        let options = Options { record: true, demand, ..Options::default() };
        let mut simulator = Simulator::new(Arc::new(closed), options);
        for _ in 0..cycles {
            if simulator.feed(&[]).is_err() || simulator.stats().activations > STEPS {
                break;
            }
        }
        BlindRun { flat, simulator }
    }

    /// The program that was run; its variables have other ids than those of the original.
    pub fn flat(&self) -> &Drawn {
        &self.flat
    }

    /// The number of cycles that were run.
    pub fn cycles(&self) -> u64 {
        self.simulator.cycles()
    }

    /// The status of a variable in a cycle.
    pub fn status(&self, cycle: u64, v: Var) -> Status {
        // Without a backend, no value is on a device.
        self.simulator.status(cycle, v).ok().flatten().unwrap_or_default()
    }

    /// The synchronisation error of the run; it occurs in every run with the same number of cycles.
    pub fn synchronisation_error(&self) -> Option<SimulationFailure> {
        self.simulator.failure().filter(|f| f.report.code == SYNC_ERROR)
    }

    /// The variables that the equation of a failure forces to be present together, and all other variables in their
    /// clock classes.
    pub fn together(&self, failure: &SimulationFailure) -> Vec<Var> {
        let closed = self.simulator.flat();
        let classes = ClockClasses::new(closed);
        let mut tied = Vec::new();
        if let Some(equation) = failure.equation.map(|e| &closed.equations[e]) {
            tied.push(equation.lhs);
            equation.rhs.for_each_operand(|v| tied.push(v));
        }
        tied.into_iter().flat_map(|v| classes.members(classes.of(v)).to_vec()).collect()
    }

    /// A declared clock that differs from the clock of its variable, and the first cycle that shows this.
    pub fn false_claim(&self) -> Option<(u64, &ClockClaim)> {
        let is_false = |cycle, claim: &ClockClaim| {
            let expected = match self.status(cycle, claim.cond) {
                Status::Value(value) => value.as_bool().map(|value| value == claim.positive),
                Status::Absent => Some(false),
                Status::Unknown | Status::Bottom | Status::Error => None,
            };
            let found = match self.status(cycle, claim.var) {
                Status::Value(_) | Status::Unknown => Some(true),
                Status::Absent => Some(false),
                Status::Bottom | Status::Error => None,
            };
            expected.zip(found).is_some_and(|(expected, found)| expected != found)
        };
        (0..self.cycles()).find_map(|cycle| {
            let claim = self.flat.claims.iter().find(|claim| is_false(cycle, claim))?;
            Some((cycle, claim))
        })
    }
}
