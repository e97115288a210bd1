//! Building flat programs by hand and running them in both engines.
#![allow(dead_code, unreachable_pub, reason = "every test binary uses its own part")]

use std::sync::Arc;

use rml_backend::{About, Backend, Buffer, Executable, Failure, Function};
use rml_backend_cpu::Cpu;
use rml_base::{FileId, IndexVec, Span};
use rml_ir::flat::{
    ConstKind, Constant, Eq, Equation, Flat, Init, Input as Formal, Rhs, State, Var, VarData, Window,
    WindowData, verify_initialised,
};
use rml_ir::op::{Op, result_type};
use rml_ir::{DType, Precision, Type, Value};
use rml_sim::oracle::{self, OracleOptions};
use rml_sim::{Demand, Input, Options, Simulator, Status};

/// A flat program under construction.
pub struct Builder {
    pub flat: Flat,
}

/// The embedded backend, called even for scalars.
#[derive(Debug)]
struct Always;

impl Backend for Always {
    fn about(&self) -> About {
        Cpu.about()
    }

    fn is_host(&self) -> bool {
        true
    }

    fn takes(&self, _: &Type) -> bool {
        true
    }

    fn prepare(&self, function: &Function) -> Result<Box<dyn Executable>, Failure> {
        Cpu.prepare(function)
    }

    fn upload(&self, value: &Value) -> Result<Arc<dyn Buffer>, Failure> {
        Cpu.upload(value)
    }
}

pub const BOOL: DType = DType::Bool;
pub const INT: DType = DType::Int;
pub const NUM: DType = DType::Num;

impl Builder {
    pub fn new() -> Builder {
        let flat = Flat {
            name: "main".into(),
            precision: Precision::F64,
            inputs: Vec::new(),
            outputs: Vec::new(),
            claims: Vec::new(),
            vars: IndexVec::new(),
            consts: IndexVec::new(),
            random_keys: indexmap::IndexMap::new(),
            windows: IndexVec::new(),
            equations: IndexVec::new(),
            states: indexmap::IndexMap::new(),
        };
        Builder { flat }
    }

    /// A variable that is to be defined later.
    pub fn var(&mut self, name: &str, ty: Type) -> Var {
        let name = (!name.is_empty()).then(|| Arc::from(name));
        let at = 1000 + self.flat.vars.len() * 10;
        self.flat.vars.push(VarData { name, ty, span: Span::new(FileId(0), at, at + 5) })
    }

    pub fn scalar(&mut self, name: &str, dtype: DType) -> Var {
        self.var(name, Type::scalar(dtype))
    }

    pub fn input(&mut self, name: &str, dtype: DType) -> Var {
        let var = self.scalar(name, dtype);
        self.flat.inputs.push(Formal { var, clock: None });
        var
    }

    pub fn output(&mut self, v: Var) {
        self.flat.outputs.push(v);
    }

    pub fn name(&mut self, v: Var, name: &str) {
        self.flat.vars[v].name = Some(name.into());
    }

    pub fn constant(&mut self, value: impl Into<Literal>) -> Constant {
        let value = value.into().0;
        Constant { ty: value.ty(), kind: ConstKind::Value(value), text: None }
    }

    pub fn init(&mut self, value: impl Into<Literal>) -> Init {
        let constant = self.constant(value);
        Init::Const(self.flat.consts.push(constant))
    }

    pub fn define(&mut self, lhs: Var, rhs: Rhs) -> Eq {
        let at = self.flat.equations.len() * 10;
        self.flat.equations.push(Equation { lhs, rhs, span: Span::new(FileId(0), at, at + 5) })
    }

    fn fresh(&mut self, ty: Type, rhs: Rhs) -> Var {
        let v = self.var("", ty);
        self.define(v, rhs);
        v
    }

    pub fn ty(&self, v: Var) -> Type {
        self.flat.vars[v].ty.clone()
    }

    pub fn lit(&mut self, value: impl Into<Literal>) -> Var {
        let constant = self.constant(value);
        let ty = constant.ty.clone();
        let k = self.flat.consts.push(constant);
        self.fresh(ty, Rhs::Const(k))
    }

