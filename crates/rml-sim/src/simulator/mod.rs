//! The event-driven simulator.
//!
//! [`program`] prepares the steps, [`rows`] stores the open cycles, [`engine`] and [`walk`] define the effect of a step
//! when something became known, [`report`] and [`deadlock`] explain why the simulation cannot continue, [`rewind`]
//! takes back open cycles, and [`state`] saves and loads. This file is the interface: cycles go in one at a time,
//! output rows come out in order as soon as they are known, and complete cycles are dropped.
//!
//! The work list contains (cycle, equation) pairs, lowest cycle first; it is empty whenever a call returns. Memory is
//! bounded by the look-ahead of the program plus one cycle.

use std::collections::VecDeque;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_backend::{Backend, Failure as BackendFailure};
use rml_base::memory::{self, Reservation, bytes_of};
use rml_base::profile::Scope;
use rml_base::{Diagnostic, codes};
use rml_engine::{CycleRow, End, InputCell, Status, trace_ended};
use rml_ir::flat::{Drawn, Var};
use rml_ir::{Type, Value};

use cell::{Cell, Presence};
use engine::{Go, Halt};
use functions::Functions;
use profile::Probe;
use program::Program;
use rows::{Cause, Rows, Sizes};

mod assertion;
mod cell;
mod deadlock;
mod engine;
mod functions;
mod input_clocks;
mod profile;
mod program;
mod report;
mod rewind;
mod rows;
mod state;
mod walk;

pub use report::SimulationFailure;

/// The variables for which the environment asks.
#[derive(Clone, Debug, Default)]
pub enum Demand {
    /// One variable of each free clock class, in every cycle.
    #[default]
    FreeClasses,
    /// These variables, in the cycles marked true; not in cycles after the end of the list.
    Given(IndexMap<Var, Vec<bool>>),
}

/// Options of a simulation.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Whether the statuses of all variables in all cycles are kept (memory grows with the trace).
    pub record: bool,
    /// Whether to continue after the first error: errors spread as the semantics defines, so the table of statuses is
    /// the whole least fixed point. Then no cycle is dropped. This is for tests and explanations.
    pub keep_going: bool,
    /// The demands of the environment.
    pub demand: Demand,
    /// The maximum number of cycles that may be open at once; `None` for no limit.
    pub max_open_cycles: Option<usize>,
    /// The evaluation of tensors.
    pub tensors: Tensors,
    /// The number of the first cycle, as used in outputs and reports.
    pub first: u64,
    /// The profile that receives the times.
    pub profile: Option<Scope>,
}

/// The evaluation of tensors.
#[derive(Clone, Debug, Default)]
pub enum Tensors {
    /// Each operator is evaluated separately: the reference.
    #[default]
    Reference,
    /// A backend computes functions of several operators.
    On(Arc<dyn Backend>),
}

/// Counters of a simulation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// The number of activations of equations.
    pub activations: u64,
    /// The number of cycles fed.
    pub cycles: u64,
    /// The maximum number of cycles that were open at once.
    pub max_open_cycles: u64,
    /// The number of values that open cycles store now.
    pub live_values: usize,
    /// The bytes of the elements of these values.
    pub live_bytes: u64,
    /// The number of tensor functions that a backend has prepared.
    pub functions: usize,
    /// The number of calls of the backend.
    pub calls: u64,
}

/// A running program.
#[derive(Debug)]
pub struct Simulator {
    program: Arc<Program>,
    options: Options,
    rows: Rows,
    /// For each forward delay: the value that its next active cycle gets from dropped cycles; empty if there is none
    /// yet.
    last: Vec<Cell>,
    /// For each backward delay: the cycle whose walk waits for the next cycle to be opened.
    tails: Vec<Option<u64>>,
    /// The loaded values of parameters; empty if none was loaded.
    params: Vec<Cell>,
    /// The latest values of parameters in dropped cycles.
    last_params: Vec<Cell>,
    /// The functions that a backend computes.
    functions: Option<Box<Functions>>,
    /// The measurement of the steps.
    probe: Option<Box<Probe>>,
    has_offers: bool,
    ended: Option<End>,
    released: u64,
    outputs: VecDeque<CycleRow>,
    recorded: Vec<Box<[Status]>>,
    /// The errors; there is more than one only if the simulation continues after errors.
    halts: Vec<Halt>,
    activations: u64,
    max_open: u64,
    /// The bytes of the rows, of the record and of the outputs that have not been fetched. Values count their own
    /// bytes.
    reserved: Reservation,
}

