//! Saving and loading the states that survive windows, by checkpoint key.

use std::sync::Arc;

use indexmap::IndexMap;
use rml_backend::{Failure, Held};
use rml_base::{Diagnostic, EntityId, codes};
use rml_engine::{Snapshot, States};
use rml_ir::Value;
use rml_ir::flat::Eq;

use super::Simulator;
use super::cell::Cell;
use super::program::{Delay, Program, Step};

impl Simulator {
    /// The states by key, on the host; see [`held_states`](Self::held_states).
    ///
    /// # Errors
    /// The same as for `held_states`; also, a value cannot be copied from its device.
    pub fn states(&self) -> Result<IndexMap<Arc<str>, Value>, Diagnostic> {
        Ok(self.held_states()?.to_host()?)
    }

    /// The states by key, on the host or a device. The state of a `fby` is the value that it will have in its next
    /// active cycle; the state of a parameter is its value. A `fby` that was never active and whose initial value is a
    /// stream has no state and is omitted.
    ///
    /// # Errors
    /// An output of a cycle is undetermined, a state is not known yet, or a window is open. A run that starts with the
    /// states would then not continue this one.
    pub fn held_states(&self) -> Result<States, Diagnostic> {
        self.check_saveable(false)?;
        Ok(self.known_states())
    }

    /// The states, and the values of delays in open windows for their next active cycle.
    ///
    /// # Errors
    /// The same as for [`held_states`](Self::held_states), but windows may be open.
    pub fn snapshot(&self) -> Result<Snapshot, Diagnostic> {
        self.check_saveable(true)?;
        let inner = self.program.forward.iter().enumerate().filter(|(_, rec)| !rec.ends.is_empty());
        let delays = inner
            .filter_map(|(r, rec)| Some((self.program.equation(rec.step).lhs, self.next_value(r).ok()??)));
        Ok(Snapshot { states: self.known_states(), delays: delays.collect() })
    }

    /// Continues from the snapshot of a run of this program; delays and states that are not in the snapshot restart.
    ///
    /// # Errors
    /// The same as for [`set_held_state`](Self::set_held_state).
    pub fn set_snapshot(&mut self, snapshot: &Snapshot) -> Result<(), Diagnostic> {
        for (key, held) in snapshot.states.iter() {
            self.set_held_state(key, held)?;
        }
        let program = Arc::clone(&self.program);
        for (_, state) in program.flat.states.iter().filter(|(key, _)| snapshot.states.get(key).is_none()) {
            match program.steps[program.step_of[state.equation] as usize] {
                Step::Forward(r) => self.last[r as usize] = Cell::Empty,
                Step::Param { param, .. } => {
                    self.params[param as usize] = Cell::Empty;
                    self.last_params[param as usize] = Cell::Empty;
                }
                _ => {}
            }
        }
        for (r, rec) in program.forward.iter().enumerate().filter(|(_, rec)| !rec.ends.is_empty()) {
            let v = program.equation(rec.step).lhs;
            let known = snapshot.delays.get(&v);
            self.last[r] = known.map_or(Ok(Cell::Empty), |held| self.loaded(v.index(), held))?;
        }
        Ok(())
    }

    fn known_states(&self) -> States {
        let program = &self.program;
        let held = |value: Value| Held::Host(value);
        let value = |equation: Eq| match program.steps[program.step_of[equation] as usize] {
            Step::Forward(r) => {
                let next = self.next_value(r as usize).ok().flatten();
                next.or_else(|| start(program, &program.forward[r as usize]).map(held))
            }
            Step::Param { param, init, .. } => {
                let p = param as usize;
                let latest = self.params[p].held().or_else(|| self.latest_param(p));
                latest.or_else(|| program.static_value(init).cloned().map(held))
            }
            _ => None,
        };
        let states = program.flat.states.iter();
        states.filter_map(|(key, state)| Some((Arc::clone(key), value(state.equation)?))).collect()
    }

    /// Sets a state: a `fby` has the value in its next active cycle, a parameter from now on. Numbers are rounded to
    /// the program's precision.
    ///
    /// # Errors
    /// There is no such state, the value has another type, or cycles are open.
    pub fn set_state(&mut self, key: &str, value: &Value) -> Result<(), Diagnostic> {
        self.set_held_state(key, &Held::Host(value.clone()))
    }

