//! Validation of plans: for each plan, a proof that it computes its program.
//!
//! The scheduler is not trusted. It supplies a [`Witness`]: for each tape the variable of the program that it claims to
//! hold, and for each register the delay. The rules below are checked for all windows, of any length, from the
//! equations of these variables and from the facts about the program, which have their own verifiers (K1 to K5, A1 to
//! A10). A plan that satisfies them gives the same cells as the simulator: by induction over the order in which
//! elements are filled, each holds the value of its variable.
//!
//! - **V1** *ports*: precision, inputs and outputs are those of the program, in order, with their names and types.
//! - **V2** *window*: a window of the plan ends where outermost windows of the program end; or the plan has no ends,
//!   and any block is a window. If the plan computes the end itself, this does not depend on whether a tick is the last
//!   one.
//! - **V3** *claims*: each tape and each register has the type of the variable that it is claimed to be, and no tape
//!   has two cases at a position.
//! - **V4** *presence*: the guards of a case, an output or a write are the conditions of the variable's clock, in
//!   order, except those known to hold. An output has a case wherever it may be present.
//! - **V5** *values*: the rule of a case is the equation of its variable, and each operand equals the operand of the
//!   equation. Values are equal if copies, delays, decided branches or facts make them equal, or if the same operator
//!   is applied to equal operands on one clock, at every position that neighbouring ticks may have. A variable that
//!   takes a state at its first tick in a window, and keeps it to the end, may read the state's register. A condition
//!   that stands for the end of a window is false where the end is absent. A part of a variable is cut from it, or
//!   joined from parts of it. A continued product adds the product of the factors' trailing parts to that of their
//!   leading parts.
//! - **V6** *sums*: a sum replaces a recurrence that adds one term at each tick, in its order, from a constant on.
//! - **V7** *registers*: a register is read where its delay is active, before it is written. Each active tick leaves
//!   the delayed value in it; the end of a window of the program clears it, whether the delay is active there or not.
//!   All states of the program are kept by their keys; a block also keeps all delays of windows that may be open when
//!   it ends.
//! - **V8** *order*: each element is filled once, before it is read; where a plan looks ahead, as far as it is read.
//!   Where it waits, no tick is known to be the last one, and a proof about a value uses later ticks only as far as the
//!   value reads them.
//! - **V9** *sequences*: the sequences of a loop do not depend on each other.
//! - **V10** *failures*: an operator that may fail is computed wherever its operands have values, by a tape or as the
//!   term of a sum, even if nothing reads it.
//!
//! It shares no code with the scheduler, and its time is near-linear in the size of program and plan.

use std::collections::BTreeSet;

use rml_analysis::{Clocks, Facts, Position};
use rml_base::{EntityId, IndexVec};
use rml_ir::flat::{Drawn, Var};
use rml_plan::{Atom, Guard, Plan, Reg, Region, Rule, Tape, Tick, Write};

mod cases;
mod claim;
mod ends;
mod equal;
mod failing;
mod frame;
mod order;
mod parts;
mod ports;
mod reach;
mod registers;
mod sequences;
mod sums;
mod twins;
mod view;
mod waits;

pub use claim::{Claim, Cut};
use equal::Equal;
use frame::Frame;

/// What the scheduler claims about a plan; the claims are not trusted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Witness {
    /// What each tape holds.
    pub tapes: IndexVec<Tape, Claim>,
    /// The delay or parameter whose value each register keeps.
    pub registers: IndexVec<Reg, Var>,
}

/// Proves that a plan computes a program: V1 to V10.
///
/// Requires: clocks and facts of that program.
///
/// # Errors
/// What is not proved, one line for each, which begins with the rule.
pub fn validate(
    flat: &Drawn,
    clocks: &Clocks,
    facts: &Facts,
    plan: &Plan,
    witness: &Witness,
) -> Result<(), Vec<String>> {
    if let Some(found) = dangling(flat, plan, witness) {
        return Err(vec![format!("V3: {found}")]);
    }
    let frame =
        Frame::of(flat, clocks, facts, plan, witness).map_err(|found| vec![format!("V2: {found}")])?;
    let checker = Checker { frame: &frame, plan, witness, equal: Equal::new(&frame, plan, witness) };
    let mut found = Vec::new();
    ports::check(&checker, &mut found);
    cases::check(&checker, &mut found);
    registers::check(&checker, &mut found);
    order::check(plan, &mut found);
    sequences::check(plan, &mut found);
    failing::check(&checker, &mut found);
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// What all rules are checked with.
struct Checker<'a> {
    frame: &'a Frame<'a>,
    plan: &'a Plan,
    witness: &'a Witness,
    equal: Equal<'a>,
}

