//! Runs a plan over the windows of the blocks that it is fed.

use std::sync::Arc;

use rml_backend::Held;
use rml_base::{Diagnostic, EntityId, IndexVec, codes};
use rml_engine::{
    Block, BlockColumn, BlockResult, Fast, Inputs, KnownOutputs, Present, Snapshot, States, Usage,
};
use rml_executor::{Fault, Next as Aim, Running};
use rml_ir::flat::Var;
use rml_ir::{Data, Shape, Type, Value};
use rml_plan::{Atom, Ends, Lifetime, Plan, Reg, Rule};
use rml_schedule::NextInput;

use super::budget::refused;
use super::clocks::{Checks, Clock};
use super::given::Given;

/// The most cycles that run at once if a program has no windows, and does not wait for more.
const BLOCK: usize = 256;

/// A plan, and the clocks of its inputs.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) plan: Arc<Plan>,
    /// The delay or parameter of each register.
    pub(super) delays: Arc<IndexVec<Reg, Var>>,
    pub(super) clocks: Vec<Clock>,
    /// The meaning of the additional inputs of the plan, which the program does not have; none if the plan has no
    /// additional inputs.
    pub(super) next: Option<Arc<[NextInput]>>,
    /// How many outputs the program has; further outputs of the plan are conditions of clocks.
    pub(super) outputs: usize,
}

/// A plan that runs over the windows of blocks.
#[derive(Debug)]
pub(super) struct Windows {
    plan: Arc<Plan>,
    /// The registers of delays in windows, which may be open when a block ends, and these delays.
    hidden: Vec<(Reg, Var)>,
    machine: Box<dyn Running>,
    /// Whether guessing the length of windows saves time on this executor.
    guesses: bool,
    /// The inputs of the unfinished cycles.
    given: Vec<Given>,
    cycles: usize,
    /// How the additional inputs are computed from the others, and for how many of the cycles they are known.
    next: Arc<[NextInput]>,
    known: usize,
    /// How many of the cycles were searched for inputs that end a window.
    scanned: usize,
    /// In how many of the cycles the machine has searched for the end of a window.
    searched: usize,
    /// How many cycles of a window are only read, and are fed again in the next one.
    ahead: usize,
    /// For a plan that waits: how many cycles run at once, and how many have to be available before it is tried again.
    block: usize,
    wanted: usize,
    /// For each register, whether its value contradicts what the plan relies on. The program never computes such a
    /// value, but it may come from loaded states.
    foreign: Vec<bool>,
    checks: Checks,
    /// How many outputs the program has.
    outputs: usize,
    /// The start value of each register, where it is a constant.
    starts: Vec<Option<Value>>,
    windows: u64,
    /// The length of the last window, and how many windows in a row had this length.
    last: (usize, u64),
    /// For each input, the row after its values in the searched cycles.
    tried: Vec<usize>,
}

impl Windows {
    /// The number of cycles in which the end of the first window is searched for at first.
    const SOME: usize = 64;
    /// How many windows run in one call.
    const MANY: usize = 8;
    /// After this many windows of one length in a row, several of them may run in one call.
    const REGULAR: u64 = 32;

    pub(super) fn new(planned: Planned, machine: Box<dyn Running>, guesses: bool) -> Self {
        let Planned { plan, delays, clocks, next, outputs } = planned;
        let mut starts = vec![None; plan.registers.len()];
        for case in plan.tapes.iter().flat_map(|t| &t.cases) {
            if let Rule::Read { register, init: Some(Atom::Const(k)) } = &case.rule {
                starts[register.0 as usize] = Some(plan.consts[*k].clone());
            }
        }
        let kept = plan.registers.iter_enumerated().zip(delays.iter());
        let hidden = kept.filter(|((_, register), _)| register.kind == Lifetime::Hidden);
        let hidden = hidden.map(|((register, _), v)| (register, *v)).collect();
        let (given, cycles, scanned, searched) = (Vec::new(), 0, 0, 0);
        let (foreign, ahead) = (vec![false; plan.registers.len()], plan.ahead() as usize);
        Self {
            checks: Checks::new(&plan, clocks),
            outputs,
            plan,
            hidden,
            machine,
            guesses,
            foreign,
            given,
            cycles,
            next: next.unwrap_or_default(),
            known: 0,
            scanned,
            searched,
            ahead,
            block: BLOCK,
            wanted: 0,
            starts,
            windows: 0,
            last: (0, 0),
            tried: Vec::new(),
        }
    }

