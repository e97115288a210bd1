//! Checks P1 to P9, position by position.

use std::collections::BTreeSet;
use std::fmt;

use rml_base::{EntityId, IndexVec};
use rml_ir::op::{Op, result_type};
use rml_ir::{Position, Positions, Type};

use super::{Atom, Ends, Lifetime, Part, Plan, Region, Rule, Tape, Tick, Write};

/// Checks a plan. Its time is near-linear in the size of the plan.
///
/// # Errors
/// Every violation, as text that begins with the invariant.
pub fn verify(plan: &Plan) -> Result<(), Vec<String>> {
    if let Some(found) = dangling(plan) {
        return Err(vec![format!("P2: {found}")]);
    }
    let none = || IndexVec::filled(Positions::NONE, plan.tapes.len());
    let mut verifier = Verifier {
        plan,
        is_open: plan.ahead() > 0 || plan.waits,
        filled: none(),
        body: none(),
        earlier: none(),
        way: None,
        found: Vec::new(),
    };
    verifier.cases();
    verifier.regions();
    verifier.registers();
    verifier.search();
    crate::ahead::check(plan, &mut verifier.found);
    crate::sequences::check(plan, &mut verifier.found);
    crate::waits::check(plan, &mut verifier.found);
    if verifier.found.is_empty() { Ok(()) } else { Err(verifier.found) }
}

/// Text about an id that the plan does not define, if there is one; nothing else can be checked then.
pub fn dangling(plan: &Plan) -> Option<String> {
    let is_there = |atom: Atom| match atom {
        Atom::Const(k) => k.index() < plan.consts.len(),
        Atom::Tape(tape, _) => tape.index() < plan.tapes.len(),
    };
    if let Some(read) = plan.reads().find(|read| !is_there(read.atom)) {
        return Some(format!("{:?} is not in the plan", read.atom));
    }
    let by = plan.regions.iter().flat_map(|r| if let Region::Loop { by, .. } = r { &by[..] } else { &[] });
    let filled = plan.regions.iter().flat_map(Region::parts).map(|part| part.tape).chain(by.copied());
    if let Some(tape) = filled.into_iter().find(|tape| tape.index() >= plan.tapes.len()) {
        return Some(format!("{tape} is not in the plan"));
    }
    let read = plan.tapes.iter().flat_map(|tape| &tape.cases).filter_map(|case| case.rule.register());
    let mut registers = plan.writes().map(|write| write.register).chain(read);
    registers.find(|r| r.index() >= plan.registers.len()).map(|r| format!("{r} is not in the plan"))
}

struct Verifier<'a> {
    plan: &'a Plan,
    /// Whether the plan looks ahead or waits: then a tick after the last one of a block may be read.
    is_open: bool,
    /// For each tape, the positions at which earlier regions fill it.
    filled: IndexVec<Tape, Positions>,
    /// For each tape, the positions at which the current loop fills it.
    body: IndexVec<Tape, Positions>,
    /// For each tape, the positions at which earlier parts of the current loop fill it.
    earlier: IndexVec<Tape, Positions>,
    /// Whether the current region is a backward loop; none if it is no loop.
    way: Option<bool>,
    found: Vec<String>,
}

