//! Fast engines with the exact semantics of errors: the one place where what is suspect is run again.
//!
//! A fast engine computes ahead, in another order, on a device that wraps and clamps. It can tell that something *may* have gone wrong, but
//! not in which cycle and equation, and not what was known by then. So it says no more than that it suspects something, and how many cycles
//! of the block were done before that. [`Exact`] feeds the others to a reference engine, from the states behind those that were done. What
//! the reference says is what the caller gets: its diagnostics, and the outputs that were known before the error. A suspicion without an
//! error costs time, never a wrong result.
//!
//! - **E1** Cycles are done in order: all their outputs are known, and the states are those after them. Where a block ends inside a
//!   window, the cycles behind the last one that is done are open; the engine goes on with them when it is fed the next block.
//! - **E2** An engine may suspect too much, never too little: a synchronisation error, an input against its clock (ENV-3), an integer that
//!   does not fit, a position outside of its axis, a want of memory.
//! - **E3** What is suspect changes no state. So nobody copies the states before a block: an engine writes them when a window has been
//!   computed, or keeps what it overwrites. The reference gets them when something is suspect, and only then.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use rml_base::Diagnostic;
use rml_ir::flat::{Drawn, Flat};
use rml_ir::{Shape, Type, Value};

use crate::block::{Inputs, Outputs, Row};
use crate::kept::Kept;
use crate::run::{End, Engine, Feeding, Run, Undetermined, Usage, Use, trace_ended};
use crate::states::States;
use crate::status::Input;

/// What computes whole blocks, and may only suspect what goes wrong in them.
pub trait Fast: fmt::Debug + Send {
    /// Runs a block from the states as they are, together with the cycles that are open. The inputs have the types that the program
    /// declares; nothing else is checked. `first` is the number of the first cycle that is not done.
    ///
    /// # Errors
    /// If its device fails; that is the end of the run.
    fn run(&mut self, first: u64, inputs: Inputs<'_>) -> Result<Verdict, Diagnostic>;

    /// Forgets the cycles that are open. An engine that leaves none open has nothing to do.
    fn forget(&mut self) {}

    /// As [`Run::states`], before the cycles that are open.
    ///
    /// # Errors
    /// If its device fails.
    fn states(&self) -> Result<States, Diagnostic>;

    /// As [`Run::set_states`].
    ///
    /// # Errors
    /// As [`Run::set_states`].
    fn set_states(&mut self, states: &States) -> Result<(), Diagnostic>;

    /// As [`Run::usage`].
    fn usage(&self) -> Usage;
}

/// What a fast engine says of a block.
#[derive(Debug)]
pub enum Verdict {
    /// It is done (E1), and what was open with it.
    Done(Outputs),
    /// The cycles of these outputs are done, the others are open; without outputs none is done.
    Open(Option<Outputs>),
    /// Something may have gone wrong (E2). The cycles of these outputs are done; without outputs none is. None is open.
    Suspect(Option<Outputs>),
}

impl Verdict {
    /// Something may have gone wrong, and no cycle is done.
    pub const SUSPECT: Self = Self::Suspect(None);
}

/// A run of a fast engine with the errors of a reference engine.
#[derive(Debug)]
pub struct Exact<F> {
    fast: F,
    reference: Arc<dyn Engine>,
    program: Arc<Drawn>,
    wish: Use,
    cycles: u64,
    /// The first cycle whose outputs were not fetched; beyond the next cycle where cycles were taken back.
    unfetched: u64,
    outputs: VecDeque<Outputs>,
    /// The inputs of the cycles that the fast engine has open.
    open: Kept,
    /// The run of the reference, from a suspect block until everything that was fed is complete.
    stand_in: Option<Box<dyn Run>>,
    /// Why the fast engine's device failed.
    failed: Option<Diagnostic>,
    ended: bool,
}

impl<F: Fast> Exact<F> {
    /// For a run of `program` that was opened for `wish`, without a record. `reference` runs every program.
    pub fn new(fast: F, reference: Arc<dyn Engine>, program: Arc<Drawn>, wish: Use) -> Self {
        let (outputs, cycles, unfetched) = (VecDeque::new(), wish.first, wish.first);
        Self {
            fast,
            reference,
            program,
            wish,
            cycles,
            unfetched,
            outputs,
            open: Kept::default(),
            stand_in: None,
            failed: None,
            ended: false,
        }
    }

    /// Whether the reference runs in place of the fast engine now.
    pub fn stands_in(&self) -> bool {
        self.stand_in.is_some()
    }

