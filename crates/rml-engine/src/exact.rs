//! Exact errors for fast engines: a suspect block is run again by a reference engine.
//!
//! A fast engine computes a whole window, ahead and in another order, on a device that may wrap an integer or clamp a
//! position. It can detect that an error *may* have occurred, but not the cycle, the equation or the outputs that were
//! known by then. So it reports only that a block is suspect, and how many of its cycles were done before. [`Exact`]
//! then feeds the remaining cycles to a reference engine, from the states after the last cycle that was done. The
//! caller gets the reference's diagnostics and the outputs that were known before the error. An unfounded suspicion
//! costs time; it never gives a wrong result.
//!
//! - **E1** Cycles are done in order. When a cycle is done, all its outputs are known and the states are those after
//!   it. If a block ends inside a window, the cycles after the last done cycle stay open, and the engine continues with
//!   them in the next block.
//! - **E2** An engine may suspect too many blocks, never too few. It has to suspect a synchronisation error, an input
//!   that contradicts its clock (ENV-3), an integer that does not fit, a position outside its axis, and a lack of
//!   memory.
//! - **E3** A suspect block changes no state. An engine writes its states after it has computed a window, or keeps the
//!   values that it overwrites, so the states are not copied before each block. The reference receives the states only
//!   when a block is suspect.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use rml_base::Diagnostic;
use rml_base::codes::run::MEMORY_LIMIT;
use rml_ir::flat::{Drawn, Flat};
use rml_ir::{Shape, Type, Value};

use crate::block::{CycleRow, Inputs, KnownOutputs};
use crate::kept::Kept;
use crate::run::{End, Feeding, ProgramEngine, Run, Undetermined, Usage, Use, trace_ended};
use crate::states::{Snapshot, States};
use crate::status::InputCell;