    /// The next window, which begins at cycle `from` of the available cycles; `rows` gives the row of each input at
    /// this cycle.
    fn next(&mut self, from: usize, rows: &[usize]) -> Result<Next, Diagnostic> {
        if self.foreign.contains(&true) {
            return Ok(Next::Suspect);
        }
        if let Some(ran) = self.guess(from, rows)? {
            return Ok(ran);
        }
        let ticks = match &self.plan.ends {
            // Any number of cycles is a window, and a short one needs little memory. But the cycles ahead are fed
            // again, so they should be a small part of it.
            Ends::Nothing if self.plan.waits => match self.known - from {
                few if few < self.wanted => return Ok(Next::Open),
                ticks => ticks.min(self.block),
            },
            Ends::Nothing => match self.known - from {
                few if few <= self.ahead => return Ok(Next::Open),
                ticks => ticks.min(BLOCK.max(4 * self.ahead) + self.ahead),
            },
            Ends::Given(ends) => {
                let ended = |t: &usize| {
                    ends.iter().any(|(input, value)| self.given[*input as usize].truth(*t) == Some(*value))
                };
                match (from.max(self.scanned)..self.known).find(ended) {
                    Some(t) => t + 1 - from,
                    None => {
                        self.scanned = self.known;
                        return Ok(Next::Open);
                    }
                }
            }
            Ends::Found { .. } => return self.find(from, rows),
        };
        let runs = self.checks.fit(&self.given, (from, from + ticks), rows) && self.has_memory(ticks)?;
        Ok(if runs { Next::Window(ticks) } else { Next::Suspect })
    }

    /// Sets the inputs of cycles before it is known how many of them form a window.
    fn try_inputs(&mut self, from: usize, ticks: usize, rows: &[usize]) {
        let mut tried = std::mem::take(&mut self.tried);
        tried.clear();
        tried.extend(rows);
        self.machine.next(Aim::Search(ticks));
        self.set_inputs(from, ticks, &mut tried);
        self.tried = tried;
    }

    /// Guesses that the next windows are as long as the last ones, and runs them: several in one call, or one without
    /// searching for its end. None if it does not guess, or the guess was wrong.
    fn guess(&mut self, from: usize, rows: &[usize]) -> Result<Option<Next>, Diagnostic> {
        let (ticks, alike) = self.last;
        let one = self.ahead > 0 || self.plan.ends == Ends::Nothing || self.checks.computes();
        if !self.guesses || alike < 2 || one {
            return Ok(None);
        }
        let finds = matches!(self.plan.ends, Ends::Found { .. });
        let many = alike >= Self::REGULAR && self.machine.is_small(ticks);
        let counts = [many.then_some(Self::MANY), finds.then_some(1)];
        for count in counts.into_iter().flatten() {
            let all = ticks * count;
            let is_there = from + all <= self.known && self.checks.fit(&self.given, (from, from + all), rows);
            if !is_there || !self.ends_given(from, ticks, count) || self.machine.ask(all).is_err() {
                continue;
            }
            self.try_inputs(from, all, rows);
            match self.machine.windows(ticks, count) {
                Ok(true) => return Ok(Some(Next::Ran(ticks, count))),
                // The results of a wrong guess are not used.
                Ok(false) | Err(Fault::Suspect) => {}
                Err(Fault::Failed(failure)) => return Err(failure.into()),
            }
        }
        Ok(None)
    }

