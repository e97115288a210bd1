//! Runs a plan one tick and one operator at a time: slow and easy to understand. Fast engines are compared with it.

use std::sync::Arc;

use rml_base::{IndexVec, Span};
use rml_ir::op::{Binary, EvalError, Number, Op, eval, product_onto};
use rml_ir::{Data, Position, Value};

use super::{
    Atom, Case, Ends, Guard, Lifetime, Part, Plan, Reg, Region, Rule, Tape, Term, Tick, Write,
    is_outer_product,
};

mod waits;

/// Why a window has no result.
#[derive(Clone, PartialEq, Debug)]
pub enum Fault {
    /// An operator has none.
    Operator {
        /// The place of the operator in the source.
        span: Span,
        /// Why.
        error: EvalError,
    },
    /// A value is read that is not there: the plan, or the data, do not fit.
    Missing {
        /// The tape that is read.
        tape: Tape,
    },
}

/// A cell for each tick: a value, or absence.
pub type Cells = Vec<Option<Value>>;

/// A plan that runs, window after window.
#[derive(Debug)]
pub struct Machine {
    plan: Arc<Plan>,
    registers: IndexVec<Reg, Option<Value>>,
}

impl Machine {
    /// Starts a plan in its initial state.
    pub fn new(plan: Arc<Plan>) -> Self {
        let registers = IndexVec::filled(None, plan.registers.len());
        Self { plan, registers }
    }

    /// The current value of a register; none if it is not set.
    pub fn register(&self, register: Reg) -> Option<&Value> {
        self.registers[register].as_ref()
    }

    /// Sets a register.
    pub fn set_register(&mut self, register: Reg, value: Value) {
        self.registers[register] = Some(value);
    }

    /// Leaves a register unset.
    pub fn unset_register(&mut self, register: Reg) {
        self.registers[register] = None;
    }

    /// How many ticks the next window has; none if it does not end within `cycles` cycles.
    ///
    /// # Errors
    /// The first fault.
    pub fn length(&self, cycles: usize, inputs: &[Cells]) -> Result<Option<usize>, Fault> {
        match (&self.plan.ends, self.plan.regions.first()) {
            (Ends::Nothing, _) => Ok((cycles > self.plan.ahead() as usize).then_some(cycles)),
            (Ends::Given(ends), _) => {
                let is = |(input, value): &(u32, bool), t: usize| {
                    inputs[*input as usize][t].as_ref().and_then(Value::as_bool) == Some(*value)
                };
                Ok((0..cycles).find(|t| ends.iter().any(|end| is(end, *t))).map(|t| t + 1))
            }
            (Ends::Found { conds, head }, Some(Region::Loop { parts, writes, .. })) => {
                // Until the end is found, no tick counts as the last one.
                let mut window = Window { ticks: cycles + 1, ..self.begin(cycles, inputs) };
                for t in 0..cycles {
                    parts[..*head].iter().try_for_each(|part| window.fill(part, t))?;
                    if conds
                        .iter()
                        .map(|end| window.is(end, t))
                        .collect::<Result<Vec<_>, _>>()?
                        .contains(&true)
                    {
                        return Ok(Some(t + 1));
                    }
                    parts[*head..].iter().try_for_each(|part| window.fill(part, t))?;
                    window.write(writes, t)?;
                }
                Ok(None)
            }
            (Ends::Found { .. }, _) => Ok(None),
        }
    }

    fn begin<'a>(&'a self, ticks: usize, inputs: &'a [Cells]) -> Window<'a> {
        let mut registers = self.registers.clone();
        for (id, register) in self.plan.registers.iter_enumerated() {
            if register.kind == Lifetime::Local {
                registers[id] = None;
            }
        }
        let tapes = IndexVec::filled(vec![None; ticks], self.plan.tapes.len());
        let done = ticks.saturating_sub(self.plan.ahead() as usize);
        let (plan, reaches, kept) = (&self.plan, self.plan.reaches(), registers.clone());
        let waits = waits::Waits::new(plan, ticks);
        Window { plan, ticks, done, reaches, inputs, tapes, kept, registers, waits }
    }

    /// Runs one window of `ticks` ticks with a column for each input. Returns a column for each output, and how many
    /// ticks are done: all except those that are [ahead](Plan::ahead) or [wait](Plan::waits).
    ///
    /// # Errors
    /// The first fault. Then no register has changed.
    pub fn window(&mut self, ticks: usize, inputs: &[Cells]) -> Result<(Vec<Cells>, usize), Fault> {
        let plan = Arc::clone(&self.plan);
        let mut window = self.begin(ticks, inputs);
        for region in &plan.regions {
            if plan.waits { window.wait(region)? } else { window.region(region)? }
        }
        window.registers = std::mem::take(&mut window.kept);
        if plan.waits {
            window.write_done()?;
        }
        window.ticks = window.done;
        for t in 0..window.done {
            window.write(&plan.commits, t)?;
        }
        let outputs = plan.outputs.iter().map(|output| {
            let cell = |t: usize| {
                let p = window.position(t);
                let case = output.cases.iter().find(|(at, ..)| at.contains(p));
                let Some((_, when, atom)) = case else { return Ok(None) };
                Ok(if window.holds(when, t)? { Some(window.atom(*atom, t)?) } else { None })
            };
            (0..window.done).map(cell).collect()
        });
        let outputs = outputs.collect::<Result<_, _>>()?;
        let done = window.done;
        self.registers = window.registers;
        Ok((outputs, done))
    }
}