impl Verifier<'_> {
    fn fail(&mut self, what: String) {
        self.found.push(what);
    }

    /// P1 within a tape, P2.
    fn cases(&mut self) {
        for (id, tape) in self.plan.tapes.iter_enumerated() {
            let mut seen = Positions::NONE;
            for case in &tape.cases {
                if !seen.and(case.at).is_empty() {
                    self.fail(format!("P1: two cases of {id} share a position"));
                }
                seen = seen.or(case.at);
                let terms = case.rule.terms();
                let guards = case.when.iter().chain(terms.iter().flat_map(|term| &term.when));
                guards.for_each(|guard| self.condition(guard.cond, id));
                if let Err(why) = self.rule_type(&case.rule, &tape.ty) {
                    self.fail(format!("P2: {id}: {why}"));
                }
            }
        }
    }

    fn condition(&mut self, atom: Atom, tape: Tape) {
        let ty = self.plan.ty(atom);
        if ty != Type::condition() {
            self.fail(format!("P2: a condition of {tape} is {ty}"));
        }
    }

    fn rule_type(&self, rule: &Rule, ty: &Type) -> Result<(), String> {
        let same = |atom: Atom| match self.plan.ty(atom) {
            found if found == *ty => Ok(()),
            found => Err(format!("expected {ty}, found {found}")),
        };
        let bool = |atom: Atom| match self.plan.ty(atom) {
            found if found == Type::condition() => Ok(()),
            found => Err(format!("expected a condition, found {found}")),
        };
        match rule {
            Rule::Apply { op, args } => self.apply(op, args, ty),
            Rule::Product { start, args } => {
                same(*start)?;
                if self.plan.ty(args[1]).shape.rank() > 2 {
                    return Err("a product that continues is one of stacks".to_owned());
                }
                self.apply(&Op::MatMul, args, ty)
            }
            Rule::Copy(a) => same(*a),
            Rule::Select { cond, then, other } => {
                bool(*cond)?;
                same(*then)?;
                same(*other)
            }
            Rule::Restart { ends, init, next } => {
                ends.iter().try_for_each(|e| bool(*e))?;
                same(*init)?;
                same(*next)
            }
            Rule::Sum { init, terms, .. } => {
                init.iter().try_for_each(|a| same(*a))?;
                terms.iter().try_for_each(|t| {
                    let is_zero_of_zeros =
                        matches!(t.op, Op::Copy | Op::SumTo { .. } | Op::MatMul | Op::Einsum(_));
                    if !t.when.is_empty() && !is_zero_of_zeros {
                        return Err(format!("a term with conditions is {}", t.op));
                    }
                    self.apply(&t.op, &t.args, ty)
                })
            }
            Rule::Input(i) => match self.plan.inputs.get(*i as usize) {
                Some((_, found)) if found == ty => Ok(()),
                _ => Err(format!("input {i} is not {ty}")),
            },
            Rule::Read { register, init } => {
                init.iter().try_for_each(|a| same(*a))?;
                match self.plan.registers.get(*register) {
                    Some(found) if found.ty == *ty => Ok(()),
                    _ => Err(format!("{register} is not {ty}")),
                }
            }
        }
    }

    fn apply(&self, op: &Op, args: &[Atom], ty: &Type) -> Result<(), String> {
        let types: Vec<Type> = args.iter().map(|a| self.plan.ty(*a)).collect();
        match result_type(op, &types) {
            Ok(found) if found == *ty => Ok(()),
            Ok(found) => Err(format!("{op} gives {found}, not {ty}")),
            Err(why) => Err(format!("{op}: {why:?}")),
        }
    }

    /// P1 across regions, P3, P4.
    fn regions(&mut self) {
        let plan = self.plan;
        for region in &plan.regions {
            match region {
                Region::Over(parts) => {
                    for part in parts {
                        self.part(*part);
                        self.fill(*part);
                    }
                }
                Region::Loop { backward, parts, writes, .. } => self.looped(*backward, parts, writes),
            }
        }
        for (id, tape) in plan.tapes.iter_enumerated() {
            if self.filled[id] != tape.place() {
                self.fail(format!("P1: {id} is filled at {}, not at {}", self.filled[id], tape.place()));
            }
        }
        for output in &plan.outputs {
            output.reads().for_each(|(at, atom)| self.reads(atom, at, &output.name));
        }
        plan.commits.iter().for_each(|write| self.write(write));
    }

    fn looped(&mut self, backward: bool, parts: &[Part], writes: &[Write]) {
        self.way = Some(backward);
        for part in parts {
            self.body[part.tape] = self.body[part.tape].or(self.holds(*part));
        }
        for part in parts {
            self.part(*part);
            self.earlier[part.tape] = self.earlier[part.tape].or(self.holds(*part));
        }
        writes.iter().for_each(|write| self.write(write));
        self.way = None;
        for part in parts {
            self.fill(*part);
            (self.body[part.tape], self.earlier[part.tape]) = (Positions::NONE, Positions::NONE);
        }
    }

    /// The positions at which a part fills a tape.
    fn holds(&self, part: Part) -> Positions {
        self.plan.tapes[part.tape].place().and(part.at)
    }

    fn fill(&mut self, part: Part) {
        let at = self.holds(part);
        if !self.filled[part.tape].and(at).is_empty() {
            self.fail(format!("P1: {} is filled twice", part.tape));
        }
        self.filled[part.tape] = self.filled[part.tape].or(at);
    }

    fn part(&mut self, part: Part) {
        for case in self.plan.cases_of(part) {
            case.reads().for_each(|atom| self.reads(atom, case.at.and(part.at), &part.tape));
            if self.way.is_some() && matches!(case.rule, Rule::Sum { .. }) {
                self.fail(format!("P3: {} is a sum in a loop", part.tape));
            }
            for term in case.rule.terms() {
                term.reads().for_each(|atom| self.reads(atom, term.at, &part.tape));
            }
        }
    }

    fn reads(&mut self, atom: Atom, at: Positions, who: &dyn fmt::Display) {
        let Atom::Tape(tape, tick) = atom else { return };
        for p in at.iter() {
            let seen = match tick {
                Tick::After if self.is_open => Positions::AFTER_START,
                _ => tick.seen_from(p),
            };
            if seen.is_empty() {
                let side = if tick == Tick::Before { "before a first one" } else { "after a last one" };
                self.fail(format!("P4: {who} reads {tape} at the tick {side}"));
            } else if !seen.is_within(self.filled[tape].or(self.looped_at(tape, tick, p))) {
                self.fail(format!("P3: {who} at {p} reads {tape}, which is not there"));
            }
        }
    }

    /// The positions at which the current loop has filled a tape when its element at `tick` is read.
    fn looped_at(&self, tape: Tape, tick: Tick, p: Position) -> Positions {
        match (self.way, tick) {
            (None, _) => Positions::NONE,
            // In a plan that waits, parts may lag behind others; P9 checks these.
            (Some(false), _) if self.plan.waits => self.body[tape],
            (Some(_), _) if tick.is_here(p) => self.earlier[tape],
            (Some(false), Tick::Before | Tick::First) | (Some(true), Tick::After | Tick::Last) => {
                self.body[tape]
            }
            (Some(_), _) => Positions::NONE,
        }
    }

    fn write(&mut self, write: &Write) {
        write.reads().for_each(|atom| self.reads(atom, write.at, &write.register));
        if self.plan.ty(write.value) != self.plan.registers[write.register].ty {
            self.fail(format!("P2: {} gets a value of another type", write.register));
        }
    }

    /// P5.
    fn registers(&mut self) {
        let plan = self.plan;
        let none = IndexVec::filled(BTreeSet::new(), plan.registers.len());
        let (mut readers, mut writers) = (none.clone(), none);
        for (i, region) in plan.regions.iter().enumerate() {
            let cases = region.parts().iter().flat_map(|part| plan.cases_of(*part));
            cases.filter_map(|case| case.rule.register()).for_each(|r| {
                readers[r].insert(i);
            });
            region.writes().iter().for_each(|write| {
                writers[write.register].insert(i);
            });
        }
        let mut commits = IndexVec::filled(false, plan.registers.len());
        plan.commits.iter().for_each(|write| commits[write.register] = true);
        for (id, register) in plan.registers.iter_enumerated() {
            let in_turn = !writers[id].is_empty();
            if in_turn && (commits[id] || readers[id] != writers[id] || writers[id].len() != 1) {
                self.fail(format!("P5: {id} is read or written outside of its loop"));
            }
            if register.kind == Lifetime::Local && commits[id] {
                self.fail(format!("P5: {id} does not outlive the window, but is written after it"));
            }
        }
    }

    /// P6.
    fn search(&mut self) {
        let plan = self.plan;
        let Ends::Found { conds, head } = &plan.ends else { return };
        let Some(Region::Loop { backward: false, parts, .. }) = plan.regions.first() else {
            return self.fail("P6: the first region is no forward loop".to_owned());
        };
        let Some(parts) = parts.get(..*head) else {
            return self.fail("P6: the first loop has not as many parts as find the end".to_owned());
        };
        let found = |tape: Tape| {
            parts.iter().filter(|p| p.tape == tape).fold(Positions::NONE, |all, part| all.or(part.at))
        };
        for part in parts {
            let (tape, at) = (&plan.tapes[part.tape], found(part.tape));
            for (p, twin) in [(Position::First, Position::Only), (Position::Middle, Position::Last)] {
                let same = match (tape.case(p), tape.case(twin)) {
                    (Some(a), Some(b)) => a.when == b.when && a.rule == b.rule,
                    (a, b) => a.is_none() && b.is_none(),
                };
                if at.contains(p) != at.contains(twin) || at.contains(p) && !same {
                    self.fail(format!("P6: {} at {p} is not {} at {twin}", part.tape, part.tape));
                }
            }
        }
        for end in conds {
            let is_found = matches!(end.cond, Atom::Tape(tape, Tick::Now) if found(tape) == Positions::ALL);
            if !is_found {
                self.fail(format!("P6: {:?} is not found at each tick", end.cond));
            } else if let Atom::Tape(tape, _) = end.cond {
                self.condition(end.cond, tape);
            }
        }
    }
}