    pub fn apply(&mut self, op: Op, args: &[Var]) -> Var {
        let types: Vec<Type> = args.iter().map(|&a| self.ty(a)).collect();
        let ty = result_type(&op, &types).expect("operands of the right types");
        self.fresh(ty, Rhs::Apply { op, args: args.to_vec() })
    }

    pub fn choice(&mut self, cond: Var, then: Var, other: Var) -> Var {
        self.fresh(self.ty(then), Rhs::If { cond, then, other })
    }

    pub fn when(&mut self, value: Var, cond: Var) -> Var {
        self.fresh(self.ty(value), Rhs::When { value, cond })
    }

    pub fn when_not(&mut self, value: Var, cond: Var) -> Var {
        let not = self.apply(Op::Not, &[cond]);
        self.when(value, not)
    }

    pub fn merge(&mut self, cond: Var, on_true: Var, on_false: Var) -> Var {
        self.fresh(self.ty(on_true), Rhs::Merge { cond, on_true, on_false })
    }

    pub fn fby(&mut self, init: impl Into<Literal>, next: Var) -> Var {
        let init = self.init(init);
        self.fresh(self.ty(next), Rhs::Fby { init, next, window: None })
    }

    pub fn fby_in(&mut self, init: impl Into<Literal>, next: Var, window: Window) -> Var {
        let init = self.init(init);
        self.fresh(self.ty(next), Rhs::Fby { init, next, window: Some(window) })
    }

    pub fn back(&mut self, init: impl Into<Literal>, next: Var) -> Var {
        let init = self.init(init);
        self.fresh(self.ty(next), Rhs::FbyBack { init, next, window: None })
    }

    pub fn back_in(&mut self, init: impl Into<Literal>, next: Var, window: Window) -> Var {
        let init = self.init(init);
        self.fresh(self.ty(next), Rhs::FbyBack { init, next, window: Some(window) })
    }

    pub fn post(&mut self, next: Var) -> Var {
        self.fresh(self.ty(next), Rhs::Post { next, window: None })
    }

    pub fn window(&mut self, end: Var, parent: Option<Window>) -> Window {
        self.flat.windows.push(WindowData { end, parent })
    }

    /// The program, with a state for each `fby` outside windows and each parameter.
    pub fn build(mut self) -> Arc<Flat> {
        for (equation, eq) in self.flat.equations.iter_enumerated() {
            let parameter = matches!(eq.rhs, Rhs::Param { .. });
            if parameter || matches!(eq.rhs, Rhs::Fby { window: None, .. }) {
                self.flat.states.insert(format!("state.{}", eq.lhs).into(), State { equation, parameter });
            }
        }
        if let Err(found) = verify_initialised(&self.flat) {
            panic!("{}\n{}", found.join("\n"), rml_ir::flat::print(&self.flat));
        }
        Arc::new(self.flat)
    }
}

/// A value written as a literal of the host language.
pub struct Literal(pub Value);

impl From<bool> for Literal {
    fn from(b: bool) -> Literal {
        Literal(Value::Bool(b))
    }
}

impl From<i64> for Literal {
    fn from(i: i64) -> Literal {
        Literal(Value::Int(i))
    }
}

impl From<f64> for Literal {
    fn from(x: f64) -> Literal {
        Literal(Value::F64(x))
    }
}

impl From<Value> for Literal {
    fn from(v: Value) -> Literal {
        Literal(v)
    }
}

/// Cycles from one column of text an input: `1 _ 3`, `t f _`, `2.5`, `@7` (on demand), `@_` (refused).
pub fn columns(columns: &[&str]) -> Vec<Vec<Input>> {
    let columns: Vec<Vec<Input>> =
        columns.iter().map(|c| c.split_whitespace().map(input).collect()).collect();
    let cycles = columns.first().map_or(0, Vec::len);
    (0..cycles).map(|n| columns.iter().map(|c| c[n].clone()).collect()).collect()
}

fn input(cell: &str) -> Input {
    match cell.strip_prefix('@') {
        Some("_") => Input::OnDemand(None),
        Some(value) => Input::OnDemand(Some(value_of(value))),
        None if cell == "_" => Input::Absent,
        None => Input::Given(value_of(cell)),
    }
}

