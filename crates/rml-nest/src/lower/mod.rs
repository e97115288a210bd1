//! Translates a plan to nests: one stage for each part, or several copies for a concatenation. Nothing is fused.

use std::collections::BTreeSet;
use std::sync::Arc;

use rml_base::{FileId, IndexVec, Span};
use rml_ir::check::checked;
use rml_ir::{Precision, Type, Value};
use rml_plan::{Atom, Case, Const, Part, Plan, Region, Rule, Tape, TapeData};

use crate::{
    Access, Ends, Guard, Home, NestNode, NestProgram, Order, Output, Positions, Slot, SlotData, Test, Tick,
    Variant, Write,
};

mod folds;
mod products;
mod stages;
mod sums;
mod uses;
mod view;

use stages::Target;
use uses::{Use, is_written_in_turn};
use view::{View, joined};

/// The nests of a plan.
///
/// Requires: [`rml_plan::verify`]. Ensures: the result verifies, and has the outputs, registers and failures of the
/// plan, bit by bit, at the same ticks.
pub fn lower(plan: &Plan) -> NestProgram {
    let mut lowering = Lowering::new(plan);
    for (i, region) in plan.regions.iter().enumerate() {
        lowering.region(region, i == 0);
    }
    lowering.program.commits = plan.commits.iter().map(|write| lowering.write(write)).collect();
    lowering.program.outputs = plan.outputs.iter().map(|output| lowering.output(output)).collect();
    if let rml_plan::Ends::Given(ends) = &plan.ends {
        let cond = |input: u32| Access::scalar(lowering.inputs[input as usize], Tick::Now);
        let ends = ends.iter().map(|(input, value)| Guard { cond: cond(*input), value: *value });
        lowering.program.ends = Ends::Given(ends.collect());
    }
    let program = lowering.program;
    checked("nests", || crate::verify(&program));
    program
}

/// Where the elements of a tape are.
#[derive(Clone)]
enum Place {
    /// In a slot of its own.
    Own(Slot),
    /// In other slots, through a view: no stage fills it.
    Seen(View),
}

struct Lowering<'a> {
    plan: &'a Plan,
    uses: IndexVec<Tape, Use>,
    program: NestProgram,
    inputs: Vec<Slot>,
    registers: Vec<Slot>,
    consts: IndexVec<Const, Option<Slot>>,
    /// Constants that the plan does not have.
    added: Vec<Slot>,
    places: IndexVec<Tape, Option<Place>>,
    names: BTreeSet<Arc<str>>,
    /// The node under construction.
    node: NestNode,
}

impl<'a> Lowering<'a> {
    fn new(plan: &'a Plan) -> Self {
        let program = NestProgram {
            name: Arc::clone(&plan.name),
            precision: plan.precision,
            ends: Ends::Nothing,
            waits: plan.waits,
            ahead: plan.ahead(),
            slots: IndexVec::new(),
            nodes: Vec::new(),
            commits: Vec::new(),
            outputs: Vec::new(),
        };
        let mut lowering = Lowering {
            plan,
            uses: uses::uses(plan),
            program,
            inputs: Vec::new(),
            registers: Vec::new(),
            consts: IndexVec::filled(None, plan.consts.len()),
            added: Vec::new(),
            places: IndexVec::filled(None, plan.tapes.len()),
            names: BTreeSet::new(),
            node: node(Order::Over),
        };
        for (i, (name, ty)) in plan.inputs.iter().enumerate() {
            let slot = lowering.slot((Some(name), "in", i), ty, Home::Input, None);
            lowering.inputs.push(slot);
        }
        for (id, register) in plan.registers.iter_enumerated() {
            let home = Home::Register { kind: register.kind.clone(), known: register.known };
            let slot = lowering.slot((None, "r", id.0 as usize), &register.ty, home, None);
            lowering.registers.push(slot);
        }
        lowering
    }

