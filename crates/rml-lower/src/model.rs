//! From a window of a plan to a model.

use std::collections::BTreeSet;
use std::sync::Arc;

use rml_backend::Function;
use rml_backend::routine::{Port, PortRole, RoutineInput, SUSPECT, WindowModel};
use rml_base::EntityId;
use rml_ir::op::Op;
use rml_ir::{Type, Value};
use rml_plan::{Const, Lifetime, Plan, Reg};

use crate::batch::Val;
use crate::emit::routine;
use crate::graph::{Graph, Node};
use crate::lower::{Begin, Set, Source, State};
use crate::machine::starts;
use crate::window::{Cells, Window, window};

/// A window of that many ticks, at least one more than the plan looks [ahead](Plan::ahead). `state` gives the value
/// that a state starts with, if it is not that of the program.
pub fn model(plan: &Plan, ticks: usize, state: &dyn Fn(&str) -> Option<Value>) -> WindowModel {
    let begins = Begins::new(plan, state);
    let mut window = window(plan, ticks, &begins.kinds);
    window.sources.sort_by_key(|(source, _)| match source {
        Source::Column(i) | Source::Cell(i, _) => (0, *i),
        Source::Register(i) | Source::Told(i) => (1, *i),
        Source::Const(k) => (2, *k),
    });
    Build { plan, begins, window, names: BTreeSet::from([SUSPECT.to_owned()]) }.model(ticks)
}

/// The registers when the first window begins.
struct Begins {
    kinds: Vec<Begin>,
    values: Vec<Option<Value>>,
    /// The constant that a register is read as while it is not set. If there is one, nothing else tells whether it is
    /// set.
    unset: Vec<Option<Value>>,
}

impl Begins {
    fn new(plan: &Plan, state: &dyn Fn(&str) -> Option<Value>) -> Self {
        let unset = starts(plan);
        let mut values = unset.clone();
        for (value, register) in values.iter_mut().zip(plan.registers.iter()) {
            let given = if let Lifetime::State { key, .. } = &register.kind { state(key) } else { None };
            let known = register.known.map(Value::Bool);
            *value = known.or(given.map(|v| v.to_precision(plan.precision))).or(value.take());
        }
        let kind = |(unset, register): (&Option<Value>, &rml_plan::Register)| {
            if unset.is_some() || register.known.is_some() { Begin::Set } else { Begin::Told }
        };
        Self { kinds: unset.iter().zip(plan.registers.iter()).map(kind).collect(), values, unset }
    }
}

/// A result of the routine, and what it is.
type Wanted = (Node, Port);

struct Build<'a> {
    plan: &'a Plan,
    begins: Begins,
    window: Window,
    names: BTreeSet<String>,
}

