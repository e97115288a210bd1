//! Compares the gradient of a program with central differences in double precision, along random directions.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_autodiff::gradient;
use rml_base::EntityId;
use rml_elab::Root;
use rml_ir::flat::{Drawn, Flat, Rhs};
use rml_ir::pass::{self, Keep};
use rml_ir::{DType, Data, Shape, Value};
use rml_sim::{InputCell, Options, Simulator, Status};

use super::{InputRows, LossProgram, P, normal};
use crate::Lcg;

/// The step; differences of sums of this size are exact to about 1e-10.
const STEP: f64 = 1e-5;
const TOLERANCE: f64 = 1e-6;

/// A compiled program, its inputs and its parameters.
struct Case {
    forward: Arc<Drawn>,
    /// The forward program with all its variables, including those that the loss does not depend on.
    whole: Drawn,
    backward: Arc<Drawn>,
    /// For each input, the output with its gradient.
    inputs: Vec<Option<usize>>,
    /// By key, the value of each parameter and the output with its gradient.
    params: IndexMap<Arc<str>, (Value, usize)>,
    rows: InputRows,
    cycles: usize,
}

/// The outcome of a comparison.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// Gradients and differences agree.
    Agrees,
    /// Cells wait for each other, so the program defines no function.
    NotProductive,
    /// The function is not smooth at this point.
    Kink,
    /// Gradients and differences differ, or the program does not compile; the text states the difference or the error.
    Wrong(String),
}

fn numbers(v: &Value) -> Vec<f64> {
    match v.to_data() {
        Data::F64(v) => v,
        _ => Vec::new(),
    }
}

/// The rows of outputs of a closed trace; `None` if a cell is undetermined.
fn run(
    flat: &Arc<Drawn>,
    rows: &InputRows,
    cycles: usize,
    params: &[(Arc<str>, Value)],
) -> Option<Vec<Vec<Status>>> {
    let mut sim = Simulator::new(Arc::clone(flat), Options::default());
    for (key, value) in params.iter().filter(|(key, _)| flat.states.contains_key(key)) {
        sim.set_state(key, value).unwrap_or_else(|e| panic!("{e}"));
    }
    for n in 0..cycles {
        let given = |name: &str| rows[name][n].clone().map_or(InputCell::Absent, InputCell::Given);
        let row: Vec<InputCell> = flat.inputs.iter().map(|i| given(name(flat, i.var))).collect();
        sim.feed(&row).unwrap_or_else(|e| panic!("cycle {n}: {e}"));
    }
    sim.finish(true).unwrap_or_else(|e| panic!("{e}"));
    let found: Vec<Vec<Status>> = std::iter::from_fn(|| sim.next_output()).map(|row| row.values).collect();
    let known = found.len() == cycles && found.iter().flatten().all(Status::is_determined);
    known.then_some(found)
}

fn name(flat: &Flat, v: rml_ir::flat::Var) -> &str {
    flat.vars[v].name.as_deref().expect("inputs have names")
}

impl Case {
    fn new(text: &str, r: &mut Lcg) -> Result<Self, String> {
        let module = normal(text, Root::Diff("main".into()))?;
        let made = gradient(module, 0).map_err(|e| e.to_string())?;
        let drawn = |flat, keep| pass::draw(pass::lower(flat, keep), 1).expect("memory for the draws");
        let finish = |flat| Arc::new(drawn(flat, Keep::Needed));
        let held = pass::inline_held(&made.module).map_err(|e| e.to_string())?;
        let mut backward = held.flat;
        let mut outputs = IndexMap::new();
        for (key, d) in held.gradients {
            outputs.insert(key, backward.outputs.len());
            backward.outputs.push(d);
        }
        let forward = made.module.with_root(made.forward);
        let forward = pass::inline_held(&forward).map_err(|e| e.to_string())?.flat;
        let backward = finish(backward);
        let values = Simulator::new(Arc::clone(&backward), Options::default()).states();
        let values = values.map_err(|e| e.to_string())?;
        // A parameter is missing if no variable depends on it.
        let there = outputs.into_iter().filter_map(|(key, at)| Some((values.get(&key)?.clone(), at, key)));
        let params = there.map(|(value, at, key)| (key, (value, at))).collect();
        let cycles = 1 + r.below(5);
        let rows = inputs(&backward, cycles, r);
        Ok(Self {
            whole: drawn(forward.clone(), Keep::All),
            forward: finish(forward),
            backward,
            inputs: made.inputs,
            params,
            rows,
            cycles,
        })
    }