    /// A new slot: its name is that of the source if no other slot has it, else a letter and a number.
    fn slot(
        &mut self,
        (source, letter, number): (Option<&Arc<str>>, &str, usize),
        ty: &Type,
        home: Home,
        span: Option<Span>,
    ) -> Slot {
        let given = source.filter(|name| crate::print::is_name(name) && !self.names.contains(*name)).cloned();
        let free = |n: &usize| !self.names.contains(&*format!("{letter}{n}"));
        let name = given.unwrap_or_else(|| {
            let number = (number..).find(free).unwrap_or(number);
            format!("{letter}{number}").into()
        });
        self.names.insert(Arc::clone(&name));
        let span = span.unwrap_or_else(|| Span::new(FileId(0), 0, 0));
        self.program.slots.push(SlotData { name, ty: ty.clone(), home, span, asserts: None })
    }

    /// The slot of a tape that has one.
    fn own(&mut self, tape: Tape) -> Slot {
        if let Some(Place::Own(slot)) = self.places[tape] {
            return slot;
        }
        let data = &self.plan.tapes[tape];
        let home = Home::Tick { ahead: data.ahead };
        let slot = self.slot((data.name.as_ref(), "t", tape.0 as usize), &data.ty, home, Some(data.span));
        self.program.slots[slot].asserts.clone_from(&data.asserts);
        self.places[tape] = Some(Place::Own(slot));
        slot
    }

    /// A slot for an intermediate value of a tape.
    fn step(&mut self, of: &TapeData, ty: &Type) -> Slot {
        let number = self.program.slots.len();
        self.slot((None, "u", number), ty, Home::Tick { ahead: of.ahead }, Some(of.span))
    }

    /// A constant, which is added if the plan does not have it.
    fn constant(&mut self, value: Value) -> Slot {
        let bits = |value: &Value| (value.ty(), rml_ir::text::ValueText(value).to_string());
        let is = |slot: &&Slot| matches!(&self.program.slots[**slot].home, Home::Const(k) if bits(k) == bits(&value));
        if let Some(known) = self.added.iter().find(is) {
            return *known;
        }
        let number = self.plan.consts.len() + self.added.len();
        let slot = self.slot((None, "k", number), &value.ty(), Home::Const(value), None);
        self.added.push(slot);
        slot
    }

    /// A number as a constant of a type without dimensions.
    fn scalar(&mut self, ty: &Type, x: f64) -> View {
        let ty = Type::scalar(ty.dtype);
        let slot = self.constant(Value::filled(&ty, x, self.plan.precision));
        whole(slot, Tick::Now, &ty)
    }

    /// An operand, as seen from those positions.
    fn view(&mut self, atom: Atom, at: Positions) -> View {
        match atom {
            Atom::Const(k) => {
                let value = &self.plan.consts[k];
                let slot = self.consts[k].unwrap_or_else(|| {
                    self.slot((None, "k", k.0 as usize), &value.ty(), Home::Const(value.clone()), None)
                });
                self.consts[k] = Some(slot);
                whole(slot, Tick::Now, &value.ty()).at(at)
            }
            Atom::Tape(tape, tick) => match self.places[tape].clone() {
                Some(Place::Seen(mut view)) if tick != Tick::Now => {
                    for variant in &mut view.source {
                        variant.at = at;
                        let access = &mut variant.access;
                        let moves = !matches!(
                            self.program.slots[access.slot].home,
                            Home::Const(_) | Home::Register { .. }
                        );
                        if moves && access.tick == Tick::Now {
                            access.tick = tick;
                        }
                    }
                    view
                }
                Some(Place::Seen(view)) => view.at(at),
                _ => {
                    let slot = self.own(tape);
                    whole(slot, tick, &self.plan.tapes[tape].ty).at(at)
                }
            },
        }
    }

    /// A condition.
    fn condition(&mut self, atom: Atom) -> Access {
        let view = self.view(atom, Positions::ALL);
        view.source.into_iter().next().expect("a condition is read plainly").access
    }

    fn guards(&mut self, guards: &[rml_plan::Guard]) -> Vec<Guard> {
        guards.iter().map(|guard| Guard { cond: self.condition(guard.cond), value: guard.value }).collect()
    }

    fn write(&mut self, write: &rml_plan::Write) -> Write {
        Write {
            register: self.registers[write.register.0 as usize],
            at: write.at,
            when: self.guards(&write.when),
            unless: write.unless.iter().map(|end| self.condition(*end)).collect(),
            value: self.view(write.value, write.at).source,
        }
    }

