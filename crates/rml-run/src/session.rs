//! A running program, cycle by cycle: inputs are given by name, and outputs are returned in cycle order as soon as they
//! are known.

use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use rml_base::codes::run as codes;
use rml_base::profile::Recorder;
use rml_base::{Diagnostic, Diagnostics, Error, suggest};
use rml_data::Feed;
use rml_driver::Program;
use rml_engine::{
    Block, CycleRow, End, Feeding, InputCell, Inputs, Run, Snapshot, States, Status, Undetermined, Use,
};
use rml_ir::flat::Var;
use rml_ir::{Type, Value};

use crate::checkpoint::{Checkpoint, Parameters, Policy};
use crate::engines::{self, Engine};

/// The outputs of one cycle.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node sum(x: num []) -> (y)  y = x + (0.0 fby y);";
/// # let source = rml::Source::text("sum.rml", text);
/// # let program = rml::compile(&source, &rml::Options::default())?;
/// # let inputs = rml::Columns::parse(b"x\n1\n2\n4\n", rml::Format::Csv, "inputs.csv")?;
/// let mut session = rml::Session::new(&program);
/// let outputs = session.step([("x", 2.0_f32.into())])?;
/// assert_eq!((outputs[0].cycle, outputs[0].num("y")), (0, Some(2.0)));
/// # Ok(()) }
/// ```
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

    /// The value of a scalar output as a number.
    pub fn num(&self, name: &str) -> Option<f64> {
        self.get(name)?.as_num()
    }

    /// The elements of an output as numbers, row-major.
    pub fn nums(&self, name: &str) -> Option<Vec<f64>> {
        match self.get(name)?.to_data() {
            rml_ir::Data::F32(v) => Some(v.into_iter().map(f64::from).collect()),
            rml_ir::Data::F64(v) => Some(v),
            rml_ir::Data::Bool(_) | rml_ir::Data::Int(_) => None,
        }
    }
}

/// A running program.
///
/// ```
/// # fn main() -> Result<(), rml::Error> {
/// # let text = "node sum(x: num []) -> (y)  y = x + (0.0 fby y);";
/// # let source = rml::Source::text("sum.rml", text);
/// # let program = rml::compile(&source, &rml::Options::default())?;
/// # let inputs = rml::Columns::parse(b"x\n1\n2\n4\n", rml::Format::Csv, "inputs.csv")?;
/// use rml::Session;
///
/// let mut session = Session::new(&program);
/// for (x, sum) in [(1.0_f32, 1.0), (2.0, 3.0), (4.0, 7.0)] {
///     let outputs = session.step([("x", x.into())])?;
///     assert_eq!(outputs[0].num("y"), Some(sum));
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Session {
    program: Program,
    run: Box<dyn Run>,
    /// Measures the calls of the run.
    recorder: Option<Recorder>,
}

impl Session {
    /// Starts `program` in its initial state, by plan if it has one for single cycles, or else in the simulator.
    pub fn new(program: &Program) -> Self {
        Self::stream(program, None)
    }

    /// The same on another engine.
    ///
    /// # Errors
    /// The engine declines the program.
    pub fn on(program: &Program, engine: &Engine) -> Result<Self, Error> {
        Self::open(program, engine, &Use::new(Feeding::Stream { look_ahead: None }))
    }

    /// As [`new`](Self::new); more than `cycles` cycles that wait for later ones are an error.
    pub fn with_look_ahead(program: &Program, cycles: usize) -> Self {
        Self::stream(program, Some(cycles))
    }

    fn stream(program: &Program, look_ahead: Option<usize>) -> Self {
        let run = engines::open(program, &Use::new(Feeding::Stream { look_ahead }));
        Self { program: program.clone(), run, recorder: None }
    }

    /// Opens a run for another use than a stream without limits.
    pub(crate) fn open(program: &Program, engine: &Engine, wish: &Use) -> Result<Self, Error> {
        let recorder = engine.profile().map(|profile| profile.scope(program.sources()).recorder([]));
        Ok(Self { program: program.clone(), run: engine.open(program, wish)?, recorder })
    }

    /// The program that runs.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// How many cycles have been fed.
    pub fn cycles(&self) -> u64 {
        self.run.cycles()
    }

    /// How many of the cycles fed so far still wait for later ones.
    pub fn open_cycles(&self) -> u64 {
        self.run.open_cycles()
    }

