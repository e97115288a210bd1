//! Two executors as one: the first one runs windows of few lengths that fit in memory, the second one runs the others.
//!
//! An executor that compiles gets a bounded number of lengths. Windows of other lengths run on the second executor,
//! whose code supports all lengths. Windows that do not fit into the memory of the first one as a whole also run on the
//! second one. Registers move with the windows.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rml_backend::{Compiled, Failure, Held};
use rml_base::memory::Shortage;
use rml_base::profile::Scope;
use rml_base::{Diagnostic, EntityId};
use rml_ir::Data;
use rml_plan::{Plan, Reg};

use crate::contract::{About, Executor, Fault, Next, PrepareOptions, Prepared, Refused, Running};
use crate::memory::{Footprint, TooLong};

/// An executor, and a second one for windows of other lengths and for those that do not fit in memory.
#[derive(Clone, Debug)]
pub struct Ragged {
    first: Arc<dyn Executor>,
    second: Arc<dyn Executor>,
    /// The number of compiled window lengths of all plans.
    all: Arc<Mutex<usize>>,
}

impl Ragged {
    /// The maximum number of lengths that the first executor compiles, for all plans together.
    pub const MOST: usize = 64;

    /// Combines two executors.
    pub fn new(first: Arc<dyn Executor>, second: Arc<dyn Executor>) -> Self {
        Self { first, second, all: Arc::default() }
    }
}

impl Executor for Ragged {
    /// The description of the first executor. Its guesses save work in both executors.
    fn about(&self) -> About {
        self.first.about()
    }

    fn prepare(&self, plan: &Arc<Plan>, wish: &PrepareOptions) -> Result<Arc<dyn Prepared>, Refused> {
        let lengths = self.first.about().compiles.then(|| Lengths::new(Arc::clone(&self.all)));
        let first = self.first.prepare(plan, wish)?;
        let (plan, wish, executor) = (Arc::clone(plan), wish.clone(), Arc::clone(&self.second));
        let second = Second { plan, wish, executor, prepared: OnceLock::new() };
        Ok(Arc::new(Ready { first, second: Arc::new(second), lengths: lengths.map(Arc::new) }))
    }

    fn compiled(&self) -> Compiled {
        self.first.compiled()
    }
}

/// The second executor, which prepares the plan when it is needed.
#[derive(Debug)]
struct Second {
    plan: Arc<Plan>,
    wish: PrepareOptions,
    executor: Arc<dyn Executor>,
    prepared: OnceLock<Option<Arc<dyn Prepared>>>,
}

impl Second {
    /// Starts a run. Returns `None` if the executor does not run the plan, or if the memory does not suffice for one
    /// tick.
    fn start(&self, profile: Option<&Scope>) -> Option<Box<dyn Running>> {
        let prepare = || self.executor.prepare(&self.plan, &self.wish).ok();
        self.prepared.get_or_init(prepare).as_ref()?.start(profile).ok()
    }
}

#[derive(Debug)]
struct Ready {
    first: Arc<dyn Prepared>,
    second: Arc<Second>,
    /// The lengths that are compiled, if the first executor compiles.
    lengths: Option<Arc<Lengths>>,
}

impl Prepared for Ready {
    fn footprint(&self) -> Footprint {
        self.first.footprint()
    }

    fn start(&self, profile: Option<&Scope>) -> Result<Box<dyn Running>, Shortage> {
        Ok(Box::new(Both {
            first: self.first.start(profile)?,
            second: None,
            ready: Arc::clone(&self.second),
            profile: profile.cloned(),
            lengths: self.lengths.clone(),
            second_holds: false,
            second_runs: false,
        }))
    }
}

/// The window lengths that are compiled for a plan: the lengths that occur first, in any of its runs.
#[derive(Debug)]
struct Lengths {
    own: Mutex<BTreeSet<usize>>,
    /// The number of lengths of all plans.
    all: Arc<Mutex<usize>>,
}

impl Lengths {
    fn new(all: Arc<Mutex<usize>>) -> Self {
        Self { own: Mutex::default(), all }
    }

    /// Whether a window of `ticks` ticks may be compiled; if so, its length counts as compiled.
    fn admit(&self, ticks: usize) -> bool {
        let mut own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let admits = own.contains(&ticks) || *all < Ragged::MOST;
        if admits && own.insert(ticks) {
            *all += 1;
        }
        admits
    }
}

/// When a plan is dropped, its lengths no longer count, and other plans can use the capacity.
impl Drop for Lengths {
    fn drop(&mut self) {
        let own = self.own.get_mut().unwrap_or_else(PoisonError::into_inner);
        *self.all.lock().unwrap_or_else(PoisonError::into_inner) -= own.len();
    }
}

/// A run on both executors.
#[derive(Debug)]
struct Both {
    first: Box<dyn Running>,
    /// The run on the second executor, from its first window on.
    second: Option<Box<dyn Running>>,
    ready: Arc<Second>,
    profile: Option<Scope>,
    lengths: Option<Arc<Lengths>>,
    /// Whether the current registers are in the run on the second executor.
    second_holds: bool,
    /// Whether the second executor gets the inputs that are set, and has run the last window.
    second_runs: bool,
}