    fn output(&mut self, output: &rml_plan::Output) -> Output {
        let cases = output.cases.iter().map(|(at, when, atom)| {
            let when = self.guards(when);
            (*at, when, self.view(*atom, *at).source)
        });
        Output { name: Arc::clone(&output.name), ty: output.ty.clone(), cases: cases.collect() }
    }

    fn region(&mut self, region: &Region, is_first: bool) {
        let Region::Loop { backward, by, parts, writes } = region else {
            region.parts().iter().for_each(|part| self.part(part));
            return self.close();
        };
        self.node.order = if *backward { Order::Backward } else { Order::Forward };
        self.node.by = by.iter().map(|tape| self.condition(Atom::Tape(*tape, Tick::Now))).collect();
        for (i, part) in parts.iter().enumerate() {
            self.part(part);
            if let rml_plan::Ends::Found { conds, head } = &self.plan.ends
                && is_first
                && *head == i + 1
            {
                let conds = self.guards(conds);
                self.program.ends = Ends::Found { conds, head: self.node.stages.len() };
            }
        }
        self.node.writes = writes.iter().map(|write| self.write(write)).collect();
        self.close();
    }

    /// Ends the node under construction, and begins one over all ticks.
    fn close(&mut self) {
        let done = std::mem::replace(&mut self.node, node(Order::Over));
        let finds = self.program.nodes.is_empty() && matches!(self.program.ends, Ends::Found { .. });
        if finds || !done.stages.is_empty() || !done.writes.is_empty() {
            self.program.nodes.push(done);
        }
    }

    fn part(&mut self, part: &Part) {
        let data = &self.plan.tapes[part.tape];
        let cases: Vec<Case> = data
            .cases
            .iter()
            .map(|case| Case { at: case.at.and(part.at), ..case.clone() })
            .filter(|case| !case.at.is_empty())
            .collect();
        let views: Vec<Option<View>> = cases.iter().map(|case| self.seen(case, data)).collect();
        if let Some(all) = views.iter().cloned().collect::<Option<Vec<View>>>()
            && self.may_be_seen(part.tape, &cases, &all)
        {
            let dims = data.ty.shape.dims().to_vec();
            let source = joined(all.into_iter().flat_map(|view| view.source));
            self.places[part.tape] = Some(Place::Seen(View { dims, source }));
            return;
        }
        let slot = self.own(part.tape);
        let mut done = vec![false; cases.len()];
        for (i, case) in cases.iter().enumerate() {
            if done[i] {
                continue;
            }
            // Cases that differ only in where they read become one stage.
            let alike: Vec<usize> = (i..cases.len())
                .filter(|j| !done[*j] && self.are_alike((case, &views[i]), (&cases[*j], &views[*j])))
                .collect();
            alike.iter().for_each(|j| done[*j] = true);
            let at = alike.iter().fold(Positions::NONE, |all, j| all.or(cases[*j].at));
            let when = self.guards(&case.when);
            let target = Target { slot, at, when, of: data };
            if views[i].is_some() {
                let dims = data.ty.shape.dims().to_vec();
                let same = alike.iter().filter_map(|j| views[*j].clone());
                let source = joined(same.flat_map(|view| view.source));
                self.copy(&View { dims, source }, &target);
                continue;
            }
            let same: Vec<&Case> = alike.iter().map(|j| &cases[*j]).collect();
            self.compute(&same, &target);
        }
    }

    /// Whether two cases can become one stage.
    fn are_alike(&self, (a, seen): (&Case, &Option<View>), (b, other): (&Case, &Option<View>)) -> bool {
        a.when == b.when
            && match (&a.rule, &b.rule) {
                _ if seen.is_some() || other.is_some() => seen.is_some() && other.is_some(),
                (Rule::Apply { op, args }, Rule::Apply { op: with, args: others }) => {
                    let types = |args: &[Atom]| args.iter().map(|a| self.plan.ty(*a)).collect::<Vec<_>>();
                    op == with && types(args) == types(others)
                }
                (Rule::Product { args, .. }, Rule::Product { args: others, .. }) => {
                    args.map(|a| self.plan.ty(a)) == others.map(|a| self.plan.ty(a))
                }
                _ => a == b,
            }
    }