    /// The status of a variable in a cycle of a run that records all variables.
    pub(crate) fn status(&self, cycle: u64, v: Var) -> Result<Status, Error> {
        let found = self.run.inspect().map_or(Ok(None), |cells| cells.status(cycle, v));
        Ok(found.map_err(|d| self.fail(d))?.unwrap_or_default())
    }

    /// Why the oldest open cycle cannot be completed.
    pub(crate) fn waiting(&self) -> Option<Undetermined> {
        self.run.waiting()
    }

    /// Whether something stopped the run.
    pub(crate) fn has_failed(&self) -> bool {
        self.run.has_failed()
    }

    /// Runs one cycle, with a value for each input by name. An input that is not named is absent, which its declared
    /// clock must allow. Returns the outputs of the cycles that became known, in order.
    ///
    /// # Errors
    /// Unknown or missing inputs, values of a wrong type, and errors during the run.
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
        self.drain()
    }

    /// Runs one cycle, with one entry for each input in order. [`Session::drain`] returns the outputs, also those
    /// before an error.
    pub(crate) fn feed_row(&mut self, row: &[Feed]) -> Result<(), Error> {
        for (info, feed) in self.program.inputs().iter().zip(row) {
            if let Feed::Value(v) | Feed::OnDemand(Some(v)) = feed {
                check_type(&info.name, v, &info.ty).map_err(|d| self.fail(d))?;
            }
        }
        let row: Vec<InputCell> = row.iter().map(to_input).collect();
        self.feed(Inputs::Cycle(&row))
    }

    /// Runs a block of cycles. [`Session::known`] returns the outputs, also those before an error.
    pub(crate) fn feed_block(&mut self, block: &Block) -> Result<(), Error> {
        self.feed(Inputs::Block(block))
    }

    fn feed(&mut self, inputs: Inputs<'_>) -> Result<(), Error> {
        let start = self.recorder.as_ref().map(Recorder::now);
        let fed = self.run.feed(inputs);
        if let (Some(recorder), Some(start)) = (&mut self.recorder, start) {
            let end = recorder.now();
            recorder.run(start, end);
            recorder.tell_rarely(end);
        }
        fed.map_err(|d| self.fail(d))
    }

    /// Completes a row: inputs without an entry are absent if their clocks allow it.
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
            format!("no value for input{plural} {} in cycle {}", missing.join(", "), self.run.cycles()),
        )
        .help("give a value, or say that it is absent"))
    }

    /// Ends the trace and returns the outputs of the remaining cycles; on an open trace, only those that are
    /// determined.
    ///
    /// # Errors
    /// Errors during the run; on a closed trace, outputs that stay undetermined.
    pub fn finish(mut self, end: End) -> Result<Vec<Outputs>, Error> {
        self.end(end)?;
        let mut rows = Vec::new();
        for row in self.drain_rows()? {
            match self.outputs(&row) {
                Some(outputs) => rows.push(outputs),
                None if end == End::Open => break,
                None => {
                    let why = self.run.undetermined().map(|u| u.report).unwrap_or_else(|| {
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
        self.run.finish(end).map_err(|d| self.fail(d))
    }

    /// The outputs that became known since the last call.
    pub(crate) fn drain(&mut self) -> Result<Vec<Outputs>, Error> {
        let rows = self.drain_rows()?;
        Ok(rows.iter().filter_map(|row| self.outputs(row)).collect())
    }

    /// The same, in the form of the engine.
    pub(crate) fn known(&mut self) -> Vec<rml_engine::KnownOutputs> {
        std::iter::from_fn(|| self.next_known()).collect()
    }

    /// The next outputs that became known.
    pub(crate) fn next_known(&mut self) -> Option<rml_engine::KnownOutputs> {
        self.run.next_outputs()
    }

    /// The same as rows, with statuses in the order of the outputs.
    pub(crate) fn drain_rows(&mut self) -> Result<Vec<CycleRow>, Error> {
        let mut rows = Vec::new();
        while let Some(outputs) = self.run.next_outputs() {
            outputs.append_to(&mut rows).map_err(|f| self.fail(f.diagnostic()))?;
        }
        Ok(rows)
    }

    /// After the end: the rows of all cycles that were not returned yet, with everything that is known about them. If
    /// the run failed, rows that are not determined are included.
    pub(crate) fn remaining_rows(&mut self) -> Result<Vec<CycleRow>, Error> {
        self.run.remaining().map_err(|d| self.fail(d))
    }

    /// The outputs that stay undetermined.
    pub(crate) fn undetermined_outputs(&self) -> Option<Undetermined> {
        self.run.undetermined()
    }

    /// After the end: a warning that explains why outputs stay undetermined.
    ///
    /// # Errors
    /// Outputs that wait for each other.
    pub(crate) fn undetermined(&self) -> Result<Diagnostics, Error> {
        match self.run.undetermined() {
            None => Ok(Diagnostics::new()),
            Some(rest) if rest.cyclic => Err(self.fail(rest.report)),
            Some(rest) => Ok(Diagnostic { severity: rml_base::Severity::Warning, ..rest.report }.into()),
        }
    }

    /// Takes back the open cycles, and clears the error that stopped the run.
    pub(crate) fn take_back(&mut self) {
        self.run.take_back();
    }

    /// `None` if something is not determined.
    fn outputs(&self, row: &CycleRow) -> Option<Outputs> {
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

    /// All states by checkpoint key. A state that was never set, and has no initial value until then, is left out.
    ///
    /// # Errors
    /// Some cycle still waits for later ones: states can be read only where every window has ended.
    pub fn states(&self) -> Result<IndexMap<Arc<str>, Value>, Error> {
        let states = self.held_states()?;
        states.to_host().map_err(|f| self.fail(f.diagnostic()))
    }

    /// The same, on any device.
    pub(crate) fn held_states(&self) -> Result<States, Error> {
        self.run.states().map_err(|d| self.fail(d))
    }

    /// Sets a state.
    ///
    /// # Errors
    /// No such state, a value of another type, or a cycle that still waits for later ones.
    pub fn set_state(&mut self, key: &str, value: &Value) -> Result<(), Error> {
        self.set_all([(key, value)])
    }

    /// Sets several states; on an error, none is set.
    ///
    /// # Errors
    /// As [`Session::set_state`].
    pub fn set_all<'a>(
        &mut self,
        states: impl IntoIterator<Item = (&'a str, &'a Value)>,
    ) -> Result<(), Error> {
        let states = states.into_iter().map(|(key, value)| (Arc::from(key), value.clone())).collect();
        let before = self.held_states()?;
        self.set_states(&states).or_else(|why| {
            self.set_states(&before)?;
            Err(why)
        })
    }

    /// Sets states, which may be on the engine's device.
    pub(crate) fn set_states(&mut self, states: &States) -> Result<(), Error> {
        self.run.set_states(states).map_err(|d| self.fail(d))
    }

    /// All values that the run remembers while no cycle is open.
    pub(crate) fn snapshot(&self) -> Result<Snapshot, Error> {
        self.run.snapshot().map_err(|d| self.fail(d))
    }

    /// Continues from a snapshot of this or another run of the program.
    pub(crate) fn set_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        self.run.set_snapshot(snapshot).map_err(|d| self.fail(d))
    }

    /// Writes all states to a checkpoint file, in one step: a reader sees the old file or the new one.
    ///
    /// # Errors
    /// As [`Session::states`]; a file that cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        Checkpoint::of_states(self.states()?).write(path.as_ref())
    }

    /// Reads states from a checkpoint file, which must contain all parameters of the program; it may contain other
    /// states.
    ///
    /// # Errors
    /// A file that is not a checkpoint, or lacks parameters of this program.
    pub fn load(&mut self, path: impl AsRef<Path>) -> Result<(), Error> {
        self.begin_with(&Parameters::File(path.as_ref().to_owned()))
    }

    /// The same from parameters in a file or in memory.
    ///
    /// # Errors
    /// As [`Session::load`].
    pub fn begin_with(&mut self, parameters: &Parameters) -> Result<(), Error> {
        self.restore(&parameters.checkpoint()?, Policy::Available)
    }

    pub(crate) fn restore(&mut self, checkpoint: &Checkpoint, policy: Policy) -> Result<(), Error> {
        let states = checkpoint.select(&self.program, policy).map_err(|d| self.fail(d))?;
        self.set_states(&states.into_iter().collect())
    }

    pub(crate) fn fail(&self, findings: impl Into<Diagnostics>) -> Error {
        self.program.error(findings)
    }
}

fn to_input(feed: &Feed) -> InputCell {
    match feed {
        Feed::Absent => InputCell::Absent,
        Feed::Value(v) => InputCell::Given(v.clone()),
        Feed::OnDemand(v) => InputCell::OnDemand(v.clone()),
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
