//! Models: one module with named arguments and results, and with the start values of states.

use std::fmt::Write as _;

use rml_backend::routine::{Port, RoutineInput, SUSPECT, SUSPICION, WindowModel};
use rml_ir::Precision;

use crate::routine::Writer;
use crate::text::{Elem, Ssa, Text, Ty, list};

/// The text of a module. Its function `main` takes the inputs and states, and returns the outputs and the next states;
/// `start` returns the states for the first call. Names are in the attributes that JAX uses, and in comments with types
/// under `note`.
pub fn export(model: &WindowModel, note: &str) -> String {
    let routine = &model.routine;
    let mut w = Writer::new(routine);
    let mut head = Vec::new();
    let mut said = String::new();
    for (given, ty) in model.inputs.iter().zip(routine.input_types()) {
        let ty = Ty::of(ty, routine.precision);
        let value = match given {
            RoutineInput::Fixed(value) => w.t.constant(value, routine.precision),
            RoutineInput::Port(_) if ty.shape.is_empty() => w.t.splat(0.0, &ty),
            RoutineInput::Port(port) => {
                let parameter = w.t.fresh(ty);
                head.push(format!("{parameter}: {} {{jax.arg_info = {:?}}}", parameter.ty, port.name));
                say(&mut said, "in ", &port.name, &parameter.ty, &port.told());
                parameter
            }
        };
        w.slots.push(value);
    }
    w.steps();
    let (mut results, mut names) = (Vec::new(), Vec::new());
    for (port, slot) in model.outputs.iter().zip(&routine.results) {
        let value = w.slots[*slot].clone();
        if !value.is_empty() {
            say(&mut said, "out", &port.name, &value.ty, &port.told());
            results.push(value);
            names.push(port.name.as_str());
        }
    }
    if routine.may_stop() {
        let test = w.suspect().unwrap_or_else(|| w.t.splat(0.0, &Ty::scalar(Elem::I1)));
        say(&mut said, "out", SUSPECT, &test.ty, SUSPICION);
        results.push(test);
        names.push(SUSPECT);
    }
    w.t.ret(&results.iter().collect::<Vec<_>>());
    let main = function("main", &head, &results, &names, w.t);
    let note: String = note.lines().fold(String::new(), |all, line| all + "// " + line + "\n");
    format!(
        "{note}//\n{said}module @{} {{\n{main}{}}}\n",
        symbol(&routine.name),
        start(model, routine.precision)
    )
}

/// The function `start`.
fn start(model: &WindowModel, precision: Precision) -> String {
    let mut t = Text::default();
    let (mut results, mut names) = (Vec::new(), Vec::new());
    for given in &model.inputs {
        if let RoutineInput::Port(Port { name, start: Some(value), .. }) = given
            && !value.shape().is_empty()
        {
            results.push(t.constant(value, precision));
            names.push(name.as_str());
        }
    }
    t.ret(&results.iter().collect::<Vec<_>>());
    function("start", &[], &results, &names, t)
}

fn function(name: &str, head: &[String], results: &[Ssa], names: &[&str], t: Text) -> String {
    let types = results.iter().zip(names).map(|(r, name)| format!("{} {{jax.result_info = {name:?}}}", r.ty));
    format!("func.func public @{name}({}) -> ({}) {{\n{}}}\n", list(head), list(types), t.finish())
}

fn say(said: &mut String, which: &str, name: &str, ty: &Ty, doc: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(said, "// {which} {name}: {ty} ({doc})");
}

/// A name in the syntax of MLIR.
fn symbol(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