/// An engine that computes whole blocks and reports an error only as a suspicion.
pub trait Fast: fmt::Debug + Send {
    /// Runs a block from the current states, together with the open cycles. The caller has checked only that the
    /// inputs have their declared types. `first` is the number of the first cycle that is not done.
    ///
    /// # Errors
    /// Its device fails; this ends the run.
    fn run(&mut self, first: u64, inputs: Inputs<'_>) -> Result<BlockResult, Diagnostic>;

    /// Discards the open cycles. The default is for engines that never keep a cycle open.
    fn forget(&mut self) {}

    /// The states before the open cycles; see [`Run::states`].
    ///
    /// # Errors
    /// Its device fails.
    fn states(&self) -> Result<States, Diagnostic>;

    /// See [`Run::set_states`].
    ///
    /// # Errors
    /// The same as for [`Run::set_states`].
    fn set_states(&mut self, states: &States) -> Result<(), Diagnostic>;

    /// The snapshot before the open cycles; see [`Run::snapshot`]. The default is for engines whose windows have all
    /// ended before these cycles.
    ///
    /// # Errors
    /// Its device fails.
    fn snapshot(&self) -> Result<Snapshot, Diagnostic> {
        Ok(self.states()?.into())
    }

    /// See [`Run::set_snapshot`]. Returns `false`, without any change, if the engine cannot continue from the snapshot.
    /// The default is for engines that can begin only where no window is open, with a value for each state.
    ///
    /// # Errors
    /// The same as for [`Run::set_states`].
    fn set_snapshot(&mut self, snapshot: &Snapshot) -> Result<bool, Diagnostic> {
        let begins = snapshot.delays.is_empty()
            && self.states()?.iter().all(|(key, _)| snapshot.states.get(key).is_some());
        if begins {
            self.set_states(&snapshot.states)?;
        }
        Ok(begins)
    }

    /// See [`Run::usage`].
    fn usage(&self) -> Usage;
}

/// The result of a block.
#[derive(Debug)]
pub enum BlockResult {
    /// All cycles of the block are done (E1), and so are the cycles that were open before it.
    Done(KnownOutputs),
    /// The cycles of these outputs are done, or no cycle if there are none. The others are open.
    Open(Option<KnownOutputs>),
    /// An error may have occurred (E2). The cycles of these outputs are done, or no cycle if there are none. The engine
    /// keeps no cycle open.
    Suspect(Option<KnownOutputs>),
}

impl BlockResult {
    /// A suspicion before any cycle was done.
    pub const SUSPECT: Self = Self::Suspect(None);
}

/// A run of a fast engine that reports errors as a reference engine does.
#[derive(Debug)]
pub struct Exact<F> {
    fast: F,
    reference: Arc<dyn ProgramEngine>,
    program: Arc<Drawn>,
    wish: Use,
    cycles: u64,
    /// The first cycle whose outputs were not fetched. After cycles were taken back, it may be later than the next
    /// cycle to feed.
    unfetched: u64,
    outputs: VecDeque<KnownOutputs>,
    /// The inputs of the fast engine's open cycles.
    open: Kept,
    /// The reference's run. It replaces the fast engine from a suspect block on, until no cycle is open.
    stand_in: Option<Box<dyn Run>>,
    /// The reason why the fast engine's device failed.
    failed: Option<Diagnostic>,
    ended: bool,
}

impl<F: Fast> Exact<F> {
    /// Wraps an engine that has opened `program` for `wish`, without a record. `reference` must be able to run every
    /// program.
    pub fn new(fast: F, reference: Arc<dyn ProgramEngine>, program: Arc<Drawn>, wish: Use) -> Self {
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

    /// Whether the reference currently runs in place of the fast engine.
    pub fn stands_in(&self) -> bool {
        self.stand_in.is_some()
    }

    fn check_running(&self) -> Result<(), Diagnostic> {
        match &self.failed {
            Some(why) => Err(why.clone()),
            // If the reference runs in place of the fast engine, it makes this check itself.
            None if self.ended && self.stand_in.is_none() => Err(trace_ended()),
            None => Ok(()),
        }
    }

    /// Runs a block on the fast engine. Returns whether the reference must take over.
    fn try_fast(&mut self, inputs: Inputs<'_>) -> Result<bool, Diagnostic> {
        let (fits, open) = (fits(&self.program, inputs), self.open.cycles());
        let first = self.cycles - open as u64;
        let verdict = if fits { self.fast.run(first, inputs)? } else { BlockResult::SUSPECT };
        let all = open + inputs.cycles();
        let (outputs, is_suspect) = match verdict {
            BlockResult::Done(outputs) => {
                debug_assert_eq!(outputs.cycles(), all, "E1");
                self.open = Kept::default();
                (Some(outputs), false)
            }
            BlockResult::Open(outputs) => {
                self.keep(inputs, outputs.as_ref());
                (outputs, self.is_too_much())
            }
            BlockResult::Suspect(outputs) => {
                self.keep(inputs, outputs.as_ref());
                (outputs, true)
            }
        };
        self.cycles += inputs.cycles() as u64;
        self.outputs.extend(outputs);
        Ok(is_suspect)
    }

    /// Keeps the inputs of the cycles of a block that are not done.
    fn keep(&mut self, inputs: Inputs<'_>, done: Option<&KnownOutputs>) {
        self.open.push(inputs);
        self.open.done(done.map_or(0, KnownOutputs::cycles));
    }

    /// Whether more cycles are open than the caller allows.
    fn is_too_much(&self) -> bool {
        match self.wish.feeding {
            Feeding::Stream { look_ahead: Some(most) } => self.open.cycles() > most,
            Feeding::Stream { look_ahead: None } | Feeding::Windows { .. } => false,
        }
    }

    /// A run of the reference in the states before the open cycles.
    fn reference(&self) -> Result<Box<dyn Run>, Diagnostic> {
        let wish = Use { first: self.cycles - self.open.cycles() as u64, ..self.wish.clone() };
        let mut run =
            self.reference.open(&self.program, &wish).map_err(|why| why.diagnostic(self.reference.name()))?;
        run.set_snapshot(&self.fast.snapshot()?.to_host()?)?;
        Ok(run)
    }

    /// Starts the reference at the first cycle that is not done.
    fn call_reference(&mut self) -> Result<(), Diagnostic> {
        tracing::debug!(cycle = self.cycles, "the reference takes over");
        let mut run = self.reference()?;
        self.fast.forget();
        let open = std::mem::take(&mut self.open);
        let fed = open.feed(&mut *run);
        self.cycles = run.cycles();
        self.stand_in = Some(run);
        fed.map_err(called)
    }

    /// A run of the reference that received the open cycles, if there are any. It can explain what these cycles wait
    /// for.
    fn opinion(&self) -> Result<Option<Box<dyn Run>>, Diagnostic> {
        if self.open.cycles() == 0 {
            return Ok(None);
        }
        let mut run = self.reference()?;
        self.open.feed(&mut *run)?;
        Ok(Some(run))
    }

    /// Feeds the reference. The fast engine continues once no cycle is open.
    fn feed_reference(&mut self, inputs: Inputs<'_>) -> Result<(), Diagnostic> {
        let Some(run) = &mut self.stand_in else { return Ok(()) };
        let fed = run.feed(inputs);
        self.cycles = run.cycles();
        fed?;
        self.go_back()
    }

    fn go_back(&mut self) -> Result<(), Diagnostic> {
        // The reference stays while a cycle is open and while it repeats cycles whose outputs were fetched before.
        let complete = |run: &&mut Box<dyn Run>| run.open_cycles() == 0 && self.unfetched <= run.cycles();
        let Some(run) = self.stand_in.as_mut().filter(complete) else { return Ok(()) };
        if let Ok(snapshot) = run.snapshot()
            && self.fast.set_snapshot(&snapshot.to_host()?)?
        {
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

    fn next_outputs(&mut self) -> Option<KnownOutputs> {
        let outputs = self.outputs.pop_front().or_else(|| self.stand_in.as_mut()?.next_outputs())?;
        let first = match &outputs {
            KnownOutputs::Cycle(row) => row.cycle,
            KnownOutputs::Block { first, .. } => *first,
        };
        self.unfetched = first + outputs.cycles() as u64;
        Some(outputs)
    }

    fn remaining(&mut self) -> Result<Vec<CycleRow>, Diagnostic> {
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
            // The reference can explain why the states of open cycles or of open windows are not known.
            (None, None) => match self.opinion()? {
                Some(run) => run.states(),
                None if self.fast.snapshot()?.delays.is_empty() => self.fast.states(),
                None => self.reference()?.states(),
            },
        }
    }

    fn snapshot(&self) -> Result<Snapshot, Diagnostic> {
        match (&self.failed, &self.stand_in) {
            (Some(why), _) => Err(why.clone()),
            (None, Some(run)) => run.snapshot(),
            (None, None) => match self.opinion()? {
                Some(run) => run.snapshot(),
                None => self.fast.snapshot(),
            },
        }
    }

    fn set_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), Diagnostic> {
        if self.stand_in.is_none() && self.open.cycles() == 0 && self.fast.set_snapshot(snapshot)? {
            return Ok(());
        }
        if self.stand_in.is_none() {
            self.call_reference()?;
        }
        match &mut self.stand_in {
            Some(run) => run.set_snapshot(&snapshot.to_host()?),
            None => Ok(()),
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

    /// Takes back the open cycles. A device failure is permanent.
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

/// Adds to an error for lack of memory why the reference ran: a faster engine may need less memory.
fn called(why: Diagnostic) -> Diagnostic {
    if why.code == MEMORY_LIMIT {
        why.note("the simulator ran here and keeps more values: a faster engine met an error, or does not run this program")
    } else {
        why
    }
}

/// The states for another engine, which may run on another device.
fn on_host(states: &States) -> Result<States, Diagnostic> {
    Ok(states.to_host()?.into_iter().collect())
}

/// Whether the inputs have their declared types. If not, the reference gives the error.
fn fits(program: &Flat, inputs: Inputs<'_>) -> bool {
    let types = program.inputs.iter().map(|input| &program.vars[input.var].ty);
    let same = |found: Type, ty: &Type, rows: bool| {
        let dims = found.shape.dims();
        let own = if rows { dims.get(1..).unwrap_or_default() } else { dims };
        found.dtype == ty.dtype && Shape::new(own) == ty.shape
    };
    match inputs {
        Inputs::Cycle(row) => {
            let of = |(input, ty): (&InputCell, &Type)| {
                let value: Option<&Value> = match input {
                    InputCell::Given(value) | InputCell::OnDemand(Some(value)) => Some(value),
                    InputCell::Absent | InputCell::OnDemand(None) => None,
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
