//! Blocks of a program that [waits](crate::Program::waits).

use rml_base::IndexVec;

use super::{Domain, Fault, Window};
use crate::{
    Access, Guard, Home, NestNode, NestProgram, NestStage, Order, Positions, Slot, Test, Tick, Variants,
    Write,
};

/// The available part of a block.
#[derive(Debug)]
pub(super) struct Waits {
    /// For each stage of each node, at which ticks it is done: it has run, or is known not to.
    passed: Vec<Vec<Vec<bool>>>,
    /// The stages that fill each slot.
    fillers: IndexVec<Slot, Vec<(usize, usize)>>,
    /// Registers whose value is not known.
    unknown: IndexVec<Slot, bool>,
}

/// The state of knowledge about a stage.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Known {
    Runs,
    Rests,
    Waits,
}

impl Waits {
    pub(super) fn new(program: &NestProgram) -> Self {
        let mut waits = Waits {
            passed: program.nodes.iter().map(|node| vec![Vec::new(); node.stages.len()]).collect(),
            fillers: IndexVec::filled(Vec::new(), program.slots.len()),
            unknown: IndexVec::filled(false, program.slots.len()),
        };
        for (n, node) in program.nodes.iter().enumerate().filter(|_| program.waits) {
            for (i, stage) in node.stages.iter().enumerate() {
                stage.fills().for_each(|slot| waits.fillers[slot].push((n, i)));
            }
            // It is not known what the ticks after the block write.
            if node.order == Order::Backward {
                node.writes.iter().for_each(|w| waits.unknown[w.register] = true);
            }
        }
        waits
    }
}