/// Converts an error from a move of registers to a failure of the executor.
fn failed(d: Diagnostic) -> Fault {
    Fault::Failed(Failure { help: d.help.into_iter().next(), ..Failure::new(d.code, d.message) })
}

/// Copies the registers of a run to another one.
fn hand(plan: &Plan, from: &dyn Running, to: &mut dyn Running) -> Result<(), Diagnostic> {
    for register in plan.registers.iter_enumerated().map(|(register, _): (Reg, _)| register.index()) {
        match from.register(register) {
            Some(value) if from.is_set(register)? => to.set_register(register, &value)?,
            _ => to.unset_register(register),
        }
    }
    Ok(())
}

impl Both {
    /// The run that has the registers.
    fn holder(&self) -> &dyn Running {
        match &self.second {
            Some(second) if self.second_holds => &**second,
            _ => &*self.first,
        }
    }

    fn holder_mut(&mut self) -> &mut dyn Running {
        match &mut self.second {
            Some(second) if self.second_holds => &mut **second,
            _ => &mut *self.first,
        }
    }

    /// The run that gets inputs and returns outputs.
    fn runner(&mut self) -> &mut dyn Running {
        match &mut self.second {
            Some(second) if self.second_runs => &mut **second,
            _ => &mut *self.first,
        }
    }

    /// Moves the registers to the run of the next window, and returns this run.
    fn take_over(&mut self) -> Result<&mut dyn Running, Fault> {
        let runs = self.second_runs && self.second.is_some();
        if let Some(second) = &mut self.second
            && self.second_holds != runs
        {
            let plan = &self.ready.plan;
            let first = &mut self.first;
            let (from, to) = if runs { (first, second) } else { (second, first) };
            from.abandon();
            hand(plan, &**from, &mut **to).map_err(failed)?;
            self.second_holds = runs;
        }
        Ok(self.runner())
    }

    /// Whether the first executor has memory for a window of `ticks` ticks as a whole.
    fn fits(&mut self, ticks: usize) -> bool {
        self.first.ask(ticks).is_ok()
    }

    fn admits(&self, ticks: usize) -> bool {
        self.lengths.as_ref().is_none_or(|lengths| lengths.admit(ticks))
    }

    /// Asks for memory for `ticks` ticks on the second executor; returns `None` if it does not run the plan.
    fn ask_second(&mut self, ticks: usize) -> Option<Result<(), TooLong>> {
        if self.second.is_none() {
            self.second = self.ready.start(self.profile.as_ref());
        }
        self.second.as_mut().map(|second| second.ask(ticks))
    }

    fn second_fits(&mut self, ticks: usize) -> bool {
        matches!(self.ask_second(ticks), Some(Ok(())))
    }
}

impl Running for Both {
    fn next(&mut self, next: Next) {
        self.second_runs = match next {
            Next::Window(ticks) => !(self.fits(ticks) && self.admits(ticks)) && self.second_fits(ticks),
            Next::Search(ticks) => !self.fits(ticks) && self.second_fits(ticks),
        };
        self.runner().next(next);
    }

    fn set_rows(
        &mut self,
        input: usize,
        ticks: usize,
        present: &dyn Fn(usize) -> bool,
        data: &Data,
        row: usize,
    ) -> usize {
        self.runner().set_rows(input, ticks, present, data, row)
    }

    fn window(&mut self, ticks: usize) -> Result<usize, Fault> {
        self.take_over()?.window(ticks)
    }

    fn windows(&mut self, ticks: usize, count: usize) -> Result<bool, Fault> {
        if self.second_runs || !self.fits(ticks.saturating_mul(count)) || !self.admits(ticks) {
            return Ok(false);
        }
        self.take_over()?.windows(ticks, count)
    }

    fn is_small(&self, ticks: usize) -> bool {
        self.first.is_small(ticks)
    }

    fn find(&mut self, ticks: usize) -> Result<Option<usize>, Fault> {
        self.take_over()?.find(ticks)
    }

    fn abandon(&mut self) {
        self.first.abandon();
        self.second.iter_mut().for_each(|second| second.abandon());
    }

    fn add_output(&mut self, output: usize, t: usize, to: &mut Data) -> Result<bool, Diagnostic> {
        self.runner().add_output(output, t, to)
    }

    fn register(&self, register: usize) -> Option<Held> {
        self.holder().register(register)
    }

    fn is_set(&self, register: usize) -> Result<bool, Diagnostic> {
        self.holder().is_set(register)
    }

    fn unset_register(&mut self, register: usize) {
        self.holder_mut().unset_register(register);
    }

    fn set_register(&mut self, register: usize, value: &Held) -> Result<(), Diagnostic> {
        self.holder_mut().set_register(register, value)
    }

    fn ask(&mut self, ticks: usize) -> Result<(), TooLong> {
        match self.first.ask(ticks) {
            Ok(()) => Ok(()),
            Err(short) => self.ask_second(ticks).unwrap_or(Err(short)),
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
        assert!((0..Ragged::MOST - 1).all(|n| first.admit(n)));
        assert!(second.admit(7) && !second.admit(8) && second.admit(7) && first.admit(8));
        assert!(!first.admit(Ragged::MOST));
        drop(first);
        assert!((0..Ragged::MOST).all(|n| second.admit(n)) && !second.admit(Ragged::MOST));
    }
}
