//! Plans that run on a backend, window after window.

use std::sync::Arc;

use rml_backend::routine::stacked;
use rml_backend::{Backend, Failure, Held, Outcome};
use rml_base::memory;
use rml_base::profile::Scope;
use rml_base::{Diagnostic, EntityId};
use rml_executor::{Fault, Footprint, Running, TooLong, append};
use rml_ir::{Data, Type, Value};
use rml_plan::{Const, Lifetime, Outline, Plan, Register, Start};

use crate::lower::Source;
use crate::profile::{Probe, work};
use crate::ready::{Change, Key, Ready};

/// The number of routines that are kept: those that were used last.
pub const KEPT: usize = 128;

/// The largest number of operations in a [small](Running::is_small) window. They take some milliseconds.
const SMALL: f64 = 1e7;

/// The number of ticks in the shortest search for the end of a window.
const LEAST: usize = 64;

/// A plan that runs on a backend.
#[derive(Debug)]
pub struct Machine {
    plan: Arc<Plan>,
    backend: Arc<dyn Backend>,
    registers: Vec<Option<Held>>,
    /// For each register, the constant that is read while the register is not set, if there is one.
    starts: Vec<Option<Held>>,
    consts: Vec<Option<Held>>,
    /// The inputs of the next window, with a row for each tick.
    inputs: Vec<Option<Data>>,
    ready: Vec<(Key, Arc<Ready>)>,
    footprint: Footprint,
    /// The number of arithmetic operations of a tick.
    work: f64,
    /// The outputs of the last call, in the order of the results of its routine.
    outputs: Vec<Held>,
    copied: Vec<Option<Value>>,
    ran: Option<Arc<Ready>>,
    probe: Option<Probe>,
}

impl Machine {
    /// Starts a plan in its initial state.
    pub fn new(plan: Arc<Plan>, backend: Arc<dyn Backend>) -> Self {
        Self {
            footprint: footprint(&plan, &*backend),
            registers: vec![None; plan.registers.len()],
            starts: starts(&plan).into_iter().map(|start| start.map(Held::Host)).collect(),
            consts: vec![None; plan.consts.len()],
            inputs: vec![None; plan.inputs.len()],
            ready: Vec::new(),
            outputs: Vec::new(),
            copied: Vec::new(),
            ran: None,
            probe: None,
            work: plan.tapes.iter().map(|tape| work(&plan, tape).0).sum(),
            plan,
            backend,
        }
    }

    /// Measures all further windows.
    pub fn measure(&mut self, scope: &Scope) {
        self.probe = Some(Probe::new(&self.plan, scope));
    }

    /// Sets an input at tick `t` of the next window, which has `ticks` ticks.
    pub fn set_input(&mut self, input: usize, ticks: usize, t: usize, value: &Value) {
        let ty = &self.plan.inputs[input].1;
        let width = ty.shape.len();
        let column = self.inputs[input].take().filter(|column| column.len() == ticks * width);
        let mut column =
            column.unwrap_or_else(|| Value::zeros(&stacked(ty, ticks), self.plan.precision).to_data());
        put(&mut column, t * width, &value.to_precision(self.plan.precision).to_data());
        self.inputs[input] = Some(column);
    }

    /// Stores the registers and outputs that a routine computed.
    fn finish(&mut self, ready: Arc<Ready>, mut results: Vec<Held>) -> Result<(), Fault> {
        let outputs = results.split_off(ready.results);
        let mut registers = Vec::with_capacity(ready.changed.len());
        for (register, change) in &ready.changed {
            let value = match change {
                Change::Unset => None,
                Change::Set(value) => Some(results[*value].clone()),
                Change::Told(value, set) => {
                    let is_set = results[*set].to_host()?.as_bool() == Some(true);
                    is_set.then(|| results[*value].clone())
                }
            };
            registers.push((*register, value));
        }
        for (register, value) in registers {
            self.registers[register] = value;
        }
        self.copied = vec![None; outputs.len()];
        self.outputs = outputs;
        self.ran = Some(ready);
        Ok(())
    }