impl Simulator {
    /// Prepares `flat`.
    pub fn new(flat: Arc<Drawn>, options: Options) -> Simulator {
        let program = Program::new(flat);
        let sizes = Sizes {
            cells: program.flat.vars.len(),
            classes: program.classes.len(),
            steps: program.steps.len(),
            forward: program.forward.len(),
            backward: program.backward.len(),
        };
        let functions = match &options.tensors {
            Tensors::Reference => None,
            Tensors::On(backend) => Some(Box::new(Functions::new(&program, backend, options.record))),
        };
        tracing::debug!(?sizes, "prepared a simulation");
        Simulator {
            rows: Rows::new(sizes, options.first),
            last: vec![Cell::Empty; sizes.forward],
            tails: vec![None; sizes.backward],
            params: vec![Cell::Empty; program.params.len()],
            last_params: vec![Cell::Empty; program.params.len()],
            functions,
            probe: options.profile.as_ref().map(|scope| Box::new(Probe::new(&program, scope))),
            has_offers: false,
            ended: None,
            released: options.first,
            outputs: VecDeque::new(),
            recorded: Vec::new(),
            halts: Vec::new(),
            activations: 0,
            max_open: 0,
            reserved: Reservation::default(),
            program: Arc::new(program),
            options,
        }
    }

    /// The program.
    pub fn flat(&self) -> &Arc<Drawn> {
        &self.program.flat
    }

    /// Feeds one more cycle, with one entry for each input of the program, and runs it as far as possible.
    ///
    /// # Errors
    /// The entries do not fit the inputs (ERROR-8), a synchronisation error or an integer overflow is found (or was
    /// found before), too many cycles are open, or there is no memory for another one. After an error of the
    /// simulation, the outputs of earlier cycles can still be read.
    pub fn feed(&mut self, inputs: &[InputCell]) -> Result<(), Diagnostic> {
        self.check_running()?;
        self.check_inputs(inputs)?;
        if let Some(limit) = self.options.max_open_cycles
            && self.is_full()
        {
            return Err(self.look_ahead_report(limit));
        }
        memory::ask(self.rows.bytes_to_grow().saturating_add(self.bytes_of_cycle()))
            .map_err(|short| self.open_cycles_report(&short))?;
        let cycle = self.rows.push();
        self.max_open = self.max_open.max(self.rows.open());
        self.hand_over_tails(cycle);
        let result = self.read(cycle, inputs).and_then(|()| self.run_pending());
        self.conclude(result)
    }

    /// Ends the trace. `closed` says that no cycle will ever follow, so `fby back` has its last value; otherwise the
    /// trace is a prefix of an endless one. From then on, [`next_output`](Self::next_output) also returns rows that are
    /// not determined.
    ///
    /// # Errors
    /// A synchronisation error or an integer overflow is found (or was found before).
    pub fn finish(&mut self, closed: bool) -> Result<(), Diagnostic> {
        self.check_running()?;
        self.ended = Some(if closed { End::Closed } else { End::Open });
        if closed {
            self.wake_tails();
        }
        let result = self.run_pending();
        self.conclude(result)
    }

    /// The outputs of the next cycle, if they are determined; after the end, also outputs that are not (FIX-5).
    pub fn next_output(&mut self) -> Option<CycleRow> {
        self.outputs.pop_front()
    }

    /// The status of a variable in a cycle; for cycles that are not open, only if they are recorded.
    ///
    /// # Errors
    /// The value cannot be copied from its device.
    pub fn status(&self, cycle: u64, v: Var) -> Result<Option<Status>, Diagnostic> {
        if cycle >= self.rows.end || v.0 as usize >= self.program.flat.vars.len() {
            return Ok(None);
        }
        if cycle >= self.rows.base {
            return Ok(Some(self.open_status(cycle, v)?));
        }
        let at = cycle.checked_sub(self.options.first).and_then(|n| usize::try_from(n).ok());
        let row = at.and_then(|n| self.recorded.get(n));
        Ok(row.and_then(|row| row.get(v.0 as usize)).cloned())
    }

