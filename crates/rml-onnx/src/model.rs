//! Converts a model to a `ModelProto`.

use rml_backend::routine::{Body, Loop, RoutineInput, SUSPECT, SUSPICION, Slot, Step, WindowModel};
use rml_backend::{DefKind, Function, Val};
use rml_base::IndexVec;

use crate::message::Message;
use crate::net::{Attr, Elem, Net, V, of, raw, signed, tensor};
use crate::{IR, OPSET, Refused, integer, operators};

/// The most bytes of a message.
const MOST: usize = i32::MAX as usize;

pub(crate) fn write(model: &WindowModel, note: &str) -> Result<Vec<u8>, Refused> {
    let routine = &model.routine;
    let mut w = Writer::default();
    let (mut inputs, mut starts) = (Vec::new(), Vec::new());
    for (given, ty) in model.inputs.iter().zip(routine.input_types()) {
        let (elem, dims) = of(ty, routine.precision);
        let v = match given {
            RoutineInput::Fixed(value) => w.net.value(value),
            RoutineInput::Port(_) if dims.contains(&0) => w.net.splat(0.0, elem, dims),
            RoutineInput::Port(port) => {
                let v = V { name: port.name.as_str().into(), elem, dims: dims.to_vec() };
                inputs.push(v.info(&port.told()));
                starts.extend(port.start.as_ref().map(|start| tensor(&v, &raw(start).1)));
                v
            }
        };
        w.slots.push(v);
    }
    routine.steps.iter().try_for_each(|step| w.step(step))?;
    let outputs = w.outputs(model);
    let (nodes, constants) = w.net.finish();
    let graph = Message::default()
        .messages(1, &nodes)
        .text(2, &routine.name)
        .messages(5, starts.iter().chain(&constants));
    let graph = graph.messages(11, &inputs).messages(12, &outputs);
    let message =
        Message::default().int(1, IR).text(2, "rml").text(3, env!("CARGO_PKG_VERSION")).text(6, note);
    let message = message.message(7, &graph).message(8, &Message::default().text(1, "").int(2, OPSET));
    if message.len() > MOST { Err(Refused::Large(message.len() as u64)) } else { Ok(message.into_bytes()) }
}

#[derive(Default)]
struct Writer {
    net: Net,
    slots: IndexVec<Slot, V>,
    tests: Vec<V>,
}

impl Writer {
    fn step(&mut self, step: &Step) -> Result<(), Refused> {
        match step {
            Step::Call { function, args, .. } => {
                let args: Vec<V> = args.iter().map(|s| self.slots[*s].clone()).collect();
                let (results, tests) = call(&mut self.net, function, &args)?;
                self.tests.extend(tests);
                results.into_iter().for_each(|r| {
                    self.slots.push(r);
                });
            }
            Step::Loop(l) => self.turn(l)?,
        }
        Ok(())
    }

    /// The results under their names.
    fn outputs(&mut self, model: &WindowModel) -> Vec<Message> {
        let mut outputs = Vec::new();
        let mut name = |net: &mut Net, x: &V, name: &str, doc: &str| {
            let v = V { name: name.into(), ..x.clone() };
            net.push("Identity", &[Some(x)], &[], std::slice::from_ref(&v));
            outputs.push(v.info(doc));
        };
        for (port, slot) in model.outputs.iter().zip(&model.routine.results) {
            if !self.slots[*slot].is_empty() {
                name(&mut self.net, &self.slots[*slot], &port.name, &port.told());
            }
        }
        if model.routine.may_stop() {
            let tests = std::mem::take(&mut self.tests).into_iter();
            let test = tests.reduce(|a, b| self.net.zip("Or", &a, &b));
            let test = test.unwrap_or_else(|| self.net.splat(0.0, Elem::Bool, &[]));
            name(&mut self.net, &test, SUSPECT, SUSPICION);
        }
        outputs
    }