impl Build<'_> {
    fn model(mut self, ticks: usize) -> WindowModel {
        let sources: Vec<Source> = self.window.sources.iter().map(|(source, _)| *source).collect();
        let states = sources.partition_point(|s| matches!(s, Source::Column(_) | Source::Cell(..)));
        let mut given: Vec<RoutineInput> = sources[..states].iter().map(|s| self.given(*s, ticks)).collect();
        let outputs: Vec<Wanted> = (0..self.plan.outputs.len()).flat_map(|i| self.output(i, ticks)).collect();
        given.extend(sources[states..].iter().map(|s| self.given(*s, ticks)));
        let mut states = self.states(&given);
        let inputs: Vec<Node> = self.window.sources.iter().map(|(_, node)| *node).collect();
        let failing = self.window.graph.failing();
        loop {
            let all = || outputs.iter().chain(states.iter().map(|(_, wanted)| wanted));
            let wanted: Vec<Node> = all().map(|(node, _)| *node).collect();
            let (routine, taken) = routine(&self.plan.name, &self.window.graph, &inputs, &wanted, &failing);
            // A state that nothing reads is none: what it becomes is left out, and with it perhaps the last use of
            // another one.
            if states.iter().all(|(at, _)| taken.contains(at)) {
                let outputs = all().map(|(_, port)| port.clone()).collect();
                return WindowModel {
                    routine,
                    inputs: taken.into_iter().map(|i| given[i].clone()).collect(),
                    outputs,
                };
            }
            states.retain(|(at, _)| taken.contains(at));
        }
    }

    /// A name like that one, which no other port has.
    fn fresh(&mut self, name: &str) -> String {
        let numbered = (2..).map(|n| format!("{name}_{n}"));
        let mut all = std::iter::once(name.to_owned()).chain(numbered);
        let name = all.find(|name| !self.names.contains(name)).unwrap_or_default();
        self.names.insert(name.clone());
        name
    }

    fn port(&mut self, name: &str, role: PortRole) -> Port {
        Port { name: self.fresh(name), role, start: None }
    }

    fn given(&mut self, source: Source, ticks: usize) -> RoutineInput {
        let name = |i: usize| Arc::clone(&self.plan.inputs[i].0);
        match source {
            Source::Const(k) => {
                RoutineInput::Fixed(self.plan.consts[Const::from_index(k)].to_precision(self.plan.precision))
            }
            Source::Column(i) => RoutineInput::Port(self.port(&name(i), PortRole::Cycles(0, ticks))),
            Source::Cell(i, t) => RoutineInput::Port(self.port(&name(i), PortRole::Cycle(t))),
            Source::Register(i) | Source::Told(i) => {
                let register = &self.plan.registers[Reg::from_index(i)];
                let same = self
                    .window
                    .sources
                    .iter()
                    .any(|(s, node)| *s == Source::Register(i) && self.stays(i, *node));
                let start = self.begins.values[i].clone();
                let fixed = register.known.is_some() || (same && self.begins.kinds[i] == Begin::Set);
                if let (true, Some(start)) = (fixed, &start) {
                    return RoutineInput::Fixed(start.clone());
                }
                let key = match &register.kind {
                    Lifetime::State { key, .. } => key.to_string(),
                    Lifetime::Local | Lifetime::Hidden => format!("kept_{i}"),
                };
                let (name, role, start) = match source {
                    Source::Told(_) => (key + ".set", PortRole::IsSet, Value::Bool(start.is_some())),
                    _ => (
                        key,
                        PortRole::State,
                        start.unwrap_or_else(|| Value::zeros(&register.ty, self.plan.precision)),
                    ),
                };
                RoutineInput::Port(Port { start: Some(start), ..self.port(&name, role) })
            }
        }
    }

    /// Whether a register has the same value after the window as before it.
    fn stays(&self, register: usize, node: Node) -> bool {
        self.window.registers[register] == State { value: Some(node), set: Set::Yes }
    }

    /// The next values of states, each with the source that it was.
    fn states(&mut self, given: &[RoutineInput]) -> Vec<(usize, Wanted)> {
        let mut states = Vec::new();
        for (at, given) in given.iter().enumerate() {
            let (RoutineInput::Port(port), (source, _)) = (given, self.window.sources[at]) else { continue };
            let node = match source {
                Source::Register(i) => self.next(i),
                Source::Told(i) => Some(match self.window.registers[i].set {
                    Set::No => self.window.graph.truth(false),
                    Set::Yes => self.window.graph.truth(true),
                    Set::Told(node) => node,
                }),
                Source::Const(_) | Source::Column(_) | Source::Cell(..) => continue,
            };
            let next = self.port(&format!("{}.next", port.name), port.role);
            states.extend(node.map(|node| (at, (node, next))));
        }
        states
    }

    /// The next value of a register. If the window leaves it unset, the constant that it is then read as.
    fn next(&mut self, register: usize) -> Option<Node> {
        let State { value, set } = self.window.registers[register];
        let (Some(value), Some(unset)) = (value, &self.begins.unset[register]) else { return value };
        let g = &mut self.window.graph;
        Some(match set {
            Set::Yes => value,
            Set::No => g.constant(unset),
            Set::Told(set) => {
                let unset = g.constant(unset);
                g.apply(Op::Where, &[set, value, unset], Function::nowhere())
            }
        })
    }

    /// An output, and whether it is present, unless it always is.
    fn output(&mut self, i: usize, ticks: usize) -> Vec<Wanted> {
        let (output, cells) = (&self.plan.outputs[i], self.window.outputs[i].clone());
        let done = ticks - self.plan.ahead() as usize;
        let (name, ty) = (Arc::clone(&output.name), output.ty.clone());
        let g = &mut self.window.graph;
        let (role, value, present) = match &cells[..] {
            [] => (PortRole::Cycle(0), g.zeros(&ty), Some(g.truth(false))),
            [one] if one.to == one.from + 1 => {
                let present = one.present.map(|p| element(g, p, &[]));
                (PortRole::Cycle(one.from), element(g, one.value, ty.shape.dims()), present)
            }
            _ => {
                let truth = g.truth(true);
                let present = |c: &Cells| Cells { value: c.present.unwrap_or(Val::same(truth)), ..*c };
                let always = cells.iter().all(|c| c.present.is_none());
                let whole = cells.iter().map(|c| c.to - c.from).sum::<usize>() == done;
                let presents: Vec<Cells> = cells.iter().map(present).collect();
                let present = (!always || !whole).then(|| rows(g, &presents, done, &Type::condition()));
                (PortRole::Cycles(0, done), rows(g, &cells, done, &ty), present)
            }
        };
        let port = self.port(&name, role);
        let flag =
            present.map(|present| (present, self.port(&format!("{}.present", port.name), PortRole::Present)));
        std::iter::once((value, port)).chain(flag).collect()
    }
}

/// A value at one tick.
fn element(g: &mut Graph, value: Val, dims: &[usize]) -> Node {
    if value.stacked { g.reshape(value.node, dims, Function::nowhere()) } else { value.node }
}

/// The rows of all ticks; zeros where there is nothing.
fn rows(g: &mut Graph, cells: &[Cells], ticks: usize, ty: &Type) -> Node {
    let mut parts = Vec::new();
    let mut to = 0;
    let end = [(ticks, ticks, None)];
    for (from, until, value) in cells.iter().map(|c| (c.from, c.to, Some(c.value))).chain(end) {
        if to < from {
            parts.push(g.zeros(&rml_backend::routine::stacked(ty, from - to)));
        }
        match value {
            Some(value) if value.stacked => parts.push(value.node),
            Some(value) => parts.push(g.repeat(value.node, until - from)),
            None => {}
        }
        to = until;
    }
    g.apply(Op::Concat { axis: 0 }, &parts, Function::nowhere())
}