    /// The number of the next cycle; if cycles are counted from 0, this is the number of cycles fed.
    pub fn cycles(&self) -> u64 {
        self.rows.end
    }

    /// The number of open cycles: fed, but not yet complete.
    pub fn open_cycles(&self) -> u64 {
        self.rows.open()
    }

    /// Counters of the work so far.
    pub fn stats(&self) -> Stats {
        Stats {
            activations: self.activations,
            cycles: self.rows.end - self.options.first,
            max_open_cycles: self.max_open,
            live_values: self.rows.live_values(),
            live_bytes: self.rows.live_bytes(),
            functions: self.functions.as_ref().map_or(0, |f| f.prepared()),
            calls: self.functions.as_ref().map_or(0, |f| f.calls()),
        }
    }

    fn check_running(&self) -> Result<(), Diagnostic> {
        if let Some(halt) = self.halts.first().filter(|_| !self.options.keep_going) {
            return Err(self.report(halt));
        }
        match self.ended {
            None => Ok(()),
            Some(_) => Err(trace_ended()),
        }
    }

    fn check_inputs(&self, inputs: &[InputCell]) -> Result<(), Diagnostic> {
        let flat = &self.program.flat;
        if inputs.len() != flat.inputs.len() {
            return Err(Diagnostic::error(
                codes::sim::INPUT_VALUE,
                "a cycle does not have one entry for each input",
            )
            .note(format!("expected {} inputs, found {}", flat.inputs.len(), inputs.len())));
        }
        for (formal, input) in flat.inputs.iter().zip(inputs) {
            let data = &flat.vars[formal.var];
            if let InputCell::Given(value) | InputCell::OnDemand(Some(value)) = input
                && !has_type(value, &data.ty)
            {
                return Err(Diagnostic::error(
                    codes::sim::INPUT_VALUE,
                    format!("the value of input {} has the wrong type", self.program.name(formal.var)),
                )
                .label(data.span, "declared here")
                .note(format!(
                    "in cycle {}: expected {}, found {}",
                    self.rows.end,
                    data.ty,
                    value.ty()
                )));
            }
        }
        self.check_input_clocks(inputs)
    }

    /// Enters inputs and demands into a cycle that was just opened.
    fn read(&mut self, cycle: u64, inputs: &[InputCell]) -> Go {
        let program = Arc::clone(&self.program);
        for (formal, input) in program.flat.inputs.iter().zip(inputs) {
            let (var, class) = (formal.var, program::index(program.class(formal.var)));
            match input {
                InputCell::Given(value) => {
                    self.decide(cycle, class, Presence::Present, Cause::Input(var))?;
                    self.set(cycle, var.0, Cell::Value(rounded(value, program.flat.precision)));
                }
                InputCell::Absent => self.decide(cycle, class, Presence::Absent, Cause::Input(var))?,
                InputCell::OnDemand(offer) => {
                    self.has_offers = true;
                    let offer = offer.as_ref().map(|v| rounded(v, program.flat.precision));
                    if self.rows.presence(cycle, class) == Presence::Present {
                        match offer {
                            Some(value) => self.set(cycle, var.0, Cell::Value(value)),
                            None => self.decide(cycle, class, Presence::Absent, Cause::Input(var))?,
                        }
                    } else {
                        self.rows.offers(cycle).push((var, offer));
                    }
                }
            }
        }
        match &self.options.demand {
            Demand::FreeClasses => {
                for &(class, var) in &program.demanded {
                    self.decide(cycle, class, Presence::Present, Cause::Demand(var))?;
                }
            }
            Demand::Given(demand) => {
                let at = usize::try_from(cycle).unwrap_or(usize::MAX);
                let asked = demand.iter().filter(|(_, c)| c.get(at) == Some(&true));
                for var in asked.map(|(v, _)| *v).collect::<Vec<_>>() {
                    let class = program::index(program.class(var));
                    self.decide(cycle, class, Presence::Present, Cause::Demand(var))?;
                }
            }
        }
        Ok(())
    }