    /// Searches `ticks` ticks for the end of a window. Only the first `given` ticks have inputs.
    fn search(&mut self, ticks: usize, given: usize) -> Result<Option<usize>, Fault> {
        let ready = self.ready(ticks, 1, true)?;
        let results = self.run(&ready, given)?;
        Ok(ready.ends(&results)?.first().copied().flatten().filter(|end| *end <= given))
    }

    /// Runs a routine. Inputs were set for its first `given` ticks.
    fn run(&mut self, ready: &Ready, given: usize) -> Result<Vec<Held>, Fault> {
        let mut args = Vec::with_capacity(ready.sources.len());
        for source in &ready.sources {
            args.push(self.argument(*source, ready, given)?);
        }
        let start = self.probe.as_ref().map(Probe::now);
        let outcome = ready.executable.run(args)?;
        if let (Some(probe), Some(start)) = (&mut self.probe, start) {
            probe.ran(ready.ticks * ready.count, start);
        }
        match outcome {
            Outcome::Done(results) => Ok(results),
            Outcome::Suspect => Err(Fault::Suspect),
        }
    }

    fn argument(&mut self, source: Source, ready: &Ready, given: usize) -> Result<Held, Failure> {
        let (ticks, count) = (ready.ticks, ready.count);
        Ok(match source {
            Source::Register(r) => {
                let is_set = self.registers[r].is_some();
                let place = if is_set { &mut self.registers[r] } else { &mut self.starts[r] };
                let held = uploaded(
                    &*self.backend,
                    place
                        .clone()
                        .ok_or_else(|| Failure::call("a window reads a register that is not set"))?,
                )?;
                place.insert(held).clone()
            }
            Source::Told(_) => {
                return Err(Failure::call("a window is made for registers of which it is known"));
            }
            Source::Const(k) => {
                if let Some(held) = &self.consts[k] {
                    return Ok(held.clone());
                }
                let value = self.plan.consts[Const::from_index(k)].to_precision(self.plan.precision);
                let held = uploaded(&*self.backend, Held::Host(value))?;
                self.consts[k].insert(held).clone()
            }
            Source::Column(i) => {
                let ty = in_all(&stacked(&self.plan.inputs[i].1, ticks), count);
                Held::Host(match self.column(i, given) {
                    Some(column) if given == ticks * count => Value::new(ty.shape, column.clone()),
                    column => {
                        let mut all = Value::zeros(&ty, self.plan.precision).to_data();
                        column.into_iter().for_each(|column| put(&mut all, 0, column));
                        Value::new(ty.shape, all)
                    }
                })
            }
            Source::Cell(i, t) => {
                let element = &self.plan.inputs[i].1;
                let (width, ty) = (element.shape.len(), in_all(element, count));
                let mut all = Value::zeros(&ty, self.plan.precision).to_data();
                if let Some(column) = self.column(i, given) {
                    let there = (0..count).map(|w| w * ticks + t).enumerate();
                    for (w, t) in there.filter(|(_, t)| *t < given) {
                        put(&mut all, w * width, &slice(column, t * width, width));
                    }
                }
                Held::Host(Value::new(ty.shape, all))
            }
        })
    }

    /// The elements of an input, if it was set for a window of `ticks` ticks. Otherwise the input is absent.
    fn column(&self, input: usize, ticks: usize) -> Option<&Data> {
        let len = ticks * self.plan.inputs[input].1.shape.len();
        self.inputs[input].as_ref().filter(|column| column.len() == len)
    }

    fn ready(&mut self, ticks: usize, count: usize, searches: bool) -> Result<Arc<Ready>, Failure> {
        let set =
            self.registers.iter().zip(&self.starts).map(|(now, start)| now.is_some() || start.is_some());
        let key = Key { ticks, count, set: set.collect(), searches };
        if let Some(at) = self.ready.iter().position(|(k, _)| *k == key) {
            // The routine that was used last is the last one.
            let found = self.ready.remove(at);
            let ready = Arc::clone(&found.1);
            self.ready.push(found);
            return Ok(ready);
        }
        if self.ready.len() == KEPT {
            self.ready.remove(0);
        }
        let ready = Arc::new(self.prepare(&key)?);
        self.ready.push((key, Arc::clone(&ready)));
        Ok(ready)
    }