impl Checker<'_> {
    /// Whether an operand, as seen from a tick at a position, is that variable at that tick.
    fn is(&self, atom: Atom, v: Var, (p, filled): (Position, u32)) -> bool {
        self.frame.views(p, filled).all(|view| self.equal.is(atom, v, Tick::Now, view))
    }

    /// V4: whether guards hold exactly where a variable is present, at a position.
    fn is_present(&self, when: &[Guard], v: Var, at: (Position, u32)) -> bool {
        self.are_guards(when, &self.frame.samplings(v), at)
    }

    /// V4: whether guards are conditions, in order, but for those known to hold at a position.
    fn are_guards(&self, when: &[Guard], conditions: &[(Var, bool)], (p, filled): (Position, u32)) -> bool {
        let mut guards = when.iter().peekable();
        for &(cond, value) in conditions {
            if guards.next_if(|g| g.value == value && self.is(g.cond, cond, (p, filled))).is_none()
                && self.frame.truth(cond, p) != Some(value)
            {
                return false;
            }
        }
        guards.next().is_none()
    }
}

/// An id that stands for nothing.
fn dangling(flat: &Drawn, plan: &Plan, witness: &Witness) -> Option<String> {
    let fits = witness.tapes.len() == plan.tapes.len() && witness.registers.len() == plan.registers.len();
    let mut claimed = witness.tapes.iter().map(|claim| claim.var()).chain(witness.registers.iter().copied());
    if !fits || claimed.any(|v| v.index() >= flat.vars.len()) {
        return Some("the claims do not fit the plan".to_owned());
    }
    let mut found = None;
    let mut atom = |a: Atom| {
        let is_there = match a {
            Atom::Const(k) => k.index() < plan.consts.len(),
            Atom::Tape(t, _) => t.index() < plan.tapes.len(),
        };
        if !is_there {
            found = Some(format!("{a:?} is not in the plan"));
        }
    };
    for case in plan.tapes.iter().flat_map(|t| &t.cases) {
        case.when.iter().for_each(|g| atom(g.cond));
        case.rule.operands().into_iter().for_each(&mut atom);
        if let Rule::Sum { terms, .. } = &case.rule {
            terms.iter().flat_map(rml_plan::Term::reads).for_each(&mut atom);
        }
    }
    for write in writes(plan) {
        write.when.iter().for_each(|g| atom(g.cond));
        write.unless.iter().chain([&write.value]).for_each(|a| atom(*a));
    }
    plan.ends.found().iter().for_each(|g| atom(g.cond));
    for (_, when, value) in plan.outputs.iter().flat_map(|o| &o.cases) {
        when.iter().for_each(|g| atom(g.cond));
        atom(*value);
    }
    let registers: BTreeSet<Reg> = writes(plan)
        .map(|w| w.register)
        .chain(plan.tapes.iter().flat_map(|t| &t.cases).filter_map(|c| match c.rule {
            Rule::Read { register, .. } => Some(register),
            _ => None,
        }))
        .collect();
    let parts = plan.regions.iter().flat_map(Region::parts);
    if parts.into_iter().any(|part| part.tape.index() >= plan.tapes.len())
        || registers.into_iter().any(|r| r.index() >= plan.registers.len())
    {
        return Some("a part or a register is not in the plan".to_owned());
    }
    found
}

/// All writes to registers.
fn writes(plan: &Plan) -> impl Iterator<Item = &Write> {
    let written = plan.regions.iter().flat_map(|region| match region {
        Region::Loop { writes, .. } => writes.as_slice(),
        Region::Over(_) => &[],
    });
    plan.commits.iter().chain(written)
}
