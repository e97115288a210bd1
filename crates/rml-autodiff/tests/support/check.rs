//! Compares the adjoint of a node with finite differences of its results, for inputs and parameters.
#![allow(dead_code, reason = "each test file uses a part")]

use indexmap::IndexMap;
use rml_autodiff::{differentiate, differentiate_node};
use rml_elab::Root;
use rml_ir::flat::{self, Drawn, Flat};
use rml_ir::normal::{Callee, Differentiated, Formal, Module, Rhs, Var};
use rml_ir::op::{Binary, Op};
use rml_ir::{Data, Type, Value, pass};
use rml_sim::Status;
use rml_testkit::Lcg;
use rml_testkit::gradients::{InputRows, normal_with, run};

use super::NodeBuilder;
use super::source::inputs;

/// An optimiser that never changes the parameter, but sums its gradient in `sum`.
pub(crate) const RECORDER: &str = "node diff_param(init, bp, do) -> (o)
  o = init fby o;
  total = (zeros(shape(init)) fby total) + merge bp do zeros(shape(init));
  o1 = o;
";

/// A node, and how it is tested.
pub(crate) struct Case<'a> {
    pub(crate) text: &'a str,
    pub(crate) node: &'a str,
    pub(crate) cycles: usize,
    pub(crate) seed: u64,
}

fn numbers(v: &Value) -> Vec<f64> {
    match v.to_data() {
        Data::F64(v) => v,
        _ => Vec::new(),
    }
}

/// The sum of seed times value over all cycles and outputs.
fn loss(flat: &Drawn, rows: &InputRows, seeds: &InputRows, cycles: usize) -> f64 {
    let table = run(flat.clone(), rows, cycles);
    let mut sum = 0.0;
    for (o, seed) in seeds {
        for (status, seed) in table[o].iter().zip(seed) {
            if let (Some(v), Some(seed)) = (status.value(), seed) {
                sum += numbers(v).iter().zip(numbers(seed)).map(|(v, d)| v * d).sum::<f64>();
            }
        }
    }
    sum
}

/// The clock that the adjoint of the root declares for its `bp`; inputs have the same numbers in the wrapper.
fn clock_of_bp(module: &Module) -> Result<Option<(Var, bool)>, String> {
    let made = differentiate_node(module.clone(), module.root).map_err(|e| e.to_string())?;
    let node = &made.module.nodes[made.adjoint];
    let bp = node.inputs().nth(module.nodes[module.root].inputs().count()).expect("an adjoint has bp");
    let position = |v: Var| node.inputs().position(|i| i.var == v).expect("an input");
    Ok(bp.clock.map(|(cond, flag)| (Var(u32::try_from(position(cond)).expect("few inputs")), flag)))
}

/// The module with a new root that calls the root itself, or its adjoint.
pub(crate) fn wrapped(module: &Module, diff: bool) -> Result<Differentiated, String> {
    let mut module = module.clone();
    let id = module.root;
    let f = &module.nodes[id];
    let name = |v: Var| f.vars[v].name.as_deref().expect("interfaces are named");
    let num = |v: &Var| f.vars[*v].ty.is_num();
    let ty = |v: Var| f.vars[v].ty.clone();
    let mut b = NodeBuilder::new("main");
    let mut args: Vec<Var> = f.inputs().map(|i| b.input(name(i.var), ty(i.var))).collect();
    let position = |v: Var| f.inputs().position(|i| i.var == v);
    for (formal, input) in b.0.formals.iter_mut().zip(f.inputs()) {
        if let (Formal::Stream(formal), Some((cond, flag))) = (formal, input.clock) {
            formal.clock = position(cond).map(|at| (args[at], flag));
        }
    }
    let mut lhs: Vec<Var> = f.outputs.iter().map(|&o| b.var(name(o), ty(o))).collect();
    let prefix = if diff { "diff_" } else { "" };
    let mut callee = Callee::Node(id);
    if diff {
        callee = Callee::Diff { node: id, order: 1 };
        let bp = b.input("bp", Type::condition());
        args.push(bp);
        if let Some(Formal::Stream(formal)) = b.0.formals.last_mut() {
            formal.clock = clock_of_bp(&module)?;
        }
        for &o in f.outputs.iter().filter(|o| num(o)) {
            args.push(b.input(&format!("d{}", name(o)), ty(o)));
            let Some(Formal::Stream(d)) = b.0.formals.last_mut() else { continue };
            d.clock = Some((bp, true));
        }
        for x in f.inputs().map(|i| i.var).filter(num) {
            lhs.push(b.var(&format!("bp{}", name(x)), Type::condition()));
            lhs.push(b.var(&format!("d{}", name(x)), ty(x)));
        }
    }
    let instance = format!("{prefix}{}_0", f.name).into();
    b.eq(&lhs, Rhs::Call { callee, args, every: None, instance, statics: Vec::new() });
    b.0.outputs = lhs;
    module.root = module.nodes.push(b.0);
    differentiate(module).map_err(|e| e.to_string())
}

