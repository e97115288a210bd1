//! Blocks of a plan that [waits](super::Plan::waits).

use rml_base::IndexVec;
use rml_ir::Positions;

use super::{Case, Fault, Window};
use crate::{Atom, Guard, Output, Part, Plan, Reg, Region, Rule, Tape, Tick, Write};

/// The available part of a block.
#[derive(Debug)]
pub(super) struct Waits {
    /// For each tape, the ticks at which it is available: it has a value, or is known to be absent.
    there: IndexVec<Tape, Vec<bool>>,
    /// Registers whose value is not known.
    unknown: IndexVec<Reg, bool>,
}

/// The state of knowledge about an element.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Known {
    Present,
    Absent,
    Waits,
}

impl Waits {
    pub(super) fn new(plan: &Plan, ticks: usize) -> Self {
        let mut unknown = IndexVec::filled(false, plan.registers.len());
        for region in plan.regions.iter().filter(|_| plan.waits) {
            // It is not known what the ticks after the block write.
            if let Region::Loop { backward: true, writes, .. } = region {
                writes.iter().for_each(|w| unknown[w.register] = true);
            }
        }
        Self { there: IndexVec::filled(vec![false; ticks], plan.tapes.len()), unknown }
    }
}

impl Window<'_> {
    pub(super) fn wait(&mut self, region: &Region) -> Result<(), Fault> {
        self.done = self.ticks;
        match region {
            Region::Over(parts) => parts
                .iter()
                .try_for_each(|part| (0..self.ticks).try_for_each(|t| self.advance(*part, t).map(|_| ()))),
            Region::Loop { backward: false, parts, writes, .. } if writes.is_empty() => {
                // Some parts may lag behind others, because they read their next ticks.
                let mut next = vec![0; parts.len()];
                loop {
                    let before = next.clone();
                    for (part, t) in parts.iter().zip(&mut next) {
                        *t += usize::from(*t < self.ticks && self.advance(*part, *t)?);
                    }
                    if next == before {
                        return Ok(());
                    }
                }
            }
            Region::Loop { backward: false, parts, writes, .. } => (0..self.ticks).try_for_each(|t| {
                parts.iter().try_for_each(|part| self.advance(*part, t).map(|_| ()))?;
                for write in writes {
                    let there = !self.waits.unknown[write.register] && self.is_ready(write, t);
                    self.waits.unknown[write.register] = !there;
                    if there {
                        self.write(std::slice::from_ref(write), t)?;
                    }
                }
                Ok(())
            }),
            Region::Loop { backward: true, parts, writes, .. } => {
                for t in (0..self.ticks).rev() {
                    parts.iter().try_for_each(|part| self.look_back(*part, t))?;
                    writes.iter().try_for_each(|write| self.write_back(write, t))?;
                }
                // Once a tick waits, all further ticks wait, too.
                for part in parts {
                    let there = &mut self.waits.there[part.tape];
                    let end = there.iter().position(|there| !there).unwrap_or(there.len());
                    there[end..].fill(false);
                }
                Ok(())
            }
        }
    }

    /// Counts the finished ticks, and writes the registers of forward loops at these.
    pub(super) fn write_done(&mut self) -> Result<(), Fault> {
        let plan = self.plan;
        let looped = plan.regions.iter().filter_map(|region| match region {
            Region::Loop { backward: false, writes, .. } => Some(writes),
            _ => None,
        });
        let writes: Vec<Write> = looped.flatten().cloned().collect();
        let is_done = |t: &usize| {
            let p = self.position(*t);
            let mut taken = plan.outputs.iter().flat_map(Output::reads).filter(|(at, _)| at.contains(p));
            let mut failing = plan
                .tapes
                .iter_enumerated()
                .filter(|(_, data)| data.cases.iter().any(|case| case.at.contains(p) && plan.may_fail(case)));
            taken.all(|(_, atom)| self.is_there(atom, *t))
                && failing.all(|(tape, _)| self.is_there(Atom::Tape(tape, Tick::Now), *t))
                && writes.iter().chain(&plan.commits).all(|w| self.is_ready(w, *t))
        };
        self.done = (0..self.ticks).take_while(is_done).count();
        (0..self.done).try_for_each(|t| self.write(&writes, t))
    }

    /// Fills a tape at a tick, if it is filled at all earlier ticks and everything that its case reads is available.
    /// Returns whether that was the case.
    fn advance(&mut self, part: Part, t: usize) -> Result<bool, Fault> {
        if t > 0 && !self.waits.there[part.tape][t - 1] {
            return Ok(false);
        }
        let is_there = self.plan.tapes[part.tape].case(self.position(t)).is_none_or(|case| {
            let is_known = case.rule.register().is_none_or(|register| !self.waits.unknown[register]);
            is_known && case.reads().all(|atom| self.is_there(atom, t))
        });
        if is_there {
            self.fill(&part, t)?;
            self.waits.there[part.tape][t] = true;
        }
        Ok(is_there)
    }

    /// Fills a tape at a tick of a backward loop, if the operands that decide its value are available.
    fn look_back(&mut self, part: Part, t: usize) -> Result<(), Fault> {
        let case = self.plan.tapes[part.tape].case(self.position(t));
        let known = case.map_or(Ok(Known::Absent), |case| self.known(case, t))?;
        if known == Known::Present {
            self.fill(&part, t)?;
        }
        self.waits.there[part.tape][t] = known != Known::Waits;
        Ok(())
    }

    fn known(&self, case: &Case, t: usize) -> Result<Known, Fault> {
        let guarded = self.guarded(&case.when, t)?;
        if guarded != Known::Present {
            return Ok(guarded);
        }
        let all = |atoms: &[Atom]| atoms.iter().all(|atom| self.is_there(*atom, t));
        let is_there = match &case.rule {
            Rule::Select { cond, then, other } => {
                all(&[*cond]) && all(&[if self.truth(*cond, t)? { *then } else { *other }])
            }
            Rule::Restart { ends, init, next } if all(ends) => {
                let ended = ends.iter().map(|e| self.truth(*e, t)).collect::<Result<Vec<_>, _>>()?;
                all(&[if ended.contains(&true) { *init } else { *next }])
            }
            Rule::Restart { .. } => false,
            Rule::Read { register, init } => {
                let is_set = self.registers[*register].is_some();
                !self.waits.unknown[*register] && (is_set || init.is_some_and(|init| all(&[init])))
            }
            rule => all(&rule.operands()),
        };
        Ok(if is_there { Known::Present } else { Known::Waits })
    }

    /// Whether guards hold. They are tested in order, up to the first that does not hold or is not available.
    fn guarded(&self, when: &[Guard], t: usize) -> Result<Known, Fault> {
        for guard in when {
            if !self.is_there(guard.cond, t) {
                return Ok(Known::Waits);
            }
            if !self.is(guard, t)? {
                return Ok(Known::Absent);
            }
        }
        Ok(Known::Present)
    }

    /// Writes a register at a tick of a backward loop. If it is not known what is written, the register becomes
    /// unknown.
    fn write_back(&mut self, write: &Write, t: usize) -> Result<(), Fault> {
        if !write.at.contains(self.position(t)) {
            return Ok(());
        }
        let mut decided = true;
        for end in &write.unless {
            let there = self.is_there(*end, t);
            if there && self.truth(*end, t)? {
                self.registers[write.register] = None;
                self.waits.unknown[write.register] = false;
                return Ok(());
            }
            decided &= there;
        }
        let guarded = if decided { self.guarded(&write.when, t)? } else { Known::Waits };
        if guarded == Known::Absent {
            return Ok(());
        }
        let is_known = guarded == Known::Present && self.is_there(write.value, t);
        self.waits.unknown[write.register] = !is_known;
        if is_known { self.write(std::slice::from_ref(write), t) } else { Ok(()) }
    }

    /// Whether everything that a write needs at a tick is available. The tick may turn out to be the last finished one.
    fn is_ready(&self, write: &Write, t: usize) -> bool {
        let at = if t == 0 { Positions::STARTS } else { Positions::AFTER_START };
        write.at.and(at).is_empty() || write.reads().all(|atom| self.is_there(atom, t))
    }

    /// Whether an operand is available, as seen from a tick.
    fn is_there(&self, atom: Atom, t: usize) -> bool {
        let Atom::Tape(tape, tick) = atom else { return true };
        let at = tick.offset().and_then(|by| t.checked_add_signed(by));
        at.and_then(|at| self.waits.there[tape].get(at)).is_some_and(|there| *there)
    }
}
