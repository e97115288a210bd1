//! A program that runs, cycle by cycle: inputs go in by name, outputs come out in cycle order as soon as they are known.

use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_backend::Backend;
use rml_base::codes::run as codes;
use rml_base::{Diagnostic, Diagnostics, Error, suggest};
use rml_data::Feed;
use rml_ir::{Type, Value};
use rml_sim::{Input, Row, Simulator, Status, Tensors};

use crate::checkpoint::{Checkpoint, Policy};
use crate::compile::Program;

/// How a trace ends (CELL-1, ENV-6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The trace is finite and complete: `fby back` takes its initial value in the last cycle.
    Closed,
    /// The trace is a prefix of an endless one: what depends on the future stays unknown.
    Open,
}

/// The outputs of one cycle.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// The cycle, from 0.
    pub cycle: u64,
    /// Outputs by name, in order; `None` = absent.
    pub values: IndexMap<Arc<str>, Option<Value>>,
}

impl Outputs {
    /// The value of an output; `None` = absent, or there is no such output.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(name)?.as_ref()
    }

    /// The number that a scalar output is.
    pub fn num(&self, name: &str) -> Option<f64> {
        self.get(name)?.as_num()
    }

    /// The numbers that an output is made of, row-major.
    pub fn nums(&self, name: &str) -> Option<Vec<f64>> {
        match self.get(name)?.to_data() {
            rml_ir::Data::F32(v) => Some(v.into_iter().map(f64::from).collect()),
            rml_ir::Data::F64(v) => Some(v),
            rml_ir::Data::Bool(_) | rml_ir::Data::Int(_) => None,
        }
    }
}

/// A running program.
#[derive(Debug)]
pub struct Session {
    program: Program,
    sim: Simulator,
}

impl Session {
    /// Starts `program` in its initial state, tensors being computed by the evaluation of each operator, one after the other.
    pub fn new(program: &Program) -> Self {
        Self::on(program, None)
    }

    /// The same; tensors are computed by that backend.
    ///
    /// ```
    /// # fn main() -> Result<(), rml::Error> {
    /// use rml::{Feed, Options, Session, Source, Value, backend};
    /// let source = Source::text("net.rml", "node main(x: num []) -> (o) o = tanh(x) + 1.0;");
    /// let program = rml::compile(&source, &Options::default())?;
    /// let cpu = backend::open("cpu", &backend::Options::default())?;
    /// let mut session = Session::with_backend(&program, cpu);
    /// let rows = session.step([("x", Feed::Value(Value::F32(0.0)))])?;
    /// assert_eq!(rows[0].num("o"), Some(1.0));
    /// # Ok(()) }
    /// ```
    pub fn with_backend(program: &Program, backend: Arc<dyn Backend>) -> Self {
        Self::on(program, Some(backend))
    }

    pub(crate) fn on(program: &Program, backend: Option<Arc<dyn Backend>>) -> Self {
        Self::with(program, computed_by(backend))
    }

    /// The same; more than `cycles` cycles that wait for later ones are an error.
    pub fn with_look_ahead(program: &Program, cycles: usize) -> Self {
        Self::with(program, rml_sim::Options { max_open_cycles: Some(cycles), ..Default::default() })
    }

    pub(crate) fn with(program: &Program, options: rml_sim::Options) -> Self {
        Self { program: program.clone(), sim: Simulator::new(Arc::clone(program.flat()), options) }
    }

    /// The program that runs.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// How many cycles were fed.
    pub fn cycles(&self) -> u64 {
        self.sim.cycles()
    }

    /// How many cycles were fed and still wait for later ones.
    pub fn open_cycles(&self) -> u64 {
        self.sim.open_cycles()
    }

    /// What is known of a variable in a cycle that is open or recorded. What is recorded lies on the host.
    pub(crate) fn status(&self, cycle: u64, v: rml_ir::flat::Var) -> Option<Status> {
        self.sim.status(cycle, v).ok().flatten()
    }

    pub(crate) fn sim(&self) -> &Simulator {
        &self.sim
    }

    /// Runs one cycle: a value for each input, by name. An input that is not named is absent, which its declared clock must allow.
    /// Returns the outputs of the cycles that became known, in order.
    ///
    /// # Errors
    /// Unknown or missing inputs, values of a wrong type, and what goes wrong in the program's run.
    pub fn step<'a>(
        &mut self,
        inputs: impl IntoIterator<Item = (&'a str, Feed)>,
    ) -> Result<Vec<Outputs>, Error> {
        let mut row: Vec<Option<Feed>> = vec![None; self.program.inputs().len()];
        for (name, feed) in inputs {
            let at = self.program.inputs().iter().position(|i| &*i.name == name);
            let at = at.ok_or_else(|| self.fail(unknown_input(&self.program, name)))?;
            row[at] = Some(feed);
        }
        let row = self.complete(row).map_err(|d| self.fail(d))?;
        self.feed_row(&row)?;
        Ok(self.drain())
    }