    /// The elements of a case as a view; none if an operator has to compute them.
    fn seen(&mut self, case: &Case, data: &TapeData) -> Option<View> {
        let at = case.at;
        Some(match &case.rule {
            Rule::Apply { op, args } if args.len() == 1 => return self.view(args[0], at).through(op),
            Rule::Apply { .. } | Rule::Product { .. } => return None,
            Rule::Copy(atom) => self.view(*atom, at),
            Rule::Select { cond, then, other } => {
                let test = Test::Is(Guard { cond: self.condition(*cond), value: true });
                self.choice(vec![test], *then, *other, at)
            }
            Rule::Restart { ends, init, next } => {
                let test = |end: &Atom| Test::Is(Guard { cond: self.condition(*end), value: true });
                let tests = ends.iter().map(test).collect();
                self.choice(tests, *init, *next, at)
            }
            Rule::Sum { init, backward, terms } => self.sum(data, *init, *backward, terms).at(at),
            Rule::Input(i) => whole(self.inputs[*i as usize], Tick::Now, &data.ty).at(at),
            Rule::Read { register, init } => {
                let slot = self.registers[register.0 as usize];
                let mut view = whole(slot, Tick::Now, &data.ty).at(at);
                if let Some(init) = init {
                    view.source.iter_mut().for_each(|v| v.any = vec![Test::IsSet(slot)]);
                    view.source.extend(self.view(*init, at).source);
                }
                view
            }
        })
    }

    /// Operand `then` where one of the tests holds, else `other`.
    fn choice(&mut self, tests: Vec<Test>, then: Atom, other: Atom, at: Positions) -> View {
        let mut rest = self.view(other, at);
        if tests.is_empty() {
            return rest;
        }
        let mut view = self.view(then, at);
        view.source.iter_mut().for_each(|variant| variant.any.clone_from(&tests));
        view.source.append(&mut rest.source);
        view
    }

    /// Whether readers of a tape may read the views of its cases instead.
    fn may_be_seen(&self, tape: Tape, cases: &[Case], views: &[View]) -> bool {
        let Use { plainly, chosen, early } = self.uses[tape];
        let accesses = || views.iter().flat_map(|view| crate::accesses(&view.source));
        let is_register = |slot: Slot| matches!(self.program.slots[slot].home, Home::Register { .. });
        // A view of another tick cannot itself be read at another tick.
        let is_near = |access: &Access| access.tick != Tick::Before && access.tick != Tick::After;
        let is_plain = views.len() == 1 && views[0].is_plain();
        let in_turn = |slot: Slot| {
            let at = self.registers.iter().position(|register| *register == slot);
            at.is_some_and(|at| is_written_in_turn(self.plan, rml_plan::Reg(at as u32)))
        };
        !early
            && (!plainly || is_plain && accesses().all(|(_, access)| is_near(&access)))
            && (!chosen || views.iter().all(View::has_no_tests))
            && !accesses().any(|(_, access)| in_turn(access.slot))
            // In a program that waits, a tape may be filled later than its operands are available; so only a view of
            // the same element at the same tick is allowed.
            && (!self.plan.waits
                || is_plain
                    && cases.iter().all(|case| case.when.is_empty() && case.at == Positions::ALL)
                    && accesses().all(|(_, access)| access.tick == Tick::Now && !is_register(access.slot)))
    }
}

/// An empty node.
fn node(order: Order) -> NestNode {
    NestNode { order, by: Vec::new(), stages: Vec::new(), writes: Vec::new() }
}

/// A slot as a tensor of its shape.
fn whole(slot: Slot, tick: Tick, ty: &Type) -> View {
    let access = Access::whole(slot, tick, &ty.shape);
    let variant = Variant { at: Positions::ALL, any: Vec::new(), access };
    View { dims: ty.shape.dims().to_vec(), source: vec![variant] }
}

/// A count as a number.
#[allow(clippy::cast_precision_loss, reason = "rounding to the nearest number is meant")]
fn count(n: usize, precision: Precision) -> Value {
    Value::num(n as f64, precision)
}