    /// A loop. The inputs of an iteration are its number, the carried values, and whether an error is suspected; kept
    /// values are stacked in rows.
    fn turn(&mut self, l: &Loop) -> Result<(), Refused> {
        let tested = l.body.may_stop();
        let mut starts: Vec<V> = l.carried.iter().map(|s| self.slots[*s].clone()).collect();
        if tested {
            starts.push(self.net.splat(0.0, Elem::Bool, &[]));
        }
        let mut params = vec![self.net.fresh(Elem::I64, &[]), self.net.fresh(Elem::Bool, &[])];
        params.extend(starts.iter().map(|s| self.net.fresh(s.elem, &s.dims)).collect::<Vec<V>>());
        let slots = &self.slots;
        let (nodes, results) = self.net.inside(|net| pass(net, l, slots, &params, tested));
        let results = results?;
        let info = |all: &[V]| all.iter().map(|v| v.info("")).collect::<Vec<Message>>();
        let body = Message::default().messages(1, &nodes).text(2, "pass");
        let body = body.messages(11, &info(&params)).messages(12, &info(&results));
        let count = self.net.int(signed(l.count));
        let args: Vec<Option<&V>> = [Some(&count), None].into_iter().chain(starts.iter().map(Some)).collect();
        let behind = |net: &mut Net, (i, v): (usize, &V)| {
            let rows = (i >= starts.len()).then_some(l.count);
            net.fresh(v.elem, &rows.into_iter().chain(v.dims.iter().copied()).collect::<Vec<usize>>())
        };
        let made: Vec<V> = results[1..].iter().enumerate().map(|r| behind(&mut self.net, r)).collect();
        self.net.push("Loop", &args, &[Attr::Graph("body", body)], &made);
        let (carried, kept) = made.split_at(starts.len());
        for value in &carried[..l.carried.len()] {
            self.slots.push(value.clone());
        }
        self.tests.extend(carried[l.carried.len()..].iter().cloned());
        for rows in kept {
            let rows = if l.backward { operators::reverse(&mut self.net, rows, &[0]) } else { rows.clone() };
            self.slots.push(rows);
        }
        Ok(())
    }
}

/// One iteration of a loop: returns the condition to continue, the carried values, and the kept values.
fn pass(
    net: &mut Net,
    l: &Loop,
    slots: &IndexVec<Slot, V>,
    params: &[V],
    tested: bool,
) -> Result<Vec<V>, Refused> {
    let row = if l.backward {
        let last = net.int(signed(l.count - 1));
        net.zip("Sub", &last, &params[0])
    } else {
        params[0].clone()
    };
    let carried = l.carried.len();
    let mut args = params[2..2 + carried].to_vec();
    for (slot, offset) in &l.rows {
        let at = match offset {
            0 => row.clone(),
            _ => {
                let offset = net.int(signed(*offset));
                net.zip("Add", &row, &offset)
            }
        };
        let x = &slots[*slot];
        args.push(if x.is_empty() {
            net.splat(0.0, x.elem, &x.dims[1..])
        } else {
            net.node("Gather", &[x, &at], &[Attr::Int("axis", 0)], x.elem, &x.dims[1..])
        });
    }
    args.extend(l.whole.iter().map(|s| slots[*s].clone()));
    let (mut results, tests) = called(net, &l.body, args)?;
    if tested {
        let test = tests.into_iter().fold(params[2 + carried].clone(), |a, b| net.zip("Or", &a, &b));
        results.insert(carried, test);
    }
    let mut own: Vec<V> = Vec::new();
    for result in [&params[1]].into_iter().chain(&results) {
        let result = net.own(result, &own);
        own.push(result);
    }
    Ok(own)
}

/// Inlines the calls of a loop.
fn called(net: &mut Net, body: &Body, args: Vec<V>) -> Result<(Vec<V>, Vec<V>), Refused> {
    let routine = match body {
        Body::Function(function) => return call(net, function, &args),
        Body::Routine(routine) => routine,
    };
    let slots = args.into_iter().collect();
    let mut w = Writer { net: std::mem::take(net), slots, tests: Vec::new() };
    let done = routine.steps.iter().try_for_each(|step| w.step(step));
    *net = w.net;
    done?;
    Ok((routine.results.iter().map(|slot| w.slots[*slot].clone()).collect(), w.tests))
}

/// Inlines a function: its results, and the tests of its operators.
fn call(net: &mut Net, function: &Function, args: &[V]) -> Result<(Vec<V>, Vec<V>), Refused> {
    let mut values: IndexVec<Val, V> = IndexVec::new();
    let mut tests = Vec::new();
    for def in function.values.iter() {
        let (elem, dims) = of(&def.ty, function.precision);
        let value = match &def.kind {
            DefKind::Input => args[values.len()].clone(),
            DefKind::Const(value) => net.value(value),
            DefKind::Apply { op, args } => {
                let args: Vec<&V> = args.iter().map(|a| &values[*a]).collect();
                tests.extend(integer::suspicion(net, op, &args, &def.ty));
                if dims.contains(&0) {
                    net.splat(0.0, elem, dims)
                } else {
                    operators::operator(net, op, &args, dims, Elem::num(function.precision)).ok_or(
                        Refused::Operator {
                            name: op.name(),
                            span: def.span,
                            single: matches!(op, rml_ir::op::Op::Unary(_)),
                        },
                    )?
                }
            }
        };
        values.push(value);
    }
    Ok((function.results.iter().map(|r| values[*r].clone()).collect(), tests))
}