    /// Runs one cycle, one entry for each input in order. The outputs stay where [`Session::drain`] finds them, also those before an
    /// error.
    pub(crate) fn feed_row(&mut self, row: &[Feed]) -> Result<(), Error> {
        for (info, feed) in self.program.inputs().iter().zip(row) {
            if let Feed::Value(v) | Feed::OnDemand(Some(v)) = feed {
                check_type(&info.name, v, &info.ty).map_err(|d| self.fail(d))?;
            }
        }
        let row: Vec<Input> = row.iter().map(to_input).collect();
        self.sim.feed(&row).map_err(|d| self.fail(d))
    }

    /// Inputs that got nothing: absent where their clock says so.
    fn complete(&self, row: Vec<Option<Feed>>) -> Result<Vec<Feed>, Diagnostic> {
        let inputs = self.program.inputs();
        let condition = |name: &str| {
            let at = inputs.iter().position(|i| &*i.name == name)?;
            match &row[at] {
                Some(Feed::Value(v)) => Some(v.as_bool()),
                _ => Some(None),
            }
        };
        let fill = |i: usize| match &inputs[i].clock {
            None => None,
            Some((c, flag)) => match condition(c) {
                Some(found) => (found != Some(*flag)).then_some(Feed::Absent),
                None => Some(Feed::OnDemand(None)),
            },
        };
        let filled: Vec<Option<Feed>> =
            row.iter().enumerate().map(|(i, feed)| feed.clone().or_else(|| fill(i))).collect();
        let missing: Vec<String> = inputs
            .iter()
            .zip(&filled)
            .filter(|(_, f)| f.is_none())
            .map(|(i, _)| format!("`{}`", i.name))
            .collect();
        if missing.is_empty() {
            return Ok(filled.into_iter().flatten().collect());
        }
        let plural = if missing.len() == 1 { "" } else { "s" };
        Err(Diagnostic::error(
            codes::MISSING_INPUT,
            format!("no value for input{plural} {} in cycle {}", missing.join(", "), self.sim.cycles()),
        )
        .help("give a value, or say that it is absent"))
    }

    /// Ends the trace and returns the outputs of the remaining cycles; on an open trace, of those that are determined.
    ///
    /// # Errors
    /// What goes wrong in the program's run; outputs that nothing determines, on a closed trace.
    pub fn finish(mut self, end: End) -> Result<Vec<Outputs>, Error> {
        self.end(end)?;
        let mut rows = Vec::new();
        while let Some(row) = self.sim.next_output() {
            match self.outputs(&row) {
                Some(outputs) => rows.push(outputs),
                None if end == End::Open => break,
                None => {
                    let why = self.sim.undetermined().map(|u| u.report).unwrap_or_else(|| {
                        Diagnostic::error(
                            rml_base::codes::sim::DEADLOCK,
                            format!("cycle {} has no outputs", row.cycle),
                        )
                    });
                    return Err(self.fail(why));
                }
            }
        }
        Ok(rows)
    }

    pub(crate) fn end(&mut self, end: End) -> Result<(), Error> {
        self.sim.finish(end == End::Closed).map_err(|d| self.fail(d))
    }

    /// The outputs that became known since they were last asked for.
    pub(crate) fn drain(&mut self) -> Vec<Outputs> {
        let mut rows = Vec::new();
        while let Some(row) = self.sim.next_output() {
            rows.extend(self.outputs(&row));
        }
        rows
    }

    /// The rows that became known since they were last asked for, statuses in the order of the outputs.
    pub(crate) fn drain_rows(&mut self) -> Vec<Row> {
        std::iter::from_fn(|| self.sim.next_output()).collect()
    }

    /// After the end: the rows of all cycles that were not asked for yet, whatever is known of them. Where the run failed, those
    /// that are not determined are among them, too.
    pub(crate) fn remaining_rows(&mut self) -> Vec<Row> {
        let mut rows = self.drain_rows();
        let flat = self.program.flat();
        rows.extend((self.sim.first_unfetched()..self.sim.cycles()).map(|cycle| {
            let status = |v| self.status(cycle, v).unwrap_or(Status::Unknown);
            Row { cycle, values: flat.outputs.iter().map(|v| status(*v)).collect() }
        }));
        rows
    }

