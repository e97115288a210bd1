//! The effect of each step when something became known about its variables. Presence is a property of clock classes
//! (CLOCK-1), so it need not be propagated within a class. Only `when`, `merge` and errors propagate it from one class
//! to another.

use std::sync::Arc;

use rml_base::Diagnostic;
use rml_ir::Value;
use rml_ir::op::{EvalError, Op, eval};

use super::Simulator;
use super::cell::{Cell, Presence};
use super::program::{InputClock, Operand, Program, Step};
use super::rows::{Cause, Rows};

/// Two causes that disagree about the presence of a class.
#[derive(Clone, Debug)]
pub(super) struct Conflict {
    pub(super) cycle: u64,
    pub(super) class: u32,
    /// The first decision, and its cause.
    pub(super) held: (Presence, Cause),
    /// The contradicting decision, and its cause.
    pub(super) said: (Presence, Cause),
}

/// The reason why the simulation cannot continue.
#[derive(Clone, Debug)]
pub(super) enum Halt {
    /// A synchronisation error.
    Conflict(Conflict),
    /// An input that is not on its declared clock.
    InputClock { cycle: u64, clock: InputClock },
    /// An operator without a result.
    Eval { cycle: u64, step: u32, error: EvalError },
    /// A backend that declines a function or fails.
    Backend { cycle: u64, report: Box<Diagnostic> },
}

/// The knowledge about a condition.
pub(super) enum Truth {
    True,
    False,
    Never,
    Unknown,
}

pub(super) type Go = Result<(), Halt>;

impl Simulator {
    /// Runs the pending steps until none is left.
    pub(super) fn run_pending(&mut self) -> Go {
        // Shared, so that steps can be read while the rows change.
        let program = Arc::clone(&self.program);
        loop {
            if self.probe.is_some() {
                self.run_timed(&program)?;
            }
            while let Some((cycle, step)) = self.rows.next() {
                self.activations += 1;
                self.activate(&program, cycle, step)?;
            }
            if !self.call_next(&program)? {
                return Ok(());
            }
        }
    }

    /// Decides that a class is present or absent.
    #[inline]
    pub(super) fn decide(&mut self, cycle: u64, class: u32, said: Presence, cause: Cause) -> Go {
        let held = self.rows.presence(cycle, class);
        if held == said || held == Presence::Error {
            return Ok(());
        }
        if held != Presence::Bottom {
            let held = (held, self.rows.cause(cycle, class));
            return self.conflict(Conflict { cycle, class, held, said: (said, cause) });
        }
        let cells = if said == Presence::Present { self.program.cells_of_class[class as usize] } else { 0 };
        self.rows.decide(cycle, class, said, cause, cells);
        self.notify_class(cycle, class);
        if said == Presence::Present && self.has_offers {
            self.take_offers(cycle, class)?;
        }
        Ok(())
    }

    /// Reads the inputs on demand of a class, now that the class is present (ENV-2).
    fn take_offers(&mut self, cycle: u64, class: u32) -> Go {
        let mut refused = None;
        for i in 0..self.rows.offers(cycle).len() {
            let var = self.rows.offers(cycle)[i].0;
            if self.program.class(var) == class as usize {
                match self.rows.offers(cycle)[i].1.take() {
                    Some(value) => self.set(cycle, var.0, Cell::Value(value)),
                    None => refused = Some(var),
                }
            }
        }
        refused.map_or(Ok(()), |var| self.decide(cycle, class, Presence::Absent, Cause::Input(var)))
    }

    #[inline]
    fn notify_class(&mut self, cycle: u64, class: u32) {
        for &step in self.program.on_class.of(class as usize) {
            self.rows.mark(cycle, step);
        }
    }

    /// Sets a cell, unless it is already set.
    #[inline]
    pub(super) fn set(&mut self, cycle: u64, cell: u32, content: Cell) {
        set(&self.program, &mut self.rows, cycle, cell, content);
    }

    /// Sets a cell to the content of an operand.
    #[inline]
    fn pass(&mut self, cycle: u64, cell: u32, x: Operand) {
        let content = self.cell(cycle, x);
        if !content.is_empty() {
            let content = content.clone();
            self.set(cycle, cell, content);
        }
    }

    /// Handles a disagreement (ERROR-1). The simulation stops, or the class becomes an error if the caller wants to see
    /// how errors spread. If an input is not on its declared clock in that cycle, this is reported as the reason.
    fn conflict(&mut self, conflict: Conflict) -> Go {
        let (cycle, class) = (conflict.cycle, conflict.class);
        self.check_clocks_of(cycle)?;
        if !self.options.keep_going {
            return Err(Halt::Conflict(conflict));
        }
        if !self.rows.is_broken(cycle) {
            self.halts.push(Halt::Conflict(conflict));
        }
        self.spread(cycle, class);
        Ok(())
    }

