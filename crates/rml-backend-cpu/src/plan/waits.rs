//! Blocks of plans that [wait](rml_plan::Plan::waits): it is found while a block runs how far tapes can be filled.
//!
//! Over all ticks, and in a loop forward, that follows from how far the operands are filled, before anything is
//! computed. For each part, a backward loop finds the latest tick at which all its inputs are available and runs
//! normally from there.

use rml_ir::Position;
use rml_ir::op::Number;

use super::Suspect;
use super::code::{Pass, Put};
use super::operand::Arg;
use super::run::Run;
use super::wants::{Lazy, Reads, Want};

/// The state of knowledge about an element.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    Present,
    Absent,
    Waits,
}

impl<N: Number> Run<'_, N> {
    /// Runs a pass as far as it does not wait.
    pub(super) fn wait(&mut self, k: usize, pass: &Pass) -> Result<(), Suspect> {
        if pass.backward {
            return self.wait_back(k, pass);
        }
        self.extend(pass);
        if pass.over {
            return pass.units.clone().try_for_each(|unit| self.over(unit));
        }
        if pass.lag > 0 {
            return self.stagger(pass);
        }
        let (code, ticks) = (self.code, self.bound.ticks);
        let parts = pass.parts.iter().map(|part| self.reached.tapes[part.tape]);
        let ends: Vec<usize> = pass.puts.iter().map(|put| self.reached.end(&put.wants, ticks)).collect();
        let all = parts.chain(ends.iter().copied()).min().unwrap_or(ticks);
        for t in 0..all {
            let p = Position::of(t, ticks);
            self.entries(&self.code.lists[k].at[p.index()], t)?;
            self.puts_at(&pass.puts, t, p);
        }
        for t in all..ticks {
            let p = Position::of(t, ticks);
            for unit in code.units[pass.units.clone()].iter().filter(|unit| unit.at.contains(p)) {
                if t < self.reached.tapes[unit.tape] {
                    self.unit(unit, t)?;
                }
            }
            for (put, _) in pass.puts.iter().zip(&ends).filter(|(_, end)| t < **end) {
                self.puts_at(std::slice::from_ref(put), t, p);
            }
        }
        Ok(())
    }

    /// A loop forward in which some parts lag ticks behind others.
    fn stagger(&mut self, pass: &Pass) -> Result<(), Suspect> {
        let (code, ticks) = (self.code, self.bound.ticks);
        for step in 0..ticks + pass.lag {
            for part in pass.parts.iter().filter(|part| step >= part.lag) {
                let t = step - part.lag;
                if t < self.reached.tapes[part.tape] {
                    let p = Position::of(t, ticks);
                    let mut units = code.units[part.units.clone()].iter().filter(|unit| unit.at.contains(p));
                    units.try_for_each(|unit| self.unit(unit, t))?;
                }
            }
        }
        Ok(())
    }

    /// How far the tapes of a pass are filled.
    fn extend(&mut self, pass: &Pass) {
        let ticks = self.bound.ticks;
        loop {
            let mut changed = false;
            for part in &pass.parts {
                let mut end = self.reached.end(&part.wants, ticks);
                if let Some(register) = part.reads {
                    // A register is read at the tick after its write.
                    let written = pass.puts.iter().filter(|put| put.register == register);
                    let written = written.map(|put| self.reached.end(&put.wants, ticks) + 1);
                    end = written.fold(end, usize::min);
                }
                changed |= end < self.reached.tapes[part.tape];
                self.reached.tapes[part.tape] = end.min(self.reached.tapes[part.tape]);
            }
            // In a loop, parts may read later parts at the previous tick, so repeat until nothing changes.
            if pass.over || !changed {
                return;
            }
        }
    }

    fn wait_back(&mut self, k: usize, pass: &Pass) -> Result<(), Suspect> {
        let ticks = self.bound.ticks;
        // From here on everything that other regions fill is available.
        let (outer, mut all) = (self.reached.end(&pass.outer, ticks), false);
        self.reached.there.iter_mut().for_each(|bits| bits.fill(false));
        // It is not known what the ticks after the block write.
        pass.puts.iter().for_each(|put| self.reached.known[put.register] = false);
        for t in (0..ticks).rev() {
            if all && t < outer {
                return self.go_on_back(k, pass, t);
            }
            all = self.step_back(pass, t)?;
        }
        Ok(())
    }

    /// Runs a tick of a backward loop, part by part. Returns whether all parts are available.
    fn step_back(&mut self, pass: &Pass, t: usize) -> Result<bool, Suspect> {
        let (code, p) = (self.code, Position::of(t, self.bound.ticks));
        self.reached.there.swap(0, 1);
        let mut all = true;
        for part in &pass.parts {
            let lazy = if t == 0 { &part.lazy[0] } else { &part.lazy[1] };
            let known = lazy.as_ref().map_or(Known::Absent, |lazy| self.look(pass, lazy, t));
            if known == Known::Present {
                for unit in code.units[part.units.clone()].iter().filter(|unit| unit.at.contains(p)) {
                    self.unit(unit, t)?;
                }
            }
            self.reached.there[0][part.tape] = known != Known::Waits;
            if known == Known::Waits {
                self.reached.tapes[part.tape] = t;
                all = false;
            }
        }
        for put in pass.puts.iter().filter(|put| put.at.contains(p)) {
            let known = self.look_at(pass, put, t);
            if known != Known::Absent {
                self.reached.known[put.register] = known == Known::Present;
            }
            if known == Known::Present {
                self.puts_at(std::slice::from_ref(put), t, p);
            }
        }
        Ok(all && pass.puts.iter().all(|put| self.reached.known[put.register]))
    }

    /// Runs the ticks from `from` back to the first one. Everything is available at these ticks.
    fn go_on_back(&mut self, k: usize, pass: &Pass, from: usize) -> Result<(), Suspect> {
        let ticks = self.bound.ticks;
        for t in (1..=from).rev() {
            let p = Position::of(t, ticks);
            self.entries(&self.code.lists[k].at[p.index()], t)?;
            self.puts_at(&pass.puts, t, p);
        }
        self.reached.there.iter_mut().for_each(|bits| bits.fill(true));
        self.step_back(pass, 0).map(|_| ())
    }

    /// What is known about the tapes of a part at a tick.
    fn look(&self, pass: &Pass, lazy: &Lazy, t: usize) -> Known {
        let guarded = self.guards(pass, &lazy.when, t);
        if guarded != Known::Present {
            return guarded;
        }
        let there = |want: &Option<Want>| self.is_there(pass, *want, t);
        let is_there = match &lazy.reads {
            Reads::All(wants) => wants.iter().all(there),
            Reads::Select { cond: (want, cond), then, other } => {
                there(want) && there(if self.truth(*cond, t) { then } else { other })
            }
            Reads::Restart { ends, init, next } => {
                ends.iter().all(|(want, _)| there(want))
                    && there(if ends.iter().any(|(_, end)| self.truth(*end, t)) { init } else { next })
            }
            Reads::Register { register, init } => {
                self.reached.known[*register] && (self.set[*register] || init.as_ref().is_some_and(there))
            }
        };
        if is_there { Known::Present } else { Known::Waits }
    }

    /// What is known about the write of a register at a tick.
    fn look_at(&self, pass: &Pass, put: &Put, t: usize) -> Known {
        let mut ends = put.lazy.unless.iter().zip(&put.unless);
        if ends.any(|(want, end)| self.is_there(pass, *want, t) && self.truth(*end, t)) {
            return Known::Present;
        }
        if !put.lazy.unless.iter().all(|want| self.is_there(pass, *want, t)) {
            return Known::Waits;
        }
        match self.guards(pass, &put.lazy.when, t) {
            Known::Present if !self.is_there(pass, put.lazy.value, t) => Known::Waits,
            known => known,
        }
    }

    fn guards(&self, pass: &Pass, when: &[(Option<Want>, Arg, bool)], t: usize) -> Known {
        for (want, cond, value) in when {
            if !self.is_there(pass, *want, t) {
                return Known::Waits;
            }
            if self.truth(*cond, t) != *value {
                return Known::Absent;
            }
        }
        Known::Present
    }

    /// Whether an operand is available, as seen from a tick of a loop backward.
    fn is_there(&self, pass: &Pass, want: Option<Want>, t: usize) -> bool {
        let Some(want) = want else { return true };
        match (pass.fills[want.tape], want.by) {
            (true, 0) => self.reached.there[0][want.tape],
            (true, _) => t + 1 < self.bound.ticks && self.reached.there[1][want.tape],
            (false, _) => want.far(t) < self.reached.tapes[want.tape],
        }
    }
}
