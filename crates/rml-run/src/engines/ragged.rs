//! Windows on other backends than the embedded one. The embedded backend runs two kinds of windows in their place: on
//! backends that compile, windows of further lengths after a bounded number of lengths, since its code serves all
//! lengths; and windows that do not fit in memory as a whole, since it runs them in segments.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rml_backend::Held;
use rml_backend_cpu::plan::{Machine as Embedded, TooLong};
use rml_base::Diagnostic;
use rml_base::profile::Scope;
use rml_ir::op::Number;
use rml_ir::{Data, Precision};
use rml_lower::{Fault, Machine as Lowered};
use rml_plan::Plan;

use super::machine::Machine;

/// The lengths of windows that are compiled for a plan: those that come first, in all its runs.
#[derive(Debug)]
pub(super) struct Lengths {
    own: Mutex<BTreeSet<usize>>,
    /// How many there are of all plans of the engine.
    all: Arc<Mutex<usize>>,
}

impl Lengths {
    /// How many there are at most of all plans of an engine together.
    pub(super) const MOST: usize = 64;

    /// None yet; `all` is that of the engine.
    pub(super) fn new(all: Arc<Mutex<usize>>) -> Self {
        Self { own: Mutex::default(), all }
    }

    /// Whether a window of that length may be compiled; then it counts as compiled.
    fn admit(&self, ticks: usize) -> bool {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let admits = own.contains(&ticks) || *all < Self::MOST;
        if admits && own.insert(ticks) {
            *all += 1;
        }
        admits
    }
}

/// A program that is gone makes room for others.
impl Drop for Lengths {
    fn drop(&mut self) {
        let own = self.own.get_mut().unwrap_or_else(PoisonError::into_inner);
        *self.all.lock().unwrap_or_else(PoisonError::into_inner) -= own.len();
    }
}

/// A plan on a backend, and on the embedded one where that is better.
pub(super) struct Ragged<N: Number> {
    plan: Arc<Plan>,
    lowered: Lowered,
    /// From the first window on that it runs.
    embedded: Option<Embedded<N>>,
    threads: usize,
    profile: Option<Scope>,
    /// Those that are compiled, if the backend compiles.
    lengths: Option<Arc<Lengths>>,
    /// Whether the embedded backend has the registers as they are now.
    embedded_holds: bool,
    /// Whether it gets the inputs that are set, and has run the last window.
    embedded_runs: bool,
}

impl<N: Number> fmt::Debug for Ragged<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ragged").field("lengths", &self.lengths).finish_non_exhaustive()
    }
}

impl<N: Number> Ragged<N> {
    pub(super) fn new(
        plan: Arc<Plan>,
        lowered: Lowered,
        threads: usize,
        lengths: Option<Arc<Lengths>>,
        profile: Option<&Scope>,
    ) -> Self {
        let (embedded_holds, embedded_runs, profile) = (false, false, profile.cloned());
        Self { plan, lowered, embedded: None, threads, profile, lengths, embedded_holds, embedded_runs }
    }

    /// The embedded machine, if it has the registers.
    fn holder(&self) -> Option<&Embedded<N>> {
        self.embedded.as_ref().filter(|_| self.embedded_holds)
    }

    /// Moves the registers to the backend.
    fn hand_back(&mut self) -> Result<(), Fault> {
        let Some(embedded) = self.embedded.as_mut().filter(|_| self.embedded_holds) else { return Ok(()) };
        embedded.abandon();
        for register in 0..self.plan.registers.len() {
            match embedded.register(register).filter(|_| embedded.is_set(register)) {
                Some(value) => self.lowered.set_register(register, &Held::Host(value))?,
                None => self.lowered.unset_register(register),
            }
        }
        self.embedded_holds = false;
        Ok(())
    }

    /// Moves the registers to the embedded machine.
    fn hand_to_embedded(&mut self) -> Result<(), Fault> {
        let Some(embedded) = self.embedded.as_mut().filter(|_| !self.embedded_holds) else { return Ok(()) };
        for register in 0..self.plan.registers.len() {
            match self.lowered.register(register) {
                Some(value) if self.lowered.is_set(register)? => {
                    embedded.set_register(register, &value.to_host()?.to_precision(self.plan.precision));
                }
                _ => embedded.unset_register(register),
            }
        }
        self.embedded_holds = true;
        Ok(())
    }

    /// Whether the backend has memory for that many ticks as a whole.
    fn fits(&mut self, ticks: usize) -> bool {
        Machine::ask(&mut self.lowered, ticks).is_ok()
    }

    fn admits(&self, ticks: usize) -> bool {
        self.lengths.as_ref().is_none_or(|lengths| lengths.admit(ticks))
    }

