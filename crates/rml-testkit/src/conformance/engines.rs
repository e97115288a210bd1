//! Runs a vector: it is compiled in double precision with all variables kept, and run by the oracle and the simulator.

use std::sync::Arc;

use indexmap::IndexMap;
use rml::{DType, Data, Options, Precision, Program, Shape, Source, Type, Value};
use rml_backend::Backend;
use rml_ir::flat::{ClockClasses, Drawn, Var};
use rml_sim::oracle::{self, OracleOptions};
use rml_sim::{Demand, InputCell, Simulator, Status, Tensors};
use serde_json::Value as Json;

use super::compare::{agrees, number, same, show, show_expected};
use super::{ConformanceVector, VectorMismatch, VectorRunner};

/// A vector with its compiled program and its environment.
pub(super) struct Prepared<'a> {
    vector: &'a ConformanceVector,
    flat: Arc<Drawn>,
    /// Variables by name.
    vars: IndexMap<Arc<str>, Var>,
    /// For each cycle, one entry per input.
    inputs: Vec<Vec<InputCell>>,
    /// The variables that are demanded in each cycle; `None` = one variable of each free clock class in every cycle.
    demand: Option<IndexMap<Var, Vec<bool>>>,
    /// The engines that run the vector.
    engines: Vec<VectorRunner>,
    /// The backend that computes tensor functions, in addition to the engines that evaluate operator by operator.
    backend: Option<Arc<dyn Backend>>,
}

impl<'a> Prepared<'a> {
    pub(super) fn new(
        vector: &'a ConformanceVector,
        engines: Vec<VectorRunner>,
        backend: Option<Arc<dyn Backend>>,
    ) -> Result<Self, String> {
        let (program, inputs) = program(vector, true)?;
        let flat = Arc::clone(program.flat());
        let named = flat.vars.iter_enumerated().filter_map(|(v, data)| Some((data.name.clone()?, v)));
        let vars: IndexMap<Arc<str>, Var> = named.collect();
        let demand = demand(vector, &vars)?;
        Ok(Self { vector, flat, vars, inputs, demand, engines, backend })
    }

    /// All failures of all engines. A vector's demand can contain only named variables, but the reference may have
    /// asked for unnamed ones. If the demand does not cover all free clock classes and there are failures, the vector
    /// is run again with a demand for all free classes. It passes if this second run has no failures.
    pub(super) fn check(mut self) -> Vec<VectorMismatch> {
        let failures = self.check_engines();
        match self.completed_demand().filter(|_| !failures.is_empty()) {
            None => failures,
            Some(demand) => {
                self.demand = Some(demand);
                let completed = self.check_engines();
                if completed.is_empty() { completed } else { failures }
            }
        }
    }

    fn check_engines(&self) -> Vec<VectorMismatch> {
        let check = |engine: &VectorRunner| match engine {
            VectorRunner::Oracle => self.check_oracle(),
            _ => self
                .check_simulator(*engine, self.backend.as_ref().filter(|_| *engine == VectorRunner::Backend)),
        };
        self.engines.iter().flat_map(check).collect()
    }

    /// The vector's demand, completed by one variable of each free clock class that it does not contain; `None` if it
    /// contains all of them.
    fn completed_demand(&self) -> Option<IndexMap<Var, Vec<bool>>> {
        let mut demand = self.demand.clone()?;
        let classes = ClockClasses::new(&self.flat);
        let listed: Vec<_> = demand.keys().map(|v| classes.of(*v)).collect();
        let left_out =
            classes.free_representatives().into_iter().filter(|v| !listed.contains(&classes.of(*v)));
        let before = demand.len();
        demand.extend(left_out.map(|v| (v, vec![true; self.vector.cycles])));
        (demand.len() > before).then_some(demand)
    }

    fn check_oracle(&self) -> Vec<VectorMismatch> {
        let options = OracleOptions {
            closed: self.vector.closed,
            demand: self.demand.clone(),
            ..OracleOptions::default()
        };
        let trace = oracle::run(&self.flat, &self.inputs, &options);
        let mut failures = Vec::new();
        let mut fail =
            |message: String| failures.push(VectorMismatch::Engine { engine: VectorRunner::Oracle, message });
        for failure in &trace.failures {
            fail(format!("no result of an operator at cycle {}: {:?}", failure.cycle, failure.error));
        }
        let errors = trace.error_cycles();
        if errors != self.vector.error_cycles {
            fail(format!("expected errors at cycles {:?}, got them at {errors:?}", self.vector.error_cycles));
        }
        failures.extend(
            self.compare(VectorRunner::Oracle, &|v, n| trace.cycles.get(n).map(|row| row[v].clone())),
        );
        failures
    }