    /// The sum of the loss after moving inputs and parameters along a direction.
    fn loss(&self, along: &Direction, h: f64) -> Option<f64> {
        let moved = |v: &Value, d: &[f64]| {
            let data = numbers(v).iter().zip(d).map(|(x, d)| x + h * d).collect();
            Value::new(v.shape(), Data::F64(data))
        };
        let mut rows = self.rows.clone();
        for (name, cells) in &along.inputs {
            for (cell, d) in rows[name].iter_mut().zip(cells) {
                *cell = cell.as_ref().map(|v| moved(v, d));
            }
        }
        let params: Vec<_> = self
            .params
            .iter()
            .zip(&along.params)
            .map(|((key, (v, _)), d)| (Arc::clone(key), moved(v, d)))
            .collect();
        let found = run(&self.forward, &rows, self.cycles, &params)?;
        Some(found.iter().filter_map(|row| row[0].value().and_then(Value::as_num)).sum())
    }

    /// Whether all cells are determined, except the last cells of `post`.
    fn is_productive(&self) -> bool {
        let is_post = |eq: &&rml_ir::flat::Equation| matches!(eq.rhs, Rhs::Post { .. });
        let posts: Vec<usize> =
            self.whole.equations.iter().filter(is_post).map(|eq| eq.lhs.index()).collect();
        // The rows are in the order of the variables.
        let table = super::run(self.whole.clone(), &self.rows, self.cycles);
        table.values().enumerate().all(|(v, row)| posts.contains(&v) || row.iter().all(Status::is_determined))
    }

    fn check(&self, r: &mut Lcg) -> Comparison {
        if !self.is_productive() {
            return Comparison::NotProductive;
        }
        let still = Direction { inputs: IndexMap::new(), params: Vec::new() };
        let Some(here) = self.loss(&still, 0.0) else { return Comparison::NotProductive };
        let Some(found) = run(&self.backward, &self.rows, self.cycles, &[]) else {
            return Comparison::Wrong("the gradient is not determined".into());
        };
        let total: f64 = found.iter().filter_map(|row| row[0].value().and_then(Value::as_num)).sum();
        if (total - here).abs() > 1e-12 * (1.0 + here.abs()) {
            return Comparison::Wrong(format!("the adjoint gives {total} where the node gives {here}"));
        }
        for _ in 0..2 {
            let along = Direction::random(self, r);
            let slope = |h: f64| Some((self.loss(&along, h)? - self.loss(&along, -h)?) / (2.0 * h));
            let Some(expected) = slope(STEP) else { return Comparison::NotProductive };
            let gradient = self.derivative(&found, &along);
            let near = |a: f64, b: f64| (a - b).abs() <= TOLERANCE * (1.0 + a.abs().max(b.abs()));
            if near(gradient, expected) {
                continue;
            }
            // If the function is smooth, other steps give the same slope.
            let again = [STEP / 7.0, STEP / 50.0].map(|h| slope(h).unwrap_or(f64::NAN));
            return if again.iter().all(|&b| (b - expected).abs() <= 1e-4 * (1.0 + expected.abs())) {
                Comparison::Wrong(format!("the gradient is {gradient}, by differences {expected}"))
            } else {
                Comparison::Kink
            };
        }
        Comparison::Agrees
    }