    fn check_running(&self) -> Result<(), Diagnostic> {
        match &self.failed {
            Some(why) => Err(why.clone()),
            // Where the reference stands in, it knows.
            None if self.ended && self.stand_in.is_none() => Err(trace_ended()),
            None => Ok(()),
        }
    }

    /// Has the fast engine run a block. Whether the reference has to take over.
    fn try_fast(&mut self, inputs: Inputs<'_>) -> Result<bool, Diagnostic> {
        let (fits, open) = (fits(&self.program, inputs), self.open.cycles());
        let first = self.cycles - open as u64;
        let verdict = if fits { self.fast.run(first, inputs)? } else { Verdict::SUSPECT };
        let all = open + inputs.cycles();
        let (outputs, is_suspect) = match verdict {
            Verdict::Done(outputs) => {
                debug_assert_eq!(outputs.cycles(), all, "E1");
                self.open = Kept::default();
                (Some(outputs), false)
            }
            Verdict::Open(outputs) => {
                self.keep(inputs, outputs.as_ref());
                (outputs, self.is_too_much())
            }
            Verdict::Suspect(outputs) => {
                self.keep(inputs, outputs.as_ref());
                (outputs, true)
            }
        };
        self.cycles += inputs.cycles() as u64;
        self.outputs.extend(outputs);
        Ok(is_suspect)
    }

    /// Keeps the inputs of a block but for the cycles that are done.
    fn keep(&mut self, inputs: Inputs<'_>, done: Option<&Outputs>) {
        self.open.push(inputs);
        self.open.done(done.map_or(0, Outputs::cycles));
    }

    /// Whether more cycles are open than may be.
    fn is_too_much(&self) -> bool {
        match self.wish.feeding {
            Feeding::Stream { look_ahead: Some(most) } => self.open.cycles() > most,
            Feeding::Stream { look_ahead: None } | Feeding::Windows { .. } => false,
        }
    }

    /// The reference in the states before the cycles that are open.
    fn reference(&self) -> Result<Box<dyn Run>, Diagnostic> {
        let wish = Use { first: self.cycles - self.open.cycles() as u64, ..self.wish };
        let mut run =
            self.reference.open(&self.program, &wish).map_err(|why| why.diagnostic(self.reference.name()))?;
        run.set_states(&on_host(&self.fast.states()?)?)?;
        Ok(run)
    }

    /// Has the reference take over from the first cycle that is not done.
    fn call_reference(&mut self) -> Result<(), Diagnostic> {
        tracing::debug!(cycle = self.cycles, "the reference takes over");
        let mut run = self.reference()?;
        self.fast.forget();
        let open = std::mem::take(&mut self.open);
        let fed = open.feed(&mut *run);
        self.cycles = run.cycles();
        self.stand_in = Some(run);
        fed
    }

    /// What the reference has to say of the cycles that are open, if there are any.
    fn opinion(&self) -> Result<Option<Box<dyn Run>>, Diagnostic> {
        if self.open.cycles() == 0 {
            return Ok(None);
        }
        let mut run = self.reference()?;
        self.open.feed(&mut *run)?;
        Ok(Some(run))
    }

    /// Feeds the reference, and goes back to the fast engine where nothing that was fed is open.
    fn feed_reference(&mut self, inputs: Inputs<'_>) -> Result<(), Diagnostic> {
        let Some(run) = &mut self.stand_in else { return Ok(()) };
        let fed = run.feed(inputs);
        self.cycles = run.cycles();
        fed?;
        self.go_back()
    }

    fn go_back(&mut self) -> Result<(), Diagnostic> {
        // Where outputs are not to come again, or a window is open, the reference stays: it knows.
        let complete = |run: &&mut Box<dyn Run>| run.open_cycles() == 0 && self.unfetched <= run.cycles();
        let Some(run) = self.stand_in.as_mut().filter(complete) else { return Ok(()) };
        if let Ok(states) = run.states() {
            self.fast.set_states(&on_host(&states)?)?;
            self.outputs.extend(std::iter::from_fn(|| run.next_outputs()));
            self.stand_in = None;
        }
        Ok(())
    }
}

impl<F: Fast> Run for Exact<F> {
    fn feed(&mut self, inputs: Inputs<'_>) -> Result<(), Diagnostic> {
        self.check_running()?;
        if self.stand_in.is_some() {
            return self.feed_reference(inputs);
        }
        match self.try_fast(inputs) {
            Ok(false) => Ok(()),
            Ok(true) => {
                self.call_reference()?;
                self.go_back()
            }
            Err(why) => {
                self.failed = Some(why.clone());
                Err(why)
            }
        }
    }