    /// Whether the next `count` windows have `ticks` cycles each, as far as inputs give their ends.
    fn ends_given(&self, from: usize, ticks: usize, count: usize) -> bool {
        let Ends::Given(ends) = &self.plan.ends else { return true };
        let ended =
            |t: usize| ends.iter().any(|(input, value)| self.given[*input as usize].truth(t) == Some(*value));
        (0..ticks * count).all(|t| ended(from + t) == ((t + 1) % ticks == 0))
    }

    /// Lets the plan search for the end of a window in more and more cycles, so that no tape becomes much longer than
    /// the window.
    fn find(&mut self, from: usize, rows: &[usize]) -> Result<Next, Diagnostic> {
        let all = self.known - from;
        // The next window is probably as long as the last one; if lengths are compiled, only a few of them should be
        // used.
        let first = if self.guesses || self.last.0 == 0 { Self::SOME } else { self.last.0 };
        let mut ticks = all.min(self.searched.max(first));
        loop {
            if !self.checks.fit(&self.given, (from, from + ticks), rows) || !self.has_memory(ticks)? {
                return Ok(Next::Suspect);
            }
            self.try_inputs(from, ticks, rows);
            match self.machine.find(ticks) {
                Ok(Some(ticks)) => return Ok(Next::Window(ticks)),
                Ok(None) if ticks == all => {
                    self.searched = ticks;
                    return Ok(Next::Open);
                }
                Ok(None) => ticks = all.min(2 * ticks),
                Err(Fault::Suspect) => return Ok(Next::Suspect),
                Err(Fault::Failed(failure)) => return Err(failure.into()),
            }
        }
    }

    /// Sets the inputs of a window of the machine; advances the rows past it.
    fn set_inputs(&mut self, from: usize, ticks: usize, rows: &mut [usize]) {
        for (i, (input, row)) in self.given.iter().zip(rows).enumerate() {
            *row = self.machine.set_rows(i, ticks, &|t| input.present.at(from + t), &input.data, *row);
        }
    }

    /// Moves rows back to before cycles that are fed again.
    fn take_back(&self, cycles: &std::ops::Range<usize>, rows: &mut [usize]) {
        for (input, row) in self.given.iter().zip(rows) {
            *row -= cycles.clone().filter(|t| input.present.at(*t)).count();
        }
    }

    /// Runs a window, and returns how many of its cycles are finished. None, and nothing has changed, if an error is
    /// suspected.
    fn window(&mut self, from: usize, ticks: usize, rows: &mut [usize]) -> Result<Option<usize>, Diagnostic> {
        self.checks.keep(&*self.machine)?;
        self.machine.next(Aim::Window(ticks));
        self.set_inputs(from, ticks, rows);
        let ran = match self.machine.window(ticks) {
            Ok(ran) => ran,
            Err(Fault::Suspect) => return Ok(None),
            Err(Fault::Failed(failure)) => return Err(failure.into()),
        };
        if !self.checks.hold(&mut *self.machine, &self.given, (from, ran))? {
            return Ok(None);
        }
        self.count(ticks, 1);
        Ok(Some(ran))
    }

    /// Counts windows that have run.
    fn count(&mut self, ticks: usize, count: u64) {
        self.windows += count;
        self.last = (ticks, if ticks == self.last.0 { self.last.1 + count } else { count });
    }

    /// Decides whether and how a plan that waits continues after a block. If a value waits for cycles after the block,
    /// the next block has twice as many cycles. If it waits for cycles without inputs, the plan is tried again when a
    /// quarter more cycles are available. So each cycle runs only a few times, however long values wait.
    fn goes_on(&mut self, (ticks, done): (usize, usize), all: usize) -> bool {
        self.wanted = 0;
        if ticks == all {
            let rest = all - done;
            self.wanted = rest + (rest / 4).max(1);
            return false;
        }
        if done == 0 {
            self.block *= 2;
        }
        true
    }