    /// After the end: why outputs stay undetermined, as a warning.
    ///
    /// # Errors
    /// Outputs that wait for each other.
    pub(crate) fn undetermined(&self) -> Result<Diagnostics, Error> {
        match self.sim.undetermined() {
            None => Ok(Diagnostics::new()),
            Some(rest) if rest.cyclic => Err(self.fail(rest.report)),
            Some(rest) => Ok(Diagnostic { severity: rml_base::Severity::Warning, ..rest.report }.into()),
        }
    }

    /// Takes back the open cycles and what stopped the run.
    pub(crate) fn take_back(&mut self) {
        self.sim.take_back();
    }

    /// `None` if something is not determined.
    fn outputs(&self, row: &Row) -> Option<Outputs> {
        let cells = self.program.outputs().iter().zip(&row.values).map(|(info, status)| {
            Some((
                Arc::clone(&info.name),
                match status {
                    Status::Absent => None,
                    Status::Value(v) => Some(v.clone()),
                    _ => return None,
                },
            ))
        });
        Some(Outputs { cycle: row.cycle, values: cells.collect::<Option<_>>()? })
    }

    /// All states by checkpoint key. A state that was never set, and has no initial value before it is, is left out.
    ///
    /// # Errors
    /// Some cycle still waits for later ones: states can be read where every window ends.
    pub fn states(&self) -> Result<IndexMap<Arc<str>, Value>, Error> {
        self.sim.states().map_err(|d| self.fail(d))
    }

    /// Sets a state.
    ///
    /// # Errors
    /// No such state, a value of another type, or some cycle still waits for later ones.
    pub fn set_state(&mut self, key: &str, value: &Value) -> Result<(), Error> {
        self.sim.set_state(key, value).map_err(|d| self.fail(d))
    }

    /// Writes all states to a checkpoint file, in one step: a reader sees the old file or the new one.
    ///
    /// # Errors
    /// As [`Session::states`]; a file that cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        Checkpoint::of_states(self.states()?).write(path.as_ref())
    }

    /// Reads states from a checkpoint file. All parameters of the program must be there; other states are taken if they are.
    ///
    /// # Errors
    /// A file that is no checkpoint, or does not hold this program's parameters.
    pub fn load(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        let checkpoint = Checkpoint::read(path.as_ref())?;
        self.restore(&checkpoint, Policy::Available)
    }

    pub(crate) fn restore(&mut self, checkpoint: &Checkpoint, policy: Policy) -> Result<(), Error> {
        for (key, value) in checkpoint.select(&self.program, policy).map_err(|d| self.fail(d))? {
            self.set_state(&key, &value)?;
        }
        Ok(())
    }

    pub(crate) fn fail(&self, findings: impl Into<Diagnostics>) -> Error {
        Error::new(findings, Arc::clone(self.program.sources()))
    }
}

/// The options of a simulation whose tensors that backend computes.
pub(crate) fn computed_by(backend: Option<Arc<dyn Backend>>) -> rml_sim::Options {
    let tensors = backend.map_or(Tensors::Reference, Tensors::On);
    rml_sim::Options { tensors, ..Default::default() }
}

fn to_input(feed: &Feed) -> Input {
    match feed {
        Feed::Absent => Input::Absent,
        Feed::Value(v) => Input::Given(v.clone()),
        Feed::OnDemand(v) => Input::OnDemand(v.clone()),
    }
}

fn check_type(name: &str, value: &Value, ty: &Type) -> Result<(), Diagnostic> {
    let fits = value.dtype() == ty.dtype
        && match value {
            Value::Tensor(t) => *t.shape() == ty.shape,
            _ => ty.shape.is_scalar(),
        };
    if fits {
        return Ok(());
    }
    Err(Diagnostic::error(codes::INPUT_TYPE, format!("the value of input `{name}` has a wrong type"))
        .note(format!("expected {ty}, found {}", value.ty())))
}

pub(crate) fn unknown_input(program: &Program, name: &str) -> Diagnostic {
    let d = Diagnostic::error(codes::UNKNOWN_INPUT, format!("node {} has no input `{name}`", program.node()));
    let d = match suggest(name, program.inputs().iter().map(|i| &*i.name)) {
        Some(near) => d.help(format!("there is `{near}`")),
        None => d,
    };
    let names: Vec<String> = program.inputs().iter().map(|i| format!("`{}`", i.name)).collect();
    if names.is_empty() { d.note("it has no inputs") } else { d.note(format!("it has {}", names.join(", "))) }
}