/// The flat form with random initial values drawn.
pub(crate) fn flat(module: &Differentiated) -> Result<Drawn, String> {
    let flat = pass::inline(module).map_err(|e| e.to_string())?;
    Ok(pass::draw(pass::lower(flat, pass::Keep::All), 1).expect("memory for the draws"))
}

/// The parameters of a program that trains none, by key, with their equations and types.
fn parameters(flat: &Flat) -> IndexMap<String, (rml_ir::normal::Eq, Type)> {
    let of = |(key, state): (&std::sync::Arc<str>, &flat::State)| {
        let lhs = flat.equations[state.equation].lhs;
        (key.to_string(), (state.equation, flat.vars[lhs].ty.clone()))
    };
    flat.states.iter().filter(|(_, state)| state.parameter).map(of).collect()
}

/// `flat` with one element of a parameter moved.
fn moved_parameter(flat: &Drawn, eq: rml_ir::normal::Eq, ty: &Type, k: usize, h: f64) -> Drawn {
    let mut flat = Flat::clone(flat);
    let lhs = flat.equations[eq].lhs;
    let span = flat.equations[eq].span;
    let mut fresh =
        || flat.vars.push(flat::VarData { name: None, ty: ty.clone(), span, asserts: None, cases: None });
    let (raw, by) = (fresh(), fresh());
    let mut data = vec![0.0; ty.shape.len()];
    data[k] = h;
    let value = Value::new(ty.shape.clone(), Data::F64(data));
    let constant = flat.consts.push(value.into());
    flat.equations[eq].lhs = raw;
    flat.equations.push(flat::Equation { lhs: by, rhs: flat::Rhs::Const(constant), span });
    let sum = flat::Rhs::Apply { op: Op::Binary(Binary::Add), args: vec![raw, by] };
    flat.equations.push(flat::Equation { lhs, rhs: sum, span });
    Drawn::new(flat).expect("it is as well formed as before")
}