    fn prepare(&mut self, key: &Key) -> Result<Ready, Failure> {
        let (start, before) =
            (self.probe.as_ref().map(Probe::now), self.backend.compiled().unwrap_or_default());
        let ready = Ready::new(&self.plan, &*self.backend, key);
        let compiled = self.backend.compiled().unwrap_or_default().since(&before);
        tracing::debug!(key.ticks, key.count, key.searches, ?compiled, "prepared a window");
        if let (Some(probe), Some(start)) = (&mut self.probe, start) {
            probe.prepared(&compiled, start);
        }
        ready
    }

    /// An output at tick `t` of the last call; `None` if it is absent.
    ///
    /// # Errors
    /// The output cannot be copied from the device.
    pub fn output(&mut self, output: usize, t: usize) -> Result<Option<Value>, Failure> {
        let Some(ready) = self.ran.clone() else { return Ok(None) };
        let (window, t) = if ready.count > 1 { (t / ready.ticks, t % ready.ticks) } else { (0, t) };
        let Some(shown) = ready.outputs[output].iter().find(|s| s.from <= t && t < s.to) else {
            return Ok(None);
        };
        let row =
            |stacked: bool| if stacked { window * (shown.to - shown.from) + t - shown.from } else { window };
        if let Some((at, stacked)) = shown.present
            && self.cell(at, row(stacked), &Type::condition())?.as_bool() != Some(true)
        {
            return Ok(None);
        }
        let ty = self.plan.outputs[output].ty.clone();
        let (at, stacked) = shown.value;
        self.cell(at, row(stacked), &ty).map(Some)
    }

    /// One row of an output of the last call.
    fn cell(&mut self, at: usize, row: usize, ty: &Type) -> Result<Value, Failure> {
        if self.copied[at].is_none() {
            self.copied[at] = Some(self.outputs[at].to_host()?);
        }
        match &self.copied[at] {
            Some(Value::Tensor(all)) => {
                let width = ty.shape.len();
                Ok(Value::new(ty.shape.clone(), slice(all.data(), row * width, width)))
            }
            Some(value) => Ok(value.clone()),
            None => Err(Failure::call("an output was not copied")),
        }
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
        let ty = self.plan.inputs[input].1.clone();
        let width = ty.shape.len();
        let there = (0..ticks).filter(|t| present(*t)).count();
        let column = if there == ticks {
            slice(data, row * width, ticks * width)
        } else {
            let mut column = Value::zeros(&stacked(&ty, ticks), self.plan.precision).to_data();
            for (i, t) in (0..ticks).filter(|t| present(*t)).enumerate() {
                put(&mut column, t * width, &slice(data, (row + i) * width, width));
            }
            column
        };
        self.inputs[input] = Some(column);
        row + there
    }

    fn window(&mut self, ticks: usize) -> Result<usize, Fault> {
        let ready = self.ready(ticks, 1, false)?;
        let results = self.run(&ready, ticks)?;
        self.finish(ready, results)?;
        Ok(ticks - self.plan.ahead() as usize)
    }

    /// Runs the windows in one call. Declines if a window ends at another tick, or unsets a register: the next window
    /// would then need another routine.
    fn windows(&mut self, ticks: usize, count: usize) -> Result<bool, Fault> {
        if count > 1 && !self.ready(ticks, 1, false)?.repeats {
            return Ok(false);
        }
        let ready = self.ready(ticks, count, false)?;
        let results = self.run(&ready, ticks * count)?;
        if ready.ends(&results)?.iter().any(|end| *end != Some(ticks)) {
            return Ok(false);
        }
        self.finish(ready, results)?;
        Ok(true)
    }

    /// Whether the operations of a window take about as long as a call of a device, or less.
    fn is_small(&self, ticks: usize) -> bool {
        self.work * ticks as f64 <= SMALL
    }

    /// No tick depends on later ticks. So a search runs past the inputs, up to the next power of two, and few routines
    /// serve all searches. A search changes no register, so there is nothing to abandon.
    fn find(&mut self, ticks: usize) -> Result<Option<usize>, Fault> {
        let round = ticks.next_power_of_two().max(LEAST);
        match self.search(round, ticks) {
            // An operator may fail at a tick without inputs. Try again without these ticks.
            Err(Fault::Suspect) if round > ticks => self.search(ticks, ticks),
            found => found,
        }
    }