fn value_of(cell: &str) -> Value {
    match cell {
        "t" => Value::Bool(true),
        "f" => Value::Bool(false),
        _ if cell.contains('.') => Value::F64(cell.parse().expect("a number")),
        _ => Value::Int(cell.parse().expect("an integer")),
    }
}

/// A row of statuses as text: `1 _ ? bot t error`.
pub fn text(row: &[Status]) -> String {
    let cell = |s: &Status| match s {
        Status::Bottom => "bot".to_owned(),
        Status::Absent => "_".to_owned(),
        Status::Unknown => "?".to_owned(),
        Status::Error => "error".to_owned(),
        Status::Value(Value::Bool(b)) => if *b { "t" } else { "f" }.to_owned(),
        Status::Value(Value::Int(i)) => i.to_string(),
        Status::Value(Value::F64(x)) => format!("{x:?}"),
        Status::Value(v) => format!("{v:?}"),
    };
    row.iter().map(cell).collect::<Vec<_>>().join(" ")
}

/// The row of a variable in a simulation.
pub fn sim_row(sim: &Simulator, v: Var) -> Vec<Status> {
    (0..sim.cycles()).map(|n| sim.status(n, v).unwrap_or_default()).collect()
}

/// Runs both engines with every option that must not matter, checks that they agree, and returns the simulation that kept
/// everything.
pub fn run(flat: &Arc<Flat>, inputs: &[Vec<Input>], closed: bool) -> Simulator {
    run_with(flat, inputs, closed, Demand::FreeClasses)
}

pub fn run_with(flat: &Arc<Flat>, inputs: &[Vec<Input>], closed: bool, demand: Demand) -> Simulator {
    let asked = match &demand {
        Demand::FreeClasses => None,
        Demand::Given(d) => Some(d.clone()),
    };
    let options = OracleOptions { closed, demand: asked, ..OracleOptions::default() };
    let trace = oracle::run(flat, inputs, &options);
    let reversed = OracleOptions { order: Some(flat.equations.ids().rev().collect()), ..options };
    let again = oracle::run(flat, inputs, &reversed);
    let going_on = |backend: Option<Arc<dyn Backend>>| {
        let options =
            Options { keep_going: true, record: true, demand: demand.clone(), backend, ..Options::default() };
        let mut sim = Simulator::new(Arc::clone(flat), options);
        for cycle in inputs {
            sim.feed(cycle).expect("going on regardless");
        }
        sim.finish(closed).expect("going on regardless");
        sim
    };
    let (sim, calling) = (going_on(None), going_on(Some(Arc::new(Always))));
    let program = || rml_ir::flat::print(flat);
    assert!(calling.stats().calls > 0 || sim.stats().activations == 0 || !has_operator_result(flat, &sim));
    for v in flat.vars.ids() {
        let expected = text(&trace.row(v));
        assert_eq!(text(&again.row(v)), expected, "oracle, other order: {v} of\n{}", program());
        assert_eq!(text(&sim_row(&sim, v)), expected, "simulator: {v} of\n{}", program());
        assert_eq!(text(&sim_row(&calling, v)), expected, "with functions: {v} of\n{}", program());
    }
    check_stopping(flat, inputs, closed, demand.clone(), None, &trace);
    check_stopping(flat, inputs, closed, demand.clone(), Some(Arc::new(Always)), &trace);
    check_inner_values(flat, inputs, closed, demand);
    if trace.error_cycles().is_empty() {
        let failures: Vec<_> = trace.failures.iter().map(|f| (f.cycle as u64, f.equation)).collect();
        assert_eq!(sim.overflows(), failures);
        assert_eq!(calling.overflows(), failures);
    }
    sim
}

/// Whether an operator other than a copy has a value somewhere.
fn has_operator_result(flat: &Flat, sim: &Simulator) -> bool {
    let operators = flat.equations.iter().filter(|eq| match &eq.rhs {
        Rhs::Apply { op, .. } => !matches!(op, Op::Copy | Op::StopGradient),
        _ => false,
    });
    operators.map(|eq| eq.lhs).any(|v| sim_row(sim, v).iter().any(|s| s.value().is_some()))
}