    /// Makes a class an error in a cycle, and marks the steps that are affected (ERROR-2).
    pub(super) fn spread(&mut self, cycle: u64, class: u32) {
        if self.rows.presence(cycle, class) == Presence::Error {
            return;
        }
        self.rows.set_error(cycle, class);
        self.notify_class(cycle, class);
        for i in 0..self.program.on_class.of(class as usize).len() {
            let step = self.program.on_class.of(class as usize)[i];
            if self.program.delay(step as usize).is_some() {
                for n in self.rows.base..self.rows.end {
                    self.rows.mark(n, step);
                }
            }
        }
    }

    #[inline]
    pub(super) fn cell(&self, cycle: u64, x: Operand) -> &Cell {
        x.get(self.rows.cells(cycle), &self.program.constants)
    }

    #[inline]
    pub(super) fn truth(&self, cycle: u64, x: Operand) -> Truth {
        match self.cell(cycle, x) {
            // Conditions are always on the host.
            Cell::Empty | Cell::Device(_) | Cell::Inside => Truth::Unknown,
            Cell::Never => Truth::Never,
            Cell::Value(Value::Bool(true)) => Truth::True,
            Cell::Value(_) => Truth::False,
        }
    }

    /// Whether a cell of that class still has to be set.
    #[inline]
    pub(super) fn wanted(&self, cycle: u64, class: u32, out: u32) -> bool {
        wanted(&self.rows, cycle, class, out)
    }

    #[inline]
    pub(super) fn activate(&mut self, program: &Program, cycle: u64, id: u32) -> Go {
        if self.defer(program, cycle, id) {
            return Ok(());
        }
        match &program.steps[id as usize] {
            Step::Constant => {}
            Step::Unary { op, x, out, class } => {
                if self.wanted(cycle, *class, *out) {
                    match self.cell(cycle, *x) {
                        Cell::Value(x) => {
                            let result = eval(op, &[x], program.flat.precision);
                            self.give(cycle, id, *out, result)?;
                        }
                        Cell::Never => self.set(cycle, *out, Cell::Never),
                        _ => {}
                    }
                }
            }
            Step::Binary { op, x, y, out, class } => {
                if self.wanted(cycle, *class, *out) {
                    match (self.cell(cycle, *x), self.cell(cycle, *y)) {
                        (Cell::Value(x), Cell::Value(y)) => {
                            let result = eval(op, &[x, y], program.flat.precision);
                            self.give(cycle, id, *out, result)?;
                        }
                        (Cell::Never, _) | (_, Cell::Never) => self.set(cycle, *out, Cell::Never),
                        _ => {}
                    }
                }
            }
            Step::Apply { op, args, out, class } => {
                if self.wanted(cycle, *class, *out) {
                    self.apply(cycle, id, op, args, *out)?;
                }
            }
            Step::Copy { x, out, class } => {
                if self.wanted(cycle, *class, *out) {
                    self.pass(cycle, *out, *x);
                }
            }
            Step::Param { param, init, out, class } => {
                if self.wanted(cycle, *class, *out) {
                    match &self.params[*param as usize] {
                        Cell::Empty => self.pass(cycle, *out, *init),
                        loaded => self.set(cycle, *out, loaded.clone()),
                    }
                }
            }
            Step::If { cond, then, other, out, class } => {
                if self.wanted(cycle, *class, *out) {
                    match self.truth(cycle, *cond) {
                        Truth::True => self.pass(cycle, *out, *then),
                        Truth::False => self.pass(cycle, *out, *other),
                        Truth::Never => self.set(cycle, *out, Cell::Never),
                        Truth::Unknown => {}
                    }
                }
            }
            // `when` and `merge` may mark themselves again; one activation is enough, so the mark is cleared.
            Step::When { value, cond, out, from, to } => {
                self.when(cycle, id, [*value, *cond], *out, [*from, *to])?;
                self.rows.unmark(cycle, id);
            }
            Step::Merge { cond, branches, out, class } => {
                self.merge(cycle, id, *cond, branches, *out, *class)?;
                self.rows.unmark(cycle, id);
            }
            Step::InputClock(clock) => self.check_clock(cycle, *clock)?,
            Step::Forward(r) => self.forward(program, cycle, *r),
            Step::Backward(r) => self.backward(program, cycle, *r),
        }
        Ok(())
    }

