//! Loops: what runs tick by tick.

use std::collections::BTreeMap;

use rml_backend::Function;
use rml_ir::op::Op;
use rml_ir::{Position, Type};
use rml_plan::{Atom, Part, Tape, Tick, Write};

use crate::batch::Val;
use crate::body::Body;
use crate::graph::Node;
use crate::lower::{At, Lower, Set, State};
use crate::tapes::Piece;

/// What a loop does at a position: the case of each part, and which writes there are.
type Doing = (Vec<Option<usize>>, Vec<bool>);

impl Lower<'_> {
    /// Fills tapes and writes registers tick by tick: in one loop where the ticks do the same, and one by one at the edges.
    pub(crate) fn turn(&mut self, backward: bool, parts: &[Part], writes: &[Write]) {
        let doing = |p: Position| -> Doing {
            let cases = parts.iter().map(|part| self.case_at(part, p)).collect();
            (cases, writes.iter().map(|w| w.at.contains(p)).collect())
        };
        let apart = self.names_edges(parts);
        let mut ranges: Vec<(usize, usize, Doing)> = Vec::new();
        for (p, from, to) in self.ranges() {
            let doing = doing(p);
            match ranges.last_mut() {
                Some((_, end, last)) if !apart && *last == doing => *end = to,
                _ => ranges.push((from, to, doing)),
            }
        }
        if backward {
            ranges.reverse();
        }
        for (from, to, (cases, written)) in ranges {
            let cases: Vec<(Tape, usize)> =
                parts.iter().zip(cases).filter_map(|(part, case)| Some((part.tape, case?))).collect();
            let writes: Vec<&Write> =
                writes.iter().zip(written).filter_map(|(w, is)| is.then_some(w)).collect();
            if to == from + 1 {
                cases.iter().for_each(|(tape, case)| self.fill(*tape, *case, from, to));
                self.write(&writes, At::Ticks(from, to));
            } else if !cases.is_empty() || !writes.is_empty() {
                self.body(backward, from, to, &cases, &writes);
            }
        }
    }

    /// Whether a part reads what the loop itself fills at the first or the last tick: these are then no part of the loop.
    fn names_edges(&self, parts: &[Part]) -> bool {
        let own = |atom: &Atom| matches!(atom, Atom::Tape(tape, Tick::First | Tick::Last) if parts.iter().any(|p| p.tape == *tape));
        let cases = parts.iter().flat_map(|part| &self.plan.tapes[part.tape].cases);
        let mut atoms = cases.flat_map(|case| {
            case.rule.operands().into_iter().chain(case.when.iter().map(|guard| guard.cond))
        });
        atoms.any(|atom| own(&atom))
    }

    fn body(&mut self, backward: bool, from: usize, to: usize, cases: &[(Tape, usize)], writes: &[&Write]) {
        let now = cases.iter().map(|(tape, _)| (*tape, None)).collect();
        let mut body = Body { from, to, backward, now, past: BTreeMap::new() };
        let starts = self.starts(&body, cases, writes);
        let before: Vec<State> = self.registers.clone();
        self.g.open(to - from, backward);
        for (tape, start) in starts {
            body.past.insert(tape, self.g.carry(start));
        }
        let carried = self.carry_registers(writes, &before);
        for (tape, case) in cases {
            let data = &self.plan.tapes[*tape];
            let value = self.value(&data.cases[*case], &data.ty, data.span, At::Body(&body));
            body.now.insert(*tape, value.map(|v| v.node));
        }
        self.write(writes, At::Body(&body));
        for (tape, past) in &body.past {
            if let Some(Some(next)) = body.now.get(tape) {
                self.g.set_next(*past, *next);
            }
        }
        for (register, value, set) in &carried {
            let state = self.registers[*register];
            if let Some(next) = state.value {
                self.g.set_next(*value, next);
            }
            if let Some(set) = set {
                let next = self.told(state.set);
                self.g.set_next(*set, next);
            }
        }
        self.g.close();
        self.behind(&body, &carried, writes);
    }

    /// What the tapes that the body reads one tick behind start with.
    fn starts(&mut self, body: &Body, cases: &[(Tape, usize)], writes: &[&Write]) -> Vec<(Tape, Node)> {
        let behind = if body.backward { Tick::After } else { Tick::Before };
        let edge = if body.backward { Some(body.to) } else { body.from.checked_sub(1) };
        let mut starts: Vec<(Tape, Node)> = Vec::new();
        let rules = cases.iter().map(|(tape, case)| &self.plan.tapes[*tape].cases[*case]);
        let mut atoms: Vec<Atom> = Vec::new();
        for case in rules {
            atoms.extend(case.rule.operands());
            atoms.extend(case.when.iter().map(|guard| guard.cond));
        }
        for write in writes {
            atoms.push(write.value);
            atoms.extend(write.unless.iter().copied().chain(write.when.iter().map(|guard| guard.cond)));
        }
        for atom in atoms {
            let Atom::Tape(tape, tick) = atom else { continue };
            if tick != behind || !body.now.contains_key(&tape) || starts.iter().any(|(t, _)| *t == tape) {
                continue;
            }
            let there = edge.and_then(|t| self.tapes.element(&mut self.g, tape, t));
            let start = there.map_or_else(|| self.g.zeros(&self.plan.tapes[tape].ty), |v| v.node);
            starts.push((tape, start));
        }
        starts
    }

    /// Carries the registers that the body writes: a value, and whether it is set if that is told by data.
    fn carry_registers(&mut self, writes: &[&Write], before: &[State]) -> Vec<(usize, Node, Option<Node>)> {
        let mut carried = Vec::new();
        for register in registers(writes) {
            let state = before[register];
            let start = match state.value {
                Some(value) => value,
                None => self.g.zeros(&self.plan.registers.as_slice()[register].ty),
            };
            let stays = writes.iter().all(|w| w.register.0 as usize != register || w.unless.is_empty());
            let set = if state.set == Set::Yes && stays {
                None
            } else {
                let start = self.told(state.set);
                Some(self.g.carry(start))
            };
            let value = self.g.carry(start);
            let told = set.map_or(Set::Yes, Set::Told);
            self.registers[register] = State { value: Some(value), set: told };
            carried.push((register, value, set));
        }
        carried
    }

    fn told(&mut self, set: Set) -> Node {
        match set {
            Set::No => self.g.truth(false),
            Set::Yes => self.g.truth(true),
            Set::Told(node) => node,
        }
    }

    /// Tapes and registers behind a loop.
    fn behind(&mut self, body: &Body, carried: &[(usize, Node, Option<Node>)], writes: &[&Write]) {
        for (tape, node) in &body.now {
            let Some(node) = *node else { continue };
            let last = if body.backward { body.from } else { body.to - 1 };
            let edge = body.past.get(tape).map(|past| (last, self.g.last_of(*past)));
            let value = if self.g.is_inside(node) { Val::stack(self.g.keep(node)) } else { Val::same(node) };
            self.tapes.put(*tape, Piece { from: body.from, to: body.to, value, edge });
        }
        for (register, value, set) in carried {
            let always = writes
                .iter()
                .rfind(|w| w.register.0 as usize == *register)
                .is_some_and(|w| w.when.is_empty() && w.unless.is_empty());
            let told = match set {
                Some(set) if !always => Set::Told(self.g.last_of(*set)),
                _ => Set::Yes,
            };
            self.registers[*register] = State { value: Some(self.g.last_of(*value)), set: told };
        }
    }

    /// Writes registers, all at once.
    pub(crate) fn write(&mut self, writes: &[&Write], at: At<'_>) {
        let condition = Type::condition();
        for write in writes {
            let register = write.register.0 as usize;
            let ty = self.plan.registers[write.register].ty.clone();
            let Some(value) = self.read(write.value, at).map(|v| v.node) else { continue };
            let holds = self.holds(&write.when, at).map(|v| v.node);
            let unset = self.any(&write.unless, at).map(|v| v.node);
            let old = self.registers[register];
            let span = Function::nowhere();
            let set = match unset {
                None => Set::Yes,
                Some(unset) => Set::Told(self.g.apply(Op::Not, &[unset], span)),
            };
            let state = match (holds, old.value) {
                (None, _) => State { value: Some(value), set },
                (Some(holds), before) => {
                    let before = before.unwrap_or_else(|| self.g.zeros(&ty));
                    let value =
                        self.choose(Val::same(holds), Val::same(value), Val::same(before), &ty, at).node;
                    let set = if set == old.set {
                        set
                    } else {
                        let (new, old) = (self.told(set), self.told(old.set));
                        let (new, old) = (Val::same(new), Val::same(old));
                        Set::Told(self.choose(Val::same(holds), new, old, &condition, at).node)
                    };
                    State { value: Some(value), set }
                }
            };
            self.registers[register] = state;
        }
    }
}

/// The registers that are written.
fn registers(writes: &[&Write]) -> Vec<usize> {
    let mut all: Vec<usize> = writes.iter().map(|w| w.register.0 as usize).collect();
    all.sort_unstable();
    all.dedup();
    all
}
