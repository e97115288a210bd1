//! Plans on the embedded backend.

use std::sync::Arc;

use rml_ir::op::{EvalError, Number};
use rml_ir::{Data, Positions, Value};
use rml_plan::{Kind, Plan};

mod buffer;
mod code;
mod kernels;
mod store;

use buffer::Buffer;
use code::{Case, Code, Kernel, Pass, Step};
use kernels::Out;
use store::{Store, ranges};

/// A window has no result that is sure: an operator failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Suspect;

impl From<EvalError> for Suspect {
    fn from(_: EvalError) -> Self {
        Suspect
    }
}

/// A plan that runs, window after window, with numbers of one precision.
#[derive(Debug)]
pub struct Machine<N> {
    plan: Arc<Plan>,
    code: Arc<Code>,
    store: Store<N>,
    /// Registers that are written within the window, as they were at its start.
    before: Vec<(usize, Buffer<N>, bool)>,
    /// How far the end of a window was looked for.
    search: Search,
}

/// How far the end of a window was looked for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Search {
    #[default]
    None,
    /// It is none of that many first ticks.
    Past(usize),
    /// The window has that many ticks.
    Found(usize),
}

impl<N: Number> Machine<N> {
    /// Starts a plan in its initial state.
    pub fn new(plan: Arc<Plan>) -> Self {
        let code = Arc::new(code::code(&plan));
        let registers: Vec<Buffer<N>> =
            plan.registers.iter().map(|r| Buffer::new(r.ty.dtype, r.ty.shape.len())).collect();
        let mut before = Vec::new();
        for pass in &code.passes {
            if let Pass::Loop { puts, .. } = pass {
                before.extend(puts.iter().map(|p| (p.register, registers[p.register].clone(), false)));
            }
        }
        let store = Store {
            ticks: 0,
            tapes: code.tapes.iter().map(|l| Buffer::new(l.dtype, 0)).collect(),
            consts: plan.consts.iter().map(Buffer::of).collect(),
            set: vec![false; registers.len()],
            registers,
            precision: plan.precision,
        };
        Self { plan, code, store, before, search: Search::None }
    }

    /// Sets an input at those of the `ticks` ticks of the next window at which it is `present`, to successive rows of `data`, from row
    /// `row` on. Returns the row behind.
    pub fn set_rows(
        &mut self,
        input: usize,
        ticks: usize,
        present: &dyn Fn(usize) -> bool,
        data: &Data,
        row: usize,
    ) -> usize {
        let there: Vec<usize> = (0..ticks).filter(|t| present(*t)).collect();
        for (tape, layout) in self.code.tapes.iter().enumerate().filter(|(_, l)| l.input == Some(input)) {
            let (buffer, width) = (&mut self.store.tapes[tape], layout.width);
            buffer.reserve(width * if layout.once { 1 } else { ticks });
            if !layout.once && there.len() == ticks {
                buffer.set_data(0, data, row * width, ticks * width);
                continue;
            }
            let is_start = self.plan.tapes.as_slice()[tape].place().is_within(Positions::STARTS);
            let only = if is_start { 0 } else { ticks - 1 };
            for (i, t) in there.iter().enumerate().filter(|(_, t)| !layout.once || **t == only) {
                buffer.set_data(if layout.once { 0 } else { t * width }, data, (row + i) * width, width);
            }
        }
        row + there.len()
    }

    /// Sets an input at one of the `ticks` ticks of the next window.
    pub fn set_input(&mut self, input: usize, ticks: usize, t: usize, value: &Value) {
        for (tape, layout) in self.code.tapes.iter().enumerate().filter(|(_, l)| l.input == Some(input)) {
            let (slots, at) = if layout.once { (1, 0) } else { (ticks, t) };
            let is_start = self.plan.tapes.as_slice()[tape].place().is_within(Positions::STARTS);
            if layout.once && t != if is_start { 0 } else { ticks - 1 } {
                continue;
            }
            self.store.tapes[tape].reserve(slots * layout.width);
            self.store.tapes[tape].set(at * layout.width, value);
        }
    }

    /// Runs one window of `ticks` ticks, at least one, whose inputs were set.
    ///
    /// # Errors
    /// If an operator has no result. Then no register has changed.
    pub fn window(&mut self, ticks: usize) -> Result<(), Suspect> {
        let code = Arc::clone(&self.code);
        let is_found = self.search == Search::Found(ticks);
        if !is_found {
            self.abandon();
            self.begin();
        }
        self.reserve(&code, ticks);
        let first = if is_found { self.close(&code, ticks) } else { Ok(()) };
        let rest = &code.passes[usize::from(is_found)..];
        let result = first.and_then(|()| rest.iter().try_for_each(|pass| self.pass(pass)));
        if result.is_err() {
            self.restore();
            return result;
        }
        self.search = Search::None;
        for t in 0..ticks {
            self.store.put(&code.commits, t);
        }
        Ok(())
    }