    fn add_output(&mut self, output: usize, t: usize, to: &mut Data) -> Result<bool, Diagnostic> {
        let value = self.output(output, t)?;
        if let Some(value) = &value {
            append(to, value.to_data());
        }
        Ok(value.is_some())
    }

    fn register(&self, register: usize) -> Option<Held> {
        self.registers[register].as_ref().or(self.starts[register].as_ref()).cloned()
    }

    /// A register with a constant start value counts as set only if its value differs from that constant, since
    /// routines do not record whether it was set.
    fn is_set(&self, register: usize) -> Result<bool, Diagnostic> {
        Ok(match (&self.registers[register], &self.starts[register]) {
            (Some(value), Some(start)) => !value.to_host()?.same(&start.to_host()?),
            (value, _) => value.is_some(),
        })
    }

    fn unset_register(&mut self, register: usize) {
        self.registers[register] = None;
    }

    /// A value on a device is a buffer of this backend and device.
    fn set_register(&mut self, register: usize, value: &Held) -> Result<(), Diagnostic> {
        let precision = self.plan.precision;
        self.registers[register] = Some(match value {
            Held::Device(buffer) if !buffer.ty().is_num() || buffer.precision() == precision => value.clone(),
            other => Held::Host(other.to_host()?.to_precision(precision)),
        });
        Ok(())
    }

    fn ask(&mut self, ticks: usize) -> Result<(), TooLong> {
        let least = Err("only the embedded backend computes values again");
        memory::ask(self.footprint.at(ticks)).map_err(|short| TooLong { short, least })
    }
}

/// For each register, the constant that is read while the register is not set, if all readers have the same one.
pub(crate) fn starts(plan: &Plan) -> Vec<Option<Value>> {
    let start = |(start, register): (&Start, &Register)| {
        let value = start.value(plan).filter(|_| register.kind != Lifetime::Local)?;
        Some(value.to_precision(plan.precision))
    };
    plan.starts().iter().zip(plan.registers.iter()).map(start).collect()
}

/// The type of `count` values of type `ty`, stacked if there are several.
fn in_all(ty: &Type, count: usize) -> Type {
    if count > 1 { stacked(ty, count) } else { ty.clone() }
}

/// The value on the device, if the backend has one.
fn uploaded(backend: &dyn Backend, held: Held) -> Result<Held, Failure> {
    match held {
        Held::Host(value) if !backend.is_host() => Ok(Held::Device(backend.upload(&value)?)),
        held => Ok(held),
    }
}

/// The `len` elements that start at `from`.
fn slice(data: &Data, from: usize, len: usize) -> Data {
    match data {
        Data::Bool(v) => Data::Bool(v[from..from + len].to_vec()),
        Data::Int(v) => Data::Int(v[from..from + len].to_vec()),
        Data::F32(v) => Data::F32(v[from..from + len].to_vec()),
        Data::F64(v) => Data::F64(v[from..from + len].to_vec()),
    }
}

/// Puts elements at `at`. Elements of another type are ignored; P2 excludes them.
fn put(data: &mut Data, at: usize, elements: &Data) {
    match (data, elements) {
        (Data::Bool(v), Data::Bool(x)) => v[at..at + x.len()].copy_from_slice(x),
        (Data::Int(v), Data::Int(x)) => v[at..at + x.len()].copy_from_slice(x),
        (Data::F32(v), Data::F32(x)) => v[at..at + x.len()].copy_from_slice(x),
        (Data::F64(v), Data::F64(x)) => v[at..at + x.len()].copy_from_slice(x),
        _ => {}
    }
}

/// The host memory of windows in which every value is kept until the end.
pub(crate) fn footprint(plan: &Plan, backend: &dyn Backend) -> Footprint {
    if !backend.about().is_on_host() {
        return Footprint::default();
    }
    let outline = Outline::of(plan);
    Footprint { fixed: outline.bytes, per_tick: outline.bytes_per_tick }
}