    /// The derivative along a direction, from the gradient.
    fn derivative(&self, found: &[Vec<Status>], along: &Direction) -> f64 {
        let dot = |status: &Status, d: &[f64]| -> f64 {
            status.value().map_or(0.0, |v| numbers(v).iter().zip(d).map(|(g, d)| g * d).sum())
        };
        let mut sum = 0.0;
        for (input, at) in self.backward.inputs.iter().zip(&self.inputs) {
            let name = name(&self.backward, input.var);
            let (Some(at), Some(cells)) = (at, along.inputs.get(name)) else { continue };
            for n in (0..self.cycles).filter(|&n| self.rows[name][n].is_some()) {
                sum += dot(&found[n][*at], &cells[n]);
            }
        }
        for ((_, at), d) in self.params.values().zip(&along.params) {
            sum += found.iter().map(|row| dot(&row[*at], d)).sum::<f64>();
        }
        sum
    }
}

/// A direction in the space of num inputs and parameters.
struct Direction {
    inputs: IndexMap<String, Vec<Vec<f64>>>,
    params: Vec<Vec<f64>>,
}

impl Direction {
    fn random(case: &Case, r: &mut Lcg) -> Self {
        let mut vector = |n: usize| -> Vec<f64> { (0..n).map(|_| r.range(-1.0, 1.0)).collect() };
        let flat = &case.backward;
        let nums = flat.inputs.iter().filter(|i| flat.vars[i.var].ty.is_num());
        let inputs = nums.map(|i| {
            let n = flat.vars[i.var].ty.shape.len();
            (name(flat, i.var).to_owned(), (0..case.cycles).map(|_| vector(n)).collect())
        });
        let inputs = inputs.collect();
        let params = case.params.values().map(|(v, _)| vector(v.shape().len())).collect();
        Self { inputs, params }
    }
}

/// Random inputs, all on the base clock.
fn inputs(flat: &Flat, cycles: usize, r: &mut Lcg) -> InputRows {
    let base: Vec<bool> = (0..cycles).map(|_| r.chance(0.85)).collect();
    let mut rows = InputRows::new();
    for input in &flat.inputs {
        let ty = &flat.vars[input.var].ty;
        let row = base.iter().map(|&on| on.then(|| cell(&ty.shape, ty.dtype, r))).collect();
        rows.insert(name(flat, input.var).to_owned(), row);
    }
    rows
}

fn cell(shape: &Shape, dtype: DType, r: &mut Lcg) -> Value {
    let n = shape.len();
    let data = match dtype {
        DType::Bool => Data::Bool((0..n).map(|_| r.chance(0.5)).collect()),
        _ => Data::F64((0..n).map(|_| r.range(-1.0, 1.0)).collect()),
    };
    Value::new(shape.clone(), data).to_precision(P)
}

/// Compares the gradient of a program, for the inputs and directions of the given seed.
pub fn outcome(program: &LossProgram, seed: u64) -> Comparison {
    outcome_of(&program.text(), seed)
}

/// Compares the gradient of a text. Its node `main` must have one output, a scalar num, and inputs on the base clock.
pub fn outcome_of(text: &str, seed: u64) -> Comparison {
    let mut r = Lcg(seed.wrapping_mul(31).wrapping_add(5));
    match Case::new(text, &mut r) {
        Ok(case) => case.check(&mut r),
        Err(e) => Comparison::Wrong(e),
    }
}

/// The text of the smallest program found that still fails, with the failure.
pub fn shrunk(mut program: LossProgram, seed: u64, mut why: String) -> String {
    loop {
        let smaller = program.smaller().into_iter().find_map(|p| match outcome(&p, seed) {
            Comparison::Wrong(why) => Some((p, why)),
            _ => None,
        });
        match smaller {
            Some((p, w)) => (program, why) = (p, w),
            None => return format!("seed {seed}: {why}\n{}", program.text()),
        }
    }
}