impl<D: Domain> Window<'_, D> {
    pub(super) fn wait(&mut self, n: usize, node: &NestNode) -> Result<(), Fault> {
        self.done = self.ticks;
        self.waits.passed[n].iter_mut().for_each(|ticks| *ticks = vec![false; self.ticks]);
        match node.order {
            Order::Over => {
                for i in 0..node.stages.len() {
                    for t in 0..self.ticks {
                        self.advance((n, i), &node.stages[i], t)?;
                    }
                }
            }
            Order::Forward if node.writes.is_empty() => {
                // Some stages may lag behind others, because they read their next ticks.
                let mut next = vec![0; node.stages.len()];
                loop {
                    let before = next.clone();
                    for (i, t) in next.iter_mut().enumerate() {
                        *t += usize::from(*t < self.ticks && self.advance((n, i), &node.stages[i], *t)?);
                    }
                    if next == before {
                        break;
                    }
                }
            }
            Order::Forward => {
                for t in 0..self.ticks {
                    for (i, stage) in node.stages.iter().enumerate() {
                        self.advance((n, i), stage, t)?;
                    }
                    for write in &node.writes {
                        let there = !self.waits.unknown[write.register] && self.is_ready(write, t);
                        self.waits.unknown[write.register] = !there;
                        if there {
                            self.write(std::slice::from_ref(write), t)?;
                        }
                    }
                }
            }
            Order::Backward => self.backward(n, node)?,
        }
        Ok(())
    }

    fn backward(&mut self, n: usize, node: &NestNode) -> Result<(), Fault> {
        for t in (0..self.ticks).rev() {
            for (i, stage) in node.stages.iter().enumerate() {
                let known = self.known(stage, t)?;
                if known == Known::Runs {
                    self.run(stage, t)?;
                }
                self.waits.passed[n][i][t] = known != Known::Waits;
            }
            node.writes.iter().try_for_each(|write| self.write_back(write, t))?;
        }
        // Once a tick waits, all further ticks wait, too.
        for ticks in &mut self.waits.passed[n] {
            let end = ticks.iter().position(|passed| !passed).unwrap_or(ticks.len());
            ticks[end..].fill(false);
        }
        Ok(())
    }

    /// Counts the finished ticks, and writes the registers of forward loops at these.
    pub(super) fn write_done(&mut self) -> Result<(), Fault> {
        let program = self.program;
        let forward = program.nodes.iter().filter(|node| node.order == Order::Forward);
        let writes: Vec<Write> = forward.flat_map(|node| &node.writes).cloned().collect();
        let is_done = |t: &usize| {
            let p = self.position(*t);
            let mut cases =
                program.outputs.iter().flat_map(|o| o.cases.iter().filter(|(at, ..)| at.contains(p)));
            let mut failing =
                program.nodes.iter().flat_map(|node| &node.stages).filter(|stage| stage.may_fail);
            cases.all(|(_, when, source)| self.are_there(when, *t) && self.is_all_there(source, *t))
                && failing.all(|stage| {
                    !stage.at.contains(p)
                        || stage.fills().all(|slot| self.is_there(&Access::scalar(slot, Tick::Now), *t))
                })
                && writes.iter().chain(&program.commits).all(|w| self.is_ready(w, *t))
        };
        self.done = (0..self.ticks).take_while(is_done).count();
        self.kept = std::mem::take(&mut self.after);
        (0..self.done).try_for_each(|t| self.write(&writes, t))
    }

    /// Runs a stage at a tick, if it is done at all earlier ticks and everything that it reads is available. Returns
    /// whether it is done.
    fn advance(&mut self, (n, i): (usize, usize), stage: &NestStage, t: usize) -> Result<bool, Fault> {
        if t > 0 && !self.waits.passed[n][i][t - 1] {
            return Ok(false);
        }
        let is_there = !stage.at.contains(self.position(t))
            || self.are_there(&stage.when, t)
                && stage.sources().into_iter().all(|source| self.is_all_there(source, t));
        if is_there {
            self.run(stage, t)?;
            self.waits.passed[n][i][t] = true;
        }
        Ok(is_there)
    }

    /// Whether a stage of a backward loop runs at a tick, judged only by the operands that decide this.
    fn known(&self, stage: &NestStage, t: usize) -> Result<Known, Fault> {
        if !stage.at.contains(self.position(t)) {
            return Ok(Known::Rests);
        }
        let guarded = self.guarded(&stage.when, t)?;
        if guarded != Known::Runs {
            return Ok(guarded);
        }
        for source in stage.sources() {
            if !self.is_chosen_there(source, t)? {
                return Ok(Known::Waits);
            }
        }
        Ok(Known::Runs)
    }

    /// Whether guards hold. They are tested in order, up to the first that does not hold or is not available.
    fn guarded(&self, when: &[Guard], t: usize) -> Result<Known, Fault> {
        for guard in when {
            if !self.is_there(&guard.cond, t) {
                return Ok(Known::Waits);
            }
            if !self.holds(std::slice::from_ref(guard), t)? {
                return Ok(Known::Rests);
            }
        }
        Ok(Known::Runs)
    }

    /// Writes a register at a tick of a backward loop. If it is not known what is written, the register becomes
    /// unknown.
    fn write_back(&mut self, write: &Write, t: usize) -> Result<(), Fault> {
        if !write.at.contains(self.position(t)) {
            return Ok(());
        }
        let mut decided = true;
        for end in &write.unless {
            let there = self.is_there(end, t);
            if there && self.truth(end, t)? {
                self.kept[write.register] = None;
                self.waits.unknown[write.register] = false;
                return Ok(());
            }
            decided &= there;
        }
        let guarded = if decided { self.guarded(&write.when, t)? } else { Known::Waits };
        if guarded == Known::Rests {
            return Ok(());
        }
        let is_known = guarded == Known::Runs && self.is_chosen_there(&write.value, t)?;
        self.waits.unknown[write.register] = !is_known;
        if is_known { self.write(std::slice::from_ref(write), t) } else { Ok(()) }
    }

    /// Whether everything that a write needs at a tick is available. The tick may turn out to be the last finished one.
    fn is_ready(&self, write: &Write, t: usize) -> bool {
        let at = if t == 0 { Positions::STARTS } else { Positions::AFTER_START };
        write.at.and(at).is_empty()
            || self.are_there(&write.when, t)
                && write.unless.iter().all(|cond| self.is_there(cond, t))
                && self.are_all_there(&write.value, at, t)
    }

    fn are_there(&self, guards: &[Guard], t: usize) -> bool {
        guards.iter().all(|guard| self.is_there(&guard.cond, t))
    }

    fn is_tested(&self, test: &Test, t: usize) -> bool {
        match test {
            Test::Is(guard) => self.is_there(&guard.cond, t),
            Test::IsSet(register) => !self.waits.unknown[*register],
        }
    }

    /// Whether all variants of a source that may apply at a tick are available.
    fn is_all_there(&self, source: &Variants, t: usize) -> bool {
        self.are_all_there(source, Positions::NONE.with(self.position(t)), t)
    }

    /// The same, for variants at any of these positions.
    fn are_all_there(&self, source: &Variants, at: Positions, t: usize) -> bool {
        let mut here = source.iter().filter(|variant| !variant.at.and(at).is_empty());
        here.all(|v| v.any.iter().all(|test| self.is_tested(test, t)) && self.is_there(&v.access, t))
    }

    /// Whether it is known which variant applies, and that one is available.
    fn is_chosen_there(&self, source: &Variants, t: usize) -> Result<bool, Fault> {
        let p = self.position(t);
        for variant in source.iter().filter(|variant| variant.at.contains(p)) {
            if !variant.any.iter().all(|test| self.is_tested(test, t)) {
                return Ok(false);
            }
            if self.applies(variant, t)? {
                let slot = variant.access.slot;
                let is_register = matches!(self.program.slots[slot].home, Home::Register { .. });
                return Ok(self.is_there(&variant.access, t) && (!is_register || self.kept[slot].is_some()));
            }
        }
        Ok(false)
    }

    /// Whether an element is available, as seen from a tick.
    fn is_there(&self, access: &Access, t: usize) -> bool {
        let slot = access.slot;
        let at = match access.tick {
            Tick::Now => Some(t),
            Tick::Before => t.checked_sub(1),
            Tick::After => Some(t + 1),
            Tick::First | Tick::Last => None,
        };
        match self.program.slots[slot].home {
            Home::Const(_) => true,
            Home::Register { .. } => !self.waits.unknown[slot],
            Home::Input => at.is_some_and(|at| at < self.ticks),
            Home::Tick { .. } => at.is_some_and(|at| {
                let passed = |(n, i): &(usize, usize)| self.waits.passed[*n][*i].get(at) == Some(&true);
                self.waits.fillers[slot].iter().all(passed)
            }),
        }
    }
}
