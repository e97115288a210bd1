//! The ends of windows inside those of a plan, and the conditions that stand for them where they are absent.

use rml_ir::Position;
use rml_ir::flat::Var;
use rml_plan::{Atom, Rule, Tick};

use crate::view::{At, View};
use crate::{Checker, Claim};

impl Checker<'_> {
    /// Whether operands are the ends that may hold at a tick. Each is an end that is available, or tells whether one is
    /// available and holds.
    pub(crate) fn are_ends(&self, atoms: &[Atom], ends: &[Var], tick: Tick, view: View) -> bool {
        let Some(at) = view.position_of(tick) else { return false };
        let told = |atom: &Atom, end: &Var| self.told(*atom, tick, *end, view);
        let is = |atom: &Atom, end: &Var| self.equal.is(*atom, *end, tick, view) || told(atom, end);
        let never = |end: &Var| self.frame.boundary(&[*end], at) == Some(false);
        let there = |atom: &Atom, end: &Var| self.frame.is_always(*end, at) || told(atom, end);
        atoms.iter().all(|a| ends.iter().any(|e| there(a, e) && is(a, e)))
            && ends.iter().all(|e| never(e) || atoms.iter().any(|a| is(a, e)))
    }

    /// The same at all ticks at a position.
    pub(crate) fn are_ends_at(
        &self,
        atoms: &[Atom],
        ends: &[Var],
        tick: Tick,
        (p, filled): (Position, u32),
    ) -> bool {
        self.frame.views(p, filled).all(|view| self.are_ends(atoms, ends, tick, view))
    }

    /// Whether an operand tells, wherever it is read, whether an end holds at a tick.
    fn told(&self, atom: Atom, tick: Tick, end: Var, view: View) -> bool {
        let Atom::Tape(tape, at) = atom else { return false };
        let same = view.tick(at).is_some() && view.tick(at) == view.tick(tick);
        same && self.witness.tapes[tape] == Claim::Holds(end, 0)
    }

    /// V5: whether a rule tells whether an end is available and holds, where the outermost samplings of its clock are
    /// available, as many as `depth`.
    pub(crate) fn tells(&self, rule: &Rule, end: Var, depth: usize, view: View) -> bool {
        let Some(&(cond, value)) = self.frame.samplings(end).get(depth) else { return false };
        match *rule {
            Rule::Copy(atom) if self.frame.is_absent(end, view.at) && self.is_false(atom) => true,
            Rule::Copy(atom) => {
                self.frame.truth(cond, view.at) == Some(value) && self.holds(atom, end, depth + 1, view)
            }
            Rule::Select { cond: by, then, other } => {
                let (there, absent) = if value { (then, other) } else { (other, then) };
                self.equal.is(by, cond, Tick::Now, view)
                    && self.is_false(absent)
                    && self.holds(there, end, depth + 1, view)
            }
            _ => false,
        }
    }

    /// Whether an operand tells that, at the same tick.
    fn holds(&self, atom: Atom, end: Var, depth: usize, view: View) -> bool {
        if depth == self.frame.samplings(end).len() {
            return self.equal.is(atom, end, Tick::Now, view);
        }
        matches!(atom, Atom::Tape(tape, at)
            if view.tick(at) == Some(At::NOW) && self.witness.tapes[tape] == Claim::Holds(end, depth))
    }

    fn is_false(&self, atom: Atom) -> bool {
        matches!(atom, Atom::Const(k) if self.plan.consts[k].as_bool() == Some(false))
    }
}