    /// Computes the additional inputs, whose values come from the next cycle.
    fn look_ahead(&mut self) {
        let own = self.plan.inputs.len() - self.next.len();
        self.given.truncate(own);
        self.known = self.cycles;
        for NextInput { of, end, init } in self.next.iter() {
            let ends = end.map(|end| self.given[end].all_truths(self.cycles).unwrap_or_default());
            if ends.as_ref().is_none_or(|ends| ends.last() != Some(&true)) {
                self.known = self.cycles.saturating_sub(1);
            }
            let next = self.given[*of].next(self.cycles, ends.as_deref().unwrap_or_default(), *init);
            self.given.push(next);
        }
    }

    /// Drops the inputs of the first cycles; `rows` gives the number of values of each input.
    fn drop_front(&mut self, done: usize, rows: &[usize]) {
        if done == self.cycles {
            self.given.clear();
        }
        for ((input, row), (_, ty)) in self.given.iter_mut().zip(rows).zip(&self.plan.inputs) {
            input.drop_front(done, self.cycles, row * ty.shape.len());
        }
        self.cycles -= done;
        self.known -= done;
        self.scanned = self.scanned.saturating_sub(done);
    }

    fn set_register(&mut self, register: Reg, value: &Held) -> Result<(), Diagnostic> {
        self.foreign[register.index()] = match self.plan.registers[register].known {
            Some(known) => value.to_host()?.as_bool() != Some(known),
            None => false,
        };
        self.machine.set_register(register.index(), value)
    }

    /// Unsets a register: its delay restarts with the value that the plan relies on.
    fn unset_register(&mut self, register: Reg) {
        self.foreign[register.index()] = false;
        self.machine.unset_register(register.index());
    }

    /// Requests the memory for the tapes of a window. If the plan cannot run with less, the simulator may.
    fn has_memory(&mut self, ticks: usize) -> Result<bool, Diagnostic> {
        match self.machine.ask(ticks) {
            Ok(()) => Ok(true),
            Err(too_long) if too_long.least.is_ok() && self.plan.ends != Ends::Nothing => {
                Err(refused(&too_long, ticks))
            }
            Err(_) => Ok(false),
        }
    }
}

/// The next part of the inputs of a plan.
enum Next {
    /// A window of this many cycles, including the cycles ahead.
    Window(usize),
    /// Windows that have run: the cycles of each, and their number.
    Ran(usize, usize),
    /// A window whose end is not available yet.
    Open,
    /// A window that the plan cannot run, since an error is suspected.
    Suspect,
}

impl Fast for Windows {
    fn run(&mut self, first: u64, inputs: Inputs<'_>) -> Result<BlockResult, Diagnostic> {
        let (more, count) = (Given::all(inputs, self.plan.precision)?, inputs.cycles());
        if self.cycles == 0 {
            self.given = more;
        } else {
            let old = self.cycles;
            self.given.iter_mut().zip(more).for_each(|(input, more)| input.append(old, more, count));
        }
        self.cycles += count;
        self.look_ahead();
        let mut rows = vec![0; self.given.len()];
        let empty = || (Vec::new(), Data::Bool(Vec::new()));
        let mut outputs: Vec<(Vec<bool>, Data)> = (0..self.outputs).map(|_| empty()).collect();
        let (mut done, mut is_suspect) = (0, false);
        while done < self.known {
            let (ticks, ran) = match self.next(done, &rows)? {
                Next::Window(ticks) => match self.window(done, ticks, &mut rows)? {
                    Some(ran) => (ticks, ran),
                    None => {
                        is_suspect = true;
                        break;
                    }
                },
                Next::Ran(ticks, count) => {
                    rows.copy_from_slice(&self.tried);
                    self.count(ticks, count as u64);
                    (ticks * count, ticks * count)
                }
                Next::Open => break,
                Next::Suspect => {
                    is_suspect = true;
                    break;
                }
            };
            self.searched = 0;
            self.take_back(&(done + ran..done + ticks), &mut rows);
            for (i, (marks, data)) in outputs.iter_mut().enumerate() {
                for t in 0..ran {
                    marks.push(self.machine.add_output(i, t, data)?);
                }
            }
            let goes_on = !self.plan.waits || self.goes_on((ticks, ran), self.known - done);
            done += ran;
            if !goes_on {
                break;
            }
        }
        let is_done = done == self.cycles;
        let types = self.plan.outputs.iter().map(|output| &output.ty);
        let columns = outputs.into_iter().zip(types).map(|((marks, data), ty)| column(marks, data, ty));
        let outputs = KnownOutputs::Block { first, block: Block::new(done, columns.collect()) };
        if is_suspect {
            self.forget();
            return Ok(BlockResult::Suspect(Some(outputs)));
        }
        self.drop_front(done, &rows);
        Ok(if is_done {
            BlockResult::Done(outputs)
        } else {
            BlockResult::Open((done > 0).then_some(outputs))
        })
    }