    fn check_simulator(
        &self,
        engine: VectorRunner,
        backend: Option<&Arc<dyn Backend>>,
    ) -> Vec<VectorMismatch> {
        let mut failures = Vec::new();
        let mut fail = |message: String| failures.push(VectorMismatch::Engine { engine, message });
        // The simulator runs as for users: it stops at the first error, whose cycle must be one of the origins.
        let mut stopping = self.simulator(false, backend);
        let outcome = self.simulate(&mut stopping);
        let origins = &self.vector.error_origin_cycles;
        match (outcome, origins.is_empty()) {
            (Ok(()), true) => {}
            (Ok(()), false) => fail(format!("expected an error at one of the cycles {origins:?}, got none")),
            (Err(message), true) => fail(format!("expected no error, got: {message}")),
            (Err(message), false) => match stopping.failure() {
                Some(f) if origins.iter().any(|&n| n as u64 == f.cycle) => {}
                Some(f) => fail(format!(
                    "expected an error at one of the cycles {origins:?}, got one at {}: {message}",
                    f.cycle
                )),
                None => fail(format!("expected an error at one of the cycles {origins:?}, got: {message}")),
            },
        }
        // This simulator continues after errors, because the cells of the other cycles are compared too.
        let mut going_on = self.simulator(true, backend);
        if let Err(message) = self.simulate(&mut going_on) {
            fail(message);
        }
        failures.extend(self.compare(engine, &|v, n| going_on.status(n as u64, v).ok().flatten()));
        failures
    }

    fn simulator(&self, keep_going: bool, backend: Option<&Arc<dyn Backend>>) -> Simulator {
        let demand = self.demand.clone().map_or(Demand::FreeClasses, Demand::Given);
        let tensors = backend.map_or(Tensors::Reference, |b| Tensors::On(Arc::clone(b)));
        let options = rml_sim::Options { record: true, keep_going, demand, tensors, ..Default::default() };
        Simulator::new(Arc::clone(&self.flat), options)
    }

    fn simulate(&self, simulator: &mut Simulator) -> Result<(), String> {
        let fed = self.inputs.iter().try_for_each(|row| simulator.feed(row));
        fed.and_then(|()| simulator.finish(self.vector.closed)).map_err(|d| d.to_string().replace('\n', ";"))
    }

    /// All cells that are not as expected, except in cycles with errors.
    fn compare(
        &self,
        engine: VectorRunner,
        status: &dyn Fn(Var, usize) -> Option<Status>,
    ) -> Vec<VectorMismatch> {
        let mut failures = Vec::new();
        for (name, row) in &self.vector.expected {
            let Some(&var) = self.vars.get(name.as_str()) else {
                failures.push(VectorMismatch::Engine {
                    engine,
                    message: format!("{name} is no variable of the program"),
                });
                continue;
            };
            for (cycle, expected) in
                row.iter().enumerate().filter(|(n, _)| !self.vector.error_cycles.contains(n))
            {
                let got = status(var, cycle).unwrap_or(Status::Bottom);
                if !agrees(expected, &got) {
                    let (expected, got) = (show_expected(expected), show(&got));
                    failures.push(VectorMismatch::Cell {
                        engine,
                        variable: name.clone(),
                        cycle,
                        expected,
                        got,
                    });
                }
            }
        }
        failures.extend(self.compare_last(engine, status));
        failures
    }

    /// Compares values in the last cycle: some variable whose path ends with the name must have the expected value.
    fn compare_last(
        &self,
        engine: VectorRunner,
        status: &dyn Fn(Var, usize) -> Option<Status>,
    ) -> Vec<VectorMismatch> {
        let Some(cycle) = self.vector.cycles.checked_sub(1) else { return Vec::new() };
        let mut failures = Vec::new();
        for (name, expected) in &self.vector.last {
            let candidates =
                self.vars.iter().filter(|(path, _)| path.rsplit('.').next() == Some(name.as_str()));
            let statuses: Vec<Status> = candidates.filter_map(|(_, v)| status(*v, cycle)).collect();
            if !statuses.iter().any(|s| s.value().is_some_and(|v| same(expected, v))) {
                let got = statuses.iter().map(show).collect::<Vec<_>>().join(" or ");
                let (variable, expected) = (name.clone(), expected.to_string());
                failures.push(VectorMismatch::Cell { engine, variable, cycle, expected, got });
            }
        }
        failures
    }
}