/// A run whose functions keep their inner values to themselves has the outputs, the end and the states of one without functions.
fn check_inner_values(flat: &Arc<Flat>, inputs: &[Vec<Input>], closed: bool, demand: Demand) {
    let outcome = |backend: Option<Arc<dyn Backend>>| {
        let options = Options { demand: demand.clone(), backend, ..Options::default() };
        let mut sim = Simulator::new(Arc::clone(flat), options);
        let fed = inputs.iter().try_for_each(|cycle| sim.feed(cycle));
        let end = fed.and_then(|()| sim.finish(closed)).map_err(|d| d.to_string());
        let rows: Vec<String> = std::iter::from_fn(|| sim.next_output()).map(|r| text(&r.values)).collect();
        let waits = sim.undetermined().map(|u| u.report.to_string());
        let states: Result<Vec<String>, String> = sim
            .states()
            .map(|all| all.into_iter().map(|(k, v)| format!("{k} {}", text(&[Status::Value(v)]))).collect())
            .map_err(|d| d.to_string());
        (rows, end, waits, states)
    };
    let (plain, calling) = (outcome(None), outcome(Some(Arc::new(Always))));
    let program = || rml_ir::flat::print(flat);
    assert_eq!(calling.1.is_err(), plain.1.is_err(), "{:?} but {:?}\n{}", calling.1, plain.1, program());
    if plain.1.is_ok() {
        assert_eq!(calling, plain, "{}", program());
    }
}

/// The simulator that stops and drops agrees with the oracle as far as it comes.
fn check_stopping(
    flat: &Arc<Flat>,
    inputs: &[Vec<Input>],
    closed: bool,
    demand: Demand,
    backend: Option<Arc<dyn Backend>>,
    trace: &oracle::Trace,
) {
    let options = Options { record: true, demand, backend, ..Options::default() };
    let mut sim = Simulator::new(Arc::clone(flat), options);
    let mut rows = Vec::new();
    let mut result = Ok(());
    for cycle in inputs {
        result = sim.feed(cycle);
        rows.extend(std::iter::from_fn(|| sim.next_output()));
        if result.is_err() {
            break;
        }
    }
    if result.is_ok() {
        result = sim.finish(closed);
        rows.extend(std::iter::from_fn(|| sim.next_output()));
    }
    let (errors, failures) = (trace.error_cycles(), &trace.failures);
    let fine = errors.is_empty() && failures.is_empty();
    assert_eq!(
        result.is_ok(),
        fine,
        "{result:?} against {errors:?} {failures:?}\n{}",
        rml_ir::flat::print(flat)
    );
    if let Some(failure) = sim.failure() {
        let at = usize::try_from(failure.cycle).unwrap();
        let known = errors.contains(&at) || failures.iter().any(|f| f.cycle == at);
        assert!(known, "{failure:?} against {errors:?} {failures:?}");
        assert!(!failure.report.labels.is_empty());
    }
    for (n, row) in (0..).zip(&rows) {
        assert_eq!(row.cycle, n as u64);
        let expected: Vec<Status> = flat.outputs.iter().map(|&v| trace.cycles[n][v].clone()).collect();
        let same = row.values.iter().zip(&expected).all(|(a, b)| a.same(b));
        assert!(
            same || !fine && errors.contains(&n),
            "cycle {n}: {} but {}",
            text(&row.values),
            text(&expected)
        );
    }
    if fine {
        assert_eq!(rows.len(), inputs.len());
    }
    for n in 0..sim.cycles() {
        for v in flat.vars.ids() {
            let (found, expected) =
                (sim.status(n, v).unwrap(), &trace.cycles[usize::try_from(n).unwrap()][v]);
            let program = || rml_ir::flat::print(flat);
            assert!(
                found.is_below(expected),
                "{v} in {n}: {found:?} is not below {expected:?}\n{}",
                program()
            );
            assert!(!fine || found.same(expected), "{v} in {n}: {found:?} but {expected:?}");
        }
    }
}

/// Runs a program on columns and returns the rows of some variables.
pub fn rows(flat: &Arc<Flat>, inputs: &[&str], closed: bool, vars: &[Var]) -> Vec<String> {
    let sim = run(flat, &columns(inputs), closed);
    vars.iter().map(|&v| text(&sim_row(&sim, v))).collect()
}
