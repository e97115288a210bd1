//! Loops: what runs tick by tick.

use std::collections::BTreeSet;

use rml_backend::Function;
use rml_ir::Position;
use rml_ir::op::Op;
use rml_plan::{Atom, Case, Part, Tape, Tick, Write};

use crate::batch::Val;
use crate::body::Body;
use crate::graph::Node;
use crate::lower::{At, Lower, Set, State};
use crate::merge::{Merged, Varied};
use crate::tapes::{Piece, stack};

/// The work of a loop at a position: the case of each part, and its writes.
type Doing = (Vec<Option<usize>>, Vec<bool>);

/// An operand that differs from tick to tick, as the body of a loop gets it.
enum Operand {
    /// The same after all.
    Same(Node),
    /// A row for each tick.
    Rows(Node),
    /// An operand that starts with a value, and is the element of a tape afterwards.
    Carried(Node, Tape),
}

/// Whether an operand reads nothing that the loop itself fills.
fn is_outside(varied: &Varied, own: &BTreeSet<Tape>) -> bool {
    varied.iter().all(|(_, _, atom)| match atom {
        Atom::Const(_) => true,
        Atom::Tape(tape, _) => !own.contains(tape),
    })
}

impl Lower<'_> {
    /// Fills tapes and writes registers tick by tick: in one loop if the ticks differ in their operands at most, else
    /// with those at the edges apart. Ticks that are ahead come behind that; registers are then what they were before
    /// these.
    pub(crate) fn turn(&mut self, backward: bool, parts: &[Part], writes: &[Write]) {
        let apart = self.names_edges(parts);
        let mut ranges = self.doings(parts, writes, apart);
        let ahead = ranges.split_off(ranges.partition_point(|(from, ..)| *from < self.done));
        if apart || ranges.len() < 2 || !self.turn_merged(backward, parts, writes, &ranges) {
            self.turn_apart(backward, parts, writes, ranges);
        }
        if !ahead.is_empty() {
            let done = self.registers.clone();
            self.turn_apart(backward, parts, writes, ahead);
            self.registers = done;
        }
    }

    fn turn_apart(
        &mut self,
        backward: bool,
        parts: &[Part],
        writes: &[Write],
        mut ranges: Vec<(usize, usize, Doing)>,
    ) {
        if backward {
            ranges.reverse();
        }
        let plan = self.plan;
        for (from, to, (cases, written)) in ranges {
            let cases = parts.iter().zip(cases).filter_map(|(part, case)| Some((part.tape, case?)));
            let writes: Vec<&Write> =
                writes.iter().zip(written).filter_map(|(w, is)| is.then_some(w)).collect();
            if to == from + 1 {
                cases.for_each(|(tape, case)| self.fill(tape, case, from, to));
                self.write(&writes, At::Ticks(from, to));
                continue;
            }
            let cases = cases.map(|(tape, case)| (tape, plan.tapes[tape].cases[case].clone())).collect();
            let merged = Merged { cases, varied: Vec::new() };
            if !merged.cases.is_empty() || !writes.is_empty() {
                self.body(backward, (from, to), &merged, &writes);
            }
        }
    }

    /// The work, and its ticks.
    fn doings(&self, parts: &[Part], writes: &[Write], apart: bool) -> Vec<(usize, usize, Doing)> {
        let mut ranges: Vec<(usize, usize, Doing)> = Vec::new();
        let reached = |w: &Write| self.done + self.reaches[w.register] as usize;
        for (p, from, to) in
            self.split(parts.iter().map(|p| self.end(p.tape)).chain(writes.iter().map(reached)))
        {
            let cases = parts.iter().map(|part| self.case_at(part, p).filter(|_| from < self.end(part.tape)));
            let written = writes.iter().map(|w| w.at.contains(p) && from < reached(w));
            let doing: Doing = (cases.collect(), written.collect());
            match ranges.last_mut() {
                Some((_, end, last)) if !apart && from != self.done && *last == doing => *end = to,
                _ => ranges.push((from, to, doing)),
            }
        }
        ranges
    }

    /// The ticks of each position, those that are ahead apart from the others, and divided where something ends.
    fn split(&self, ends: impl Iterator<Item = usize>) -> Vec<(Position, usize, usize)> {
        let mut ends: Vec<usize> = ends.chain([self.done]).collect();
        ends.sort_unstable();
        ends.dedup();
        let mut found = Vec::new();
        for (p, mut from, to) in self.ranges() {
            for end in ends.iter().copied().filter(|end| *end < to) {
                if from < end {
                    found.push((p, from, end));
                    from = end;
                }
            }
            found.push((p, from, to));
        }
        found
    }

    /// One loop through all ticks that are done, if it can be.
    fn turn_merged(
        &mut self,
        backward: bool,
        parts: &[Part],
        writes: &[Write],
        ranges: &[(usize, usize, Doing)],
    ) -> bool {
        let plan = self.plan;
        if parts.is_empty() || ranges.iter().any(|(_, _, (_, written))| written.contains(&false)) {
            return false;
        }
        let mut merged = Merged::default();
        for (i, part) in parts.iter().enumerate() {
            let case = |(from, to, (cases, _)): &(usize, usize, Doing)| {
                Some((*from, *to, &plan.tapes[part.tape].cases[cases[i]?]))
            };
            let found: Vec<(usize, usize, &Case)> = ranges.iter().filter_map(case).collect();
            let elsewhere = |(p, _, _): &(Position, usize, usize)| {
                plan.tapes[part.tape].case(*p).is_some() && !part.at.contains(*p)
            };
            if self.ranges().iter().any(elsewhere) {
                return false;
            }
            if !merged.add(plan, part.tape, &found, self.done) {
                return false;
            }
        }
        let own: BTreeSet<Tape> = merged.cases.iter().map(|(tape, _)| *tape).collect();
        if !merged
            .varied
            .iter()
            .all(|varied| is_outside(varied, &own) || self.starts_past(backward, varied, &own).is_some())
        {
            return false;
        }
        self.body(backward, (0, self.done), &merged, &writes.iter().collect::<Vec<_>>());
        true
    }

    /// An operand that is an element of the tick that a loop was at before, and something else at the tick that it
    /// starts with: the tape, and the other thing, if it counts.
    fn starts_past(
        &self,
        backward: bool,
        varied: &Varied,
        own: &BTreeSet<Tape>,
    ) -> Option<(Tape, Option<Atom>)> {
        let (start, behind) = if backward { (self.done - 1, Tick::After) } else { (0, Tick::Before) };
        let (mut tape, mut other) = (None, None);
        for (from, to, atom) in varied {
            match atom {
                Atom::Tape(past, tick) if *tick == behind && own.contains(past) => {
                    if tape.is_some_and(|tape| tape != *past) {
                        return None;
                    }
                    tape = Some(*past);
                }
                atom if (*from, *to) == (start, start + 1) && is_outside(&vec![(*from, *to, *atom)], own) => {
                    other = Some(*atom);
                }
                _ => return None,
            }
        }
        Some((tape?, other))
    }

    /// Whether a part reads what the loop itself fills at the first or the last tick: these are then no part of the
    /// loop.
    fn names_edges(&self, parts: &[Part]) -> bool {
        let own: BTreeSet<Tape> = parts.iter().map(|part| part.tape).collect();
        let mut atoms = own.iter().flat_map(|tape| &self.plan.tapes[*tape].cases).flat_map(Case::reads);
        atoms.any(|atom| matches!(atom, Atom::Tape(tape, Tick::First | Tick::Last) if own.contains(&tape)))
    }

    fn body(&mut self, backward: bool, (from, to): (usize, usize), merged: &Merged, writes: &[&Write]) {
        let own: BTreeSet<Tape> = merged.cases.iter().map(|(tape, _)| *tape).collect();
        let now = own.iter().map(|tape| (*tape, None)).collect();
        let mut body = Body { from, to, backward, now, ..Body::default() };
        let starts = self.starts(&body, &merged.cases, writes);
        let varied: Vec<Operand> =
            merged.varied.iter().map(|varied| self.varied(backward, varied, &own)).collect();
        let before: Vec<State> = self.registers.clone();
        self.g.open(to - from, backward);
        for (tape, start) in starts {
            body.past.insert(tape, self.g.carry(start));
        }
        for (i, operand) in varied.into_iter().enumerate() {
            let node = match operand {
                Operand::Same(node) => node,
                Operand::Rows(stack) => self.g.row(stack, 0),
                Operand::Carried(start, next) => {
                    let known = body
                        .carried
                        .iter()
                        .find(|(node, tape)| *tape == next && self.g.start_of(*node) == Some(start));
                    let node = known.map_or_else(|| self.g.carry(start), |(node, _)| *node);
                    body.carried.push((node, next));
                    node
                }
            };
            let tape = u32::try_from(self.plan.tapes.len() + i).unwrap_or(u32::MAX);
            body.varied.insert(Tape(tape), node);
        }
        let carried = self.carry_registers(writes, &before);
        for (tape, case) in &merged.cases {
            let data = &self.plan.tapes[*tape];
            let value = self.value(case, &data.ty, data.span, At::Body(&body));
            body.now.insert(*tape, value.map(|v| v.node));
        }
        self.write(writes, At::Body(&body));
        let past = body.past.iter().map(|(tape, past)| (*past, *tape));
        for (past, tape) in past.chain(body.carried.iter().copied()) {
            if let Some(Some(next)) = body.now.get(&tape) {
                self.g.set_next(past, *next);
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

    /// The values that the tapes start with which the body reads at the tick before.
    fn starts(&mut self, body: &Body, cases: &[(Tape, Case)], writes: &[&Write]) -> Vec<(Tape, Node)> {
        let behind = if body.backward { Tick::After } else { Tick::Before };
        let edge = if body.backward { Some(body.to) } else { body.from.checked_sub(1) };
        let mut starts: Vec<(Tape, Node)> = Vec::new();
        let written = writes.iter().flat_map(|write| write.reads());
        for atom in cases.iter().flat_map(|(_, case)| case.reads()).chain(written) {
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

    /// An operand that differs from tick to tick, before the loop opens.
    fn varied(&mut self, backward: bool, varied: &Varied, own: &BTreeSet<Tape>) -> Operand {
        if let Some((tape, start)) = self.starts_past(backward, varied, own) {
            let edge = if backward { self.done - 1 } else { 0 };
            let start = start.and_then(|start| self.read(start, At::Ticks(edge, edge + 1)));
            let start = start.map_or_else(|| self.g.zeros(&self.plan.tapes[tape].ty), |v| v.node);
            return Operand::Carried(start, tape);
        }
        let mut pieces: Vec<(usize, usize, Val)> = Vec::new();
        for (from, to, atom) in varied {
            if let Some(value) = self.read(*atom, At::Ticks(*from, *to)) {
                pieces.push((*from, *to, value));
            }
        }
        let first = pieces.first().map(|(_, _, value)| *value);
        match first {
            Some(Val { node, stacked: false }) if pieces.iter().all(|(_, _, v)| *v == Val::same(node)) => {
                Operand::Same(node)
            }
            Some(value) => {
                let ty = self.element(value);
                Operand::Rows(stack(&mut self.g, &pieces, 0, self.done, &ty))
            }
            None => Operand::Same(self.g.truth(false)),
        }
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
            let carried = body.carried.iter().find(|(_, next)| next == tape).map(|(past, _)| past);
            let edge = body.past.get(tape).or(carried).map(|past| (last, self.g.last_of(*past)));
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
        let span = Function::nowhere();
        for write in writes {
            let register = write.register.0 as usize;
            let ty = self.plan.registers[write.register].ty.clone();
            let unset = self.any(&write.unless, at).map(|v| v.node);
            let value = self.read(write.value, at).map(|v| v.node);
            let holds = self.holds(&write.when, at).map(|v| v.node);
            let old = self.registers[register];
            let state = match (value, holds, old.value) {
                (None, ..) => old,
                (Some(value), None, _) => State { value: Some(value), set: Set::Yes },
                (Some(value), Some(holds), before) => {
                    let before = before.unwrap_or_else(|| self.g.zeros(&ty));
                    let value =
                        self.choose(Val::same(holds), Val::same(value), Val::same(before), &ty, at).node;
                    let set = match old.set {
                        Set::Yes => Set::Yes,
                        Set::No => Set::Told(holds),
                        Set::Told(set) => Set::Told(self.g.apply(Op::Or, &[holds, set], span)),
                    };
                    State { value: Some(value), set }
                }
            };
            let set = match (unset, state.set) {
                (None, set) => set,
                (Some(_), Set::No) => Set::No,
                (Some(unset), set) => {
                    let still = self.g.apply(Op::Not, &[unset], span);
                    Set::Told(match set {
                        Set::Told(set) => self.g.apply(Op::And, &[still, set], span),
                        Set::Yes | Set::No => still,
                    })
                }
            };
            self.registers[register] = State { set, ..state };
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