/// The program of a vector in double precision, with all variables or with those that its outputs need, and its inputs.
pub(super) fn program(
    vector: &ConformanceVector,
    all_vars: bool,
) -> Result<(Program, Vec<Vec<InputCell>>), String> {
    let options = Options {
        node: Some(vector.main.clone()),
        precision: Precision::F64,
        all_vars,
        ..Options::default()
    };
    let program = rml::compile(&Source::text("vector", &vector.rml), &options)
        .map_err(|e| format!("does not compile: {}", e.to_string().replace('\n', "; ")))?;
    let inputs = inputs(vector, &program)?;
    Ok((program, inputs))
}

/// The environment's inputs: for each cycle, one entry per input.
fn inputs(vector: &ConformanceVector, program: &Program) -> Result<Vec<Vec<InputCell>>, String> {
    let known = |name: &String| program.inputs().iter().any(|i| *i.name == **name);
    if let Some(name) = vector.inputs.keys().chain(vector.on_demand.keys()).find(|n| !known(n)) {
        return Err(format!("`{name}` is no input of node {}", vector.main));
    }
    let mut rows: Vec<Vec<InputCell>> = vec![Vec::new(); vector.cycles];
    for input in program.inputs() {
        let (given, offered) = (vector.inputs.get(&*input.name), vector.on_demand.get(&*input.name));
        let cells = given.or(offered).ok_or(format!("nothing is said about the input `{}`", input.name))?;
        for (cycle, (row, cell)) in rows.iter_mut().zip(cells).enumerate() {
            let value = match cell {
                Json::Null => None,
                cell => Some(value(cell, &input.ty).ok_or_else(|| {
                    format!("input `{}` at cycle {cycle}: {cell} is not of type {}", input.name, input.ty)
                })?),
            };
            row.push(match (given.is_some(), value) {
                (true, Some(value)) => InputCell::Given(value),
                (true, None) => InputCell::Absent,
                (false, offer) => InputCell::OnDemand(offer),
            });
        }
    }
    Ok(rows)
}

/// The demand of the environment. Names of temporaries of the reference are unknown here; a demand for one of them in
/// every cycle is the default demand of a free clock class.
fn demand(
    vector: &ConformanceVector,
    vars: &IndexMap<Arc<str>, Var>,
) -> Result<Option<IndexMap<Var, Vec<bool>>>, String> {
    let Some(demand) = &vector.demand else { return Ok(None) };
    match demand.iter().find(|(name, _)| !vars.contains_key(name.as_str())) {
        None => Ok(Some(demand.iter().map(|(name, row)| (vars[name.as_str()], row.clone())).collect())),
        Some(_) if demand.values().flatten().all(|asked| *asked) => Ok(None),
        Some((name, _)) => Err(format!("`demand`: {name} is no variable of the program")),
    }
}

/// A JSON value as a value of type `ty`; integers are accepted for numbers.
fn value(json: &Json, ty: &Type) -> Option<Value> {
    let mut leaves = Vec::new();
    flatten(json, ty.shape.dims(), &mut leaves)?;
    let numeric = |j: &&Json| number(j).or_else(|| j.as_i64().map(|i| i as f64));
    let data = match ty.dtype {
        DType::Bool => Data::Bool(leaves.iter().map(|j| j.as_bool()).collect::<Option<_>>()?),
        DType::Int => Data::Int(leaves.iter().map(|j| j.as_i64()).collect::<Option<_>>()?),
        DType::Num => Data::F64(leaves.iter().map(numeric).collect::<Option<_>>()?),
    };
    Some(Value::new(Shape::new(ty.shape.dims()), data))
}

fn flatten<'a>(json: &'a Json, dims: &[usize], leaves: &mut Vec<&'a Json>) -> Option<()> {
    match dims.split_first() {
        None => leaves.push(json),
        Some((&length, rest)) => {
            let items = json.as_array().filter(|items| items.len() == length)?;
            items.iter().try_for_each(|item| flatten(item, rest, leaves))?;
        }
    }
    Some(())
}
