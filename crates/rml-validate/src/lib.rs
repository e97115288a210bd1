//! Validation of plans: for each plan, a proof that it computes its program.
//!
//! The scheduler is not trusted. It supplies a [`Witness`]: for each tape the variable of the program that it claims to
//! hold, and for each register the delay. The rules below are checked for all windows, of any length, from the
//! equations of these variables and from the facts about the program, which have their own verifiers (K1 to K5, A1 to
//! A10). A plan that satisfies them gives the same cells as the simulator: by induction over the order in which
//! elements are filled, each holds the value of its variable. That each element is filled once, before it is read, and
//! in what order it may be filled, are the invariants of plans (P1 to P9). Their verifier shares no code with the
//! scheduler either. The rules are about meaning alone.
//!
//! - **V1** *ports*: precision, inputs and outputs are those of the program, in order, with their names and types.
//! - **V2** *window*: a window of the plan ends where outermost windows of the program end; or the plan has no ends,
//!   and any block is a window.
//! - **V3** *claims*: each tape and each register has the type of the variable that it is claimed to be.
//! - **V4** *presence*: the guards of a case, an output or a write are the conditions of the variable's clock, in
//!   order, except those known to hold. An output has a case wherever it may be present.
//! - **V5** *values*: the rule of a case is the equation of its variable, and each operand equals the operand of the
//!   equation. Values are equal if copies, delays, decided branches or facts make them equal, or if the same operator
//!   is applied to equal operands on one clock, at every position that neighbouring ticks may have. A variable that
//!   takes a state at its first tick in a window, and keeps it to the end, may read the state's register. A condition
//!   that stands for the end of a window is false where the end is absent. A part of a variable is cut from it, or
//!   joined from parts of it. A continued product adds the product of the factors' trailing parts to that of their
//!   leading parts. Where a plan waits, a proof about a value uses later ticks only as far as the value reads them.
//! - **V6** *sums*: a sum replaces a recurrence that adds one term at each tick, in its order, from a constant on.
//! - **V7** *registers*: a register is read where its delay is active, before it is written. Each active tick leaves
//!   the delayed value in it; the end of a window of the program clears it, whether the delay is active there or not.
//!   All states of the program are kept by their keys; a block also keeps all delays of windows that may be open when
//!   it ends.
//! - **V8** *failures*: an operator that may fail is computed wherever its operands have values, by a tape or as the
//!   term of a sum, even if nothing reads it.
//!
//! It shares no code with the scheduler, and its time is near-linear in the size of program and plan.

use rml_analysis::{Clocks, Facts, Position};
use rml_base::{EntityId, IndexVec};
use rml_ir::flat::{Drawn, Var};
use rml_plan::{Atom, Guard, Plan, Reg, Tape, Tick};

mod cases;
mod claim;
mod ends;
mod equal;
mod failing;
mod frame;
mod parts;
mod ports;
mod registers;
mod sums;
mod twins;
mod view;
mod waits;

pub use claim::{AxisRange, Claim};
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

/// Proves that a plan computes a program: P1 to P9, which [`rml_plan::verify`] checks, and V1 to V8.
///
/// Requires: clocks and facts of that program.
///
/// # Errors
/// What is not proved, one line for each, which begins with the invariant or the rule.
pub fn validate(
    flat: &Drawn,
    clocks: &Clocks,
    facts: &Facts,
    plan: &Plan,
    witness: &Witness,
) -> Result<(), Vec<String>> {
    let mut found = rml_plan::verify(plan).err().unwrap_or_default();
    if rml_plan::dangling(plan).is_some() {
        return Err(found);
    }
    let fits = witness.tapes.len() == plan.tapes.len() && witness.registers.len() == plan.registers.len();
    let mut claimed = witness.tapes.iter().map(|claim| claim.var()).chain(witness.registers.iter().copied());
    if !fits || claimed.any(|v| v.index() >= flat.vars.len()) {
        found.push("V3: the claims do not fit the plan".to_owned());
        return Err(found);
    }
    let frame = match Frame::of(flat, clocks, facts, plan, witness) {
        Ok(frame) => frame,
        Err(why) => {
            found.push(format!("V2: {why}"));
            return Err(found);
        }
    };
    let checker = Checker { frame: &frame, plan, witness, equal: Equal::new(&frame, plan, witness) };
    ports::check(&checker, &mut found);
    cases::check(&checker, &mut found);
    registers::check(&checker, &mut found);
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
