//! V8: every element is filled once, and before it is read.

use rml_base::IndexVec;
use rml_ir::{Position, Positions};
use rml_plan::{Atom, Ends, Guard, Part, Plan, Region, Rule, Tape, Tick, Write};

use crate::{reach, waits};

pub(crate) fn check(plan: &Plan, found: &mut Vec<String>) {
    let none = || IndexVec::filled(Positions::NONE, plan.tapes.len());
    let ahead = plan.ahead() > 0;
    let mut order = Order { plan, ahead, filled: none(), body: none(), earlier: none(), way: None, found };
    order.search();
    if ahead {
        reach::check(plan, order.found);
    }
    if plan.waits {
        waits::check(plan, order.found);
    }
    for region in &plan.regions {
        order.region(region);
    }
    order.way = None;
    for (tape, data) in plan.tapes.iter_enumerated() {
        if order.filled[tape] != data.place() {
            order.found.push(format!("V8: nothing fills {tape} at some positions"));
        }
    }
    plan.commits.iter().for_each(|w| order.write(w));
    for output in &plan.outputs {
        for (at, when, atom) in &output.cases {
            order.reads(*at, when, &[*atom], &output.name);
        }
    }
}

/// How far a plan has come.
struct Order<'a> {
    plan: &'a Plan,
    /// Whether it looks ahead.
    ahead: bool,
    /// What regions have filled.
    filled: IndexVec<Tape, Positions>,
    /// What the loop fills, at all its ticks.
    body: IndexVec<Tape, Positions>,
    /// What it has filled in the same tick.
    earlier: IndexVec<Tape, Positions>,
    /// Whether there is a loop, and whether it is backward.
    way: Option<bool>,
    found: &'a mut Vec<String>,
}

impl Order<'_> {
    /// V2: what finds the end of a window stands first, and does the same at a tick whether it is the last one or not.
    fn search(&mut self) {
        let plan = self.plan;
        let Ends::Found { conds, head } = &plan.ends else { return };
        let parts = match plan.regions.first() {
            Some(Region::Loop { backward: false, parts, .. }) if *head <= parts.len() => &parts[..*head],
            _ => return self.found.push("V2: no loop forward finds the end first".to_owned()),
        };
        let mut at = IndexVec::filled(Positions::NONE, plan.tapes.len());
        for part in parts {
            at[part.tape] = at[part.tape].or(self.holds(*part));
        }
        for (early, late) in [(Position::First, Position::Only), (Position::Middle, Position::Last)] {
            for Part { tape, .. } in parts {
                let case = |p: Position| plan.tapes[*tape].case(p).filter(|_| at[*tape].contains(p));
                let alike = match (case(early), case(late)) {
                    (Some(a), Some(b)) => (&a.when, &a.rule) == (&b.when, &b.rule),
                    (a, b) => a.is_none() && b.is_none(),
                };
                if !alike {
                    self.found.push(format!("V2: {tape} is not the same at {early} and at {late}"));
                }
            }
        }
        let found = |g: &Guard| matches!(g.cond, Atom::Tape(tape, Tick::Now) if at[tape] == Positions::ALL);
        if !conds.iter().all(found) {
            self.found.push("V2: an end is not found at each tick".to_owned());
        }
    }

    fn region(&mut self, region: &Region) {
        let (parts, writes) = match region {
            Region::Over(parts) => {
                self.way = None;
                for part in parts {
                    self.part(*part);
                    self.fill(*part);
                }
                return;
            }
            Region::Loop { backward, parts, writes, .. } => {
                self.way = Some(*backward);
                (parts, writes)
            }
        };
        for part in parts {
            self.body[part.tape] = self.body[part.tape].or(self.holds(*part));
        }
        for part in parts {
            self.part(*part);
            self.earlier[part.tape] = self.earlier[part.tape].or(self.holds(*part));
        }
        writes.iter().for_each(|w| self.write(w));
        for part in parts {
            self.fill(*part);
            (self.body[part.tape], self.earlier[part.tape]) = (Positions::NONE, Positions::NONE);
        }
    }

    /// Where a part gives a tape elements.
    fn holds(&self, part: Part) -> Positions {
        self.plan.tapes[part.tape].place().and(part.at)
    }

    fn fill(&mut self, part: Part) {
        let at = self.holds(part);
        if !self.filled[part.tape].and(at).is_empty() {
            self.found.push(format!("V8: {} is filled twice", part.tape));
        }
        self.filled[part.tape] = self.filled[part.tape].or(at);
    }

    fn part(&mut self, part: Part) {
        let plan = self.plan;
        let who = part.tape.to_string();
        for case in &plan.tapes[part.tape].cases {
            let at = case.at.and(part.at);
            if at.is_empty() {
                continue;
            }
            self.reads(at, &case.when, &case.rule.operands(), &who);
            let Rule::Sum { terms, .. } = &case.rule else { continue };
            if self.way.is_some() {
                self.found.push(format!("V8: {who} is a sum in a loop"));
            }
            terms.iter().for_each(|term| self.reads(term.at, &term.when, &term.args, &who));
        }
    }

    fn write(&mut self, write: &Write) {
        let who = write.register.to_string();
        self.reads(write.at, &write.when, &write.unless, &who);
        self.reads(write.at, &[], &[write.value], &who);
    }

    fn reads(&mut self, at: Positions, when: &[Guard], atoms: &[Atom], who: &str) {
        for p in at.iter() {
            for atom in when.iter().map(|g| &g.cond).chain(atoms) {
                if !self.is_filled(*atom, p) {
                    self.found.push(format!("V8: {who} reads {atom:?} at {p}, which is not filled"));
                }
            }
        }
    }

    /// Whether the element that an operand is, as seen from a position, is available.
    fn is_filled(&self, atom: Atom, p: Position) -> bool {
        let Atom::Tape(tape, tick) = atom else { return true };
        // What looks ahead is filled as far as it is read: that is checked for itself. What waits is not read where it
        // is not filled.
        let at = match (self.ahead || self.plan.waits, p.is_start()) {
            (false, _) => tick.seen_from(p),
            (true, true) => tick.seen_from(Position::First),
            (true, false) => tick.seen_from(Position::Middle),
        };
        let is_now = match tick {
            Tick::Now => true,
            Tick::First => p.is_start(),
            Tick::Last => p.is_end(),
            Tick::Before | Tick::After => false,
        };
        let looped = match (self.way, tick) {
            (None, _) => Positions::NONE,
            // A part may lag behind others there: that is checked for itself.
            (Some(false), _) if self.plan.waits => self.body[tape],
            (Some(_), _) if is_now => self.earlier[tape],
            (Some(false), Tick::Before | Tick::First) | (Some(true), Tick::After | Tick::Last) => {
                self.body[tape]
            }
            _ => Positions::NONE,
        };
        !at.is_empty() && at.is_within(self.filled[tape].or(looped))
    }
}