struct Window<'a> {
    plan: &'a Plan,
    ticks: usize,
    /// How many of these are done; the others are ahead.
    done: usize,
    /// For each register: how many ticks past the last finished one it is written.
    reaches: IndexVec<Reg, u32>,
    inputs: &'a [Cells],
    tapes: IndexVec<Tape, Cells>,
    registers: IndexVec<Reg, Option<Value>>,
    /// The values of registers after the last finished tick.
    kept: IndexVec<Reg, Option<Value>>,
    waits: waits::Waits,
}

impl Window<'_> {
    fn position(&self, t: usize) -> Position {
        Position::of(t, self.ticks)
    }

    fn region(&mut self, region: &Region) -> Result<(), Fault> {
        match region {
            Region::Over(parts) => {
                parts.iter().try_for_each(|part| (0..self.ticks).try_for_each(|t| self.fill(part, t)))
            }
            Region::Loop { backward, by, parts, writes } => {
                self.order(*backward, by)?.into_iter().try_for_each(|t| {
                    parts.iter().try_for_each(|part| self.fill(part, t))?;
                    let reached = |w: &&Write| t < self.done + self.reaches[w.register] as usize;
                    let writes: Vec<Write> = writes.iter().filter(reached).cloned().collect();
                    self.write(&writes, t)?;
                    for write in writes.iter().filter(|_| t < self.done) {
                        self.kept[write.register] = self.registers[write.register].clone();
                    }
                    Ok(())
                })
            }
        }
    }

    /// The ticks in the order of a loop: the first one of each sequence, then the second one of each, and so on.
    fn order(&self, backward: bool, by: &[Tape]) -> Result<Vec<usize>, Fault> {
        let (mut order, mut start) = (Vec::new(), 0);
        for t in 0..self.ticks {
            let holds = |tape: &Tape| self.truth(Atom::Tape(*tape, Tick::Now), t);
            let is_end =
                t + 1 == self.ticks || by.iter().map(holds).collect::<Result<Vec<_>, _>>()?.contains(&true);
            if is_end {
                order.extend(
                    (start..=t).enumerate().map(|(i, at)| (i, if backward { start + t - at } else { at })),
                );
                start = t + 1;
            }
        }
        order.sort_by_key(|(i, _)| *i);
        Ok(order.into_iter().map(|(_, t)| t).collect())
    }

    fn fill(&mut self, part: &Part, t: usize) -> Result<(), Fault> {
        let p = self.position(t);
        let tape = &self.plan.tapes[part.tape];
        if t >= self.done + tape.ahead as usize {
            return Ok(());
        }
        let Some(case) = tape.case(p).filter(|_| part.at.contains(p)) else { return Ok(()) };
        if self.holds(&case.when, t)? {
            self.tapes[part.tape][t] = self.value(part.tape, case, t)?;
        }
        Ok(())
    }

    fn value(&self, tape: Tape, case: &Case, t: usize) -> Result<Option<Value>, Fault> {
        let value = match &case.rule {
            Rule::Apply { op, args } => {
                let args = args.iter().map(|a| self.atom(*a, t)).collect::<Result<Vec<Value>, _>>()?;
                let args: Vec<&Value> = args.iter().collect();
                eval(op, &args, self.plan.precision)
                    .map_err(|error| Fault::Operator { span: self.plan.tapes[tape].span, error })?
            }
            Rule::Product { start, args: [a, b] } => {
                product_onto(&self.atom(*start, t)?, &self.atom(*a, t)?, &self.atom(*b, t)?)
            }
            Rule::Copy(a) => self.atom(*a, t)?,
            Rule::Select { cond, then, other } => {
                self.atom(if self.truth(*cond, t)? { *then } else { *other }, t)?
            }
            Rule::Restart { ends, init, next } => {
                let ended = ends.iter().map(|e| self.truth(*e, t)).collect::<Result<Vec<bool>, _>>()?;
                self.atom(if ended.contains(&true) { *init } else { *next }, t)?
            }
            Rule::Sum { init, backward, terms } => self.sum(tape, *init, *backward, terms)?,
            Rule::Input(i) => return Ok(self.inputs[*i as usize][t].clone()),
            Rule::Read { register, init } => match (&self.registers[*register], init) {
                (Some(value), _) => value.clone(),
                (None, Some(init)) => self.atom(*init, t)?,
                (None, None) => return Err(Fault::Missing { tape }),
            },
        };
        Ok(Some(value))
    }

    fn sum(&self, tape: Tape, init: Option<Atom>, backward: bool, terms: &[Term]) -> Result<Value, Fault> {
        let span = self.plan.tapes[tape].span;
        let apply = |op: &Op, args: &[&Value]| {
            eval(op, args, self.plan.precision).map_err(|error| Fault::Operator { span, error })
        };
        let zeros = || Value::zeros(&self.plan.tapes[tape].ty, self.plan.precision);
        let mut sum = init.map_or_else(|| Ok(zeros()), |a| self.atom(a, 0))?;
        for i in 0..self.ticks {
            let t = if backward { self.ticks - 1 - i } else { i };
            let p = self.position(t);
            let Some(term) = terms.iter().find(|term| term.at.contains(p)) else { continue };
            if !self.holds(&term.when, t)? {
                continue;
            }
            let args = term.args.iter().map(|a| self.atom(*a, t)).collect::<Result<Vec<Value>, _>>()?;
            sum = match (&term.op, &args[..]) {
                (op, [a, b]) if is_outer_product(op) => outer(&sum, a, b),
                (Op::SumTo { .. }, [x]) if x.shape().dims().ends_with(sum.shape().dims()) => rows(&sum, x),
                (op, args) => {
                    let value = apply(op, &args.iter().collect::<Vec<_>>())?;
                    apply(&Op::Binary(Binary::Add), &[&value, &sum])?
                }
            };
        }
        Ok(sum)
    }

    fn write(&mut self, writes: &[Write], t: usize) -> Result<(), Fault> {
        let p = self.position(t);
        let mut written = Vec::new();
        for write in writes.iter().filter(|w| w.at.contains(p)) {
            let unset = write.unless.iter().map(|e| self.truth(*e, t)).collect::<Result<Vec<bool>, _>>()?;
            if unset.contains(&true) {
                written.push((write.register, None));
            } else if self.holds(&write.when, t)? {
                written.push((write.register, Some(self.atom(write.value, t)?)));
            }
        }
        for (register, value) in written {
            self.registers[register] = value;
        }
        Ok(())
    }

    fn holds(&self, when: &[Guard], t: usize) -> Result<bool, Fault> {
        for guard in when {
            if !self.is(guard, t)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is(&self, guard: &Guard, t: usize) -> Result<bool, Fault> {
        Ok(self.truth(guard.cond, t)? == guard.value)
    }

    fn truth(&self, cond: Atom, t: usize) -> Result<bool, Fault> {
        Ok(self.atom(cond, t)?.as_bool().unwrap_or_default())
    }

    fn atom(&self, atom: Atom, t: usize) -> Result<Value, Fault> {
        let (tape, tick) = match atom {
            Atom::Const(k) => return Ok(self.plan.consts[k].clone()),
            Atom::Tape(tape, tick) => (tape, tick),
        };
        let at = match tick {
            Tick::Now => Some(t),
            Tick::Before => t.checked_sub(1),
            Tick::After => Some(t + 1),
            Tick::First => Some(0),
            Tick::Last => Some(self.ticks - 1),
        };
        let cell = at.and_then(|at| self.tapes[tape].get(at));
        cell.cloned().flatten().ok_or(Fault::Missing { tape })
    }
}

/// The product of `a` transposed with `b` that continues from a sum.
fn outer(sum: &Value, a: &Value, b: &Value) -> Value {
    let (k, m) = (a.shape().dims()[0], a.shape().dims()[1]);
    let size = [m, k, b.shape().dims()[1]];
    let data = match (sum.to_data(), a.to_data(), b.to_data()) {
        (Data::F32(mut out), Data::F32(a), Data::F32(b)) => {
            f32::add_outer(size, 0..m, &a, &b, 0, &mut out);
            Data::F32(out)
        }
        (Data::F64(mut out), Data::F64(a), Data::F64(b)) => {
            f64::add_outer(size, 0..m, &a, &b, 0, &mut out);
            Data::F64(out)
        }
        (sum, ..) => sum,
    };
    Value::new(sum.shape(), data)
}

/// The rows of `x` added to a sum, one by one.
fn rows(sum: &Value, x: &Value) -> Value {
    fn add<T: Copy + std::ops::AddAssign>(out: &mut [T], x: &[T]) {
        for row in x.chunks_exact(out.len().max(1)) {
            out.iter_mut().zip(row).for_each(|(out, x)| *out += *x);
        }
    }
    let data = match (sum.to_data(), x.to_data()) {
        (Data::F32(mut out), Data::F32(x)) => {
            add(&mut out, &x);
            Data::F32(out)
        }
        (Data::F64(mut out), Data::F64(x)) => {
            add(&mut out, &x);
            Data::F64(out)
        }
        (sum, _) => sum,
    };
    Value::new(sum.shape(), data)
}