    /// Looks for the end of the next window, if the plan [finds](rml_plan::Ends::Found) it: in its first `ticks` ticks, whose inputs were set. How
    /// many ticks it has; none if it does not end with these. The search goes on from call to call until a window is run.
    ///
    /// # Errors
    /// If an operator has no result. Then no register has changed.
    pub fn find(&mut self, ticks: usize) -> Result<Option<usize>, Suspect> {
        let code = Arc::clone(&self.code);
        let from = match self.search {
            Search::Found(found) => return Ok(Some(found)),
            Search::Past(from) => from,
            Search::None => {
                self.begin();
                0
            }
        };
        let (Some((conds, head)), Some(Pass::Loop { steps, puts, .. })) = (&code.ends, code.passes.first())
        else {
            return Ok(None);
        };
        // As long as the end is not found, no tick is the last one.
        self.reserve(&code, ticks);
        self.store.ticks = usize::MAX;
        for t in from..ticks {
            let found = self
                .tick(&steps[..*head], t)
                .map(|()| conds.iter().any(|(cond, value)| self.store.truth(*cond, t) == *value));
            match found {
                Ok(true) => {
                    self.search = Search::Found(t + 1);
                    return Ok(Some(t + 1));
                }
                Ok(false) => {}
                Err(why) => {
                    self.restore();
                    return Err(why);
                }
            }
            if let Err(why) = self.tick(&steps[*head..], t) {
                self.restore();
                return Err(why);
            }
            self.store.put(puts, t);
        }
        self.search = Search::Past(from.max(ticks));
        Ok(None)
    }

    /// Gives up a window whose end is looked for.
    pub fn abandon(&mut self) {
        if self.search != Search::None {
            self.restore();
        }
    }

    /// What is left of the last tick of the loop that found it.
    fn close(&mut self, code: &Code, ticks: usize) -> Result<(), Suspect> {
        if let (Some((_, head)), Some(Pass::Loop { steps, puts, .. })) = (&code.ends, code.passes.first()) {
            self.tick(&steps[*head..], ticks - 1)?;
            self.store.put(puts, ticks - 1);
        }
        Ok(())
    }

    fn restore(&mut self) {
        self.search = Search::None;
        for (register, value, set) in &self.before {
            self.store.registers[*register].clone_from(value);
            self.store.set[*register] = *set;
        }
    }

    fn reserve(&mut self, code: &Code, ticks: usize) {
        self.store.ticks = ticks;
        for (buffer, layout) in self.store.tapes.iter_mut().zip(&code.tapes) {
            buffer.reserve(layout.width * if layout.once { 1 } else { ticks });
        }
    }

    fn begin(&mut self) {
        for (i, register) in self.plan.registers.iter().enumerate() {
            if register.kind == Kind::Local {
                self.store.set[i] = false;
            }
        }
        for (register, value, set) in &mut self.before {
            value.clone_from(&self.store.registers[*register]);
            *set = self.store.set[*register];
        }
    }

    /// An output at a tick of the window that was run; none if it is absent.
    pub fn output(&self, output: usize, t: usize) -> Option<Value> {
        let p = self.store.position(t);
        let (_, when, arg) = self.code.outputs[output].iter().find(|(at, ..)| at.contains(p))?;
        self.store.holds(when, t).then(|| self.store.value(*arg, &self.plan.outputs[output].ty.shape, t))
    }

    fn pass(&mut self, pass: &Pass) -> Result<(), Suspect> {
        match pass {
            Pass::Over(steps) => steps.iter().try_for_each(|step| self.over(step)),
            Pass::Loop { backward, steps, puts } => (0..self.store.ticks).try_for_each(|i| {
                let t = if *backward { self.store.ticks - 1 - i } else { i };
                self.tick(steps, t)?;
                self.store.put(puts, t);
                Ok(())
            }),
        }
    }

    fn tick(&mut self, steps: &[Step], t: usize) -> Result<(), Suspect> {
        let p = self.store.position(t).index();
        for step in steps {
            if let Some(case) = step.at[p] {
                self.run(step.tape, &step.cases[case], t, t + 1)?;
            }
        }
        Ok(())
    }

    fn over(&mut self, step: &Step) -> Result<(), Suspect> {
        for case in &step.cases {
            for (from, to) in ranges(case.at, self.store.ticks) {
                if case.when.is_empty() {
                    self.run(step.tape, case, from, to)?;
                } else {
                    (from..to).try_for_each(|t| self.run(step.tape, case, t, t + 1))?;
                }
            }
        }
        Ok(())
    }

    /// Fills a tape at the ticks `from..to`, one of them if there are guards.
    fn run(&mut self, tape: usize, case: &Case, from: usize, to: usize) -> Result<(), Suspect> {
        if !self.store.holds(&case.when, from) {
            return Ok(());
        }
        let layout = &self.code.tapes[tape];
        if matches!(case.kernel, Kernel::Input) {
            return Ok(());
        }
        let slot = |t: usize| if layout.once { 0 } else { t * layout.width };
        if case.reads_itself {
            for t in from..to {
                let mut fresh = Buffer::new(layout.dtype, layout.width);
                let mut out = Out { buffer: &mut fresh, at: 0, width: layout.width, from: t, to: t + 1 };
                self.store.run(&case.kernel, &mut out)?;
                self.store.tapes[tape].copy(slot(t), &fresh, 0, layout.width);
            }
            return Ok(());
        }
        let mut buffer = std::mem::take(&mut self.store.tapes[tape]);
        let mut out = Out { buffer: &mut buffer, at: slot(from), width: layout.width, from, to };
        let result = self.store.run(&case.kernel, &mut out);
        self.store.tapes[tape] = buffer;
        result
    }

    /// The value of a register, as it was before a window whose end is looked for; none if it is not set.
    pub fn register(&self, register: usize) -> Option<Value> {
        let shape = &self.plan.registers.as_slice()[register].ty.shape;
        if self.search != Search::None
            && let Some((_, value, set)) = self.before.iter().find(|(r, ..)| *r == register)
        {
            return set.then(|| value.value(0, shape));
        }
        self.store.set[register].then(|| self.store.registers[register].value(0, shape))
    }

    /// Sets a register.
    pub fn set_register(&mut self, register: usize, value: &Value) {
        self.store.registers[register].set(0, value);
        self.store.set[register] = true;
    }
}
