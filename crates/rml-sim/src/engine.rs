//! The simulator as an engine. It runs all programs for all uses, and all other engines are compared with it.

use std::sync::Arc;

use rml_backend::{Backend, Compiled};
use rml_base::Diagnostic;
use rml_engine::{
    CycleRow, Declined, End, Feeding, Inputs, Inspect, KnownOutputs, ProgramEngine, Run, Snapshot, States,
    Status, Undetermined, Usage, Use,
};
use rml_ir::flat::{Drawn, Var};

use crate::simulator::{Options, Simulator, Tensors};

/// The simulator as an engine, on the host or with a backend that computes tensors.
#[derive(Clone, Debug, Default)]
pub struct SimulatorEngine {
    tensors: Tensors,
}

impl SimulatorEngine {
    /// The reference, which evaluates every operator on the host.
    pub fn new() -> Self {
        Self::default()
    }

    /// An engine that computes tensors with this backend.
    pub fn on(backend: Arc<dyn Backend>) -> Self {
        Self { tensors: Tensors::On(backend) }
    }

    /// Starts a simulation for a use. The simulator never declines.
    pub fn start(&self, program: &Arc<Drawn>, wish: &Use) -> Simulator {
        let max_open_cycles = match wish.feeding {
            Feeding::Stream { look_ahead } => look_ahead,
            Feeding::Windows { .. } => None,
        };
        let (tensors, record, first) = (self.tensors.clone(), wish.record, wish.first);
        let profile = wish.profile.clone();
        let options = Options { tensors, record, first, max_open_cycles, profile, ..Options::default() };
        Simulator::new(Arc::clone(program), options)
    }
}

impl ProgramEngine for SimulatorEngine {
    fn name(&self) -> &str {
        "simulator"
    }

    fn open(&self, program: &Arc<Drawn>, wish: &Use) -> Result<Box<dyn Run>, Declined> {
        Ok(Box::new(self.start(program, wish)))
    }

    fn compiled(&self) -> Compiled {
        match &self.tensors {
            Tensors::On(backend) => backend.compiled().unwrap_or_default(),
            _ => Compiled::default(),
        }
    }
}

impl Run for Simulator {
    fn feed(&mut self, inputs: Inputs<'_>) -> Result<(), Diagnostic> {
        match inputs {
            Inputs::Cycle(row) => Simulator::feed(self, row),
            Inputs::Block(block) => {
                let mut rows = block.rows()?;
                let mut row = Vec::with_capacity(block.columns().len());
                while rows.next_inputs(&mut row) {
                    Simulator::feed(self, &row)?;
                }
                Ok(())
            }
        }
    }

    fn finish(&mut self, end: End) -> Result<(), Diagnostic> {
        Simulator::finish(self, end == End::Closed)
    }

    fn next_outputs(&mut self) -> Option<KnownOutputs> {
        self.next_output().map(KnownOutputs::Cycle)
    }

    fn remaining(&mut self) -> Result<Vec<CycleRow>, Diagnostic> {
        let mut rows: Vec<CycleRow> = std::iter::from_fn(|| self.next_output()).collect();
        let outputs = self.flat().outputs.clone();
        for cycle in self.first_unfetched()..Simulator::cycles(self) {
            let status = |v: &Var| Ok(self.status(cycle, *v)?.unwrap_or(Status::Unknown));
            let values = outputs.iter().map(status).collect::<Result<_, Diagnostic>>()?;
            rows.push(CycleRow { cycle, values });
        }
        Ok(rows)
    }

    fn cycles(&self) -> u64 {
        Simulator::cycles(self)
    }

    fn open_cycles(&self) -> u64 {
        Simulator::open_cycles(self)
    }

    fn states(&self) -> Result<States, Diagnostic> {
        self.held_states()
    }

    fn set_states(&mut self, states: &States) -> Result<(), Diagnostic> {
        states.iter().try_for_each(|(key, held)| self.set_held_state(key, held))
    }

    fn snapshot(&self) -> Result<Snapshot, Diagnostic> {
        Simulator::snapshot(self)
    }

    fn set_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), Diagnostic> {
        Simulator::set_snapshot(self, snapshot)
    }

    fn undetermined(&self) -> Option<Undetermined> {
        Simulator::undetermined(self)
    }

    fn waiting(&self) -> Option<Undetermined> {
        Simulator::waiting(self)
    }

    fn has_failed(&self) -> bool {
        Simulator::has_failed(self)
    }

    fn take_back(&mut self) -> u64 {
        Simulator::take_back(self)
    }

    fn usage(&self) -> Usage {
        let stats = self.stats();
        Usage { activations: stats.activations, bytes: stats.live_bytes }
    }

    fn inspect(&self) -> Option<&dyn Inspect> {
        Some(self)
    }
}

impl Inspect for Simulator {
    fn status(&self, cycle: u64, v: Var) -> Result<Option<Status>, Diagnostic> {
        Simulator::status(self, cycle, v)
    }
}
