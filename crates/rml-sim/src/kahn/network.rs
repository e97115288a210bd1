//! The stream transformers: each equation is a process that reads its operands from their beginnings and appends to its
//! result.

use rml_base::IndexVec;
use rml_ir::Value;
use rml_ir::flat::{Drawn, Eq, Equation, Init, Rhs, Var};
use rml_ir::op::eval;

use super::{KahnFailure, Stop, WaitStep};

/// The next step of a process.
enum Step {
    /// Appends an element.
    Emit(Value),
    /// Reads elements and appends nothing.
    Skip,
    /// Needs these elements first.
    Wait(Vec<(Var, usize)>),
}

/// The numbers of elements that a sampling or merging process has read: from the first operand, and from the two
/// branches of a merge.
#[derive(Clone, Copy, Default)]
struct Cursor {
    first: usize,
    on_true: usize,
    on_false: usize,
}

/// All sequences so far, and the positions of the processes in them.
pub(super) struct Network<'a> {
    flat: &'a Drawn,
    limit: usize,
    values: IndexVec<Var, Vec<Value>>,
    cursors: IndexVec<Eq, Cursor>,
}

impl<'a> Network<'a> {
    pub(super) fn new(flat: &'a Drawn, inputs: &[Vec<Value>], limit: usize) -> Self {
        let mut values = IndexVec::filled(Vec::new(), flat.vars.len());
        for (input, sequence) in flat.inputs.iter().zip(inputs) {
            values[input.var].clone_from(sequence);
        }
        Self { flat, limit, values, cursors: IndexVec::filled(Cursor::default(), flat.equations.len()) }
    }

    pub(super) fn into_values(self) -> IndexVec<Var, Vec<Value>> {
        self.values
    }

    /// Runs all processes until each of them waits.
    pub(super) fn run(&mut self) -> Result<(), KahnFailure> {
        let mut again = true;
        while again {
            again = false;
            for eq in self.flat.equations.ids() {
                again |= self.go_on(eq)?;
            }
        }
        Ok(())
    }

    /// Runs one process until it waits; returns whether it made progress.
    fn go_on(&mut self, eq: Eq) -> Result<bool, KahnFailure> {
        let mut moved = false;
        while !self.is_full(eq) {
            let step = self.step(eq)?;
            if let Step::Wait(_) = step {
                break;
            }
            self.advance(eq);
            if let Step::Emit(value) = step {
                self.values[self.flat.equations[eq].lhs].push(value);
            }
            moved = true;
        }
        Ok(moved)
    }

    /// Whether a process has appended the requested number of elements.
    fn is_full(&self, eq: Eq) -> bool {
        let lhs = self.flat.equations[eq].lhs;
        self.values[lhs].len() >= self.limit || self.cursors[eq].first >= self.limit
    }

    fn get(&self, v: Var, element: usize) -> Result<&Value, (Var, usize)> {
        self.values[v].get(element).ok_or((v, element))
    }

    fn is_true(&self, v: Var, element: usize) -> Result<bool, (Var, usize)> {
        self.get(v, element).map(|value| value.as_bool() == Some(true))
    }

    /// The next step of a process.
    fn step(&self, eq: Eq) -> Result<Step, KahnFailure> {
        let Equation { lhs, rhs, .. } = &self.flat.equations[eq];
        let (k, cursor) = (self.values[*lhs].len(), self.cursors[eq]);
        if let Rhs::Apply { op, args } = rhs {
            let operands: Vec<_> = args.iter().map(|&v| self.get(v, k)).collect();
            let missing: Vec<_> = operands.iter().filter_map(|x| x.err()).collect();
            if !missing.is_empty() {
                return Ok(Step::Wait(missing));
            }
            let operands: Vec<&Value> = operands.into_iter().flatten().collect();
            let result = eval(op, &operands, self.flat.precision);
            return result.map(Step::Emit).map_err(|error| KahnFailure { equation: eq, element: k, error });
        }
        Ok(self.transform(rhs, k, cursor).unwrap_or_else(|missing| Step::Wait(vec![missing])))
    }