    /// Has the embedded machine ask for memory for that many ticks; none if there is not even memory for one.
    fn ask_embedded(&mut self, ticks: usize) -> Option<Result<(), TooLong>> {
        if self.embedded.is_none() {
            self.embedded = Embedded::with_threads(Arc::clone(&self.plan), self.threads).ok();
            if let (Some(embedded), Some(scope)) = (&mut self.embedded, &self.profile) {
                embedded.measure(scope);
            }
        }
        self.embedded.as_mut().map(|embedded| embedded.ask(ticks))
    }

    fn embeds(&mut self, ticks: usize) -> bool {
        matches!(self.ask_embedded(ticks), Some(Ok(())))
    }
}

impl<N: Number> Machine for Ragged<N> {
    const GUESSES: bool = true;

    fn choose(&mut self, ticks: usize) {
        self.embedded_runs = !(self.fits(ticks) && self.admits(ticks)) && self.embeds(ticks);
    }

    fn set_rows(
        &mut self,
        input: usize,
        ticks: usize,
        present: &dyn Fn(usize) -> bool,
        data: &Data,
        row: usize,
    ) -> usize {
        match self.embedded.as_mut().filter(|_| self.embedded_runs) {
            Some(embedded) => embedded.set_rows(input, ticks, present, data, row),
            None => self.lowered.set_rows(input, ticks, present, data, row),
        }
    }

    fn window(&mut self, ticks: usize) -> Result<usize, Fault> {
        if self.embedded_runs {
            self.hand_to_embedded()?;
            if let Some(embedded) = &mut self.embedded {
                return embedded.window(ticks).map_err(|_| Fault::Suspect);
            }
        }
        self.hand_back()?;
        self.lowered.window(ticks)
    }

    fn windows(&mut self, ticks: usize, count: usize) -> Result<bool, Fault> {
        if !self.fits(ticks * count) || !self.admits(ticks) {
            return Ok(false);
        }
        self.hand_back()?;
        self.lowered.windows(ticks, count)
    }

    fn is_small(&self, ticks: usize) -> bool {
        self.lowered.is_small(ticks)
    }

    fn search(&mut self, ticks: usize) {
        self.embedded_runs = !self.fits(ticks) && self.embeds(ticks);
    }

    fn find(&mut self, ticks: usize) -> Result<Option<usize>, Fault> {
        if self.embedded_runs {
            self.hand_to_embedded()?;
            if let Some(embedded) = &mut self.embedded {
                return embedded.find(ticks).map_err(|_| Fault::Suspect);
            }
        }
        self.hand_back()?;
        self.lowered.find(ticks)
    }

    fn abandon(&mut self) {
        self.embedded.iter_mut().for_each(Embedded::abandon);
    }

    fn add_output(&mut self, output: usize, t: usize, to: &mut Data) -> Result<bool, Diagnostic> {
        match self.embedded.as_ref().filter(|_| self.embedded_runs) {
            Some(embedded) => Ok(embedded.add_output(output, t, to)),
            None => Machine::add_output(&mut self.lowered, output, t, to),
        }
    }

    fn register(&self, register: usize) -> Option<Held> {
        match self.holder() {
            Some(embedded) => embedded.register(register).map(Held::Host),
            None => self.lowered.register(register).cloned(),
        }
    }

    fn is_set(&self, register: usize) -> Result<bool, Diagnostic> {
        match self.holder() {
            Some(embedded) => Ok(embedded.is_set(register)),
            None => Ok(self.lowered.is_set(register)?),
        }
    }

    fn unset_register(&mut self, register: usize) {
        match self.embedded.as_mut().filter(|_| self.embedded_holds) {
            Some(embedded) => embedded.unset_register(register),
            None => self.lowered.unset_register(register),
        }
    }

    fn set_register(
        &mut self,
        register: usize,
        value: &Held,
        precision: Precision,
    ) -> Result<(), Diagnostic> {
        match self.embedded.as_mut().filter(|_| self.embedded_holds) {
            Some(embedded) => Machine::set_register(embedded, register, value, precision),
            None => Machine::set_register(&mut self.lowered, register, value, precision),
        }
    }

    fn ask(&mut self, ticks: usize) -> Result<(), TooLong> {
        match Machine::ask(&mut self.lowered, ticks) {
            Ok(()) => Ok(()),
            Err(short) => self.ask_embedded(ticks).unwrap_or(Err(short)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_share_a_bound_and_give_back_what_they_had() {
        let all = Arc::default();
        let [first, second] = [(); 2].map(|()| Lengths::new(Arc::clone(&all)));
        assert!((0..Lengths::MOST - 1).all(|n| first.admit(n)));
        assert!(second.admit(7) && !second.admit(8) && second.admit(7) && first.admit(8));
        assert!(!first.admit(Lengths::MOST));
        drop(first);
        assert!((0..Lengths::MOST).all(|n| second.admit(n)) && !second.admit(Lengths::MOST));
    }
}