    /// The same as [`set_state`](Self::set_state). A value on the device of this simulation's backend stays there if
    /// the program reads it only there.
    ///
    /// # Errors
    /// The same as for `set_state`; also, a value cannot be copied from its device.
    pub fn set_held_state(&mut self, key: &str, held: &Held) -> Result<(), Diagnostic> {
        self.check_quiescent()?;
        let Some(state) = self.program.flat.states.get(key) else {
            return Err(Diagnostic::error(
                codes::sim::STATE_VALUE,
                format!("the program has no state `{key}`"),
            ));
        };
        let eq: Eq = state.equation;
        let data = &self.program.flat.vars[self.program.flat.equations[eq].lhs];
        if held.ty() != data.ty {
            return Err(Diagnostic::error(
                codes::sim::STATE_VALUE,
                format!("state `{key}` has another type"),
            )
            .label(data.span, "this is the state")
            .note(format!("expected {}, found {}", data.ty, held.ty())));
        }
        let lhs = self.program.flat.equations[eq].lhs.index();
        let content = self.loaded(lhs, held)?;
        match self.program.steps[self.program.step_of[eq] as usize] {
            Step::Forward(r) => self.last[r as usize] = content,
            Step::Param { param, .. } => self.params[param as usize] = content,
            _ => {}
        }
        Ok(())
    }

    /// A value from outside in the program's precision, moved to where the readers of a cell expect it.
    fn loaded(&self, cell: usize, held: &Held) -> Result<Cell, Failure> {
        let precision = self.program.flat.precision;
        match held {
            Held::Device(buffer)
                if buffer.precision() == precision
                    && self.functions.as_ref().is_some_and(|f| f.may_stay(cell)) =>
            {
                Ok(Cell::Device(Arc::clone(buffer)))
            }
            held => Ok(Cell::Value(held.to_host()?.to_precision(precision))),
        }
    }

    /// The value of a parameter in the latest cycle in which it has one.
    fn latest_param(&self, p: usize) -> Option<Held> {
        let cell = self.program.params[p].out as usize;
        let open = (self.rows.base..self.rows.end).rev().find_map(|n| self.rows.cells(n)[cell].held());
        open.or_else(|| self.last_params[p].held())
    }

    /// Checks that all states are known and, unless they may be `open`, that no window is open.
    fn check_saveable(&self, open: bool) -> Result<(), Diagnostic> {
        let early = |text: &str| {
            Diagnostic::error(
                codes::sim::STATE_TIME,
                format!("states cannot be saved after cycle {}: {text}", self.rows.end),
            )
            .help("let the trace end where every window ends")
        };
        if let Some(failure) = self.failure() {
            return Err(failure.report);
        }
        if let Some(why) = self.undetermined() {
            let mut report = early("an output is not determined").note(why.report.message);
            report.labels = why.report.labels;
            report.notes.extend(why.report.notes);
            return Err(report);
        }
        for (r, rec) in self.program.forward.iter().enumerate() {
            let eq = self.program.equation(rec.step);
            match self.next_value(r) {
                Ok(Some(_)) if !open && !rec.ends.is_empty() => {
                    return Err(
                        early("a window is open").label(eq.span, "the state of this delay would be lost")
                    );
                }
                Ok(_) => {}
                Err(n) => {
                    let text = format!("what this delay remembers of cycle {n} is not known yet");
                    return Err(early("a state is not determined").label(eq.span, text));
                }
            }
        }
        Ok(())
    }

    fn check_quiescent(&self) -> Result<(), Diagnostic> {
        if self.rows.open() == 0 {
            return Ok(());
        }
        Err(Diagnostic::error(codes::sim::STATE_TIME, "states cannot be set while cycles are open")
            .note(format!(
                "{} cycles are not complete, the first is cycle {}",
                self.rows.open(),
                self.rows.base
            ))
            .help("set states before the first cycle"))
    }
}

/// The initial value of a delay, if it does not depend on the inputs.
fn start<'a>(program: &'a Program, rec: &Delay) -> Option<Value> {
    let start: Option<&'a Value> = rec.start.and_then(|x| program.static_value(x));
    start.cloned()
}