    /// Releases outputs and drops complete cycles. If the simulation stopped, returns the report.
    fn conclude(&mut self, result: Go) -> Result<(), Diagnostic> {
        if let Err(halt) = result {
            self.rows.set_broken(halt.cycle());
            self.halts.push(halt);
        }
        if let Err(halt) = self.release() {
            self.halts.push(halt);
        }
        if (self.halts.is_empty() || self.options.keep_going)
            && let Err(halt) = self.reclaim()
        {
            self.halts.push(halt);
        }
        self.reserved.set(self.own_bytes());
        let halt = self.halts.first().filter(|_| !self.options.keep_going);
        halt.map_or(Ok(()), |halt| Err(self.report(halt)))
    }

    /// The bytes that are kept for a complete cycle, without its values: its row of outputs, and its record.
    fn bytes_of_cycle(&self) -> u64 {
        let statuses = |n: usize| bytes_of(n, size_of::<Status>());
        let record = if self.options.record { statuses(self.program.flat.vars.len()) } else { 0 };
        let row = statuses(self.program.flat.outputs.len()).saturating_add(size_of::<CycleRow>() as u64);
        record.saturating_add(row)
    }

    /// The bytes that are kept now, without values.
    fn own_bytes(&self) -> u64 {
        let kept = self.outputs.len().max(self.recorded.len()) as u64;
        self.rows.bytes().saturating_add(kept.saturating_mul(self.bytes_of_cycle()))
    }

    /// Moves determined outputs, in order, to the queue of outputs to fetch.
    fn release(&mut self) -> Go {
        while self.released < self.rows.end {
            let cycle = self.released;
            let program = &self.program;
            let ended = self.ended.is_some() && (self.halts.is_empty() || self.options.keep_going);
            let determined = program.flat.outputs.iter().all(|&v| self.is_determined(cycle, v));
            if !ended && (!determined || self.rows.is_broken(cycle)) {
                break;
            }
            let values = program.flat.outputs.iter().map(|&v| self.status_or_halt(cycle, v));
            let values = values.collect::<Result<_, _>>()?;
            self.outputs.push_back(CycleRow { cycle, values });
            self.released += 1;
        }
        Ok(())
    }

    /// Drops complete cycles from the front.
    fn reclaim(&mut self) -> Go {
        // Outputs may have been fetched from cycles that were taken back and are not open again yet.
        while !self.options.keep_going
            && self.rows.base < self.released.min(self.rows.end)
            && self.rows.is_complete(self.rows.base)
        {
            let cycle = self.rows.base;
            if self.options.record {
                let row = self.program.flat.vars.ids().map(|v| self.status_or_halt(cycle, v));
                let row = row.collect::<Result<_, _>>()?;
                self.recorded.push(row);
            }
            self.remember(cycle);
            self.rows.pop();
        }
        Ok(())
    }

    fn is_determined(&self, cycle: u64, v: Var) -> bool {
        match self.rows.presence(cycle, program::index(self.program.class(v))) {
            Presence::Absent => true,
            Presence::Present => self.cell(cycle, self.program.operand_of[v]).is_known(),
            Presence::Bottom | Presence::Error => false,
        }
    }

    /// The status of a variable in an open cycle. It fails if the device that stores the value fails.
    fn open_status(&self, cycle: u64, v: Var) -> Result<Status, BackendFailure> {
        Ok(match self.rows.presence(cycle, program::index(self.program.class(v))) {
            Presence::Bottom => Status::Bottom,
            Presence::Absent => Status::Absent,
            Presence::Error => Status::Error,
            Presence::Present => match self.cell(cycle, self.program.operand_of[v]).held() {
                Some(held) => Status::Value(held.to_host()?),
                None => Status::Unknown,
            },
        })
    }

    /// The status of a variable in an open cycle. The failure of a device stops the simulation.
    fn status_or_halt(&self, cycle: u64, v: Var) -> Result<Status, Halt> {
        self.open_status(cycle, v).map_err(|failure| {
            let report = failure.diagnostic().note(format!("reading {}", self.program.name(v)));
            Halt::Backend { cycle, report: Box::new(report) }
        })
    }
}

/// Whether a value has that type, in any precision.
fn has_type(value: &Value, ty: &Type) -> bool {
    value.dtype() == ty.dtype
        && match value {
            Value::Tensor(t) => *t.shape() == ty.shape,
            _ => ty.shape.is_scalar(),
        }
}

/// A value in the program's precision; free if the value already has it (ENV-4).
fn rounded(value: &Value, precision: rml_ir::Precision) -> Value {
    value.to_precision(precision)
}
