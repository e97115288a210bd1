//! Checks P1 to P9, position by position.

use rml_base::IndexVec;
use rml_ir::op::{Op, result_type};
use rml_ir::{DType, Position, Positions, Type};

use super::{Atom, Ends, Guard, Kind, Part, Plan, Reg, Region, Rule, Tape, Term, Tick, Write};

/// Checks a plan.
///
/// # Errors
/// Every violation, as text that begins with the invariant.
pub fn verify(plan: &Plan) -> Result<(), Vec<String>> {
    let mut verifier = Verifier {
        plan,
        ahead: plan.ahead() > 0 || plan.waits,
        filled: IndexVec::filled(Positions::NONE, plan.tapes.len()),
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

struct Verifier<'a> {
    plan: &'a Plan,
    /// Whether it looks ahead, or waits.
    ahead: bool,
    /// Where each tape is filled so far.
    filled: IndexVec<Tape, Positions>,
    found: Vec<String>,
}

/// The loop around, whose tapes may be read as well.
#[derive(Clone, Copy)]
struct Inside<'a> {
    parts: &'a [Part],
    backward: bool,
}

impl Verifier<'_> {
    fn fail(&mut self, what: String) {
        self.found.push(what);
    }

    /// P1 within a tape, P2, P4.
    fn cases(&mut self) {
        for (id, tape) in self.plan.tapes.iter_enumerated() {
            let mut seen = Positions::NONE;
            for case in &tape.cases {
                if !seen.and(case.at).is_empty() {
                    self.fail(format!("P1: two cases of {id} share a position"));
                }
                seen = seen.or(case.at);
                for guard in &case.when {
                    self.condition(guard.cond, id);
                }
                if let Err(why) = self.rule_type(&case.rule, &tape.ty) {
                    self.fail(format!("P2: {id}: {why}"));
                }
                for p in case.at.iter() {
                    for atom in case.rule.operands().into_iter().chain(case.when.iter().map(|g| g.cond)) {
                        self.edge(id, atom, p);
                    }
                }
                if let Rule::Sum { terms, .. } = &case.rule {
                    let read =
                        terms.iter().flat_map(|t| t.at.iter().flat_map(|p| t.reads().map(move |a| (a, p))));
                    read.for_each(|(atom, p)| self.edge(id, atom, p));
                    terms.iter().flat_map(|t| &t.when).for_each(|g| self.condition(g.cond, id));
                }
            }
        }
    }

    fn edge(&mut self, tape: Tape, atom: Atom, p: Position) {
        match atom {
            Atom::Tape(_, Tick::Before) if p.is_start() => {
                self.fail(format!("P4: {tape} reads the tick before a first one"));
            }
            Atom::Tape(_, Tick::After) if p.is_end() && !self.ahead => {
                self.fail(format!("P4: {tape} reads the tick after a last one"));
            }
            _ => {}
        }
    }

    fn ty(&self, atom: Atom) -> Type {
        match atom {
            Atom::Const(k) => self.plan.consts[k].ty(),
            Atom::Tape(tape, _) => self.plan.tapes[tape].ty.clone(),
        }
    }

    fn condition(&mut self, atom: Atom, tape: Tape) {
        let ty = self.ty(atom);
        if ty.dtype != DType::Bool || !ty.shape.is_scalar() {
            self.fail(format!("P2: a condition of {tape} is {ty}"));
        }
    }

    fn rule_type(&self, rule: &Rule, ty: &Type) -> Result<(), String> {
        let same = |atom: Atom| match self.ty(atom) {
            found if found == *ty => Ok(()),
            found => Err(format!("expected {ty}, found {found}")),
        };
        let bool = |atom: Atom| match self.ty(atom) {
            found if found.dtype == DType::Bool && found.shape.is_scalar() => Ok(()),
            found => Err(format!("expected a condition, found {found}")),
        };
        match rule {
            Rule::Apply { op, args } => self.apply(op, args, ty),
            Rule::Product { start, args } => {
                same(*start)?;
                if self.ty(args[1]).shape.rank() > 2 {
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
        let types: Vec<Type> = args.iter().map(|a| self.ty(*a)).collect();
        match result_type(op, &types) {
            Ok(found) if found == *ty => Ok(()),
            Ok(found) => Err(format!("{op} gives {found}, not {ty}")),
            Err(why) => Err(format!("{op}: {why:?}")),
        }
    }

    /// P1 across regions, P3.
    fn regions(&mut self) {
        for region in &self.plan.regions {
            match region {
                Region::Over(parts) => parts.iter().for_each(|part| self.part(part, None, &[])),
                Region::Loop { backward, parts, writes, .. } => {
                    let inside = Inside { parts, backward: *backward };
                    for (i, part) in parts.iter().enumerate() {
                        self.part(part, Some(inside), &parts[..i]);
                    }
                    parts.iter().for_each(|part| self.fill(part));
                    writes.iter().for_each(|w| self.write(w));
                }
            }
        }
        for (id, tape) in self.plan.tapes.iter_enumerated() {
            if self.filled[id] != tape.place() {
                self.fail(format!("P1: {id} is filled at {}, not at {}", self.filled[id], tape.place()));
            }
        }
        for output in &self.plan.outputs {
            for (at, when, atom) in &output.cases {
                self.read_where(*at, when, *atom, &format!("output {}", output.name));
            }
        }
        self.plan.commits.iter().for_each(|w| self.write(w));
    }

    fn fill(&mut self, part: &Part) {
        if !self.filled[part.tape].and(part.at).is_empty() {
            self.fail(format!("P1: {} is filled twice", part.tape));
        }
        self.filled[part.tape] = self.filled[part.tape].or(part.at);
    }

    /// A part of a region; `earlier` are the parts of the loop that come before it in a tick.
    fn part(&mut self, part: &Part, inside: Option<Inside<'_>>, earlier: &[Part]) {
        for case in &self.plan.tapes[part.tape].cases {
            for p in case.at.and(part.at).iter() {
                let who = format!("{} at {p}", part.tape);
                for atom in case.rule.operands().into_iter().chain(case.when.iter().map(|g| g.cond)) {
                    self.read(atom, p, inside, earlier, &who);
                }
                if let Rule::Sum { terms, .. } = &case.rule {
                    terms.iter().for_each(|term| self.term(term, &who));
                }
            }
        }
        if inside.is_none() {
            self.fill(part);
        }
    }

    fn term(&mut self, term: &Term, who: &str) {
        for p in term.at.iter() {
            term.reads().for_each(|a| self.read(a, p, None, &[], who));
        }
    }

    fn read(&mut self, atom: Atom, p: Position, inside: Option<Inside<'_>>, earlier: &[Part], who: &str) {
        let Atom::Tape(tape, tick) = atom else { return };
        let at = tick.seen_from(p);
        let of = |parts: &[Part]| {
            parts.iter().filter(|part| part.tape == tape).fold(Positions::NONE, |all, part| all.or(part.at))
        };
        let same_tick =
            tick == Tick::Now || at == Positions::NONE.with(p) && matches!(tick, Tick::First | Tick::Last);
        let looped = match inside {
            None => Positions::NONE,
            Some(inside) if same_tick && (inside.backward || !self.plan.waits) => of(earlier),
            // Parts of a plan that waits may lag behind others: that is checked for itself.
            Some(Inside { parts, backward: false }) if self.plan.waits => of(parts),
            Some(Inside { parts, backward }) => match tick {
                Tick::Before | Tick::First if !backward => of(parts),
                Tick::After | Tick::Last if backward => of(parts),
                _ => Positions::NONE,
            },
        };
        if !at.is_within(self.filled[tape].or(looped)) {
            self.fail(format!("P3: {who} reads {tape}, which is not there"));
        }
    }

    fn read_where(&mut self, at: Positions, when: &[Guard], value: Atom, who: &str) {
        for p in at.iter() {
            for atom in when.iter().map(|g| g.cond).chain([value]) {
                self.read(atom, p, None, &[], who);
            }
        }
    }

    fn write(&mut self, write: &Write) {
        let who = write.register.to_string();
        self.read_where(write.at, &write.when, write.value, &who);
        write.unless.iter().for_each(|a| self.read_where(write.at, &[], *a, &who));
        if self.ty(write.value) != self.plan.registers[write.register].ty {
            self.fail(format!("P2: {who} gets a value of another type"));
        }
    }

    /// P5.
    fn registers(&mut self) {
        for (id, register) in self.plan.registers.iter_enumerated() {
            let readers: Vec<usize> = self
                .plan
                .regions
                .iter()
                .enumerate()
                .filter(|(_, r)| self.reads(r, id))
                .map(|(i, _)| i)
                .collect();
            let writers: Vec<usize> =
                self.plan.regions.iter().enumerate().filter(|(_, r)| writes(r, id)).map(|(i, _)| i).collect();
            let commits = self.plan.commits.iter().any(|w| w.register == id);
            let in_turn = !writers.is_empty();
            if in_turn && (commits || readers != writers || writers.len() != 1) {
                self.fail(format!("P5: {id} is read or written outside of its loop"));
            }
            if register.kind == Kind::Local && commits {
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

    fn reads(&self, region: &Region, register: Reg) -> bool {
        region.parts().iter().any(|part| {
            let cases = self.plan.tapes[part.tape].cases.iter().filter(|c| !c.at.and(part.at).is_empty());
            cases.into_iter().any(|c| matches!(c.rule, Rule::Read { register: r, .. } if r == register))
        })
    }
}

fn writes(region: &Region, register: Reg) -> bool {
    matches!(region, Region::Loop { writes, .. } if writes.iter().any(|w| w.register == register))
}