    fn apply(&mut self, cycle: u64, id: u32, op: &Op, args: &[Operand], out: u32) -> Go {
        if args.iter().any(|&x| matches!(self.cell(cycle, x), Cell::Never)) {
            self.set(cycle, out, Cell::Never);
        }
        let values: Option<Vec<&Value>> = args.iter().map(|&x| self.cell(cycle, x).value()).collect();
        let Some(values) = values else { return Ok(()) };
        let result = eval(op, &values, self.program.flat.precision);
        self.give(cycle, id, out, result)
    }

    /// The result of an operator (APPLY-2, APPLY-3).
    #[inline]
    pub(super) fn give(&mut self, cycle: u64, step: u32, out: u32, result: Result<Value, EvalError>) -> Go {
        match result {
            Ok(value) => self.set(cycle, out, Cell::Value(value)),
            Err(error) => {
                let halt = Halt::Eval { cycle, step, error };
                if !self.options.keep_going {
                    return Err(halt);
                }
                self.halts.push(halt);
            }
        }
        Ok(())
    }

    /// WHEN-1 to WHEN-3.
    fn when(
        &mut self,
        cycle: u64,
        id: u32,
        [value, cond]: [Operand; 2],
        out: u32,
        [from, to]: [u32; 2],
    ) -> Go {
        let cause = Cause::Step(id);
        if self.rows.presence(cycle, to) == Presence::Present {
            self.decide(cycle, from, Presence::Present, cause)?;
        }
        match self.rows.presence(cycle, from) {
            Presence::Bottom => {}
            Presence::Absent => self.decide(cycle, to, Presence::Absent, cause)?,
            Presence::Present => match self.truth(cycle, cond) {
                Truth::True => {
                    self.decide(cycle, to, Presence::Present, cause)?;
                    if self.wanted(cycle, to, out) {
                        self.pass(cycle, out, value);
                    }
                }
                Truth::False => self.decide(cycle, to, Presence::Absent, cause)?,
                Truth::Never | Truth::Unknown => {}
            },
            Presence::Error => self.spread(cycle, to),
        }
        if self.rows.presence(cycle, to) == Presence::Error {
            self.spread(cycle, from);
        }
        Ok(())
    }

    /// MERGE-1 to MERGE-3.
    fn merge(
        &mut self,
        cycle: u64,
        id: u32,
        cond: Operand,
        branches: &[(Operand, u32); 2],
        out: u32,
        class: u32,
    ) -> Go {
        let cause = Cause::Step(id);
        for (_, branch) in branches {
            if self.rows.presence(cycle, *branch) == Presence::Present {
                self.decide(cycle, class, Presence::Present, cause)?;
            }
        }
        match self.rows.presence(cycle, class) {
            Presence::Absent => {
                for (_, branch) in branches {
                    self.decide(cycle, *branch, Presence::Absent, cause)?;
                }
            }
            Presence::Present => {
                let [yes, no] = *branches;
                match self.truth(cycle, cond) {
                    Truth::True => self.select(cycle, cause, [yes, no], out, class)?,
                    Truth::False => self.select(cycle, cause, [no, yes], out, class)?,
                    Truth::Never => self.set(cycle, out, Cell::Never),
                    Truth::Unknown => {}
                }
            }
            Presence::Bottom | Presence::Error => {}
        }
        let all = [class, branches[0].1, branches[1].1];
        if all.iter().any(|&c| self.rows.presence(cycle, c) == Presence::Error) {
            all.iter().for_each(|&c| self.spread(cycle, c));
        }
        Ok(())
    }

    /// Handles a `merge` whose condition is known.
    fn select(
        &mut self,
        cycle: u64,
        cause: Cause,
        [taken, left]: [(Operand, u32); 2],
        out: u32,
        class: u32,
    ) -> Go {
        self.decide(cycle, taken.1, Presence::Present, cause)?;
        self.decide(cycle, left.1, Presence::Absent, cause)?;
        if self.wanted(cycle, class, out) {
            self.pass(cycle, out, taken.0);
        }
        Ok(())
    }
}

/// Sets a cell, unless it is already set, and marks the steps that read it.
#[inline]
pub(super) fn set(program: &Program, rows: &mut Rows, cycle: u64, cell: u32, content: Cell) {
    if !rows.cells(cycle)[cell as usize].is_empty() {
        return;
    }
    rows.set(cycle, cell, content);
    for &step in program.on_value.of(cell as usize) {
        rows.mark(cycle, step);
    }
}

/// Whether a cell of that class still has to be set.
#[inline]
pub(super) fn wanted(rows: &Rows, cycle: u64, class: u32, out: u32) -> bool {
    rows.presence(cycle, class) == Presence::Present && rows.cells(cycle)[out as usize].is_empty()
}