/// Checks a case; the error describes the differences.
pub(crate) fn check(case: &Case<'_>) -> Result<(), String> {
    let &Case { text, node, cycles, seed } = case;
    let module = normal_with(text, Root::Diff(node.into()), RECORDER)?;
    let (forward, adjoint) = (flat(&wrapped(&module, false)?)?, wrapped(&module, true)?);
    let mut r = Lcg(seed);
    let rows = inputs(&adjoint, cycles, &mut r);
    let adjoint = flat(&adjoint)?;
    let table = run(adjoint.clone(), &rows, cycles);
    let name = |v: flat::Var| forward.vars[v].name.as_deref().expect("interfaces are named");
    let seeds: InputRows = (forward.outputs.iter().filter(|o| forward.vars[**o].ty.is_num()))
        .map(|&o| (name(o).to_owned(), rows[&format!("d{}", name(o))].clone()))
        .collect();
    let given: InputRows =
        forward.inputs.iter().map(|i| (name(i.var).to_owned(), rows[name(i.var)].clone())).collect();
    let plain = run(forward.clone(), &given, cycles);
    for o in forward.outputs.iter().map(|&o| name(o)) {
        if !table[o].iter().zip(&plain[o]).all(|(a, b)| a.same(b)) {
            return Err(format!("{node}: {o} is {:?}, not {:?}", table[o], plain[o]));
        }
    }
    for x in forward.inputs.iter().map(|i| i.var).filter(|&x| forward.vars[x].ty.is_num()) {
        check_input(case, &forward, (&given, &seeds), (name(x), &forward.vars[x].ty), &table)?;
    }
    for (key, (eq, ty)) in parameters(&forward) {
        let found = recorded(&adjoint, &table, &key, &ty)?;
        for (k, &found) in found.iter().enumerate() {
            let at = |h: f64| loss(&moved_parameter(&forward, eq, &ty, k, h), &given, &seeds, cycles);
            differences(found, at, &format!("{node}: d{key}[{k}]"))?;
        }
    }
    Ok(())
}

fn check_input(
    case: &Case<'_>,
    forward: &Drawn,
    (given, seeds): (&InputRows, &InputRows),
    (x, ty): (&str, &Type),
    table: &IndexMap<String, Vec<Status>>,
) -> Result<(), String> {
    let &Case { node, cycles, .. } = case;
    let d = &table[&format!("d{x}")];
    for n in 0..cycles {
        if !d[n].is_determined() {
            return Err(format!("{node}: d{x} at {n} is {:?}", d[n]));
        }
        let on = table[&format!("bp{x}")][n].value().and_then(Value::as_bool);
        if d[n].is_present() != (on == Some(true)) {
            return Err(format!("{node}: bp{x} at {n} is {on:?}, d{x} {:?}", d[n]));
        }
        if given[x][n].is_none() {
            continue;
        }
        let found = match &d[n] {
            Status::Value(v) => numbers(v),
            _ => vec![0.0; ty.shape.len()],
        };
        for (k, &found) in found.iter().enumerate() {
            let moved = |h: f64| {
                let mut rows = given.clone();
                let cell = rows[x][n].as_mut().expect("present");
                let mut data = numbers(cell);
                data[k] += h;
                *cell = Value::new(cell.shape(), Data::F64(data));
                loss(forward, &rows, seeds, cycles)
            };
            differences(found, moved, &format!("{node}: d{x}[{k}] at {n}"))?;
        }
    }
    Ok(())
}

fn differences(found: f64, at: impl Fn(f64) -> f64, what: &str) -> Result<(), String> {
    let h = 1e-6;
    let expected = (at(h) - at(-h)) / (2.0 * h);
    let error = (found - expected).abs() / (1.0 + expected.abs());
    if error < 1e-6 { Ok(()) } else { Err(format!("{what} is {found}, by differences {expected}")) }
}

/// The sum that the recorder of a parameter computed.
fn recorded(
    adjoint: &Drawn,
    table: &IndexMap<String, Vec<Status>>,
    key: &str,
    ty: &Type,
) -> Result<Vec<f64>, String> {
    let Some(state) = adjoint.states.get(key) else {
        return Err(format!("no parameter {key} in {:?}", adjoint.states.keys().collect::<Vec<_>>()));
    };
    if matches!(adjoint.equations[state.equation].rhs, flat::Rhs::Param { .. }) {
        return Ok(vec![0.0; ty.shape.len()]);
    }
    let held = adjoint.equations[state.equation].lhs;
    let path = adjoint.vars[held].name.as_deref().unwrap_or_default();
    let total = path.strip_suffix(".o").map(|path| format!("{path}.total")).unwrap_or_default();
    let row = table.get(&total).ok_or_else(|| format!("no {total} beside {path}"))?;
    let last = row.iter().rev().find_map(|s| s.value());
    Ok(last.map_or_else(|| vec![0.0; ty.shape.len()], numbers))
}