    fn finish(&mut self, end: End) -> Result<(), Diagnostic> {
        self.check_running()?;
        if self.open.cycles() > 0 {
            self.call_reference()?;
        }
        self.ended = true;
        match &mut self.stand_in {
            Some(run) => run.finish(end),
            None => Ok(()),
        }
    }

    fn next_outputs(&mut self) -> Option<Outputs> {
        let outputs = self.outputs.pop_front().or_else(|| self.stand_in.as_mut()?.next_outputs())?;
        let first = match &outputs {
            Outputs::Cycle(row) => row.cycle,
            Outputs::Block { first, .. } => *first,
        };
        self.unfetched = first + outputs.cycles() as u64;
        Some(outputs)
    }

    fn remaining(&mut self) -> Result<Vec<Row>, Diagnostic> {
        let mut rows = Vec::new();
        for outputs in self.outputs.drain(..) {
            outputs.append_to(&mut rows)?;
        }
        if let Some(run) = &mut self.stand_in {
            rows.extend(run.remaining()?);
        }
        Ok(rows)
    }

    fn cycles(&self) -> u64 {
        self.cycles
    }

    fn open_cycles(&self) -> u64 {
        self.stand_in.as_ref().map_or(self.open.cycles() as u64, |run| run.open_cycles())
    }

    fn states(&self) -> Result<States, Diagnostic> {
        match (&self.failed, &self.stand_in) {
            (Some(why), _) => Err(why.clone()),
            (None, Some(run)) => run.states(),
            (None, None) => match self.opinion()? {
                Some(run) => run.states(),
                None => self.fast.states(),
            },
        }
    }

    fn set_states(&mut self, states: &States) -> Result<(), Diagnostic> {
        if self.stand_in.is_none() && self.open.cycles() > 0 {
            self.call_reference()?;
        }
        match &mut self.stand_in {
            Some(run) => run.set_states(&on_host(states)?),
            None => self.fast.set_states(states),
        }
    }

    fn undetermined(&self) -> Option<Undetermined> {
        match &self.stand_in {
            Some(run) => run.undetermined(),
            None => self.opinion().ok()??.undetermined(),
        }
    }

    fn waiting(&self) -> Option<Undetermined> {
        match &self.stand_in {
            Some(run) => run.waiting(),
            None => self.opinion().ok()??.waiting(),
        }
    }

    fn has_failed(&self) -> bool {
        self.failed.is_some() || self.stand_in.as_ref().is_some_and(|run| run.has_failed())
    }

    /// A device that failed stays so.
    fn take_back(&mut self) -> u64 {
        if let Some(run) = &mut self.stand_in {
            self.cycles = run.take_back();
        } else {
            self.fast.forget();
            self.cycles -= std::mem::take(&mut self.open).cycles() as u64;
        }
        self.cycles
    }

    fn usage(&self) -> Usage {
        let (fast, other) =
            (self.fast.usage(), self.stand_in.as_ref().map(|run| run.usage()).unwrap_or_default());
        Usage { activations: fast.activations + other.activations, bytes: fast.bytes + other.bytes }
    }
}

/// For another engine, which may be on another device.
fn on_host(states: &States) -> Result<States, Diagnostic> {
    Ok(states.to_host()?.into_iter().collect())
}

/// Whether inputs have the types that the program declares. If they do not, the reference says so.
fn fits(program: &Flat, inputs: Inputs<'_>) -> bool {
    let types = program.inputs.iter().map(|input| &program.vars[input.var].ty);
    let same = |found: Type, ty: &Type, rows: bool| {
        let dims = found.shape.dims();
        let own = if rows { dims.get(1..).unwrap_or_default() } else { dims };
        found.dtype == ty.dtype && Shape::new(own) == ty.shape
    };
    match inputs {
        Inputs::Cycle(row) => {
            let of = |(input, ty): (&Input, &Type)| {
                let value: Option<&Value> = match input {
                    Input::Given(value) | Input::OnDemand(Some(value)) => Some(value),
                    Input::Absent | Input::OnDemand(None) => None,
                };
                value.is_none_or(|value| same(value.ty(), ty, false))
            };
            row.len() == program.inputs.len() && row.iter().zip(types).all(of)
        }
        Inputs::Block(block) => {
            let columns = block.columns();
            let mut all = columns.iter().zip(types);
            columns.len() == program.inputs.len()
                && all.all(|(column, ty)| column.values().is_none_or(|values| same(values.ty(), ty, true)))
        }
    }
}
