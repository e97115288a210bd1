//! What follows from a plan, for everything that runs or translates it. Each fact takes one walk over the plan.

use rml_base::IndexVec;
use rml_ir::op::{Class, Einsum, Op};
use rml_ir::{Positions, Value};

use super::{Atom, Case, Const, Part, Plan, Reg, Region, Rule, Tape, Tick};

/// The value of a register that is read before it is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// There is none: it is always set where it is read, or is never read.
    Set,
    /// This constant, for every reader.
    Const(Const),
    /// It differs between readers, or is computed.
    Varies,
}

impl Start {
    /// The constant, if it is one.
    pub fn value(self, plan: &Plan) -> Option<&Value> {
        if let Start::Const(k) = self { Some(&plan.consts[k]) } else { None }
    }
}

impl Plan {
    /// For each register, the value that readers see while it is not set.
    pub fn starts(&self) -> IndexVec<Reg, Start> {
        let mut starts = IndexVec::filled(Start::Set, self.registers.len());
        for case in self.tapes.iter().flat_map(|tape| &tape.cases) {
            let Rule::Read { register, init: Some(init) } = case.rule else { continue };
            starts[register] = match (starts[register], init) {
                (Start::Set, Atom::Const(k)) => Start::Const(k),
                (Start::Const(old), Atom::Const(k)) if old == k || self.consts[old].same(&self.consts[k]) => {
                    Start::Const(old)
                }
                _ => Start::Varies,
            };
        }
        starts
    }

    /// For each register, the region of the loop that writes it; none if no loop does. At most one loop does (P5).
    pub fn loops_of_registers(&self) -> IndexVec<Reg, Option<usize>> {
        let mut loops = IndexVec::filled(None, self.registers.len());
        for (i, region) in self.regions.iter().enumerate() {
            region.writes().iter().for_each(|write| loops[write.register] = Some(i));
        }
        loops
    }

    /// Which tapes may be computed once, at any of their ticks: they have the same value at all ticks at which they are
    /// present, and computing them at other ticks is harmless.
    ///
    /// Such a tape is in a region over all ticks and has one case. It is a sum, or it reads only constants, registers
    /// that no loop writes, elements of a first or last tick, and other such tapes. If guards decide where it is
    /// present, it must be cheap, since possibly nothing needs it.
    pub fn steady(&self) -> IndexVec<Tape, bool> {
        let loops = self.loops_of_registers();
        let mut steady = IndexVec::filled(false, self.tapes.len());
        for region in &self.regions {
            let Region::Over(parts) = region else { continue };
            for part in parts {
                steady[part.tape] = self.is_steady(*part, &steady, &loops);
            }
        }
        steady
    }

    fn is_steady(
        &self,
        part: Part,
        steady: &IndexVec<Tape, bool>,
        loops: &IndexVec<Reg, Option<usize>>,
    ) -> bool {
        let [case] = &self.tapes[part.tape].cases[..] else { return false };
        let stays = |atom: &Atom| match *atom {
            Atom::Const(_) | Atom::Tape(_, Tick::First | Tick::Last) => true,
            Atom::Tape(tape, _) => steady[tape],
        };
        let is_same = match &case.rule {
            Rule::Input(_) => false,
            Rule::Sum { .. } => true,
            Rule::Read { register, init } => loops[*register].is_none() && init.iter().all(stays),
            rule => rule.operands().iter().all(stays),
        };
        let is_certain = case.when.is_empty() && case.at == Positions::ALL;
        let is_harmless = !self.may_fail(case) && (case.when.is_empty() || is_cheap(case));
        is_same && case.at.is_within(part.at) && (is_certain || is_harmless)
    }
}

/// Whether a case takes little time for each of its elements.
fn is_cheap(case: &Case) -> bool {
    match &case.rule {
        Rule::Apply { op, .. } => matches!(op.class(), Class::Identity | Class::Pointwise | Class::Layout),
        Rule::Copy(_) | Rule::Select { .. } | Rule::Restart { .. } | Rule::Read { .. } => true,
        Rule::Product { .. } | Rule::Sum { .. } | Rule::Input(_) => false,
    }
}

/// The operator of a term that adds up outer products: for matrices `a` and `b` of as many rows, the product of `a`
/// transposed with `b`.
pub fn outer_product() -> Op {
    Op::Einsum(Einsum::of(&[&['b', 'i'], &['b', 'j']], &['i', 'j']))
}

/// Whether a term with that operator adds up outer products.
pub fn is_outer_product(op: &Op) -> bool {
    matches!(op, Op::Einsum(e) if e.operands() == [['b', 'i'], ['b', 'j']] && e.result() == ['i', 'j'])
}
