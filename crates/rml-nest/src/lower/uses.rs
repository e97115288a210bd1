//! How tapes are read. This decides whether readers can use a view in place of a tape, or the tape needs a slot.

use rml_base::IndexVec;
use rml_plan::{Atom, Guard, Part, Plan, Positions, Region, Rule, Tape, Tick, Write};

/// How a tape is read.
#[derive(Clone, Copy, Default)]
pub(super) struct Use {
    /// At another tick, or as a condition: then its place must not depend on the tick.
    pub(super) plainly: bool,
    /// As a branch of a condition: then its view must have no conditions of its own.
    pub(super) chosen: bool,
    /// Before it is completely filled: by itself, by an earlier part, or because several parts fill it.
    pub(super) early: bool,
}

/// The uses of all tapes.
pub(super) fn uses(plan: &Plan) -> IndexVec<Tape, Use> {
    let mut finder =
        Finder { plan, uses: IndexVec::filled(Use::default(), plan.tapes.len()), order: order(plan) };
    let parts = plan.regions.iter().flat_map(|region| region.parts());
    for (i, part) in parts.enumerate() {
        finder.uses[part.tape].early |= finder.order[part.tape].0 != i || finder.order[part.tape].1 != i;
        finder.part(part, i);
    }
    for region in &plan.regions {
        if let Region::Loop { by, .. } = region {
            by.iter().for_each(|tape| finder.uses[*tape].plainly = true);
        }
        region.writes().iter().for_each(|write| finder.write(write));
    }
    plan.commits.iter().for_each(|write| finder.write(write));
    finder.guards(plan.ends.found());
    for (_, when, atom) in plan.outputs.iter().flat_map(|o| &o.cases) {
        finder.guards(when);
        finder.read(*atom, usize::MAX);
    }
    finder.uses
}

/// The number of the first and the last part of each tape.
fn order(plan: &Plan) -> IndexVec<Tape, (usize, usize)> {
    let mut order = IndexVec::filled((usize::MAX, 0), plan.tapes.len());
    for (i, part) in plan.regions.iter().flat_map(|region| region.parts()).enumerate() {
        let (first, last) = order[part.tape];
        order[part.tape] = (first.min(i), last.max(i));
    }
    order
}

struct Finder<'a> {
    plan: &'a Plan,
    uses: IndexVec<Tape, Use>,
    order: IndexVec<Tape, (usize, usize)>,
}

impl Finder<'_> {
    fn part(&mut self, part: &Part, i: usize) {
        let plan = self.plan;
        for case in plan.tapes[part.tape].cases.iter().filter(|case| !case.at.and(part.at).is_empty()) {
            self.guards(&case.when);
            case.when.iter().for_each(|g| self.read(g.cond, i));
            case.rule.operands().into_iter().for_each(|atom| self.read(atom, i));
            match &case.rule {
                Rule::Select { cond, then, .. } => {
                    self.condition(*cond);
                    self.chosen(*then);
                }
                Rule::Restart { ends, init, .. } => {
                    ends.iter().for_each(|end| self.condition(*end));
                    self.chosen(*init);
                }
                Rule::Sum { terms, .. } => {
                    for term in terms {
                        self.guards(&term.when);
                        term.reads().for_each(|atom| self.read(atom, i));
                    }
                }
                Rule::Apply { .. }
                | Rule::Product { .. }
                | Rule::Copy(_)
                | Rule::Input(_)
                | Rule::Read { .. } => {}
            }
        }
    }

    fn write(&mut self, write: &Write) {
        self.guards(&write.when);
        write.unless.iter().for_each(|end| self.condition(*end));
        self.read(write.value, usize::MAX);
    }

    fn guards(&mut self, guards: &[Guard]) {
        guards.iter().for_each(|guard| self.condition(guard.cond));
    }

    fn condition(&mut self, atom: Atom) {
        if let Atom::Tape(tape, _) = atom {
            self.uses[tape].plainly = true;
        }
    }

    fn chosen(&mut self, atom: Atom) {
        if let Atom::Tape(tape, _) = atom {
            self.uses[tape].chosen = true;
        }
    }

    /// A part, by number, reads an operand.
    fn read(&mut self, atom: Atom, by: usize) {
        let Atom::Tape(tape, tick) = atom else { return };
        self.uses[tape].plainly |= tick != Tick::Now;
        self.uses[tape].early |= by <= self.order[tape].1;
    }
}

/// Whether a loop writes the register.
pub(super) fn is_written_in_turn(plan: &Plan, register: rml_plan::Reg) -> bool {
    plan.regions.iter().any(|region| region.writes().iter().any(|write| write.register == register))
}

/// The positions at which a forward or backward loop begins.
pub(super) fn edge(backward: bool) -> Positions {
    if backward { Positions::ENDS } else { Positions::STARTS }
}