    /// The transformers of the primitives; a missing element is an error.
    fn transform(&self, rhs: &Rhs, k: usize, cursor: Cursor) -> Result<Step, (Var, usize)> {
        let emit = |v: Var, element: usize| self.get(v, element).cloned().map(Step::Emit);
        match rhs {
            Rhs::Const(c) => Ok(Step::Emit(self.flat.value(*c).clone())),
            Rhs::Fby { init: Init::Const(c), .. } if k == 0 => Ok(Step::Emit(self.flat.value(*c).clone())),
            Rhs::Fby { init: Init::Stream(i), .. } if k == 0 => emit(*i, 0),
            Rhs::Fby { next, .. } => emit(*next, k - 1),
            // The last element of a sequence that may still grow is unknown.
            Rhs::FbyBack { next, .. } | Rhs::Post { next, .. } => emit(*next, k + 1),
            Rhs::When { value, cond } => {
                let taken = self.is_true(*cond, cursor.first)?;
                let value = self.get(*value, cursor.first)?;
                Ok(if taken { Step::Emit(value.clone()) } else { Step::Skip })
            }
            Rhs::Merge { cond, on_true, on_false } => {
                let taken = self.is_true(*cond, cursor.first)?;
                if taken { emit(*on_true, cursor.on_true) } else { emit(*on_false, cursor.on_false) }
            }
            Rhs::If { cond, then, other } => {
                let taken = self.is_true(*cond, k)?;
                emit(if taken { *then } else { *other }, k)
            }
            Rhs::Param { init } => emit(*init, k),
            Rhs::Apply { .. } => Ok(Step::Wait(Vec::new())),
        }
    }

    /// Counts the elements that a process reads in its next step. Requires: that step is not a wait.
    fn advance(&mut self, eq: Eq) {
        let cursor = self.cursors[eq];
        let next = match &self.flat.equations[eq].rhs {
            Rhs::When { .. } => Cursor { first: cursor.first + 1, ..cursor },
            Rhs::Merge { cond, .. } => {
                let taken = self.is_true(*cond, cursor.first) == Ok(true);
                Cursor {
                    first: cursor.first + 1,
                    on_true: cursor.on_true + usize::from(taken),
                    on_false: cursor.on_false + usize::from(!taken),
                }
            }
            _ => cursor,
        };
        self.cursors[eq] = next;
    }

    /// The waits of each variable, once no process can continue.
    pub(super) fn waits(&self) -> IndexVec<Var, Vec<WaitStep>> {
        let mut waits = IndexVec::filled(Vec::new(), self.flat.vars.len());
        for (eq, equation) in self.flat.equations.iter_enumerated() {
            if self.is_full(eq) {
                continue;
            }
            let (var, element) = (equation.lhs, self.values[equation.lhs].len());
            if let Ok(Step::Wait(missing)) = self.step(eq) {
                let wait = |(on, on_element)| WaitStep { var, element, on, on_element };
                waits[var] = missing.into_iter().map(wait).collect();
            }
        }
        waits
    }

    /// The reason why each stream has no further element.
    pub(super) fn stops(
        &self,
        waits: &IndexVec<Var, Vec<WaitStep>>,
        stuck: &IndexVec<Var, bool>,
    ) -> Vec<Stop> {
        let mut stops: IndexVec<Var, Stop> =
            stuck.iter().map(|&s| if s { Stop::Deadlock } else { Stop::Inputs }).collect();
        for (eq, equation) in self.flat.equations.iter_enumerated() {
            if self.is_full(eq) {
                stops[equation.lhs] = Stop::Limit;
            }
        }
        // A stream continues if it waits only for streams that continue.
        loop {
            let goes_on =
                |v: Var| !waits[v].is_empty() && waits[v].iter().all(|w| stops[w.on] == Stop::Limit);
            let more: Vec<Var> = waits.ids().filter(|&v| stops[v] == Stop::Inputs && goes_on(v)).collect();
            if more.is_empty() {
                return stops.into_vec();
            }
            more.into_iter().for_each(|v| stops[v] = Stop::Limit);
        }
    }
}