    fn forget(&mut self) {
        self.machine.abandon();
        self.given.clear();
        (self.cycles, self.known, self.scanned, self.searched) = (0, 0, 0, 0);
        (self.block, self.wanted) = (BLOCK, 0);
    }

    fn states(&self) -> Result<States, Diagnostic> {
        let registers =
            self.plan.registers.iter().enumerate().filter_map(|(i, register)| match &register.kind {
                Lifetime::State { key, .. } => Some((i, Arc::clone(key))),
                Lifetime::Local | Lifetime::Hidden => None,
            });
        Ok(registers
            .filter_map(|(i, key)| {
                let start = || self.starts[i].clone().map(Held::Host);
                Some((key, self.machine.register(i).or_else(start)?))
            })
            .collect())
    }

    fn set_states(&mut self, states: &States) -> Result<(), Diagnostic> {
        let plan = Arc::clone(&self.plan);
        let of = |key: &str| {
            plan.registers
                .iter_enumerated()
                .find(|(_, r)| matches!(&r.kind, Lifetime::State { key: k, .. } if **k == *key))
        };
        for (key, value) in states.iter() {
            let fail = |what: &str| Diagnostic::error(codes::sim::STATE_VALUE, what.replace("{}", key));
            let Some((Reg(at), register)) = of(key) else {
                return Err(fail("the program has no state `{}`"));
            };
            if value.ty() != register.ty {
                return Err(fail("state `{}` has another type").note(format!(
                    "expected {}, found {}",
                    register.ty,
                    value.ty()
                )));
            }
            self.set_register(Reg(at), value)?;
        }
        Ok(())
    }

    fn snapshot(&self) -> Result<Snapshot, Diagnostic> {
        let mut snapshot = Snapshot::from(self.states()?);
        for (register, v) in &self.hidden {
            if self.machine.is_set(register.index())? {
                snapshot.delays.extend(self.machine.register(register.index()).map(|value| (*v, value)));
            }
        }
        Ok(snapshot)
    }

    fn set_snapshot(&mut self, snapshot: &Snapshot) -> Result<bool, Diagnostic> {
        let is_kept = |v: &Var| self.hidden.iter().any(|(_, delay)| delay == v);
        if !snapshot.delays.keys().all(is_kept) {
            return Ok(false);
        }
        self.set_states(&snapshot.states)?;
        for (register, data) in Arc::clone(&self.plan).registers.iter_enumerated() {
            if let Lifetime::State { key, .. } = &data.kind
                && snapshot.states.get(key).is_none()
            {
                self.unset_register(register);
            }
        }
        for (register, v) in self.hidden.clone() {
            match snapshot.delays.get(&v) {
                Some(value) => self.set_register(register, value)?,
                None => self.unset_register(register),
            }
        }
        Ok(true)
    }

    fn usage(&self) -> Usage {
        Usage { activations: self.windows, bytes: 0 }
    }
}

/// A column of a type: the values in the cycles where it is present.
fn column(marks: Vec<bool>, data: Data, ty: &Type) -> BlockColumn {
    let rows = marks.iter().filter(|is_present| **is_present).count();
    let dims: Vec<usize> = std::iter::once(rows).chain(ty.shape.dims().iter().copied()).collect();
    let present: Present = marks.into_iter().collect();
    if rows == 0 {
        BlockColumn::absent()
    } else {
        BlockColumn::new(present, Value::new(Shape::new(&dims), data))
    }
}
